//! Stages of a connection, and the table of their changes: every change of a stage is a row of
//! [`TRANSITIONS`], which `simrun graph endpoint` prints.

/// Stage of a connection at one endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::VariantArray)]
pub enum ConnectionStage {
    /// There is no connection, or no more.
    Closed,
    /// The request was sent; the answer is awaited.
    Connecting,
    /// A request was reported; the program has not decided.
    Requested,
    /// Accepted; the acknowledgement is awaited.
    Accepting,
    /// In use.
    Open,
    /// An operation has failed: no other can begin.
    Broken,
}

/// Cause of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StageEvent {
    /// The program calls `connect`.
    Connect,
    /// A request arrives.
    Request,
    /// The program calls `accept`.
    Accept,
    /// The program calls `reject`.
    Reject,
    /// The answer that accepts arrives.
    Accepted,
    /// The answer that rejects arrives.
    Rejected,
    /// The acknowledgement arrives, or a message, which says the same.
    Established,
    /// No answer in time, or the adapter refuses to connect.
    GivenUp,
    /// An operation fails.
    OperationFailed,
    /// The program calls `disconnect`.
    Disconnect,
    /// The program destroys the endpoint.
    Destroy,
}

/// A change of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageTransition {
    /// The stage before.
    pub from: ConnectionStage,
    /// The cause.
    pub event: StageEvent,
    /// The stage afterwards.
    pub to: ConnectionStage,
    /// Datagrams and events that the change produces.
    pub output: &'static str,
}

const fn row(
    from: ConnectionStage,
    event: StageEvent,
    to: ConnectionStage,
    output: &'static str,
) -> StageTransition {
    StageTransition {
        from,
        event,
        to,
        output,
    }
}

/// All changes. A pair of stage and event that is not in the table changes no stage.
pub const TRANSITIONS: [StageTransition; 17] = {
    use ConnectionStage::{Accepting, Broken, Closed, Connecting, Open, Requested};
    use StageEvent::{Accept, Accepted, Connect, Destroy, Disconnect, Established, GivenUp};
    use StageEvent::{OperationFailed, Reject, Rejected, Request};
    [
        row(Closed, Connect, Connecting, "REQUEST"),
        row(Closed, Request, Requested, "event CONNECT_REQUEST"),
        row(Connecting, Accepted, Open, "ESTABLISHED, event CONNECT"),
        row(Connecting, Rejected, Closed, "event CONNECT: refused"),
        row(Connecting, GivenUp, Closed, "event CONNECT: timed out"),
        row(Connecting, Destroy, Closed, ""),
        row(Requested, Accept, Accepting, "ACCEPT"),
        row(Requested, Reject, Closed, "REJECT"),
        row(Requested, Destroy, Closed, ""),
        row(Accepting, Established, Open, "event ACCEPT"),
        row(Accepting, GivenUp, Closed, "event ACCEPT: timed out"),
        row(Accepting, Destroy, Closed, ""),
        row(Open, OperationFailed, Broken, "event SEND: failed"),
        row(Open, Disconnect, Closed, ""),
        row(Broken, Disconnect, Closed, ""),
        row(Broken, Destroy, Closed, ""),
        row(Open, Destroy, Closed, ""),
    ]
};

impl ConnectionStage {
    /// All stages.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns true if the handshake repeats datagrams.
    pub(crate) const fn is_half_open(self) -> bool {
        matches!(self, Self::Connecting | Self::Accepting)
    }

    /// Returns the stage after an event; `None` if the event is ignored in this stage.
    pub fn after(self, event: StageEvent) -> Option<Self> {
        let found = TRANSITIONS
            .iter()
            .find(|one| one.from == self && one.event == event);
        found.map(|one| one.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_reached_and_left() {
        for &stage in ConnectionStage::ALL {
            assert!(TRANSITIONS.iter().any(|one| one.to == stage), "{stage:?}");
            assert!(TRANSITIONS.iter().any(|one| one.from == stage), "{stage:?}");
        }
        let mut pairs: Vec<_> = TRANSITIONS
            .iter()
            .map(|one| (one.from, one.event))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), TRANSITIONS.len(), "a pair has two rows");
    }
}
