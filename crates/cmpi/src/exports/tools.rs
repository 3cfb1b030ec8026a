//! The tool interface (MPI 5.0, chapter 15), which has neither variables nor events.
//!
//! The numbers of variables and events are 0, so that a program which queries all of them works. A
//! call about a missing variable or event returns the error of the standard.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use super::memory;
use crate::bridge::with_state;
use crate::errors::CallError;
use crate::state::{Handle, TOOLS};

/// `MPI_T_PVAR_SESSION_NULL`.
const SESSION_NULL: Handle = 0;

/// Returns the error of a call of the tool interface, which has no error handler.
fn tool_error(class: &'static str, text: String) -> CallError {
    with_state(|state| state.concerned.set(TOOLS));
    CallError::new(class, text)
}

fn no_name(name: *const c_char) -> CallError {
    let text = format!("no variable {}", memory::text(name));
    tool_error("MPI_T_ERR_INVALID_NAME", text)
}

fn no_index(index: c_int) -> CallError {
    let text = format!("invalid index {index}: there are no variables");
    tool_error("MPI_T_ERR_INVALID_INDEX", text)
}

fn no_handle() -> CallError {
    let text = "invalid handle: there are no variables".to_owned();
    tool_error("MPI_T_ERR_INVALID_HANDLE", text)
}

/// Refuses handles that name no session of variables.
fn session_of(session: Handle) -> Result<(), CallError> {
    let found = with_state(|state| state.tool_sessions.get(session).copied());
    found.ok_or_else(|| {
        let text = format!("invalid session {session:#x}");
        tool_error("MPI_T_ERR_INVALID_SESSION", text)
    })
}

/// Returns an error if the tool interface is not initialised.
fn check_initialized() -> Result<(), CallError> {
    match with_state(|state| state.tool_inits) {
        0 => {
            let text = "called before MPI_T_init_thread".to_owned();
            Err(tool_error("MPI_T_ERR_NOT_INITIALIZED", text))
        }
        _ => Ok(()),
    }
}

/// Stores that there is none.
fn none(number: *mut c_int) -> Result<(), CallError> {
    check_initialized()?;
    memory::store(number, 0);
    Ok(())
}

/// Returns the error of a call about a variable of a session.
fn no_handle_of(session: Handle) -> CallError {
    session_of(session).err().unwrap_or_else(no_handle)
}

