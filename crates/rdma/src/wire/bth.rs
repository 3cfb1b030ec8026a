//! The base transport header, 12 bytes that begin every packet of the transport layer. IBA 9.2.

use super::{Opcode, WireError, take_bytes};
use crate::Psn;

/// A base transport header (BTH). The packet determines the length of the padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bth {
    /// The type of the packet.
    pub opcode: Opcode,
    /// Solicited event: the receiver's completion wakes whoever waits for such.
    pub solicited: bool,
    /// State of path migration.
    pub migration: bool,
    /// The partition key.
    pub pkey: u16,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification.
    pub becn: bool,
    /// The number of the destination queue pair, below 2^24.
    pub dest_qp: u32,
    /// The requester asks for an acknowledgement.
    pub ack_request: bool,
    /// The sequence number of the packet.
    pub psn: Psn,
}

impl Bth {
    /// Number of bytes on the wire.
    pub const LENGTH: usize = 12;

    /// Returns a header without marks, with the default partition key.
    #[must_use]
    pub const fn new(opcode: Opcode, dest_qp: u32, psn: Psn) -> Self {
        Self {
            opcode,
            solicited: false,
            migration: false,
            pkey: 0xFFFF,
            fecn: false,
            becn: false,
            dest_qp,
            ack_request: false,
            psn,
        }
    }

    /// Appends the header of a packet with `pad` bytes of padding, 0 to 3.
    pub(super) fn emit(&self, pad: u8, into: &mut Vec<u8>) {
        let marks = u8::from(self.solicited) << 7 | u8::from(self.migration) << 6 | pad << 4;
        into.extend([self.opcode.code(), marks]);
        into.extend(self.pkey.to_be_bytes());
        let congestion = u32::from(self.fecn) << 31 | u32::from(self.becn) << 30;
        into.extend((congestion | self.dest_qp & 0x00FF_FFFF).to_be_bytes());
        let ack_request = u32::from(self.ack_request) << 31;
        into.extend((ack_request | self.psn.get()).to_be_bytes());
    }

    /// Reads a header from `bytes`, and returns the header and the length of the padding.
    pub(super) fn parse(bytes: &mut &[u8]) -> Result<(Self, usize), WireError> {
        let &[code, marks, pkey_high, pkey_low, qp @ .., p0, p1, p2, p3] = take_bytes::<12>(bytes)?;
        let version = marks & 0xF;
        if version != 0 {
            return Err(WireError::Version(version));
        }
        let (qp, psn) = (u32::from_be_bytes(qp), u32::from_be_bytes([p0, p1, p2, p3]));
        let header = Self {
            opcode: Opcode::from_code(code)?,
            solicited: marks & 0x80 != 0,
            migration: marks & 0x40 != 0,
            pkey: u16::from_be_bytes([pkey_high, pkey_low]),
            fecn: qp & 1 << 31 != 0,
            becn: qp & 1 << 30 != 0,
            dest_qp: qp & 0x00FF_FFFF,
            ack_request: psn & 1 << 31 != 0,
            psn: Psn::new(psn),
        };
        Ok((header, usize::from(marks >> 4 & 3)))
    }
}
