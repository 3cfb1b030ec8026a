//! Synchronised linear gather: the root asks one rank after the other for its block, which comes in
//! two segments. The next rank is asked as soon as the first segment has arrived.
//!
//! This order limits the memory of messages that arrive at the root before their receives.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_gather.c`, linear with synchronisation.

use super::{own, root_block};
use crate::segments::Segments;
use crate::{Algorithm, Call, Collective, Part, Slot, Steps};

pub(crate) static LINEAR_SYNC: Algorithm = Algorithm {
    name: "linear_sync",
    collectives: &[Collective::Gather],
    about: "the root asks one rank after the other, blocks in two segments",
    time: "(p − 1) (3 α + n β)",
    rounds: |call| if call.is_root() { call.size + 1 } else { 1 },
    round,
    ..Algorithm::BASE
};

/// Slot of the receive of a first segment.
const FIRST: Slot = 1;

/// Cuts a block into the first segment and the rest.
fn split_block(call: &Call, block: Part) -> [Part; 2] {
    let segment = match call.segment {
        0 if call.bytes > 92_160 => 32_768,
        0 => 1024,
        segment => segment,
    };
    let (_, first) = Segments::new(block.length, call.element, segment).range(0);
    [
        Part {
            length: first,
            ..block
        },
        Part {
            offset: block.offset + first,
            length: block.length - first,
            ..block
        },
    ]
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if !call.is_root() {
        steps.recv(call.root, Part::EMPTY);
        for segment in split_block(call, own(call)) {
            steps.send(call.root, segment);
        }
    } else if round == call.size {
        steps.copy(own(call), root_block(call, call.rank));
        steps.wait_all();
    } else if round != call.rank {
        let [first, rest] = split_block(call, root_block(call, round));
        steps.irecv_in(FIRST, round, first);
        steps.send(round, Part::EMPTY);
        steps.irecv(round, rest);
        steps.wait(FIRST);
    }
}
