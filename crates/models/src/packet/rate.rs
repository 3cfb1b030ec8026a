//! Rates of links: the time that a byte takes on the wire, exact for every InfiniBand rate.
//!
//! Effective rates count the data that a link carries after line coding and forward error
//! correction. *Not modelled*: the latency of the error correction; add it to the switch latency.

/// Bytes in which every InfiniBand rate is a whole number of picoseconds: 3 blocks of 64 bytes.
const UNIT_BYTES: u64 = 192;

/// Time per byte of a directed link, stored in picoseconds per 192 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WireRate {
    ps_per_unit: u64,
}

impl WireRate {
    /// Returns the rate at which a byte takes `ps` picoseconds.
    pub const fn from_ps_per_byte(ps: u64) -> Self {
        Self {
            ps_per_unit: ps * UNIT_BYTES,
        }
    }

    /// Returns the rate nearest to `bytes` per second; an infinite rate takes no time.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "positive, and conversions saturate"
    )]
    pub fn from_bytes_per_second(bytes: f64) -> Self {
        Self {
            ps_per_unit: libm::round(UNIT_BYTES as f64 * 1e12 / bytes) as u64,
        }
    }

    /// Returns the time of `bytes` on the wire, in picoseconds, rounded up.
    pub const fn wire_time(self, bytes: u32) -> u64 {
        (self.ps_per_unit * bytes as u64).div_ceil(UNIT_BYTES)
    }

    /// Returns the rate in bits per second.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn bits_per_second(self) -> f64 {
        8e12 * UNIT_BYTES as f64 / self.ps_per_unit as f64
    }
}
