//! Duties of a back end for connections besides their sockets: what it says in the handshake, and
//! where packets go.

use std::fmt;

use channel::{Buffer, Event, Failure, Packet, RegisteredMemory, Token};
use mpi::connection::ConnectionId;
use rdma::RegionMemory;

use crate::frame::PAYLOAD_MAX;

/// Duties of a back end for connections.
pub(super) trait DataPath: fmt::Debug {
    /// Returns the bytes that go with the request to connect to a rank.
    fn asks(&mut self, connection: ConnectionId, peer: u32) -> Vec<u8> {
        let _ = (connection, peer);
        Vec::new()
    }

    /// Returns the bytes that go with the answer that accepts the request of a rank, which came
    /// with these bytes.
    fn answers(&mut self, connection: ConnectionId, peer: u32, asked: &[u8]) -> Vec<u8> {
        let _ = (connection, peer, asked);
        Vec::new()
    }

    /// The connection is in use from now on; at the side that asked, the answer came with these
    /// bytes.
    fn opened(&mut self, connection: ConnectionId, peer: u32, answer: &[u8]) {
        let _ = (connection, peer, answer);
    }

    /// Carries a packet, or gives it back to be written to the socket.
    fn carry(&mut self, connection: ConnectionId, packet: Packet) -> Option<Packet> {
        let _ = connection;
        Some(packet)
    }

    /// Returns the largest payload of a packet, in bytes.
    fn max_packet(&self) -> u64 {
        PAYLOAD_MAX
    }

    /// The connection is not in use any more, or will not be.
    fn closed(&mut self, connection: ConnectionId) {
        let _ = connection;
    }

    /// A rank is lost, and everything that was on its way from or to it.
    fn lost(&mut self, peer: u32) {
        let _ = peer;
    }

    /// See [`channel::RemoteMemory::offer`].
    fn offer(&mut self, peer: u32, send: Token, message: &Buffer) {
        let _ = (peer, send, message);
    }

    /// See [`channel::RemoteMemory::expect`].
    fn expect(&mut self, peer: u32, receive: Token, length: u64) {
        let _ = (peer, receive, length);
    }

    /// See [`channel::RemoteMemory::register`].
    fn register(&mut self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        Err(memory)
    }

    /// Posts a last frame if memory of the peer has been accessed since its adapter has delivered
    /// one: when it has arrived, the accesses are over. Returns true if the peer will count it.
    fn closes(&mut self, connection: ConnectionId) -> bool {
        let _ = connection;
        false
    }

    /// See [`channel::RemoteMemory::adapter`].
    #[cfg(feature = "verbs")]
    fn adapter(&self) -> Option<std::rc::Rc<dyn rdma::Verbs>> {
        None
    }

    /// True if packets are carried elsewhere than on the sockets.
    const CARRIES: bool = false;

    /// The next thing that has happened to packets that are carried elsewhere.
    fn happened(&mut self) -> Option<DataPathEvent> {
        None
    }

    /// The data path has an asynchronous event.
    fn receive(&mut self) {}

    /// Asks to be told, at a file descriptor that whoever has made the carrier knows, when
    /// something happens; true if nothing has, so that it is right to sleep.
    fn arm(&mut self) -> bool {
        true
    }
}

/// Returns events of packets that are carried elsewhere than on the sockets.
#[cfg_attr(
    not(feature = "verbs"),
    expect(dead_code, reason = "there is no such carrier in this build")
)]
#[derive(Debug)]
pub(super) enum DataPathEvent {
    /// Something has arrived that the peer has posted.
    Arrived(Option<ConnectionId>, Event),
    /// The last frame of the peer has arrived, of which the message layer hears nothing.
    Closes(ConnectionId),
    /// Something else that the message layer is to hear.
    Event(Event),
    /// Nothing can be carried to a peer any more.
    Failed(u32, Failure),
}

/// Packets travel on the sockets.
#[derive(Debug, Default)]
pub(super) struct SocketDataPath;

impl DataPath for SocketDataPath {}
