//! Attributes of communicators, datatypes and windows (MPI 5.0, section 7.7).
//!
//! Functions of the program run on its stack, outside of the calls of the message layer. Copied
//! attributes are kept in the state, so that no attribute is lost if a function ends the rank.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use super::memory;
use crate::bridge::{call_program, with_state};
use crate::errors::CallError;
use crate::state::Handle;
use crate::state::properties::{Copy, CopyFunction, Delete, FIRST_KEYVAL, Keyval, PropertyOwner};

/// `MPI_COMM_DUP_FN` and similar functions; 0 stands for functions without effect.
const DUP_FUNCTION: usize = 1;
/// `MPI_KEYVAL_INVALID`.
const INVALID: c_int = 0;

impl Keyval {
    /// Returns the value for a copy of an attribute, or `None` if the attribute is not copied.
    fn copied(
        self,
        object: Handle,
        keyval: c_int,
        value: usize,
    ) -> Result<Option<usize>, CallError> {
        let function = match self.copy {
            None => return Ok(None),
            Some(CopyFunction::Value) => return Ok(Some(value)),
            Some(CopyFunction::Program(function)) => function,
        };
        let (mut copy, mut flag) = (0, 0);
        let code = call_program(|| {
            function(
                object,
                keyval,
                self.extra,
                value,
                &raw mut copy,
                &raw mut flag,
            )
        });
        succeeded(code, "copy")?;
        Ok((flag != 0).then_some(copy))
    }

    fn deleted(self, object: Handle, keyval: c_int, value: usize) -> Result<(), CallError> {
        let Some(function) = self.delete else {
            return Ok(());
        };
        let code = call_program(|| function(object, keyval, value, self.extra));
        succeeded(code, "delete")
    }
}

fn succeeded(code: c_int, what: &str) -> Result<(), CallError> {
    if code == 0 {
        return Ok(());
    }
    let text = format!("the {what} function of an attribute has returned {code}");
    Err(CallError::of_program(code, text))
}

/// Copies the attributes of an object for one that is made next.
pub(super) fn copy_attributes(object: Handle) -> Result<(), CallError> {
    with_state(|state| state.attributes.copied.clear());
    for index in 0.. {
        let next = with_state(|state| {
            let &(number, value) = state.attributes.of_objects.get(&object)?.get(index)?;
            Some((number, value, state.attributes.keyval(number)?))
        });
        let Some((number, value, keyval)) = next else {
            break;
        };
        if let Some(value) = keyval.copied(object, number, value)? {
            with_state(|state| state.attributes.copied.push((number, value)));
        }
    }
    Ok(())
}

/// Deletes all attributes of an object, the latest first.
pub(super) fn delete_all(object: Handle) -> Result<(), CallError> {
    loop {
        let last = with_state(|state| {
            let &(number, value) = state.attributes.of_objects.get(&object)?.last()?;
            Some((number, value, state.attributes.keyval(number)?))
        });
        let Some((number, value, keyval)) = last else {
            break;
        };
        keyval.deleted(object, number, value)?;
        remove_attribute(object, number);
    }
    with_state(|state| state.attributes.of_objects.remove(&object));
    Ok(())
}

fn remove_attribute(object: Handle, keyval: c_int) {
    with_state(|state| {
        if let Some(all) = state.attributes.of_objects.get_mut(&object) {
            all.retain(|found| found.0 != keyval);
        }
    });
}

fn create_keyval(
    owner: PropertyOwner,
    copy: usize,
    delete: Option<Delete>,
    keyval: *mut c_int,
    extra: usize,
) {
    let copy = match copy {
        0 => None,
        DUP_FUNCTION => Some(CopyFunction::Value),
        // SAFETY: the program gave a function of this type, which is no predefined one.
        address => Some(CopyFunction::Program(unsafe {
            std::mem::transmute::<usize, Copy>(address)
        })),
    };
    let number = with_state(|state| {
        state.attributes.keyvals.push(Keyval {
            owner,
            copy,
            delete,
            extra,
            is_freed: false,
        });
        c_int::try_from(state.attributes.keyvals.len()).unwrap_or(c_int::MAX)
    });
    memory::store(keyval, FIRST_KEYVAL + number - 1);
}

fn free_keyval(owner: PropertyOwner, keyval: *mut c_int) -> Result<(), CallError> {
    let number = memory::load(keyval, "keyval")?;
    with_state(|state| {
        state.attributes.known_keyval(owner, number)?;
        let index = usize::try_from(number - FIRST_KEYVAL).unwrap_or(usize::MAX);
        if let Some(found) = state.attributes.keyvals.get_mut(index) {
            found.is_freed = true;
        }
        Ok::<_, CallError>(())
    })?;
    memory::store(keyval, INVALID);
    Ok(())
}

