//! Attributes of an adapter and its ports.
//!
//! Only the attributes that programs depend on; the rest of `struct ibv_device_attr` is left out.

use std::fmt;

/// The accesses to memory with respect to which atomics are atomic. `ibv_query_device(3)`, `enum
/// ibv_atomic_cap`; IBA 9.4.5.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicCap {
    /// There are none.
    None,
    /// With respect to other atomics of this adapter.
    Hca,
    /// With respect to all access to the memory, by processors too.
    Glob,
}

/// Attributes of an adapter. `ibv_query_device(3)`; IBA 11.2.1.2.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceAttributes {
    /// Name of the adapter, such as `mlx5_0` or `rxe0`.
    pub name: String,
    /// Version of the firmware; empty if the adapter has none.
    pub fw_ver: String,
    /// Number of the adapter, which never changes.
    pub node_guid: u64,
    /// The longest memory region, in bytes.
    pub max_mr_size: u64,
    /// Memory regions.
    pub max_mr: u32,
    /// Protection domains.
    pub max_pd: u32,
    /// Queue pairs.
    pub max_qp: u32,
    /// Requests outstanding on a work queue.
    pub max_qp_wr: u32,
    /// Scatter/gather entries of a request.
    pub max_sge: u32,
    /// Completion queues.
    pub max_cq: u32,
    /// Entries of a completion queue.
    pub max_cqe: u32,
    /// Reads and atomics to a queue pair that may be outstanding: the most for
    /// `max_dest_rd_atomic`.
    pub max_qp_rd_atom: u32,
    /// Reads and atomics from a queue pair that may be outstanding: the most for `max_rd_atomic`.
    pub max_qp_init_rd_atom: u32,
    /// Atomics.
    pub atomic_cap: AtomicCap,
    /// Time that the adapter may take to acknowledge, as 4.096 µs × 2^n.
    pub local_ca_ack_delay: u8,
    /// Ports; they count from 1.
    pub phys_port_cnt: u8,
}

/// The state of a port. `ibv_query_port(3)`, `enum ibv_port_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortState {
    /// Not known.
    Nop,
    /// No link.
    Down,
    /// The port has a link, and a subnet manager has to configure the port.
    Init,
    /// Nearly active.
    Armed,
    /// In use.
    Active,
    /// In use, with the link gone for the moment.
    ActiveDefer,
}

/// Link layer of a port. `ibv_query_port(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkLayer {
    /// Not known.
    Unspecified,
    /// InfiniBand: peers have local identifiers (LID).
    InfiniBand,
    /// Ethernet, with RoCE: peers have global identifiers (GID).
    Ethernet,
}

/// The largest payload of a packet. `enum ibv_mtu`; other values do not exist.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mtu {
    /// 256 bytes.
    Mtu256,
    /// 512 bytes.
    Mtu512,
    /// 1024 bytes.
    Mtu1024,
    /// 2048 bytes.
    Mtu2048,
    /// 4096 bytes.
    Mtu4096,
}

impl Mtu {
    /// All of them, the smallest first.
    pub const ALL: [Self; 5] = [
        Self::Mtu256,
        Self::Mtu512,
        Self::Mtu1024,
        Self::Mtu2048,
        Self::Mtu4096,
    ];

    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        128 << self.code()
    }

    /// As on the wire and in `enum ibv_mtu`: 1 to 5.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Mtu256 => 1,
            Self::Mtu512 => 2,
            Self::Mtu1024 => 3,
            Self::Mtu2048 => 4,
            Self::Mtu4096 => 5,
        }
    }

    /// The one with this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.code() == code)
    }

    /// The one with this many bytes.
    #[must_use]
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.bytes() == bytes)
    }
}

/// Attributes of a port. `ibv_query_port(3)`; IBA 11.2.1.2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortAttributes {
    /// State of the port.
    pub state: PortState,
    /// Link layer of the port.
    pub link_layer: LinkLayer,
    /// The largest MTU that the port can.
    pub max_mtu: Mtu,
    /// The largest MTU that the link, as configured, can.
    pub active_mtu: Mtu,
    /// The length of the table of global identifiers.
    pub gid_tbl_len: u32,
    /// The local identifier; 0 on Ethernet.
    pub lid: u16,
    /// The longest message, in bytes.
    pub max_msg_sz: u32,
}

/// A global identifier in the form of an IPv6 address; `::ffff:a.b.c.d` on RoCE v2 over IPv4.
/// `ibv_query_gid(3)`; IBA 4.1.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// Returns true if all bytes are zero: no identifier.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }

    /// Returns true if the identifier stands for an IPv4 address.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.0[..10] == [0; 10] && self.0[10..12] == [0xff; 2]
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::Ipv6Addr::from(self.0).fmt(f)
    }
}

/// Encapsulation of packets to a global identifier. `ibv_query_gid_ex(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GidType {
    /// InfiniBand.
    Ib,
    /// RoCE v1: Ethernet frames of their own type, never routed.
    RoceV1,
    /// RoCE v2: UDP to port 4791.
    RoceV2,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtus_have_the_codes_of_the_wire() {
        let bytes: Vec<u32> = Mtu::ALL.iter().map(|mtu| mtu.bytes()).collect();
        assert_eq!(bytes, [256, 512, 1024, 2048, 4096]);
        for mtu in Mtu::ALL {
            assert_eq!(Mtu::from_code(mtu.code()), Some(mtu));
            assert_eq!(Mtu::from_bytes(mtu.bytes()), Some(mtu));
        }
        assert_eq!(Mtu::from_code(0), None);
        assert_eq!(Mtu::from_code(6), None);
    }

    #[test]
    fn a_gid_prints_as_an_address() {
        let mut gid = Gid::default();
        assert!(gid.is_zero());
        gid.0[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 1]);
        assert!(gid.is_ipv4());
        assert_eq!(gid.to_string(), "::ffff:10.0.0.1");
    }
}
