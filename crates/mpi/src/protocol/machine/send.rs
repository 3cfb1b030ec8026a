//! The table of the machine that sends: how one message or control packet after the other leaves on
//! a connection.
//!
//! Data to send are a *CAR* (communication agent request): an envelope and data. Seven states wait:
//! for a CAR, for packet buffers and credits (four states), and for the end of packing (two). The
//! other states ask a question; its answer is the event. The type of a message is decided once,
//! before its first packet. Every CAR needs a packet buffer and a credit for its first packet.
//! Further packets need both if they are packed, and only credits if they are sent directly from
//! the program's memory.

use super::{TransitionRow, row};

/// Where the machine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendState {
    AwaitMessage,
    DecideType,
    BufCtrl,
    AwaitBufCtrl,
    FlowCtrl,
    AwaitFlowCtrl,
    Pack,
    AwaitPacked,
    PostCtrl,
    BufData,
    AwaitBufData,
    FlowData,
    AwaitFlowData,
    PackData,
    AwaitPackedData,
    PostData,
    Complete,
    CheckReady,
}

/// Event, or observation of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendEvent {
    MessageAvailable,
    TooManyEager,
    TypeKept,
    NoneFree,
    Free,
    BuffersAvailable,
    Restricted,
    Ok,
    FlowEnabled,
    Withdrawn,
    NoCost,
    Costs,
    Packed,
    NothingMore,
    MoreDirect,
    MoreBuffered,
    Control,
    AllDirect,
    SomeDirect,
    AllPacked,
    QueueNotEmpty,
    QueueEmpty,
}

/// Action of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendAction {
    Nothing,
    TakeMessage,
    ConvertToRts,
    TakeBuffer,
    TakeCredit,
    DropMessage,
    StartPacking,
    PostControl,
    TakeBuffers,
    TakeCredits,
    PostBatch,
    DropActivity,
    FinishMessage,
}

/// The states in which the machine waits, in the order in which their times are reported.
pub(crate) const WAITS: [SendState; 7] = [
    SendState::AwaitMessage,
    SendState::AwaitBufCtrl,
    SendState::AwaitFlowCtrl,
    SendState::AwaitBufData,
    SendState::AwaitFlowData,
    SendState::AwaitPacked,
    SendState::AwaitPackedData,
];

#[rustfmt::skip]
pub(crate) const ROWS: &[TransitionRow<SendState, SendEvent, SendAction>] = {
    use SendAction as A;
    use SendEvent as E;
    use SendState as S;
    &[
        row(S::AwaitMessage, E::MessageAvailable, A::TakeMessage, S::DecideType, ""),
        row(S::DecideType, E::TooManyEager, A::ConvertToRts, S::BufCtrl, "M-2"),
        row(S::DecideType, E::TypeKept, A::Nothing, S::BufCtrl, ""),
        row(S::BufCtrl, E::NoneFree, A::Nothing, S::AwaitBufCtrl, ""),
        row(S::BufCtrl, E::Free, A::TakeBuffer, S::FlowCtrl, "M-8"),
        row(S::AwaitBufCtrl, E::BuffersAvailable, A::TakeBuffer, S::FlowCtrl, ""),
        row(S::AwaitBufCtrl, E::Withdrawn, A::DropMessage, S::CheckReady, "M-14"),
        row(S::FlowCtrl, E::Restricted, A::Nothing, S::AwaitFlowCtrl, "M-3"),
        row(S::FlowCtrl, E::Ok, A::TakeCredit, S::Pack, "M-3"),
        row(S::AwaitFlowCtrl, E::FlowEnabled, A::TakeCredit, S::Pack, "M-3"),
        row(S::AwaitFlowCtrl, E::Withdrawn, A::DropMessage, S::CheckReady, "M-14"),
        row(S::Pack, E::NoCost, A::Nothing, S::PostCtrl, "M-4"),
        row(S::Pack, E::Costs, A::StartPacking, S::AwaitPacked, "M-4"),
        row(S::AwaitPacked, E::Packed, A::Nothing, S::PostCtrl, "M-4"),
        row(S::PostCtrl, E::NothingMore, A::PostControl, S::Complete, ""),
        row(S::PostCtrl, E::MoreDirect, A::PostControl, S::FlowData, ""),
        row(S::PostCtrl, E::MoreBuffered, A::PostControl, S::BufData, ""),
        row(S::BufData, E::NoneFree, A::Nothing, S::AwaitBufData, ""),
        row(S::BufData, E::Free, A::TakeBuffers, S::FlowData, "M-5"),
        row(S::AwaitBufData, E::BuffersAvailable, A::TakeBuffers, S::FlowData, "M-5"),
        row(S::FlowData, E::Restricted, A::Nothing, S::AwaitFlowData, "M-3"),
        row(S::FlowData, E::Ok, A::TakeCredits, S::PackData, "M-5"),
        row(S::AwaitFlowData, E::FlowEnabled, A::TakeCredits, S::PackData, "M-5"),
        row(S::PackData, E::NoCost, A::Nothing, S::PostData, "M-4"),
        row(S::PackData, E::Costs, A::StartPacking, S::AwaitPackedData, "M-4"),
        row(S::AwaitPackedData, E::Packed, A::Nothing, S::PostData, "M-4"),
        row(S::PostData, E::MoreDirect, A::PostBatch, S::FlowData, "M-5"),
        row(S::PostData, E::MoreBuffered, A::PostBatch, S::BufData, "M-5"),
        row(S::PostData, E::NothingMore, A::PostBatch, S::Complete, "M-5"),
        row(S::Complete, E::Control, A::Nothing, S::CheckReady, ""),
        row(S::Complete, E::AllDirect, A::Nothing, S::CheckReady, ""),
        row(S::Complete, E::SomeDirect, A::DropActivity, S::CheckReady, "M-13"),
        row(S::Complete, E::AllPacked, A::FinishMessage, S::CheckReady, "M-13"),
        row(S::CheckReady, E::QueueNotEmpty, A::TakeMessage, S::DecideType, ""),
        row(S::CheckReady, E::QueueEmpty, A::Nothing, S::AwaitMessage, ""),
    ]
};
