//! Hierarchical algorithms in pieces: a long message passes the levels piece by piece, so that
//! ranks of one level work on a piece while ranks of another level work on the previous piece.
//!
//! *Not modelled*: overlap in a leader. A leader belongs to two levels; here it finishes one level
//! before the other begins, while HAN overlaps both by nonblocking operations. The time of each
//! piece is longer by up to the time of the shorter level.
//!
//! Source: Open MPI 5.0, `ompi/mca/coll/han`: pieces of 64 KiB.

use crate::parts::Places;
use crate::segments::Segments;
use crate::{Algorithm, Area, Call, Steps};

/// Length of a piece in bytes, unless the call sets another one: `han_bcast_segsize`,
/// `han_reduce_segsize` and `han_allreduce_segsize`.
const PIECE: u64 = 64 << 10;

/// A message cut into pieces of whole elements; lengths of pieces differ by at most one element.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    count: u32,
    /// Number of pieces that have one element more; they come first.
    longer: u32,
    /// Length of the other pieces in bytes.
    bytes: u64,
    element: u64,
}

impl Pieces {
    fn from_call(call: &Call) -> Self {
        let count = Segments::from_call(call, PIECE).count();
        let (each, longer) = (
            call.count() / u64::from(count),
            call.count() % u64::from(count),
        );
        Self {
            count,
            longer: u32::try_from(longer).unwrap_or(u32::MAX),
            bytes: each * call.element,
            element: call.element,
        }
    }

    fn piece_bytes(self, piece: u32) -> u64 {
        self.bytes + self.element * u64::from(piece < self.longer)
    }

    fn offset(self, piece: u32) -> u64 {
        u64::from(piece) * self.bytes + u64::from(piece.min(self.longer)) * self.element
    }

    fn piece_call(self, call: &Call, piece: u32) -> Call {
        Call {
            bytes: self.piece_bytes(piece),
            ..call.clone()
        }
    }

    /// Returns the numbers of rounds of a longer and of another piece.
    fn piece_rounds(self, whole: &Algorithm, call: &Call) -> (u32, u32) {
        let last = (whole.rounds)(&self.piece_call(call, self.count - 1));
        let first = match self.longer {
            0 => last,
            _ => (whole.rounds)(&self.piece_call(call, 0)),
        };
        (first, last)
    }
}

/// Returns a call of the shortest piece, for which the algorithms of the levels are selected.
pub(crate) fn shortest(call: &Call) -> Call {
    let pieces = Pieces::from_call(call);
    pieces.piece_call(call, pieces.count - 1)
}

/// Returns the memory of a hierarchical algorithm that executes a call piece by piece.
pub(crate) fn temp_bytes(whole: &Algorithm, call: &Call) -> u64 {
    let pieces = Pieces::from_call(call);
    let of = |piece| (whole.temp)(&pieces.piece_call(call, piece));
    of(0).max(of(pieces.count - 1))
}

/// Returns the number of rounds of a hierarchical algorithm that executes a call piece by piece.
pub(crate) fn round_count(whole: &Algorithm, call: &Call) -> u32 {
    let pieces = Pieces::from_call(call);
    let (longer, other) = pieces.piece_rounds(whole, call);
    pieces.longer * longer + (pieces.count - pieces.longer) * other
}

/// Makes the steps of a round of a hierarchical algorithm that executes a call piece by piece.
pub(crate) fn make_round(whole: &Algorithm, call: &Call, round: u32, steps: &mut dyn Steps) {
    let pieces = Pieces::from_call(call);
    let (longer, other) = pieces.piece_rounds(whole, call);
    let behind = round.checked_sub(pieces.longer * longer);
    let (piece, round) = match behind {
        None => (round / longer, round % longer),
        Some(round) => (pieces.longer + round / other, round % other),
    };
    let places = Places {
        recv: (Area::Recv, pieces.offset(piece)),
        ..Places::behind(0)
    };
    places.run(whole, &pieces.piece_call(call, piece), round, steps);
}
