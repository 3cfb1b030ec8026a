//! A run as a partial order: the events, each with a vector clock and with the immediate races.
//!
//! An event happens before another event if it comes first and both are of one actor or dependent,
//! or by a chain of such pairs. The clock of an event counts, for each actor, the events of that
//! actor that happen before the event, the event included. The *races* of an event are the earlier
//! events on which the event depends directly and which no chain through a third event orders.
//!
//! A new event is compared with the events that are not ordered before it; if these or the actors
//! are many, with [`Candidates`].

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use crate::candidates::Candidates;
use crate::independence::{Lists, Suspects, Touched, dependent};
use crate::machine::ExecutedStep;
use crate::releases::Releases;
use crate::vector_clocks::{VectorClocks, join_rows};
use crate::{Event, TraceId, small};

/// From this number of events that are not ordered before a new event, [`Candidates`] are used.
/// Below this number, a comparison with each event is cheaper.
const MANY: usize = 256;

/// Further facts about an event.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The answer, which distinguishes runs.
    answer: u32,
    /// Number of enabled steps of the actor, the one taken included.
    alternatives: u32,
    /// The number of the event among the events of the actor, from 1.
    rank: u32,
    /// Where the races of the event begin.
    races_from: u32,
}

/// The events of an actor.
#[derive(Clone, Debug, Default)]
struct ActorEvents {
    positions: Vec<u32>,
    /// Kinds and objects of the events, in this run and in earlier runs.
    touched: Touched,
}

/// A run, or a beginning of one.
#[derive(Clone, Debug, Default)]
pub struct Path {
    events: Vec<Event>,
    places: Vec<Place>,
    by_actor: Vec<ActorEvents>,
    /// The actors that have events, in the order of their first.
    active: Vec<u16>,
    clocks: VectorClocks,
    candidates: Candidates,
    /// Of each actor the latest event that a new one depends on.
    found: Vec<u32>,
    releases: Releases,
    races: Vec<u32>,
    /// Number of events that were compared in a search for races or for unordered events.
    #[cfg(test)]
    looks: std::cell::Cell<usize>,
}

impl Path {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events in the order in which they happened.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The answer of an event, as a number.
    pub fn answer(&self, position: usize) -> u32 {
        self.places[position].answer
    }

    /// Returns the number of steps that were enabled for the actor of an event, that one included.
    pub fn alternatives(&self, position: usize) -> u32 {
        self.places[position].alternatives
    }

    /// The vector clock of an event, by actor.
    pub fn clock(&self, position: usize) -> Vec<u32> {
        let actors = 0..self.actors();
        let counts = actors.map(|actor| self.clocks.get(position, actor));
        counts.collect()
    }

    /// The earlier events on which an event depends directly and which no chain orders before the
    /// event; the latest first.
    pub fn races(&self, position: usize) -> &[u32] {
        let from = self.places[position].races_from as usize;
        let next = self.places.get(position + 1);
        let to = next.map_or(self.races.len(), |next| next.races_from as usize);
        &self.races[from..to]
    }

    /// Returns true if an event happens before a later one.
    #[inline]
    pub fn happens_before(&self, first: usize, second: usize) -> bool {
        let actor = self.events[first].actor as usize;
        self.clocks.get(second, actor) >= self.places[first].rank
    }

    /// Returns true if all events that happen before an event are among the first events of each
    /// actor; `counts` has the number of the first events by actor.
    pub(crate) fn comes_next(&self, position: usize, counts: &[u32]) -> bool {
        let own = self.events[position].actor;
        let mut others = self.active.iter().filter(|&&actor| actor != own);
        others.all(|&actor| {
            #[cfg(test)]
            self.looks.set(self.looks.get() + 1);
            let actor = actor as usize;
            self.clocks.get(position, actor) <= counts[actor]
        })
    }

