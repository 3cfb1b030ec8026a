//! The syndrome of an acknowledgement: credits, receiver not ready, or an error. IBA 9.7.5.1.

use super::WireError;

/// Number of receives that a credit code stands for; code 31 means that no credits are used.
/// IBA 9.7.7.2.4, table 46.
pub const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

/// A negative acknowledgement, with the numbers of the wire format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Nak {
    /// A packet before this one is missing.
    SequenceError = 0,
    /// The request is not allowed, or has an illegal form.
    InvalidRequest = 1,
    /// The key, the address or the permission is wrong.
    RemoteAccess = 2,
    /// The responder could not execute the request.
    RemoteOperational = 3,
    /// The request on a reliable datagram is illegal.
    InvalidRdRequest = 4,
}

/// The syndrome of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Syndrome {
    /// An acknowledgement with a credit code below 32: a position in [`CREDITS`], or
    /// [`Syndrome::NO_CREDITS`].
    Ack(u8),
    /// Receiver not ready, with a timer code below 32: a position in
    /// [`RNR_TIMER_US`](crate::RNR_TIMER_US).
    RnrNak(u8),
    /// A negative acknowledgement.
    Nak(Nak),
}

impl Syndrome {
    /// The credit code of a responder without credits.
    pub const NO_CREDITS: u8 = 31;

    /// Returns the largest credit code that stands for at most `receives` posted receives.
    #[must_use]
    pub fn credit_code(receives: usize) -> u8 {
        let above = CREDITS.partition_point(|credits| usize::from(*credits) <= receives);
        u8::try_from(above.saturating_sub(1)).unwrap_or(Self::NO_CREDITS)
    }

    /// Returns the code on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ack(credits) => credits & 31,
            Self::RnrNak(timer) => 1 << 5 | timer & 31,
            Self::Nak(nak) => 3 << 5 | nak as u8,
        }
    }

    /// Returns the syndrome with this code.
    ///
    /// # Errors
    /// [`WireError::Syndrome`] if the code is reserved.
    pub const fn from_code(code: u8) -> Result<Self, WireError> {
        let low = code & 31;
        match (code >> 5, low) {
            (0, _) => Ok(Self::Ack(low)),
            (1, _) => Ok(Self::RnrNak(low)),
            (3, 0) => Ok(Self::Nak(Nak::SequenceError)),
            (3, 1) => Ok(Self::Nak(Nak::InvalidRequest)),
            (3, 2) => Ok(Self::Nak(Nak::RemoteAccess)),
            (3, 3) => Ok(Self::Nak(Nak::RemoteOperational)),
            (3, 4) => Ok(Self::Nak(Nak::InvalidRdRequest)),
            _ => Err(WireError::Syndrome(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syndromes_are_read_back() {
        let mut known = 0;
        for code in 0..=u8::MAX {
            if let Ok(syndrome) = Syndrome::from_code(code) {
                assert_eq!(syndrome.code(), code);
                known += 1;
            }
        }
        assert_eq!(known, 32 + 32 + 5);
        assert!(CREDITS.is_sorted());
    }
}
