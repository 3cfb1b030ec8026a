//! Sizes: bytes.

use super::{Kind, Quantity, Unit};

/// An amount of data, such as `"1MiB"`, `"64KiB"` or `"1500B"`; a whole number of bytes, zero
/// allowed.
pub type Size = Quantity<SizeKind>;

/// The kind of [`Size`].
#[derive(Debug)]
pub struct SizeKind;

impl Kind for SizeKind {
    const NAME: &'static str = "a size";
    const EXAMPLES: &'static str = "\"1MiB\", \"64KiB\" or \"1500B\"";
    const ZERO: bool = true;
    const WHOLE: bool = true;
    const UNITS: &'static [Unit] = &[
        unit("B", 0, 0),
        unit("kB", 3, 0),
        unit("MB", 6, 0),
        unit("GB", 9, 0),
        unit("TB", 12, 0),
        unit("PB", 15, 0),
        unit("EB", 18, 0),
        unit("KiB", 0, 10),
        unit("MiB", 0, 20),
        unit("GiB", 0, 30),
        unit("TiB", 0, 40),
        unit("PiB", 0, 50),
        unit("EiB", 0, 60),
    ];
}

const fn unit(name: &'static str, decimal: i32, binary: i32) -> Unit {
    Unit {
        name,
        decimal,
        binary,
    }
}

impl From<u32> for Size {
    /// Returns a size in bytes, with the text `"NB"`.
    fn from(bytes: u32) -> Self {
        Self::from_text_value(format!("{bytes}B"), bytes.into())
    }
}

impl Quantity<SizeKind> {
    /// The size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        // Whole and below 2^63: checked when the text was read.
        self.value as u64
    }
}
