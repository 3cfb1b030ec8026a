//! The encoding of events as records of fixed length, so that a log is read backwards, too.
//!
//! A record: kind (1 byte), flag (1), name (2), rank (4), time in seconds (8, a double), a (4),
//! b (4), c (8); little endian.

use crate::event::{PacketKind, RankEvent};

/// Length of a record in bytes.
pub const RECORD_BYTES: usize = 32;

/// The fields of a record.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Record {
    pub(crate) kind: u8,
    pub(crate) flag: u8,
    pub(crate) name: u16,
    pub(crate) rank: u32,
    pub(crate) time: f64,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u64,
}

/// The first record: `a` is the number of ranks, `c` the version of the format, `flag` is 1 if the
/// run was real.
pub(crate) const HEADER: u8 = 0x53;

/// A text begins: `a` is its number, `c` its length in bytes. The bytes follow in records of
/// [`TEXT_PART`].
pub(crate) const TEXT: u8 = 1;

/// Up to [`TEXT_PART_BYTES`] bytes of a text, behind the kind.
pub(crate) const TEXT_PART: u8 = 2;

/// Number of bytes of a text in one record.
pub(crate) const TEXT_PART_BYTES: usize = RECORD_BYTES - 1;

/// The name of a host begins, as a text does; hosts have separate numbers, so that the numbers of
/// texts fit 16 bits.
pub(crate) const HOST_NAME: u8 = 11;

/// The host of a rank: `a` is the number of the name of the host.
pub(crate) const HOST: u8 = 3;

/// The end of the run: `flag` is 1 if the log is whole.
pub(crate) const FOOTER: u8 = 4;

/// A link: `rank` is its number, `time` the bandwidth in bytes per second, `c` the latency in
/// seconds, `flag` the sharing, `a` the length of the name. The name follows in records of
/// [`TEXT_PART`].
pub(crate) const LINK: u8 = 5;

/// A flow begins: `rank` is its number, `a` and `b` the duration alone, `c` the length, `name` the
/// number of links. The latency and the links follow in records of [`WORDS`].
pub(crate) const FLOW: u8 = 6;

/// Up to 7 numbers of 32 bits, from byte 4 on.
pub(crate) const WORDS: u8 = 7;

/// A new rate of a flow: `rank` is the number of the flow, `a` the bottleneck, `c` the rate.
pub(crate) const FLOW_RATE: u8 = 8;

/// The flow with the number `rank` ends.
pub(crate) const FLOW_END: u8 = 9;

/// A link changes: `rank` is the number of the link, `flag` the parameter, `c` the value.
pub(crate) const LINK_CHANGE: u8 = 12;

/// A computation begins: `c` is the duration of the computation alone on its host.
pub(crate) const COMPUTATION: u8 = 13;

/// A sentence about the run: `a` is the number of the text.
pub(crate) const NOTE: u8 = 10;

/// The first kind of events.
const EVENTS: u8 = 16;

// Kinds of events: those of calls, and from `POST` on the others.
pub(crate) const WAIT: u8 = EVENTS;
pub(crate) const CONTINUE: u8 = EVENTS + 1;
const SEND: u8 = EVENTS + 2;
const RECEIVE: u8 = EVENTS + 3;
pub(crate) const COLLECTIVE_CALL: u8 = EVENTS + 4;
pub(crate) const COLLECTIVE: u8 = EVENTS + 5;
pub(crate) const COLLECTIVE_END: u8 = EVENTS + 6;
const POST: u8 = EVENTS + 7;
const ARRIVE: u8 = EVENTS + 8;
const UNEXPECTED: u8 = EVENTS + 9;
const TAKEN: u8 = EVENTS + 10;
const ELAPSED: u8 = EVENTS + 11;
const SENT: u8 = EVENTS + 12;
pub(crate) const ENTER: u8 = EVENTS + 13;
pub(crate) const LEAVE: u8 = EVENTS + 14;
const MARK: u8 = EVENTS + 15;
const END: u8 = EVENTS + 16;
const INJECT: u8 = EVENTS + 17;
const INCIDENT: u8 = EVENTS + 18;

/// No rank or request.
const NONE: u32 = u32::MAX;

/// The bit of a flag that an event has.
const FLAG: u8 = 1;

