//! Packets on an InfiniBand link: local and global route header, both checksums. IBA 7.7 and 8.3.
//!
//! *Not modelled*: raw packets, and link versions other than 0.

use super::crc::{icrc, vcrc};
use super::{Packet, WireError, split, take_bytes};
use crate::Gid;

/// Local route header (LRH): the way within a subnet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lrh {
    /// Virtual lane, below 16.
    pub vl: u8,
    /// Service level, below 16.
    pub sl: u8,
    /// Local identifier of the destination.
    pub dlid: u16,
    /// Local identifier of the source.
    pub slid: u16,
}

/// Global route header (GRH): the way between subnets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grh {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, below 2^20.
    pub flow_label: u32,
    /// Number of routers that the packet may still cross.
    pub hop_limit: u8,
    /// Global identifier of the source.
    pub source: Gid,
    /// Global identifier of the destination.
    pub destination: Gid,
}

/// A packet on an InfiniBand link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NativeFrame<'a> {
    /// Local route header.
    pub lrh: Lrh,
    /// Global route header, if the packet has one.
    pub grh: Option<Grh>,
    /// The packet of the transport layer.
    pub packet: Packet<'a>,
}

/// Link next header: a base transport header.
const LNH_LOCAL: u8 = 2;
/// Link next header: a global route header.
const LNH_GLOBAL: u8 = 3;
/// Next header of a GRH: a base transport header.
const NEXT_HEADER: u8 = 0x1B;

impl Lrh {
    /// Number of bytes on the wire.
    pub const LENGTH: usize = 8;

    /// Returns the header of a packet of `words` words of four bytes, from the LRH to the ICRC.
    fn header_bytes(&self, lnh: u8, words: u16) -> [u8; Self::LENGTH] {
        let [d0, d1] = self.dlid.to_be_bytes();
        let [l0, l1] = (words & 0x7FF).to_be_bytes();
        let [s0, s1] = self.slid.to_be_bytes();
        let (vl, sl) = (self.vl << 4, self.sl << 4);
        [vl, sl | lnh, d0, d1, l0, l1, s0, s1]
    }
}

impl Grh {
    /// Number of bytes on the wire.
    pub const LENGTH: usize = 40;

    /// Returns the header of a packet with `length` bytes behind it, up to the ICRC.
    fn header_bytes(&self, length: u16) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let version = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xF_FFFF;
        bytes[..4].copy_from_slice(&version.to_be_bytes());
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        (bytes[6], bytes[7]) = (NEXT_HEADER, self.hop_limit);
        bytes[8..24].copy_from_slice(&self.source.0);
        bytes[24..].copy_from_slice(&self.destination.0);
        bytes
    }

    fn parse(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let version = u32::from_be_bytes(*take_bytes(bytes)?);
        let length = usize::from(u16::from_be_bytes(*take_bytes(bytes)?));
        let &[next_header, hop_limit] = take_bytes(bytes)?;
        let grh = Self {
            traffic_class: (version >> 20) as u8,
            flow_label: version & 0xF_FFFF,
            hop_limit,
            source: Gid(*take_bytes(bytes)?),
            destination: Gid(*take_bytes(bytes)?),
        };
        if version >> 28 != 6 {
            return Err(WireError::Network("GRH version", version >> 28));
        }
        if next_header != NEXT_HEADER {
            return Err(WireError::Network("GRH next header", next_header.into()));
        }
        if length != bytes.len() {
            return Err(WireError::Length {
                claimed: length,
                found: bytes.len(),
            });
        }
        Ok(grh)
    }
}

impl<'a> NativeFrame<'a> {
    /// Appends the frame with both checksums.
    pub fn emit(&self, into: &mut Vec<u8>) {
        let start = into.len();
        let mut packet = Vec::new();
        self.packet.emit(&mut packet);
        let behind = packet.len() + 4;
        let route = if self.grh.is_some() { Grh::LENGTH } else { 0 };
        let words = (Lrh::LENGTH + route + behind) / 4;
        let lnh = if self.grh.is_some() {
            LNH_GLOBAL
        } else {
            LNH_LOCAL
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "packets have at most 4 KiB and headers"
        )]
        let (words, behind) = (words as u16, behind as u16);
        into.extend(self.lrh.header_bytes(lnh, words));
        into.extend(self.grh.iter().flat_map(|grh| grh.header_bytes(behind)));
        into.extend(packet);
        let checksum = checksum(&into[start..]);
        into.extend(checksum.to_le_bytes());
        let checksum = vcrc(&into[start..]);
        into.extend(checksum.to_le_bytes());
    }

    /// Reads a frame that fills `bytes`, with both checksums.
    ///
    /// # Errors
    /// [`WireError`] if `bytes` are no frame, or a checksum is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let length = bytes.len().saturating_sub(2);
        let (covered, mut checksum) = split(bytes, length)?;
        let (expected, found) = (
            vcrc(covered),
            u16::from_le_bytes(*take_bytes(&mut checksum)?),
        );
        if expected != found {
            return Err(WireError::Vcrc { expected, found });
        }
        Self::parse_invariant(covered)
    }

    /// Reads a frame without its variant checksum, as in many captures.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_invariant(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut rest = bytes;
        let &[vl, sl, d0, d1, l0, l1, s0, s1] = take_bytes(&mut rest)?;
        if vl & 0xF != 0 {
            return Err(WireError::Network("link version", (vl & 0xF).into()));
        }
        let claimed = 4 * usize::from(u16::from_be_bytes([l0, l1]) & 0x7FF);
        if claimed != bytes.len() {
            return Err(WireError::Length {
                claimed,
                found: bytes.len(),
            });
        }
        let grh = match sl & 3 {
            LNH_LOCAL => None,
            LNH_GLOBAL => Some(Grh::parse(&mut rest)?),
            other => return Err(WireError::Network("link next header", other.into())),
        };
        let (packet, mut carried) = split(rest, rest.len().saturating_sub(4))?;
        let packet = Packet::parse(packet)?;
        let found = u32::from_le_bytes(*take_bytes(&mut carried)?);
        let expected = checksum(&bytes[..bytes.len() - 4]);
        if expected != found {
            return Err(WireError::Icrc { expected, found });
        }
        let lrh = Lrh {
            vl: vl >> 4,
            sl: sl >> 4,
            dlid: u16::from_be_bytes([d0, d1]),
            slid: u16::from_be_bytes([s0, s1]),
        };
        Ok(Self { lrh, grh, packet })
    }
}

/// Returns the ICRC of a frame up to its padding. These fields count as ones: the virtual lane of a
/// local packet; the LRH and the variant fields of the GRH of a global packet; byte 4 of the BTH.
fn checksum(bytes: &[u8]) -> u32 {
    let is_global = bytes[1] & 3 == LNH_GLOBAL;
    let route = if is_global { Grh::LENGTH } else { 0 };
    let mut head = [0; Lrh::LENGTH + Grh::LENGTH + 5];
    let head = &mut head[..Lrh::LENGTH + route + 5];
    let (covered, rest) = bytes.split_at(head.len());
    head.copy_from_slice(covered);
    if is_global {
        head[..Lrh::LENGTH].fill(0xFF);
        let grh = &mut head[Lrh::LENGTH..];
        grh[0] |= 0x0F;
        grh[1..4].fill(0xFF);
        grh[7] = 0xFF;
    } else {
        head[0] |= 0xF0;
    }
    if let Some(last) = head.last_mut() {
        *last = 0xFF;
    }
    icrc(&[head, rest])
}
