//! Verdicts on cases.

use std::fmt;

/// The first difference between a dialogue and a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The number of the step, from 1; one more than there are for the end of the dialogue.
    pub step: usize,
    /// The packet or completion that was expected.
    pub packet: String,
    /// The field that differs.
    pub field: &'static str,
    /// The value that was expected.
    pub expected: String,
    /// The value found.
    pub got: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {}, {}: {}: expected {}, got {}",
            self.step, self.packet, self.field, self.expected, self.got
        )
    }
}

/// The verdict on a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseVerdict {
    /// The device does all that the dialogue expects.
    Pass,
    /// The device deviates from the case.
    Fail(Mismatch),
    /// The device lacks a function that the case needs: the reason.
    NotApplicable(String),
}
