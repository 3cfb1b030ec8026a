//! Allreduce along a ring in pieces: a piece passes through all ranks twice, first to be reduced
//! and then as a result, before the next one begins.
//!
//! *Not modelled*: channels with rings of their own order. A message has the chunks of all
//! channels, and a ring follows the numbers of the ranks.
//!
//! Source: NCCL 2.30, `src/device/all_reduce.h` (`runRing`): a piece is a chunk of each channel for
//! each rank.

use super::ring::RING;
use crate::{Algorithm, Requirement, pipeline};

pub(crate) static CHUNKED_RING: Algorithm = Algorithm {
    name: "chunked_ring",
    about: "ring of one piece after the other (0: 64 KiB), whose blocks can be empty",
    time: "2 k (p − 1) α + 2 n (p − 1) / p β + n (p − 1) / p γ with k pieces",
    needs: Requirement::None,
    fallback: "",
    temp: |call| pipeline::temp_bytes(&RING, call),
    rounds: |call| pipeline::round_count(&RING, call),
    round: |call, round, steps| pipeline::make_round(&RING, call, round, steps),
    ..RING
};
