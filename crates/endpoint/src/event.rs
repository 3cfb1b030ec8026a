//! Events of an endpoint. The program borrows each event until it returns the event; a receive
//! buffer is posted again only after the return.

use serde::{Deserialize, Serialize};

use crate::{Attribute, ConnectionId};

/// Identifier of an event, for its return.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub(crate) u64);

/// Identifier of a connection request that waits for [`accept`](crate::Endpoint::accept) or
/// [`reject`](crate::Endpoint::reject).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub(crate) u32);

/// End of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Status {
    /// Done.
    Success,
    /// The peer rejected the connection (`ECONNREFUSED`).
    Refused,
    /// No answer in time (`ETIMEDOUT`). The peer may have seen the message.
    TimedOut,
    /// The peer had no receive buffer in time (`CCI_ERR_RNR`).
    ReceiverNotReady,
    /// The remote memory is not registered (`CCI_ERR_RMA_HANDLE`).
    RmaHandle,
    /// The connection ended before the operation did (`CCI_ERR_DISCONNECTED`).
    Disconnected,
    /// The adapter failed otherwise.
    OperationFailed,
}

/// An event, borrowed until [`return_event`](crate::Endpoint::return_event).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointEvent {
    /// Identifier of the event.
    pub id: EventId,
    /// Content of the event.
    pub kind: EventKind,
}

/// Content of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// The end of [`connect`](crate::Endpoint::connect).
    Connect {
        /// Context of the call.
        context: u64,
        /// The connection, or the reason why there is none.
        result: Result<ConnectionId, Status>,
    },
    /// A peer asks for a connection. The request is answered once, before the event is returned.
    ConnectRequest {
        /// Identifier of the request.
        request: RequestId,
        /// Attribute of the connection.
        attribute: Attribute,
        /// Payload of the request, at most 1024 bytes.
        payload: Vec<u8>,
    },
    /// The end of [`accept`](crate::Endpoint::accept).
    Accept {
        /// Context of the call.
        context: u64,
        /// The connection, or the reason why there is none.
        result: Result<ConnectionId, Status>,
    },
    /// The end of a [`send`](crate::Endpoint::send) or of an [`rma`](crate::Endpoint::rma).
    Send {
        /// Connection of the operation.
        connection: ConnectionId,
        /// Context of the call.
        context: u64,
        /// Status at the end of the operation.
        status: Status,
    },
    /// A message.
    Receive {
        /// Connection of the message.
        connection: ConnectionId,
        /// Bytes of the message.
        message: Vec<u8>,
    },
    /// The peer was silent for the time of
    /// [`set_keepalive_timeout`](crate::Endpoint::set_keepalive_timeout). The connection stays open
    /// and is no longer supervised.
    KeepaliveTimedOut {
        /// The connection.
        connection: ConnectionId,
    },
    /// The adapter does not work any more.
    DeviceFailed,
}
