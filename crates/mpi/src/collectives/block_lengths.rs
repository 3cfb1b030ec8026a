//! Lengths of blocks that the ranks of a collective give to each other and expect of each other.
//!
//! For each pair of ranks in a call with blocks of different lengths, both ranks give the same
//! length of their block (MPI 5.0, sections 6.5 to 6.10). The later call compares the lengths. So
//! do neighbours (section 8.6) under a model checker, in the sum of the blocks of a rank that is
//! several neighbours.
//!
//! *Not compared*: places of blocks; blocks that overlap.

use std::sync::Arc;

use ::collectives::Collective;
use serde::{Deserialize, Serialize};

use super::{Blocks, Invocation};

/// Blocks of one caller.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct BlockLengths {
    /// The only rank with which blocks are exchanged, if this is not the root itself.
    only: Option<usize>,
    gives: Lengths,
    expects: Lengths,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Lengths {
    /// The same to or of all ranks.
    One(u64),
    /// By rank.
    Each(#[serde(with = "shared")] Arc<[u64]>),
    /// To or of each neighbour: the rank and the length. A rank may be several neighbours.
    Neighbors(Vec<(u32, u64)>),
    /// No blocks.
    None,
}

mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(lengths: &Arc<[u64]>, to: S) -> Result<S::Ok, S::Error> {
        lengths[..].serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u64]>, D::Error> {
        Vec::deserialize(from).map(Arc::from)
    }
}

impl Lengths {
    fn from_blocks(blocks: Option<&Blocks>) -> Self {
        let lengths = |blocks: &Blocks| blocks.listed().iter().map(|block| block.length).collect();
        blocks.map_or(Self::None, |blocks| Self::Each(lengths(blocks)))
    }

    fn from_neighbors(neighbors: &[Option<u32>], blocks: Option<&Blocks>) -> Self {
        let blocks = blocks.map_or(&[][..], Blocks::listed);
        let pairs = neighbors.iter().zip(blocks);
        Self::Neighbors(
            pairs
                .filter_map(|(rank, block)| Some((*rank.as_ref()?, block.length)))
                .collect(),
        )
    }

    fn peer_length(&self, peer: usize) -> Option<u64> {
        match self {
            Self::Neighbors(pairs) => {
                let of_peer = pairs.iter().filter(|(rank, _)| *rank as usize == peer);
                Some(of_peer.map(|(_, length)| length).sum())
            }
            Self::One(length) => Some(*length),
            Self::Each(lengths) => lengths.get(peer).copied(),
            Self::None => None,
        }
    }
}

impl BlockLengths {
    /// Returns the lengths of the blocks of a call; `None` if all blocks have one length.
    pub(super) fn from_call(call: &Invocation, rank: usize) -> Option<Self> {
        let (send, recv) = (call.send.as_ref(), call.recv.as_ref());
        if let Some(neighbors) = &call.neighbors {
            return Some(Self {
                only: None,
                gives: Lengths::from_neighbors(&neighbors.destinations, send),
                expects: Lengths::from_neighbors(&neighbors.sources, recv),
            });
        }
        let own = Lengths::One(call.input.len());
        let is_root = rank == call.root;
        let (is_rooted, gives, expects) = match call.kind {
            Collective::Gatherv => (true, own, Lengths::from_blocks(recv)),
            Collective::Scatterv => {
                let room = call.room.as_ref().map(crate::Buffer::len);
                (
                    true,
                    Lengths::from_blocks(send),
                    room.map_or(Lengths::None, Lengths::One),
                )
            }
            Collective::Allgatherv => (false, own, Lengths::from_blocks(recv)),
            Collective::Alltoallv | Collective::Alltoallw => (
                false,
                Lengths::from_blocks(send),
                Lengths::from_blocks(recv),
            ),
            Collective::ReduceScatter => {
                let block = send.and_then(|blocks| blocks.listed().get(rank));
                let expects = block.map_or(Lengths::None, |block| Lengths::One(block.length));
                (false, Lengths::from_blocks(send), expects)
            }
            _ => return None,
        };
        Some(Self {
            only: (is_rooted && !is_root).then_some(call.root),
            gives,
            expects,
        })
    }

    /// Returns a difference to the call of another rank: a text about this rank and a text about
    /// the other rank.
    pub(super) fn find_difference(
        &self,
        own: usize,
        other: (usize, &Self),
    ) -> Option<(String, String)> {
        let (peer, theirs) = other;
        if self.only.is_some_and(|only| only != peer) || theirs.only.is_some_and(|only| only != own)
        {
            return None;
        }
        let gives = |bytes, peer| format!("gives {bytes} bytes to rank {peer}");
        let expects = |bytes, peer| format!("expects {bytes} bytes of rank {peer}");
        if let (Some(given), Some(expected)) = (
            self.gives.peer_length(peer),
            theirs.expects.peer_length(own),
        ) && given != expected
        {
            return Some((gives(given, peer), expects(expected, own)));
        }
        let (expected, given) = (
            self.expects.peer_length(peer)?,
            theirs.gives.peer_length(own)?,
        );
        (given != expected).then(|| (expects(expected, peer), gives(given, own)))
    }

    /// Returns the ranks with which blocks are exchanged.
    pub(super) fn peers(&self, size: usize) -> std::ops::Range<usize> {
        self.only.map_or(0..size, |only| only..only + 1)
    }
}
