//! Generalized requests, whose operations a program performs itself (MPI 5.0, section 13.2).
//!
//! A request is the receive of an empty message. The communicator of the message has only this rank
//! and is used by no other call. `MPI_Grequest_complete` sends the message. So waiting calls and
//! reports about unfinished requests need no other kind of request. Functions of the program are
//! called when no value of the call is on the stack any more.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

use super::completion::unknown;
use super::memory;
use crate::bridge::{call_program, with_state};
use crate::errors::CallError;
use crate::handles::Memory;
use crate::state::requests::{Cancel, Due, Free, Generalized, Query, Status};
use crate::state::{Handle, MpiState, WORLD, alone};

/// Calls the functions that are due. Returns the code of the first that fails.
pub(crate) fn call_due() -> c_int {
    let mut code = 0;
    while let Some(due) = with_state(|state| state.generalized.due.pop_front()) {
        let mut ignored = Status::empty();
        let Due { query, free, extra } = due;
        let queried = query.map_or(0, |(query, status)| {
            let ignored = &raw mut ignored;
            let status = if status.is_null() { ignored } else { status };
            call_program(|| query(extra, status))
        });
        let freed = free.map_or(0, |free| call_program(|| free(extra)));
        let failed = [code, queried, freed].into_iter().find(|code| *code != 0);
        code = failed.unwrap_or(0);
    }
    code
}

impl MpiState {
    fn generalized(&self, request: Handle) -> Result<&Rc<Generalized>, CallError> {
        match self.requests.get(request).map(|active| &active.memory) {
            Some(Memory::Generalized(generalized)) => Ok(generalized),
            _ => Err(unknown(request)),
        }
    }

    /// Frees a generalized request. Returns false for other ones.
    pub(super) fn free_generalized(&mut self, request: Handle) -> bool {
        let Ok(generalized) = self.generalized(request).cloned() else {
            return false;
        };
        if generalized.is_complete.get() {
            self.end_generalized(request, &generalized);
        }
        generalized.is_freed.set(true);
        true
    }

    fn end_generalized(&mut self, request: Handle, generalized: &Generalized) {
        self.generalized.due.push_back(generalized.freed());
        if let Some(active) = self.requests.remove(request) {
            active.request.free();
        }
    }
}

/// Cancels a generalized request. Returns false for other ones.
pub(super) fn cancel_generalized(request: Handle) -> Result<bool, CallError> {
    let found = with_state(|state| {
        let generalized = state.generalized(request).ok()?;
        let is_complete = generalized.is_complete.get();
        Some((
            generalized.cancel,
            generalized.extra,
            c_int::from(is_complete),
        ))
    });
    let Some((function, extra, is_complete)) = found else {
        return Ok(false);
    };
    match call_program(|| function(extra, is_complete)) {
        0 => Ok(true),
        code => Err(CallError::of_program(
            code,
            "the cancel function has failed",
        )),
    }
}

exports! {
    fn MPI_Grequest_start(query: Query, free: Free, cancel: Cancel, extra: usize, request: *mut Handle) {
        let handle = with_state(|state| {
            state.comm(WORLD)?;
            let comm = state.generalized.comm.get_or_init(|| alone(&state.world));
            state.generalized.tag = (state.generalized.tag + 1) & mpi::TAG_UB;
            let tag = state.generalized.tag;
            let waiting = comm.irecv(comm.buffer(0), 0, tag)?;
            let generalized = Generalized {
                query,
                free,
                cancel,
                extra,
                tag,
                is_complete: Cell::new(false),
                is_freed: Cell::new(false),
            };
            Ok::<_, CallError>(state.insert(waiting, Memory::Generalized(Rc::new(generalized))))
        })?;
        memory::store(request, handle);
        Ok(())
    }

    fn MPI_Grequest_complete(request: Handle) {
        with_state(|state| {
            let generalized = Rc::clone(state.generalized(request)?);
            let comm = state.generalized.comm.get_or_init(|| alone(&state.world));
            comm.isend(comm.buffer(0), 0, generalized.tag)?.free();
            generalized.is_complete.set(true);
            if generalized.is_freed.get() {
                state.end_generalized(request, &generalized);
            }
            Ok(())
        })
    }
}
