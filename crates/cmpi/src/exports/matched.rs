//! Matched probes, and receives of the matched messages (MPI 5.0, section 3.8.2).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::Message;

use super::completion::deliver;
use super::objects::about;
use super::{active, memory};
use crate::arguments::{pattern, source};
use crate::bridge::{Yes, await_answer, block, with_state};
use crate::errors::CallError;
use crate::handles::Memory;
use crate::state::Handle;
use crate::state::requests::Status;

/// `MPI_MESSAGE_NULL`.
const MESSAGE_NULL: Handle = 0x128;

/// Takes a message that a probe has found.
fn taken(message: *mut Handle) -> Result<Message, CallError> {
    let handle = memory::load(message, "message")?;
    let found = with_state(|state| state.messages.remove(handle)).ok_or_else(|| {
        let text = format!("invalid message {handle:#x}: expected one that MPI_Mprobe has found");
        CallError::new("MPI_ERR_REQUEST", text)
    })?;
    memory::store(message, MESSAGE_NULL);
    Ok(found)
}

/// Stores a message that a probe has found.
fn found(found: Message, message: *mut Handle, status: *mut Status) {
    memory::set_status(status, found.status());
    memory::store(message, with_state(|state| state.messages.insert(found)));
}

exports! {
    fn MPI_Mprobe(from: c_int, number: c_int, comm: Handle, message: *mut Handle, status: *mut Status) {
        about(comm)?;
        let (from, number) = (source(from)?, pattern(number)?);
        let taken = block(async |state| {
            Ok::<_, CallError>(state.peers(comm)?.mprobe(from, number).await?)
        })?;
        found(taken, message, status);
        Ok(())
    }

    fn MPI_Improbe(from: c_int, number: c_int, comm: Handle, flag: *mut c_int, message: *mut Handle, status: *mut Status) {
        about(comm)?;
        let (from, number) = (source(from)?, pattern(number)?);
        let taken = block(async |state| {
            let question = state.peers(comm)?.improbe(from, number);
            Ok::<_, CallError>(await_answer(Yes::EndsOperation, question).await?)
        })?;
        memory::store(flag, c_int::from(taken.is_some()));
        if let Some(taken) = taken {
            found(taken, message, status);
        }
        Ok(())
    }

    fn MPI_Mrecv<N>(buf: *mut c_void, count: N, datatype: Handle, message: *mut Handle, status: *mut Status) {
        let target = memory::place_or_null(buf, count, datatype)?;
        active::compare(&[], &[target])?;
        let taken = taken(message)?;
        let completion = block(async |_| {
            Ok::<_, CallError>(taken.recv(memory::receive_buffer(target)).await?)
        })?;
        deliver(completion, &Memory::Message(target), status);
        Ok(())
    }

    fn MPI_Imrecv<N>(buf: *mut c_void, count: N, datatype: Handle, message: *mut Handle, request: *mut Handle) {
        let target = memory::place_or_null(buf, count, datatype)?;
        active::compare(&[], &[target])?;
        let taken = taken(message)?;
        let handle = with_state(|state| {
            let started = taken.irecv(memory::receive_buffer(target));
            state.insert(started, Memory::Message(target))
        });
        active::note_request(handle, &[], &[target]);
        memory::store(request, handle);
        Ok(())
    }
}
