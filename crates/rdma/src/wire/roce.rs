//! Packets of RoCE v2: Ethernet, IP and UDP around a packet of the transport layer. Annex A17.
//!
//! *Not modelled*: VLAN tags, IP options, extension headers and fragments. The checksum of UDP is
//! written if asked for, and not verified.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::crc::icrc;
use super::{Bth, Packet, WireError, split, take_bytes};

/// The UDP port of RoCE v2. Annex A17.4.5.
const PORT: u16 = 4791;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
/// The number of UDP among the protocols of IP.
const UDP: u8 = 17;
const UDP_LENGTH: usize = 8;
const ICRC_LENGTH: usize = 4;

/// The network header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ip {
    /// IPv4, without options.
    V4 {
        /// Type of service: DSCP and ECN.
        tos: u8,
        /// Identification.
        identification: u16,
        /// The packet must not be fragmented.
        dont_fragment: bool,
        /// Time to live.
        ttl: u8,
        /// Address of the sender.
        source: Ipv4Addr,
        /// Address of the receiver.
        destination: Ipv4Addr,
    },
    /// IPv6, without extension headers.
    V6 {
        /// Traffic class: DSCP and ECN.
        traffic_class: u8,
        /// Flow label, below 2^20.
        flow_label: u32,
        /// Hop limit.
        hop_limit: u8,
        /// Address of the sender.
        source: Ipv6Addr,
        /// Address of the receiver.
        destination: Ipv6Addr,
    },
}

/// A packet on Ethernet, without the frame's own checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoceFrame<'a> {
    /// Ethernet address of the receiver.
    pub destination_mac: [u8; 6],
    /// Ethernet address of the sender.
    pub source_mac: [u8; 6],
    /// Network header.
    pub ip: Ip,
    /// UDP port of the sender: the entropy of the flow, 0xC000 to 0xFFFF.
    pub source_port: u16,
    /// True if UDP has a checksum; otherwise the checksum is 0, as is usual.
    pub has_udp_checksum: bool,
    /// The packet of the transport layer.
    pub packet: Packet<'a>,
}

