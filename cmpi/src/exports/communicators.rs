//! Communicators (MPI 5.0, chapter 7): those that are made of others.
//!
//! *Not there*: groups, attributes, names, topologies, intercommunicators.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use mpi::Comparison;

use super::{Handle, exports, memory};
use crate::arguments::UNDEFINED;
use crate::bridge::{block, with};
use crate::errors::CallError;

/// `MPI_COMM_NULL`.
const COMM_NULL: Handle = 0x100;

exports! {
    fn MPI_Comm_dup(comm: Handle, new: *mut Handle) {
        let handle = block(async |state| {
            let made = state.comm(comm)?.dup().await?;
            Ok::<_, CallError>(state.comms.insert(made))
        })?;
        memory::store(new, handle);
        Ok(())
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
        // MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL.
        memory::store(result, match found {
            Comparison::Identical => 201,
            Comparison::Congruent => 202,
            Comparison::Similar => 203,
            Comparison::Unequal => 204,
        });
        Ok(())
    }
}
