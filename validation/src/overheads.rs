//! Costs of the calls of sender and receiver, fitted with separate breaks, and the part of the
//! message time that remains for the network.
//!
//! The simulator adds the sender's call, the transfer and the receiver's call, so the network gets
//! the rest of the ping-pong: a' = a − a_os − a_or and b' = b − b_os − b_or, piece by piece.
//! Measured calls can exceed the ping-pong, because real calls overlap with the transfer; then both
//! calls are scaled down together until a' and b' are not negative. The ping-pong determines the
//! sum; the split matters only for overlap and message rates.
//!
//! Messages that use rendezvous have calls without cost: all of their time is network time.

use crate::fit::{Fit, FitOptions, Line, fit};
use crate::point::{Point, bytes};
use crate::sampling::SizeSummary;

/// The costs of calls over size; `None` where a call was not measured.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CallCosts {
    /// A blocking send.
    pub os: Option<Fit>,
    /// A send that does not block.
    pub ois: Option<Fit>,
    /// A receive.
    pub or: Option<Fit>,
}

/// A range of sizes on which everything is one line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostSegment {
    /// The largest size below the piece; the first piece begins with the empty message.
    pub above: u64,
    /// The largest size for which the piece is known, in bytes.
    pub largest: u64,
    /// Times of the ping-pong.
    pub whole: Line,
    /// The blocking send, scaled.
    pub os: Line,
    /// The send that does not block, scaled.
    pub ois: Line,
    /// The receive, scaled.
    pub or: Line,
    /// Part that remains for the network.
    pub wire: Line,
}

/// The pieces of a fit, by size.
#[derive(Clone, PartialEq, Debug)]
pub struct CostSplit {
    /// The pieces; at least one.
    pub pieces: Vec<CostSegment>,
    /// The largest factor by which the calls had to be made cheaper, and where: measured / used.
    pub scaled: Option<(u64, f64)>,
}

/// Fits the cost of a call at sizes below `end`, where the call is paid; `None` if the cost is 0 or
/// unknown. No table has the cost of calls of an empty message, so that size is left out.
pub(crate) fn of_call(summaries: &[SizeSummary], end: u64) -> Option<Fit> {
    let points: Vec<Point> = summaries
        .iter()
        .map(|summary| summary.point)
        .filter(|point| point.size > 0 && point.size < end)
        .collect();
    let costs = points.iter().all(|point| point.time_s > 0.0);
    (costs && points.len() >= 2)
        .then(|| fit(&points, &FitOptions::samples()).ok())
        .flatten()
}

impl CostSplit {
    /// Splits a fit. Calls have a cost below `eager_end`; a message of no bytes carries `envelope`
    /// bytes through the network, which are not part of the line.
    pub fn new(fitted: &Fit, calls: &CallCosts, eager_end: u64, envelope: u64) -> Self {
        let mut places: Vec<u64> = vec![0];
        places.extend(fitted.breaks().iter().map(|place| place.above));
        let has_calls = calls.os.is_some() || calls.or.is_some() || calls.ois.is_some();
        if has_calls && eager_end > 0 {
            places.push(eager_end - 1);
            for call in [&calls.os, &calls.ois, &calls.or].into_iter().flatten() {
                let below = call.breaks().iter().map(|place| place.above);
                places.extend(below.filter(|above| *above < eager_end));
            }
        }
        let largest = fitted.range().1;
        places.retain(|above| *above < largest.max(1));
        places.sort_unstable();
        places.dedup();
        let mut scaled = None;
        let mut pieces = Vec::new();
        for (at, above) in places.iter().enumerate() {
            let size = above + 1;
            let last = places.get(at + 1).copied().unwrap_or(largest.max(size));
            let piece = CostSegment {
                above: *above,
                largest: last,
                whole: fitted.segments()[fitted.segment_of(size)].line,
                os: Line::default(),
                ois: Line::default(),
                or: Line::default(),
                wire: fitted.segments()[fitted.segment_of(size)].line,
            };
            pieces.push(if size < eager_end {
                eager(piece, calls, bytes(envelope), &mut scaled)
            } else {
                piece
            });
        }
        Self { pieces, scaled }
    }

