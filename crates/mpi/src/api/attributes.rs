//! Properties of communicators at one rank: attributes (MPI 5.0, section 7.7), names (section 7.8)
//! and error handlers (section 9.3).
//!
//! Properties are local: no call sends a message, and other ranks do not see them. All handles of a
//! communicator at a rank share its properties.
//!
//! An error handler is called for errors of sends, receives, probes, requests, collectives and
//! calls that make communicators, when the call returns or completes. A new communicator inherits
//! the handler of the old communicator; attributes are copied by `Comm::dup` alone.
//!
//! *Not modelled*: errors of callbacks, and deletion of attributes at the end of a program: the
//! attributes of a communicator that is not freed are dropped without a call.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::{Comm, Error, Level};
use channel::{AbortReason, COLLECTIVE};

/// Exit code of runs that an error handler ends.
const ABORT_CODE: i32 = 1;

type Copy = dyn Fn(&dyn Any) -> Option<Rc<dyn Any>>;
type Delete = dyn Fn(&dyn Any);

/// Callbacks of a keyval; the address of the callbacks identifies the keyval.
struct Callbacks {
    copy: Box<Copy>,
    delete: Box<Delete>,
}

/// A key of attributes with values of one type: `MPI_Comm_create_keyval`.
///
/// ```
/// use mpi::Keyval;
///
/// // Copied with the communicator, and nothing to do when it is deleted.
/// let depth = Keyval::new(|depth: &u32| Some(depth + 1), |_| ());
/// # let _ = depth;
/// ```
pub struct Keyval<T> {
    callbacks: Rc<Callbacks>,
    value: PhantomData<fn(T) -> T>,
}

impl<T: 'static> Keyval<T> {
    /// Returns a new key. [`Comm::dup`](crate::CommunicatorManagement::dup) calls `copy`, which
    /// returns the value for the new communicator, or `None` for no value
    /// (`MPI_COMM_NULL_COPY_FN`). `delete` is called before a value is deleted or replaced, and
    /// when the communicator is freed.
    #[must_use]
    pub fn new(copy: impl Fn(&T) -> Option<T> + 'static, delete: impl Fn(&T) + 'static) -> Self {
        let copy = move |value: &dyn Any| {
            let copied = copy(value.downcast_ref()?)?;
            Some(Rc::new(copied) as Rc<dyn Any>)
        };
        let delete = move |value: &dyn Any| {
            if let Some(value) = value.downcast_ref() {
                delete(value);
            }
        };
        Self {
            callbacks: Rc::new(Callbacks {
                copy: Box::new(copy),
                delete: Box::new(delete),
            }),
            value: PhantomData,
        }
    }
}

impl<T> Clone for Keyval<T> {
    fn clone(&self) -> Self {
        Self {
            callbacks: Rc::clone(&self.callbacks),
            value: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Keyval<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyval")
    }
}

/// Reaction to an error of a call on a communicator: `MPI_Errhandler`.
#[derive(Clone, Default)]
pub enum ErrorHandler {
    /// The call returns the error: `MPI_ERRORS_RETURN`. The default here; MPI aborts by default.
    #[default]
    Return,
    /// The run ends: `MPI_ERRORS_ARE_FATAL`. The call returns nevertheless, and the run ends when
    /// the rank waits the next time.
    Abort,
    /// A function of the program is called, and then the call returns the error:
    /// `MPI_Comm_create_errhandler`.
    Function(Rc<dyn Fn(&Error)>),
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Return => "Return",
            Self::Abort => "Abort",
            Self::Function(_) => "Function",
        })
    }
}

/// The value of an attribute, and its key.
#[derive(Clone)]
struct AttributeValue {
    key: Rc<Callbacks>,
    value: Rc<dyn Any>,
}

impl AttributeValue {
    fn delete(&self) {
        (self.key.delete)(&*self.value);
    }
}

/// Properties of a communicator.
#[derive(Default)]
struct Properties {
    name: Option<String>,
    handler: ErrorHandler,
    attributes: Vec<AttributeValue>,
}

/// Properties of the communicators of a rank, by context.
#[derive(Default)]
pub(crate) struct AllProperties(BTreeMap<u32, Properties>);

impl AllProperties {
    fn properties_of(&mut self, context: u32) -> &mut Properties {
        self.0.entry(context & !COLLECTIVE).or_default()
    }

    /// Returns the error handler of a communicator.
    pub(crate) fn handler(&self, context: u32) -> ErrorHandler {
        let properties = self.0.get(&(context & !COLLECTIVE));
        properties.map_or(ErrorHandler::Return, |found| found.handler.clone())
    }

    /// Gives a new communicator the error handler of another one.
    pub(crate) fn inherit(&mut self, parent: u32, context: u32) {
        self.0.remove(&context);
        let handler = self.handler(parent);
        if !matches!(handler, ErrorHandler::Return) {
            self.properties_of(context).handler = handler;
        }
    }
}

