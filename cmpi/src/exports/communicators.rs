//! Communicators (MPI 5.0, chapter 7): those that are made of others.
//!
//! *Not there*: attributes of programs, intercommunicators.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use super::groups::compared;
use super::{Handle, exports, memory};
use crate::arguments::{UNDEFINED, tag};
use crate::bridge::{block, with};
use crate::errors::CallError;

/// `MPI_COMM_NULL`.
const COMM_NULL: Handle = 0x100;

/// `MPI_COMM_TYPE_SHARED`.
const TYPE_SHARED: c_int = 221;

/// Attributes of each communicator (MPI 5.0, section 10.1): `MPI_TAG_UB` and
/// `MPI_WTIME_IS_GLOBAL`, since ranks have one simulated time.
static ATTRIBUTES: [(c_int, c_int); 2] = [(501, mpi::TAG_UB.cast_signed()), (504, 1)];

fn dup(comm: Handle, new: *mut Handle) -> Result<(), CallError> {
    let handle = block(async |state| {
        let made = state.comm(comm)?.dup().await?;
        Ok::<_, CallError>(state.comms.insert(made))
    })?;
    memory::store(new, handle);
    Ok(())
}

exports! {
    fn MPI_Comm_dup(comm: Handle, new: *mut Handle) {
        dup(comm, new)
    }

    fn MPI_Comm_split(comm: Handle, color: c_int, key: c_int, new: *mut Handle) {
        let colour = match u32::try_from(color) {
            Ok(colour) => Some(colour),
            Err(_) if color == UNDEFINED => None,
            Err(_) => {
                let text = format!("invalid color {color}: expected at least 0, or MPI_UNDEFINED");
                return Err(CallError::new("MPI_ERR_ARG", text));
            }
        };
        let handle = block(async |state| {
            let made = state.comm(comm)?.split(colour, key).await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_free(comm: *mut Handle) {
        let handle = memory::load(comm, "comm")?;
        block(async |state| {
            // Refuses handles that name none.
            state.comm(handle)?;
            state.grids.remove(&handle);
            let Some(freed) = state.comms.remove(handle) else {
                return Err(CallError::new("MPI_ERR_COMM", "MPI_COMM_WORLD cannot be freed"));
            };
            Ok(freed.free().await?)
        })?;
        memory::store(comm, COMM_NULL);
        Ok(())
    }

    fn MPI_Comm_compare(one: Handle, other: Handle, result: *mut c_int) {
        let found = with(|state| {
            let (one, other) = (state.comm(one)?, state.comm(other)?);
            Ok::<_, CallError>(one.compare(other))
        })?;
        memory::store(result, compared(found));
        Ok(())
    }

    fn MPI_Comm_create(comm: Handle, group: Handle, new: *mut Handle) {
        let group = with(|state| state.group(group))?;
        let handle = block(async |state| {
            let making = state.comm(comm)?.create(&group);
            drop(group);
            let made = making.await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_create_group(comm: Handle, group: Handle, number: c_int, new: *mut Handle) {
        let (group, number) = (with(|state| state.group(group))?, tag(number)?);
        let handle = block(async |state| {
            let making = state.comm(comm)?.create_group(&group, number);
            drop(group);
            let made = making.await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_split_type(comm: Handle, kind: c_int, key: c_int, _info: Handle, new: *mut Handle) {
        if kind != TYPE_SHARED {
            let text = format!("split_type {kind} is not supported: expected MPI_COMM_TYPE_SHARED");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        let handle = block(async |state| {
            let made = state.comm(comm)?.split_by_host(key).await?;
            Ok::<_, CallError>(state.comms.insert(made))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_dup_with_info(comm: Handle, _info: Handle, new: *mut Handle) {
        dup(comm, new)
    }

    fn MPI_Comm_test_inter(comm: Handle, flag: *mut c_int) {
        with(|state| state.comm(comm).map(drop))?;
        memory::store(flag, 0);
        Ok(())
    }

    fn MPI_Comm_set_name(comm: Handle, name: *const c_char) {
        let name = memory::text(name);
        with(|state| {
            state.comm(comm)?.set_name(name);
            Ok(())
        })
    }

    fn MPI_Comm_get_name(comm: Handle, name: *mut c_char, length: *mut c_int) {
        let found = with(|state| Ok::<_, CallError>(state.comm(comm)?.name()))?;
        memory::store_text(name, length, &found, 128);
        Ok(())
    }

    fn MPI_Comm_get_attr(comm: Handle, key: c_int, value: *mut *const c_int, flag: *mut c_int) {
        with(|state| state.comm(comm).map(drop))?;
        let found = ATTRIBUTES.iter().find(|(known, _)| *known == key);
        memory::store(flag, c_int::from(found.is_some()));
        if let Some((_, number)) = found {
            memory::store(value, &raw const *number);
        }
        Ok(())
    }
}
