//! Functions of a program that the message layer calls, such as the operation of a reduction: also
//! when a message arrives, while the rank waits or another one runs.
//!
//! Such a function runs on a stack of its own, as the rank that has given it. What ends a rank,
//! such as a fault, ends the function and later the rank: the message layer is in the middle of its
//! work. What it prints appears when the rank continues.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use corosensei::Coroutine;

use super::{CURRENT, End, Inner, StackSlot};

/// A rank as long as its program is there.
#[derive(Clone, Debug)]
pub(crate) struct Owner(pub(super) Rc<Cell<*const Inner>>);

impl Owner {
    /// Calls a function of the program, unless that has ended.
    pub(crate) fn call(&self, function: &mut dyn FnMut()) {
        // SAFETY: the rank sets the pointer to null before its program and its parts go.
        if let Some(rank) = unsafe { self.0.get().as_ref() } {
            rank.call_back(function);
        }
    }
}

impl Inner {
    /// Returns the rank for calls of functions of its program.
    pub(crate) fn owner(&self) -> Owner {
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
            Err(refusal) => return self.end(End::Failed(refusal.to_string())),
        };
        let running = CURRENT.replace(self);
        let outer = (
            self.yielder.get(),
            self.stack.replace(slot.end()),
            self.trap.get(),
            self.is_in_call.replace(true),
            self.is_called_back.replace(true),
        );
        let (rank, function) = (ptr::from_ref(self) as usize, &raw const function as usize);
        let mut coroutine = Coroutine::with_stack(slot, move |yielder, ()| {
            // SAFETY: the rank and the function outlive this call, which waits for the end of the
            // coroutine or gives it up.
            unsafe {
                (*(rank as *const Self)).yielder.set(yielder);
                (*(function as *mut &mut dyn FnMut()))();
            }
        });
        self.trap.set(Some(coroutine.trap_handler()));
        coroutine.resume(());
        if !coroutine.done() {
            // SAFETY: what is on the stack is the program's own, and frames of this crate that have
            // ended the rank.
            unsafe { coroutine.force_reset() };
        }
        self.yielder.set(outer.0);
        self.stack.set(outer.1);
        self.trap.set(outer.2);
        self.is_in_call.set(outer.3);
        self.is_called_back.set(outer.4);
        CURRENT.set(running);
        if let Some(fault) = self.fault.take() {
            self.end(End::Failed(self.described(fault)));
        }
    }

    /// Notes the end of the rank.
    pub(super) fn end(&self, end: End) {
        self.end.set(Some(Box::new(end)));
    }

    /// Returns true if the rank has ended or is to end.
    pub(super) fn has_ended(&self) -> bool {
        let end = self.end.take();
        let has_ended = end.is_some();
        self.end.set(end);
        has_ended
    }

    /// Ends the rank if a function that was called back has ended it.
    pub(super) fn stop_if_ended(&self) {
        while self.has_ended() {
            self.suspend();
        }
    }

    /// Writes what functions that were called back have written.
    pub(super) fn write_deferred(&self) {
        if self.is_called_back.get() || self.deferred.borrow().is_empty() {
            return;
        }
        let deferred = std::mem::take(&mut *self.deferred.borrow_mut());
        for (stream, bytes) in deferred {
            self.write(stream, &bytes);
        }
    }
}
