//! The machine of one connection: a socket from the first packet of its handshake until it is
//! closed.
//!
//! The table is taken from the original design, with a row or a reason for each pair of state and
//! event. The table departs from the original in these points:
//!
//! * The answer to a request gives the reason of a refusal, because the next step of the asking
//!   side depends on the reason: wait for the peer's own connection (tie), or give up (finalizing).
//! * A request to open again that overtakes the last packet of the close protocol on the previous
//!   connection is kept until that packet, which is under way, is read. After a refusal the peer
//!   would have to ask again and again.
//! * A discarded connection whose request has been written stays until the answer comes. If it
//!   closed at once, the peer could read the request after the winner was opened, used and closed
//!   again, accept it, and take the end of the stream for a failure. The exhaustive tests find that
//!   case.
//!
//! *Not modelled*: the socket itself. The driver reports one completion for each connect, write,
//! read and close of the machine.

use super::accept::Verdict;
use crate::protocol::table::{
    Impossible, Transition, TransitionTable, index, never, number_in_order, when,
};

/// Where a connection is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ConnectionState {
    /// There is no socket yet.
    #[default]
    Unconnected,
    /// The socket is the listener.
    Listening,
    /// A connect to a process is under way.
    Connecting,
    /// A connect to a port is under way.
    ConnectAccept,
    /// The request is being written.
    OpenCSend,
    /// The answer is awaited.
    OpenCRecv,
    /// Accepted: the request is awaited.
    OpenLRecvPkt,
    /// Accepted: the name of the peer's process group is awaited.
    OpenLRecvData,
    /// Accepted: the answer is being written.
    OpenLSend,
    /// Packets travel.
    Connected,
    /// The connection is being closed.
    Closing,
    /// The connection is closed.
    Closed,
    /// The connection has lost against the peer's connection and waits for its started operations.
    Discard,
    /// The connection could not be opened.
    Failed,
}

/// Event on a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConnectionEvent {
    /// A send needs a connection.
    Open,
    /// The program connects to a port.
    OpenPort,
    /// The process begins to listen.
    Listen,
    /// The listener has accepted the connection.
    Accept,
    /// The connect has succeeded.
    ConnectDone,
    /// The connect has failed.
    ConnectError,
    /// End of a write.
    WriteDone,
    /// A request was read.
    OpenReq,
    /// A request for a port was read.
    ConnAccept,
    /// The name of the peer's process group was read.
    Group,
    /// The answer was read.
    OpenResp,
    /// Another message was read: data, or a packet of the close protocol.
    Packet,
    /// The peer's connection has won.
    Replaced,
    /// The close protocol is over, or the process ends.
    Terminate,
    /// The stream has ended, or broke.
    Eof,
    /// The socket is closed.
    Closed,
}

/// Further condition of a transition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Guard {
    /// No condition.
    #[default]
    Always,
    /// The process has finalized and closes its sockets.
    ShutDown,
    /// The handshake was or is to be answered so.
    Is(Verdict),
    /// The answer that was written accepts.
    Accepted,
    /// The answer that was written refuses.
    Refused,
}

/// Action of a transition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Look the peer's address up and connect.
    StartConnect,
    /// Write the request.
    SendOpenReq,
    /// Write the request for a port.
    SendConnAccept,
    /// Write the answer.
    SendOpenResp,
    /// Read the next packet.
    PostRead,
    /// Close when everything is written.
    PostClose,
    /// Drop the messages that have not been written.
    DropWrites,
    /// Make a virtual connection for a peer that came through a port, and queue it for the program.
    NewTemporaryVc,
    /// The virtual connection's own attempt has lost.
    DiscardOwn,
    /// Become the connection of the virtual connection.
    Bind,
    /// The virtual connection may be used.
    VcConnected,
    /// Write the waiting messages.
    StartSends,
    /// Complete the message that was written.
    CompleteWrite,
    /// Hand the packet over.
    Deliver,
    /// Leave the virtual connection, which the peer's connection will serve.
    ExpectPeer,
    /// Keep the request until the answer is possible.
    Hold,
    /// Tell the virtual connection that its connection was lost too early.
    Abandon,
    /// Tell the virtual connection that its connection is closed.
    Detach,
    /// The connection is gone.
    Destroy,
}

