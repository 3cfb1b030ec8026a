//! The inputs of a [`Connector`] from the program, the sockets and the process manager.

use super::perform::Detail;
use super::socket::ConnectionEvent;
use super::virtual_connection::{VirtualConnectionEvent as VcEvent, VirtualConnectionState};
use super::{
    ConnectionId, Connector, Failure, Group, HandshakeMessage, Input, LogicalTime, Output, Peer,
    Phase, Verdict, socket,
};

impl Connector {
    /// Begins to listen; the listener is a connection as well.
    pub fn listen(&mut self) -> ConnectionId {
        let id = self.connections.add_connection();
        self.connections.listener = Some(id);
        self.connection_event(id, ConnectionEvent::Listen, &Detail::default());
        id
    }

    /// Makes another group known, so that sends can name its members. Returns its number.
    ///
    /// # Panics
    ///
    /// With more than 2^32 groups.
    pub fn introduce(&mut self, mut group: Group) -> u32 {
        group.finalizing = self.phase != Phase::Running;
        self.groups.all.push(group);
        u32::try_from(self.groups.all.len() - 1).expect("groups are counted in 32 bits")
    }

    /// Sends a packet: at once, or when there is a connection. [`Output::Completed`] or
    /// [`Output::Failed`] tells the end.
    pub fn send(&mut self, now: f64, peer: Peer, packet: u64) {
        self.now = LogicalTime::from_seconds(now);
        let why = if self.phase != Phase::Running {
            Some(Failure::Finalized)
        } else if peer == self.groups.own_name() {
            Some(Failure::Oneself)
        } else {
            None
        };
        if let Some(why) = why {
            return self
                .outputs
                .add_output(Output::Failed { peer, packet, why });
        }
        let now = self.now;
        let vc = self.vc(peer);
        vc.queue.push_back(packet);
        vc.last_use = now;
        self.vc_event(peer, VcEvent::Use, Failure::PeerLost);
        if let Some(id) = self.vc(peer).connection
            && self.connections[id].state == socket::ConnectionState::Connected
        {
            self.start_sends(id);
        }
    }

    /// Returns the connection on which [`Connector::send`] would write a packet to a peer at once,
    /// before any other packet. A caller that writes the packet there directly avoids the state
    /// machines; the peer counts as used.
    pub fn immediate_connection(&mut self, now: f64, peer: Peer) -> Option<ConnectionId> {
        let vc = self.vcs.get_mut(&peer)?;
        let id = vc.connection?;
        let is_free = self.phase == Phase::Running
            && matches!(
                vc.state,
                VirtualConnectionState::Active | VirtualConnectionState::RemoteClose
            )
            && vc.queue.is_empty()
            && self.connections[id].is_free();
        if is_free {
            vc.last_use = LogicalTime::from_seconds(now);
        }
        is_free.then_some(id)
    }

    /// Opens a connection before the first send, unless a connection exists.
    pub fn open(&mut self, now: f64, peer: Peer) {
        self.now = LogicalTime::from_seconds(now);
        if self.phase != Phase::Running || peer == self.groups.own_name() {
            return;
        }
        let vc = self.vc(peer);
        vc.open_wanted = vc.connection.is_none();
        self.vc_event(peer, VcEvent::Use, Failure::PeerLost);
    }

    /// Connects to a port of another process. Returns the name of that process for sends.
    pub fn connect_port(&mut self, now: f64, address: &str, port: u32) -> Peer {
        self.now = LogicalTime::from_seconds(now);
        let peer = self.next_temporary();
        let id = self.connections.add_connection();
        self.connections[id].port = Some((port, address.to_owned()));
        self.open_for(id, peer, ConnectionEvent::OpenPort);
        if self.state(peer) == VirtualConnectionState::Inactive {
            self.vc_event(peer, VcEvent::Use, Failure::Unreachable);
        }
        peer
    }

    /// Closes: when everything is written, and the peer does as well. A later send opens again.
    pub fn close(&mut self, now: f64, peer: Peer) {
        self.now = LogicalTime::from_seconds(now);
        if self.vcs.contains_key(&peer) {
            self.want_close(peer);
        }
    }

    /// A communicator refers to a peer.
    pub fn retain(&mut self, peer: Peer) {
        let vc = self.vc(peer);
        vc.references += 1;
        if !std::mem::replace(&mut vc.is_counted, true)
            && let Peer::Member { group, .. } = peer
        {
            self.groups.all[group as usize].in_use += 1;
        }
    }

