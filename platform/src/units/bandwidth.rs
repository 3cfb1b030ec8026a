//! Bandwidths: bits (`b`) or bytes (`B`) per second.

use super::{Kind, Quantity, Unit};

/// A bandwidth, such as `"100Gbps"` (bits/s), `"12.5GBps"` or `"12.5GB/s"` (bytes/s); finite and
/// above zero.
pub type Bandwidth = Quantity<BandwidthKind>;

/// The kind of [`Bandwidth`].
#[derive(Debug)]
pub struct BandwidthKind;

impl Kind for BandwidthKind {
    const NAME: &'static str = "a bandwidth";
    const EXAMPLES: &'static str = "\"100Gbps\" (bits/s) or \"12.5GBps\" (bytes/s)";
    const ZERO: bool = false;
    const RANGE: std::ops::RangeInclusive<f64> = super::RATES;
    const UNITS: &'static [Unit] = &[
        unit("bps", 0, -3),
        unit("kbps", 3, -3),
        unit("Mbps", 6, -3),
        unit("Gbps", 9, -3),
        unit("Tbps", 12, -3),
        unit("Pbps", 15, -3),
        unit("Ebps", 18, -3),
        unit("Kibps", 0, 7),
        unit("Mibps", 0, 17),
        unit("Gibps", 0, 27),
        unit("Tibps", 0, 37),
        unit("Pibps", 0, 47),
        unit("Eibps", 0, 57),
        unit("Bps", 0, 0),
        unit("kBps", 3, 0),
        unit("MBps", 6, 0),
        unit("GBps", 9, 0),
        unit("TBps", 12, 0),
        unit("PBps", 15, 0),
        unit("EBps", 18, 0),
        unit("KiBps", 0, 10),
        unit("MiBps", 0, 20),
        unit("GiBps", 0, 30),
        unit("TiBps", 0, 40),
        unit("PiBps", 0, 50),
        unit("EiBps", 0, 60),
        unit("b/s", 0, -3),
        unit("kb/s", 3, -3),
        unit("Mb/s", 6, -3),
        unit("Gb/s", 9, -3),
        unit("Tb/s", 12, -3),
        unit("Pb/s", 15, -3),
        unit("Eb/s", 18, -3),
        unit("Kib/s", 0, 7),
        unit("Mib/s", 0, 17),
        unit("Gib/s", 0, 27),
        unit("Tib/s", 0, 37),
        unit("Pib/s", 0, 47),
        unit("Eib/s", 0, 57),
        unit("B/s", 0, 0),
        unit("kB/s", 3, 0),
        unit("MB/s", 6, 0),
        unit("GB/s", 9, 0),
        unit("TB/s", 12, 0),
        unit("PB/s", 15, 0),
        unit("EB/s", 18, 0),
        unit("KiB/s", 0, 10),
        unit("MiB/s", 0, 20),
        unit("GiB/s", 0, 30),
        unit("TiB/s", 0, 40),
        unit("PiB/s", 0, 50),
        unit("EiB/s", 0, 60),
        unit("bit/s", 0, -3),
        unit("kbit/s", 3, -3),
        unit("Mbit/s", 6, -3),
        unit("Gbit/s", 9, -3),
        unit("Tbit/s", 12, -3),
        unit("Pbit/s", 15, -3),
        unit("Ebit/s", 18, -3),
        unit("Kibit/s", 0, 7),
        unit("Mibit/s", 0, 17),
        unit("Gibit/s", 0, 27),
        unit("Tibit/s", 0, 37),
        unit("Pibit/s", 0, 47),
        unit("Eibit/s", 0, 57),
    ];
}

const fn unit(name: &'static str, decimal: i32, binary: i32) -> Unit {
    Unit {
        name,
        decimal,
        binary,
    }
}

impl Quantity<BandwidthKind> {
    /// The bandwidth in bytes per second.
    #[must_use]
    pub const fn bytes_per_s(&self) -> f64 {
        self.value
    }
}

/// A bandwidth from some date on; at zero no transfer proceeds.
pub type ProfileBandwidth = Quantity<ProfileBandwidthKind>;

/// The kind of [`ProfileBandwidth`].
#[derive(Debug)]
pub struct ProfileBandwidthKind;

impl Kind for ProfileBandwidthKind {
    const NAME: &'static str = BandwidthKind::NAME;
    const EXAMPLES: &'static str = BandwidthKind::EXAMPLES;
    const ZERO: bool = true;
    const RANGE: std::ops::RangeInclusive<f64> = BandwidthKind::RANGE;
    const UNITS: &'static [Unit] = BandwidthKind::UNITS;
}

impl Quantity<ProfileBandwidthKind> {
    /// The bandwidth in bytes per second.
    #[must_use]
    pub const fn bytes_per_s(&self) -> f64 {
        self.value
    }
}
