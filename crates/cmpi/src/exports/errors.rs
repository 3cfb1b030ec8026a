//! Error handlers, and errors that a program adds (MPI 5.0, sections 9.3 to 9.5).
//!
//! A call without a communicator uses the error handler of `MPI_COMM_SELF`, or the error handler of
//! `MPI_COMM_WORLD` if `MPI_COMM_SELF` has none.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use super::memory;
use crate::bridge::{call_program, with_state};
use crate::errors::{CallError, class_of};
use crate::state::properties::{ARE_FATAL, ErrorHandler, HandlerFunction, PropertyOwner};
use crate::state::{Handle, MpiState};

/// `MPI_ERRHANDLER_NULL`.
const HANDLER_NULL: Handle = 0x140;

fn set_handler(owner: PropertyOwner, object: Handle, handler: Handle) -> Result<(), CallError> {
    owner.check(object)?;
    with_state(|state| state.errors.set_handler(object, handler))
}

fn get_handler(
    owner: PropertyOwner,
    object: Handle,
    handler: *mut Handle,
) -> Result<(), CallError> {
    owner.check(object)?;
    let found = with_state(|state| state.errors.of_objects.get(&object).copied());
    memory::store(handler, found.unwrap_or(ARE_FATAL));
    Ok(())
}

/// Adds an error class, or an error code of a class, and returns the new number.
fn add_error(state: &mut MpiState, class: Option<c_int>) -> c_int {
    let code = state.errors.add_error(class);
    state.attributes.predefined.set_last_code(code);
    code
}

fn remove_error(code: c_int, is_class: bool) -> Result<(), CallError> {
    with_state(|state| {
        state.errors.remove_error(code, is_class)?;
        let last = state.errors.last_code();
        state.attributes.predefined.set_last_code(last);
        Ok(())
    })
}

/// Calls the error handler of an object.
fn call_handler(owner: PropertyOwner, object: Handle, code: c_int) -> Result<(), CallError> {
    owner.check(object)?;
    match with_state(|state| state.errors.find_handler(state.concerned.get())) {
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
        memory::store(handler, with_state(|state| state.errors.made.insert(function)));
        Ok(())
    }

    fn MPI_Comm_set_errhandler(comm: Handle, handler: Handle) {
        set_handler(PropertyOwner::Comm, comm, handler)
    }

    fn MPI_Comm_get_errhandler(comm: Handle, handler: *mut Handle) {
        get_handler(PropertyOwner::Comm, comm, handler)
    }

    fn MPI_Comm_call_errhandler(comm: Handle, code: c_int) {
        call_handler(PropertyOwner::Comm, comm, code)
    }

    fn MPI_Win_set_errhandler(window: Handle, handler: Handle) {
        set_handler(PropertyOwner::Window, window, handler)
    }

    fn MPI_Win_get_errhandler(window: Handle, handler: *mut Handle) {
        get_handler(PropertyOwner::Window, window, handler)
    }

    fn MPI_Win_call_errhandler(window: Handle, code: c_int) {
        call_handler(PropertyOwner::Window, window, code)
    }

    fn MPI_Session_set_errhandler(session: Handle, handler: Handle) {
        set_handler(PropertyOwner::Session, session, handler)
    }

    fn MPI_Session_get_errhandler(session: Handle, handler: *mut Handle) {
        get_handler(PropertyOwner::Session, session, handler)
    }

    fn MPI_Session_call_errhandler(session: Handle, code: c_int) {
        call_handler(PropertyOwner::Session, session, code)
    }

    fn MPI_Errhandler_free(handler: *mut Handle) {
        // Communicators may have it still.
        memory::store(handler, HANDLER_NULL);
        Ok(())
    }

    fn MPI_Add_error_class(class: *mut c_int) {
        memory::store(class, with_state(|state| add_error(state, None)));
        Ok(())
    }

    fn MPI_Add_error_code(class: c_int, code: *mut c_int) {
        let added = with_state(|state| {
            if class_of(class).is_none() {
                state.errors.find_added(class)?;
            }
            Ok::<_, CallError>(add_error(state, Some(class)))
        })?;
        memory::store(code, added);
        Ok(())
    }

    fn MPI_Add_error_string(code: c_int, text: *const c_char) {
        let text = memory::text(text);
        with_state(|state| {
            if let Some(error) = state.errors.find_added(code)? {
                error.text = text;
            }
            Ok(())
        })
    }

    fn MPI_Remove_error_class(class: c_int) {
        remove_error(class, true)
    }

    fn MPI_Remove_error_code(code: c_int) {
        remove_error(code, false)
    }

    fn MPI_Remove_error_string(code: c_int) {
        with_state(|state| {
            if let Some(error) = state.errors.find_added(code)? {
                error.text.clear();
            }
            Ok(())
        })
    }

    fn MPI_Error_class(code: c_int, class: *mut c_int) {
        let added = with_state(|state| {
            let error = state.errors.find_added(code).ok()?.as_ref()?;
            error.class
        });
        memory::store(class, added.unwrap_or(code));
        Ok(())
    }

    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int) {
        let added = with_state(|state| Some(state.errors.find_added(code).ok()?.as_ref()?.text.clone()));
        let known = class_of(code).unwrap_or("unknown error").to_owned();
        memory::store_text(text, length, &added.unwrap_or(known), 512);
        Ok(())
    }
}
