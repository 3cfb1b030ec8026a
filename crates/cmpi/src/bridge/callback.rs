//! Functions of a program that the message layer calls, such as the operation of a reduction. A
//! call can happen on arrival of a message, while the rank waits or another rank runs.
//!
//! The function runs on a separate stack, as the rank that registered the function. An end of the
//! rank, for example by a fault, ends the function at once and the rank later: the message layer
//! must first complete a step. Output of the function appears when the rank continues.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use corosensei::Coroutine;

use super::{CURRENT, Inner, RankEnd, StackSlot};

/// A reference to a rank, valid while the program of the rank exists.
#[derive(Clone, Debug)]
pub(crate) struct RankReference(pub(super) Rc<Cell<*const Inner>>);

impl RankReference {
    /// Calls a function of the program, unless that has ended.
    pub(crate) fn call_function(&self, function: &mut dyn FnMut()) {
        // SAFETY: the rank sets the pointer to null before its program and its parts go.
        if let Some(rank) = unsafe { self.0.get().as_ref() } {
            rank.call_back(function);
        }
    }

    /// Ends the rank with an error, unless the program has ended.
    pub(crate) fn end_rank(&self, error: String) {
        // SAFETY: as above.
        let rank = unsafe { self.0.get().as_ref() };
        if let Some(rank) = rank.filter(|rank| !rank.has_ended()) {
            rank.note_end(RankEnd::Failed(error));
        }
    }
}

impl Inner {
    /// Returns a reference to the rank for calls of functions of the program.
    pub(crate) fn to_reference(&self) -> RankReference {
        self.myself.0.set(self);
        self.myself.clone()
    }

    fn call_back(&self, function: &mut dyn FnMut()) {
        if self.has_ended() {
            return;
        }
        // One function is called at a time. The stack is none of the ranks'.
        let slot = match StackSlot::new(&self.memory, self.world.size()) {
            Ok(slot) => slot,
            Err(refusal) => return self.note_end(RankEnd::Failed(refusal.to_string())),
        };
        let running = CURRENT.replace(self);
        let outer = (
            self.stack.yielder.get(),
            self.stack.end.replace(slot.stack_end()),
            self.stack.trap.get(),
            self.is_in_call.replace(true),
            self.is_called_back.replace(true),
        );
        let (rank, function) = (ptr::from_ref(self) as usize, &raw const function as usize);
        let mut coroutine = Coroutine::with_stack(slot, move |yielder, ()| {
            // SAFETY: the rank and the function outlive this call, which waits for the end of the
            // coroutine or gives it up.
            unsafe {
                (*(rank as *const Self)).stack.yielder.set(yielder);
                (*(function as *mut &mut dyn FnMut()))();
            }
        });
        self.stack.trap.set(Some(coroutine.trap_handler()));
        coroutine.resume(());
        if !coroutine.done() {
            // SAFETY: what is on the stack is the program's own, and frames of this crate that have
            // ended the rank.
            unsafe { coroutine.force_reset() };
        }
        self.stack.yielder.set(outer.0);
        self.stack.end.set(outer.1);
        self.stack.trap.set(outer.2);
        self.is_in_call.set(outer.3);
        self.is_called_back.set(outer.4);
        CURRENT.set(running);
        if let Some(fault) = self.fault.take() {
            self.note_end(RankEnd::Failed(self.described(fault)));
        }
    }

    /// Notes the end of the rank.
    pub(super) fn note_end(&self, end: RankEnd) {
        self.end.set(Some(Box::new(end)));
    }

    /// Returns true if the rank has ended or is to end.
    pub(super) fn has_ended(&self) -> bool {
        let end = self.end.take();
        let has_ended = end.is_some();
        self.end.set(end);
        has_ended
    }

    /// Ends the rank if a callback function has requested the end.
    pub(super) fn stop_if_ended(&self) {
        while self.has_ended() {
            self.suspend();
        }
    }

    /// Writes the output of callback functions.
    #[inline]
    pub(super) fn write_deferred(&self) {
        if !self.files.deferred.borrow().is_empty() && !self.is_called_back.get() {
            self.write_all_deferred();
        }
    }

    #[cold]
    fn write_all_deferred(&self) {
        let deferred = std::mem::take(&mut *self.files.deferred.borrow_mut());
        for (stream, bytes) in deferred {
            self.write_lines(stream, &bytes);
        }
    }
}
