//! Forms of packets: packets whose addresses, keys and data words are known only when a dialogue
//! runs.

use super::{TesterEnd, memory};
use crate::Psn;
use crate::wire::{Aeth, AtomicEth, Bth, Extension, Nak, Opcode, Packet, Reth, Syndrome};

/// A word of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordValue {
    /// This number.
    Is(u64),
    /// The base of the dialogue plus this number, modulo 2^64.
    BasePlus(u64),
    /// Any number, which becomes the base of the dialogue.
    NewBase,
}

impl WordValue {
    /// Returns the number; `None` where any is right.
    pub(super) const fn number_from_base(self, base: u64) -> Option<u64> {
        match self {
            Self::Is(number) => Some(number),
            Self::BasePlus(number) => Some(base.wrapping_add(number)),
            Self::NewBase => None,
        }
    }
}

/// A payload: bytes of a [pattern](super::pattern_byte).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PatternData {
    /// The pattern.
    pub seed: u8,
    /// The position of the first byte in the pattern.
    pub position: u32,
    /// Length in bytes.
    pub length: u32,
}

impl PatternData {
    /// No bytes.
    pub const EMPTY: Self = Self::new(0, 0, 0);

    /// Returns `length` bytes of a pattern from `position` on.
    #[must_use]
    pub const fn new(seed: u8, position: u32, length: u32) -> Self {
        Self {
            seed,
            position,
            length,
        }
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        let end = self.position + self.length;
        (self.position..end)
            .map(|at| memory::pattern_byte(self.seed, at))
            .collect()
    }
}

/// A syndrome; credits may have any value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyndromeForm {
    /// A positive acknowledgement.
    Ack,
    /// Receiver not ready, with this timer code.
    Rnr(u8),
    /// A negative acknowledgement.
    Nak(Nak),
}

impl SyndromeForm {
    /// Returns true if a syndrome has this form. Credits of an acknowledgement are not compared.
    pub(super) fn fits(self, found: Syndrome) -> bool {
        match (self, found) {
            (Self::Ack, Syndrome::Ack(_)) => true,
            (Self::Rnr(code), Syndrome::RnrNak(found)) => code == found,
            (Self::Nak(nak), Syndrome::Nak(found)) => nak == found,
            _ => false,
        }
    }

    const fn syndrome(self) -> Syndrome {
        match self {
            Self::Ack => Syndrome::Ack(Syndrome::NO_CREDITS),
            Self::Rnr(code) => Syndrome::RnrNak(code),
            Self::Nak(nak) => Syndrome::Nak(nak),
        }
    }
}

/// Extended headers. Offsets are offsets in the memory of the responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormHeaders {
    /// No header.
    None,
    /// RETH; the key is the key of the memory plus `key_error`.
    Reth {
        /// Offset of the first byte.
        offset: u64,
        /// Length of the message in bytes.
        length: u32,
        /// Difference to the valid key.
        key_error: u32,
    },
    /// AtomicETH.
    Atomic {
        /// Offset of the eight bytes.
        offset: u64,
        /// The value to store, or to add.
        swap_or_add: WordValue,
        /// The value to compare with.
        compare: WordValue,
    },
    /// AETH.
    Aeth {
        /// Syndrome.
        syndrome: SyndromeForm,
        /// Message sequence number.
        msn: u32,
    },
    /// AETH with a positive syndrome, and AtomicAckETH.
    AtomicAck {
        /// Message sequence number; `None` where the standard fixes none.
        msn: Option<u32>,
        /// Original value.
        original: WordValue,
    },
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketForm {
    /// The opcode.
    pub opcode: Opcode,
    /// The sequence number.
    pub psn: Psn,
    /// The bit that asks for an acknowledgement; `None` where a device may choose.
    pub ack_request: Option<bool>,
    /// Extended headers.
    pub headers: FormHeaders,
    /// Payload.
    pub payload: PatternData,
}

/// The memory of a responder.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemoteMemory {
    pub(super) address: u64,
    pub(super) key: u32,
}

impl RemoteMemory {
    pub(super) const TESTER: Self = Self {
        address: TesterEnd::ADDRESS,
        key: TesterEnd::KEY,
    };
}

impl PacketForm {
    /// Returns the packets of a read response with the headers and data of this form.
    pub(super) fn read_response(self, mtu: u32) -> Vec<Self> {
        let data = self.payload;
        let count = data.length.div_ceil(mtu).max(1);
        let packet = |number: u32| {
            let opcode = match (number == 0, number + 1 == count) {
                (true, true) => Opcode::RcReadResponseOnly,
                (true, false) => Opcode::RcReadResponseFirst,
                (false, false) => Opcode::RcReadResponseMiddle,
                (false, true) => Opcode::RcReadResponseLast,
            };
            let headers = if opcode == Opcode::RcReadResponseMiddle {
                FormHeaders::None
            } else {
                self.headers
            };
            let (begin, length) = (number * mtu, mtu.min(data.length - number * mtu));
            Self {
                opcode,
                psn: self.psn.plus(number),
                headers,
                payload: PatternData::new(data.seed, data.position + begin, length),
                ..self
            }
        };
        (0..count).map(packet).collect()
    }

    /// Returns the packet for a queue pair, with the payload in `payload`.
    pub(super) fn build_packet<'a>(
        &self,
        (dest_qp, remote): (u32, RemoteMemory),
        base: u64,
        payload: &'a mut Vec<u8>,
    ) -> Packet<'a> {
        *payload = self.payload.bytes();
        let mut bth = Bth::new(self.opcode, dest_qp, self.psn);
        bth.ack_request = self.ack_request.unwrap_or(false);
        Packet::new(bth, self.extension(remote, base), payload)
    }

    /// Returns the extended headers of the packet.
    pub(super) fn extension(&self, remote: RemoteMemory, base: u64) -> Extension {
        let number = |word: WordValue| word.number_from_base(base).unwrap_or(0);
        match self.headers {
            FormHeaders::None => Extension::None,
            FormHeaders::Reth {
                offset,
                length,
                key_error,
            } => Extension::Reth(Reth {
                address: remote.address + offset,
                rkey: remote.key.wrapping_add(key_error),
                length,
            }),
            FormHeaders::Atomic {
                offset,
                swap_or_add,
                compare,
            } => Extension::AtomicEth(AtomicEth {
                address: remote.address + offset,
                rkey: remote.key,
                swap_or_add: number(swap_or_add),
                compare: number(compare),
            }),
            FormHeaders::Aeth { syndrome, msn } => Extension::Aeth(Aeth {
                syndrome: syndrome.syndrome(),
                msn,
            }),
            FormHeaders::AtomicAck { msn, original } => {
                let (syndrome, msn) = (SyndromeForm::Ack.syndrome(), msn.unwrap_or(0));
                Extension::AtomicAck(Aeth { syndrome, msn }, number(original))
            }
        }
    }
}
