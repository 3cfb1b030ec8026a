//! Counts of a packet network, for benchmarks and tests.

/// Counts since the start of a packet network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PacketStatistics {
    /// Packets put on a wire.
    pub hops: u64,
    /// Events handled, void ones included.
    pub events: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped by switches: no virtual lane, a wrong check sequence, or no buffer.
    pub dropped: u64,
    /// Packets lost on faulty links.
    pub lost: u64,
    /// Packets dropped although pauses were sent: headroom is too small, an error of the settings.
    pub headroom_drops: u64,
    /// Pauses sent.
    pub pauses: u64,
    /// Flow-control packets sent.
    pub credit_packets: u64,
    /// Packets marked by switches.
    pub marked: u64,
    /// Links that were used.
    pub ports: usize,
    /// Bytes of the state of all used links.
    pub port_bytes: usize,
    /// Bytes of packets inside and of routes.
    pub packet_bytes: usize,
}
