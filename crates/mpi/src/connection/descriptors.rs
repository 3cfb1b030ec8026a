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
use super::virtual_connection::{Event as VcEvent, State};
use super::{ConnectionId, Connector, Failure, Peer, SeededDefect, socket};

impl Connector {
    /// Sockets besides the listener.
    fn sockets(&self) -> usize {
        self.connections.len() - usize::from(self.listener.is_some())
    }

    /// Opens a connection for waiting messages, unless a connection exists or is expected.
    pub(super) fn connect_if_needed(&mut self, peer: Peer) {
        let vc = self.vc(peer);
        if vc.connection.is_some() || vc.expects_peer || (!vc.open_wanted && vc.queue.is_empty()) {
            return;
        }
        let limit = self.settings.descriptors.unwrap_or(u32::MAX);
        if self.sockets() >= limit as usize {
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
        let id = self.insert();
        self.open_for(id, peer, socket::Event::Open);
    }

    pub(super) fn open_for(&mut self, id: ConnectionId, peer: Peer, event: socket::Event) {
        self.connection_mut(id).peer = Some(peer);
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
        let needed = (self.sockets() + self.waiting.len()).saturating_sub(limit as usize);
        while (self.closing as usize) < needed {
            let idle = self.vcs.iter().filter(|(_, vc)| self.is_idle(vc));
            let Some((_, peer)) = idle.map(|(&peer, vc)| (vc.last_use, peer)).min() else {
                return;
            };
            self.outputs.counts.evicted += 1;
            self.want_close(peer);
        }
    }

    fn is_idle(&self, vc: &super::VirtualConnection) -> bool {
        let Some(id) = vc.connection else {
            return false;
        };
        let connection = self.connection(id);
        let is_alone = vc.candidates == 1 || self.defect() == SeededDefect::HastyDiscard;
        vc.state == State::Active
            && vc.queue.is_empty()
            && is_alone
            && vc.late.is_none()
            && connection.state == socket::State::Connected
            && connection.writing.is_none()
            && connection.outbox.is_empty()
    }

    /// Closes all connections that have been idle for this many seconds.
    pub fn close_idle(&mut self, now: f64, seconds: f64) {
        self.close_unreferenced(now, now - seconds);
    }

    /// Closes all idle connections that have not been used since a date, or only then.
    pub fn close_unreferenced(&mut self, now: f64, since: f64) {
        self.set_time(now);
        let before = super::LogicalTime::at(since);
        let old = |vc: &super::VirtualConnection| vc.last_use <= before && self.is_idle(vc);
        let idle = self.vcs.iter().filter(|(_, vc)| old(vc));
        let idle: Vec<Peer> = idle.map(|(&peer, _)| peer).collect();
        self.outputs.counts.idle += idle.len() as u64;
        for peer in idle {
            self.want_close(peer);
        }
    }

    /// The date in seconds at which the connection was used that has been idle for longest; `None`
    /// if none is idle.
    #[must_use]
    pub fn idle_since(&self) -> Option<f64> {
        let idle = self.vcs.values().filter(|vc| self.is_idle(vc));
        idle.map(|vc| vc.last_use)
            .min()
            .map(super::LogicalTime::seconds)
    }

    /// Gives free descriptors to the peers that waited longest.
    pub(super) fn grant_descriptors(&mut self) {
        let Some(limit) = self.settings.descriptors else {
            return;
        };
        while self.sockets() < limit as usize
            && let Some(peer) = self.waiting.pop_front()
        {
            self.use_again(peer);
        }
    }
}
