//! Overview of the timeline of a run: for each group of neighbouring ranks and each bin of time,
//! the share of each activity. Memory is bounded: [`GROUPS_MAX`] groups, 512 bins.
//!
//! A wait without a class from [`TimelineOverview::wait_class`] counts for the kind of its call.
//! *Not modelled*: calls that take no time.

use std::collections::BTreeSet;

use observe::{LogEvent, NameId, RankEvent};

use crate::analysis::{CLASSES, Class};
use crate::network::Bins;

/// Groups of ranks at most.
const GROUPS_MAX: u32 = 64;

/// Number of activities: the classes, then the kinds of calls.
pub(super) const ACTIVITIES: usize = CLASSES + 4;

/// A wait of unknown class in a send, a receive, a collective operation, another call.
const SEND: usize = CLASSES;
const RECEIVE: usize = CLASSES + 1;
const COLLECTIVE: usize = CLASSES + 2;
const WAIT: usize = CLASSES + 3;

/// Returns the name of an activity.
pub(super) fn activity_name(activity: usize) -> &'static str {
    match activity {
        SEND => "in send",
        RECEIVE => "in receive",
        COLLECTIVE => "in collective",
        WAIT => "in another call",
        class => Class::ALL[class].name(),
    }
}

/// Activity of a rank.
#[derive(Clone, Copy, Debug)]
struct RankActivity {
    activity: usize,
    /// Time in seconds until which the time of the rank is counted.
    since_s: f64,
}

/// An overview of a timeline.
#[derive(Debug)]
pub struct TimelineOverview {
    ranks: Vec<RankActivity>,
    ranks_per_group: u32,
    /// Names of collective operations.
    collectives: BTreeSet<NameId>,
    /// Seconds by group and activity.
    bins: Bins,
    end_s: f64,
}

impl TimelineOverview {
    /// Begins the overview of a run of this many ranks.
    pub fn new(ranks: u32) -> Self {
        let begin = RankActivity {
            activity: Class::Compute as usize,
            since_s: 0.0,
        };
        Self {
            ranks: vec![begin; ranks as usize],
            ranks_per_group: ranks.div_ceil(GROUPS_MAX).max(1),
            collectives: BTreeSet::new(),
            bins: Bins::default(),
            end_s: 0.0,
        }
    }

