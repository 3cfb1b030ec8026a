//! Reads of windows that a loop repeats, under a model checker: a rank that waits for a change of
//! the memory of a rank reads the memory again and again.
//!
//! Calls that only complete accesses are no operations between two reads; a read with a result that
//! the program does not know yet is one, and begins the questions anew.
//!
//! *Not decided here*: which results a repeated read may get; see [`crate::protocol::look`].

use observe::SourceLocation;

use super::Process;
use crate::Buffer;
use crate::channel::{Token, WindowRead};
use crate::exploration::is_explored;
use crate::protocol::look::Question;
use crate::protocol::waiting::Waits;

/// Returns the result of the read that this read repeats, if the rank has only completed
/// accesses since, and the read has not changed the memory.
pub(crate) fn known_result(process: &Process, at: (SourceLocation, Question)) -> Option<Buffer> {
    let repeats = process.cold().looks.repeats_read(process.begun.get(), at);
    let engine = process.engine.borrow();
    repeats.then(|| engine.windows.known_result()).flatten()
}

/// Notes a read that the rank has begun after this many operations: one with a new result, or
/// a repetition that has the known result.
pub(crate) fn note_read(
    process: &Process,
    begun: u64,
    at: (SourceLocation, Question),
    (token, is_new): (Token, bool),
) {
    let looks = &mut process.cold().looks;
    match is_new {
        true => looks.begin_read(begun, at, token),
        false => looks.note_repetition(token),
    }
    process.forget_begun(begun);
}

/// Returns the number of operations if the latest one is a read, for
/// [`restore_begun`].
pub(crate) fn begun_with_read(process: &Process) -> Option<u64> {
    let begun = process.begun.get();
    let follows = is_explored(&*process.channel) && process.cold().looks.follows_read(begun);
    follows.then_some(begun)
}

/// Restores the number of operations behind a call that only completes accesses.
pub(crate) fn restore_begun(process: &Process, begun: Option<u64>) {
    if let Some(begun) = begun {
        process.forget_begun(begun);
    }
}

/// Returns true if a wait was for the end of the latest read.
pub(super) fn completes_read(process: &Process, waits: Waits) -> bool {
    match waits {
        Waits::Operation(token) | Waits::Named(_, token) => {
            let cold = process.cold.borrow();
            cold.as_ref().is_some_and(|cold| cold.looks.is_read(token))
        }
        _ => false,
    }
}

/// Returns the read that the rank repeats without end.
pub(super) fn endless_read(process: &Process) -> Option<WindowRead> {
    let stays = process.stays.get() && begun_with_read(process).is_some();
    let engine = process.engine.borrow();
    stays.then(|| engine.windows.endless_read()).flatten()
}

/// Returns true if a read of a window of this rank has the same result now.
pub(super) fn has_result(process: &Process, read: &WindowRead) -> bool {
    let engine = &mut *process.engine.borrow_mut();
    let window = engine.windows.find_window(read.window);
    window.is_none_or(|window| {
        let memory = window.memory_mut();
        let present = memory.copy_range(read.offset, read.result.len());
        present.bytes() == read.result.bytes()
    })
}
