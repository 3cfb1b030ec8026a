//! Cartesian topologies (MPI 5.0, chapter 8).
//!
//! Ranks are never reordered.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use mpi::{Cartesian, announce_call, prelude::*};

use super::communicators::COMM_NULL;
use super::memory;
use crate::arguments::{PROC_NULL_IN_C, UNDEFINED};
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::state::communicators::Topology;
use crate::state::{Handle, MpiState};

/// `MPI_CART`.
const CART: c_int = 211;
/// `MPI_GRAPH`.
const GRAPH: c_int = 212;
/// `MPI_DIST_GRAPH`.
const DIST_GRAPH: c_int = 213;

impl MpiState {
    pub(super) fn topology(&self, comm: Handle) -> Result<&Topology, CallError> {
        self.comm(comm)?;
        self.comms
            .topologies
            .get(&comm)
            .ok_or_else(|| without("no topology"))
    }

    fn grid(&self, comm: Handle) -> Result<&Cartesian, CallError> {
        match self.topology(comm)? {
            Topology::Grid(grid) => Ok(grid),
            _ => Err(without("no Cartesian topology")),
        }
    }
}

pub(super) fn without(what: &str) -> CallError {
    CallError::new("MPI_ERR_TOPOLOGY", format!("the communicator has {what}"))
}

/// Returns the rank of the caller in a topology of the given number of ranks.
pub(super) fn place_among(comm: &Comm, ranks: usize) -> Result<c_int, CallError> {
    if ranks > comm.size() {
        let text = format!(
            "a topology of {ranks} ranks on a communicator of {}",
            comm.size()
        );
        return Err(CallError::new("MPI_ERR_DIMS", text));
    }
    let rank = comm.rank();
    Ok(if rank < ranks {
        rank_in_c(rank)
    } else {
        UNDEFINED
    })
}

pub(super) fn count(number: c_int) -> Result<usize, CallError> {
    usize::try_from(number).map_err(|_| {
        let text = format!("invalid number {number} of dimensions: expected at least 0");
        CallError::new("MPI_ERR_DIMS", text)
    })
}

pub(super) fn rank_in_c(rank: usize) -> c_int {
    match rank {
        PROC_NULL => PROC_NULL_IN_C,
        rank => c_int::try_from(rank).unwrap_or(c_int::MAX),
    }
}

pub(super) fn store_list(list: *mut c_int, count: c_int, values: impl Iterator<Item = c_int>) {
    for (index, value) in values.take(usize::try_from(count).unwrap_or(0)).enumerate() {
        memory::store(memory::element(list, index), value);
    }
}

fn lengths(number: c_int, list: *const c_int) -> Result<Vec<usize>, CallError> {
    let length = |index| {
        let length = memory::load(list.wrapping_add(index), "dims")?;
        usize::try_from(length).map_err(|_| {
            let text = format!("invalid length {length} of a dimension: expected at least 0");
            CallError::new("MPI_ERR_DIMS", text)
        })
    };
    (0..count(number)?).map(length).collect()
}

fn flags(number: usize, list: *const c_int) -> Result<Vec<bool>, CallError> {
    let flag = |index| Ok(memory::load(list.wrapping_add(index), "periods")? != 0);
    (0..number).map(flag).collect()
}

exports! {
    fn MPI_Dims_create(ranks: c_int, number: c_int, dims: *mut c_int) {
        let mut found = lengths(number, dims)?;
        mpi::dims_create(usize::try_from(ranks).unwrap_or(0), &mut found)?;
        store_list(dims, number, found.into_iter().map(rank_in_c));
        Ok(())
    }

    fn MPI_Cart_create(comm: Handle, number: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int, new: *mut Handle) {
        let lengths = lengths(number, dims)?;
        let periods = flags(lengths.len(), periods)?;
        let handle = block(async |state| {
            let comm = state.comm(comm)?;
            let reorder = reorder != 0;
            announce_call(comm, "cart_create", || {
                Some(format!("has dims {lengths:?}, periods {periods:?} and reorder {reorder}"))
            });
            let grid = comm.cartesian(&lengths, &periods);
            drop((lengths, periods));
            let made = grid.await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |grid| state.comms.insert_topology(Topology::Grid(grid))))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Cart_map(comm: Handle, number: c_int, dims: *const c_int, _periods: *const c_int, rank: *mut c_int) {
        let ranks = lengths(number, dims)?.into_iter().product();
        let found = with_state(|state| place_among(state.comm(comm)?, ranks))?;
        memory::store(rank, found);
        Ok(())
    }

    fn MPI_Cart_sub(comm: Handle, remain: *const c_int, new: *mut Handle) {
        let number = with_state(|state| Ok::<_, CallError>(state.grid(comm)?.lengths().len()))?;
        let keep = flags(number, remain)?;
        let handle = block(async |state| {
            let grid = state.grid(comm)?;
            announce_call(grid, "cart_sub", || Some(format!("has remain_dims {keep:?}")));
            let part = grid.sub(&keep);
            drop(keep);
            let made = part.await?;
            Ok::<_, CallError>(state.comms.insert_topology(Topology::Grid(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Cart_coords(comm: Handle, rank: c_int, number: c_int, coords: *mut c_int) {
        let rank = crate::arguments::rank(rank)?;
        let found = with_state(|state| Ok::<_, CallError>(state.grid(comm)?.coordinates(rank)?))?;
        store_list(coords, number, found.into_iter().map(rank_in_c));
        Ok(())
    }

    fn MPI_Cart_rank(comm: Handle, coords: *const c_int, rank: *mut c_int) {
        let found = with_state(|state| {
            let grid = state.grid(comm)?;
            let mut place = Vec::new();
            for index in 0..grid.lengths().len() {
                place.push(i64::from(memory::load(coords.wrapping_add(index), "coords")?));
            }
            Ok::<_, CallError>(grid.rank_at(&place)?)
        })?;
        memory::store(rank, rank_in_c(found));
        Ok(())
    }

    fn MPI_Cart_shift(comm: Handle, direction: c_int, displacement: c_int, source: *mut c_int, dest: *mut c_int) {
        let (from, to) = with_state(|state| {
            let direction = usize::try_from(direction).unwrap_or(usize::MAX);
            Ok::<_, CallError>(state.grid(comm)?.shift(direction, i64::from(displacement))?)
        })?;
        memory::store(source, rank_in_c(from));
        memory::store(dest, rank_in_c(to));
        Ok(())
    }

    fn MPI_Cart_get(comm: Handle, number: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int) {
        with_state(|state| {
            let grid = state.grid(comm)?;
            store_list(dims, number, grid.lengths().map(rank_in_c));
            store_list(periods, number, grid.periods().map(c_int::from));
            let own = grid.coordinates(grid.rank())?;
            store_list(coords, number, own.into_iter().map(rank_in_c));
            Ok(())
        })
    }

    fn MPI_Cartdim_get(comm: Handle, number: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.grid(comm)?.lengths().len()))?;
        memory::store(number, rank_in_c(found));
        Ok(())
    }

    fn MPI_Topo_test(comm: Handle, status: *mut c_int) {
        let found = with_state(|state| {
            state.comm(comm)?;
            Ok::<_, CallError>(match state.comms.topologies.get(&comm) {
                Some(Topology::Grid(_)) => CART,
                Some(Topology::Graph { .. }) => GRAPH,
                Some(Topology::Distributed(..)) => DIST_GRAPH,
                None => UNDEFINED,
            })
        })?;
        memory::store(status, found);
        Ok(())
    }
}
