//! Receives with freed requests: each fills memory of the program when the message has come.
//!
//! A program cannot wait for such a receive (MPI 5.0, section 3.7.3). The program can only conclude
//! from other messages that the data are there, so the data are stored at the end of the call of
//! MPI during which they have come.

use std::ptr;

use super::active;
use super::completion::deliver;
use crate::bridge::with_state;
use crate::errors::CallError;

/// Fills the memory of receives with freed requests that have got their messages.
pub(crate) fn fill_freed() -> Result<(), CallError> {
    let landed = with_state(|state| {
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
        with_state(|state| state.concerned.set(comm));
        active::end_request(handle)?;
        deliver(result?, &memory, ptr::null_mut());
    }
    Ok(())
}
