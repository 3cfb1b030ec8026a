//! Rates of links: the time that a byte takes on the wire, exact for every InfiniBand rate.
//!
//! Effective rates count the data that a link carries after line coding and forward error
//! correction. *Not modelled*: the latency of the error correction; add it to that of the switch.

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

/// Signalling rate of an InfiniBand lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InfinibandSpeed {
    /// Single data rate, 2.5 Gb/s, coded 8b/10b.
    Sdr,
    /// Double data rate, 5 Gb/s, coded 8b/10b.
    Ddr,
    /// Quad data rate, 10 Gb/s, coded 8b/10b.
    Qdr,
    /// Fourteen data rate at 10.3125 Gb/s, coded 64b/66b.
    Fdr10,
    /// Fourteen data rate, 14.0625 Gb/s, coded 64b/66b.
    Fdr,
    /// Enhanced data rate, 25.78125 Gb/s, coded 64b/66b.
    Edr,
    /// High data rate, 53.125 Gb/s with forward error correction.
    Hdr,
    /// Next data rate, 106.25 Gb/s with forward error correction.
    Ndr,
    /// Extreme data rate, 212.5 Gb/s with forward error correction.
    Xdr,
}

impl InfinibandSpeed {
    /// Every speed, slowest first.
    pub const ALL: [Self; 9] = [
        Self::Sdr,
        Self::Ddr,
        Self::Qdr,
        Self::Fdr10,
        Self::Fdr,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
        Self::Xdr,
    ];

    /// Returns the standard's abbreviation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        }
    }

    /// Returns the signalling rate of a lane, in kb/s before coding.
    ///
    /// Source: table of rates of infiniband.jp and the ConnectX-6 manual; FDR10 and XDR from
    /// general knowledge.
    pub const fn lane_kilobits(self) -> u64 {
        match self {
            Self::Sdr => 2_500_000,
            Self::Ddr => 5_000_000,
            Self::Qdr => 10_000_000,
            Self::Fdr10 => 10_312_500,
            Self::Fdr => 14_062_500,
            Self::Edr => 25_781_250,
            Self::Hdr => 53_125_000,
            Self::Ndr => 106_250_000,
            Self::Xdr => 212_500_000,
        }
    }

    /// Returns the effective rate of a link of `width` lanes.
    ///
    /// 8b/10b carries 8 of 10 bits, 64b/66b carries 64 of 66; with forward error correction (HDR
    /// and later) 16 of 17 remain of the signalling rate.
    pub const fn rate(self, width: u64) -> WireRate {
        let (data, coded) = match self {
            Self::Sdr | Self::Ddr | Self::Qdr => (8, 10),
            Self::Fdr10 | Self::Fdr | Self::Edr => (64, 66),
            Self::Hdr | Self::Ndr | Self::Xdr => (16, 17),
        };
        // 8 bits × 10^9 ps/ms per byte, over kb/s.
        let numerator = UNIT_BYTES * 8_000_000_000 * coded;
        let denominator = self.lane_kilobits() * data * width;
        WireRate {
            ps_per_unit: numerator.div_ceil(denominator),
        }
    }
}
