//! One event log of the logs of the ranks of a real run.
//!
//! Events are merged by their times. Clocks differ a little: a packet may have arrived, by the
//! clock of the receiver, before it was posted, by the clock of the sender. Such an arrival waits
//! for its post and gets the time of the post; later events of the receiver are never earlier. So
//! the merged log is in a topological order of happened-before, and no time of a rank falls.
//!
//! *Not corrected*: clocks that differ by more than the time of a packet. The error of a wait is as
//! large as the error of the clocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, Read, Write};

use crate::event::{PacketKind, RankEvent};
use crate::log::{LogReader, LogWriter};
use crate::numbering::LogEvent;

/// Result of a merge.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MergedLogs {
    /// The time of the latest event in seconds.
    pub latest_s: f64,
    /// Number of arrivals that were dated before their posts.
    pub moved: u64,
    /// The greatest time in seconds by which one was.
    pub moved_max_s: f64,
    /// For each rank, the time in seconds at which its log breaks off; `None` for a whole log.
    pub cut_s: Vec<Option<f64>>,
}

/// Source, destination, kind and key of a packet.
type Identity = (u32, u32, PacketKind, u32);

/// Packets of one identity.
#[derive(Debug, Default)]
struct Posts {
    /// Number of posts that have not been merged.
    to_come: u64,
    /// Times of the posts with arrivals that have not been merged.
    under_way: VecDeque<f64>,
}

/// The log of one rank.
#[derive(Debug)]
struct Cursor<R> {
    reader: LogReader<R>,
    next: Option<(f64, LogEvent)>,
    /// The time of the latest merged event.
    latest: f64,
    /// The time at which the rank was lost, until the end of the rank has been read.
    lost: Option<f64>,
}

impl<R: Read> Cursor<R> {
    fn read_next(&mut self) -> io::Result<()> {
        let entry = self.reader.next_event()?;
        self.next = entry.map(|(_, time, event)| (time, event));
        if self.next.is_none() {
            self.next = self.lost.take().map(|time| (time, RankEvent::End));
        }
        Ok(())
    }
}

/// Merges the logs of the ranks, in their order, and writes their events. `open` returns the log of
/// a rank, `None` without a log, and is called twice. `lost` returns the time in seconds at which a
/// rank was lost, which is the end of the rank.
pub fn merge<R: Read, W: Write>(
    ranks: u32,
    open: impl Fn(u32) -> io::Result<Option<R>>,
    lost: impl Fn(u32) -> Option<f64>,
    writer: &mut LogWriter<W>,
) -> io::Result<MergedLogs> {
    let mut merge = Merge {
        posts: posts(ranks, &open)?,
        cursors: Vec::new(),
        ready: BinaryHeap::new(),
        blocked: BTreeMap::new(),
        result: MergedLogs::default(),
    };
    for rank in 0..ranks {
        let reader = reader(open(rank)?)?;
        if reader.is_none()
            && let Some(time) = lost(rank)
        {
            merge.result.latest_s = merge.result.latest_s.max(time);
            writer.event(rank, time, RankEvent::End);
        }
        merge.cursors.push(reader.map(|reader| Cursor {
            reader,
            next: None,
            latest: 0.0,
            lost: lost(rank),
        }));
        merge.read_next(rank)?;
    }
    merge.merge_all(writer)?;
    let ends = merge.cursors.iter().map(|cursor| match cursor {
        Some(cursor) if cursor.reader.end().is_some() => None,
        Some(cursor) => Some(cursor.latest),
        None => Some(0.0),
    });
    merge.result.cut_s = ends.collect();
    Ok(merge.result)
}

/// Returns a reader of a log; `None` without a log, or if the log is empty.
fn reader<R: Read>(log: Option<R>) -> io::Result<Option<LogReader<R>>> {
    match log.map(LogReader::of_rank).transpose() {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other,
    }
}

/// Counts the posts of all logs.
fn posts<R: Read>(
    ranks: u32,
    open: impl Fn(u32) -> io::Result<Option<R>>,
) -> io::Result<BTreeMap<Identity, Posts>> {
    let mut posts = BTreeMap::<Identity, Posts>::new();
    for rank in 0..ranks {
        let Some(mut log) = reader(open(rank)?)? else {
            continue;
        };
        while let Some((rank, _, event)) = log.next_event()? {
            if let Some(identity) = posted(rank, &event) {
                posts.entry(identity).or_default().to_come += 1;
            }
        }
    }
    Ok(posts)
}

