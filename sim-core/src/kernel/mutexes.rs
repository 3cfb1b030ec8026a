//! Mutexes: a queue of actors with the owner at the head.
//!
//! The request of a mutex never blocks; the wait for the ownership does. A waiter leaves the queue
//! at any place. An unlock is a transition and no drop: a model checker can schedule other actors
//! before the unlock. The requested mutexes of an actor are its request set; its end releases them.

use std::collections::VecDeque;

use super::{Actors, Objects, Recycle};

/// One mutex.
#[derive(Debug, Default)]
pub(crate) struct MutexRecord {
    /// The owner first, then the waiters, in the order of their requests.
    pub(crate) queue: VecDeque<u32>,
    /// Number of times that an actor joined or left the queue.
    pub(crate) changes: u32,
    /// Number of times that an actor left the queue.
    pub(crate) departures: u32,
}

impl Recycle for MutexRecord {
    fn recycle(&mut self) {
        self.queue.clear();
        (self.changes, self.departures) = (0, 0);
    }
}

impl Objects {
    pub(crate) fn add_mutex(&mut self) -> u32 {
        self.mutexes.add().0
    }

    #[inline]
    pub(crate) fn is_owner(&self, mutex: u32, actor: u32) -> bool {
        self.mutexes[mutex as usize].queue.front() == Some(&actor)
    }

    /// Joins the queue.
    ///
    /// # Panics
    /// If the actor is in the queue already: these mutexes are not recursive. The run reports the
    /// panic as a panic of the actor.
    #[inline]
    pub(crate) fn enter_mutex(&mut self, mutex: u32, actor: u32, actors: &mut Actors) {
        let requests = &mut actors[actor].extra().mutexes;
        assert!(
            !requests.contains(&mutex),
            "mutex {mutex} is not recursive: the actor has asked for it already"
        );
        requests.push(mutex);
        let record = &mut self.mutexes[mutex as usize];
        record.changes = record.changes.wrapping_add(1);
        record.queue.push_back(actor);
    }

    /// Leaves the queue, which must contain the actor.
    #[inline]
    pub(crate) fn leave_mutex_of(&mut self, mutex: u32, actor: u32, actors: &mut Actors) {
        let requests = &mut actors[actor].extra().mutexes;
        let position = requests.iter().rposition(|&other| other == mutex);
        let position = position.unwrap_or_else(|| {
            panic!("mutex {mutex} is unlocked by an actor that has not locked it")
        });
        requests.swap_remove(position);
        self.leave_mutex(mutex, actor, actors);
    }

    /// Leaves the queue, unless the actor has already left.
    pub(crate) fn leave_mutex_if_asked(&mut self, mutex: u32, actor: u32, actors: &mut Actors) {
        if actors[actor].extra().mutexes.contains(&mutex) {
            self.leave_mutex_of(mutex, actor, actors);
        }
    }

    /// Leaves the queue of a mutex that is no longer in the request set.
    #[inline]
    pub(crate) fn leave_mutex(&mut self, mutex: u32, actor: u32, actors: &mut Actors) {
        actors.record_hidden_effect();
        let record = &mut self.mutexes[mutex as usize];
        record.changes = record.changes.wrapping_add(1);
        record.departures = record.departures.wrapping_add(1);
        let queue = &mut record.queue;
        if queue.front() == Some(&actor) {
            queue.pop_front();
            if let Some(&next) = queue.front() {
                actors.schedule_actor(next);
            }
        } else if let Some(position) = queue.iter().position(|&other| other == actor) {
            queue.remove(position);
        }
    }
}