    /// Adds the positions of the events between two that do not happen after the first, in order.
    pub(crate) fn add_not_after(&self, first: usize, end: usize, into: &mut Vec<u32>) {
        let between = first + 1..end;
        let is_free = |position: &u32| {
            #[cfg(test)]
            self.looks.set(self.looks.get() + 1);
            !self.happens_before(first, *position as usize)
        };
        if between.len() / 8 <= self.active.len() {
            into.extend(between.map(small).filter(is_free));
            return;
        }
        // Once an event of an actor happens after the first, all later ones do.
        let start = into.len();
        for &actor in &self.active {
            let own = &self.by_actor[actor as usize].positions;
            let from = own.partition_point(|&position| position as usize <= first);
            let free = own[from..]
                .partition_point(|position| (*position as usize) < end && is_free(position));
            into.extend_from_slice(&own[from..from + free]);
        }
        into[start..].sort_unstable();
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// Adds an event. `causes` are earlier events that made the event possible without any other
    /// dependency.
    pub(crate) fn push(&mut self, step: &ExecutedStep, causes: &[u32], lists: &Lists) {
        let ExecutedStep {
            event,
            answer,
            alternatives,
        } = *step;
        let actor = event.actor as usize;
        self.clocks.reserve(actor);
        if actor >= self.by_actor.len() {
            self.by_actor.resize(actor + 1, ActorEvents::default());
        }
        let position = self.events.len();
        let own = &self.by_actor[actor].positions;
        let rank = small(own.len() + 1);
        let previous = own.last().map(|&previous| previous as usize);
        self.clocks.push(previous);
        for &cause in causes {
            let cause = cause as usize;
            let is_earlier = cause < position;
            if is_earlier && !self.happens_before(cause, position) {
                self.clocks.join_clock(cause);
            }
        }
        let races_from = small(self.races.len());
        if self.clocks.rows().is_none() || (position >= MANY && self.unordered() >= MANY) {
            self.compare_with_candidates(&event, lists);
        } else {
            self.compare_with_all(&event, lists);
        }
        self.clocks.set_count(actor, rank);
        let own = &mut self.by_actor[actor];
        own.positions.push(small(position));
        own.touched.add_event(&event);
        if rank == 1 {
            self.active.push(event.actor);
        }
        self.releases.push(position, &event);
        self.events.push(event);
        self.places.push(Place {
            answer,
            alternatives,
            rank,
            races_from,
        });
    }

    /// Number of events that are not ordered before a new one.
    fn unordered(&self) -> usize {
        let position = self.events.len();
        let counts = self.active.iter().map(|&actor| {
            let actor = actor as usize;
            self.by_actor[actor].positions.len() - self.clocks.get(position, actor) as usize
        });
        counts.sum()
    }

    /// Finds the races of a new event among all events. For each actor, the latest event on which
    /// the new event depends orders all earlier events.
    fn compare_with_all(&mut self, event: &Event, lists: &Lists) {
        let (stride, used) = (self.clocks.stride(), self.by_actor.len());
        let Some((earlier, clock)) = self.clocks.rows() else {
            return;
        };
        let suspects = Suspects::from_event(event);
        self.found.clear();
        for (own, &ordered) in self.by_actor.iter().zip(&*clock) {
            let (positions, ordered) = (&own.positions, ordered as usize);
            if positions.len() == ordered || !suspects.include_any(own.touched) {
                continue;
            }
            for &other in positions[ordered..].iter().rev() {
                let candidate = &self.events[other as usize];
                #[cfg(test)]
                self.looks.set(self.looks.get() + 1);
                if suspects.include(candidate) && dependent(candidate, event, lists) {
                    self.found.push(other);
                    break;
                }
            }
        }
        if self.found.len() > 1 {
            self.found.sort_unstable_by_key(|&other| Reverse(other));
        }
        for &other in &self.found {
            let index = other as usize;
            if clock[self.events[index].actor as usize] < self.places[index].rank {
                self.races.push(other);
                join_rows(&mut clock[..used], &earlier[index * stride..]);
            }
        }
    }

    /// Finds the races of a new event among the events on which it can depend.
    fn compare_with_candidates(&mut self, event: &Event, lists: &Lists) {
        let position = self.events.len();
        let mut candidates = std::mem::take(&mut self.candidates);
        for listed in candidates.len()..position {
            candidates.push(&self.events[listed], |other| {
                self.happens_before(other as usize, listed)
            });
        }
        candidates.search(event, |other| {
            let index = other as usize;
            if self.happens_before(index, position) {
                return true;
            }
            let depends = dependent(&self.events[index], event, lists);
            if depends {
                self.races.push(other);
                self.clocks.join_clock(index);
            }
            depends
        });
        self.candidates = candidates;
    }

    /// Takes the last event away.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        let place = self.places.pop()?;
        let own = &mut self.by_actor[event.actor as usize].positions;
        own.pop();
        if own.is_empty() {
            self.active.pop();
        }
        self.releases.pop(&event);
        if self.candidates.len() > self.events.len() {
            self.candidates.pop();
        }
        self.races.truncate(place.races_from as usize);
        self.clocks.pop();
        Some(event)
    }

    /// The class of the run: the same for all orders of the same partial order with the same
    /// answers, and for no others.
    pub fn trace_id(&self) -> TraceId {
        TraceId::from_path(self)
    }

    /// Returns the class of the steps and answers of each actor, without the order between actors.
    pub fn histories(&self) -> TraceId {
        TraceId::of_histories(self)
    }

    /// The latest event of an actor.
    pub fn latest(&self, actor: u16) -> Option<usize> {
        let latest = self.events_of(actor as usize).last()?;
        Some(*latest as usize)
    }

    /// The positions of an actor's events.
    pub(crate) fn events_of(&self, actor: usize) -> &[u32] {
        let own = self.by_actor.get(actor);
        own.map_or(&[], |own| own.positions.as_slice())
    }

    /// The number of actors that clocks have room for.
    pub(crate) const fn actors(&self) -> usize {
        self.clocks.stride()
    }

    /// The units of the semaphore that were released before a wait; `None` if requests may have
    /// been withdrawn by then.
    pub(crate) fn released_before(&self, wait: usize) -> Option<u32> {
        self.releases.before(wait)
    }
}
