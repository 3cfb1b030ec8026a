//! The table of the machine that receives: the action for each packet that arrives on a connection.
//!
//! The packets of one eager message come one after the other; in between, only packets without an
//! order may come: credits, answers and data of other messages.

use super::{TransitionRow, row};

/// Where the machine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReceiveState {
    AwaitPacket,
    MatchRts,
    MatchEager,
    MatchCancel,
    DecidePlace,
    RecvPosted,
    RecvUnexpected,
    AwaitPostedData,
    AwaitUnexpectedData,
}

/// Arrival, or observation of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReceiveEvent {
    Credits,
    Cts,
    Data,
    Rts,
    Ack,
    CancelRequest,
    CancelResponse,
    Eager,
    EagerData,
    Found,
    NotFound,
    Room,
    NoRoom,
    More,
    AllReceived,
    ReceivePosted,
}

/// Action of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReceiveAction {
    Nothing,
    OpenFlow,
    StartData,
    PlaceData,
    AnswerCts,
    FinishSend,
    GiveBack,
    FinishCancelled,
    KeepAnnouncement,
    CopyOut,
    KeepInPackets,
    Deliver,
    Queue,
    Redirect,
}

/// The states in which the machine waits.
pub(crate) const WAITS: [ReceiveState; 3] = [
    ReceiveState::AwaitPacket,
    ReceiveState::AwaitPostedData,
    ReceiveState::AwaitUnexpectedData,
];

#[rustfmt::skip]
pub(crate) const ROWS: &[TransitionRow<ReceiveState, ReceiveEvent, ReceiveAction>] = {
    use ReceiveAction as A;
    use ReceiveEvent as E;
    use ReceiveState as S;
    &[
        row(S::AwaitPacket, E::Credits, A::OpenFlow, S::AwaitPacket, "M-3"),
        row(S::AwaitPacket, E::Cts, A::StartData, S::AwaitPacket, ""),
        row(S::AwaitPacket, E::Data, A::PlaceData, S::AwaitPacket, ""),
        row(S::AwaitPacket, E::Rts, A::Nothing, S::MatchRts, ""),
        row(S::AwaitPacket, E::Eager, A::Nothing, S::MatchEager, ""),
        row(S::AwaitPacket, E::Ack, A::FinishSend, S::AwaitPacket, ""),
        row(S::AwaitPacket, E::CancelRequest, A::Nothing, S::MatchCancel, "M-14"),
        row(S::AwaitPacket, E::CancelResponse, A::FinishCancelled, S::AwaitPacket, "M-14"),
        row(S::MatchCancel, E::Found, A::GiveBack, S::AwaitPacket, "M-14"),
        row(S::MatchCancel, E::NotFound, A::Nothing, S::AwaitPacket, "M-14"),
        row(S::MatchRts, E::Found, A::AnswerCts, S::AwaitPacket, ""),
        row(S::MatchRts, E::NotFound, A::KeepAnnouncement, S::AwaitPacket, ""),
        row(S::MatchEager, E::Found, A::Nothing, S::RecvPosted, ""),
        row(S::MatchEager, E::NotFound, A::Nothing, S::DecidePlace, ""),
        row(S::DecidePlace, E::Room, A::CopyOut, S::RecvUnexpected, "E5"),
        row(S::DecidePlace, E::NoRoom, A::KeepInPackets, S::RecvUnexpected, "E5"),
        row(S::RecvPosted, E::More, A::Nothing, S::AwaitPostedData, ""),
        row(S::RecvPosted, E::AllReceived, A::Deliver, S::AwaitPacket, ""),
        row(S::RecvUnexpected, E::More, A::Nothing, S::AwaitUnexpectedData, ""),
        row(S::RecvUnexpected, E::AllReceived, A::Queue, S::AwaitPacket, ""),
        row(S::AwaitPostedData, E::EagerData, A::Nothing, S::RecvPosted, ""),
        row(S::AwaitPostedData, E::Credits, A::OpenFlow, S::AwaitPostedData, "M-3"),
        row(S::AwaitPostedData, E::Cts, A::StartData, S::AwaitPostedData, "M-8"),
        row(S::AwaitPostedData, E::Data, A::PlaceData, S::AwaitPostedData, ""),
        row(S::AwaitPostedData, E::Ack, A::FinishSend, S::AwaitPostedData, "M-8"),
        row(S::AwaitPostedData, E::CancelResponse, A::FinishCancelled, S::AwaitPostedData, "M-14"),
        row(S::AwaitUnexpectedData, E::EagerData, A::Nothing, S::RecvUnexpected, ""),
        row(S::AwaitUnexpectedData, E::ReceivePosted, A::Redirect, S::AwaitPostedData, ""),
        row(S::AwaitUnexpectedData, E::Credits, A::OpenFlow, S::AwaitUnexpectedData, "M-3"),
        row(S::AwaitUnexpectedData, E::Cts, A::StartData, S::AwaitUnexpectedData, "M-8"),
        row(S::AwaitUnexpectedData, E::Data, A::PlaceData, S::AwaitUnexpectedData, ""),
        row(S::AwaitUnexpectedData, E::Ack, A::FinishSend, S::AwaitUnexpectedData, "M-8"),
        row(S::AwaitUnexpectedData, E::CancelResponse, A::FinishCancelled, S::AwaitUnexpectedData, "M-14"),
    ]
};
