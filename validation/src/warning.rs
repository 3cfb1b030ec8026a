//! Facts to know before trusting a calibration: warnings with codes, the most severe
//! first.

use std::fmt;

/// Kind of a warning; the order is that of severity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Code {
    /// A model without segments predicts better.
    Model,
    /// Sessions differ.
    Session,
    /// The machine changed its speed within a session.
    States,
    /// More processes that poll than processors.
    Oversubscribed,
    /// A threshold is not where the times put it.
    Threshold,
    /// The split between calls and network is not what was measured.
    Overlap,
    /// Messages share neither one link nor have one each.
    Sharing,
    /// The clock is too slow, or runs backwards.
    Clock,
    /// The handshake is not written as it was asked for.
    RendezvousCost,
    /// The time falls from one size to the next.
    NonMonotone,
    /// A break is known only to lie in a wide gap.
    Gap,
    /// Too few samples.
    Few,
    /// The machine was noisy.
    Noise,
    /// The messages were paced.
    Paced,
    /// Sizes outside those that were fitted.
    Extrapolated,
    /// The measured pattern is no ping-pong.
    Stream,
}

impl Code {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "W-MODEL",
            Self::Session => "W-SESSION",
            Self::NonMonotone => "W-NONMONOTONE",
            Self::Gap => "W-BREAKPOINT",
            Self::Few => "W-SAMPLES",
            Self::Noise => "W-NOISE",
            Self::Paced => "W-PACING",
            Self::Extrapolated => "W-EXTRAPOLATION",
            Self::Stream => "W-STREAM",
            Self::States => "W-SPEED",
            Self::Oversubscribed => "W-OVERSUBSCRIBED",
            Self::Threshold => "W-THRESHOLD",
            Self::Overlap => "W-OVERLAP",
            Self::Sharing => "W-CONTENTION",
            Self::Clock => "W-CLOCK",
            Self::RendezvousCost => "W-RENDEZVOUS",
        }
    }
}

/// One warning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Warning {
    /// Its kind.
    pub code: Code,
    /// Observation, and what to do.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.text)
    }
}
