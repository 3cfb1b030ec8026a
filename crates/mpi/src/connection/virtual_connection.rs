//! The machine of a virtual connection: one process's view of one peer, across all sockets that
//! ever serve the virtual connection.
//!
//! The table is taken from the original design, with a row or a reason for each pair of state and
//! event. `Use` has rows in nearly all states, because a send may come in any state: while the
//! connection closes the send waits and then opens a new connection; to a lost peer the send fails.
//!
//! The part that tells if the peer is reachable right now ([`Channel`]) is derived from the
//! connection and not stored, so the two cannot disagree (N-1).

use super::socket;
use crate::protocol::table::{
    Impossible, Transition, TransitionTable, index, never, number_in_order, when,
};

/// Where a virtual connection is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum VirtualConnectionState {
    /// Never used, or closed; may be used.
    #[default]
    Inactive,
    /// In use.
    Active,
    /// We have closed, the peer has not.
    LocalClose,
    /// The peer has closed, we have not.
    RemoteClose,
    /// Both have closed, and the peer knows that we know.
    CloseAcked,
    /// The close protocol is over; the socket is being closed.
    Closed,
    /// Not used any more, because the process finalizes.
    InactiveClosed,
    /// The peer is lost.
    Moribund,
}

/// Reachability of the peer, derived from the connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Channel {
    /// There is no connection.
    Unconnected,
    /// The handshake is under way.
    Connecting,
    /// Packets travel.
    Connected,
    /// The peer is lost.
    Failed,
}

/// Returns the reachability for a state of the virtual connection and a state of its connection.
#[must_use]
pub const fn channel(
    state: VirtualConnectionState,
    connection: Option<socket::ConnectionState>,
) -> Channel {
    use socket::ConnectionState as C;
    match (state, connection) {
        (VirtualConnectionState::Moribund, _) | (_, Some(C::Failed)) => Channel::Failed,
        (_, Some(C::Connected)) => Channel::Connected,
        (
            _,
            Some(C::Connecting | C::ConnectAccept | C::OpenCSend | C::OpenCRecv | C::OpenLSend),
        ) => Channel::Connecting,
        _ => Channel::Unconnected,
    }
}

/// Event on a virtual connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VirtualConnectionEvent {
    /// The program sends, or the peer's request was accepted.
    Use,
    /// We close: the virtual connection is not needed any more and all messages are written.
    WeClose,
    /// The peer has closed.
    CloseReceived,
    /// The peer has closed and knows that we have.
    CloseAckReceived,
    /// The connection is gone.
    Terminated,
    /// There is no descriptor for a connection, and no send may wait for one.
    NotOpened,
    /// The process finalizes.
    Finalize,
}

/// Action of a transition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Connect unless there is a connection, or the peer's is expected.
    ConnectIfNeeded,
    /// One more close to wait for.
    CountOutstanding,
    /// Write CLOSE(0).
    SendClose,
    /// Write CLOSE(1).
    SendCloseAck,
    /// Close the connection.
    TerminateConnection,
    /// One close less to wait for.
    DropOutstanding,
    /// Give the process group back if no communicator refers to the virtual connection.
    ReleaseGroup,
    /// Complete the waiting messages with an error.
    FailPosted,
    /// One more lost peer.
    CountFailed,
}

number_in_order!(VirtualConnectionState, VirtualConnectionEvent);

use Action as A;
use VirtualConnectionEvent as E;
use VirtualConnectionState as S;

const fn row(
    from: VirtualConnectionState,
    event: VirtualConnectionEvent,
    actions: &'static [Action],
    to: VirtualConnectionState,
    requirement: &'static str,
) -> Transition<VirtualConnectionState, VirtualConnectionEvent, (), Action> {
    when(from, event, (), actions, to, requirement)
}

/// The machine.
pub static TABLE: TransitionTable<VirtualConnectionState, VirtualConnectionEvent, (), Action> =
    TransitionTable {
        name: "close",
        states: STATES,
        events: EVENTS,
        rows: ROWS,
        index: index!(ROWS, STATES, EVENTS),
        impossible: IMPOSSIBLE,
    };

const STATES: &[VirtualConnectionState] = &[
    S::Inactive,
    S::Active,
    S::LocalClose,
    S::RemoteClose,
    S::CloseAcked,
    S::Closed,
    S::InactiveClosed,
    S::Moribund,
];

const EVENTS: &[VirtualConnectionEvent] = &[
    E::Use,
    E::WeClose,
    E::CloseReceived,
    E::CloseAckReceived,
    E::Terminated,
    E::NotOpened,
    E::Finalize,
];

