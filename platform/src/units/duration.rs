//! Durations: seconds and their decimal parts.

use sim_core::Time;

use super::{Kind, Quantity, Unit};

/// A duration, such as `"1.3us"`, `"500ns"`, `"20ms"` or `"1s"`; finite, zero allowed.
pub type Duration = Quantity<DurationKind>;

/// The kind of [`Duration`].
#[derive(Debug)]
pub struct DurationKind;

impl Kind for DurationKind {
    const NAME: &'static str = "a duration";
    const EXAMPLES: &'static str = "\"1.3us\", \"500ns\", \"20ms\" or \"1s\"";
    const ZERO: bool = true;
    const RANGE: std::ops::RangeInclusive<f64> = 0.0..=Time::HORIZON.as_secs();
    const UNITS: &'static [Unit] = &[
        unit("s", 0, 0),
        unit("ms", -3, 0),
        unit("us", -6, 0),
        unit("ns", -9, 0),
        unit("ps", -12, 0),
        // The micro sign, and the Greek letter that keyboards have.
        unit("\u{b5}s", -6, 0),
        unit("\u{3bc}s", -6, 0),
    ];
}

const fn unit(name: &'static str, decimal: i32, binary: i32) -> Unit {
    Unit {
        name,
        decimal,
        binary,
    }
}

impl Default for Duration {
    /// Returns `"0s"`.
    fn default() -> Self {
        Self::from_text_value("0s".to_owned(), 0.0)
    }
}

impl Quantity<DurationKind> {
    /// The duration in seconds.
    #[must_use]
    pub const fn as_secs(&self) -> f64 {
        self.value
    }

    /// The duration as a span of virtual time.
    #[must_use]
    pub fn span(&self) -> sim_core::Span {
        sim_core::Span::from_secs(self.value)
    }
}
