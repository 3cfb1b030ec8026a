//! Buffered sends (MPI 5.0, section 3.6).
//!
//! *Not there*: buffers of communicators and automatic buffers (MPI 4.1).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::SendMode;

use super::communication::{isend, send};
use super::{Handle, WORLD, exports, memory};
use crate::arguments::{in_c, natural};
use crate::bridge::{block, with};
use crate::errors::CallError;

exports! {
    fn MPI_Bsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle) {
        send(SendMode::Buffered, ((buf, count, datatype), dest, number, comm))
    }

    fn MPI_Ibsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        isend(SendMode::Buffered, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Buffer_attach<N>(buffer: *mut c_void, size: N) {
        let size = natural(size, "length of a buffer", "MPI_ERR_ARG")?;
        with(|state| {
            let world = state.comm(WORLD)?;
            world.buffer_attach(world.buffer(size as u64))?;
            state.attached = Some((buffer as usize, size));
            Ok(())
        })
    }

    fn MPI_Buffer_detach<N>(buffer: *mut usize, size: *mut N) {
        block(async |state| Ok::<_, CallError>(state.comm(WORLD)?.buffer_detach().await?.len()))?;
        if let Some((address, length)) = with(|state| state.attached.take()) {
            memory::store(buffer, address);
            memory::store(size, in_c(length).unwrap_or_else(N::undefined));
        }
        Ok(())
    }
}
