//! The ends of flows: one virtual clock per owner.
//!
//! All flows of an owning link have the level of the link. For each of these flows, the completed
//! work divided by its weight is the same integral of the level: the *clock* of the link. A flow
//! that gets an owner notes the reading at its end, and stays untouched in the heap of the link
//! while the level moves. One more heap holds, for each link, the date of its first flow. A flow at
//! its own bound has a constant rate, and its date is in a separate heap.
//!
//! A clock without flows is reset to 0, because large readings are less precise. Owner changes are
//! noted after a solve, so that a flow that comes back to its owner is not touched.

use super::heap::IndexedHeap;
use super::incremental::Incremental;
use super::plain::duration;
use super::state::{Owner, index};

/// The clock of a link.
#[derive(Clone, Default, Debug)]
pub(super) struct LinkClock {
    /// The reading of the clock, in work per weight,
    reading: f64,
    /// at this date.
    since: f64,
    /// The flows that follow the clock, by the reading at their end.
    pub(super) flows: IndexedHeap,
    /// True if the next date of the clock must be found again.
    stale: bool,
}

impl LinkClock {
    fn reading_at(&self, now: f64, level: f64) -> f64 {
        let elapsed = now - self.since;
        if elapsed > 0.0 && !self.flows.is_empty() {
            self.reading + level * elapsed
        } else {
            self.reading
        }
    }

    /// Returns the date of the first flow, if the level stays.
    fn date(&self, level: f64) -> Option<f64> {
        let (tag, _) = self.flows.first()?;
        let left = duration((tag - self.reading).max(0.0), level);
        Some(self.since + left)
    }
}

impl Incremental {
    /// Updates the clock of a link, then sets the level of the link.
    pub(super) fn set_level(&mut self, link: usize, level: f64) {
        let before = std::mem::replace(&mut self.state.gauges[link].level, level);
        if before == level {
            return;
        }
        self.clocks[link].reading = self.clocks[link].reading_at(self.now, before);
        self.clocks[link].since = self.now;
        self.stale(link);
    }

    fn stale(&mut self, link: usize) {
        if !std::mem::replace(&mut self.clocks[link].stale, true) {
            self.stale_clocks.push(index(link));
        }
    }

    /// Lets the flows with a changed owner follow their new clocks, and finds the next date of all
    /// changed clocks.
    pub(super) fn set_clocks(&mut self) {
        for at in 0..self.state.moved.len() {
            let flow = self.state.moved[at] as usize;
            self.state.flows[flow].moved = false;
            let (old, new) = (self.state.flows[flow].clock, self.state.flows[flow].owner);
            if old == new {
                continue;
            }
            let left = self.remaining_of(flow);
            self.detach_clock(flow);
            self.follow_clock(flow, left);
        }
        self.state.moved.clear();
        while let Some(link) = self.stale_clocks.pop() {
            let at = link as usize;
            self.clocks[at].stale = false;
            match self.clocks[at].date(self.state.gauges[at].level) {
                Some(date) => self.dates.set(link, date, &mut self.dates_at),
                None => {
                    self.dates.remove(link, &mut self.dates_at);
                    self.clocks[at].reading = 0.0;
                }
            }
        }
    }

    /// Lets a flow follow the clock of the owner.
    pub(super) fn follow_clock(&mut self, flow: usize, left: f64) {
        let entry = &mut self.state.flows[flow];
        entry.clock = entry.owner;
        match entry.owner {
            Owner::Link(link) => {
                let at = link as usize;
                let level = self.state.gauges[at].level;
                let clock = &mut self.clocks[at];
                let reading = clock.reading_at(self.now, level);
                clock.reading = reading;
                clock.since = self.now;
                entry.tag = reading + left / entry.weight;
                let tag = entry.tag;
                clock.flows.set(index(flow), tag, &mut self.flows_at);
                self.stale(at);
            }
            _ => {
                entry.tag = self.now + duration(left, entry.bound);
                self.bounded.set(index(flow), entry.tag, &mut self.flows_at);
            }
        }
    }

    /// Lets a flow follow no clock.
    pub(super) fn detach_clock(&mut self, flow: usize) {
        let clock = std::mem::replace(&mut self.state.flows[flow].clock, Owner::Out);
        match clock {
            Owner::Link(link) => {
                let at = link as usize;
                let first = self.clocks[at].flows.first();
                self.clocks[at]
                    .flows
                    .remove(index(flow), &mut self.flows_at);
                if first != self.clocks[at].flows.first() {
                    self.stale(at);
                }
            }
            Owner::Bound => self.bounded.remove(index(flow), &mut self.flows_at),
            Owner::Nobody | Owner::Out => {}
        }
    }

    /// The work that a flow has left at the current date.
    pub(super) fn remaining_of(&self, flow: usize) -> f64 {
        let entry = &self.state.flows[flow];
        match entry.clock {
            Owner::Link(link) => {
                let at = link as usize;
                // The level at hand is the one since the last update of the clock.
                let reading = self.clocks[at].reading_at(self.now, self.state.gauges[at].level);
                ((entry.tag - reading) * entry.weight).max(0.0)
            }
            Owner::Bound => ((entry.tag - self.now) * entry.bound).max(0.0),
            Owner::Nobody | Owner::Out => entry.tag,
        }
    }

    /// The first date at which a flow ends in seconds, infinite if there is none.
    pub(super) fn next_s(&self) -> f64 {
        let first = |heap: &IndexedHeap| heap.first().map_or(f64::INFINITY, |(date, _)| date);
        first(&self.dates).min(first(&self.bounded))
    }

    /// Appends the flows that end up to `last`; they continue until they leave.
    pub(super) fn due(&mut self, last: f64, flows: &mut Vec<u32>) {
        while let Some((date, flow)) = self.bounded.first()
            && date <= last
        {
            self.detach_clock(flow as usize);
            self.state.flows[flow as usize].tag = 0.0;
            flows.push(flow);
        }
        while let Some((date, link)) = self.dates.first()
            && date <= last
        {
            let level = self.state.gauges[link as usize].level;
            while let Some((_, flow)) = self.clocks[link as usize].flows.first()
                && self.clocks[link as usize]
                    .date(level)
                    .is_some_and(|date| date <= last)
            {
                self.detach_clock(flow as usize);
                self.state.flows[flow as usize].tag = 0.0;
                flows.push(flow);
            }
            match self.clocks[link as usize].date(level) {
                Some(date) => self.dates.set(link, date, &mut self.dates_at),
                None => self.dates.remove(link, &mut self.dates_at),
            }
        }
    }
}
