//! Partitioned communication (MPI 5.0, chapter 4). The data are copied when the last partition is
//! ready, and under a model checker when their partition is.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::prelude::*;

use super::completion::unknown;
use super::memory;
use super::objects::about;
use crate::arguments::{natural, rank, tag};
use crate::bridge::{Yes, await_answer, block, caller, with_state};
use crate::errors::CallError;
use crate::handles::{Memory, Parts, REQUEST_NULL, Target};
use crate::state::{Handle, WORLD};

/// The buffer of a message: address, number of partitions, elements of a partition, datatype.
type Partitioned = (*const c_void, c_int, i64, Handle);

fn init(
    (data, partitions, count, datatype): Partitioned,
    comm: Handle,
    request: *mut Handle,
    init: impl FnOnce(&Comm, Target, u32) -> Result<Request>,
) -> Result<(), CallError> {
    about(comm)?;
    let number = natural(partitions, "partitions", "MPI_ERR_ARG")?;
    let all = count.checked_mul(partitions.into());
    let all = all.ok_or_else(|| CallError::new("MPI_ERR_COUNT", "too many elements"))?;
    let place = memory::elements_at(data, all, datatype)?;
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let handle = with_state(|state| {
        let made = init(state.peers(comm)?, place, number)?;
        // What a send has is copied later.
        let parts = Parts {
            contribution: Some(Vec::new()),
            result: vec![place],
            is_collective: false,
        };
        Ok::<_, CallError>(state.insert(made, Memory::Parts(Rc::new(parts))))
    })?;
    memory::store(request, handle);
    Ok(())
}

/// Marks partitions of a send as ready.
fn ready(
    handle: Handle,
    partitions: impl IntoIterator<Item = Result<usize, CallError>>,
) -> Result<(), CallError> {
    for partition in partitions {
        let partition = partition?;
        with_state(|state| {
            let world = state.comm(WORLD)?.clone();
            let active = state.requests.get_mut(handle);
            let active = active.ok_or_else(|| unknown(handle))?;
            state.concerned.set(active.comm);
            if let Memory::Parts(parts) = &active.memory
                && (active.request.partitions_left() == 1 || caller().is_checked())
                && let Some(buffer) = active.request.buffer_mut()
            {
                *buffer = memory::message_of(&world, &parts.result);
            }
            Ok::<_, CallError>(active.request.pready(partition)?)
        })?;
    }
    Ok(())
}

fn partition(number: c_int) -> Result<usize, CallError> {
    natural(number, "partition", "MPI_ERR_ARG")
}

/// Returns true if the data of a partition are in the receive buffer.
fn has_arrived(request: Handle, partition: usize) -> Result<bool, CallError> {
    block(async |state| {
        let active = state.requests.get_mut(request);
        let active = active.ok_or_else(|| unknown(request))?;
        state.concerned.set(active.comm);
        let question = async {
            let has_arrived = active.request.parrived(partition).await?;
            Ok(has_arrived.then_some(()))
        };
        if await_answer(Yes::ShowsArrival, question).await?.is_none() {
            return Ok(false);
        }
        if let Memory::Parts(parts) = &active.memory
            && let [whole] = parts.result[..]
            && let Some(data) = active.request.arrived_partition(partition)
        {
            memory::fill_place(part_of(whole, partition, data.len()), &data, data.len());
        }
        Ok::<_, CallError>(true)
    })
}

/// Returns the memory of a partition of this many bytes.
fn part_of(whole: Target, partition: usize, length: u64) -> Target {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let elements = length / whole.element.size.max(1) * partition;
    let offset = whole.element.extent.wrapping_mul(elements.cast_signed());
    Target {
        address: whole.address.wrapping_add_signed(offset),
        length,
        ..whole
    }
}

exports! {
    fn MPI_Psend_init(buf: *const c_void, partitions: c_int, count: i64, datatype: Handle, dest: c_int, number: c_int, comm: Handle, _info: Handle, request: *mut Handle) {
        let (dest, number) = (rank(dest)?, tag(number)?);
        init((buf, partitions, count, datatype), comm, request, |comm, place, partitions| {
            comm.psend_init(memory::room(comm, place), partitions, dest, number)
        })
    }

    fn MPI_Precv_init(buf: *mut c_void, partitions: c_int, count: i64, datatype: Handle, from: c_int, number: c_int, comm: Handle, _info: Handle, request: *mut Handle) {
        let (from, number) = (rank(from)?, tag(number)?);
        init((buf, partitions, count, datatype), comm, request, |comm, place, partitions| {
            comm.precv_init(memory::room(comm, place), partitions, from, number)
        })
    }

    fn MPI_Pready(number: c_int, request: Handle) {
        ready(request, [partition(number)])
    }

    fn MPI_Pready_range(low: c_int, high: c_int, request: Handle) {
        ready(request, (low..=high).map(partition))
    }

    fn MPI_Pready_list(length: c_int, list: *const c_int, request: Handle) {
        let length = natural(length, "length", "MPI_ERR_ARG")?;
        let number = |at: usize| partition(memory::load(list.wrapping_add(at), "array_of_partitions")?);
        ready(request, (0..length).map(number))
    }

    fn MPI_Parrived(request: Handle, number: c_int, flag: *mut c_int) {
        let number = partition(number)?;
        memory::store(flag, c_int::from(request == REQUEST_NULL || has_arrived(request, number)?));
        Ok(())
    }
}
