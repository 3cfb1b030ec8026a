//! Error handlers, and errors that a program adds (MPI 5.0, sections 9.3 to 9.5).
//!
//! A call without a communicator uses the error handler of `MPI_COMM_SELF`, or the error handler of
//! `MPI_COMM_WORLD` if `MPI_COMM_SELF` has none.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use super::objects::Owner;
use super::{Handle, SELF, State, WORLD, exports, memory};
use crate::bridge::{call_program, with};
use crate::errors::{CallError, class_of};

/// `MPI_ERRHANDLER_NULL`.
const HANDLER_NULL: Handle = 0x140;
/// `MPI_ERRORS_ARE_FATAL`.
const ARE_FATAL: Handle = 0x141;
/// `MPI_ERRORS_ABORT`.
const ABORT: Handle = 0x142;
/// `MPI_ERRORS_RETURN`.
const RETURN: Handle = 0x143;
/// `MPI_ERR_LASTCODE`.
pub(super) const LAST_CODE: c_int = 16383;

/// `MPI_Comm_errhandler_function`; no call gives the further arguments of the standard.
pub(super) type HandlerFunction = extern "C" fn(*mut Handle, *const c_int);

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
pub(super) struct AddedError {
    /// Class of an error code; `None` if the error is a class.
    class: Option<c_int>,
    text: String,
}

/// Errors of the program, from the code behind [`LAST_CODE`] on. Removed ones are `None`.
pub(super) type Added = Vec<Option<AddedError>>;

impl State {
    /// Returns the error handler of the call that is running.
    pub(crate) fn error_handler(&self) -> ErrorHandler {
        let comm = self.concerned.get();
        let of_self = || self.error_handlers.get(&WORLD).filter(|_| comm == SELF);
        if comm == super::TOOLS {
            return ErrorHandler::Returns;
        }
        let handler = self.error_handlers.get(&comm).or_else(of_self);
        match handler {
            Some(&RETURN) => ErrorHandler::Returns,
            Some(&handler) => match self.handlers.get(handler) {
                Some(function) => ErrorHandler::Program(*function, comm),
                None => ErrorHandler::Fatal,
            },
            None => ErrorHandler::Fatal,
        }
    }

    fn set_error_handler(&mut self, object: Handle, handler: Handle) -> Result<(), CallError> {
        let is_known = [ARE_FATAL, ABORT, RETURN].contains(&handler);
        if !is_known && self.handlers.get(handler).is_none() {
            let text = format!("invalid error handler {handler:#x}");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        self.error_handlers.insert(object, handler);
        Ok(())
    }

    fn added(&mut self, code: c_int) -> Result<&mut Option<AddedError>, CallError> {
        let index = code.checked_sub(LAST_CODE + 1);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| self.added_errors.get_mut(index));
        found.filter(|found| found.is_some()).ok_or_else(|| {
            let text =
                format!("invalid error code {code}: expected one that the program has added");
            CallError::new("MPI_ERR_ARG", text)
        })
    }

    /// Adds an error class, or an error code of a class, and returns the new number.
    fn add_error(&mut self, class: Option<c_int>) -> c_int {
        let added = AddedError {
            class,
            text: String::new(),
        };
        self.added_errors.push(Some(added));
        let number = c_int::try_from(self.added_errors.len()).unwrap_or(c_int::MAX);
        let code = LAST_CODE.saturating_add(number);
        self.predefined.set_last_code(code);
        code
    }

