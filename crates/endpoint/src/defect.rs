//! Seeded defects: wrong rules that tests switch on to check that the tests find the defects.
//!
//! Without the feature `seeded-defects`, which only tests enable, no endpoint can have a defect,
//! and no defect is compiled. Defects marked *CCI* are faults that the transports of CCI had
//! (history of the CCI repository, 2012).

use crate::{ConnectionId, RmaHandle};

/// A wrong rule of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "seeded-defects", derive(strum::VariantArray))]
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
    /// Completion messages of transfers are not copied. *CCI*
    CompletionMessageNotCopied,
    /// The offset in remote memory is ignored. *CCI*
    RemoteOffsetIgnored,
    /// A silent operation is reported. *CCI*
    SilentIgnored,
    /// A failed transfer is reported by two events. *CCI*
    FailedRmaReportedTwice,
    /// A failed transfer is reported as successful. *CCI*
    FailedRmaSucceeds,
    /// A transfer uses the first handle of its connection instead of its own. *CCI*
    StaleRemoteHandle,
    /// Connections in the handshake are not released when the endpoint is destroyed. *CCI*
    HalfOpenNotReleased,
    /// The completion of an operation behind which others are posted is lost.
    CompletionLost,
    /// Receive buffers are not posted again.
    BufferNotPosted,
    /// Deregistered memory can still be accessed.
    DeregistrationIgnored,
    /// Transfers do not wait for earlier ones.
    FenceIgnored,
    /// A silent operation is reported on unreliable connections.
    SilentIgnoredOnUu,
    /// The completion message of a transfer is sent before the data.
    MessageBeforeData,
    /// Peers are not supervised.
    KeepaliveNotArmed,
    /// A silent peer is reported again and again.
    KeepaliveNotDisarmed,
    /// The receive buffer of a returned event is posted twice.
    BufferPostedTwice,
    /// A request can be accepted again.
    SecondDecision,
    /// A repeated request makes another connection.
    RequestAcceptedTwice,
    /// Messages are not copied when they are sent: all have the bytes of the latest.
    BytesNotCopied,
    /// Events of a connection are reported after the connection was disconnected.
    EventAfterDisconnect,
}

#[cfg(feature = "seeded-defects")]
impl Defect {
    /// All defects.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// State of defects that need one.
#[derive(Default)]
pub(crate) struct DefectState {
    #[cfg(feature = "seeded-defects")]
    handles: std::collections::BTreeMap<ConnectionId, RmaHandle>,
}

impl DefectState {
    /// Returns the first handle that was used on a connection.
    #[cfg_attr(
        not(feature = "seeded-defects"),
        expect(clippy::unused_self, reason = "no state")
    )]
    pub(crate) fn first_handle(
        &mut self,
        connection: ConnectionId,
        handle: RmaHandle,
    ) -> RmaHandle {
        #[cfg(feature = "seeded-defects")]
        return *self.handles.entry(connection).or_insert(handle);
        #[cfg(not(feature = "seeded-defects"))]
        {
            let _ = connection;
            handle
        }
    }
}