#[rustfmt::skip]
const ROWS: &[Transition<VirtualConnectionState, VirtualConnectionEvent, (), Action>] = &[
    row(S::Inactive, E::Use, &[A::ConnectIfNeeded], S::Active, "§5"),
    row(S::Active, E::Use, &[A::ConnectIfNeeded], S::Active, "N-19"),
    row(S::Active, E::NotOpened, &[A::FailPosted], S::Inactive, "N-17"),
    row(S::Active, E::WeClose, &[A::CountOutstanding, A::SendClose], S::LocalClose, "§5"),
    row(S::Active, E::CloseReceived, &[], S::RemoteClose, "§5"),
    row(S::RemoteClose, E::Use, &[], S::RemoteClose, "§5"),
    row(S::RemoteClose, E::WeClose, &[A::CountOutstanding, A::SendCloseAck], S::CloseAcked, "§5"),
    row(S::LocalClose, E::Use, &[], S::LocalClose, "N-15"),
    row(S::LocalClose, E::CloseReceived, &[A::SendCloseAck], S::CloseAcked, "§5"),
    row(S::LocalClose, E::CloseAckReceived, &[A::SendCloseAck, A::TerminateConnection], S::Closed, "§5"),
    row(S::CloseAcked, E::Use, &[], S::CloseAcked, "N-15"),
    row(S::CloseAcked, E::CloseAckReceived, &[A::TerminateConnection], S::Closed, "§5"),
    row(S::Closed, E::Use, &[], S::Closed, "N-15"),
    row(S::Closed, E::Terminated, &[A::DropOutstanding, A::ReleaseGroup], S::Inactive, "§5"),
    row(S::Inactive, E::Finalize, &[], S::InactiveClosed, "N-8"),
    row(S::InactiveClosed, E::Terminated, &[], S::InactiveClosed, "N-4"),
    row(S::Active, E::Terminated, &[A::FailPosted, A::CountFailed], S::Moribund, "§5"),
    row(S::RemoteClose, E::Terminated, &[A::FailPosted, A::CountFailed], S::Moribund, "§5"),
    row(S::LocalClose, E::Terminated, &[A::FailPosted, A::CountFailed, A::DropOutstanding], S::Moribund, "§5"),
    row(S::CloseAcked, E::Terminated, &[A::FailPosted, A::CountFailed, A::DropOutstanding], S::Moribund, "§5"),
    row(S::Inactive, E::Terminated, &[A::CountFailed], S::Moribund, "§5"),
    row(S::Moribund, E::Use, &[A::FailPosted], S::Moribund, "N-18"),
    row(S::Moribund, E::Terminated, &[], S::Moribund, "N-18"),
];

const NO_CONNECTION: &str = "there is no connection on which it could come";
const NOT_OPEN: &str = "there is nothing to close";
const ONCE: &str = "each side closes once";
const NO_NEED: &str = "only what is to be opened needs a descriptor";
const FIRST_CLOSE: &str = "the process closes what is in use, and finalizes the rest";

#[rustfmt::skip]
const IMPOSSIBLE: &[Impossible<VirtualConnectionState, VirtualConnectionEvent>] = &[
    never(S::Inactive, &[E::WeClose], NOT_OPEN),
    never(S::Inactive, &[E::CloseReceived, E::CloseAckReceived], NO_CONNECTION),
    never(S::Inactive, &[E::NotOpened], NO_NEED),
    never(S::Active, &[E::CloseAckReceived], "we have not closed"),
    never(S::Active, &[E::Finalize], FIRST_CLOSE),
    never(S::LocalClose, &[E::WeClose], ONCE),
    never(S::LocalClose, &[E::Finalize], FIRST_CLOSE),
    never(S::LocalClose, &[E::NotOpened], NO_NEED),
    never(S::RemoteClose, &[E::CloseReceived], ONCE),
    never(S::RemoteClose, &[E::CloseAckReceived], "we have not closed"),
    never(S::RemoteClose, &[E::Finalize], FIRST_CLOSE),
    never(S::RemoteClose, &[E::NotOpened], NO_NEED),
    never(S::CloseAcked, &[E::WeClose, E::CloseReceived], ONCE),
    never(S::CloseAcked, &[E::Finalize], FIRST_CLOSE),
    never(S::CloseAcked, &[E::NotOpened], NO_NEED),
    never(S::Closed, &[E::WeClose, E::CloseReceived, E::CloseAckReceived], ONCE),
    never(S::Closed, &[E::Finalize], FIRST_CLOSE),
    never(S::Closed, &[E::NotOpened], NO_NEED),
    never(S::InactiveClosed, &[E::Use], "a send after finalize fails before, and requests are refused"),
    never(S::InactiveClosed, &[E::WeClose], NOT_OPEN),
    never(S::InactiveClosed, &[E::CloseReceived, E::CloseAckReceived], NO_CONNECTION),
    never(S::InactiveClosed, &[E::Finalize], ONCE),
    never(S::InactiveClosed, &[E::NotOpened], NO_NEED),
    never(S::Moribund, &[E::WeClose], NOT_OPEN),
    never(S::Moribund, &[E::CloseReceived, E::CloseAckReceived], NO_CONNECTION),
    never(S::Moribund, &[E::Finalize], "a lost peer stays lost"),
    never(S::Moribund, &[E::NotOpened], NO_NEED),
];
