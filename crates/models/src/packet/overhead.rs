//! Bytes of a packet besides its payload, and the credits that the packet takes.
//!
//! *Not modelled*: extension headers (RETH, AETH, …), which the caller adds to the payload.

/// Bytes of a credit: the standard's block.
pub const BLOCK_BYTES: u32 = 64;

/// Bytes of the start and end delimiters of an InfiniBand packet. Our choice.
pub const DELIMITER_BYTES: u32 = 4;

const LRH: u32 = 8;
const GRH: u32 = 40;
const BTH: u32 = 12;
const ICRC: u32 = 4;
const VCRC: u32 = 2;
/// Preamble and start of frame (8), header (14), check sequence (4) and inter-frame gap (12).
const ETHERNET: u32 = 8 + 14 + 4 + 12;
const VLAN_TAG: u32 = 4;
const IPV4_UDP: u32 = 20 + 8;
const IPV6_UDP: u32 = 40 + 8;
/// The shortest Ethernet frame (64), with preamble, start of frame and gap.
const ETHERNET_MIN: u32 = 64 + 20;

/// Headers around the transport packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encapsulation {
    /// InfiniBand within a subnet: LRH and VCRC.
    InfinibandLocal,
    /// InfiniBand with a global route header.
    InfinibandGlobal,
    /// RoCE v2 over IPv4.
    RoceV2Ipv4,
    /// RoCE v2 over IPv4 with a VLAN tag.
    RoceV2Ipv4Vlan,
    /// RoCE v2 over IPv6.
    RoceV2Ipv6,
}

/// Overhead of each packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketOverhead {
    /// Headers around the transport packet.
    pub encapsulation: Encapsulation,
    /// Bytes of delimiters that take wire time but no credits; InfiniBand only.
    pub delimiter_bytes: u32,
}

impl PacketOverhead {
    /// Returns the overhead of an encapsulation with the default delimiters.
    pub const fn new(encapsulation: Encapsulation) -> Self {
        Self {
            encapsulation,
            delimiter_bytes: DELIMITER_BYTES,
        }
    }

    /// Returns the bytes besides payload and extension headers.
    pub const fn overhead_bytes(self) -> u32 {
        let transport = BTH + ICRC;
        match self.encapsulation {
            Encapsulation::InfinibandLocal => transport + LRH + VCRC + self.delimiter_bytes,
            Encapsulation::InfinibandGlobal => transport + LRH + GRH + VCRC + self.delimiter_bytes,
            Encapsulation::RoceV2Ipv4 => transport + ETHERNET + IPV4_UDP,
            Encapsulation::RoceV2Ipv4Vlan => transport + ETHERNET + IPV4_UDP + VLAN_TAG,
            Encapsulation::RoceV2Ipv6 => transport + ETHERNET + IPV6_UDP,
        }
    }

    /// Returns the bytes on the wire of a packet; `payload` is the bytes of payload and extension
    /// headers. The bytes are padded to 4, and Ethernet frames to 64.
    pub const fn wire_bytes(self, payload: u32) -> u32 {
        let bytes = payload.next_multiple_of(4) + self.overhead_bytes();
        let is_infiniband = matches!(
            self.encapsulation,
            Encapsulation::InfinibandLocal | Encapsulation::InfinibandGlobal
        );
        if is_infiniband || bytes > ETHERNET_MIN {
            bytes
        } else {
            ETHERNET_MIN
        }
    }
}

/// Returns the credits of a packet, in blocks: LRH to VCRC, without the delimiters.
pub const fn credit_blocks(wire_bytes: u32, delimiter_bytes: u32) -> u32 {
    wire_bytes
        .saturating_sub(delimiter_bytes)
        .div_ceil(BLOCK_BYTES)
}
