//! Sums of groups of ranks over time, for runs with too many ranks for a drawing.
//!
//! A group is a host, or neighbouring hosts if there are more than 256. Time is divided into at
//! most 4096 bins, fewer if there are many groups; when the bins do not suffice, neighbouring bins
//! merge and the width doubles, and groups merge likewise. The values of a bin are the mean number
//! of ranks of the group in each kind of call, and the bytes that the group sent and received.
//! Seconds of ranks are kept as they are, so they add up to the time of the ranks.
//!
//! *Not drawn*: racks and zones, which a log does not have. Hosts are neighbours in the order of
//! their first ranks.

use std::fmt;
use std::io::{self, Write};

use super::lanes::HostNumbers;
use super::packets::PacketWriter;
use super::schema::{
    CounterDescriptor, ProcessDescriptor, TrackDescriptor, TrackEvent, kind, unit,
};
use super::signed;
use crate::trace::TraceSummary;
use crate::trace::options::TraceOptions;
use crate::trace::sink::{Counter, Flight, Label, Sink, Slice, SliceKind};

/// Largest numbers of groups, of bins, and of both multiplied.
const GROUPS_MAX: usize = 256;
const BINS_MAX: usize = 4096;
const CELLS_MAX: usize = 1 << 15;

/// Width of the first bins in seconds.
const FIRST_WIDTH: f64 = 1e-9;

/// Values of a bin: seconds of ranks in each kind of call, bytes sent, bytes received.
const VALUES: usize = 7;
const SENT: usize = 5;
const RECEIVED: usize = 6;

const NAMES: [&str; VALUES] = [
    "ranks that compute",
    "ranks in sends",
    "ranks in receives",
    "ranks in other waits",
    "ranks in collective operations",
    "bytes sent",
    "bytes received",
];

/// Hosts that are shown together.
#[derive(Clone, Debug)]
struct HostGroup {
    /// Names of the first and of the last host.
    first: String,
    last: String,
    bins: Vec<[f64; VALUES]>,
}

impl HostGroup {
    fn name(&self) -> String {
        if self.first == self.last {
            self.first.clone()
        } else {
            format!("{} to {}", self.first, self.last)
        }
    }

    fn bin(&mut self, at: usize) -> &mut [f64; VALUES] {
        if at >= self.bins.len() {
            self.bins.resize(at + 1, [0.0; VALUES]);
        }
        &mut self.bins[at]
    }
}

/// Returns the sums of pairs of neighbours.
fn pairs(bins: &[[f64; VALUES]]) -> Vec<[f64; VALUES]> {
    let add = |pair: &[[f64; VALUES]]| {
        let mut sum = pair[0];
        for other in &pair[1..] {
            for (value, other) in sum.iter_mut().zip(other) {
                *value += other;
            }
        }
        sum
    };
    bins.chunks(2).map(add).collect()
}

/// A rank: the number of the host, and the present call of the rank.
#[derive(Clone, Copy, Debug, Default)]
struct RankCall {
    begin: f64,
    host: u32,
    /// Depth of slices that are open, and the kind of the call.
    depth: u8,
    call: u8,
    /// Depth of the call; 0 if there is none.
    at: u8,
}

/// Sums that become a trace at the end.
pub(crate) struct Aggregate<W> {
    packets: PacketWriter<W>,
    numbers: HostNumbers,
    groups: Vec<HostGroup>,
    /// A group has two to the power of this hosts.
    shift: u32,
    width: f64,
    ranks: Vec<RankCall>,
}

impl<W: Write> Aggregate<W> {
    pub(crate) fn new(out: W, options: &TraceOptions, ranks: u32) -> Self {
        Self {
            packets: PacketWriter::new(out, options),
            numbers: HostNumbers::default(),
            groups: Vec::new(),
            shift: 0,
            width: FIRST_WIDTH,
            ranks: vec![RankCall::default(); ranks as usize],
        }
    }