/// The flag of a send with a length of 48 bits and the number of the request above the length.
const HAS_REQUEST: u8 = 2;
const BYTES_BITS: u32 = 48;

impl Record {
    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0] = self.kind;
        bytes[1] = self.flag;
        bytes[2..4].copy_from_slice(&self.name.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.rank.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.a.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.b.to_le_bytes());
        bytes[24..].copy_from_slice(&self.c.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self {
            kind: bytes[0],
            flag: bytes[1],
            name: u16::from_le_bytes([bytes[2], bytes[3]]),
            rank: word(4),
            time: f64::from_bits(long(8)),
            a: word(16),
            b: word(20),
            c: long(24),
        }
    }

    /// Returns the record of an event with numbers as names.
    #[inline]
    pub(crate) fn from_event(rank: u32, time: f64, event: &RankEvent<u16, u16>) -> Self {
        let (kind, flag, name, a, b, c) = fields(event);
        Self {
            kind,
            flag,
            name,
            rank,
            time,
            a,
            b,
            c,
        }
    }

    /// Returns the event of the record; `None` for a record without an event.
    pub(crate) fn rank_event(&self) -> Option<RankEvent<u16, u16>> {
        if self.kind < POST {
            self.call_event()
        } else {
            self.message_event()
        }
    }

    /// Returns the event of a call.
    fn call_event(&self) -> Option<RankEvent<u16, u16>> {
        let &Self { name, a, b, c, .. } = self;
        let place = u16::try_from(c & 0xffff).unwrap_or(0);
        let flag = self.flag & FLAG != 0;
        Some(match self.kind {
            WAIT => RankEvent::Wait {
                call: name,
                place,
                elapses: flag,
                request: optional_field(a),
            },
            CONTINUE => RankEvent::Continue,
            SEND => {
                let (bytes, request) = unpacked(self.flag, c);
                RankEvent::Send {
                    peer: a,
                    tag: b,
                    bytes,
                    place: name,
                    collective: flag,
                    request,
                }
            }
            RECEIVE => RankEvent::Receive {
                peer: optional_field(a),
                bytes: c,
                place: name,
                collective: flag,
                request: optional_field(b),
            },
            COLLECTIVE_CALL => RankEvent::CollectiveCall {
                algorithm: name,
                root: optional_field(a),
                size: b,
                place,
                first: u32::try_from(c >> 32).unwrap_or(0),
            },
            COLLECTIVE => {
                let (bytes, request) = unpacked(self.flag, c);
                RankEvent::Collective {
                    name,
                    context: a,
                    number: b,
                    bytes,
                    request,
                }
            }
            COLLECTIVE_END => RankEvent::CollectiveEnd {
                context: a,
                number: b,
            },
            _ => return None,
        })
    }

    /// Returns the event of a message, of a clock or of a region.
    fn message_event(&self) -> Option<RankEvent<u16, u16>> {
        let &Self { name, a, b, c, .. } = self;
        let packet = || PacketKind::ALL.get(usize::from(self.flag)).copied();
        Some(match self.kind {
            POST => RankEvent::Post {
                peer: a,
                packet: packet()?,
                key: b,
                bytes: c,
            },
            ARRIVE => RankEvent::Arrive {
                peer: a,
                packet: packet()?,
                key: b,
                bytes: c,
            },
            UNEXPECTED => RankEvent::Unexpected {
                peer: a,
                tag: b,
                bytes: c,
            },
            TAKEN => RankEvent::Taken {
                peer: a,
                tag: b,
                bytes: c,
            },
            ELAPSED => RankEvent::Elapsed,
            SENT => RankEvent::Sent { operation: b },
            ENTER => RankEvent::Enter { region: name },
            LEAVE => RankEvent::Leave,
            MARK => RankEvent::Mark {
                name,
                value: f64::from_bits(c),
            },
            INCIDENT => RankEvent::Incident {
                name,
                peer: optional_field(a),
                value: (self.flag & FLAG != 0).then(|| f64::from_bits(c)),
            },
            END => RankEvent::End,
            INJECT => RankEvent::Inject {
                peer: a,
                packet: packet()?,
                key: b,
                bytes: c,
            },
            _ => return None,
        })
    }
}

/// Returns the rank or request of a field; `None` for [`NONE`].
fn optional_field(field: u32) -> Option<u32> {
    (field != NONE).then_some(field)
}