    /// Takes the next event of a rank, at a time in seconds. `name` returns the text of a number.
    pub fn event<'a>(
        &mut self,
        rank: u32,
        time: f64,
        event: &LogEvent,
        name: impl Fn(NameId) -> &'a str,
    ) {
        let activity = match *event {
            RankEvent::Wait { call, elapses, .. } => self.activity_of(call, elapses, name),
            RankEvent::Continue => Class::Compute as usize,
            RankEvent::End => Class::Ended as usize,
            RankEvent::Collective { name, .. } => {
                self.collectives.insert(name);
                return;
            }
            _ => return,
        };
        self.advance_rank(rank, time);
        if let Some(state) = self.ranks.get_mut(rank as usize) {
            state.activity = activity;
        }
    }

    fn activity_of<'a>(
        &self,
        call: NameId,
        elapses: bool,
        name: impl Fn(NameId) -> &'a str,
    ) -> usize {
        match name(call) {
            "sleep" if elapses => Class::Sleep as usize,
            _ if elapses => Class::Compute as usize,
            _ if self.collectives.contains(&call) => COLLECTIVE,
            "send" | "ssend" | "bsend" | "rsend" => SEND,
            "recv" | "mrecv" => RECEIVE,
            _ => WAIT,
        }
    }

    /// Takes the class of a part of a wait, from one time to another in seconds, before the event
    /// that ends the wait. Parts come in the order of time.
    pub fn wait_class(&mut self, rank: u32, (from_s, to_s): (f64, f64), class: Class) {
        self.advance_rank(rank, from_s);
        if let Some(state) = self.ranks.get_mut(rank as usize) {
            let activity = std::mem::replace(&mut state.activity, class as usize);
            self.advance_rank(rank, to_s);
            self.ranks[rank as usize].activity = activity;
        }
    }

    /// Ends the overview at the end of the run, in seconds: a wait that has no end is blocked.
    pub fn finish_overview(&mut self, end_s: f64) {
        for rank in 0..u32::try_from(self.ranks.len()).unwrap_or(u32::MAX) {
            let state = &mut self.ranks[rank as usize];
            let waits = ![Class::Compute, Class::Sleep, Class::Ended]
                .map(|class| class as usize)
                .contains(&state.activity);
            if waits {
                state.activity = Class::Blocked as usize;
            }
            self.advance_rank(rank, end_s);
        }
    }

    /// Counts the time of a rank until now.
    fn advance_rank(&mut self, rank: u32, time: f64) {
        self.end_s = self.end_s.max(time);
        let Some(state) = self.ranks.get_mut(rank as usize) else {
            return;
        };
        if time > state.since_s {
            let group = (rank / self.ranks_per_group) as usize;
            let row = u32::try_from(group * ACTIVITIES + state.activity).unwrap_or(0);
            self.bins.add(row, state.since_s, time, 1.0);
            state.since_s = time;
        }
    }

    /// Returns the number of groups.
    pub(super) fn groups(&self) -> usize {
        self.ranks.len().div_ceil(self.ranks_per_group as usize)
    }

    /// Returns the first and the last rank of a group.
    pub(super) fn ranks_of(&self, group: usize) -> (usize, usize) {
        let first = group * self.ranks_per_group as usize;
        let last = first + self.ranks_per_group as usize - 1;
        (first, last.min(self.ranks.len().saturating_sub(1)))
    }

    /// Returns the number of bins that the run has, and their width in seconds.
    pub(super) fn columns(&self) -> (usize, f64) {
        let longest = self.bins.rows.iter().map(Vec::len).max();
        (longest.unwrap_or(0), self.bins.width_s)
    }

    /// Returns the end of the run in seconds.
    pub(super) const fn end_s(&self) -> f64 {
        self.end_s
    }

    /// Returns the share of each activity of a group in some neighbouring bins.
    pub(super) fn shares(&self, group: usize, bins: std::ops::Range<usize>) -> [f64; ACTIVITIES] {
        let seconds: [f64; ACTIVITIES] = std::array::from_fn(|activity| {
            let row = self.bins.rows.get(group * ACTIVITIES + activity);
            let row = row.map_or(&[][..], |row| row);
            row.iter().take(bins.end).skip(bins.start).sum()
        });
        let whole: f64 = seconds.iter().sum();
        seconds.map(|part| if whole > 0.0 { part / whole } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_replace_the_kind_of_the_call() {
        let mut overview = TimelineOverview::new(2);
        let name = |number| if number == 1 { "recv" } else { "compute" };
        let wait = |call, elapses| RankEvent::Wait {
            call,
            place: 0,
            elapses,
            request: None,
        };
        overview.event(0, 1.0, &wait(1, false), name);
        overview.wait_class(0, (1.0, 2.0), Class::LateSender);
        overview.event(0, 4.0, &RankEvent::Continue, name);
        overview.event(0, 4.0, &RankEvent::End, name);
        overview.event(1, 2.0, &wait(1, false), name);
        overview.finish_overview(8.0);
        let all = 0..overview.columns().0;
        let first = overview.shares(0, all.clone());
        assert_eq!(first[Class::Compute as usize], 1.0 / 8.0);
        assert_eq!(first[Class::LateSender as usize], 1.0 / 8.0);
        assert_eq!(first[RECEIVE], 2.0 / 8.0);
        assert_eq!(first[Class::Ended as usize], 4.0 / 8.0);
        let second = overview.shares(1, all);
        assert_eq!(second[Class::Blocked as usize], 6.0 / 8.0);
    }

    #[test]
    fn many_ranks_are_in_few_groups() {
        let mut overview = TimelineOverview::new(1000);
        for rank in 0..1000 {
            let time = 1.0 + f64::from(rank);
            overview.event(rank, time, &RankEvent::End, |_| "");
        }
        overview.finish_overview(1000.0);
        assert_eq!(overview.groups(), 63);
        assert_eq!(overview.ranks_of(62), (992, 999));
        assert!(overview.columns().0 <= 512);
    }
}
