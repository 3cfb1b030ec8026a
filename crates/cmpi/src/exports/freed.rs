//! Receives with freed requests: each fills memory of the program when the message has come.
//!
//! A program cannot wait for such a receive (MPI 5.0, section 3.7.3). The program can only conclude
//! from other messages that the data are there, so the data are stored at the end of the call of
//! MPI during which they have come.

use std::ptr;

use mpi::FreedRequest;

use super::{Handle, State, active, deliver};
use crate::bridge::with;
use crate::errors::CallError;
use crate::handles::{ActiveRequest, Memory};

/// A receive that continues without a request.
#[derive(Debug)]
pub(super) struct FreedReceive {
    /// The handle that the request had.
    handle: Handle,
    request: FreedRequest,
    memory: Memory,
    comm: Handle,
}

impl FreedReceive {
    /// Returns true if the receive belonged to this request.
    pub(super) const fn had_handle(&self, handle: Handle) -> bool {
        self.handle == handle
    }
}

impl State {
    /// Frees a request. A receive fills the memory later.
    pub(super) fn free_request(&mut self, handle: Handle, freed: ActiveRequest) {
        let ActiveRequest {
            request,
            memory,
            comm,
        } = freed;
        let is_filled = match &memory {
            Memory::Message(target) => target.length > 0,
            Memory::Parts(parts) => !parts.result.is_empty(),
            Memory::Generalized(_) | Memory::Comm { .. } => false,
        };
        let request = request.into_freed();
        if is_filled && request.is_active() {
            self.active.freed.push(FreedReceive {
                handle,
                request,
                memory,
                comm,
            });
        }
    }
}

/// Fills the memory of receives with freed requests that have got their messages.
pub(crate) fn fill_freed() -> Result<(), CallError> {
    let landed = with(|state| {
        if state.active.freed.is_empty() {
            return Vec::new();
        }
        let mut landed = Vec::new();
        state.active.freed.retain_mut(|freed| {
            let result = freed.request.take_result();
            landed.extend(
                result.map(|result| (freed.handle, result, freed.memory.clone(), freed.comm)),
            );
            freed.request.is_active()
        });
        landed
    });
    for (handle, result, memory, comm) in landed {
        with(|state| state.concerned.set(comm));
        active::end_request(handle)?;
        deliver(&result?, &memory, ptr::null_mut());
    }
    Ok(())
}
