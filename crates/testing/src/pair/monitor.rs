//! Rules of the packets between two queue pairs, checked packet by packet.
//!
//! | property | rule | source |
//! |---|---|---|
//! | `MSN` | an acknowledgement carries the number of messages completed before and at the PSN |
//! IBA 9.7.7.1 |
//! | `response order` | responses of reads and atomics leave before any later response | C9-027 |
//! | `one NAK` | a sequence error is answered once for each missing packet | IBA 9.7.5.2.8 |
//! | `RNR wait` | no packet leaves before the time of an RNR NAK is over | IBA 9.7.5.2.8 |
//! | `retry count` | a packet without an answer leaves at most 1 + `retry_cnt` times | IBA
//! 9.9.2.1.1 |

use std::collections::{BTreeMap, BTreeSet};

use rdma::wire::{Aeth, Extension, Nak, Opcode, Packet, Syndrome};
use rdma::{Psn, RNR_TIMER_US};

use super::PairSetup;

/// The packet sequence numbers of a work request, from the start of the connection on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Message {
    first: u32,
    end: u32,
    returns_data: bool,
}

/// Rules of packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Monitor {
    start: Psn,
    messages: Vec<Message>,
    retry_cnt: u8,
    /// Responses with data that have left.
    answered: BTreeSet<u32>,
    /// Missing packets that were reported.
    reported: BTreeSet<u32>,
    /// For each request packet: the transmissions since a packet last arrived at the requester.
    unanswered: BTreeMap<u32, u32>,
    /// The time until which the requester has to wait, in picoseconds.
    waits_until: u64,
}

impl Monitor {
    pub(super) fn new(setup: &PairSetup) -> Self {
        let mut end = 0;
        let messages = setup.works.iter().map(|posted| {
            let first = end;
            end += posted
                .work
                .requester_length()
                .div_ceil(setup.mtu.bytes())
                .max(1);
            Message {
                first,
                end,
                returns_data: posted.work.returns_data(),
            }
        });
        Self {
            messages: messages.collect(),
            start: Psn::new(setup.start),
            retry_cnt: setup.retry_cnt,
            answered: BTreeSet::new(),
            reported: BTreeSet::new(),
            unanswered: BTreeMap::new(),
            waits_until: 0,
        }
    }

    /// Returns the distance of a packet from the start of the requester's sequence.
    fn distance(&self, packet: &Packet<'_>) -> Result<u32, String> {
        let psn = packet.bth().psn;
        let end = self.messages.last().map_or(0, |message| message.end);
        let distance = u32::try_from(psn.ahead_of(self.start)).ok();
        let known = distance.filter(|distance| *distance < end);
        known.ok_or_else(|| format!("PSN: {psn} belongs to no message"))
    }

    /// Checks a packet that leaves an adapter.
    pub(super) fn note_sent(
        &mut self,
        from: usize,
        packet: &Packet<'_>,
        now: u64,
    ) -> Result<(), String> {
        if from == 0 {
            self.note_request(packet, now)
        } else {
            self.note_response(packet)
        }
    }

    fn note_request(&mut self, packet: &Packet<'_>, now: u64) -> Result<(), String> {
        let distance = self.distance(packet)?;
        if now < self.waits_until {
            return Err(format!("RNR wait: packet {distance} leaves too early"));
        }
        let count = self.unanswered.entry(distance).or_default();
        *count += 1;
        if *count > 1 + u32::from(self.retry_cnt) {
            return Err(format!(
                "retry count: packet {distance} leaves {count} times"
            ));
        }
        Ok(())
    }

    fn note_response(&mut self, packet: &Packet<'_>) -> Result<(), String> {
        let aeth = match packet.extension() {
            Extension::Aeth(aeth) | Extension::AtomicAck(aeth, _) => Some(*aeth),
            _ => None,
        };
        let is_positive = aeth.is_none_or(|aeth| matches!(aeth.syndrome, Syndrome::Ack(_)));
        // A sequence error names the packet behind what has come, which may be the last one.
        let distance = self.distance(packet)?;
        let is_plain = packet.bth().opcode == Opcode::RcAcknowledge;
        let behind = distance + u32::from(is_plain && is_positive);
        let data = self.messages.iter().filter(|message| message.returns_data);
        let mut data = data.flat_map(|message| message.first..message.end);
        let missing = data.find(|psn| *psn < behind && !self.answered.contains(psn));
        if let Some(missing) = missing {
            return Err(format!(
                "response order: {distance} leaves before {missing}"
            ));
        }
        if !is_plain {
            self.answered.insert(distance);
        }
        let Some(aeth) = aeth else {
            return Ok(());
        };
        self.check_msn(distance, aeth, is_plain)?;
        let is_gap = aeth.syndrome == Syndrome::Nak(Nak::SequenceError);
        if is_gap && !self.reported.insert(distance) {
            return Err(format!("one NAK: packet {distance} is reported again"));
        }
        Ok(())
    }

    fn check_msn(&self, distance: u32, aeth: Aeth, is_plain: bool) -> Result<(), String> {
        let is_positive = matches!(aeth.syndrome, Syndrome::Ack(_));
        let complete = |message: &&Message| match (is_plain, is_positive) {
            (true, true) => message.end <= distance + 1,
            (true, false) => message.end <= distance,
            // A read counts when it is accepted.
            (false, _) => message.first <= distance,
        };
        let expected = self.messages.iter().filter(complete).count();
        if aeth.msn as usize != expected {
            return Err(format!(
                "MSN: {} in a response to packet {distance}, expected {expected}",
                aeth.msn
            ));
        }
        Ok(())
    }

    /// Notes a packet that arrives; `completed` work requests of the requester have completed.
    pub(super) fn note_arrival(
        &mut self,
        to: usize,
        packet: &Packet<'_>,
        now: u64,
        completed: usize,
    ) {
        if to != 0 {
            return;
        }
        self.unanswered.clear();
        let Extension::Aeth(Aeth {
            syndrome: Syndrome::RnrNak(code),
            ..
        }) = packet.extension()
        else {
            return;
        };
        let Ok(distance) = self.distance(packet) else {
            return;
        };
        // Missing data of an earlier request are asked for at once.
        let mut open = self.messages[completed..].iter();
        let waits = open
            .by_ref()
            .take_while(|message| message.first <= distance)
            .all(|message| !message.returns_data);
        let is_open = self
            .messages
            .get(completed)
            .is_some_and(|message| message.first <= distance);
        if waits && is_open {
            let wait = u64::from(RNR_TIMER_US[usize::from(*code)]) * 1_000_000;
            self.waits_until = now + wait;
        }
    }
}