    fn remove_error(&mut self, code: c_int, is_class: bool) -> Result<(), CallError> {
        let class = is_class.then_some(code);
        if is_class
            && self
                .added_errors
                .iter()
                .flatten()
                .any(|error| error.class == class)
        {
            let text = format!("the error class {code} has codes");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        let found = self.added(code)?;
        if found
            .as_ref()
            .is_some_and(|error| error.class.is_none() != is_class)
        {
            let text =
                format!("{code} is an error class or an error code, and the other is expected");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        *found = None;
        while self.added_errors.last().is_some_and(Option::is_none) {
            self.added_errors.pop();
        }
        let number = c_int::try_from(self.added_errors.len()).unwrap_or(c_int::MAX);
        self.predefined
            .set_last_code(LAST_CODE.saturating_add(number));
        Ok(())
    }
}

fn set(owner: Owner, object: Handle, handler: Handle) -> Result<(), CallError> {
    owner.check(object)?;
    with(|state| state.set_error_handler(object, handler))
}

fn get(owner: Owner, object: Handle, handler: *mut Handle) -> Result<(), CallError> {
    owner.check(object)?;
    let found = with(|state| state.error_handlers.get(&object).copied());
    memory::store(handler, found.unwrap_or(ARE_FATAL));
    Ok(())
}

/// Calls the error handler of an object.
fn call(owner: Owner, object: Handle, code: c_int) -> Result<(), CallError> {
    owner.check(object)?;
    match with(|state| state.error_handler()) {
        ErrorHandler::Returns => Ok(()),
        ErrorHandler::Program(function, mut object) => {
            call_program(|| function(&raw mut object, &raw const code));
            Ok(())
        }
        ErrorHandler::Fatal => {
            let text = "the program has called the error handler";
            Err(CallError::of_program(code, text))
        }
    }
}

exports! {
    fn MPI_Comm_create_errhandler(function: HandlerFunction, handler: *mut Handle) {
        memory::store(handler, with(|state| state.handlers.insert(function)));
        Ok(())
    }

    fn MPI_Comm_set_errhandler(comm: Handle, handler: Handle) {
        set(Owner::Comm, comm, handler)
    }

    fn MPI_Comm_get_errhandler(comm: Handle, handler: *mut Handle) {
        get(Owner::Comm, comm, handler)
    }

    fn MPI_Comm_call_errhandler(comm: Handle, code: c_int) {
        call(Owner::Comm, comm, code)
    }

    fn MPI_Win_set_errhandler(window: Handle, handler: Handle) {
        set(Owner::Window, window, handler)
    }

    fn MPI_Win_get_errhandler(window: Handle, handler: *mut Handle) {
        get(Owner::Window, window, handler)
    }

    fn MPI_Win_call_errhandler(window: Handle, code: c_int) {
        call(Owner::Window, window, code)
    }

    fn MPI_Session_set_errhandler(session: Handle, handler: Handle) {
        set(Owner::Session, session, handler)
    }

    fn MPI_Session_get_errhandler(session: Handle, handler: *mut Handle) {
        get(Owner::Session, session, handler)
    }

    fn MPI_Session_call_errhandler(session: Handle, code: c_int) {
        call(Owner::Session, session, code)
    }

    fn MPI_Errhandler_free(handler: *mut Handle) {
        // Communicators may have it still.
        memory::store(handler, HANDLER_NULL);
        Ok(())
    }

    fn MPI_Add_error_class(class: *mut c_int) {
        memory::store(class, with(|state| state.add_error(None)));
        Ok(())
    }

    fn MPI_Add_error_code(class: c_int, code: *mut c_int) {
        let added = with(|state| {
            if class_of(class).is_none() {
                state.added(class)?;
            }
            Ok::<_, CallError>(state.add_error(Some(class)))
        })?;
        memory::store(code, added);
        Ok(())
    }

    fn MPI_Add_error_string(code: c_int, text: *const c_char) {
        let text = memory::text(text);
        with(|state| {
            if let Some(error) = state.added(code)? {
                error.text = text;
            }
            Ok(())
        })
    }

    fn MPI_Remove_error_class(class: c_int) {
        with(|state| state.remove_error(class, true))
    }

    fn MPI_Remove_error_code(code: c_int) {
        with(|state| state.remove_error(code, false))
    }

    fn MPI_Remove_error_string(code: c_int) {
        with(|state| {
            if let Some(error) = state.added(code)? {
                error.text.clear();
            }
            Ok(())
        })
    }

    fn MPI_Error_class(code: c_int, class: *mut c_int) {
        let added = with(|state| {
            let error = state.added(code).ok()?.as_ref()?;
            error.class
        });
        memory::store(class, added.unwrap_or(code));
        Ok(())
    }

    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int) {
        let added = with(|state| Some(state.added(code).ok()?.as_ref()?.text.clone()));
        let known = class_of(code).unwrap_or("unknown error").to_owned();
        memory::store_text(text, length, &added.unwrap_or(known), 512);
        Ok(())
    }
}