fn set_attribute(
    owner: PropertyOwner,
    object: Handle,
    keyval: c_int,
    value: usize,
) -> Result<(), CallError> {
    owner.check(object)?;
    let (known, before) = with_state(|state| {
        let known = state.attributes.known_keyval(owner, keyval)?;
        if known.is_freed {
            let text = format!("the keyval {keyval} has been freed");
            return Err(CallError::new("MPI_ERR_KEYVAL", text));
        }
        Ok((known, state.attributes.attribute(object, keyval)))
    })?;
    if let Some(before) = before {
        known.deleted(object, keyval, before)?;
        remove_attribute(object, keyval);
    }
    with_state(|state| {
        let all = state.attributes.of_objects.entry(object).or_default();
        all.push((keyval, value));
    });
    Ok(())
}

fn get_attribute(
    owner: PropertyOwner,
    object: Handle,
    keyval: c_int,
    (value, flag): (*mut usize, *mut c_int),
) -> Result<(), CallError> {
    owner.check(object)?;
    let found = with_state(|state| {
        let predefined = match owner {
            PropertyOwner::Comm => state.attributes.predefined.get(keyval),
            PropertyOwner::Window => state.window(object)?.predefined(keyval),
            PropertyOwner::Datatype | PropertyOwner::Session => None,
        };
        if predefined.is_some() {
            return Ok::<_, CallError>(predefined);
        }
        state.attributes.known_keyval(owner, keyval)?;
        Ok(state.attributes.attribute(object, keyval))
    })?;
    memory::store(flag, c_int::from(found.is_some()));
    if let Some(found) = found {
        memory::store(value, found);
    }
    Ok(())
}

fn delete(owner: PropertyOwner, object: Handle, keyval: c_int) -> Result<(), CallError> {
    owner.check(object)?;
    let (known, value) = with_state(|state| {
        let known = state.attributes.known_keyval(owner, keyval)?;
        Ok::<_, CallError>((known, state.attributes.attribute(object, keyval)))
    })?;
    if let Some(value) = value {
        known.deleted(object, keyval, value)?;
        remove_attribute(object, keyval);
    }
    Ok(())
}

exports! {
    fn MPI_Comm_create_keyval(copy: usize, delete: Option<Delete>, keyval: *mut c_int, extra: usize) {
        create_keyval(PropertyOwner::Comm, copy, delete, keyval, extra);
        Ok(())
    }

    fn MPI_Comm_free_keyval(keyval: *mut c_int) {
        free_keyval(PropertyOwner::Comm, keyval)
    }

    fn MPI_Comm_set_attr(comm: Handle, keyval: c_int, value: usize) {
        set_attribute(PropertyOwner::Comm, comm, keyval, value)
    }

    fn MPI_Comm_get_attr(comm: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        get_attribute(PropertyOwner::Comm, comm, keyval, (value.cast(), flag))
    }

    fn MPI_Comm_delete_attr(comm: Handle, keyval: c_int) {
        delete(PropertyOwner::Comm, comm, keyval)
    }

    fn MPI_Type_create_keyval(copy: usize, delete: Option<Delete>, keyval: *mut c_int, extra: usize) {
        create_keyval(PropertyOwner::Datatype, copy, delete, keyval, extra);
        Ok(())
    }

    fn MPI_Type_free_keyval(keyval: *mut c_int) {
        free_keyval(PropertyOwner::Datatype, keyval)
    }

    fn MPI_Type_set_attr(datatype: Handle, keyval: c_int, value: usize) {
        set_attribute(PropertyOwner::Datatype, datatype, keyval, value)
    }

    fn MPI_Type_get_attr(datatype: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        get_attribute(PropertyOwner::Datatype, datatype, keyval, (value.cast(), flag))
    }

    fn MPI_Type_delete_attr(datatype: Handle, keyval: c_int) {
        delete(PropertyOwner::Datatype, datatype, keyval)
    }

    fn MPI_Win_create_keyval(copy: usize, delete: Option<Delete>, keyval: *mut c_int, extra: usize) {
        create_keyval(PropertyOwner::Window, copy, delete, keyval, extra);
        Ok(())
    }

    fn MPI_Win_free_keyval(keyval: *mut c_int) {
        free_keyval(PropertyOwner::Window, keyval)
    }

    fn MPI_Win_set_attr(window: Handle, keyval: c_int, value: usize) {
        set_attribute(PropertyOwner::Window, window, keyval, value)
    }

    fn MPI_Win_get_attr(window: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        get_attribute(PropertyOwner::Window, window, keyval, (value.cast(), flag))
    }

    fn MPI_Win_delete_attr(window: Handle, keyval: c_int) {
        delete(PropertyOwner::Window, window, keyval)
    }
}
