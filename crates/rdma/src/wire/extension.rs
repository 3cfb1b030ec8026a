//! Extended transport headers: the fields behind the base transport header. IBA 9.3 and 9.4.

use super::{Syndrome, WireError, take_bytes};

/// RDMA extended transport header (RETH).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reth {
    /// The address of the first byte at the responder.
    pub address: u64,
    /// The key of the responder's memory region.
    pub rkey: u32,
    /// Length of the whole message in bytes.
    pub length: u32,
}

/// ACK extended transport header (AETH).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aeth {
    /// The kind of the acknowledgement.
    pub syndrome: Syndrome,
    /// Message sequence number, below 2^24: the number of messages completed so far, modulo 2^24.
    pub msn: u32,
}

/// Atomic extended transport header (AtomicETH).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicEth {
    /// The address of the eight bytes at the responder.
    pub address: u64,
    /// The key of the responder's memory region.
    pub rkey: u32,
    /// The value to store, or to add.
    pub swap_or_add: u64,
    /// The value to compare with.
    pub compare: u64,
}

/// Datagram extended transport header (DETH).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deth {
    /// The key of the destination queue.
    pub qkey: u32,
    /// The number of the sending queue pair, below 2^24.
    pub source_qp: u32,
}

/// The extended headers of a packet, in the order of the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// No header.
    None,
    /// Immediate data (ImmDt).
    Immediate(u32),
    /// A key to invalidate (IETH).
    Ieth(u32),
    /// RETH.
    Reth(Reth),
    /// RETH and immediate data.
    RethImmediate(Reth, u32),
    /// AETH.
    Aeth(Aeth),
    /// AETH and the original value of an atomic operation (AtomicAckETH).
    AtomicAck(Aeth, u64),
    /// AtomicETH.
    AtomicEth(AtomicEth),
    /// DETH.
    Deth(Deth),
    /// DETH and immediate data.
    DethImmediate(Deth, u32),
}

/// The kind of an [`Extension`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the extensions")]
pub enum Layout {
    None,
    Immediate,
    Ieth,
    Reth,
    RethImmediate,
    Aeth,
    AtomicAck,
    AtomicEth,
    Deth,
    DethImmediate,
}

impl Extension {
    /// Returns the kind of the extension.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        match self {
            Self::None => Layout::None,
            Self::Immediate(_) => Layout::Immediate,
            Self::Ieth(_) => Layout::Ieth,
            Self::Reth(_) => Layout::Reth,
            Self::RethImmediate(..) => Layout::RethImmediate,
            Self::Aeth(_) => Layout::Aeth,
            Self::AtomicAck(..) => Layout::AtomicAck,
            Self::AtomicEth(_) => Layout::AtomicEth,
            Self::Deth(_) => Layout::Deth,
            Self::DethImmediate(..) => Layout::DethImmediate,
        }
    }

    /// Returns the length in bytes on the wire.
    #[must_use]
    pub const fn length(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Immediate(_) | Self::Ieth(_) | Self::Aeth(_) => 4,
            Self::Deth(_) => 8,
            Self::AtomicAck(..) | Self::DethImmediate(..) => 12,
            Self::Reth(_) => 16,
            Self::RethImmediate(..) => 20,
            Self::AtomicEth(_) => 28,
        }
    }

    pub(super) fn emit(&self, into: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Immediate(word) | Self::Ieth(word) => into.extend(word.to_be_bytes()),
            Self::Reth(reth) => reth.emit(into),
            Self::RethImmediate(reth, immediate) => {
                reth.emit(into);
                into.extend(immediate.to_be_bytes());
            }
            Self::Aeth(aeth) => aeth.emit(into),
            Self::AtomicAck(aeth, original) => {
                aeth.emit(into);
                into.extend(original.to_be_bytes());
            }
            Self::AtomicEth(atomic) => atomic.emit(into),
            Self::Deth(deth) => deth.emit(into),
            Self::DethImmediate(deth, immediate) => {
                deth.emit(into);
                into.extend(immediate.to_be_bytes());
            }
        }
    }

    /// Reads the headers of a layout off `bytes`.
    pub(super) fn parse(layout: Layout, bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match layout {
            Layout::None => Self::None,
            Layout::Immediate => Self::Immediate(word(bytes)?),
            Layout::Ieth => Self::Ieth(word(bytes)?),
            Layout::Reth => Self::Reth(Reth::parse(bytes)?),
            Layout::RethImmediate => Self::RethImmediate(Reth::parse(bytes)?, word(bytes)?),
            Layout::Aeth => Self::Aeth(Aeth::parse(bytes)?),
            Layout::AtomicAck => Self::AtomicAck(Aeth::parse(bytes)?, double_word(bytes)?),
            Layout::AtomicEth => Self::AtomicEth(AtomicEth::parse(bytes)?),
            Layout::Deth => Self::Deth(Deth::parse(bytes)?),
            Layout::DethImmediate => Self::DethImmediate(Deth::parse(bytes)?, word(bytes)?),
        })
    }
}

impl Reth {
    fn emit(&self, into: &mut Vec<u8>) {
        into.extend(self.address.to_be_bytes());
        into.extend(self.rkey.to_be_bytes());
        into.extend(self.length.to_be_bytes());
    }

    fn parse(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            address: double_word(bytes)?,
            rkey: word(bytes)?,
            length: word(bytes)?,
        })
    }
}

impl Aeth {
    fn emit(&self, into: &mut Vec<u8>) {
        let syndrome = u32::from(self.syndrome.code()) << 24;
        into.extend((syndrome | self.msn & 0x00FF_FFFF).to_be_bytes());
    }

    fn parse(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let [syndrome, msn @ ..] = word(bytes)?.to_be_bytes();
        let [high, middle, low] = msn;
        Ok(Self {
            syndrome: Syndrome::from_code(syndrome)?,
            msn: u32::from_be_bytes([0, high, middle, low]),
        })
    }
}

impl AtomicEth {
    fn emit(&self, into: &mut Vec<u8>) {
        into.extend(self.address.to_be_bytes());
        into.extend(self.rkey.to_be_bytes());
        into.extend(self.swap_or_add.to_be_bytes());
        into.extend(self.compare.to_be_bytes());
    }

    fn parse(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            address: double_word(bytes)?,
            rkey: word(bytes)?,
            swap_or_add: double_word(bytes)?,
            compare: double_word(bytes)?,
        })
    }
}

impl Deth {
    fn emit(&self, into: &mut Vec<u8>) {
        into.extend(self.qkey.to_be_bytes());
        into.extend((self.source_qp & 0x00FF_FFFF).to_be_bytes());
    }

    fn parse(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            qkey: word(bytes)?,
            source_qp: word(bytes)? & 0x00FF_FFFF,
        })
    }
}

fn word(bytes: &mut &[u8]) -> Result<u32, WireError> {
    take_bytes(bytes).map(|bytes| u32::from_be_bytes(*bytes))
}

fn double_word(bytes: &mut &[u8]) -> Result<u64, WireError> {
    take_bytes(bytes).map(|bytes| u64::from_be_bytes(*bytes))
}
