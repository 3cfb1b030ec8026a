//! Seeded defects: wrong rules that tests switch on to see that they are found.
//!
//! Without the feature `seeded-defects`, which only tests enable, no adapter can have one, and none
//! of them is compiled.

/// A wrong rule of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(
    not(feature = "seeded-defects"),
    expect(unreachable_pub, reason = "only tests can name it")
)]
pub enum Defect {
    /// A duplicate atomic operation is executed again.
    DuplicateAtomicExecuted,
    /// A duplicate send or write is executed again.
    DuplicateSendExecuted,
    /// A read or atomic that an acknowledgement skips counts as complete.
    AckPassesRead,
    /// RNR NAK consumes a retry of the other counter, too.
    RnrConsumesRetry,
    /// Message sequence numbers are one too high.
    MsnOffByOne,
    /// Packet sequence numbers are compared without wrapping.
    PsnWithoutWrap,
    /// A packet ahead of the expected one is executed.
    GapAccepted,
    /// A duplicate request is dropped without a response.
    DuplicateDropped,
    /// A duplicate read is answered with as many packets as it asks for, from its original start.
    DuplicateReadFromStart,
    /// A sequence error is answered for each packet behind the gap.
    NakRepeated,
    /// An RNR NAK advances the expected packet.
    RnrAdvances,
    /// The response of a read is sent after those of later requests.
    ResponsesOutOfOrder,
    /// An atomic response carries the new value.
    AtomicReturnsNew,
    /// The last packet of a message does not ask for an acknowledgement.
    NoAckRequest,
}