    /// The piece of a message of `size` bytes.
    pub fn segment_at(&self, size: u64) -> &CostSegment {
        let after = self.pieces.partition_point(|piece| piece.above < size);
        &self.pieces[after.saturating_sub(1)]
    }
}

/// Assigns the calls their costs, and the rest to the network.
fn eager(
    mut piece: CostSegment,
    calls: &CallCosts,
    envelope: f64,
    scaled: &mut Option<(u64, f64)>,
) -> CostSegment {
    let size = piece.above + 1;
    let line = |call: &Option<Fit>| {
        call.as_ref().map_or_else(Line::default, |fit| {
            fit.segments()[fit.segment_of(size)].line
        })
    };
    let (os, ois, or) = (line(&calls.os), line(&calls.ois), line(&calls.or));
    // What is taken from a and from b, each at most all of it.
    let part = |whole: f64, of_calls: f64| {
        if of_calls > whole {
            (whole / of_calls).max(0.0)
        } else {
            1.0
        }
    };
    let per_byte = part(piece.whole.slope_s, os.slope_s + or.slope_s);
    let slope_s = piece.whole.slope_s - per_byte * (os.slope_s + or.slope_s);
    let room = (piece.whole.intercept_s - envelope * slope_s).max(0.0);
    let fixed = part(room, os.intercept_s + or.intercept_s);
    let less = |line: Line| Line {
        intercept_s: fixed * line.intercept_s,
        slope_s: per_byte * line.slope_s,
    };
    (piece.os, piece.ois, piece.or) = (less(os), less(ois), less(or));
    piece.wire = Line {
        intercept_s: (piece.whole.intercept_s - piece.os.intercept_s - piece.or.intercept_s)
            .max(0.0),
        slope_s: slope_s.max(0.0),
    };
    for size in [size, piece.largest] {
        let at = bytes(size);
        let (measured, used) = (
            os.time_at(at) + or.time_at(at),
            piece.os.time_at(at) + piece.or.time_at(at),
        );
        let factor = measured / used.max(1e-3 * measured);
        if measured > 0.0 && scaled.is_none_or(|(_, most)| factor > most) {
            *scaled = Some((size, factor));
        }
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(intercept_s: f64, slope_s: f64) -> Vec<Point> {
        (0..14)
            .map(|at| 1_u64 << at)
            .map(|size| Point::of_table(size, intercept_s + slope_s * bytes(size)))
            .collect()
    }

    fn fitted(intercept_s: f64, slope_s: f64) -> Fit {
        fit(&line(intercept_s, slope_s), &FitOptions::samples()).unwrap()
    }

    #[test]
    fn the_way_gets_what_remains() {
        let calls = CallCosts {
            os: Some(fitted(1e-6, 1e-10)),
            ois: None,
            or: Some(fitted(2e-6, 2e-10)),
        };
        let split = CostSplit::new(&fitted(10e-6, 1e-9), &calls, 4096, 0);
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
        let eager = split.segment_at(100).wire;
        assert!(
            near(eager.intercept_s, 7e-6) && near(eager.slope_s, 7e-10),
            "{eager:?}"
        );
        assert!(near(split.scaled.unwrap().1, 1.0));
        // By rendezvous all of it is the way's.
        let large = split.segment_at(4096);
        assert_eq!((large.above, large.os), (4095, Line::default()));
        assert!(near(large.wire.intercept_s, 10e-6));
    }

    #[test]
    fn calls_that_take_too_long_are_scaled_and_the_sum_stays() {
        let calls = CallCosts {
            os: Some(fitted(8e-6, 0.0)),
            ois: None,
            or: Some(fitted(4e-6, 2e-9)),
        };
        let split = CostSplit::new(&fitted(6e-6, 1e-9), &calls, 1 << 20, 16);
        let CostSegment {
            whole,
            os,
            or,
            wire,
            ..
        } = *split.segment_at(100);
        for size in [1.0, 100.0, 8000.0] {
            let sum = os.time_at(size) + or.time_at(size) + wire.time_at(size);
            assert!((sum / whole.time_at(size) - 1.0).abs() < 1e-9, "{size}");
        }
        assert!(wire.intercept_s >= 0.0 && wire.slope_s >= 0.0 && os.intercept_s > 0.0);
        assert!(split.scaled.unwrap().1 > 1.9, "{:?}", split.scaled);
    }
}
