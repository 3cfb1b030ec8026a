//! Speeds of computation: floating-point operations per second.

use super::{Kind, Quantity, Unit};

/// A speed of one core, such as `"16Gf"` (16e9 flop/s); finite; zero makes sense in some power
/// states only.
pub type Speed = Quantity<SpeedKind>;

/// The kind of [`Speed`].
#[derive(Debug)]
pub struct SpeedKind;

impl Kind for SpeedKind {
    const NAME: &'static str = "a speed";
    const EXAMPLES: &'static str = "\"16Gf\" (flop/s)";
    const ZERO: bool = true;
    const RANGE: std::ops::RangeInclusive<f64> = super::RATES;
    const UNITS: &'static [Unit] = &[
        unit("f", 0, 0),
        unit("kf", 3, 0),
        unit("Mf", 6, 0),
        unit("Gf", 9, 0),
        unit("Tf", 12, 0),
        unit("Pf", 15, 0),
        unit("Ef", 18, 0),
        unit("Kif", 0, 10),
        unit("Mif", 0, 20),
        unit("Gif", 0, 30),
        unit("Tif", 0, 40),
        unit("Pif", 0, 50),
        unit("Eif", 0, 60),
        unit("flops", 0, 0),
        unit("kflops", 3, 0),
        unit("Mflops", 6, 0),
        unit("Gflops", 9, 0),
        unit("Tflops", 12, 0),
        unit("Pflops", 15, 0),
        unit("Eflops", 18, 0),
        unit("Kiflops", 0, 10),
        unit("Miflops", 0, 20),
        unit("Giflops", 0, 30),
        unit("Tiflops", 0, 40),
        unit("Piflops", 0, 50),
        unit("Eiflops", 0, 60),
        unit("flop/s", 0, 0),
        unit("kflop/s", 3, 0),
        unit("Mflop/s", 6, 0),
        unit("Gflop/s", 9, 0),
        unit("Tflop/s", 12, 0),
        unit("Pflop/s", 15, 0),
        unit("Eflop/s", 18, 0),
        unit("Kiflop/s", 0, 10),
        unit("Miflop/s", 0, 20),
        unit("Giflop/s", 0, 30),
        unit("Tiflop/s", 0, 40),
        unit("Piflop/s", 0, 50),
        unit("Eiflop/s", 0, 60),
    ];
}

const fn unit(name: &'static str, decimal: i32, binary: i32) -> Unit {
    Unit {
        name,
        decimal,
        binary,
    }
}

impl Quantity<SpeedKind> {
    /// The speed in flop per second.
    #[must_use]
    pub const fn flop_per_s(&self) -> f64 {
        self.value
    }
}
