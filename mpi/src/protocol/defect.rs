//! Defects of the protocols that tests put in, to see that the search through all states finds
//! them. Outside of tests there are none, and asking for one costs nothing.

/// Seeded defect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProtocolDefect {
    /// A connection that waits for a packet buffer is not told of a free one.
    NoWakeOnBuffers,
    /// A connection that waits for credits is not told of new ones.
    NoWakeOnCredits,
    /// A packet buffer does not come back.
    BufferLost,
    /// A credit is not taken.
    CreditNotTaken,
    /// A used-up packet gives two credits back.
    CreditTwice,
    /// Used-up packets are told only together with other packets.
    NoUpdates,
    /// An update needs a buffer that messages may have taken.
    UpdatesNotReserved,
    /// The latest message leaves first.
    LatestFirst,
    /// A message that was given back to its sender can still be received.
    CancelKeepsMessage,
    /// A cancelled send is over before the receiver has decided.
    CancelWithoutAnswer,
}

/// The defect of a rank.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ProtocolDefects {
    #[cfg(test)]
    pub(crate) one: Option<ProtocolDefect>,
}

impl ProtocolDefects {
    /// Returns true if it has this one.
    #[cfg(test)]
    pub(crate) fn has(self, defect: ProtocolDefect) -> bool {
        self.one == Some(defect)
    }

    /// Returns true if it has this one.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it is used")]
    pub(crate) const fn has(self, _: ProtocolDefect) -> bool {
        false
    }
}