    /// Makes groups of twice as many hosts.
    fn merge_groups(&mut self) {
        self.shift += 1;
        let groups = std::mem::take(&mut self.groups);
        for pair in groups.chunks(2) {
            let mut group = pair[0].clone();
            if let [_, second] = pair {
                group.last.clone_from(&second.last);
                for (at, bin) in second.bins.iter().enumerate() {
                    for (value, other) in group.bin(at).iter_mut().zip(bin) {
                        *value += other;
                    }
                }
            }
            self.groups.push(group);
        }
    }

    /// Returns the bin of a time, where the width doubles until there are enough.
    fn bin_of(&mut self, time: f64) -> usize {
        let groups = self.groups.len().next_power_of_two().max(1);
        let bins = (CELLS_MAX / groups).min(BINS_MAX);
        loop {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "times are not negative, and saturate"
            )]
            let bin = (time / self.width) as usize;
            if bin < bins {
                return bin;
            }
            self.width *= 2.0;
            for group in &mut self.groups {
                group.bins = pairs(&group.bins);
            }
        }
    }

    fn group_of(&mut self, rank: u32) -> &mut HostGroup {
        let group = self.ranks[rank as usize].host >> self.shift;
        &mut self.groups[group as usize]
    }

    /// Adds the seconds of a rank in a kind of call.
    #[expect(clippy::cast_precision_loss, reason = "bins are few")]
    fn add_seconds(&mut self, rank: u32, (begin, end): (f64, f64), kind: usize) {
        let last = self.bin_of(end);
        let first = self.bin_of(begin).min(last);
        let width = self.width;
        let group = self.group_of(rank);
        for bin in first..=last {
            let from = begin.max(bin as f64 * width);
            let to = end.min((bin + 1) as f64 * width);
            // The last bin has the rest, so that nothing is lost by rounding.
            let to = if bin == last { end } else { to };
            group.bin(bin)[kind] += (to - from).max(0.0);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a bin are below 2^53")]
    fn add_bytes(&mut self, rank: u32, time: f64, value: usize, bytes: u64) {
        let bin = self.bin_of(time);
        self.group_of(rank).bin(bin)[value] += bytes as f64;
    }

    /// Describes the tracks of a group. Returns the first counter's.
    fn describe_group(&mut self, group: usize) -> u64 {
        let first = (group * (VALUES + 1) + 1) as u64;
        let order = u32::try_from(group).map_or(i32::MAX, signed);
        self.packets.track(TrackDescriptor {
            uuid: Some(first),
            sibling_order_rank: Some(order),
            process: Some(ProcessDescriptor {
                pid: Some(order + 1),
                process_name: Some(self.groups[group].name()),
            }),
            ..TrackDescriptor::default()
        });
        for (at, name) in (0_u64..).zip(NAMES) {
            let is_bytes = at >= SENT as u64;
            self.packets.track(TrackDescriptor {
                uuid: Some(first + 1 + at),
                parent_uuid: Some(first),
                name: Some(name.to_owned()),
                counter: Some(CounterDescriptor {
                    unit: Some(if is_bytes { unit::BYTES } else { unit::COUNT }),
                    unit_name: (!is_bytes).then(|| "ranks".to_owned()),
                    // Groups have one scale.
                    y_axis_share_key: Some(name.to_owned()),
                }),
                ..TrackDescriptor::default()
            });
        }
        first + 1
    }

    /// Writes all bins.
    #[expect(clippy::cast_precision_loss, reason = "bins are few")]
    fn write_bins(&mut self, end: f64) {
        let last = self.bin_of(end);
        let tracks: Vec<u64> = (0..self.groups.len())
            .map(|group| self.describe_group(group))
            .collect();
        let mut before = vec![[f64::NAN; VALUES]; tracks.len()];
        for bin in 0..=last {
            let time = bin as f64 * self.width;
            // The last bin ends with the run.
            let width = self.width.min(end - time);
            for (group, &first) in tracks.iter().enumerate() {
                let values = *self.groups[group].bin(bin);
                for (at, value) in values.into_iter().enumerate() {
                    let value = if at < SENT && width > 0.0 {
                        value / width
                    } else {
                        value
                    };
                    if before[group][at].to_bits() == value.to_bits() {
                        continue;
                    }
                    before[group][at] = value;
                    self.packets.write_event(
                        time,
                        TrackEvent {
                            kind: Some(kind::COUNTER),
                            track_uuid: Some(first + at as u64),
                            double_counter_value: Some(value),
                            ..TrackEvent::default()
                        },
                    );
                }
            }
        }
    }
}

/// Returns the value of a kind of call.
const fn value_of(kind: SliceKind) -> usize {
    match kind {
        SliceKind::Compute => 0,
        SliceKind::Send => 1,
        SliceKind::Receive => 2,
        SliceKind::Collective => 4,
        _ => 3,
    }
}

impl<W: Write> Sink for Aggregate<W> {
    fn name(&mut self, _label: Label, _text: &str) {}

    fn rank(&mut self, rank: u32, number: Option<u32>, host: &str) {
        let (number, is_new) = self.numbers.number_of_host(number);
        if is_new {
            while (number >> self.shift) as usize >= GROUPS_MAX {
                self.merge_groups();
            }
            match self.groups.get_mut((number >> self.shift) as usize) {
                Some(group) => host.clone_into(&mut group.last),
                None => self.groups.push(HostGroup {
                    first: host.to_owned(),
                    last: host.to_owned(),
                    bins: Vec::new(),
                }),
            }
        }
        self.ranks[rank as usize].host = number;
    }

    fn begin(&mut self, rank: u32, time: f64, slice: &Slice) {
        let rank = &mut self.ranks[rank as usize];
        rank.depth = rank.depth.saturating_add(1);
        if rank.at == 0 && slice.kind.is_call() {
            rank.at = rank.depth;
            rank.begin = time;
            rank.call = slice.kind as u8;
        }
    }

    fn end(&mut self, rank: u32, time: f64) {
        let state = &mut self.ranks[rank as usize];
        let is_call = state.at == state.depth;
        state.depth = state.depth.saturating_sub(1);
        if is_call {
            state.at = 0;
            let (begin, kind) = (state.begin, SliceKind::ALL[usize::from(state.call)]);
            self.add_seconds(rank, (begin, time), value_of(kind));
        }
    }

    fn instant(&mut self, _rank: u32, _time: f64, _slice: &Slice) {}

    fn departs(&mut self, time: f64, flight: &Flight) -> u16 {
        self.add_bytes(flight.from, time, SENT, flight.bytes);
        0
    }

    fn arrives(&mut self, time: f64, flight: &Flight, lane: Option<u16>) {
        if lane.is_some() {
            self.add_bytes(flight.to, time, RECEIVED, flight.bytes);
        }
    }

    fn counter(&mut self, _time: f64, _counter: Counter, _value: u64) {}

    fn is_full(&self) -> bool {
        self.packets.is_full()
    }

    fn finish(mut self: Box<Self>, end: f64) -> io::Result<TraceSummary> {
        // Ranks that wait for ever.
        for rank in (0..).take(self.ranks.len()) {
            while self.ranks[rank as usize].at > 0 {
                self.end(rank, end);
            }
        }
        self.write_bins(end);
        let cut = self.packets.is_full().then(|| self.packets.latest_time());
        let (bytes, packets, _) = self.packets.finish_file()?;
        Ok(TraceSummary {
            bytes,
            packets,
            cut,
            ..TraceSummary::default()
        })
    }
}

impl<W> fmt::Debug for Aggregate<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aggregate")
            .field("groups", &self.groups.len())
            .finish_non_exhaustive()
    }
}
