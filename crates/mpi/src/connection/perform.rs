//! Actions of the transitions of a connection.
//!
//! The only place where the state of a connection changes is [`Connector::connection_event`].

use super::socket::{Action, ConnectionEvent, ConnectionState, Guard, TABLE};
use super::virtual_connection::VirtualConnectionEvent as VcEvent;
use super::{
    Connection, ConnectionId, Connector, Failure, HandshakeMessage, Output, Peer, Phase,
    SeededDefect, TakenRow, Verdict, Written,
};

/// Data of an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    /// The packet that was read.
    pub(super) message: Option<HandshakeMessage>,
    /// Data of the write that ended.
    pub(super) written: Option<Written>,
}

impl Connection {
    /// Returns the guard of an event in the phase of a process.
    fn find_guard(&self, event: ConnectionEvent, phase: Phase) -> Guard {
        match (self.state, event) {
            (ConnectionState::Unconnected, ConnectionEvent::Accept)
                if matches!(phase, Phase::ShuttingDown | Phase::Finalized) =>
            {
                Guard::ShutDown
            }
            (ConnectionState::OpenLRecvData, ConnectionEvent::Group)
            | (ConnectionState::OpenCRecv, ConnectionEvent::OpenResp) => {
                self.verdict.map_or(Guard::Always, Guard::Is)
            }
            (ConnectionState::OpenLSend, ConnectionEvent::WriteDone) => match self.verdict {
                Some(verdict) if verdict.accepts() => Guard::Accepted,
                _ => Guard::Refused,
            },
            _ => Guard::Always,
        }
    }
}

impl Connector {
    /// Handles an event of a connection as the table says.
    pub(super) fn connection_event(
        &mut self,
        id: ConnectionId,
        event: ConnectionEvent,
        detail: &Detail,
    ) {
        let guard = self.connections[id].find_guard(event, self.phase);
        let from = self.connections[id].state;
        let Some(number) = TABLE.find_row(from, event, guard) else {
            let what = format!("connection {id}: {event:?} [{guard:?}] in {from:?}");
            return self.outputs.add_output(Output::Illegal(what));
        };
        let row = &TABLE.rows[number];
        self.connections[id].state = row.to;
        self.outputs.add_step(TakenRow::Connection(number));
        let cause = match (event, guard) {
            (ConnectionEvent::ConnectError, _) => Failure::Unreachable,
            (ConnectionEvent::OpenResp, Guard::Is(Verdict::Finalizing)) => Failure::PeerFinalized,
            _ => Failure::PeerLost,
        };
        let refused = match (event, guard) {
            (ConnectionEvent::OpenResp, Guard::Is(verdict)) => !verdict.accepts(),
            (ConnectionEvent::ConnectError, _) => true,
            _ => false,
        };
        self.outputs.counts.refused += u64::from(refused && from != ConnectionState::Closing);
        for &action in row.actions {
            let is_kept = (event, action) == (ConnectionEvent::Eof, Action::PostClose);
            if is_kept && self.defect() == SeededDefect::KeepsLostSockets {
                continue;
            }
            self.perform(id, action, detail, cause);
        }
    }

    fn perform(&mut self, id: ConnectionId, action: Action, detail: &Detail, cause: Failure) {
        match action {
            Action::StartConnect => self.start_connect(id),
            Action::SendOpenReq => {
                let name = self.groups.all[0].name().to_owned();
                let group_length = u32::try_from(name.len()).expect("a name below 4 GiB");
                let request = HandshakeMessage::OpenReq {
                    group_length,
                    rank: self.groups.rank,
                };
                self.write(
                    id,
                    Written::Handshake,
                    vec![request, HandshakeMessage::Group(name)],
                );
            }
            Action::SendConnAccept => {
                let port = self.connections[id].port.as_ref().map_or(0, |port| port.0);
                self.write(
                    id,
                    Written::Handshake,
                    vec![HandshakeMessage::ConnAccept { port }],
                );
            }
            Action::SendOpenResp => {
                let verdict = self.connections[id]
                    .verdict
                    .unwrap_or(Verdict::Unknown)
                    .sent_verdict();
                self.write(
                    id,
                    Written::Handshake,
                    vec![HandshakeMessage::OpenResp { verdict }],
                );
            }
            Action::PostRead => self.outputs.add_output(Output::Read { connection: id }),
            Action::PostClose => self.post_close(id),
            Action::DropWrites => self.drop_writes(id),
            Action::NewTemporaryVc => self.new_temporary(id),
            Action::DiscardOwn => self.discard_own(id),
            Action::Bind => self.bind(id),
            Action::VcConnected => self.connected(id),
            Action::StartSends => self.start_sends(id),
            Action::CompleteWrite => self.complete_write(id, detail.written),
            Action::Deliver => self.deliver(id, detail.message.as_ref()),
            Action::ExpectPeer => {
                if let Some((peer, _)) = self.leave(id) {
                    let expects = self.defect() != SeededDefect::NoExpectation;
                    self.vc(peer).expects_peer = expects;
                }
            }
            Action::Hold => self.held.push(id),
            Action::Abandon => self.abandon(id, cause),
            Action::Detach => self.detach(id),
            Action::Destroy => self.destroy(id),
        }
    }

