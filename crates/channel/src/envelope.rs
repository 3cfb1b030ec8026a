//! Envelopes, by which messages are matched: context, source and tag (MPI 4.1, section 3.2.3).
//!
//! *Not decided here*: which receive gets a message, which the package `mpi` decides.

use crate::TypeSignature;

/// A message's address label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The communication context: messages of different contexts never meet.
    pub context: u32,
    /// The sending rank.
    pub source: u32,
    /// The tag: 31 bits of the program, and a bit of the message layer.
    pub tag: u32,
    /// True if the sender has promised that a receive is posted: a ready send.
    pub ready: bool,
    /// The type of the elements and the call that sent the message, if they are known.
    pub signature: TypeSignature,
}

/// The bits of the tag of a partition that leaves alone, in a context of collectives.
pub const PARTITION_TAG: u32 = 3 << 30;

impl Envelope {
    /// Returns the label of a message that is not a ready send, without a signature.
    #[must_use]
    #[inline]
    pub const fn new(context: u32, source: u32, tag: u32) -> Self {
        Self {
            context,
            source,
            tag,
            ready: false,
            signature: TypeSignature::NONE,
        }
    }

    /// Returns true if the message is one partition, which no receive gets.
    #[must_use]
    #[inline]
    pub const fn is_partition(&self) -> bool {
        self.is_collective() && self.tag & PARTITION_TAG == PARTITION_TAG
    }

    /// Returns true if the message is a part of a collective operation.
    #[must_use]
    #[inline]
    pub const fn is_collective(&self) -> bool {
        crate::is_of_collectives(self.context)
    }
}
