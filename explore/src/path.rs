//! A run as a partial order: its events, each with a vector clock and with its immediate races.
//!
//! An event happens before another if it comes first and both are of one actor or dependent, or by a chain of such pairs.
//! The clock of an event says, for each actor, how many of that actor's events happen before it or are it. The *races*
//! of an event are the earlier events that it depends on directly and no chain through a third event orders.
//!
//! Pushing costs one look at the table for each event that is not ordered before already, and one look at the clock for each that
//! came later than the first of those; popping costs nothing.

use crate::independence::{Lists, dependent};
use crate::machine::Step;
use crate::{Class, Event};

/// From so many events on it pays to count how many are not ordered before a new one, and to stop when all of those are found.
const LONG: usize = 64;

/// A run, or a beginning of one.
#[derive(Clone, Debug, Default)]
pub struct Path {
    events: Vec<Event>,
    /// The answers, for what tells runs apart.
    answers: Vec<u32>,
    /// How many steps the actor could have taken at each place, the one taken included.
    alternatives: Vec<u32>,
    /// The rank of each event among those of its actor, from 1.
    ranks: Vec<u32>,
    /// The event of the same actor before, plus one; 0 if there is none.
    before: Vec<u32>,
    /// `stride` numbers for each event.
    clocks: Vec<u32>,
    stride: usize,
    /// The latest event of each actor, plus one.
    latest: Vec<u32>,
    races: Vec<u32>,
    /// Where the races of each event begin.
    races_from: Vec<u32>,
}

impl Path {
    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events in the order in which they happened.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The answer of an event, as a number.
    #[must_use]
    pub fn answer(&self, position: usize) -> u32 {
        self.answers[position]
    }

    /// How many steps the actor could have taken instead of an event, that one included.
    #[must_use]
    pub fn alternatives(&self, position: usize) -> u32 {
        self.alternatives[position]
    }

    /// The vector clock of an event, by actor.
    #[must_use]
    pub fn clock(&self, position: usize) -> &[u32] {
        &self.clocks[position * self.stride..(position + 1) * self.stride]
    }

    /// The earlier events that an event directly depends on and that no chain orders before it; the latest first.
    #[must_use]
    pub fn races(&self, position: usize) -> &[u32] {
        let from = self.races_from[position] as usize;
        let to = self
            .races_from
            .get(position + 1)
            .map_or(self.races.len(), |&to| to as usize);
        &self.races[from..to]
    }

    /// Whether an event happens before a later one.
    #[inline]
    #[must_use]
    pub fn happens_before(&self, first: usize, second: usize) -> bool {
        let actor = self.events[first].actor as usize;
        self.clocks[second * self.stride + actor] >= self.ranks[first]
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// Adds an event. `causes` are earlier events that made it possible without depending on it otherwise.
    pub(crate) fn push(&mut self, step: &Step, causes: &[u32], lists: &Lists) {
        let Step {
            event,
            answer,
            alternatives,
        } = *step;
        let actor = event.actor as usize;
        if actor >= self.stride {
            self.widen(actor);
        }
        let (position, stride) = (self.events.len(), self.stride);
        let previous = self.latest[actor];
        self.races_from.push(small(self.races.len()));
        let start = position * stride;
        if previous == 0 {
            self.clocks.resize(start + stride, 0);
        } else {
            let from = (previous as usize - 1) * stride;
            self.clocks.extend_from_within(from..from + stride);
        }
        let (earlier, clock) = self.clocks.split_at_mut(start);
        for &cause in causes {
            let cause = cause as usize;
            let is_known =
                cause >= position || clock[self.events[cause].actor as usize] >= self.ranks[cause];
            if is_known {
                continue;
            }
            let covered = &earlier[cause * stride..(cause + 1) * stride];
            for (own, &theirs) in clock.iter_mut().zip(covered) {
                *own = (*own).max(theirs);
            }
        }
        // How many earlier events are not ordered before it, those that were looked at left out.
        let (mut left, mut independent) = (usize::MAX, 0);
        if position >= LONG {
            left = unordered(&self.latest, &self.ranks, clock);
        }
        let known = self.events.iter().zip(&self.ranks);
        for (other, (candidate, &rank)) in known.enumerate().rev() {
            if left == 0 {
                break;
            }
            if clock[candidate.actor as usize] >= rank {
                continue;
            }
            if !dependent(candidate, &event, lists) {
                left -= 1;
                independent += 1;
                continue;
            }
            self.races.push(small(other));
            let covered = &earlier[other * stride..(other + 1) * stride];
            for (own, &theirs) in clock.iter_mut().zip(covered) {
                *own = (*own).max(theirs);
            }
            if position >= LONG {
                left = unordered(&self.latest, &self.ranks, clock) - independent;
            }
        }
        let rank = if previous == 0 {
            1
        } else {
            self.ranks[previous as usize - 1] + 1
        };
        clock[actor] = rank;
        self.ranks.push(rank);
        self.before.push(previous);
        self.latest[actor] = small(position + 1);
        self.events.push(event);
        self.answers.push(answer);
        self.alternatives.push(alternatives);
    }

    /// Takes the last event away.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        self.answers.pop();
        self.alternatives.pop();
        self.ranks.pop();
        self.latest[event.actor as usize] = self.before.pop().unwrap_or(0);
        self.races
            .truncate(self.races_from.pop().unwrap_or(0) as usize);
        self.clocks.truncate(self.events.len() * self.stride);
        Some(event)
    }

    /// Makes room for the clocks of more actors.
    #[cold]
    fn widen(&mut self, actor: usize) {
        let stride = (actor + 1).next_power_of_two().max(8);
        let mut clocks = vec![0; self.events.len() * stride];
        if self.stride > 0 {
            for (new, old) in clocks
                .chunks_mut(stride)
                .zip(self.clocks.chunks(self.stride))
            {
                new[..self.stride].copy_from_slice(old);
            }
        }
        (self.clocks, self.stride) = (clocks, stride);
        self.latest.resize(stride, 0);
    }

    /// The class of the run: the same for all orders of the same partial order with the same answers, and for no others.
    #[must_use]
    pub fn class(&self) -> Class {
        Class::of(self)
    }

    /// What each actor did and was told, and nothing else.
    #[must_use]
    pub fn histories(&self) -> Class {
        Class::of_histories(self)
    }

    /// The latest event of an actor.
    #[must_use]
    pub fn latest(&self, actor: u16) -> Option<usize> {
        let latest = *self.latest.get(actor as usize)?;
        (latest > 0).then(|| latest as usize - 1)
    }

    /// The number of actors that clocks have room for.
    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }
}

/// How many events are not ordered before one with this clock.
fn unordered(latest: &[u32], ranks: &[u32], clock: &[u32]) -> usize {
    let actors = latest.iter().zip(clock).filter(|(latest, _)| **latest > 0);
    let counts = actors.map(|(&latest, &before)| ranks[latest as usize - 1] - before);
    counts.sum::<u32>() as usize
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("a run has fewer than 2^32 events")
}