impl<'a> RoceFrame<'a> {
    /// Appends the frame.
    pub fn emit(&self, into: &mut Vec<u8>) {
        let mut packet = Vec::new();
        self.packet.emit(&mut packet);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "packets have at most 4 KiB and headers"
        )]
        let length = (UDP_LENGTH + packet.len() + ICRC_LENGTH) as u16;
        into.extend(self.destination_mac);
        into.extend(self.source_mac);
        let (ethertype, network) = self.ip.header_bytes(length);
        into.extend(ethertype.to_be_bytes());
        let start = into.len();
        into.extend(network);
        let udp = into.len();
        for field in [self.source_port, PORT, length, 0] {
            into.extend(field.to_be_bytes());
        }
        into.extend(packet);
        let checksum = checksum(&into[start..], udp - start);
        into.extend(checksum.to_le_bytes());
        if self.has_udp_checksum {
            let sum = self.ip.udp_checksum(&into[udp..]);
            into[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Reads a frame that fills `bytes`.
    ///
    /// # Errors
    /// [`WireError`] if `bytes` are no frame, or the ICRC is wrong.
    pub fn parse(mut bytes: &'a [u8]) -> Result<Self, WireError> {
        let (destination_mac, source_mac) = (*take_bytes(&mut bytes)?, *take_bytes(&mut bytes)?);
        let ethertype = u16::from_be_bytes(*take_bytes(&mut bytes)?);
        let network = bytes;
        let ip = match ethertype {
            ETHERTYPE_IPV4 => Ip::parse_v4(&mut bytes)?,
            ETHERTYPE_IPV6 => Ip::parse_v6(&mut bytes)?,
            other => return Err(WireError::Network("Ethernet type", other.into())),
        };
        let udp = network.len() - bytes.len();
        let mut datagram = bytes;
        let [source_port, port, length, sum] = take_words(&mut datagram)?;
        if port != PORT {
            return Err(WireError::Network("UDP port", port.into()));
        }
        if usize::from(length) != bytes.len() {
            return Err(WireError::Length {
                claimed: length.into(),
                found: bytes.len(),
            });
        }
        let (packet, mut carried) = split(datagram, datagram.len().saturating_sub(ICRC_LENGTH))?;
        let packet = Packet::parse(packet)?;
        let found = u32::from_le_bytes(*take_bytes(&mut carried)?);
        let expected = checksum(&network[..network.len() - ICRC_LENGTH], udp);
        if expected != found {
            return Err(WireError::Icrc { expected, found });
        }
        Ok(Self {
            destination_mac,
            source_mac,
            ip,
            source_port,
            has_udp_checksum: sum != 0,
            packet,
        })
    }
}

impl Ip {
    /// Returns the Ethernet type, and the header for `length` bytes of UDP.
    fn header_bytes(&self, length: u16) -> (u16, Vec<u8>) {
        let mut bytes = Vec::with_capacity(40);
        match *self {
            Self::V4 {
                tos,
                identification,
                dont_fragment,
                ttl,
                source,
                destination,
            } => {
                let total = length + 20;
                let flags = u16::from(dont_fragment) << 14;
                bytes.extend([0x45, tos]);
                for field in [total, identification, flags] {
                    bytes.extend(field.to_be_bytes());
                }
                bytes.extend([ttl, UDP, 0, 0]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                let sum = !ones_complement_sum(0, &bytes);
                bytes[10..12].copy_from_slice(&sum.to_be_bytes());
                (ETHERTYPE_IPV4, bytes)
            }
            Self::V6 {
                traffic_class,
                flow_label,
                hop_limit,
                source,
                destination,
            } => {
                let first = 6 << 28 | u32::from(traffic_class) << 20 | flow_label & 0xF_FFFF;
                bytes.extend(first.to_be_bytes());
                bytes.extend(length.to_be_bytes());
                bytes.extend([UDP, hop_limit]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                (ETHERTYPE_IPV6, bytes)
            }
        }
    }

    fn parse_v4(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let found = bytes.len();
        let &[version, tos] = take_bytes(bytes)?;
        let [total, identification, flags] = take_words(bytes)?;
        let &[ttl, protocol, _, _] = take_bytes(bytes)?;
        let (source, destination) = (*take_bytes::<4>(bytes)?, *take_bytes::<4>(bytes)?);
        if version != 0x45 {
            return Err(WireError::Network(
                "IPv4 version and length",
                version.into(),
            ));
        }
        // More fragments, or not the first one.
        if flags & 0x3FFF != 0 {
            return Err(WireError::Network("IPv4 fragment", flags.into()));
        }
        if protocol != UDP {
            return Err(WireError::Network("IPv4 protocol", protocol.into()));
        }
        if usize::from(total) != found {
            return Err(WireError::Length {
                claimed: total.into(),
                found,
            });
        }
        Ok(Self::V4 {
            tos,
            identification,
            dont_fragment: flags & 1 << 14 != 0,
            ttl,
            source: source.into(),
            destination: destination.into(),
        })
    }

    fn parse_v6(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let first = u32::from_be_bytes(*take_bytes(bytes)?);
        let [length] = take_words(bytes)?;
        let &[protocol, hop_limit] = take_bytes(bytes)?;
        let (source, destination) = (*take_bytes::<16>(bytes)?, *take_bytes::<16>(bytes)?);
        if first >> 28 != 6 {
            return Err(WireError::Network("IPv6 version", first >> 28));
        }
        if protocol != UDP {
            return Err(WireError::Network("IPv6 next header", protocol.into()));
        }
        if usize::from(length) != bytes.len() {
            return Err(WireError::Length {
                claimed: length.into(),
                found: bytes.len(),
            });
        }
        Ok(Self::V6 {
            traffic_class: (first >> 20) as u8,
            flow_label: first & 0xF_FFFF,
            hop_limit,
            source: source.into(),
            destination: destination.into(),
        })
    }

    /// Returns the checksum of a datagram with a checksum field of 0. RFC 768.
    fn udp_checksum(&self, datagram: &[u8]) -> u16 {
        let addresses = match self {
            Self::V4 {
                source,
                destination,
                ..
            } => [source.octets(), destination.octets()].concat(),
            Self::V6 {
                source,
                destination,
                ..
            } => [source.octets(), destination.octets()].concat(),
        };
        let length = u32::try_from(datagram.len()).expect("a datagram has at most 64 KiB");
        let sum = ones_complement_sum(length + u32::from(UDP), &addresses);
        match !ones_complement_sum(sum.into(), datagram) {
            0 => 0xFFFF,
            sum => sum,
        }
    }
}

/// Reads `N` numbers of 16 bits.
fn take_words<const N: usize>(bytes: &mut &[u8]) -> Result<[u16; N], WireError> {
    let mut words = [0; N];
    for word in &mut words {
        *word = u16::from_be_bytes(*take_bytes(bytes)?);
    }
    Ok(words)
}

/// Returns the sum of all numbers of 16 bits, with carries added at the low end. RFC 1071.
fn ones_complement_sum(start: u32, bytes: &[u8]) -> u16 {
    let add = |sum: u32, pair: &[u8]| {
        let low = pair.get(1).copied().unwrap_or(0);
        sum + u32::from(u16::from_be_bytes([pair[0], low]))
    };
    let mut sum = bytes.chunks(2).fold(start, add);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// Returns the ICRC of a packet from its IP header, of `udp` bytes, to its padding. These fields
/// count as ones: eight bytes in place of the LRH, the fields of IP that routers change, the
/// checksum of UDP, and byte 4 of the BTH.
fn checksum(bytes: &[u8], udp: usize) -> u32 {
    let mut head = [0; 40 + UDP_LENGTH + Bth::LENGTH];
    let head = &mut head[..udp + UDP_LENGTH + Bth::LENGTH];
    let (covered, rest) = bytes.split_at(head.len());
    head.copy_from_slice(covered);
    if head[0] >> 4 == 4 {
        head[1] = 0xFF;
        head[8] = 0xFF;
        head[10..12].fill(0xFF);
    } else {
        head[0] |= 0x0F;
        head[1..4].fill(0xFF);
        head[7] = 0xFF;
    }
    head[udp + 6..udp + 8].fill(0xFF);
    head[udp + UDP_LENGTH + 4] = 0xFF;
    icrc(&[&[0xFF; 8], head, rest])
}
