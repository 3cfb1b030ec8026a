//! Partitioned communication (MPI 5.0, chapter 4): a message that becomes ready partition by
//! partition, as reported by the program.
//!
//! The message leaves when all partitions are ready, as in MPICH, so that all partitions of a
//! receive arrive together; the two ends may have different numbers of partitions. A send matches
//! the receive at the same position among the requests that the two ranks have initialised with the
//! same tag, in any order of the starts. Under a model checker each partition arrives separately,
//! from the `MPI_Pready` on (`protocol/engine/partitions.rs`).
//!
//! *Not modelled*: partitions that leave before others are ready, in a run with dates. Messages
//! have separate tags in the context of collectives, with 7 bits of the position and 23 of the tag:
//! two requests that differ in other bits only, and are both in progress, are not distinguished.

use std::ops::Range;
use std::rc::Rc;

use observe::SourceLocation;

use crate::api::request::small;
use crate::channel::PARTITION_TAG;
use crate::exploration::is_explored;
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::engine::partitions::{self, PartitionPlace};
use crate::protocol::look::{Answers, Question};
use crate::protocol::process::{Call, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Comm, Error, PROC_NULL, Pattern, Request, Result, Source, Tag};

/// The bit of tags of partitioned messages.
const PARTITIONED: u32 = 1 << 31;

const POSITION_BITS: u32 = 7;

const TAG_BITS: u32 = u32::BITS - 2 - POSITION_BITS;

/// Returns the tag of the messages of a request.
const fn message_tag(tag: u32, position: u32) -> u32 {
    let position = position & ((1 << POSITION_BITS) - 1);
    PARTITIONED | position << TAG_BITS | tag & ((1 << TAG_BITS) - 1)
}

/// Returns the tag that the program gave a partitioned message, if `message_tag` is of one.
pub(crate) const fn tag_of(message_tag: u32) -> Option<u32> {
    match message_tag & PARTITIONED {
        0 => None,
        _ => Some(message_tag & ((1 << TAG_BITS) - 1)),
    }
}

/// Partitions of a message.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    /// The tag that the program gives; `message_tag` is the tag of the messages.
    pub(crate) tag: u32,
    pub(crate) message_tag: u32,
    pub(crate) count: u32,
    /// By number, since the latest start: true if a partition of a send is ready, or a partition of
    /// a receive is known to have arrived.
    ready: Vec<bool>,
    /// Number of partitions that are not ready.
    left: usize,
    /// The number of starts.
    round: u32,
}

impl Partitions {
    pub(crate) fn new(
        comm: &Comm,
        count: u32,
        (peer, tag): (usize, u32),
        is_send: bool,
    ) -> Result<Self> {
        // Refuses tags that are too large, and communicators that have been freed.
        comm.envelope(tag)?;
        let world = match peer {
            PROC_NULL => u32::MAX,
            peer => comm.peer(peer)?,
        };
        let key = (comm.context(), world, tag, is_send);
        let position = comm.process().count_partitioned(key);
        Ok(Self {
            tag,
            message_tag: message_tag(tag, position),
            count,
            ready: Vec::new(),
            left: 0,
            round: 0,
        })
    }

    pub(crate) fn start_round(&mut self) {
        self.left = self.count as usize;
        self.ready = vec![false; self.left];
        self.round = self.round.wrapping_add(1);
    }

    fn check_partition(&self, partition: usize) -> Result<()> {
        let count = self.count;
        match partition < count as usize {
            true => Ok(()),
            false => Err(Error::Partition { partition, count }),
        }
    }

    /// Notes that a partition is ready. Returns true if all are.
    pub(crate) fn make_ready(&mut self, partition: usize) -> Result<bool> {
        self.check_partition(partition)?;
        match self.ready.get_mut(partition) {
            Some(ready) if !*ready => *ready = true,
            _ => return Err(Error::PartitionReady { partition }),
        }
        self.left -= 1;
        Ok(self.left == 0)
    }

    /// Notes that a partition is known to have arrived. Returns true if all are.
    pub(crate) fn note_arrived(&mut self, partition: usize) -> bool {
        if let Some(ready) = self.ready.get_mut(partition) {
            *ready = true;
        }
        self.ready.iter().all(|has_arrived| *has_arrived)
    }

    /// Returns a partition of the latest start.
    pub(crate) fn place_of(&self, partition: usize) -> PartitionPlace {
        PartitionPlace {
            round: self.round,
            number: small(partition),
            count: self.count,
        }
    }

    /// Returns the messages with a partition that comes from a rank.
    pub(crate) fn awaited_from(
        &self,
        comm: &Comm,
        source: Source,
        partition: usize,
    ) -> Option<(Pattern, PartitionPlace)> {
        let (inner, tag) = (comm.collective().ok()?, Tag::Is(self.partition_tag()));
        let pattern = inner.pattern_or_null(source, tag).ok()??;
        Some((pattern, self.place_of(partition)))
    }

    /// Returns the tag of partitions that leave alone.
    pub(crate) const fn partition_tag(&self) -> u32 {
        self.message_tag | PARTITION_TAG
    }

