//! Merges neighbouring short slices, with durations below a limit, into one slice.
//!
//! A call is kept until it ends or lasts longer than the limit. A short call is added to the short
//! calls before it, and written as one slice "short" with their number and the duration of each
//! name. Such a slice ends when it is as long as the limit, so durations add up as without merging.
//!
//! *Not drawn*: operations within the first part of a call, as long as the limit, and arrows from
//! sends, which take no time; these arrows begin when their messages leave the sender.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use super::Perfetto;
use crate::trace::TraceSummary;
use crate::trace::sink::{Counter, Flight, Label, Sink, Slice, SliceKind};

/// Slices that become one.
#[derive(Clone, Debug)]
struct SliceGroup {
    begin: f64,
    end: f64,
    count: u64,
    /// Durations in seconds, by name.
    sums: Vec<(Label, f64)>,
}

/// The slices of a rank that are not written.
#[derive(Clone, Debug, Default)]
struct RankShort {
    group: Option<SliceGroup>,
    /// The call that has not ended, with the begin of the call.
    call: Option<(f64, Slice)>,
}

/// A trace with merged short slices.
pub(crate) struct Merge<W: Write> {
    trace: Perfetto<W>,
    /// Duration in seconds.
    limit: f64,
    ranks: BTreeMap<u32, RankShort>,
}

impl<W: Write> Merge<W> {
    pub(crate) const fn new(trace: Perfetto<W>, limit: f64) -> Self {
        Self {
            trace,
            limit,
            ranks: BTreeMap::new(),
        }
    }

    fn rank(&mut self, rank: u32) -> &mut RankShort {
        self.ranks.entry(rank).or_default()
    }

    /// Writes the group of a rank.
    fn write_group(&mut self, rank: u32) {
        if let Some(group) = self.rank(rank).group.take() {
            self.trace
                .merged(rank, (group.begin, group.end), group.count, &group.sums);
        }
    }

    /// Adds a short slice to the group of a rank.
    fn add_slice(&mut self, rank: u32, (begin, end): (f64, f64), label: Label) {
        let limit = self.limit;
        let joins =
            |group: &SliceGroup| begin - group.end < limit && group.end - group.begin < limit;
        if !self.rank(rank).group.as_ref().is_some_and(joins) {
            self.write_group(rank);
        }
        let group = self.rank(rank).group.get_or_insert_with(|| SliceGroup {
            begin,
            end,
            count: 0,
            sums: Vec::new(),
        });
        group.end = end;
        group.count += 1;
        match group.sums.iter_mut().find(|(name, _)| *name == label) {
            Some((_, sum)) => *sum += end - begin,
            None => group.sums.push((label, end - begin)),
        }
    }

    /// Writes the kept slices of a rank, before a slice of another kind.
    fn write_all(&mut self, rank: u32) {
        self.write_group(rank);
        if let Some((begin, slice)) = self.rank(rank).call.take() {
            self.trace.begin(rank, begin, &slice);
        }
    }
}

impl<W: Write> Sink for Merge<W> {
    fn name(&mut self, label: Label, text: &str) {
        self.trace.name(label, text);
    }

    fn rank(&mut self, rank: u32, number: Option<u32>, host: &str) {
        self.trace.rank(rank, number, host);
    }

    fn begin(&mut self, rank: u32, time: f64, slice: &Slice) {
        if slice.kind.is_call() && self.rank(rank).call.is_none() {
            self.rank(rank).call = Some((time, *slice));
        } else {
            self.write_all(rank);
            self.trace.begin(rank, time, slice);
        }
    }

    fn end(&mut self, rank: u32, time: f64) {
        match self.rank(rank).call.take() {
            Some((begin, slice)) if time - begin < self.limit => {
                self.add_slice(rank, (begin, time), slice.label);
            }
            Some((begin, slice)) => {
                self.write_group(rank);
                self.trace.begin(rank, begin, &slice);
                self.trace.end(rank, time);
            }
            None => {
                self.write_group(rank);
                self.trace.end(rank, time);
            }
        }
    }

    fn add_note(&mut self, time: f64, slice: &Slice) {
        self.trace.add_note(time, slice);
    }

    fn instant(&mut self, rank: u32, time: f64, slice: &Slice) {
        let limit = self.limit;
        match self.rank(rank).call {
            // Its duration decides.
            Some((begin, _)) if time - begin < limit => {}
            Some(_) => {
                self.write_all(rank);
                self.trace.instant(rank, time, slice);
            }
            None if matches!(slice.kind, SliceKind::Mark | SliceKind::Control) => {
                self.trace.instant(rank, time, slice);
            }
            None => self.add_slice(rank, (time, time), slice.label),
        }
    }

    fn define_link(&mut self, link: u32, name: &str) {
        self.trace.define_link(link, name);
    }

    fn departs(&mut self, time: f64, flight: &Flight) -> u16 {
        self.trace.departs(time, flight)
    }

    fn arrives(&mut self, time: f64, flight: &Flight, lane: Option<u16>) {
        self.trace.arrives(time, flight, lane);
    }

    fn counter(&mut self, time: f64, counter: Counter, value: u64) {
        self.trace.counter(time, counter, value);
    }

    fn is_full(&self) -> bool {
        self.trace.is_full()
    }

    fn finish(mut self: Box<Self>, end: f64) -> io::Result<TraceSummary> {
        let ranks: Vec<u32> = self.ranks.keys().copied().collect();
        for rank in ranks {
            self.write_all(rank);
        }
        Box::new(self.trace).finish(end)
    }
}

impl<W: Write> fmt::Debug for Merge<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