number_in_order!(ConnectionState, ConnectionEvent);

use Action as A;
use ConnectionEvent as E;
use ConnectionState as S;

const fn row(
    from: ConnectionState,
    event: ConnectionEvent,
    actions: &'static [Action],
    to: ConnectionState,
    requirement: &'static str,
) -> Transition<ConnectionState, ConnectionEvent, Guard, Action> {
    when(from, event, Guard::Always, actions, to, requirement)
}

const fn is(verdict: Verdict) -> Guard {
    Guard::Is(verdict)
}

/// The machine.
pub static TABLE: TransitionTable<ConnectionState, ConnectionEvent, Guard, Action> =
    TransitionTable {
        name: "connection",
        states: STATES,
        events: EVENTS,
        rows: ROWS,
        index: index!(ROWS, STATES, EVENTS),
        impossible: IMPOSSIBLE,
    };

const STATES: &[ConnectionState] = &[
    S::Unconnected,
    S::Listening,
    S::Connecting,
    S::ConnectAccept,
    S::OpenCSend,
    S::OpenCRecv,
    S::OpenLRecvPkt,
    S::OpenLRecvData,
    S::OpenLSend,
    S::Connected,
    S::Closing,
    S::Closed,
    S::Discard,
    S::Failed,
];

const EVENTS: &[ConnectionEvent] = &[
    E::Open,
    E::OpenPort,
    E::Listen,
    E::Accept,
    E::ConnectDone,
    E::ConnectError,
    E::WriteDone,
    E::OpenReq,
    E::ConnAccept,
    E::Group,
    E::OpenResp,
    E::Packet,
    E::Replaced,
    E::Terminate,
    E::Eof,
    E::Closed,
];

/// Actions when a connection that serves or will serve a virtual connection breaks.
const BREAK: &[Action] = &[A::DropWrites, A::Abandon, A::PostClose];

