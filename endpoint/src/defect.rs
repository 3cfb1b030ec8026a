//! Seeded defects: wrong rules that tests switch on to see that they are found.
//!
//! Without the feature `seeded-defects`, which only tests enable, no endpoint can have one, and
//! none of them is compiled. Those marked *CCI* are faults that its transports had (history of its
//! repository, 2012).

/// A wrong rule of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(
    not(feature = "seeded-defects"),
    expect(unreachable_pub, reason = "only tests can name it")
)]
pub enum Defect {
    /// The payload of a connection request is too short. *CCI*
    PayloadCut,
    /// The context of a connect is lost. *CCI*
    ConnectContextLost,
    /// The context of an accept is not set. *CCI*
    AcceptContextLost,
    /// A completion of the handshake is reported as a send. *CCI*
    HandshakeCompletionLeaked,
    /// A message that arrives before the acknowledgement is dropped. *CCI*
    FirstMessageLost,
    /// Messages are not copied when they are sent: all have the bytes of the latest. *CCI*
    BytesNotCopied,
    /// A repeated request makes another connection.
    RequestAcceptedTwice,
    /// Receive buffers are not posted again.
    BufferNotPosted,
}

#[cfg(feature = "seeded-defects")]
impl Defect {
    /// All defects.
    pub const ALL: [Self; 8] = [
        Self::PayloadCut,
        Self::ConnectContextLost,
        Self::AcceptContextLost,
        Self::HandshakeCompletionLeaked,
        Self::FirstMessageLost,
        Self::BytesNotCopied,
        Self::RequestAcceptedTwice,
        Self::BufferNotPosted,
    ];
}
