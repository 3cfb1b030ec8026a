//! Acceptance of requests: the one decision on which both sides must agree without exchanging
//! messages about it.
//!
//! Two processes that connect to each other at once have two sockets. The socket that the larger
//! process opened survives, where larger means the rank, or the group's name (byte-wise) if the
//! groups differ. Each side knows both names, so both sides decide alike. Sockets have no order
//! among each other: the loser's request may be read long after the winner is connected.

use super::virtual_connection::VirtualConnectionState;
use super::{ConnectionId, Connector, KnownGroups, Peer, SeededDefect, socket};

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// Yes: there is no other connection.
    Accept,
    /// Yes: the new connection replaces our own attempt.
    Replace,
    /// Yes: the previous connection is being closed.
    Reopen,
    /// No: our own attempt, or the connection that resulted from this attempt, serves both.
    Tie,
    /// Not yet: the peer opens again, but its last packet on the previous connection has not been
    /// read. This packet is under way.
    Later,
    /// No: the process finalizes, or has given the peer up.
    Finalizing,
    /// No: the asking process is unknown, or may not ask at this time.
    Unknown,
}

impl Verdict {
    /// Returns true if the verdict is an acceptance.
    #[must_use]
    pub const fn accepts(self) -> bool {
        matches!(self, Self::Accept | Self::Replace | Self::Reopen)
    }

    /// Returns the verdict sent to the peer: each acceptance is the same.
    #[must_use]
    pub const fn sent_verdict(self) -> Self {
        if self.accepts() { Self::Accept } else { self }
    }
}

impl KnownGroups {
    /// Returns true if the peer's connection wins against ours.
    fn yields_to(&self, peer: Peer, defect: SeededDefect) -> bool {
        let smaller = match peer {
            Peer::Member { group: 0, rank } => self.rank < rank,
            Peer::Member { group, .. } => self.all[0].name() < self.all[group as usize].name(),
            Peer::Temporary(_) => false,
        };
        let is_swapped = match defect {
            SeededDefect::SwappedTie => true,
            SeededDefect::SwappedTieWith(rank) => peer == Peer::Member { group: 0, rank },
            _ => false,
        };
        smaller != is_swapped
    }
}

impl Connector {
    /// The answer to a request.
    pub(super) fn decide(&self, peer: Peer) -> Verdict {
        let Peer::Member { group, .. } = peer else {
            return Verdict::Unknown;
        };
        let number = group as usize;
        let finalizing =
            self.groups.all[number].finalizing && self.defect() != SeededDefect::NoFinalizingFlag;
        let Some(vc) = self.vcs.get(&peer) else {
            return if finalizing {
                Verdict::Finalizing
            } else {
                Verdict::Accept
            };
        };
        match vc.state {
            VirtualConnectionState::Moribund => Verdict::Finalizing,
            VirtualConnectionState::InactiveClosed
                if self.defect() != SeededDefect::NoFinalizingFlag =>
            {
                Verdict::Finalizing
            }
            VirtualConnectionState::Inactive | VirtualConnectionState::Closed
                if finalizing && vc.queue.is_empty() =>
            {
                Verdict::Finalizing
            }
            VirtualConnectionState::Closed => Verdict::Reopen,
            VirtualConnectionState::CloseAcked => Verdict::Later,
            // The peer cannot have closed without our answer, so it is a loser that comes late.
            VirtualConnectionState::LocalClose if !self.groups.yields_to(peer, self.defect()) => {
                Verdict::Tie
            }
            // The peer has closed, but we have not; or it cannot lose.
            VirtualConnectionState::LocalClose | VirtualConnectionState::RemoteClose => {
                Verdict::Unknown
            }
            VirtualConnectionState::Inactive | VirtualConnectionState::InactiveClosed => {
                Verdict::Accept
            }
            VirtualConnectionState::Active => self.break_tie(peer, vc.connection),
        }
    }

    /// Decides on another request while the virtual connection is in use.
    fn break_tie(&self, peer: Peer, own: Option<ConnectionId>) -> Verdict {
        use socket::ConnectionState as C;
        let Some(own) = own else {
            return Verdict::Accept;
        };
        let is_pending = matches!(
            self.connections[own].state,
            C::Connecting | C::OpenCSend | C::OpenCRecv
        );
        match (self.groups.yields_to(peer, self.defect()), is_pending) {
            (true, true) => Verdict::Replace,
            (false, _) => Verdict::Tie,
            // It could only be a reopening, but we have not closed.
            (true, false) => Verdict::Unknown,
        }
    }
}
