//! Properties of the objects of a rank: attributes, error handlers, hints; errors that a program
//! adds.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::{Handle, SELF, TOOLS, WORLD};
use crate::errors::CallError;
use crate::handles::{HandleTable, kinds};

/// The kind of an object that has properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PropertyOwner {
    Comm,
    Datatype,
    Window,
    Session,
}

/// The first keyval of the program.
pub(crate) const FIRST_KEYVAL: c_int = 0x1000;

/// `MPI_Comm_copy_attr_function` and similar types.
pub(crate) type Copy = extern "C" fn(Handle, c_int, usize, usize, *mut usize, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and similar types.
pub(crate) type Delete = extern "C" fn(Handle, c_int, usize, usize) -> c_int;

/// Attributes in the order in which they were set: keyval and value.
pub(crate) type Attributes = Vec<(c_int, usize)>;

/// A keyval of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyval {
    pub(crate) owner: PropertyOwner,
    pub(crate) copy: Option<CopyFunction>,
    pub(crate) delete: Option<Delete>,
    pub(crate) extra: usize,
    /// True if the keyval is freed; existing attributes keep the functions of the keyval.
    pub(crate) is_freed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyFunction {
    Value,
    Program(Copy),
}

/// Values of predefined attributes; a program gets the addresses (MPI 5.0, section 9.1.2):
/// `MPI_TAG_UB`, `MPI_IO`, `MPI_HOST`, `MPI_WTIME_IS_GLOBAL`, `MPI_APPNUM`, `MPI_LASTUSEDCODE` and
/// `MPI_UNIVERSE_SIZE`.
#[derive(Debug)]
pub(crate) struct Predefined([c_int; 7]);

/// `MPI_TAG_UB`, the first one.
pub(crate) const TAG_UB: c_int = 501;

impl Predefined {
    pub(crate) fn new(ranks: usize) -> Self {
        let ranks = c_int::try_from(ranks).unwrap_or(c_int::MAX);
        let any_source = -1;
        // Ranks have one simulated time.
        let is_global = 1;
        Self([
            mpi::TAG_UB.cast_signed(),
            any_source,
            crate::arguments::PROC_NULL_IN_C,
            is_global,
            0,
            LAST_CODE,
            ranks,
        ])
    }

    pub(crate) fn set_last_code(&mut self, code: c_int) {
        self.0[5] = code;
    }

    pub(crate) fn get(&self, keyval: c_int) -> Option<usize> {
        let index = usize::try_from(keyval.checked_sub(TAG_UB)?).ok()?;
        let value = self.0.get(index)?;
        Some(std::ptr::from_ref(value) as usize)
    }
}

/// Keyvals and attributes of a rank.
#[derive(Debug)]
pub(crate) struct AttributeTable {
    pub(crate) keyvals: Vec<Keyval>,
    /// Attributes of communicators and datatypes, by their handles.
    pub(crate) of_objects: BTreeMap<Handle, Attributes>,
    /// Attributes for an object that is being made.
    pub(crate) copied: Attributes,
    pub(crate) predefined: Predefined,
}

impl AttributeTable {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            keyvals: Vec::new(),
            of_objects: BTreeMap::new(),
            copied: Vec::new(),
            predefined: Predefined::new(ranks),
        }
    }

    pub(crate) fn keyval(&self, keyval: c_int) -> Option<Keyval> {
        let index = keyval.checked_sub(FIRST_KEYVAL)?;
        self.keyvals.get(usize::try_from(index).ok()?).copied()
    }

    pub(crate) fn known_keyval(
        &self,
        owner: PropertyOwner,
        keyval: c_int,
    ) -> Result<Keyval, CallError> {
        let found = self.keyval(keyval);
        found
            .filter(|found| found.owner == owner)
            .ok_or_else(|| CallError::new("MPI_ERR_KEYVAL", format!("invalid keyval {keyval}")))
    }

    pub(crate) fn attribute(&self, object: Handle, keyval: c_int) -> Option<usize> {
        let all = self.of_objects.get(&object)?;
        all.iter()
            .find(|found| found.0 == keyval)
            .map(|found| found.1)
    }

    /// Assigns the copied attributes to a new object.
    pub(crate) fn keep_copied(&mut self, object: Handle) {
        let copied = std::mem::take(&mut self.copied);
        if !copied.is_empty() {
            self.of_objects.insert(object, copied);
        }
    }
}

