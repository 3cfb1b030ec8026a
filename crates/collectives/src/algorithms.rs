//! The algorithms, one file each, with the algorithms that differ in a parameter in one file; a new
//! one is a file and a line.

use std::sync::LazyLock;

use crate::{Algorithm, Collective};

mod allgather;
pub(crate) mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
pub(crate) mod between;
pub(crate) mod gather;
mod independent;
mod neighbors;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;

pub use independent::independent;

/// All algorithms, by the kind of operation.
pub const ALGORITHMS: &[&[&Algorithm]] = &[
    barrier::ALL,
    bcast::ALL,
    reduce::ALL,
    gather::ALL,
    scatter::ALL,
    allreduce::ALL,
    allgather::ALL,
    alltoall::ALL,
    reduce_scatter::ALL,
    scan::ALL,
];

/// The barrier by dissemination.
pub const DISSEMINATION: &Algorithm = &barrier::dissemination::DISSEMINATION;

/// The exchange between neighbours.
pub const NEIGHBORS: &Algorithm = &neighbors::LINEAR;

/// The alltoall in place.
pub const SENDRECV_REPLACE: &Algorithm = &alltoall::sendrecv_replace::SENDRECV_REPLACE;

/// The algorithms of each kind of operation.
static BY_KIND: LazyLock<[Vec<&'static Algorithm>; Collective::ALL.len()]> = LazyLock::new(|| {
    let all = || ALGORITHMS.iter().copied().flatten().copied();
    Collective::ALL.map(|kind| {
        all()
            .filter(|algorithm| algorithm.collectives.contains(&kind))
            .collect()
    })
});

/// Returns the algorithms of a kind of operation.
pub fn named(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    BY_KIND[collective as usize].iter().copied()
}

/// Returns the algorithm of a kind of operation that has this name.
#[must_use]
pub fn find(collective: Collective, name: &str) -> Option<&'static Algorithm> {
    named(collective).find(|algorithm| algorithm.name == name)
}
