//! Events that are reported to an observer of the rank.
//!
//! Without an observer, every function here ends at its first test, which a plain engine makes
//! anyway.

use observe::SourceLocation;
use std::rc::Rc;

use observe::{Event, Observer, PacketKind, ProgramEvent};

use super::{PreparedCall, ProtocolEngine, State};
use crate::channel::{Packet, PacketHeader, Token};
use crate::protocol::waiting::Waits;
use crate::{Envelope, Pattern, RmaCall};
use channel::COLLECTIVE;

/// The observer of a rank.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    observer: Rc<dyn Observer>,
    rank: u32,
    /// True while the rank waits.
    waits: bool,
}

impl Observation {
    /// Tells an event: apart, so that the path of a message that is not observed is short.
    #[cold]
    fn tell(&self, event: impl FnOnce() -> ProgramEvent) {
        self.observer.observe(self.rank, event());
    }
}

/// Returns the length that a packet reports: the length of the announced message, or of the
/// payload.
const fn length(header: &PacketHeader, payload: u64) -> u64 {
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

impl ProtocolEngine {
    /// Tells an observer all events of this rank from now on.
    pub(crate) fn enable_observation(&mut self, observer: Rc<dyn Observer>, rank: u32) {
        self.cold.get_or_insert_default().observation = Some(Observation {
            observer,
            rank,
            waits: false,
        });
    }

    #[inline]
    fn observation(&self) -> Option<&Observation> {
        self.cold.as_ref()?.observation.as_ref()
    }

    /// Tells an event, if the rank is observed.
    #[inline]
    pub(crate) fn observe(&self, event: impl FnOnce() -> ProgramEvent) {
        if let Some(observation) = self.observation() {
            observation.tell(event);
        }
    }

    /// Reports that the rank begins to wait. `begins`: the call has just begun its only operation.
    pub(crate) fn observe_wait(&mut self, waits: Waits, begins: bool, place: SourceLocation) {
        let Some(observation) = self.observation() else {
            return;
        };
        if observation.waits {
            return;
        }
        let call = match waits {
            Waits::Operation(token) if begins => match self.operations.state(token) {
                State::AwaitPost { .. } | State::Posted { .. } | State::AwaitData { .. } => "recv",
                _ => "send",
            },
            Waits::Operation(_) => "wait",
            Waits::Named(name, _) | Waits::Call(name) | Waits::Memory(name) => name,
            Waits::All => "waitall",
            Waits::Any => "waitany",
            Waits::Several(name) | Waits::Tests(name) => name,
            Waits::Test(_) => "test",
            Waits::Probe(_) => "probe",
            Waits::Iprobe(_) => "iprobe",
            Waits::Finalize => "finalize",
        };
        let elapses = matches!(waits, Waits::Named(_, token)
            if matches!(self.operations.state(token), State::Elapsing));
        let request = match waits {
            Waits::Operation(token) => Some(token),
            _ => None,
        };
        observation.tell(|| Event::Wait {
            call,
            place,
            elapses,
            request,
        });
        self.set_waiting(true);
    }

    /// The rank does not wait any more.
    #[inline]
    pub(crate) fn observe_continue(&mut self) {
        let waits = self.observation().is_some_and(|all| all.waits);
        if waits {
            self.observe(|| Event::Continue);
            self.set_waiting(false);
        }
    }

    /// The rank has ended.
    pub(crate) fn observe_end(&mut self) {
        self.observe_continue();
        self.observe(|| Event::End);
    }

    fn set_waiting(&mut self, waits: bool) {
        let cold = self.cold.as_mut();
        if let Some(observation) = cold.and_then(|cold| cold.observation.as_mut()) {
            observation.waits = waits;
        }
    }

    /// A collective begins.
    pub(super) fn observe_collective(&self, call: &PreparedCall, token: Token) {
        let Some(observation) = self.observation() else {
            return;
        };
        let root = Some(call.call.root).filter(|root| {
            call.call.collective.has_root() && *root != ::collectives::Call::NO_ROOT
        });
        observation.tell(|| Event::CollectiveCall {
            algorithm: call.algorithm.name,
            root: root.map(|root| call.members.world(root)),
            size: call.call.size,
            first: call.members.world(0),
            place: call.location,
        });
        observation.tell(|| Event::Collective {
            name: call.call.collective.name(),
            context: call.context,
            number: call.number.position,
            bytes: call.call.bytes,
            request: Some(token),
        });
    }

    /// A send begins.
    #[inline]
    pub(super) fn observe_send(
        &self,
        peer: u32,
        envelope: &Envelope,
        bytes: u64,
        place: SourceLocation,
    ) {
        self.observe(|| Event::Send {
            peer,
            tag: envelope.tag,
            bytes,
            place,
            collective: envelope.is_collective(),
            request: self.operations.next_token(),
        });
    }

    /// A receive is posted.
    #[inline]
    pub(super) fn observe_receive(&self, pattern: &Pattern, bytes: u64, place: SourceLocation) {
        self.observe(|| Event::Receive {
            peer: pattern.source,
            bytes,
            place,
            collective: pattern.context & COLLECTIVE != 0,
            request: self.operations.next_token(),
        });
    }

    /// The data of a detached message leave its sender.
    #[inline]
    pub(super) fn observe_pull(&self, peer: u32, receive: Token, bytes: u64) {
        self.observe(|| Event::Post {
            peer,
            packet: PacketKind::Pull,
            key: receive,
            bytes,
        });
    }

    /// A message has found no receive.
    #[inline]
    pub(super) fn observe_unexpected(&self, envelope: &Envelope, bytes: u64) {
        let (peer, tag) = (envelope.source, envelope.tag);
        self.observe(|| Event::Unexpected { peer, tag, bytes });
    }

    /// A packet is handed to the channel.
    #[inline]
    pub(super) fn observe_post(&self, peer: u32, header: &PacketHeader, payload: u64) {
        self.observe(|| {
            let (packet, key) = header.identity();
            Event::Post {
                peer,
                packet,
                key,
                bytes: length(header, payload),
            }
        });
    }

    /// Reports a packet that is handed to the channel and contains only credits.
    pub(super) fn observe_credits(&self, peer: u32, packet: &Packet) {
        if let (PacketHeader::Credits, Some(returned)) = (&packet.header, &packet.returned) {
            let value = Some(f64::from(returned.credits));
            let (name, peer) = ("credits", Some(peer));
            self.observe(|| Event::Incident { name, peer, value });
        }
    }

    /// A packet is about to be handled.
    #[inline]
    pub(super) fn observe_arrival(&self, peer: u32, header: &PacketHeader, payload: u64) {
        self.observe(|| {
            let (packet, key) = header.identity();
            Event::Arrive {
                peer,
                packet,
                key,
                bytes: length(header, payload),
            }
        });
    }
}
