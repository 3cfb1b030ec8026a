//! A packet of the transport layer: from the base transport header to the padding.
//!
//! *Not decided here*: the checksums, which depend on the network headers before the packet.

use super::{Bth, Extension, WireError, split};

/// A packet of the transport layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    bth: Bth,
    extension: Extension,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The largest payload in bytes: the largest path MTU. IBA 9.5.
    pub const PAYLOAD_MAX: usize = 4096;

    /// Returns a packet; `payload` excludes the padding.
    ///
    /// # Panics
    /// If the opcode requires other extended headers, or the payload is larger than
    /// [`PAYLOAD_MAX`](Self::PAYLOAD_MAX).
    #[must_use]
    pub fn new(bth: Bth, extension: Extension, payload: &'a [u8]) -> Self {
        let (asked, given) = (bth.opcode.layout(), extension.layout());
        assert!(
            asked == given,
            "{:?} has the headers {asked:?}, not {given:?}",
            bth.opcode
        );
        let length = payload.len();
        assert!(length <= Self::PAYLOAD_MAX, "{length} bytes in one packet");
        Self {
            bth,
            extension,
            payload,
        }
    }

    /// Returns the base transport header.
    #[must_use]
    pub const fn bth(&self) -> &Bth {
        &self.bth
    }

    /// Returns the extended headers.
    #[must_use]
    pub const fn extension(&self) -> &Extension {
        &self.extension
    }

    /// Returns the payload without padding.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Appends the packet, padded to four bytes.
    pub fn emit(&self, into: &mut Vec<u8>) {
        let pad = self.payload.len().wrapping_neg() % 4;
        into.reserve(Bth::LENGTH + self.extension.length() + self.payload.len() + pad);
        #[expect(clippy::cast_possible_truncation, reason = "at most 3")]
        self.bth.emit(pad as u8, into);
        self.extension.emit(into);
        into.extend_from_slice(self.payload);
        into.extend_from_slice(&[0; 3][..pad]);
    }

    /// Reads a packet that fills `bytes`.
    ///
    /// # Errors
    /// [`WireError`] if a header is not complete or not supported, or the rest is shorter than the
    /// padding or longer than [`PAYLOAD_MAX`](Self::PAYLOAD_MAX).
    pub fn parse(mut bytes: &'a [u8]) -> Result<Self, WireError> {
        let (bth, pad) = Bth::parse(&mut bytes)?;
        let extension = Extension::parse(bth.opcode.layout(), &mut bytes)?;
        let length = bytes.len().checked_sub(pad).ok_or(WireError::Short {
            expected: pad,
            found: bytes.len(),
        })?;
        if length > Self::PAYLOAD_MAX {
            return Err(WireError::Payload(length));
        }
        let (payload, _) = split(bytes, length)?;
        Ok(Self {
            bth,
            extension,
            payload,
        })
    }
}
