//! Condition variables: a queue of actors that wait for a signal, first in, first out.
//!
//! Waiting releases the mutex. After a signal, a broadcast or a timeout the actor requests the
//! mutex again. There are no spurious wake-ups. A signal without a waiting actor is lost.

use std::collections::VecDeque;

use super::{Actors, Objects, Recycle};

/// One condition variable.
#[derive(Debug, Default)]
pub(crate) struct CondvarRecord {
    requests: u32,
    /// Requests without a signal, as (number, actor).
    pub(crate) waiting: VecDeque<(u32, u32)>,
    /// Signalled requests of actors that have not continued yet.
    pub(super) signalled: Vec<u32>,
}

impl Recycle for CondvarRecord {
    fn recycle(&mut self) {
        self.waiting.clear();
        self.signalled.clear();
        self.requests = 0;
    }
}

impl Objects {
    pub(crate) fn add_condvar(&mut self) -> u32 {
        self.condvars.add().0
    }

    /// Joins the queue; returns the number of the request.
    pub(crate) fn enter_condvar(&mut self, condvar: u32, actor: u32) -> u32 {
        let record = &mut self.condvars[condvar as usize];
        record.requests = record
            .requests
            .checked_add(1)
            .expect("requests are counted in 32 bits");
        record.waiting.push_back((record.requests, actor));
        record.requests
    }

    pub(crate) fn leave_condvar(&mut self, condvar: u32, request: u32) {
        self.condvars[condvar as usize]
            .signalled
            .retain(|&other| other != request);
    }

    pub(crate) fn signal_condvar(&mut self, condvar: u32, actors: &mut Actors) {
        let record = &mut self.condvars[condvar as usize];
        if let Some((request, actor)) = record.waiting.pop_front() {
            record.signalled.push(request);
            actors.schedule_actor(actor);
        }
    }

    pub(crate) fn broadcast_condvar(&mut self, condvar: u32, actors: &mut Actors) {
        while !self.condvars[condvar as usize].waiting.is_empty() {
            self.signal_condvar(condvar, actors);
        }
    }

    /// Withdraws a request; a signal for this request goes to the next request.
    pub(crate) fn withdraw_condvar(&mut self, condvar: u32, request: u32, actors: &mut Actors) {
        actors.record_hidden_effect();
        let record = &mut self.condvars[condvar as usize];
        record.waiting.retain(|&(number, _)| number != request);
        if let Some(position) = record.signalled.iter().position(|&other| other == request) {
            record.signalled.remove(position);
            self.signal_condvar(condvar, actors);
        }
    }
}