exports! {
    fn MPI_T_init_thread(_required: c_int, provided: *mut c_int) {
        with_state(|state| state.tool_inits += 1);
        memory::store(provided, super::environment::FUNNELED);
        Ok(())
    }

    fn MPI_T_finalize() {
        check_initialized()?;
        with_state(|state| state.tool_inits -= 1);
        Ok(())
    }

    fn MPI_T_cvar_get_num(number: *mut c_int) {
        none(number)
    }

    fn MPI_T_pvar_get_num(number: *mut c_int) {
        none(number)
    }

    fn MPI_T_category_get_num(number: *mut c_int) {
        none(number)
    }

    fn MPI_T_category_changed(stamp: *mut c_int) {
        memory::store(stamp, 0);
        Ok(())
    }

    fn MPI_T_event_get_num(number: *mut c_int) {
        none(number)
    }

    fn MPI_T_source_get_num(number: *mut c_int) {
        none(number)
    }

    fn MPI_T_cvar_get_index(name: *const c_char, _index: *mut c_int) {
        Err(no_name(name))
    }

    fn MPI_T_pvar_get_index(name: *const c_char, _class: c_int, _index: *mut c_int) {
        Err(no_name(name))
    }

    fn MPI_T_category_get_index(name: *const c_char, _index: *mut c_int) {
        Err(no_name(name))
    }

    fn MPI_T_event_get_index(name: *const c_char, _index: *mut c_int) {
        Err(no_name(name))
    }

    fn MPI_T_pvar_session_create(session: *mut Handle) {
        check_initialized()?;
        memory::store(session, with_state(|state| state.tool_sessions.insert(())));
        Ok(())
    }

    fn MPI_T_pvar_session_free(session: *mut Handle) {
        let handle = memory::load(session, "session")?;
        session_of(handle)?;
        with_state(|state| state.tool_sessions.remove(handle));
        memory::store(session, SESSION_NULL);
        Ok(())
    }

    fn MPI_T_category_get_categories(index: c_int, _len: c_int, _indices: usize) {
        Err(no_index(index))
    }

    fn MPI_T_category_get_cvars(index: c_int, _len: c_int, _indices: usize) {
        Err(no_index(index))
    }

    fn MPI_T_category_get_events(index: c_int, _len: c_int, _indices: usize) {
        Err(no_index(index))
    }

    fn MPI_T_category_get_info(index: c_int, _name: usize, _name_len: usize, _desc: usize, _desc_len: usize, _num_cvars: usize, _num_pvars: usize, _num_categories: usize) {
        Err(no_index(index))
    }

    fn MPI_T_category_get_num_events(index: c_int, _num_events: usize) {
        Err(no_index(index))
    }

    fn MPI_T_category_get_pvars(index: c_int, _len: c_int, _indices: usize) {
        Err(no_index(index))
    }

    fn MPI_T_cvar_get_info(index: c_int, _name: usize, _name_len: usize, _verbosity: usize, _datatype: usize, _enumtype: usize, _desc: usize, _desc_len: usize, _bind: usize, _scope: usize) {
        Err(no_index(index))
    }

    fn MPI_T_cvar_handle_alloc(index: c_int, _obj_handle: usize, _handle: usize, _count: usize) {
        Err(no_index(index))
    }

    fn MPI_T_cvar_handle_free(_handle: usize) {
        Err(no_handle())
    }

    fn MPI_T_cvar_read(_handle: usize, _buffer: usize) {
        Err(no_handle())
    }

    fn MPI_T_cvar_write(_handle: usize, _buffer: usize) {
        Err(no_handle())
    }

    fn MPI_T_enum_get_info(_enumtype: usize, _num: usize, _name: usize, _name_len: usize) {
        Err(no_handle())
    }

    fn MPI_T_enum_get_item(_enumtype: usize, _index: c_int, _value: usize, _name: usize, _name_len: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_callback_get_info(_event_registration: usize, _cb_safety: usize, _info_used: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_callback_set_info(_event_registration: usize, _cb_safety: usize, _info: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_copy(_event_instance: usize, _buffer: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_get_info(index: c_int, _name: usize, _name_len: usize, _verbosity: usize, _array_of_datatypes: usize, _array_of_displacements: usize, _num_elements: usize, _enumtype: usize, _info: usize, _desc: usize, _desc_len: usize, _bind: usize) {
        Err(no_index(index))
    }

    fn MPI_T_event_get_source(_event_instance: usize, _source_index: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_get_timestamp(_event_instance: usize, _event_timestamp: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_handle_alloc(index: c_int, _obj_handle: usize, _info: usize, _event_registration: usize) {
        Err(no_index(index))
    }

    fn MPI_T_event_handle_free(_event_registration: usize, _user_data: usize, _free_cb_function: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_handle_get_info(_event_registration: usize, _info_used: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_handle_set_info(_event_registration: usize, _info: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_read(_event_instance: usize, _element_index: c_int, _buffer: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_register_callback(_event_registration: usize, _cb_safety: usize, _info: usize, _user_data: usize, _event_cb_function: usize) {
        Err(no_handle())
    }

    fn MPI_T_event_set_dropped_handler(_event_registration: usize, _dropped_cb_function: usize) {
        Err(no_handle())
    }

    fn MPI_T_pvar_get_info(index: c_int, _name: usize, _name_len: usize, _verbosity: usize, _var_class: usize, _datatype: usize, _enumtype: usize, _desc: usize, _desc_len: usize, _bind: usize, _readonly: usize, _continuous: usize, _atomic: usize) {
        Err(no_index(index))
    }

    fn MPI_T_pvar_handle_alloc(session: usize, index: c_int, _obj_handle: usize, _handle: usize, _count: usize) {
        session_of(session)?;
        Err(no_index(index))
    }

    fn MPI_T_pvar_handle_free(session: usize, _handle: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_read(session: usize, _handle: usize, _buffer: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_readreset(session: usize, _handle: usize, _buffer: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_reset(session: usize, _handle: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_start(session: usize, _handle: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_stop(session: usize, _handle: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_pvar_write(session: usize, _handle: usize, _buffer: usize) {
        Err(no_handle_of(session))
    }

    fn MPI_T_source_get_info(index: c_int, _name: usize, _name_len: usize, _desc: usize, _desc_len: usize, _ordering: usize, _ticks_per_second: usize, _max_ticks: usize, _info: usize) {
        Err(no_index(index))
    }

    fn MPI_T_source_get_timestamp(index: c_int, _timestamp: usize) {
        Err(no_index(index))
    }
}
