//! The close protocol, and finalize, which only calls it.
//!
//! Each side closes when all its messages are written: no message is sent after CLOSE, so both
//! directions are drained when both CLOSEs are read. A side does not close while a discarded
//! connection of its own exists, because the peer might take the request on that connection for a
//! new request. The state changes before the packet is written.
//!
//! The only place where the state of a virtual connection changes is [`Connector::vc_event`].

use super::perform::Detail;
use super::virtual_connection::{Action, TABLE, VirtualConnectionEvent, VirtualConnectionState};
use super::{
    CloseAckPolicy, Connector, Failure, HandshakeMessage, LogicalTime, Output, Peer, Phase,
    SeededDefect, TakenRow, Written, socket,
};

/// Returns true if a virtual connection in this state is over and done with.
const fn is_quiet(state: VirtualConnectionState) -> bool {
    matches!(
        state,
        VirtualConnectionState::Inactive
            | VirtualConnectionState::InactiveClosed
            | VirtualConnectionState::Moribund
    )
}

const fn is_closing(state: VirtualConnectionState) -> bool {
    matches!(
        state,
        VirtualConnectionState::LocalClose
            | VirtualConnectionState::RemoteClose
            | VirtualConnectionState::CloseAcked
            | VirtualConnectionState::Closed
    )
}

impl Connector {
    /// Handles an event of a virtual connection as the table says.
    pub(super) fn vc_event(&mut self, peer: Peer, event: VirtualConnectionEvent, cause: Failure) {
        let from = self.vc(peer).state;
        let Some(number) = TABLE.find_row(from, event, ()) else {
            let what = format!("virtual connection to {peer:?}: {event:?} in {from:?}");
            return self.outputs.add_output(Output::Illegal(what));
        };
        let row = &TABLE.rows[number];
        self.outputs.add_step(TakenRow::Virtual(number));
        let sends =
            row.actions.contains(&Action::SendClose) || row.actions.contains(&Action::SendCloseAck);
        let returns = (from, event, self.defect())
            == (
                VirtualConnectionState::Moribund,
                VirtualConnectionEvent::Use,
                SeededDefect::LeavesMoribund,
            );
        if sends && self.defect() == SeededDefect::StateAfterSend {
            self.vc(peer).late = Some(row.to);
        } else {
            self.vc(peer).state = if returns {
                VirtualConnectionState::Active
            } else {
                row.to
            };
        }
        let count = |count: u32, is: fn(VirtualConnectionState) -> bool| {
            (count + u32::from(is(row.to))).saturating_sub(u32::from(is(from)))
        };
        self.busy = count(self.busy, |state| !is_quiet(state));
        self.closing = count(self.closing, is_closing);
        for &action in row.actions {
            self.perform_virtual(peer, action, cause);
        }
    }

    fn perform_virtual(&mut self, peer: Peer, action: Action, cause: Failure) {
        match action {
            Action::ConnectIfNeeded => self.connect_if_needed(peer),
            Action::CountOutstanding => self.outstanding += 1,
            Action::SendClose => self.write_close(peer, false),
            Action::SendCloseAck => self.write_close(peer, true),
            Action::TerminateConnection => {
                if let Some(id) = self.vc(peer).connection {
                    self.connection_event(
                        id,
                        socket::ConnectionEvent::Terminate,
                        &Detail::default(),
                    );
                }
            }
            Action::DropOutstanding => match self.outstanding.checked_sub(1) {
                Some(rest) => self.outstanding = rest,
                None => self.outputs.add_output(Output::Illegal(format!(
                    "{peer:?}: no close is outstanding"
                ))),
            },
            Action::ReleaseGroup => self.release_group(peer),
            Action::FailPosted => self.fail_queue(peer, cause),
            Action::CountFailed => {
                self.failed += 1;
                self.release_group(peer);
            }
        }
    }

    fn write_close(&mut self, peer: Peer, acknowledges: bool) {
        if let Some(id) = self.vc(peer).connection {
            self.write(
                id,
                Written::Close,
                vec![HandshakeMessage::Close { acknowledges }],
            );
        }
    }

    pub(super) fn fail_queue(&mut self, peer: Peer, why: Failure) {
        self.waiting.retain(|waiting| *waiting != peer);
        for packet in std::mem::take(&mut self.vc(peer).queue) {
            self.outputs
                .add_output(Output::Failed { peer, packet, why });
        }
    }

