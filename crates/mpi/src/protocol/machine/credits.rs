//! The table of the machine that reports to the peer of a connection how many of its packets are
//! used up.
//!
//! Each packet to the peer carries the pending report. Only a large report leaves in a separate
//! packet, which needs a packet buffer but no credit.

use super::{TransitionRow, row};

/// Where the machine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CreditState {
    Quiet,
    Owing,
    Report,
    AwaitBuf,
}

/// Event, or observation of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CreditEvent {
    Few,
    Many,
    PiggyBacked,
    NoneFree,
    Free,
    BuffersAvailable,
}

/// Action of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CreditAction {
    Nothing,
    PostUpdate,
}

/// The states in which the machine waits.
pub(crate) const WAITS: [CreditState; 3] = [
    CreditState::Quiet,
    CreditState::Owing,
    CreditState::AwaitBuf,
];

#[rustfmt::skip]
pub(crate) const ROWS: &[TransitionRow<CreditState, CreditEvent, CreditAction>] = {
    use CreditAction as A;
    use CreditEvent as E;
    use CreditState as S;
    &[
        row(S::Quiet, E::Few, A::Nothing, S::Owing, "M-3"),
        row(S::Quiet, E::Many, A::Nothing, S::Report, "M-3"),
        row(S::Owing, E::Many, A::Nothing, S::Report, "M-3"),
        row(S::Owing, E::PiggyBacked, A::Nothing, S::Quiet, "M-3"),
        row(S::Report, E::Free, A::PostUpdate, S::Quiet, "M-3"),
        row(S::Report, E::NoneFree, A::Nothing, S::AwaitBuf, "M-8"),
        row(S::AwaitBuf, E::BuffersAvailable, A::PostUpdate, S::Quiet, "M-8"),
        row(S::AwaitBuf, E::PiggyBacked, A::Nothing, S::Quiet, "M-3"),
    ]
};
