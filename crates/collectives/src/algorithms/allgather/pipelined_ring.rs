//! Allgather along a ring that passes on long blocks piece by piece: a piece is as long as the
//! shortest block, but not shorter than a segment.
//!
//! Blocks of one length are one piece each, which makes the usual ring.
//!
//! Source: MPICH, `MPIR_Allgatherv_intra_ring`, with segments of 32 KiB; SMPI,
//! `allgatherv-mpich-ring.cpp`, with segments of 256 KiB.

use super::{block, copy_own};
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static PIPELINED_RING: Algorithm = Algorithm {
    name: "pipelined_ring",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "ring that passes on long blocks in pieces of the length of the shortest block",
    time: "(p − 1) (α + n β)",
    rounds: |call| 1 + pieces(call, call.rank).max(pieces(call, call.rank_below(1))),
    round,
    ..Algorithm::BASE
};

fn piece_length(call: &Call) -> u64 {
    let floor = match call.segment {
        0 => 32 * 1024,
        segment => segment,
    };
    let shortest = match &call.blocks {
        Some(_) => {
            let lengths = (0..call.size).map(|rank| call.recv_block(rank).length);
            lengths.min().unwrap_or(0)
        }
        None => call.bytes,
    };
    shortest.max(floor)
}

/// Returns the number of pieces of a block; an empty block has one, which is not sent.
fn piece_count(length: u64, piece: u64) -> u32 {
    u32::try_from(length.div_ceil(piece)).map_or(u32::MAX, |count| count.max(1))
}

/// Returns the ranks with blocks that pass from `first` to the next rank, in the order of passing.
fn passing(call: &Call, first: u32) -> impl Iterator<Item = u32> {
    let size = call.size;
    (0..size - 1).map(move |distance| (first + size - distance) % size)
}

/// Returns the number of pieces that pass from `first` to the next rank.
fn pieces(call: &Call, first: u32) -> u32 {
    if call.blocks.is_none() {
        return (call.size - 1).saturating_mul(piece_count(call.bytes, piece_length(call)));
    }
    let piece = piece_length(call);
    let counts = passing(call, first).map(|rank| piece_count(call.recv_block(rank).length, piece));
    counts.fold(0, u32::saturating_add)
}

/// Returns a piece that passes from `first` to the next rank; empty if `number` is too large.
fn nth(call: &Call, first: u32, mut number: u32) -> Part {
    let piece = piece_length(call);
    for rank in passing(call, first) {
        let whole = block(call, rank);
        let pieces = piece_count(whole.length, piece);
        if number < pieces {
            let offset = u64::from(number) * piece;
            return Part {
                offset: whole.offset + offset,
                length: piece.min(whole.length - offset),
                ..whole
            };
        }
        number -= pieces;
    }
    Part::EMPTY
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let (above, below) = (call.rank_above(1), call.rank_below(1));
    let out = nth(call, call.rank, round - 1);
    let into = nth(call, below, round - 1);
    match (out.length, into.length) {
        (0, 0) => {}
        (0, _) => steps.recv(below, into),
        (_, 0) => steps.send(above, out),
        _ => steps.exchange(above, out, below, into),
    }
}