    /// Answers the requests that were kept, if that is possible now.
    pub(super) fn answer_deferred(&mut self) {
        for id in std::mem::take(&mut self.held) {
            if let Some(peer) = self.connections[id].asking {
                self.answer(id, peer);
            }
        }
    }

    /// Decides about a request.
    pub(super) fn answer(&mut self, id: ConnectionId, asking: Peer) {
        let verdict = self.decide(asking);
        let connection = &mut self.connections[id];
        connection.asking = Some(asking);
        connection.verdict = Some(verdict);
        connection.peer = Some(asking).filter(|_| verdict.accepts());
        self.connection_event(id, ConnectionEvent::Group, &Detail::default());
    }

    fn start_connect(&mut self, id: ConnectionId) {
        let connection = &self.connections[id];
        let peer = connection.peer.expect("a connection is opened for a peer");
        let card = match (peer, &connection.port) {
            (_, Some((_, address))) => Some(address.clone()),
            (Peer::Member { group, rank }, None) => {
                let card = self.groups.all[group as usize].card(rank);
                card.map(std::borrow::Cow::into_owned)
            }
            (Peer::Temporary(_), None) => None,
        };
        if let Some(card) = card {
            return self.outputs.add_output(Output::Connect {
                connection: id,
                peer,
                card,
            });
        }
        // The machine has a way for that: a connect that fails.
        self.fail_queue(peer, Failure::NoAddress);
        self.connection_event(id, ConnectionEvent::ConnectError, &Detail::default());
    }

    /// Writes now, or after the write in progress.
    pub(super) fn write(
        &mut self,
        id: ConnectionId,
        what: Written,
        messages: Vec<HandshakeMessage>,
    ) {
        let connection = &mut self.connections[id];
        if connection.writing.is_some() {
            return connection.outbox.extend(messages);
        }
        connection.writing = Some(what);
        self.outputs.add_output(Output::Write {
            connection: id,
            messages,
        });
    }

