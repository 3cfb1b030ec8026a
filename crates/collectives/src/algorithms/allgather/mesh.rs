//! Allgather in a mesh: within rows, then within columns, then between planes. Each rank receives
//! from all other ranks of its row at once and sends to them one after the other.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use std::ops::Range;

use super::{collect_own, gathered, gathered_temp, spread_out};
use crate::partners::{mesh, square_mesh};
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static MESH: Algorithm = Algorithm {
    name: "mesh",
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "within rows of a mesh, then within columns",
    time: "2 (√p − 1) α + (p − 1) n β",
    needs: Requirement::Mesh,
    temp: gathered_temp,
    rounds: |_| 4,
    round: flat,
    ..Algorithm::BASE
};

pub(crate) static SQUARE_MESH: Algorithm = Algorithm {
    name: "square_mesh",
    about: "within rows of a mesh of three dimensions, then within columns, then between planes",
    time: "3 (∛p − 1) α + (p − 1) n β",
    needs: Requirement::SquareMesh,
    rounds: |_| 5,
    round: cubic,
    ..MESH
};

/// Exchanges with the ranks `peers`: each has `width` blocks, from a multiple of `width` on.
fn dimension(
    call: &Call,
    width: u32,
    peers: impl Iterator<Item = u32> + Clone,
    steps: &mut dyn Steps,
) {
    let range = |rank: u32| -> Range<u32> {
        let first = rank / width * width;
        first..first + width
    };
    for peer in peers.clone().filter(|peer| *peer != call.rank) {
        steps.irecv(peer, gathered(call, range(peer)));
    }
    for peer in peers.filter(|peer| *peer != call.rank) {
        steps.send(peer, gathered(call, range(call.rank)));
    }
    steps.wait_all();
}

fn flat(call: &Call, round: u32, steps: &mut dyn Steps) {
    let Some([_, row]) = mesh(call.size) else {
        return;
    };
    match round {
        0 => collect_own(call, steps),
        1 => {
            let first = call.rank / row * row;
            dimension(call, 1, first..first + row, steps);
        }
        2 => {
            let column = (0..call.size / row).map(|line| line * row + call.rank % row);
            dimension(call, row, column, steps);
        }
        _ => spread_out(call, steps),
    }
}

fn cubic(call: &Call, round: u32, steps: &mut dyn Steps) {
    let Some([side, _, depth]) = square_mesh(call.size) else {
        return;
    };
    let plane = side * side;
    match round {
        0 => collect_own(call, steps),
        1 => {
            let first = call.rank / side * side;
            dimension(call, 1, first..first + side, steps);
        }
        2 => {
            let first = call.rank / plane * plane + call.rank % side;
            dimension(call, side, (0..side).map(|line| first + line * side), steps);
        }
        3 => {
            let planes = (1..depth).map(|distance| call.rank_above(distance * plane));
            dimension(call, plane, planes, steps);
        }
        _ => spread_out(call, steps),
    }
}
