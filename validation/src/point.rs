//! Points of a fit: one time for each size, with the uncertainty.

/// One size and the measured time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Bytes of payload.
    pub size: u64,
    /// Seconds, above 0.
    pub time_s: f64,
    /// The relative standard error of the time: 0.02 is 2 %; 0 if unknown.
    pub error: f64,
}

impl Point {
    /// Returns a point of a table, with unknown uncertainty.
    pub const fn of_table(size: u64, time_s: f64) -> Self {
        Self {
            size,
            time_s,
            error: 0.0,
        }
    }

    /// The size as a number to compute with.
    pub fn x(&self) -> f64 {
        bytes(self.size)
    }
}

/// A size as a number to compute with.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes of messages are far below 2^53"
)]
pub(crate) const fn bytes(size: u64) -> f64 {
    size as f64
}

/// A count as a number to compute with.
#[expect(
    clippy::cast_precision_loss,
    reason = "there are far fewer than 2^53 of anything that is counted here"
)]
pub(crate) const fn count(number: usize) -> f64 {
    number as f64
}
