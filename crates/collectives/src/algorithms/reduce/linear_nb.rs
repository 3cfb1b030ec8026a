//! Linear reduction with non-blocking receives: the root posts the receives from all others in the
//! order of the ranks, and reduces their contributions when all have arrived.
//!
//! The root needs memory for all contributions.
//!
//! Source: SimGrid 4.1, `src/smpi/mpi/smpi_nbc_impl.cpp`, reduce.

use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static LINEAR_NB: Algorithm = Algorithm {
    name: "linear_nb",
    collectives: &[Collective::Reduce],
    about: "the root posts the receives from all others at once",
    time: "α + (p − 1) n (β + γ)",
    ordered: true,
    temp: |call| match call.is_root() {
        true => u64::from(call.size - 1) * call.bytes,
        false => 0,
    },
    round: |call, _, steps| linear(call, Part::recv(0, call.bytes), steps),
    ..Algorithm::BASE
};

/// Reduces a part of the contributions, with the contributions of others in the area `Temp`.
pub(super) fn linear(call: &Call, own: Part, steps: &mut dyn Steps) {
    if !call.is_root() {
        return steps.send(call.root, own);
    }
    let of = |peer: u32| {
        let index = if peer < call.rank { peer } else { peer - 1 };
        Part::temp(u64::from(index) * own.length, own.length)
    };
    for peer in (0..call.size).filter(|peer| *peer != call.rank) {
        steps.irecv(peer, of(peer));
    }
    steps.wait_all();
    for peer in call.rank + 1..call.size {
        steps.reduce(of(peer), own, Operand::Right);
    }
    for peer in (0..call.rank).rev() {
        steps.reduce(of(peer), own, Operand::Left);
    }
}