/// Returns the packet that an event posts, as the packet arrives.
const fn posted(rank: u32, event: &LogEvent) -> Option<Identity> {
    match *event {
        RankEvent::Post {
            peer,
            packet: PacketKind::Pull,
            key,
            ..
        } => Some((peer, rank, PacketKind::Data, key)),
        RankEvent::Post {
            peer, packet, key, ..
        } => Some((rank, peer, packet, key)),
        _ => None,
    }
}

/// Returns the packet of an arrival event.
const fn arrived(rank: u32, event: &LogEvent) -> Option<Identity> {
    match *event {
        RankEvent::Arrive {
            peer, packet, key, ..
        } => Some((peer, rank, packet, key)),
        _ => None,
    }
}

struct Merge<R> {
    cursors: Vec<Option<Cursor<R>>>,
    posts: BTreeMap<Identity, Posts>,
    /// Ranks with a next event that may be merged, by the time of this event: the bits of
    /// nonnegative times have the order of the times.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Ranks with a next event that is the arrival of a packet that has not been posted.
    blocked: BTreeMap<Identity, u32>,
    result: MergedLogs,
}

impl<R: Read> Merge<R> {
    /// Reads the next event of a rank.
    fn read_next(&mut self, rank: u32) -> io::Result<()> {
        let Some(cursor) = &mut self.cursors[rank as usize] else {
            return Ok(());
        };
        cursor.read_next()?;
        if let Some((time, _)) = cursor.next {
            let time = time.max(cursor.latest);
            self.ready.push(Reverse((time.to_bits(), rank)));
        }
        Ok(())
    }

    fn merge_all<W: Write>(&mut self, writer: &mut LogWriter<W>) -> io::Result<()> {
        loop {
            while let Some(Reverse((_, rank))) = self.ready.pop() {
                if !self.must_wait(rank) {
                    self.merge_next(rank, writer)?;
                }
            }
            // Only logs with gaps leave ranks that wait for each other.
            let Some((_, rank)) = self.blocked.pop_first() else {
                return Ok(());
            };
            self.merge_next(rank, writer)?;
        }
    }

    /// Blocks a rank if its next event is the arrival of a packet that is posted later.
    fn must_wait(&mut self, rank: u32) -> bool {
        let cursor = self.cursors[rank as usize].as_ref();
        let next = cursor.and_then(|cursor| cursor.next.as_ref());
        let Some(identity) = next.and_then(|(_, event)| arrived(rank, event)) else {
            return false;
        };
        let posts = self.posts.get(&identity);
        let waits = posts.is_some_and(|posts| posts.under_way.is_empty() && posts.to_come > 0);
        if waits {
            self.blocked.insert(identity, rank);
        }
        waits
    }

