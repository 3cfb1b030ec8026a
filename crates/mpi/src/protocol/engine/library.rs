//! Parts of a library that a platform sets: thresholds, rendezvous by reads, costs of matching.
//!
//! A plain engine has none of them, and does not come here.
//!
//! *Not modelled*: a user's send and receive in one call (`MPI_Sendrecv`) has the threshold of a
//! nonblocking send; only an exchange of a collective has the threshold of a blocking one, as in
//! Open MPI.

use std::sync::Arc;

use settings::{LibrarySettings, RendezvousMode};

use super::{Departure, OperationState, ProtocolEngine, RareState, SendCall};
use crate::channel::{Channel, PacketHeader, Token};

/// The state of a rank with such parts.
#[derive(Clone, Debug)]
pub(super) struct Library {
    settings: Arc<LibrarySettings>,
    /// Receives that read their data: the receive, the sender, and the send.
    reads: Vec<(Token, u32, Token)>,
}

impl Library {
    /// Returns the state at the begin of the run.
    pub(super) fn new(settings: &Arc<LibrarySettings>) -> Self {
        Self {
            settings: Arc::clone(settings),
            reads: Vec::new(),
        }
    }

    /// Returns the departure of the message of a nonblocking standard send.
    fn nonblocking_departure(&self, length: u64) -> Departure {
        match self.settings.rendezvous.eager_threshold_nonblocking {
            Some(threshold) if length >= threshold => Departure::Announced,
            _ => Departure::Standard,
        }
    }

    /// Returns true if receivers read the data of a rendezvous.
    pub(super) fn reads_data(&self) -> bool {
        self.settings.rendezvous.mode == RendezvousMode::Get
    }
}

impl SendCall {
    /// Returns the departure of the message.
    #[inline]
    pub(super) fn departure_of(self, rare: &RareState, length: u64) -> Departure {
        if self.synchronous {
            return Departure::Synchronous;
        }
        if rare.is_empty() || self.blocks || self.exchanges {
            return Departure::Standard;
        }
        rare.library().map_or(Departure::Standard, |library| {
            library.nonblocking_departure(length)
        })
    }
}

/// Matches an announcement, and answers after the processor time of that, which the memory of a
/// collective may prolong. Returns false if there is no cost: then the caller answers.
pub(super) fn answer_later(
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
    peer: u32,
    header: PacketHeader,
) -> bool {
    let PacketHeader::Cts { send, receive } = header else {
        unreachable!("the answer to an announcement is a CTS");
    };
    let collectives = engine.requests.collectives.as_ref();
    let mut cost = collectives.map_or(0.0, |all| all.matching_cost(receive));
    if let Some(library) = engine.requests.rare.library_mut() {
        cost += library.settings.rendezvous.cost.unwrap_or(0.0);
        if library.reads_data() {
            library.reads.push((receive, peer, send));
        }
    }
    if cost == 0.0 {
        return false;
    }
    engine.processor.keep_busy(channel, cost);
    let state = OperationState::Matching { peer, header };
    let token = engine.requests.insert_inner(state);
    channel.timer(engine.processor.time_left(channel), token);
    true
}

/// Handles the end of matching.
pub(super) fn answer_matched(engine: &mut ProtocolEngine, channel: &dyn Channel, token: Token) {
    let OperationState::Matching { peer, header } = engine.requests.operations.remove(token) else {
        unreachable!("only matching is over");
    };
    engine.post_control(channel, peer, header);
}

/// Tells the sender that the data have been read, if the receive has read them.
pub(super) fn acknowledge_read(engine: &mut ProtocolEngine, channel: &dyn Channel, receive: Token) {
    let Some(library) = engine.requests.rare.library_mut() else {
        return;
    };
    let place = library.reads.iter().position(|(read, ..)| *read == receive);
    if let Some(place) = place {
        let (_, peer, send) = library.reads.swap_remove(place);
        engine.post_control(channel, peer, PacketHeader::Ack { send });
    }
}
