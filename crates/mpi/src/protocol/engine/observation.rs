//! Events that are reported to an observer of the rank.
//!
//! Without an observer, [`observe`](super::RequestTable::observe) ends at the first test, which a
//! plain engine makes anyway.

use observe::SourceLocation;
use std::rc::Rc;

use observe::{Observer, ProgramEvent, RankEvent};

use super::{OperationState, Operations, PreparedCall};
use crate::channel::{Packet, PacketHeader, Token};
use crate::protocol::waiting::Waits;
use crate::{Envelope, RmaCall};

/// The observer of a rank.
#[derive(Clone, Debug)]
pub(crate) struct RankObserver {
    observer: Rc<dyn Observer>,
    rank: u32,
    /// True while the rank waits.
    waits: bool,
}

impl RankObserver {
    /// Returns the observation of a rank, which tells the observer all events.
    pub(super) fn new(observer: Rc<dyn Observer>, rank: u32) -> Self {
        Self {
            observer,
            rank,
            waits: false,
        }
    }

    /// Tells an event: apart, so that the path of a message that is not observed is short.
    #[cold]
    pub(super) fn tell(&self, event: impl FnOnce() -> ProgramEvent) {
        self.observer.observe(self.rank, event());
    }

    /// Reports that the rank begins to wait. `begins`: the call has just begun its only operation.
    pub(super) fn begin_wait(
        &mut self,
        operations: &Operations,
        (waits, begins): (Waits, bool),
        place: SourceLocation,
    ) {
        if self.waits {
            return;
        }
        let call = match waits {
            Waits::Operation(token) if begins => match operations.state(token) {
                OperationState::AwaitPost { .. }
                | OperationState::Posted { .. }
                | OperationState::AwaitData { .. } => "recv",
                _ => "send",
            },
            Waits::Operation(_) => "wait",
            Waits::Named(name, _)
            | Waits::Call(name)
            | Waits::Memory(name)
            | Waits::Read(name, _) => name,
            Waits::All => "waitall",
            Waits::Any => "waitany",
            Waits::Several(name) | Waits::Tests(name) => name,
            Waits::Test(_) => "test",
            Waits::Probe(_) => "probe",
            Waits::Iprobe(_) => "iprobe",
            Waits::Finalize => "finalize",
        };
        let elapses = matches!(waits, Waits::Named(_, token)
            if matches!(operations.state(token), OperationState::Elapsing));
        let request = match waits {
            Waits::Operation(token) => Some(token),
            _ => None,
        };
        self.tell(|| RankEvent::Wait {
            call,
            place,
            elapses,
            request,
        });
        self.waits = true;
    }

    /// Reports that the rank does not wait any more.
    #[inline]
    pub(crate) fn end_wait(&mut self) {
        if self.waits {
            self.tell(|| RankEvent::Continue);
            self.waits = false;
        }
    }

    /// Reports that the rank has ended.
    pub(crate) fn end_rank(&mut self) {
        self.end_wait();
        self.tell(|| RankEvent::End);
    }

    /// Reports that a collective begins.
    pub(super) fn begin_collective(&self, call: &PreparedCall, token: Token) {
        let root = Some(call.call.root).filter(|root| {
            call.call.collective.has_root() && *root != ::collectives::Call::NO_ROOT
        });
        self.tell(|| RankEvent::CollectiveCall {
            algorithm: call.algorithm.name,
            root: root.map(|root| call.members.world(root)),
            size: call.call.size,
            first: call.members.world(0),
            place: call.location,
        });
        self.tell(|| RankEvent::Collective {
            name: call.call.collective.name(),
            context: call.context,
            number: call.number.position,
            bytes: call.call.bytes,
            request: Some(token),
        });
    }

    /// Reports a packet that is handed to the channel and contains only credits.
    pub(super) fn post_credits(&self, peer: u32, packet: &Packet) {
        if let (PacketHeader::Credits, Some(returned)) = (&packet.header, &packet.returned) {
            let value = Some(f64::from(returned.credits));
            let (name, peer) = ("credits", Some(peer));
            self.tell(|| RankEvent::Incident { name, peer, value });
        }
    }
}

/// Returns the length that a packet reports: the length of the announced message, or of the
/// payload.
pub(super) const fn length(header: &PacketHeader, payload: u64) -> u64 {
    match *header {
        PacketHeader::Rts { length, .. } => length,
        PacketHeader::Rma {
            call: RmaCall::Read { .. },
            length,
            ..
        } => length,
        _ => payload,
    }
}

/// A message has found no receive.
pub(super) const fn unexpected_event(envelope: &Envelope, bytes: u64) -> ProgramEvent {
    let (peer, tag) = (envelope.source, envelope.tag);
    RankEvent::Unexpected { peer, tag, bytes }
}

/// A packet is handed to the channel.
pub(super) fn post_event(peer: u32, header: &PacketHeader, payload: u64) -> ProgramEvent {
    let (packet, key) = header.packet_identity();
    RankEvent::Post {
        peer,
        packet,
        key,
        bytes: length(header, payload),
    }
}