    /// Closes the virtual connection if a close is wanted and all messages are written.
    pub(super) fn try_close(&mut self, peer: Peer) {
        let answers = self.settings.answer == CloseAckPolicy::WhenDrained;
        let careful = self.defect() != SeededDefect::HastyDiscard;
        let vc = self.vc(peer);
        let wanted = match vc.state {
            VirtualConnectionState::Active => vc.close_wanted,
            VirtualConnectionState::RemoteClose => vc.close_wanted || answers,
            _ => false,
        };
        let is_alone = vc.candidates == 1 || !careful;
        let Some(id) = vc.connection else { return };
        if !wanted || !vc.queue.is_empty() || !is_alone || vc.late.is_some() {
            return;
        }
        if !self.connections[id].is_free() {
            return;
        }
        self.vc(peer).close_wanted = false;
        self.vc_event(peer, VirtualConnectionEvent::WeClose, Failure::PeerLost);
    }

    /// Continues after the connection of a virtual connection was closed as both sides wanted.
    pub(super) fn is_closed(&mut self, peer: Peer) {
        let finalizing = self.phase != Phase::Running;
        let vc = self.vc(peer);
        if vc.state != VirtualConnectionState::Inactive {
            return;
        }
        vc.close_wanted = finalizing && !vc.queue.is_empty();
        if vc.is_lost {
            self.fail_queue(peer, Failure::PeerLost);
            self.vc_event(peer, VirtualConnectionEvent::Terminated, Failure::PeerLost);
        } else if !vc.queue.is_empty() {
            self.vc_event(peer, VirtualConnectionEvent::Use, Failure::PeerLost);
        } else if finalizing {
            self.vc_event(peer, VirtualConnectionEvent::Finalize, Failure::PeerLost);
        } else if vc.references == 0 && vc.candidates == 0 {
            self.vcs.remove(&peer);
        }
    }

    /// Starts finalize: messages posted before are written first. A send after that fails.
    ///
    /// Closes all virtual connections, the connections to higher ranks first, so that not all
    /// processes close the same peer first. When no close is outstanding, all sockets are closed,
    /// and [`Output::Finalized`] comes.
    pub fn finalize(&mut self, now: f64) {
        self.now = LogicalTime::from_seconds(now);
        if self.phase != Phase::Running {
            return self
                .outputs
                .add_output(Output::Illegal("finalize is called once".to_owned()));
        }
        self.phase = Phase::Finalizing;
        for group in &mut self.groups.all {
            group.finalizing = true;
        }
        let me = self.groups.own_name();
        let higher = self.vcs.range(me..).map(|(&peer, _)| peer);
        let peers: Vec<Peer> = higher
            .chain(self.vcs.range(..me).map(|(&peer, _)| peer))
            .collect();
        for peer in peers {
            match self.state(peer) {
                VirtualConnectionState::Inactive => {
                    self.vc_event(peer, VirtualConnectionEvent::Finalize, Failure::Finalized);
                }
                VirtualConnectionState::InactiveClosed | VirtualConnectionState::Moribund => {}
                _ => self.want_close(peer),
            }
        }
        self.check_finalized();
    }

    pub(super) fn want_close(&mut self, peer: Peer) {
        let vc = self.vc(peer);
        if matches!(
            vc.state,
            VirtualConnectionState::Active | VirtualConnectionState::RemoteClose
        ) || !vc.queue.is_empty()
        {
            vc.close_wanted = true;
            self.try_close(peer);
        }
    }

    /// Continues with finalize when no close is outstanding.
    pub(super) fn check_finalized(&mut self) {
        if self.phase == Phase::Finalizing && self.busy == 0 {
            debug_assert_eq!(self.outstanding, 0, "what is outstanding is busy");
            self.phase = Phase::ShuttingDown;
            let all = self.connections.all.keys().copied();
            let all: Vec<_> = match self.defect() {
                SeededDefect::NoRegistryClose => all
                    .filter(|id| self.connections.listener == Some(*id))
                    .collect(),
                _ => all.collect(),
            };
            for id in all {
                self.connection_event(id, socket::ConnectionEvent::Terminate, &Detail::default());
            }
        }
        let leaks =
            self.defect() == SeededDefect::NoRegistryClose && self.connections.listener.is_none();
        if self.phase == Phase::ShuttingDown && (self.connections.all.is_empty() || leaks) {
            self.phase = Phase::Finalized;
            self.outputs.add_output(Output::Finalized);
        }
    }
}
