//! Duties of a back end for connections besides their sockets: its bytes in the handshake, and the
//! transport of packets.

use std::fmt;

use channel::{ChannelEvent, Failure, Packet};
use mpi::connection::ConnectionId;
use mpi_verbs::Device;

/// Duties of a back end for connections.
pub(super) trait DataPath: fmt::Debug {
    /// Returns the bytes that go with the request to connect to a rank, or with the answer that
    /// accepts the request of a rank, which came with the bytes `asked`.
    fn handshake_bytes(
        &mut self,
        connection: ConnectionId,
        peer: u32,
        asked: Option<&[u8]>,
    ) -> Vec<u8> {
        let _ = (connection, peer, asked);
        Vec::new()
    }

    /// The connection is in use from now on; at the side that asked, the answer came with these
    /// bytes.
    fn opened(&mut self, connection: ConnectionId, peer: u32, answer: &[u8]) {
        let _ = (connection, peer, answer);
    }

    /// Carries a packet, or returns the packet so that it is written to the socket.
    fn carry(&mut self, connection: ConnectionId, packet: Packet) -> Option<Packet> {
        let _ = connection;
        Some(packet)
    }

    /// Returns the device of packets that are carried elsewhere than on the sockets.
    fn device(&mut self) -> Option<&mut Device> {
        None
    }

    /// The connection is not in use any more, or will not be.
    fn closed(&mut self, connection: ConnectionId) {
        let _ = connection;
    }

    /// A rank is lost, with all packets that were on their way from or to this rank.
    fn lost(&mut self, peer: u32) {
        let _ = peer;
    }

    /// Posts a last frame if memory of the peer was accessed since the last delivered frame. Its
    /// arrival shows that the accesses are over. Returns true if the peer will count it.
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
}

/// An event of packets that do not travel on the sockets.
#[cfg_attr(
    not(feature = "verbs"),
    expect(dead_code, reason = "there is no such carrier in this build")
)]
#[derive(Debug)]
pub(super) enum DataPathEvent {
    /// A packet or access posted by the peer has arrived.
    Arrived(Option<ConnectionId>, ChannelEvent),
    /// The last frame of the peer has arrived; the message layer does not receive this frame.
    Closes(ConnectionId),
    /// Another event for the message layer.
    Event(ChannelEvent),
    /// No packets can be carried to a peer any more.
    Failed(u32, Failure),
}

/// Packets travel on the sockets.
#[derive(Debug, Default)]
pub(super) struct SocketDataPath;

impl DataPath for SocketDataPath {}
