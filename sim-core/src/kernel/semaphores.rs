//! Semaphores: a number of units, and a queue of requests in the order in which they were made.
//!
//! A request takes a free unit at once. A released unit goes to the oldest request. The unit of a
//! granted request that is withdrawn goes to the next request.

use std::collections::VecDeque;

use super::{Actors, Objects, Recycle};

/// One semaphore.
#[derive(Debug, Default)]
pub(crate) struct SemaphoreRecord {
    /// The number of free units.
    pub(crate) value: u32,
    /// The units at first.
    pub(crate) initial: u32,
    /// The number of the last request.
    requests: u32,
    /// Requests without a unit, as (number, actor).
    pub(crate) waiting: VecDeque<(u32, u32)>,
}

impl Recycle for SemaphoreRecord {
    fn recycle(&mut self) {
        self.waiting.clear();
        (self.value, self.requests) = (0, 0);
    }
}

impl Objects {
    pub(crate) fn add_semaphore(&mut self, value: u32) -> u32 {
        let (semaphore, record) = self.semaphores.add();
        (record.value, record.initial) = (value, value);
        semaphore
    }

    /// Asks for a unit; returns the number of the request.
    pub(crate) fn ask_semaphore(&mut self, semaphore: u32, actor: u32) -> u32 {
        let record = &mut self.semaphores[semaphore as usize];
        record.requests = record
            .requests
            .checked_add(1)
            .expect("requests of a semaphore are counted in 32 bits");
        if record.value > 0 {
            record.value -= 1;
        } else {
            record.waiting.push_back((record.requests, actor));
        }
        record.requests
    }

    /// Returns true if the request has its unit: the queue is sorted by number and does not contain
    /// the request.
    #[inline]
    pub(crate) fn is_granted(&self, semaphore: u32, request: u32) -> bool {
        self.semaphores[semaphore as usize]
            .waiting
            .binary_search_by_key(&request, |&(number, _)| number)
            .is_err()
    }

    pub(crate) fn release_semaphore(&mut self, semaphore: u32, actors: &mut Actors) {
        let record = &mut self.semaphores[semaphore as usize];
        if let Some((_, actor)) = record.waiting.pop_front() {
            actors.schedule_actor(actor);
        } else {
            record.value = record
                .value
                .checked_add(1)
                .expect("units of a semaphore are counted in 32 bits");
        }
    }

    pub(crate) fn withdraw_semaphore(&mut self, semaphore: u32, request: u32, actors: &mut Actors) {
        actors.record_hidden_effect();
        let waiting = &mut self.semaphores[semaphore as usize].waiting;
        match waiting.binary_search_by_key(&request, |&(number, _)| number) {
            Ok(position) => {
                waiting.remove(position);
            }
            Err(_) => self.release_semaphore(semaphore, actors),
        }
    }
}
