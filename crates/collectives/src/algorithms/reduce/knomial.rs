//! Reduction along a k-nomial tree: each rank posts the receives from all its children, the nearest
//! child first, reduces, and sends to its parent.
//!
//! Source: MVAPICH2 1.9, k-nomial reduction.

use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static KNOMIAL: Algorithm = Algorithm {
    name: "knomial",
    collectives: &[Collective::Reduce],
    about: "k-nomial tree of radix 4 or as told, receives from all children at once",
    time: "⌈logK p⌉ (α + (K − 1) n (β + γ)) with radix K",
    temp: |call| children(call).map(|_| call.bytes).sum(),
    rounds: |call| if call.bytes == 0 { 0 } else { 1 },
    round,
    ..Algorithm::BASE
};

fn tree(call: &Call) -> Tree {
    Tree::Knomial(if call.radix < 2 { 4 } else { call.radix })
}

fn children(call: &Call) -> impl Iterator<Item = u32> {
    tree(call).children(call.relative(), call.size)
}

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let own = Part::recv(0, call.bytes);
    let incoming = |index: u64| Part::temp(index * call.bytes, call.bytes);
    let count = children(call).map(|_| 1_u32).sum::<u32>();
    for (index, position) in (0..).zip((0..count).rev()) {
        if let Some(child) = tree(call).child(call.relative(), call.size, position) {
            steps.irecv(call.absolute(child), incoming(index));
        }
    }
    steps.wait_all();
    for index in 0..u64::from(count) {
        steps.reduce(incoming(index), own, Operand::Left);
    }
    if let Some(parent) = tree(call).parent(call.relative(), call.size) {
        steps.send(call.absolute(parent), own);
    }
}
