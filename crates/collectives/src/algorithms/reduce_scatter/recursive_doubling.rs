//! Reduce-scatter by recursive doubling: partners at distances 1, 2, 4, … exchange and reduce all
//! blocks except the blocks of their own subtree.
//!
//! If the number of ranks is no power of two, ranks without a partner get the missing operands from
//! ranks of their own subtree ([`fill_steps`]).
//!
//! Source: MPICH, `MPIR_Reduce_scatter_intra_recursive_doubling`.

use super::{pack, packed, result};
use crate::partners::{Fill, fill_steps, log2_ceil};
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "partners at distances 1, 2, 4, … reduce all blocks but those of the own subtree",
    time: "L α + (L p − p + 1) n (β + γ)",
    ordered: true,
    temp: |call| 3 * call.send_total(),
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return pack(call, steps);
    }
    if round > log2_ceil(call.size) {
        let own = packed(call, Area::Temp, call.rank..call.rank + 1);
        return steps.copy(own, result(call));
    }
    let mask = 1 << (round - 1);
    let peer = call.rank ^ mask;
    let arrived = message_place(call, peer, mask, 2);
    let mut has_arrived = peer < call.size;
    if has_arrived {
        let out = message_place(call, call.rank, mask, 1);
        let parts = [lower(call, call.rank, mask), higher(call, call.rank, mask)];
        for (part, place) in parts.into_iter().zip(split_message(parts, out)) {
            steps.copy(part, place);
        }
        steps.exchange(peer, out, peer, arrived);
    }
    for step in fill_steps(call.rank, call.size, mask) {
        match step {
            Fill::Send(peer) => steps.send(peer, arrived),
            Fill::Receive(peer) => {
                steps.recv(peer, arrived);
                has_arrived = true;
            }
        }
    }
    if has_arrived {
        let operand = if peer < call.rank {
            Operand::Left
        } else {
            Operand::Right
        };
        let parts = [lower(call, peer, mask), higher(call, peer, mask)];
        for (part, place) in parts.into_iter().zip(split_message(parts, arrived)) {
            steps.reduce(place, part, operand);
        }
    }
}

/// Returns the blocks below the subtree of a rank.
fn lower(call: &Call, rank: u32, mask: u32) -> Part {
    packed(call, Area::Temp, 0..(rank & !(mask - 1)).min(call.size))
}

/// Returns the blocks above the subtree of a rank.
fn higher(call: &Call, rank: u32, mask: u32) -> Part {
    let end = ((rank & !(mask - 1)) + mask).min(call.size);
    packed(call, Area::Temp, end..call.size)
}

/// Returns the place of a message that `rank` sends, behind `number` times all blocks.
fn message_place(call: &Call, rank: u32, mask: u32, number: u64) -> Part {
    let length = lower(call, rank, mask).length + higher(call, rank, mask).length;
    Part::temp(number * call.send_total(), length)
}

/// Returns the places of two parts in a message.
const fn split_message([first, second]: [Part; 2], message: Part) -> [Part; 2] {
    let offset = message.offset + first.length;
    [
        Part::temp(message.offset, first.length),
        Part::temp(offset, second.length),
    ]
}
