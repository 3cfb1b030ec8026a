//! Partitions of messages that arrive one by one, under a model checker (MPI 5.0, section 4.2).
//!
//! A message in partitions leaves whole when all its partitions are ready. Under a model checker
//! each ready partition also leaves earlier as a separate message. No receive gets that message;
//! `MPI_Parrived` looks for it among the arrived messages. The two ends may have different numbers
//! of partitions.

use observe::SourceLocation;

use super::{OperationState, ProtocolEngine};
use crate::channel::{Channel, PacketHeader, Token};
use crate::exploration::{NotedOperation, SendEnd};
use crate::matching::{Arrival, UnexpectedContent, UnexpectedMessage};
use crate::protocol::flow_control::{MessageType, OutboundMessage};
use crate::{Buffer, Envelope, Pattern};

/// A partition of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PartitionPlace {
    /// The number of starts of the request.
    pub(crate) round: u32,
    pub(crate) number: u32,
    /// The number of partitions of the message.
    pub(crate) count: u32,
}

/// Bytes before the data of a partition: the place of the partition.
const HEADER: usize = 12;

impl PartitionPlace {
    fn to_bytes(self) -> [u8; HEADER] {
        let words = [self.round, self.number, self.count];
        let mut bytes = [0; HEADER];
        for (place, word) in bytes.chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.get(..HEADER)?.chunks(4).map(|word| {
            let bytes = word.iter().rev();
            bytes.fold(0, |number, byte| number << 8 | u32::from(*byte))
        });
        Some(Self {
            round: words.next()?,
            number: words.next()?,
            count: words.next()?,
        })
    }

    /// Returns the begin and the end of the partition in a message of this many bytes.
    fn find_bounds(self, length: u64) -> (u64, u64) {
        let bound = |number: u32| length / u64::from(self.count) * u64::from(number);
        (bound(self.number), bound(self.number + 1))
    }

    /// Returns the data of the partition.
    pub(crate) fn part_of(self, message: &Buffer) -> Buffer {
        let (begin, end) = self.find_bounds(message.len());
        message.slice(begin, end - begin)
    }

    /// Returns true if two partitions of one message have a part in common.
    fn has_part_of(self, other: Self) -> bool {
        let product = |number: u32, count: u32| u64::from(number) * u64::from(count);
        self.round == other.round
            && product(self.number, other.count) < product(other.number + 1, self.count)
            && product(other.number, self.count) < product(self.number + 1, other.count)
    }

    /// Returns the number of partitions with a part of this one, if all have the size of `other`.
    fn count_overlaps(self, other: Self) -> usize {
        let numbers = 0..other.count;
        let is_needed = |number: &u32| {
            self.has_part_of(Self {
                number: *number,
                ..other
            })
        };
        numbers.filter(is_needed).count()
    }
}

/// Lets a partition leave.
pub(crate) fn post_partition(
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
    (peer, envelope): (u32, Envelope),
    (place, message): (PartitionPlace, &Buffer),
    location: SourceLocation,
) {
    let send = engine.requests.insert(OperationState::Elapsing, location);
    let operation = NotedOperation::Send {
        destination: peer,
        envelope,
        end: SendEnd::Buffered,
    };
    engine
        .requests
        .note_cause(|record| record.note_operation(channel, send, (operation, location)));
    let data = place.part_of(message);
    let bytes = [&place.to_bytes()[..], data.bytes().unwrap_or_default()].concat();
    let header = PacketHeader::Eager { envelope };
    let message = OutboundMessage::new(MessageType::Eager, header, Buffer::from(bytes));
    engine.dispatch(channel, peer, message);
    engine.requests.operations.remove(send);
}

