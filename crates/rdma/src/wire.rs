//! Wire formats of InfiniBand and RoCE v2: headers, packets and their checksums.
//!
//! A [`Packet`] is the unit that a transport engine sends and receives: a base transport header,
//! the extended headers of its opcode, and a payload. [`NativeFrame`] wraps a packet for an
//! InfiniBand link, [`RoceFrame`] for Ethernet. No value can be written in a form that its opcode
//! forbids. Bytes are checked once, when they are read, and no call panics on bytes from outside.
//!
//! Numbers are in network byte order on the wire and in the order of the machine in memory.
//!
//! *Not modelled*: RD and XRC opcodes, Flush and Atomic Write, raw packets (LNH 0 and 1), VLAN
//! tags, IP options and fragments. Such packets are refused with a [`WireError`].
//!
//! Sources: IBA volume 1, release 1.2.1, chapters 5, 7, 8 and 9; RoCE v2 annex A17.

use std::fmt;

mod bth;
mod crc;
mod extension;
mod native;
mod opcode;
mod packet;
mod roce;
mod syndrome;

pub use bth::Bth;
pub use extension::{Aeth, AtomicEth, Deth, Extension, Layout, Reth};
pub use native::{Grh, Lrh, NativeFrame};
pub use opcode::{Opcode, Position, RequestKind};
pub use packet::Packet;
pub use roce::{Ip, RoceFrame};
pub use syndrome::{CREDITS, Nak, Syndrome};

/// A reason why bytes are no packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// A header or the payload ends after `found` of `expected` bytes.
    Short {
        /// Number of bytes that the header asks for.
        expected: usize,
        /// Number of bytes that there are.
        found: usize,
    },
    /// A length field says `claimed` bytes where there are `found`.
    Length {
        /// Bytes by the header.
        claimed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// A payload of this number of bytes, more than [`Packet::PAYLOAD_MAX`].
    Payload(usize),
    /// An opcode that this project does not know.
    Opcode(u8),
    /// A transport header version other than 0.
    Version(u8),
    /// A syndrome of a reserved kind.
    Syndrome(u8),
    /// A network header that is neither RoCE v2 nor InfiniBand, or has an unsupported form: the
    /// name of the field, and its value.
    Network(&'static str, u32),
    /// An invariant checksum (ICRC) that does not match the packet.
    Icrc {
        /// The computed checksum of the packet.
        expected: u32,
        /// The checksum in the packet.
        found: u32,
    },
    /// A variant checksum (VCRC) that does not match the packet.
    Vcrc {
        /// The computed checksum of the packet.
        expected: u16,
        /// The checksum in the packet.
        found: u16,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { expected, found } => {
                write!(f, "{found} bytes: expected at least {expected}")
            }
            Self::Length { claimed, found } => {
                write!(f, "a length of {claimed} bytes: expected {found}")
            }
            Self::Payload(length) => {
                write!(
                    f,
                    "a payload of {length} bytes: expected at most {}",
                    Packet::PAYLOAD_MAX
                )
            }
            Self::Opcode(opcode) => write!(f, "opcode {opcode:#04x}: not supported"),
            Self::Version(version) => write!(f, "transport header version {version}: expected 0"),
            Self::Syndrome(syndrome) => write!(f, "syndrome {syndrome:#04x}: reserved"),
            Self::Network(field, value) => write!(f, "{field} {value:#x}: not supported"),
            Self::Icrc { expected, found } => {
                write!(f, "ICRC {found:08x}: expected {expected:08x}")
            }
            Self::Vcrc { expected, found } => {
                write!(f, "VCRC {found:04x}: expected {expected:04x}")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// Splits `bytes` after `count`.
fn split(bytes: &[u8], count: usize) -> Result<(&[u8], &[u8]), WireError> {
    bytes.split_at_checked(count).ok_or(WireError::Short {
        expected: count,
        found: bytes.len(),
    })
}

/// Splits `N` bytes off.
fn take_bytes<'a, const N: usize>(bytes: &mut &'a [u8]) -> Result<&'a [u8; N], WireError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(WireError::Short {
        expected: N,
        found: bytes.len(),
    })?;
    *bytes = rest;
    Ok(head)
}
