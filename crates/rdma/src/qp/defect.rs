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
    /// A duplicate read is answered from the original start, with as many packets as requested.
    DuplicateReadFromStart,
    /// A sequence error is answered for each packet behind the gap.
    NakRepeated,
    /// An RNR NAK advances the expected packet.
    RnrAdvances,
    /// The response of a read is sent after the responses of later requests.
    ResponsesOutOfOrder,
    /// An atomic response carries the new value.
    AtomicReturnsNew,
    /// The last packet of a message does not ask for an acknowledgement.
    NoAckRequest,
    /// A read of several packets takes one packet sequence number.
    ReadTakesOnePsn,
    /// The response of a read or an atomic completes the next one, too.
    ResponseCompletesNext,
    /// A request is sent again once more than the retry count says.
    RetryOnceMore,
    /// A request is sent again at once after an RNR NAK.
    RnrTimerIgnored,
    /// A negative acknowledgement does not end the connection.
    NakWithoutError,
    /// A read whose response was lost in part is requested again from its start.
    ReadRestartsFromStart,
    /// The response of an atomic operation is sent after the response of the next request.
    AtomicResponseOvertaken,
}

#[cfg(feature = "seeded-defects")]
impl Defect {
    /// All defects.
    pub const ALL: [Self; 21] = [
        Self::DuplicateAtomicExecuted,
        Self::DuplicateSendExecuted,
        Self::AckPassesRead,
        Self::RnrConsumesRetry,
        Self::MsnOffByOne,
        Self::PsnWithoutWrap,
        Self::GapAccepted,
        Self::DuplicateDropped,
        Self::DuplicateReadFromStart,
        Self::NakRepeated,
        Self::RnrAdvances,
        Self::ResponsesOutOfOrder,
        Self::AtomicReturnsNew,
        Self::NoAckRequest,
        Self::ReadTakesOnePsn,
        Self::ResponseCompletesNext,
        Self::RetryOnceMore,
        Self::RnrTimerIgnored,
        Self::NakWithoutError,
        Self::ReadRestartsFromStart,
        Self::AtomicResponseOvertaken,
    ];
}