#[rustfmt::skip]
const ROWS: &[Transition<ConnectionState, ConnectionEvent, Guard, Action>] = &[
    // Opening.
    row(S::Unconnected, E::Open, &[A::StartConnect], S::Connecting, "N-5"),
    row(S::Unconnected, E::OpenPort, &[A::StartConnect], S::ConnectAccept, "§3"),
    row(S::Unconnected, E::Listen, &[], S::Listening, "§3"),
    row(S::Unconnected, E::Accept, &[A::PostRead], S::OpenLRecvPkt, "§3"),
    when(S::Unconnected, E::Accept, Guard::ShutDown, &[A::PostClose], S::Closing, "N-16"),
    row(S::Listening, E::Terminate, &[A::PostClose], S::Listening, "N-16"),
    row(S::Listening, E::Closed, &[A::Destroy], S::Closed, "§3"),
    // The side that connects.
    row(S::Connecting, E::ConnectDone, &[A::SendOpenReq], S::OpenCSend, "N-13"),
    row(S::Connecting, E::ConnectError, &[A::Abandon, A::Destroy], S::Failed, "§3"),
    row(S::Connecting, E::Eof, BREAK, S::Closing, "N-4"),
    row(S::Connecting, E::Replaced, &[], S::Discard, "N-9"),
    row(S::ConnectAccept, E::ConnectDone, &[A::SendConnAccept], S::OpenCSend, "§3"),
    row(S::ConnectAccept, E::ConnectError, &[A::Abandon, A::Destroy], S::Failed, "§3"),
    row(S::ConnectAccept, E::Eof, BREAK, S::Closing, "N-4"),
    row(S::OpenCSend, E::WriteDone, &[A::PostRead], S::OpenCRecv, "§3"),
    row(S::OpenCSend, E::Eof, BREAK, S::Closing, "N-4"),
    row(S::OpenCSend, E::Replaced, &[], S::Discard, "N-9"),
    when(S::OpenCRecv, E::OpenResp, is(Verdict::Accept), &[A::VcConnected, A::PostRead, A::StartSends], S::Connected, "§3"),
    when(S::OpenCRecv, E::OpenResp, is(Verdict::Tie), &[A::ExpectPeer, A::PostClose], S::Closing, "N-14, N-19"),
    when(S::OpenCRecv, E::OpenResp, is(Verdict::Finalizing), BREAK, S::Closing, "N-8"),
    when(S::OpenCRecv, E::OpenResp, is(Verdict::Unknown), BREAK, S::Closing, "N-4"),
    row(S::OpenCRecv, E::Eof, BREAK, S::Closing, "N-4"),
    row(S::OpenCRecv, E::Replaced, &[], S::Discard, "N-9"),
    // The side that accepts.
    row(S::OpenLRecvPkt, E::OpenReq, &[A::PostRead], S::OpenLRecvData, "§3"),
    row(S::OpenLRecvPkt, E::ConnAccept, &[A::NewTemporaryVc, A::SendOpenResp], S::OpenLSend, "§3"),
    row(S::OpenLRecvPkt, E::Eof, &[A::PostClose], S::Closing, "N-9"),
    row(S::OpenLRecvPkt, E::Terminate, &[A::PostClose], S::Closing, "N-9"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Accept), &[A::Bind, A::SendOpenResp], S::OpenLSend, "§4"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Replace), &[A::DiscardOwn, A::Bind, A::SendOpenResp], S::OpenLSend, "§4"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Reopen), &[A::Bind, A::SendOpenResp], S::OpenLSend, "N-3"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Tie), &[A::SendOpenResp], S::OpenLSend, "N-3"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Later), &[A::Hold], S::OpenLRecvData, "N-3, N-15"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Finalizing), &[A::SendOpenResp], S::OpenLSend, "N-8"),
    when(S::OpenLRecvData, E::Group, is(Verdict::Unknown), &[A::SendOpenResp], S::OpenLSend, "N-4"),
    row(S::OpenLRecvData, E::Eof, &[A::PostClose], S::Closing, "N-9"),
    row(S::OpenLRecvData, E::Terminate, &[A::PostClose], S::Closing, "N-9"),
    when(S::OpenLSend, E::WriteDone, Guard::Accepted, &[A::VcConnected, A::PostRead, A::StartSends], S::Connected, "§3"),
    when(S::OpenLSend, E::WriteDone, Guard::Refused, &[A::PostClose], S::Closing, "N-12"),
    row(S::OpenLSend, E::Eof, BREAK, S::Closing, "N-4"),
    row(S::OpenLSend, E::Terminate, &[A::PostClose], S::Closing, "N-9"),
    // In use.
    row(S::Connected, E::Packet, &[A::PostRead, A::Deliver], S::Connected, "§3"),
    row(S::Connected, E::WriteDone, &[A::CompleteWrite, A::StartSends], S::Connected, "§3"),
    row(S::Connected, E::Terminate, &[A::PostClose], S::Closing, "§3"),
    row(S::Connected, E::Eof, BREAK, S::Closing, "N-4"),
    // The loser of a head-to-head.
    row(S::Discard, E::ConnectDone, &[A::PostClose], S::Closing, "N-10"),
    row(S::Discard, E::ConnectError, &[A::PostClose], S::Closing, "N-10"),
    row(S::Discard, E::WriteDone, &[A::PostRead], S::Discard, "N-9"),
    row(S::Discard, E::OpenResp, &[A::PostClose], S::Closing, "N-9"),
    row(S::Discard, E::Eof, &[A::DropWrites, A::PostClose], S::Closing, "N-9"),
    row(S::Discard, E::Terminate, &[A::PostClose], S::Closing, "N-9"),
    // Closing: what was begun may still end.
    row(S::Closing, E::WriteDone, &[A::CompleteWrite, A::StartSends], S::Closing, "N-4"),
    row(S::Closing, E::ConnectDone, &[], S::Closing, "N-4"),
    row(S::Closing, E::ConnectError, &[], S::Closing, "N-4"),
    row(S::Closing, E::OpenReq, &[], S::Closing, "N-4"),
    row(S::Closing, E::ConnAccept, &[], S::Closing, "N-4"),
    row(S::Closing, E::Group, &[], S::Closing, "N-4"),
    row(S::Closing, E::OpenResp, &[], S::Closing, "N-4"),
    row(S::Closing, E::Packet, &[], S::Closing, "N-4"),
    row(S::Closing, E::Eof, &[], S::Closing, "N-4"),
    row(S::Closing, E::Terminate, &[], S::Closing, "N-9"),
    row(S::Closing, E::Closed, &[A::Detach, A::Destroy], S::Closed, "§3"),
];

