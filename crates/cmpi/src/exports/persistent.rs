//! Persistent sends and receives, and the start of persistent requests (MPI 5.0, section 3.9).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::prelude::*;

use super::communication::Message;
use super::completion::unknown;
use super::objects::about;
use super::{active, memory};
use crate::arguments::{Count, pattern, rank, source, tag};
use crate::bridge::with_state;
use crate::errors::CallError;
use crate::handles::{Memory, Parts};
use crate::state::{Handle, WORLD};

fn send_init(
    mode: SendMode,
    (data, destination, number, comm): Message<impl Count>,
    request: *mut Handle,
) -> Result<(), CallError> {
    about(comm)?;
    let (destination, number) = (rank(destination)?, tag(number)?);
    let data = memory::place_or_null(data.0, data.1, data.2)?;
    let handle = with_state(|state| {
        let comm = state.peers(comm)?;
        let request = comm.send_init(mode, memory::room(comm, data), destination, number);
        let parts = Parts {
            contribution: Some(vec![data]),
            result: Vec::new(),
            is_collective: false,
        };
        Ok::<_, CallError>(state.insert(request, Memory::Parts(Rc::new(parts))))
    })?;
    memory::store(request, handle);
    Ok(())
}

/// Starts a request with the present content of the contribution.
fn start_request(handle: Handle) -> Result<(), CallError> {
    let parts = with_state(|state| {
        let active = state.requests.get(handle)?;
        match &active.memory {
            // The program writes to partitions of a message until they are ready.
            Memory::Parts(parts) if !active.request.is_partitioned() => Some(Rc::clone(parts)),
            _ => None,
        }
    });
    if let Some(parts) = &parts {
        active::compare(
            parts.contribution.as_deref().unwrap_or_default(),
            &parts.result,
        )?;
    }
    with_state(|state| {
        let world = state.comm(WORLD)?.clone();
        let active = state
            .requests
            .get_mut(handle)
            .ok_or_else(|| unknown(handle))?;
        if let Memory::Parts(parts) = &active.memory
            && let Some(contribution) = parts.contribution.as_ref().filter(|it| !it.is_empty())
            && let Some(buffer) = active.request.buffer_mut()
        {
            *buffer = memory::message_of(&world, contribution);
        }
        Ok::<_, CallError>(active.request.start()?)
    })?;
    if let Some(parts) = parts {
        let given = parts.contribution.as_deref().unwrap_or_default();
        active::note_request(handle, given, &parts.result);
    }
    Ok(())
}

exports! {
    fn MPI_Send_init<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        send_init(SendMode::Standard, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Ssend_init<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        send_init(SendMode::Synchronous, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Rsend_init<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        send_init(SendMode::Ready, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Bsend_init<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        send_init(SendMode::Buffered, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Recv_init<N>(buf: *mut c_void, count: N, datatype: Handle, from: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        about(comm)?;
        let target = memory::place_or_null(buf, count, datatype)?;
        let (from, number) = (source(from)?, pattern(number)?);
        let handle = with_state(|state| {
            let comm = state.peers(comm)?;
            let request = comm.recv_init(memory::room(comm, target), from, number);
            let parts = Parts {
                contribution: Some(Vec::new()),
                result: vec![target],
                is_collective: false,
            };
            Ok::<_, CallError>(state.insert(request, Memory::Parts(Rc::new(parts))))
        })?;
        memory::store(request, handle);
        Ok(())
    }

    fn MPI_Start(request: *mut Handle) {
        start_request(memory::load(request, "request")?)
    }

    fn MPI_Startall(count: c_int, list: *mut Handle) {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            start_request(memory::load(memory::element(list, index), "array_of_requests")?)?;
        }
        Ok(())
    }
}