    /// Drops the reference of a communicator to a peer; the last drop closes the connection.
    pub fn release(&mut self, now: f64, peer: Peer) {
        let vc = self.vc(peer);
        vc.references = vc.references.saturating_sub(1);
        if vc.references > 0 {
            return;
        }
        if matches!(
            vc.state,
            VirtualConnectionState::Inactive
                | VirtualConnectionState::InactiveClosed
                | VirtualConnectionState::Moribund
        ) {
            self.release_group(peer);
        } else {
            self.close(now, peer);
        }
    }

    /// Gives a group back if no communicator refers to the virtual connection. With the last
    /// virtual connection the group's address book is destroyed, except the book of the own group.
    pub(super) fn release_group(&mut self, peer: Peer) {
        let Peer::Member { group, .. } = peer else {
            return;
        };
        let vc = self.vc(peer);
        if vc.references > 0 || !std::mem::take(&mut vc.is_counted) {
            return;
        }
        let members = &mut self.groups.all[group as usize];
        members.in_use -= 1;
        if members.in_use == 0 && group != 0 {
            members.destroy_book();
        }
    }

    /// The listener has a new socket.
    pub fn accept(&mut self, now: f64) -> ConnectionId {
        self.now = LogicalTime::from_seconds(now);
        let id = self.connections.add_connection();
        self.connection_event(id, ConnectionEvent::Accept, &Detail::default());
        id
    }

    /// Handles an input of a connection.
    pub fn handle(&mut self, now: f64, id: ConnectionId, input: Input) {
        self.now = LogicalTime::from_seconds(now);
        let Some(connection) = self.connections.all.get_mut(&id) else {
            return self.outputs.add_output(Output::Illegal(format!(
                "connection {id}: {input:?}, but it is gone"
            )));
        };
        let mut detail = Detail::default();
        let event = match input {
            Input::ConnectDone => ConnectionEvent::ConnectDone,
            Input::ConnectError => ConnectionEvent::ConnectError,
            Input::Eof => ConnectionEvent::Eof,
            Input::Closed => ConnectionEvent::Closed,
            Input::WriteDone => {
                detail.written = connection.writing.take();
                ConnectionEvent::WriteDone
            }
            Input::Read(message) => self.read(id, message, &mut detail),
        };
        let state = self.connections[id].state;
        match (event, self.connections[id].asking) {
            (ConnectionEvent::Group, Some(asking))
                if state == socket::ConnectionState::OpenLRecvData =>
            {
                self.answer(id, asking);
            }
            _ => self.connection_event(id, event, &detail),
        }
        self.answer_deferred();
        self.check_finalized();
    }

    /// Returns the event of a message; the content of the message is kept for the transition.
    fn read(
        &mut self,
        id: ConnectionId,
        message: HandshakeMessage,
        detail: &mut Detail,
    ) -> ConnectionEvent {
        let now = self.now;
        let state = self.connections[id].state;
        match message {
            HandshakeMessage::OpenReq { rank, .. } => {
                if state == socket::ConnectionState::OpenLRecvPkt {
                    self.connections[id].asking_rank = rank;
                }
                ConnectionEvent::OpenReq
            }
            HandshakeMessage::ConnAccept { port } => {
                self.connections[id].port = Some((port, String::new()));
                ConnectionEvent::ConnAccept
            }
            HandshakeMessage::Group(name) => {
                if state == socket::ConnectionState::OpenLRecvData {
                    let asking = self
                        .groups
                        .find_member(&name, self.connections[id].asking_rank);
                    let connection = &mut self.connections[id];
                    connection.asking = asking;
                    connection.verdict = Some(Verdict::Unknown);
                }
                ConnectionEvent::Group
            }
            HandshakeMessage::OpenResp { verdict } => {
                if state == socket::ConnectionState::OpenCRecv {
                    self.connections[id].verdict = Some(verdict);
                }
                ConnectionEvent::OpenResp
            }
            HandshakeMessage::Close { .. } | HandshakeMessage::Data(_) => {
                if let Some(peer) = self.connections[id].peer {
                    self.vc(peer).last_use = now;
                }
                detail.message = Some(message);
                ConnectionEvent::Packet
            }
        }
    }

    /// Marks a peer as lost by the process manager. Messages to this peer fail, now and later.
    pub fn peer_failed(&mut self, now: f64, peer: Peer) {
        use socket::ConnectionState as C;
        self.now = LogicalTime::from_seconds(now);
        let vc = self.vc(peer);
        vc.is_lost = true;
        vc.expects_peer = false;
        let connection = vc.connection;
        match connection.map(|id| (id, self.connections[id].state)) {
            // The rest follows when it is closed.
            Some((_, C::Closing)) => {}
            Some((id, _)) => self.connection_event(id, ConnectionEvent::Eof, &Detail::default()),
            None => self.vc_event(peer, VcEvent::Terminated, Failure::PeerLost),
        }
        self.answer_deferred();
        self.check_finalized();
    }
}