    /// Merges the next event of a rank.
    fn merge_next<W: Write>(&mut self, rank: u32, writer: &mut LogWriter<W>) -> io::Result<()> {
        let Some(cursor) = &mut self.cursors[rank as usize] else {
            return Ok(());
        };
        let Some((own, event)) = cursor.next.take() else {
            return Ok(());
        };
        let mut time = own.max(cursor.latest);
        if let Some(identity) = arrived(rank, &event)
            && let Some(posts) = self.posts.get_mut(&identity)
            && let Some(post) = posts.under_way.pop_front()
            && own < post
        {
            self.result.moved += 1;
            self.result.moved_max_s = self.result.moved_max_s.max(post - own);
            time = time.max(post);
        }
        cursor.latest = time;
        self.result.latest_s = self.result.latest_s.max(time);
        writer.copy_event((rank, time, event), |number| cursor.reader.text(number));
        if let Some(identity) = posted(rank, &event)
            && let Some(posts) = self.posts.get_mut(&identity)
        {
            posts.to_come -= 1;
            posts.under_way.push_back(time);
            if let Some(receiver) = self.blocked.remove(&identity) {
                self.ready.push(Reverse((time.to_bits(), receiver)));
            }
        }
        self.read_next(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProgramEvent, RunKind};

    /// The log of a rank: the events and the end.
    fn log(rank: u32, events: &[(f64, ProgramEvent)], end: Option<f64>) -> Vec<u8> {
        let mut writer = LogWriter::begin_log(RunKind::Real, Vec::new(), 2);
        for &(time, event) in events {
            writer.event(rank, time, event);
        }
        let bytes = writer.finish(end.unwrap_or_default()).unwrap();
        let whole = bytes.len();
        let footer = if end.is_some() {
            0
        } else {
            crate::RECORD_BYTES
        };
        bytes[..whole - footer].to_vec()
    }

    fn merged(logs: &[Vec<u8>]) -> (MergedLogs, Vec<(u32, f64, LogEvent)>) {
        merged_with(logs, |_| None)
    }

    fn merged_with(
        logs: &[Vec<u8>],
        lost: fn(u32) -> Option<f64>,
    ) -> (MergedLogs, Vec<(u32, f64, LogEvent)>) {
        let mut writer = LogWriter::begin_log(RunKind::Real, Vec::new(), 2);
        let open = |rank: u32| Ok(logs.get(rank as usize).map(|log| &log[..]));
        let result = merge(2, open, lost, &mut writer).unwrap();
        let bytes = writer.finish(result.latest_s).unwrap();
        let mut reader = LogReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.kind(), RunKind::Real);
        let mut events = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            events.push(event);
        }
        (result, events)
    }

    const fn post(peer: u32) -> ProgramEvent {
        RankEvent::Post {
            peer,
            packet: PacketKind::Eager,
            key: 0,
            bytes: 1,
        }
    }

    const fn arrival(peer: u32) -> ProgramEvent {
        RankEvent::Arrive {
            peer,
            packet: PacketKind::Eager,
            key: 0,
            bytes: 1,
        }
    }

    const fn mark(name: &'static str) -> ProgramEvent {
        RankEvent::Mark { name, value: 0.0 }
    }

    #[test]
    fn an_arrival_is_never_before_its_post_and_times_of_a_rank_never_fall() {
        // The clock of rank 1 is 3 s behind.
        let one = log(0, &[(5.0, post(1)), (9.0, RankEvent::End)], Some(9.0));
        let other = log(
            1,
            &[
                (1.0, mark("early")),
                (2.0, arrival(0)),
                (4.0, RankEvent::End),
            ],
            Some(4.0),
        );
        let (result, events) = merged(&[one, other]);
        let times: Vec<(u32, f64)> = events.iter().map(|event| (event.0, event.1)).collect();
        assert_eq!(times, [(1, 1.0), (0, 5.0), (1, 5.0), (1, 5.0), (0, 9.0)]);
        assert_eq!((result.moved, result.moved_max_s), (1, 3.0));
        assert_eq!(result.cut_s, [None, None]);
        assert_eq!(result.latest_s, 9.0);
    }

    #[test]
    fn packets_of_one_identity_are_matched_in_their_order() {
        let one = log(0, &[(1.0, post(1)), (3.0, post(1))], Some(3.0));
        let other = log(1, &[(2.0, arrival(0)), (2.5, arrival(0))], Some(4.0));
        let (result, events) = merged(&[one, other]);
        let times: Vec<(u32, f64)> = events.iter().map(|event| (event.0, event.1)).collect();
        assert_eq!(times, [(0, 1.0), (1, 2.0), (0, 3.0), (1, 3.0)]);
        assert_eq!((result.moved, result.moved_max_s), (1, 0.5));
    }

    #[test]
    fn logs_that_break_off_and_missing_ones_are_told() {
        // Nobody has posted what rank 0 gets.
        let one = log(0, &[(1.0, arrival(1)), (2.0, mark("last"))], None);
        let (result, events) = merged(&[one]);
        assert_eq!(events.len(), 2);
        assert_eq!(result.cut_s, [Some(2.0), Some(0.0)]);
        assert_eq!(result.moved, 0);
    }

    #[test]
    fn a_lost_rank_ends_when_it_was_lost_and_the_others_continue() {
        let one = log(0, &[(1.0, mark("last"))], None);
        let other = log(1, &[(2.0, mark("alone")), (4.0, RankEvent::End)], Some(4.0));
        let (result, events) = merged_with(&[one, other], |rank| (rank == 0).then_some(3.0));
        let ends = events.iter().filter(|event| event.2 == RankEvent::End);
        let ends: Vec<(u32, f64)> = ends.map(|event| (event.0, event.1)).collect();
        assert_eq!(ends, [(0, 3.0), (1, 4.0)]);
        assert_eq!(result.cut_s, [Some(3.0), None]);
        // A rank without a log ends, too.
        let one = log(0, &[(2.0, RankEvent::End)], Some(2.0));
        let (result, events) = merged_with(&[one], |rank| (rank == 1).then_some(1.0));
        assert_eq!(events, [(1, 1.0, RankEvent::End), (0, 2.0, RankEvent::End)]);
        assert_eq!(result.cut_s, [None, Some(0.0)]);
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_merged_all_the_same() {
        let one = log(0, &[(1.0, arrival(1)), (2.0, post(1))], Some(2.0));
        let other = log(1, &[(1.0, arrival(0)), (2.0, post(0))], Some(2.0));
        assert_eq!(merged(&[one, other]).1.len(), 4);
    }
}