impl ErrorHandler {
    /// Reacts to an error.
    pub(crate) fn handle_error(&self, process: &crate::Process, error: &Error) {
        match self {
            Self::Return => {}
            Self::Abort => {
                let text = format_args!("{error}; the error handler of the communicator aborts");
                process.channel().log(Level::Error, text);
                process.channel().abort(AbortReason::Program(ABORT_CODE));
            }
            Self::Function(function) => function(error),
        }
    }
}

/// Attributes, name and error handler of a communicator.
pub trait Attributes: AsRef<Comm> {
    /// Sets an attribute: `MPI_Comm_set_attr`. One with this key is deleted before.
    fn set_attr<T: 'static>(&self, key: &Keyval<T>, value: T) {
        let comm = self.as_ref();
        comm.delete_attr(key);
        let attribute = AttributeValue {
            key: Rc::clone(&key.callbacks),
            value: Rc::new(value),
        };
        let mut all = comm.process().properties();
        all.properties_of(comm.context()).attributes.push(attribute);
    }

    /// Returns the value of an attribute; `None` if the communicator has none with this key:
    /// `MPI_Comm_get_attr`.
    #[must_use]
    fn get_attr<T: 'static>(&self, key: &Keyval<T>) -> Option<Rc<T>> {
        let comm = self.as_ref();
        let mut all = comm.process().properties();
        let attributes = &all.properties_of(comm.context()).attributes;
        let is_it = |attribute: &&AttributeValue| Rc::ptr_eq(&attribute.key, &key.callbacks);
        let found = attributes.iter().find(is_it)?;
        Rc::clone(&found.value).downcast().ok()
    }

    /// Deletes an attribute: `MPI_Comm_delete_attr`. Returns true if there was one.
    fn delete_attr<T: 'static>(&self, key: &Keyval<T>) -> bool {
        let comm = self.as_ref();
        let removed = {
            let mut all = comm.process().properties();
            let attributes = &mut all.properties_of(comm.context()).attributes;
            let is_it = |attribute: &AttributeValue| Rc::ptr_eq(&attribute.key, &key.callbacks);
            let place = attributes.iter().position(is_it);
            place.map(|place| attributes.remove(place))
        };
        // Callbacks may use the communicator.
        if let Some(attribute) = &removed {
            attribute.delete();
        }
        removed.is_some()
    }

    /// Sets the name of the communicator at this rank: `MPI_Comm_set_name`.
    fn set_name(&self, name: impl Into<String>) {
        let comm = self.as_ref();
        let mut all = comm.process().properties();
        all.properties_of(comm.context()).name = Some(name.into());
    }

    /// Returns the name of the communicator: `MPI_Comm_get_name`. The default is `MPI_COMM_WORLD`
    /// for the world and an empty name for other communicators.
    #[must_use]
    fn name(&self) -> String {
        let comm = self.as_ref();
        let mut all = comm.process().properties();
        match &all.properties_of(comm.context()).name {
            Some(name) => name.clone(),
            None if comm.context() == 0 => "MPI_COMM_WORLD".to_owned(),
            None => String::new(),
        }
    }

    /// Sets the reaction to errors of calls on this communicator: `MPI_Comm_set_errhandler`.
    fn set_errhandler(&self, handler: ErrorHandler) {
        let comm = self.as_ref();
        let mut all = comm.process().properties();
        all.properties_of(comm.context()).handler = handler;
    }

    /// Returns the reaction to errors: `MPI_Comm_get_errhandler`.
    #[must_use]
    fn errhandler(&self) -> ErrorHandler {
        let comm = self.as_ref();
        comm.process().properties().handler(comm.context())
    }

    /// Reacts to an error of the program as to one of a call: `MPI_Comm_call_errhandler`.
    fn call_errhandler(&self, error: &Error) {
        let comm = self.as_ref();
        comm.errhandler().handle_error(comm.process(), error);
    }
}

impl Attributes for Comm {}

impl Comm {
    /// Passes the error of a call to the error handler; returns the result of the call.
    #[inline]
    pub(crate) fn raised<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.process().raise(self.context(), *error);
        }
        result
    }
}

/// Copies the attributes of a communicator to a new one.
pub(crate) fn copy_attributes(comm: &Comm, new: &Comm) {
    let attributes = {
        let mut all = comm.process().properties();
        all.properties_of(comm.context()).attributes.clone()
    };
    for AttributeValue { key, value } in attributes {
        if let Some(value) = (key.copy)(&*value) {
            let mut all = comm.process().properties();
            all.properties_of(new.context())
                .attributes
                .push(AttributeValue { key, value });
        }
    }
}

/// Deletes the attributes of a communicator that is freed, the latest first.
pub(crate) fn delete_properties(comm: &Comm) {
    let removed = comm.process().properties().0.remove(&comm.context());
    for attribute in removed.into_iter().flat_map(|all| all.attributes).rev() {
        attribute.delete();
    }
}
