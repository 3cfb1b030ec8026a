//! The limit of descriptors: at the limit, the connection that was idle longest is closed to make
//! room.
//!
//! A connection is idle when no message waits on the connection and no write is in progress. A
//! close takes the close protocol, so the peer that needs the descriptor waits; the other peer
//! first writes its waiting messages. Both may open the connection again.
//!
//! *Not modelled*: a hard limit of the system. Incoming requests are accepted beyond the limit, and
//! idle connections closed then, because a refusal could block two processes that wait for each
//! other.

use settings::AtLimit;

use super::perform::Detail;
use super::virtual_connection::{VirtualConnectionEvent as VcEvent, VirtualConnectionState};
use super::{
    ConnectionId, ConnectionTable, Connector, Failure, LogicalTime, Peer, SeededDefect,
    VirtualConnection, socket,
};

impl VirtualConnection {
    /// Returns true if a close of the connection disturbs no message; `is_hasty` by a defect.
    fn is_idle(&self, connections: &ConnectionTable, is_hasty: bool) -> bool {
        let is_free = |id: ConnectionId| connections[id].is_free();
        self.state == VirtualConnectionState::Active
            && self.queue.is_empty()
            && (self.candidates == 1 || is_hasty)
            && self.late.is_none()
            && self.connection.is_some_and(is_free)
    }
}

impl Connector {
    /// Returns the virtual connections that are idle.
    fn list_idle(&self) -> impl Iterator<Item = (Peer, &VirtualConnection)> {
        let is_hasty = self.defect() == SeededDefect::HastyDiscard;
        let all = self.vcs.iter().map(|(&peer, vc)| (peer, vc));
        all.filter(move |(_, vc)| vc.is_idle(&self.connections, is_hasty))
    }

    /// Opens a connection for waiting messages, unless a connection exists or is expected.
    pub(super) fn connect_if_needed(&mut self, peer: Peer) {
        let vc = self.vc(peer);
        if vc.connection.is_some() || vc.expects_peer || (!vc.open_wanted && vc.queue.is_empty()) {
            return;
        }
        let limit = self.settings.descriptors.unwrap_or(u32::MAX);
        if self.connections.count_sockets() >= limit as usize {
            if !self.waiting.contains(&peer) {
                self.waiting.push_back(peer);
            }
            self.make_room();
            if self.closing == 0 && self.settings.at_limit == AtLimit::Fail {
                self.vc_event(peer, VcEvent::NotOpened, Failure::NoDescriptor);
                self.is_closed(peer);
            }
            return;
        }
        let id = self.connections.add_connection();
        self.open_for(id, peer, socket::ConnectionEvent::Open);
    }

    pub(super) fn open_for(
        &mut self,
        id: ConnectionId,
        peer: Peer,
        event: socket::ConnectionEvent,
    ) {
        self.connections[id].peer = Some(peer);
        let vc = self.vc(peer);
        vc.connection = Some(id);
        vc.candidates += 1;
        self.connection_event(id, event, &Detail::default());
    }

    /// Closes idle connections, the longest idle first, until as many close as there are sockets
    /// too many.
    pub(super) fn make_room(&mut self) {
        let Some(limit) = self.settings.descriptors else {
            return;
        };
        let needed =
            (self.connections.count_sockets() + self.waiting.len()).saturating_sub(limit as usize);
        while (self.closing as usize) < needed {
            let idle = self.list_idle().map(|(peer, vc)| (vc.last_use, peer));
            let Some((_, peer)) = idle.min() else {
                return;
            };
            self.outputs.counts.evicted += 1;
            self.want_close(peer);
        }
    }

    /// Closes all idle connections that have not been used since a date, or only then.
    pub fn close_unreferenced(&mut self, now: f64, since: f64) {
        self.now = LogicalTime::from_seconds(now);
        let before = LogicalTime::from_seconds(since);
        let idle = self.list_idle().filter(|(_, vc)| vc.last_use <= before);
        let idle: Vec<Peer> = idle.map(|(peer, _)| peer).collect();
        self.outputs.counts.idle += idle.len() as u64;
        for peer in idle {
            self.want_close(peer);
        }
    }

    /// The date in seconds at which the connection was used that has been idle for longest; `None`
    /// if none is idle.
    #[must_use]
    pub fn idle_since(&self) -> Option<f64> {
        let idle = self.list_idle().map(|(_, vc)| vc.last_use);
        idle.min().map(LogicalTime::to_seconds)
    }

    /// Gives free descriptors to the peers that waited longest.
    pub(super) fn grant_descriptors(&mut self) {
        let Some(limit) = self.settings.descriptors else {
            return;
        };
        while self.connections.count_sockets() < limit as usize
            && let Some(peer) = self.waiting.pop_front()
        {
            // The peer was not ready: another attempt, if anything waits.
            if self.state(peer) == VirtualConnectionState::Active {
                self.vc_event(peer, VcEvent::Use, Failure::PeerLost);
            }
        }
    }
}