    /// Returns true if a partition is ready, or known to have arrived.
    fn is_ready(&self, partition: usize) -> bool {
        self.ready.get(partition) == Some(&true)
    }

    /// Number of partitions that are not ready.
    pub(crate) const fn unready_count(&self) -> usize {
        self.left
    }
}

impl Request {
    /// Tells that a partition of a started send is ready: `MPI_Pready`. The last one sends the
    /// message.
    ///
    /// # Errors
    /// [`Error::Request`] if the request is not an active partitioned send, [`Error::Partition`]
    /// for a number out of range, [`Error::PartitionReady`] if the partition is ready already.
    #[track_caller]
    pub fn pready(&mut self, partition: usize) -> Result<()> {
        self.pready_at(partition, SourceLocation::caller())
    }

    /// [`Request::pready`] of consecutive partitions: `MPI_Pready_range`.
    ///
    /// # Errors
    /// As [`Request::pready`].
    #[track_caller]
    pub fn pready_range(&mut self, partitions: Range<usize>) -> Result<()> {
        let location = SourceLocation::caller();
        { partitions }.try_for_each(|partition| self.pready_at(partition, location))
    }

    /// [`Request::pready`] of several partitions: `MPI_Pready_list`.
    ///
    /// # Errors
    /// As [`Request::pready`].
    #[track_caller]
    pub fn pready_list(&mut self, partitions: &[usize]) -> Result<()> {
        let location = SourceLocation::caller();
        let mut all = partitions.iter();
        all.try_for_each(|partition| self.pready_at(*partition, location))
    }

    fn pready_at(&mut self, partition: usize, location: SourceLocation) -> Result<()> {
        let (token, persistent) = self.active_parts().ok_or(Error::Request)?;
        let all_are = persistent.ready(partition)?;
        self.process().with_engine(|engine, _| {
            engine.requests.operations.note_partition(token);
        });
        if is_explored(self.process().channel())
            && let Some((_, persistent)) = self.active_parts()
        {
            persistent.post_partition(partition, location)?;
        }
        if all_are {
            self.send_partitions(location)?;
        }
        Ok(())
    }

    /// Returns true if a partition has arrived, or the request is not active: `MPI_Parrived`.
    /// Repeated calls behave as for [`Request::test`]. Under a model checker the answers for each
    /// partition are picked separately.
    ///
    /// # Errors
    /// [`Error::Request`] if the request is not a partitioned receive, [`Error::Partition`] for a
    /// number out of range; as [`Request::peek`].
    #[track_caller]
    pub fn parrived(&mut self, partition: usize) -> impl Future<Output = Result<bool>> + '_ {
        let location = SourceLocation::caller();
        async move {
            let partitions = self.received_partitions().ok_or(Error::Request)?;
            partitions.check_partition(partition)?;
            let Some(token) = self.token() else {
                return Ok(true);
            };
            let is_known = partitions.is_ready(partition);
            let awaited = self.awaited_partition(partition);
            let answers = move |engine: &ProtocolEngine| Answers {
                yes: 1,
                only_yes: is_known || engine.requests.rare.is_told(token),
                is_ready: awaited.is_some_and(|(pattern, place)| {
                    partitions::has_partition(engine, &pattern, place)
                }),
                ..Answers::default()
            };
            let process = Rc::clone(self.process());
            let (question, waits) = (Question::Partition(token, partition), Waits::Test(token));
            match process
                .ask_question(question, waits, location, answers)
                .await
            {
                PickedAnswer::Unpicked => Ok(self.peek_at(location).await?.is_some()),
                PickedAnswer::No => Ok(false),
                PickedAnswer::Yes(_, _yes) => {
                    let has_arrived = move |_: &Process, engine: &mut ProtocolEngine| {
                        let is_seen = engine.requests.rare.is_told(token)
                            || awaited.is_none_or(|(pattern, place)| {
                                partitions::see_partition(engine, &pattern, place)
                            });
                        is_seen.then_some(())
                    };
                    let waits = Waits::Call("parrived");
                    Call::new(&process, location, waits, has_arrived).await;
                    if let Some((_, persistent)) = self.active_parts()
                        && persistent.note_arrived(partition)
                    {
                        process.with_engine(|engine, _| {
                            engine.requests.note_cause(|record| record.note_told(token));
                        });
                    }
                    Ok(true)
                }
            }
        }
    }

    /// The data of a partition of a receive that has arrived, before the receive is completed.
    #[must_use]
    pub fn arrived_partition(&mut self, partition: usize) -> Option<Buffer> {
        let (pattern, place) = self.awaited_partition(partition)?;
        let (token, persistent) = self.active_parts()?;
        let length = persistent.buffer_mut().len();
        self.process().with_engine(|engine, _| {
            let place = (place, length);
            partitions::partition_data(engine, token, &pattern, place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_positions_and_tags_apart() {
        let tags = [message_tag(0, 0), message_tag(1, 0), message_tag(0, 1)];
        assert!(tags.iter().all(|tag| tag & PARTITIONED != 0));
        assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[2] != tags[0]);
        assert_eq!(message_tag(1 << TAG_BITS, 1 << POSITION_BITS), tags[0]);
    }
}