const FRESH: &str = "a connection is opened, accepted or made to listen once";
const NOT_ASKED: &str = "the driver reports only what it was asked for";
const NOT_SPOKEN: &str = "a peer that keeps to the handshake does not write that now";
const NOT_RIVAL: &str = "only an attempt of our own that is pending is replaced";
const IN_USE: &str = "the virtual connection is in use: its process is not closing its sockets";
const GONE: &str = "the connection is gone";

#[rustfmt::skip]
const IMPOSSIBLE: &[Impossible<ConnectionState, ConnectionEvent>] = &[
    never(S::Unconnected, &[E::ConnectDone, E::ConnectError, E::WriteDone, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Eof, E::Closed], NOT_ASKED),
    never(S::Unconnected, &[E::Replaced], NOT_RIVAL),
    never(S::Unconnected, &[E::Terminate], "it is opened as soon as it is made"),
    never(S::Listening, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::Listening, &[E::ConnectDone, E::ConnectError, E::WriteDone, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Eof], NOT_ASKED),
    never(S::Listening, &[E::Replaced], NOT_RIVAL),
    never(S::Connecting, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::Connecting, &[E::WriteDone, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Closed], NOT_ASKED),
    never(S::Connecting, &[E::Terminate], IN_USE),
    never(S::ConnectAccept, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::ConnectAccept, &[E::WriteDone, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Closed], NOT_ASKED),
    never(S::ConnectAccept, &[E::Replaced], NOT_RIVAL),
    never(S::ConnectAccept, &[E::Terminate], IN_USE),
    never(S::OpenCSend, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::OpenCSend, &[E::ConnectDone, E::ConnectError, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Closed], NOT_ASKED),
    never(S::OpenCSend, &[E::Terminate], IN_USE),
    never(S::OpenCRecv, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::OpenCRecv, &[E::ConnectDone, E::ConnectError, E::WriteDone, E::Closed], NOT_ASKED),
    never(S::OpenCRecv, &[E::OpenReq, E::ConnAccept, E::Group, E::Packet], NOT_SPOKEN),
    never(S::OpenCRecv, &[E::Terminate], IN_USE),
    never(S::OpenLRecvPkt, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::OpenLRecvPkt, &[E::ConnectDone, E::ConnectError, E::WriteDone, E::Closed], NOT_ASKED),
    never(S::OpenLRecvPkt, &[E::Group, E::OpenResp, E::Packet], NOT_SPOKEN),
    never(S::OpenLRecvPkt, &[E::Replaced], NOT_RIVAL),
    never(S::OpenLRecvData, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::OpenLRecvData, &[E::ConnectDone, E::ConnectError, E::WriteDone, E::Closed], NOT_ASKED),
    never(S::OpenLRecvData, &[E::OpenReq, E::ConnAccept, E::OpenResp, E::Packet], NOT_SPOKEN),
    never(S::OpenLRecvData, &[E::Replaced], NOT_RIVAL),
    never(S::OpenLSend, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::OpenLSend, &[E::ConnectDone, E::ConnectError, E::OpenReq, E::ConnAccept, E::Group, E::OpenResp, E::Packet, E::Closed], NOT_ASKED),
    never(S::OpenLSend, &[E::Replaced], NOT_RIVAL),
    never(S::Connected, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::Connected, &[E::ConnectDone, E::ConnectError, E::Closed], NOT_ASKED),
    never(S::Connected, &[E::OpenReq, E::ConnAccept, E::Group, E::OpenResp], NOT_SPOKEN),
    never(S::Connected, &[E::Replaced], NOT_RIVAL),
    never(S::Closing, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::Closing, &[E::Replaced], NOT_RIVAL),
    never(S::Closed, EVENTS, GONE),
    never(S::Discard, &[E::Open, E::OpenPort, E::Listen, E::Accept], FRESH),
    never(S::Discard, &[E::Closed], NOT_ASKED),
    never(S::Discard, &[E::OpenReq, E::ConnAccept, E::Group, E::Packet], NOT_SPOKEN),
    never(S::Discard, &[E::Replaced], NOT_RIVAL),
    never(S::Failed, EVENTS, GONE),
];
