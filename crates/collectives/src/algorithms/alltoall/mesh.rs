//! Alltoall in a mesh: each rank sends all its blocks to its whole row (and plane), then each rank
//! forwards the blocks for its column (or for the ranks of the other planes).
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::into;
use crate::partners::{mesh, square_mesh};
use crate::{Algorithm, Call, Collective, Part, Requirement, Steps};

pub(crate) static MESH: Algorithm = Algorithm {
    name: "mesh",
    collectives: &[Collective::Alltoall],
    about: "all data within rows of a mesh, then blocks within columns",
    time: "2 (√p − 1) α + (√p + 1) p n β",
    needs: Requirement::Mesh,
    temp: |call| temp(call, flat(call.size).plane),
    rounds: |call| 3 + flat(call.size).columns,
    round: |call, round, steps| {
        let shape = flat(call.size);
        match round {
            0 => exchange_groups(call, shape, shape.row, 1, steps),
            round => exchange_blocks(call, shape, round - 1, steps),
        }
    },
    ..Algorithm::BASE
};

pub(crate) static SQUARE_MESH: Algorithm = Algorithm {
    name: "square_mesh",
    about: "all data within rows and columns of each plane, then blocks between planes",
    time: "3 (∛p − 1) α + (∛p² + 1) p n β",
    needs: Requirement::SquareMesh,
    temp: |call| temp(call, cubic(call.size).plane),
    rounds: |call| 4 + cubic(call.size).columns,
    round: |call, round, steps| {
        let shape = cubic(call.size);
        match round {
            0 => exchange_groups(call, shape, shape.row, 1, steps),
            1 => exchange_groups(call, shape, shape.plane, shape.row, steps),
            round => exchange_blocks(call, shape, round - 2, steps),
        }
    },
    ..MESH
};

/// A division of the ranks.
#[derive(Clone, Copy)]
struct MeshShape {
    /// Number of consecutive ranks that exchange all their data first.
    row: u32,
    /// Number of consecutive ranks that get all data of one another.
    plane: u32,
    /// Number of planes.
    columns: u32,
    /// True if the first receiver is in the next plane, false if it is in the first plane.
    rotates: bool,
}

fn flat(size: u32) -> MeshShape {
    let [columns, row] = mesh(size).unwrap_or([size, 1]);
    MeshShape {
        row,
        plane: row,
        columns,
        rotates: false,
    }
}

fn cubic(size: u32) -> MeshShape {
    let [row, lines, columns] = square_mesh(size).unwrap_or([1, 1, size]);
    MeshShape {
        row,
        plane: row * lines,
        columns,
        rotates: true,
    }
}

/// Returns the bytes of all data of the ranks of a plane, and of the blocks of one message.
fn temp(call: &Call, plane: u32) -> u64 {
    u64::from(plane) * (call.send_total() + call.bytes)
}

/// Returns the place of all data of consecutive ranks of the plane.
fn data(call: &Call, shape: MeshShape, rank: u32, count: u32) -> Part {
    let all = call.send_total();
    let offset = u64::from(rank % shape.plane) * all;
    Part::temp(offset, u64::from(count) * all)
}

/// Exchanges all data of groups of `width` ranks within the next larger groups of `group` ranks.
fn exchange_groups(call: &Call, shape: MeshShape, group: u32, width: u32, steps: &mut dyn Steps) {
    if width == 1 {
        let own = data(call, shape, call.rank, 1);
        steps.copy(Part::send(0, call.send_total()), own);
    }
    let first = call.rank / group * group + call.rank % width;
    let peers = (0..group / width).map(|number| first + number * width);
    let peers = peers.filter(|peer| *peer != call.rank);
    let range = |rank: u32| data(call, shape, rank / width * width, width);
    for peer in peers.clone() {
        steps.irecv(peer, range(peer));
    }
    for peer in peers {
        steps.send(peer, range(call.rank));
    }
    steps.wait_all();
}

/// Makes the rounds in which blocks go to one plane after the other.
fn exchange_blocks(call: &Call, shape: MeshShape, round: u32, steps: &mut dyn Steps) {
    let own = call.rank / shape.plane;
    let peer = |number: u32| {
        let plane = if shape.rotates {
            (own + number) % shape.columns
        } else {
            number
        };
        plane * shape.plane + call.rank % shape.plane
    };
    let whole = u64::from(shape.plane) * call.bytes;
    if round == 0 {
        for member in 0..shape.plane {
            let source = own * shape.plane + member;
            steps.copy(
                member_block(call, shape, member, call.rank),
                into(call, source),
            );
        }
        for peer in (0..shape.columns)
            .map(peer)
            .filter(|peer| *peer != call.rank)
        {
            let first = peer / shape.plane * shape.plane;
            let offset = u64::from(first) * call.bytes;
            steps.irecv(peer, Part::recv(offset, whole));
        }
    } else if round > shape.columns {
        steps.wait_all();
    } else if peer(round - 1) != call.rank {
        let peer = peer(round - 1);
        let packed = u64::from(shape.plane) * call.send_total();
        for member in 0..shape.plane {
            let place = packed + u64::from(member) * call.bytes;
            let place = Part::temp(place, call.bytes);
            steps.copy(member_block(call, shape, member, peer), place);
        }
        steps.send(peer, Part::temp(packed, whole));
    }
}

/// Returns the block for `rank` among the data of a member of the plane.
fn member_block(call: &Call, shape: MeshShape, member: u32, rank: u32) -> Part {
    let all = data(call, shape, member, 1);
    Part {
        offset: all.offset + u64::from(rank) * call.bytes,
        length: call.bytes,
        ..all
    }
}