/// `MPI_ERRORS_ARE_FATAL`.
pub(crate) const ARE_FATAL: Handle = 0x141;
/// `MPI_ERRORS_ABORT`.
const ABORT: Handle = 0x142;
/// `MPI_ERRORS_RETURN`.
const RETURN: Handle = 0x143;
/// `MPI_ERR_LASTCODE`.
pub(crate) const LAST_CODE: c_int = 16383;

/// `MPI_Comm_errhandler_function`; no call gives the further arguments of the standard.
pub(crate) type HandlerFunction = extern "C" fn(*mut Handle, *const c_int);

/// Effect of an error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ErrorHandler {
    /// The rank fails.
    Fatal,
    /// The call returns the code.
    Returns,
    /// This function is called, about this communicator, before the call returns the code.
    Program(HandlerFunction, Handle),
}

/// An error class or code of the program.
#[derive(Clone, Debug)]
pub(crate) struct AddedError {
    /// Class of an error code; `None` if the error is a class.
    pub(crate) class: Option<c_int>,
    pub(crate) text: String,
}

/// Errors of the program, from the code behind [`LAST_CODE`] on. Removed ones are `None`.
pub(crate) type Added = Vec<Option<AddedError>>;

/// Error handlers and added errors of a rank.
#[derive(Default, Debug)]
pub(crate) struct ErrorHandlers {
    pub(crate) made: HandleTable<HandlerFunction, { kinds::ERROR_HANDLER }>,
    /// Error handlers of objects that have one, by their handles.
    pub(crate) of_objects: BTreeMap<Handle, Handle>,
    added: Added,
}

impl ErrorHandlers {
    /// Returns the error handler of a call about an object.
    pub(crate) fn find_handler(&self, comm: Handle) -> ErrorHandler {
        let of_self = || self.of_objects.get(&WORLD).filter(|_| comm == SELF);
        if comm == TOOLS {
            return ErrorHandler::Returns;
        }
        let handler = self.of_objects.get(&comm).or_else(of_self);
        match handler {
            Some(&RETURN) => ErrorHandler::Returns,
            Some(&handler) => match self.made.get(handler) {
                Some(function) => ErrorHandler::Program(*function, comm),
                None => ErrorHandler::Fatal,
            },
            None => ErrorHandler::Fatal,
        }
    }

    pub(crate) fn set_handler(&mut self, object: Handle, handler: Handle) -> Result<(), CallError> {
        let is_known = [ARE_FATAL, ABORT, RETURN].contains(&handler);
        if !is_known && self.made.get(handler).is_none() {
            let text = format!("invalid error handler {handler:#x}");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        self.of_objects.insert(object, handler);
        Ok(())
    }

    pub(crate) fn find_added(&mut self, code: c_int) -> Result<&mut Option<AddedError>, CallError> {
        let index = code.checked_sub(LAST_CODE + 1);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| self.added.get_mut(index));
        found.filter(|found| found.is_some()).ok_or_else(|| {
            let text =
                format!("invalid error code {code}: expected one that the program has added");
            CallError::new("MPI_ERR_ARG", text)
        })
    }

    /// Adds an error class, or an error code of a class, and returns the new number.
    pub(crate) fn add_error(&mut self, class: Option<c_int>) -> c_int {
        let added = AddedError {
            class,
            text: String::new(),
        };
        self.added.push(Some(added));
        self.last_code()
    }

    /// Returns the largest code in use.
    pub(crate) fn last_code(&self) -> c_int {
        let number = c_int::try_from(self.added.len()).unwrap_or(c_int::MAX);
        LAST_CODE.saturating_add(number)
    }

    /// Removes an error class, or an error code.
    pub(crate) fn remove_error(&mut self, code: c_int, is_class: bool) -> Result<(), CallError> {
        let class = is_class.then_some(code);
        if is_class
            && self
                .added
                .iter()
                .flatten()
                .any(|error| error.class == class)
        {
            let text = format!("the error class {code} has codes");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        let found = self.find_added(code)?;
        if found
            .as_ref()
            .is_some_and(|error| error.class.is_none() != is_class)
        {
            let text =
                format!("{code} is an error class or an error code, and the other is expected");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        *found = None;
        while self.added.last().is_some_and(Option::is_none) {
            self.added.pop();
        }
        Ok(())
    }
}

/// Keys and values.
pub(crate) type Info = Vec<(String, String)>;

/// Info objects of a rank.
#[derive(Default, Debug)]
pub(crate) struct InfoObjects {
    pub(crate) made: HandleTable<Info, { kinds::INFO }>,
    /// `MPI_INFO_ENV`, after the first use by a call.
    pub(crate) environment: Option<Info>,
    /// Hints of communicators, by their handles.
    pub(crate) hints: BTreeMap<Handle, Info>,
}
