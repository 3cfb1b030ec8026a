//! A break between two segments: kind and place.
//!
//! The points show only that the break lies between two sizes, l and h. In this order:
//!
//! 1. a known threshold is the break, exactly;
//! 2. if the two lines meet between l and h, the curve bends there without a jump: a *kink*;
//! 3. otherwise the curve jumps at a guessed size: at the power of two nearest to √(l h) if there
//!    is one in \[l, h), as the last size of the old segment, or else at √(l h), as in gaps that
//!    have been measured down to 3 %. Both are guesses, in place and in side, and [`Break::gap`] is
//!    the range of the true place.
//!
//! Wrong guesses cause the largest errors of a fit: measure more sizes inside the gap, or name the
//! threshold.

use super::segment::Line;
use crate::point::bytes;

/// The factor between the sizes of a gap below which no place is guessed: someone has looked.
const REFINED: f64 = 1.03;

/// Continuation of a curve at a break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BreakKind {
    /// A threshold that was known before.
    Forced,
    /// The lines meet.
    Kink,
    /// They do not: the time jumps, up or down.
    Jump,
}

/// Between two segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Break {
    /// Known, kink or jump.
    pub kind: BreakKind,
    /// Bytes: larger messages belong to the new segment, and this one to the old.
    pub above: u64,
    /// Bytes: the neighbouring measured sizes around the break.
    pub gap: (u64, u64),
    /// By which factor the time grows at the break, as the lines say: 1 at a kink, below 1 for a
    /// jump downwards.
    pub jump: f64,
}

impl BreakKind {
    /// Returns the name of the kind in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Kink => "kink",
            Self::Jump => "jump",
        }
    }
}

impl Break {
    /// The factor between the two sizes of the gap: 1.1 says that the place is known to 10 %.
    pub fn width(&self) -> f64 {
        bytes(self.gap.1) / bytes(self.gap.0).max(1.0)
    }

    /// Returns true if the place is a guess within the gap.
    pub fn is_uncertain(&self) -> bool {
        self.kind == BreakKind::Jump && self.width() > 1.1
    }
}

/// The break between two lines, in the gap between neighbouring sizes.
pub(crate) fn between(old: Line, new: Line, gap: (u64, u64), forced: &[u64]) -> Break {
    let (low, high) = (bytes(gap.0), bytes(gap.1));
    let middle = (low.max(1.0) * high).sqrt();
    let jump = new.time_at(middle) / old.time_at(middle);
    if let Some(threshold) = forced.iter().find(|at| gap.0 < **at && **at <= gap.1) {
        let at = bytes(*threshold);
        return Break {
            kind: BreakKind::Forced,
            above: threshold - 1,
            gap: (threshold - 1, *threshold),
            jump: new.time_at(at) / old.time_at(at),
        };
    }
    let meet = (old.intercept_s - new.intercept_s) / (new.slope_s - old.slope_s);
    if meet.is_finite() && (low..=high).contains(&meet) {
        return Break {
            kind: BreakKind::Kink,
            above: whole_size(meet),
            gap,
            jump: 1.0,
        };
    }
    let guess = power_of_two(gap, middle).filter(|_| high > REFINED * low);
    Break {
        kind: BreakKind::Jump,
        above: guess.unwrap_or_else(|| whole_size(middle)),
        gap,
        jump,
    }
}

/// The power of two in [l, h) nearest to `middle` in logarithm; the smaller of two that are equally
/// near.
fn power_of_two(gap: (u64, u64), middle: f64) -> Option<u64> {
    let factor = |power: u64| {
        let ratio = bytes(power) / middle;
        ratio.max(1.0 / ratio)
    };
    (0..63)
        .map(|exponent| 1_u64 << exponent)
        .filter(|power| gap.0 <= *power && *power < gap.1)
        .min_by(|one, other| factor(*one).total_cmp(&factor(*other)))
}

/// The size below a place between sizes.
fn whole_size(place: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two sizes"
    )]
    let size = place as u64;
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: Line = Line {
        intercept_s: 10.0,
        slope_s: 0.0,
    };

    #[test]
    fn lines_that_meet_in_the_gap_are_a_kink_there() {
        let steep = Line {
            intercept_s: 0.0,
            slope_s: 0.1,
        };
        let found = between(FLAT, steep, (70, 140), &[]);
        assert_eq!((found.kind, found.above), (BreakKind::Kink, 100));
        let found = between(FLAT, steep, (110, 140), &[]);
        assert_eq!((found.kind, found.above), (BreakKind::Jump, 128));
    }

    #[test]
    fn a_jump_is_at_the_power_of_two_or_in_the_middle() {
        let higher = Line {
            intercept_s: 20.0,
            slope_s: 0.0,
        };
        for (gap, above) in [
            ((1000, 4000), 2048),
            ((1024, 2048), 1024),
            ((130, 200), 161),
        ] {
            let found = between(FLAT, higher, gap, &[]);
            assert_eq!((found.kind, found.above), (BreakKind::Jump, above));
            assert_eq!(found.jump, 2.0);
        }
        assert!(between(FLAT, higher, (130, 200), &[]).is_uncertain());
    }

    #[test]
    fn a_known_threshold_is_exact() {
        let higher = Line {
            intercept_s: 20.0,
            slope_s: 0.0,
        };
        let found = between(FLAT, higher, (1000, 4000), &[3000]);
        assert_eq!((found.kind, found.above), (BreakKind::Forced, 2999));
        assert!(!found.is_uncertain());
    }
}
