//! Reduction in memory: the sum of two vectors of doubles, as a rank of an allreduce computes it.
//!
//! The operands stay the same, so short vectors are in a cache, as a vector that has just been
//! received is. A reduction of uncached operands takes longer.

use mpi::{Buffer, Op, Result};

use crate::point::count;

/// Bytes that a sample reduces at least, so that reading the clock does not count.
const SAMPLE: u64 = 65_536;
/// Bytes of an element.
const ELEMENT: u64 = 8;

/// Returns the seconds that a sum of `size` bytes takes, by the clock `now`. A rest that is no
/// whole element is left out.
pub(crate) fn time_reduction(
    size: u64,
    repetitions: u32,
    now: impl Fn() -> f64,
) -> Result<Vec<f64>> {
    let elements = usize::try_from(size / ELEMENT).unwrap_or(usize::MAX).max(1);
    let incoming = Buffer::of(&vec![1.0; elements]);
    let mut sum = Buffer::of(&vec![0.0; elements]);
    let operation = Op::sum::<f64>();
    let times = (SAMPLE / size.max(1)).max(1);
    let mut seconds = Vec::with_capacity(repetitions as usize);
    for _ in 0..repetitions {
        let start = now();
        for _ in 0..times {
            operation.reduce_local(&incoming, &mut sum)?;
        }
        seconds.push((now() - start) / count(usize::try_from(times).unwrap_or(usize::MAX)));
    }
    Ok(seconds)
}