    fn post_close(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id];
        connection.closes_when_written = true;
        connection.forget_handshake();
        self.start_sends(id);
    }

    /// Drops writes in progress; their ends are not reported or have no effect any more.
    fn drop_writes(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id];
        connection.outbox.clear();
        let (writing, peer) = (connection.writing.take(), connection.peer);
        if let (Some(Written::Data(packet)), Some(peer)) = (writing, peer) {
            self.vc(peer).queue.push_front(packet);
        }
    }

    /// Writes the next message on a connection, or closes the connection if no message is left.
    pub(super) fn start_sends(&mut self, id: ConnectionId) {
        use super::virtual_connection::VirtualConnectionState as V;
        let connection = &mut self.connections[id];
        if connection.writing.is_some() {
            return;
        }
        if let Some(message) = connection.outbox.pop_front() {
            return self.write(id, Written::Close, vec![message]);
        }
        if connection.closes_when_written {
            connection.closes_when_written = false;
            return self.outputs.add_output(Output::Close { connection: id });
        }
        let (ConnectionState::Connected, Some(peer)) = (connection.state, connection.peer) else {
            return;
        };
        let vc = self.vc(peer);
        if matches!(vc.state, V::Active | V::RemoteClose)
            && let Some(packet) = vc.queue.pop_front()
        {
            return self.write(
                id,
                Written::Data(packet),
                vec![HandshakeMessage::Data(packet)],
            );
        }
        self.try_close(peer);
        self.make_room();
    }

    fn complete_write(&mut self, id: ConnectionId, written: Option<Written>) {
        let Some(peer) = self.connections[id].peer else {
            return;
        };
        match written {
            Some(Written::Data(packet)) => {
                self.outputs.add_output(Output::Completed { peer, packet });
            }
            Some(Written::Close) => {
                let vc = self.vc(peer);
                if let Some(late) = vc.late.take() {
                    vc.state = late;
                }
            }
            Some(Written::Handshake) | None => {}
        }
    }

    fn deliver(&mut self, id: ConnectionId, message: Option<&HandshakeMessage>) {
        let Some(peer) = self.connections[id].peer else {
            return;
        };
        match *message.expect("a packet was read") {
            HandshakeMessage::Data(packet) => {
                self.outputs.add_output(Output::Deliver { peer, packet });
            }
            HandshakeMessage::Close {
                acknowledges: false,
            } => {
                self.vc_event(peer, VcEvent::CloseReceived, Failure::PeerLost);
                self.try_close(peer);
            }
            HandshakeMessage::Close { acknowledges: true } => {
                self.vc_event(peer, VcEvent::CloseAckReceived, Failure::PeerLost);
            }
            ref other => self
                .outputs
                .add_output(Output::Illegal(format!("connection {id}: read {other:?}"))),
        }
    }

    fn new_temporary(&mut self, id: ConnectionId) {
        let peer = self.next_temporary();
        let port = self.connections[id].port.as_ref().map_or(0, |port| port.0);
        let connection = &mut self.connections[id];
        connection.peer = Some(peer);
        connection.verdict = Some(Verdict::Accept);
        self.bind(id);
        self.outputs.add_output(Output::PortAccepted { port, peer });
    }

    /// A name for a process behind a port.
    pub(super) fn next_temporary(&mut self) -> Peer {
        self.temporaries += 1;
        Peer::Temporary(self.temporaries)
    }

    fn discard_own(&mut self, id: ConnectionId) {
        let peer = self.connections[id]
            .peer
            .expect("a request was accepted from a peer");
        let own = self.vc(peer).connection.take();
        let is_forgotten = match self.defect() {
            SeededDefect::NoDiscard => true,
            SeededDefect::NoDiscardTo(rank) => peer == Peer::Member { group: 0, rank },
            _ => false,
        };
        if is_forgotten {
            return;
        }
        if let Some(own) = own {
            self.outputs.counts.discarded += 1;
            self.connection_event(own, ConnectionEvent::Replaced, &Detail::default());
        }
    }

    /// Makes the connection serve its virtual connection from now on.
    fn bind(&mut self, id: ConnectionId) {
        let peer = self.connections[id]
            .peer
            .expect("a request was accepted from a peer");
        if let Some(old) = self.vc(peer).connection {
            // It is closing. That is the end of it for the virtual connection.
            self.leave(old);
            self.vc_event(peer, VcEvent::Terminated, Failure::PeerLost);
        }
        let vc = self.vc(peer);
        vc.connection = Some(id);
        vc.candidates += 1;
        vc.expects_peer = false;
        self.waiting.retain(|waiting| *waiting != peer);
        self.vc_event(peer, VcEvent::Use, Failure::PeerLost);
        self.make_room();
    }

    fn connected(&mut self, id: ConnectionId) {
        // The handshake is over, and what it has left is not needed any more.
        let connection = &mut self.connections[id];
        connection.forget_handshake();
        if let Some(peer) = connection.peer {
            let now = self.now;
            let vc = self.vc(peer);
            vc.last_use = now;
            vc.open_wanted = false;
            self.outputs.counts.opened += 1;
            self.outputs.add_output(Output::Opened {
                connection: id,
                peer,
            });
        }
    }

    /// Takes a connection from its virtual connection. Returns the peer, and true if the
    /// connection was in use.
    fn leave(&mut self, id: ConnectionId) -> Option<(Peer, bool)> {
        let peer = self.connections[id].peer.take()?;
        let vc = self.vc(peer);
        vc.candidates -= 1;
        let was_used = vc.connection == Some(id);
        if was_used {
            vc.connection = None;
        }
        Some((peer, was_used))
    }

    fn abandon(&mut self, id: ConnectionId, cause: Failure) {
        if let Some((peer, true)) = self.leave(id) {
            self.outputs.counts.broken += u64::from(cause == Failure::PeerLost);
            self.vc_event(peer, VcEvent::Terminated, cause);
        }
    }

    fn detach(&mut self, id: ConnectionId) {
        match self.leave(id) {
            Some((peer, true)) => {
                self.outputs.counts.closed += 1;
                self.vc_event(peer, VcEvent::Terminated, Failure::PeerLost);
                self.is_closed(peer);
            }
            // A discarded one: what waited for it may continue.
            Some((peer, false)) => self.try_close(peer),
            None => {}
        }
    }

    fn destroy(&mut self, id: ConnectionId) {
        self.connections.remove_connection(id);
        self.grant_descriptors();
        // What was not idle because of this connection may be now.
        self.make_room();
    }
}
