//! Weights of the features of interactions. Each interaction has separate weights: some kinds are
//! switched off, others are frequent. Groce et al., *Swarm Testing* (ISSTA 2012): an interaction
//! without one kind of event tests the other kinds more deeply.

use serde::{Deserialize, Serialize};
use sim_core::Stream;

/// A kind of feature that an interaction can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// A rejected request.
    Reject,
    /// A request without an answer.
    Ignore,
    /// A message that is sent before the acceptor knows that the connection is in use.
    Early,
    /// A silent send.
    Silent,
    /// A blocking send.
    Blocking,
    /// A send of lent bytes.
    Lent,
    /// A message of length 0 or of the greatest length.
    Extreme,
    /// Ten times as many messages, at one connection in eight that would have them: all buffers are
    /// used.
    Many,
    /// Messages for which no command waits at the end of a connection.
    Abandoned,
    /// A supervised peer.
    Keepalive,
    /// Remote memory access.
    Transfers,
    /// Memory that is deregistered while in use, or before.
    Deregister,
}

impl Feature {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Reject,
        Self::Ignore,
        Self::Early,
        Self::Silent,
        Self::Blocking,
        Self::Lent,
        Self::Extreme,
        Self::Many,
        Self::Abandoned,
        Self::Keepalive,
        Self::Transfers,
        Self::Deregister,
    ];
}

/// The weight that is a certainty.
const CERTAIN: u8 = 16;

/// Weights that are drawn: half of the kinds are switched off. \[choice\]
const DRAWN: [u8; 4] = [0, 0, 3, 8];

/// Weights of all kinds, in sixteenths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Swarm([u8; Feature::ALL.len()]);

impl Swarm {
    /// Returns weights with which no [`Feature`] happens.
    pub const fn none() -> Self {
        Self([0; Feature::ALL.len()])
    }

    /// Draws weights.
    pub fn draw_weights(stream: &mut Stream) -> Self {
        Self(std::array::from_fn(|_| {
            let drawn = stream.below(DRAWN.len() as u64);
            DRAWN[usize::try_from(drawn).unwrap_or(0)]
        }))
    }

    /// Returns the weights with another one for a kind.
    pub const fn with_weight(mut self, kind: Feature, weight: u8) -> Self {
        self.0[kind as usize] = if weight > CERTAIN { CERTAIN } else { weight };
        self
    }

    /// Returns true if the next of a kind happens.
    pub(crate) fn happens(&self, kind: Feature, stream: &mut Stream) -> bool {
        let weight = self.0[kind as usize];
        weight > 0 && stream.below(CERTAIN.into()) < weight.into()
    }
}
