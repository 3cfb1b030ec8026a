//! Facts to know before trusting a calibration: warnings with codes, the most severe
//! first.

use std::fmt;

/// Kind of a warning; the kinds are ordered by severity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Code {
    /// A model without segments predicts better.
    Model,
    /// Sessions differ.
    Session,
    /// The machine changed speed within a session.
    States,
    /// More processes that poll than processors.
    Oversubscribed,
    /// A known threshold differs from the threshold that the times show.
    Threshold,
    /// The split between calls and network differs from the measured split.
    Overlap,
    /// Messages share neither one link nor have one each.
    Sharing,
    /// The clock is too slow, or runs backwards.
    Clock,
    /// The handshake is not written in the requested form.
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
    /// Sizes outside the fitted sizes.
    Extrapolated,
    /// The measured pattern is no ping-pong.
    Stream,
}

impl Code {
    /// Returns the printed code.
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
    /// The kind of the warning.
    pub code: Code,
    /// The observation, and the advice to the user.
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