/// The arrivals of the partitions of the other end with a part of this one, with their data.
fn list_pieces<'a>(
    engine: &'a ProtocolEngine,
    pattern: &Pattern,
    wanted: PartitionPlace,
) -> impl Iterator<Item = (PartitionPlace, &'a [u8], &'a UnexpectedMessage)> + use<'a> {
    let pattern = *pattern;
    let fitting = move |message: &&UnexpectedMessage| pattern.accepts(&message.envelope);
    let all = engine.matching.unexpected().filter(fitting);
    all.filter_map(move |message| {
        let UnexpectedContent::Eager(payload) = &message.content else {
            return None;
        };
        let bytes = payload.bytes()?;
        let place = PartitionPlace::from_bytes(bytes)?;
        place
            .has_part_of(wanted)
            .then(|| (place, &bytes[HEADER..], message))
    })
}

/// Returns true if a partition has arrived.
pub(crate) fn has_partition(
    engine: &ProtocolEngine,
    pattern: &Pattern,
    wanted: PartitionPlace,
) -> bool {
    let mut pieces = list_pieces(engine, pattern, wanted);
    pieces
        .next()
        .is_some_and(|(first, ..)| wanted.count_overlaps(first) == 1 + pieces.count())
}

/// Returns true if a partition has arrived, which the program knows then.
pub(crate) fn see_partition(
    engine: &mut ProtocolEngine,
    pattern: &Pattern,
    wanted: PartitionPlace,
) -> bool {
    let has_arrived = has_partition(engine, pattern, wanted);
    if has_arrived {
        let pieces = list_pieces(engine, pattern, wanted);
        let arrivals: Vec<u32> = pieces.map(|(.., message)| message.arrival.step).collect();
        if let Some(record) = engine.requests.rare.causality_mut() {
            for arrival in arrivals {
                record.note_seen(Arrival::in_step(arrival), false);
            }
        }
    }
    has_arrived
}

/// Returns the data of a partition of a receive with this operation, which has arrived.
pub(crate) fn partition_data(
    engine: &ProtocolEngine,
    token: Token,
    pattern: &Pattern,
    (wanted, length): (PartitionPlace, u64),
) -> Option<Buffer> {
    if let Some((_, whole)) = engine.requests.operations.result(token) {
        return Some(wanted.part_of(whole));
    }
    let (begin, end) = wanted.find_bounds(length);
    let mut all = Buffer::zeroed(length);
    for (place, data, _) in list_pieces(engine, pattern, wanted) {
        let (first, last) = place.find_bounds(length);
        if data.len() as u64 == last - first {
            all.write_part(first, &Buffer::from(data.to_vec()));
        }
    }
    Some(all.slice(begin, end - begin))
}

/// Drops the partitions of rounds before this one.
pub(crate) fn drop_partitions(engine: &mut ProtocolEngine, pattern: &Pattern, round: u32) {
    let is_old = |message: &UnexpectedMessage| match &message.content {
        UnexpectedContent::Eager(payload) => {
            let place = payload.bytes().and_then(PartitionPlace::from_bytes);
            place.is_some_and(|place| place.round < round)
        }
        _ => false,
    };
    while engine.matching.find_unexpected(pattern).is_some_and(is_old) {
        engine.matching.extract(pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_place(number: u32, count: u32) -> PartitionPlace {
        PartitionPlace {
            round: 7,
            number,
            count,
        }
    }

    #[test]
    fn a_place_comes_back_from_bytes() {
        let place = make_place(258, 70_000);
        assert_eq!(PartitionPlace::from_bytes(&place.to_bytes()), Some(place));
        assert_eq!(PartitionPlace::from_bytes(&[0; HEADER - 1]), None);
    }

    #[test]
    fn partitions_of_the_other_end_cover_a_partition() {
        let needed =
            |number, count, other| make_place(number, count).count_overlaps(make_place(0, other));
        assert_eq!(
            [needed(1, 3, 6), needed(1, 6, 3), needed(1, 3, 2)],
            [2, 1, 2]
        );
        assert!(
            make_place(1, 3).has_part_of(make_place(2, 6))
                && make_place(1, 3).has_part_of(make_place(3, 6))
        );
        assert!(
            !make_place(1, 3).has_part_of(make_place(1, 6))
                && !make_place(1, 3).has_part_of(make_place(4, 6))
        );
        assert_eq!(make_place(1, 3).find_bounds(12), (4, 8));
    }
}
