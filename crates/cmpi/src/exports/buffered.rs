//! Buffered sends (MPI 5.0, section 3.6).
//!
//! *Not there*: buffers of sessions, and flushes that do not wait.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::prelude::*;

use super::communication::{isend, send};
use super::memory;
use crate::arguments::{Count, in_c, natural};
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::state::{Handle, WORLD};

/// `MPI_BUFFER_AUTOMATIC`, a buffer that is always long enough.
const AUTOMATIC: usize = 2;

/// The buffer of all communicators without one.
const COMMON: Handle = 0;

fn attach(owner: Handle, buffer: *mut c_void, size: impl Count) -> Result<(), CallError> {
    let size = natural(size, "length of a buffer", "MPI_ERR_ARG")?;
    let (length, size) = match buffer as usize {
        AUTOMATIC => (Buffer::LENGTH_MAX, 0),
        _ => (size as u64, size),
    };
    with_state(|state| {
        // Only its length counts.
        let room = Buffer::phantom(length);
        match owner {
            COMMON => state.comm(WORLD)?.buffer_attach(room)?,
            comm => state.peers(comm)?.attach_buffer(room)?,
        }
        state.attached.insert(owner, (buffer as usize, size));
        Ok(())
    })
}

fn detach<N: Count>(owner: Handle, buffer: *mut usize, size: *mut N) -> Result<(), CallError> {
    block(async |state| {
        match owner {
            COMMON => state.comm(WORLD)?.buffer_detach().await?,
            comm => state.peers(comm)?.detach_buffer().await?,
        };
        Ok::<_, CallError>(())
    })?;
    if let Some((address, length)) = with_state(|state| state.attached.remove(&owner)) {
        memory::store(buffer, address);
        memory::store(size, in_c(length).unwrap_or_else(N::undefined));
    }
    Ok(())
}

exports! {
    fn MPI_Bsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle) {
        send(SendMode::Buffered, ((buf, count, datatype), dest, number, comm))
    }

    fn MPI_Ibsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        isend(SendMode::Buffered, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Buffer_attach<N>(buffer: *mut c_void, size: N) {
        attach(COMMON, buffer, size)
    }

    fn MPI_Buffer_detach<N>(buffer: *mut usize, size: *mut N) {
        detach(COMMON, buffer, size)
    }

    fn MPI_Buffer_flush() {
        block(async |state| Ok(state.comm(WORLD)?.buffer_flush().await?))
    }

    fn MPI_Comm_attach_buffer<N>(comm: Handle, buffer: *mut c_void, size: N) {
        attach(comm, buffer, size)
    }

    fn MPI_Comm_detach_buffer<N>(comm: Handle, buffer: *mut usize, size: *mut N) {
        detach(comm, buffer, size)
    }

    fn MPI_Comm_flush_buffer(comm: Handle) {
        block(async |state| Ok(state.peers(comm)?.flush_buffer().await?))
    }
}
