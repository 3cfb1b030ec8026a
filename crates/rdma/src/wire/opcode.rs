//! The opcodes of the base transport header, with the extended headers that each asks for.
//!
//! *Not modelled*: RD, XRC, Flush and Atomic Write, and UC writes; see [`Opcode::from_code`].

use super::{Layout, WireError};

/// Makes the opcodes and their table.
macro_rules! opcodes {
    ($( $(#[$doc:meta])* $name:ident = $code:literal, $layout:ident; )*) => {
        /// An opcode. IBA 9.2, table 38; CNP: annex A17.9.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Opcode {
            $( $(#[$doc])* $name = $code, )*
        }

        impl Opcode {
            /// All opcodes, by their codes.
            pub const ALL: &[Self] = &[ $(Self::$name),* ];

            /// Returns the opcode with this code.
            ///
            /// # Errors
            /// [`WireError::Opcode`] if the code is reserved or not supported.
            pub const fn from_code(code: u8) -> Result<Self, WireError> {
                match code {
                    $( $code => Ok(Self::$name), )*
                    other => Err(WireError::Opcode(other)),
                }
            }

            /// Returns the extended headers of a packet with this opcode.
            #[must_use]
            pub const fn layout(self) -> Layout {
                match self {
                    $( Self::$name => Layout::$layout, )*
                }
            }
        }
    };
}

opcodes! {
    /// The first packet of a send.
    RcSendFirst = 0x00, None;
    /// A packet of a send between the first and the last one.
    RcSendMiddle = 0x01, None;
    /// The last packet of a send.
    RcSendLast = 0x02, None;
    /// The last packet of a send with immediate data.
    RcSendLastImmediate = 0x03, Immediate;
    /// A send of one packet.
    RcSendOnly = 0x04, None;
    /// A send of one packet with immediate data.
    RcSendOnlyImmediate = 0x05, Immediate;
    /// The first packet of an RDMA write.
    RcWriteFirst = 0x06, Reth;
    /// A packet of an RDMA write between the first and the last one.
    RcWriteMiddle = 0x07, None;
    /// The last packet of an RDMA write.
    RcWriteLast = 0x08, None;
    /// The last packet of an RDMA write with immediate data.
    RcWriteLastImmediate = 0x09, Immediate;
    /// An RDMA write of one packet.
    RcWriteOnly = 0x0A, Reth;
    /// An RDMA write of one packet with immediate data.
    RcWriteOnlyImmediate = 0x0B, RethImmediate;
    /// A request for an RDMA read.
    RcReadRequest = 0x0C, Reth;
    /// The first packet of the data of a read.
    RcReadResponseFirst = 0x0D, Aeth;
    /// A packet of the data of a read between the first and the last one.
    RcReadResponseMiddle = 0x0E, None;
    /// The last packet of the data of a read.
    RcReadResponseLast = 0x0F, Aeth;
    /// The data of a read in one packet.
    RcReadResponseOnly = 0x10, Aeth;
    /// An acknowledgement, positive or negative.
    RcAcknowledge = 0x11, Aeth;
    /// The answer to an atomic operation.
    RcAtomicAcknowledge = 0x12, AtomicAck;
    /// Compares and swaps 64 bits.
    RcCompareSwap = 0x13, AtomicEth;
    /// Fetches 64 bits and adds to them.
    RcFetchAdd = 0x14, AtomicEth;
    /// The last packet of a send that invalidates a key.
    RcSendLastInvalidate = 0x16, Ieth;
    /// A send of one packet that invalidates a key.
    RcSendOnlyInvalidate = 0x17, Ieth;
    /// The first packet of a send on an unreliable connection.
    UcSendFirst = 0x20, None;
    /// A packet of such a send between the first and the last one.
    UcSendMiddle = 0x21, None;
    /// The last packet of such a send.
    UcSendLast = 0x22, None;
    /// The last packet of such a send, with immediate data.
    UcSendLastImmediate = 0x23, Immediate;
    /// Such a send of one packet.
    UcSendOnly = 0x24, None;
    /// Such a send of one packet, with immediate data.
    UcSendOnlyImmediate = 0x25, Immediate;
    /// A datagram.
    UdSendOnly = 0x64, Deth;
    /// A datagram with immediate data.
    UdSendOnlyImmediate = 0x65, DethImmediate;
    /// A congestion notification packet of RoCE v2.
    Cnp = 0x81, None;
}

/// The kind of a request packet of a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the operations")]
pub enum RequestKind {
    Send,
    Write,
    Read,
    CompareSwap,
    FetchAdd,
}

impl RequestKind {
    /// Returns true if the response carries data.
    #[must_use]
    pub const fn returns_data(self) -> bool {
        matches!(self, Self::Read | Self::CompareSwap | Self::FetchAdd)
    }
}

/// The position of a packet within its message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the opcodes")]
pub enum Position {
    First,
    Middle,
    Last,
    Only,
}

impl Opcode {
    /// Returns the kind and the position of a request packet of a reliable connection; `None` for
    /// other packets.
    #[must_use]
    pub const fn request(self) -> Option<(RequestKind, Position)> {
        use Position::{First, Last, Middle, Only};
        use RequestKind::{CompareSwap, FetchAdd, Read, Send, Write};
        Some(match self {
            Self::RcSendFirst => (Send, First),
            Self::RcSendMiddle => (Send, Middle),
            Self::RcSendLast | Self::RcSendLastImmediate | Self::RcSendLastInvalidate => {
                (Send, Last)
            }
            Self::RcSendOnly | Self::RcSendOnlyImmediate | Self::RcSendOnlyInvalidate => {
                (Send, Only)
            }
            Self::RcWriteFirst => (Write, First),
            Self::RcWriteMiddle => (Write, Middle),
            Self::RcWriteLast | Self::RcWriteLastImmediate => (Write, Last),
            Self::RcWriteOnly | Self::RcWriteOnlyImmediate => (Write, Only),
            Self::RcReadRequest => (Read, Only),
            Self::RcCompareSwap => (CompareSwap, Only),
            Self::RcFetchAdd => (FetchAdd, Only),
            _ => return None,
        })
    }

    /// Returns true for packets of reliable connections.
    #[must_use]
    pub const fn is_rc(self) -> bool {
        self.code() < 0x20
    }

    /// Returns the code on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns true if a responder sends this packet and a requester receives it.
    #[must_use]
    pub const fn is_response(self) -> bool {
        matches!(self.code(), 0x0D..=0x12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_back() {
        for code in 0..=u8::MAX {
            match Opcode::from_code(code) {
                Ok(opcode) => assert_eq!(opcode.code(), code),
                Err(error) => {
                    assert_eq!(error, WireError::Opcode(code));
                    assert!(Opcode::ALL.iter().all(|opcode| opcode.code() != code));
                }
            }
        }
    }
}
