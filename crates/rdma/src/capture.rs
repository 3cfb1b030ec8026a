//! Captures of packets in the format *pcapng*, which Wireshark and tshark read.
//!
//! Source: the Internet draft *PCAP Next Generation (pcapng) Capture File Format*, blocks SHB, IDB
//! and EPB; link types from the registry of tcpdump.org; Endace, *ERF types reference guide*, type
//! 21.
//!
//! *Not modelled*: several interfaces, comments, name resolution. A capture is kept in memory.

/// A link type of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum CaptureLink {
    /// Ethernet frames without preamble and check sequence.
    Ethernet = 1,
    /// InfiniBand packets from the local route header to the variant CRC, each in a record of the
    /// Extensible Record Format: Wireshark 4.0 does not read the link type of InfiniBand, 247.
    InfiniBand = 197,
}

/// ERF type of an InfiniBand packet.
const ERF_INFINIBAND: u8 = 21;
/// Length of an ERF header in bytes.
const ERF_HEADER: usize = 16;

/// A capture of packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    link: CaptureLink,
    bytes: Vec<u8>,
    max_bytes: u64,
    /// Packets that found no room.
    left_out: u64,
    /// Packets in the file.
    packets: u64,
}

/// Section header block.
const SHB: u32 = 0x0A0D_0D0A;
/// Interface description block.
const IDB: u32 = 1;
/// Enhanced packet block.
const EPB: u32 = 6;
/// The magic number that tells the byte order.
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// Option of an interface: the resolution of the timestamps.
const IF_TSRESOL: u16 = 9;
/// Nanoseconds, as a power of ten.
const NANOSECONDS: u8 = 9;

impl Capture {
    /// Returns an empty capture that grows up to `max_bytes` bytes.
    #[must_use]
    pub fn new(link: CaptureLink, max_bytes: u64) -> Self {
        let mut capture = Self {
            link,
            bytes: Vec::new(),
            max_bytes,
            left_out: 0,
            packets: 0,
        };
        let mut header = BYTE_ORDER.to_le_bytes().to_vec();
        // Version 1.0, and a section of unknown length.
        header.extend([1, 0, 0, 0]);
        header.extend(u64::MAX.to_le_bytes());
        capture.write_block(SHB, &header);
        let mut interface = (link as u16).to_le_bytes().to_vec();
        // Reserved, and no limit of a packet's length.
        interface.extend([0; 6]);
        interface.extend(IF_TSRESOL.to_le_bytes());
        interface.extend([1, 0, NANOSECONDS, 0, 0, 0]);
        // The end of the options.
        interface.extend([0; 4]);
        capture.write_block(IDB, &interface);
        capture
    }

    /// Adds a packet at a time in nanoseconds; from the first one without room on, none is added.
    pub fn add_packet(&mut self, nanoseconds: u64, packet: &[u8]) {
        let erf = match self.link {
            CaptureLink::Ethernet => None,
            CaptureLink::InfiniBand => Some(erf_header(nanoseconds, packet.len())),
        };
        let erf = erf.as_ref().map_or(&[][..], |header| header);
        let length = (erf.len() + packet.len()) as u64;
        let room = self.max_bytes.saturating_sub(self.bytes.len() as u64);
        if self.left_out > 0 || length.next_multiple_of(4) + 32 > room {
            self.left_out += 1;
            return;
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let (high, low) = ((nanoseconds >> 32) as u32, nanoseconds as u32);
        let mut body = Vec::with_capacity(erf.len() + packet.len() + 24);
        for word in [0, high, low, length, length] {
            body.extend(word.to_le_bytes());
        }
        body.extend_from_slice(erf);
        body.extend_from_slice(packet);
        self.write_block(EPB, &body);
        self.packets += 1;
    }

    /// Returns the number of packets in the file.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of packets left out because the file was full.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the file.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn write_block(&mut self, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let length = u32::try_from(padded + 12).unwrap_or(u32::MAX);
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend_from_slice(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(length.to_le_bytes());
    }
}

/// Returns the header of an ERF record: the date in seconds with 32 bits behind the point, type,
/// flags (records of varying length), and the lengths of the record and of the packet.
fn erf_header(nanoseconds: u64, length: usize) -> [u8; ERF_HEADER] {
    let fraction = (nanoseconds % 1_000_000_000) << 32;
    let date = ((nanoseconds / 1_000_000_000) << 32) | (fraction / 1_000_000_000);
    let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    let mut header = [0; ERF_HEADER];
    header[..8].copy_from_slice(&date.to_le_bytes());
    (header[8], header[9]) = (ERF_INFINIBAND, 4);
    header[10..12].copy_from_slice(&short(length + ERF_HEADER));
    header[14..].copy_from_slice(&short(length));
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tell_their_lengths_at_both_ends() {
        let mut capture = Capture::new(CaptureLink::Ethernet, 1 << 20);
        capture.add_packet(5_000_000_001, &[1, 2, 3, 4, 5]);
        let bytes = capture.into_bytes();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let mut kinds = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let length = word(at + 4) as usize;
            assert_eq!(word(at + length - 4) as usize, length);
            kinds.push((word(at), length));
            at += length;
        }
        assert_eq!(at, bytes.len());
        assert_eq!(kinds, [(SHB, 28), (IDB, 32), (EPB, 40)]);
        let packet = 28 + 32 + 8;
        let date = u64::from(word(packet + 4)) << 32 | u64::from(word(packet + 8));
        assert_eq!(date, 5_000_000_001);
        assert_eq!((word(packet + 12), word(packet + 16)), (5, 5));
        assert_eq!(bytes[packet + 20..packet + 28], [1, 2, 3, 4, 5, 0, 0, 0]);
    }

    #[test]
    fn a_full_capture_counts_what_is_left_out() {
        let mut capture = Capture::new(CaptureLink::Ethernet, 28 + 32 + 36);
        for _ in 0..3 {
            capture.add_packet(0, &[0; 4]);
        }
        assert_eq!(capture.left_out(), 2);
        assert_eq!(capture.into_bytes().len(), 28 + 32 + 36);
    }
}