/// Returns the flag and the field for the length of a message and its request. The request is left
/// out if the two do not fit.
#[inline]
fn pack_length(bytes: u64, request: Option<u32>) -> (u8, u64) {
    match request {
        Some(request) if bytes >> BYTES_BITS == 0 && request <= u32::from(u16::MAX) => {
            (HAS_REQUEST, bytes | u64::from(request) << BYTES_BITS)
        }
        _ => (0, bytes),
    }
}

/// Returns the length of a message and its request.
fn unpacked(flag: u8, field: u64) -> (u64, Option<u32>) {
    if flag & HAS_REQUEST == 0 {
        return (field, None);
    }
    let request = field >> BYTES_BITS;
    (field ^ request << BYTES_BITS, u32::try_from(request).ok())
}

type Fields = (u8, u8, u16, u32, u32, u64);

/// Returns kind, flag, name, a, b and c.
#[inline]
fn fields(event: &RankEvent<u16, u16>) -> Fields {
    let rank = |rank: Option<u32>| rank.unwrap_or(NONE);
    match *event {
        RankEvent::Wait {
            call,
            place,
            elapses,
            request,
        } => {
            let place = u64::from(place);
            (WAIT, u8::from(elapses), call, rank(request), 0, place)
        }
        RankEvent::Continue => (CONTINUE, 0, 0, 0, 0, 0),
        RankEvent::Send {
            peer,
            tag,
            bytes,
            place,
            collective,
            request,
        } => {
            let (flag, bytes) = pack_length(bytes, request);
            (SEND, flag | u8::from(collective), place, peer, tag, bytes)
        }
        RankEvent::Receive {
            peer,
            bytes,
            place,
            collective,
            request,
        } => {
            let (peer, request) = (rank(peer), rank(request));
            (RECEIVE, u8::from(collective), place, peer, request, bytes)
        }
        RankEvent::CollectiveCall {
            algorithm,
            root,
            size,
            place,
            first,
        } => {
            let places = u64::from(place) | u64::from(first) << 32;
            (COLLECTIVE_CALL, 0, algorithm, rank(root), size, places)
        }
        RankEvent::Collective {
            name,
            context,
            number,
            bytes,
            request,
        } => {
            let (flag, bytes) = pack_length(bytes, request);
            (COLLECTIVE, flag, name, context, number, bytes)
        }
        RankEvent::CollectiveEnd { context, number } => (COLLECTIVE_END, 0, 0, context, number, 0),
        _ => message_fields(event),
    }
}

/// Returns the same of an event of a message, of a clock, of a region or of a rank.
#[inline]
fn message_fields(event: &RankEvent<u16, u16>) -> Fields {
    match *event {
        RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        } => (POST, packet as u8, 0, peer, key, bytes),
        RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        } => (ARRIVE, packet as u8, 0, peer, key, bytes),
        RankEvent::Unexpected { peer, tag, bytes } => (UNEXPECTED, 0, 0, peer, tag, bytes),
        RankEvent::Taken { peer, tag, bytes } => (TAKEN, 0, 0, peer, tag, bytes),
        RankEvent::Elapsed => (ELAPSED, 0, 0, 0, 0, 0),
        RankEvent::Sent { operation } => (SENT, 0, 0, 0, operation, 0),
        RankEvent::Enter { region } => (ENTER, 0, region, 0, 0, 0),
        RankEvent::Leave => (LEAVE, 0, 0, 0, 0, 0),
        RankEvent::Mark { name, value } => (MARK, 0, name, 0, 0, value.to_bits()),
        RankEvent::Incident { name, peer, value } => {
            let flag = u8::from(value.is_some());
            let value = value.unwrap_or(0.0).to_bits();
            (INCIDENT, flag, name, peer.unwrap_or(NONE), 0, value)
        }
        RankEvent::End => (END, 0, 0, 0, 0, 0),
        RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        } => (INJECT, packet as u8, 0, peer, key, bytes),
        RankEvent::Wait { .. }
        | RankEvent::Continue
        | RankEvent::Send { .. }
        | RankEvent::Receive { .. }
        | RankEvent::CollectiveCall { .. }
        | RankEvent::Collective { .. }
        | RankEvent::CollectiveEnd { .. } => unreachable!("it is an event of a call"),
    }
}
