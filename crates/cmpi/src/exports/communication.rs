//! Sends, receives and probes (MPI 5.0, chapter 3).
//!
//! *Not modelled*: `MPI_Isendrecv` does not wait for the end of its send.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::prelude::*;

use super::objects::about;
use super::{active, memory};
use crate::arguments::{Count, pattern, rank, source, tag};
use crate::bridge::{Yes, await_answer, block, with_state};
use crate::errors::CallError;
use crate::handles::{ActiveRequest, Memory, Target};
use crate::state::requests::Status;
use crate::state::{Handle, MpiState};

/// A message of a program: address, count and datatype, destination, tag and communicator.
pub(super) type Message<N> = ((*const c_void, N, Handle), c_int, c_int, Handle);

pub(super) fn send(
    mode: SendMode,
    (data, destination, number, comm): Message<impl Count>,
) -> Result<(), CallError> {
    about(comm)?;
    let (destination, number) = (rank(destination)?, tag(number)?);
    let data = memory::place_or_null(data.0, data.1, data.2)?;
    active::compare(&[data], &[])?;
    block(async |state| {
        let comm = state.peers(comm)?;
        let message = memory::message(comm, data);
        let sending = match mode {
            SendMode::Standard => comm.send(&message, destination, number),
            SendMode::Synchronous => comm.ssend(&message, destination, number),
            SendMode::Ready => comm.rsend(&message, destination, number),
            SendMode::Buffered => comm.bsend(&message, destination, number),
        };
        drop(message);
        Ok(sending.await?)
    })
}

pub(super) fn isend(
    mode: SendMode,
    (data, destination, number, comm): Message<impl Count>,
    request: *mut Handle,
) -> Result<(), CallError> {
    about(comm)?;
    let (destination, number) = (rank(destination)?, tag(number)?);
    let data = memory::place_or_null(data.0, data.1, data.2)?;
    active::compare(&[data], &[])?;
    let handle = with_state(|state| {
        let comm = state.peers(comm)?;
        let message = memory::message(comm, data);
        let started = match mode {
            SendMode::Standard => comm.isend(message, destination, number),
            SendMode::Synchronous => comm.issend(message, destination, number),
            SendMode::Ready => comm.irsend(message, destination, number),
            SendMode::Buffered => comm.ibsend(message, destination, number),
        };
        Ok::<_, CallError>(state.insert(started?, Memory::Message(Target::default())))
    })?;
    active::note_request(handle, &[data], &[]);
    memory::store(request, handle);
    Ok(())
}

/// Starts a send and a receive. The request is the request of the receive. The data of the send
/// have been copied, so the send completes without a request.
fn start_exchange(
    (data, destination, send_tag): (Target, c_int, c_int),
    (target, from, recv_tag): (Target, c_int, c_int),
    comm: Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    let (destination, send_tag) = (rank(destination)?, tag(send_tag)?);
    let (from, recv_tag) = (source(from)?, pattern(recv_tag)?);
    active::compare(&[data], &[target])?;
    let handle = with_state(|state| {
        let comm = state.peers(comm)?;
        let message = memory::message(comm, data);
        let receiving = comm.irecv(memory::receive_buffer(target), from, recv_tag)?;
        comm.isend(message, destination, send_tag)?.free();
        Ok::<_, CallError>(state.insert(receiving, Memory::Message(target)))
    })?;
    active::note_request(handle, &[data], &[target]);
    memory::store(request, handle);
    Ok(())
}

impl MpiState {
    pub(super) fn insert(&mut self, request: Request, memory: Memory) -> Handle {
        let comm = self.concerned.get();
        self.requests.insert(ActiveRequest {
            request,
            memory,
            comm,
        })
    }
}

exports! {
    fn MPI_Send<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle) {
        send(SendMode::Standard, ((buf, count, datatype), dest, number, comm))
    }

    fn MPI_Ssend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle) {
        send(SendMode::Synchronous, ((buf, count, datatype), dest, number, comm))
    }

    fn MPI_Rsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle) {
        send(SendMode::Ready, ((buf, count, datatype), dest, number, comm))
    }

    fn MPI_Isend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        isend(SendMode::Standard, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Issend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        isend(SendMode::Synchronous, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Irsend<N>(buf: *const c_void, count: N, datatype: Handle, dest: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        isend(SendMode::Ready, ((buf, count, datatype), dest, number, comm), request)
    }

    fn MPI_Recv<N>(buf: *mut c_void, count: N, datatype: Handle, from: c_int, number: c_int, comm: Handle, status: *mut Status) {
        about(comm)?;
        let target = memory::place_or_null(buf, count, datatype)?;
        let (from, number) = (source(from)?, pattern(number)?);
        active::compare(&[], &[target])?;
        let (received, buffer) = block(async |state| {
            let comm = state.peers(comm)?;
            let mut buffer = memory::receive_buffer(target);
            let received = comm.recv(&mut buffer, from, number).await?;
            Ok::<_, CallError>((received, buffer))
        })?;
        memory::unload_message(target, buffer, received.length);
        memory::set_status(status, received);
        Ok(())
    }

    fn MPI_Irecv<N>(buf: *mut c_void, count: N, datatype: Handle, from: c_int, number: c_int, comm: Handle, request: *mut Handle) {
        about(comm)?;
        let target = memory::place_or_null(buf, count, datatype)?;
        let (from, number) = (source(from)?, pattern(number)?);
        active::compare(&[], &[target])?;
        let handle = with_state(|state| {
            let comm = state.peers(comm)?;
            let started = comm.irecv(memory::receive_buffer(target), from, number)?;
            Ok::<_, CallError>(state.insert(started, Memory::Message(target)))
        })?;
        active::note_request(handle, &[], &[target]);
        memory::store(request, handle);
        Ok(())
    }

    fn MPI_Sendrecv<N>(
        sendbuf: *const c_void, sendcount: N, sendtype: Handle, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: N, recvtype: Handle, from: c_int, recvtag: c_int,
        comm: Handle, status: *mut Status,
    ) {
        about(comm)?;
        let target = memory::place_or_null(recvbuf, recvcount, recvtype)?;
        let data = memory::place_or_null(sendbuf, sendcount, sendtype)?;
        let (dest, sendtag) = (rank(dest)?, tag(sendtag)?);
        let (from, recvtag) = (source(from)?, pattern(recvtag)?);
        active::distinct(data, target)?;
        active::compare(&[data], &[target])?;
        let (received, buffer) = block(async |state| {
            let comm = state.peers(comm)?;
            let message = memory::message(comm, data);
            let mut buffer = memory::receive_buffer(target);
            let exchange = comm.sendrecv(&message, dest, sendtag, &mut buffer, from, recvtag);
            drop(message);
            let received = exchange.await?;
            Ok::<_, CallError>((received, buffer))
        })?;
        memory::unload_message(target, buffer, received.length);
        memory::set_status(status, received);
        Ok(())
    }

    fn MPI_Sendrecv_replace<N>(
        buf: *mut c_void, count: N, datatype: Handle, dest: c_int, sendtag: c_int,
        from: c_int, recvtag: c_int, comm: Handle, status: *mut Status,
    ) {
        about(comm)?;
        let target = memory::place_or_null(buf, count, datatype)?;
        let (dest, sendtag) = (rank(dest)?, tag(sendtag)?);
        let (from, recvtag) = (source(from)?, pattern(recvtag)?);
        active::compare(&[], &[target])?;
        let (received, buffer) = block(async |state| {
            let comm = state.peers(comm)?;
            let mut buffer = memory::message(comm, target);
            let received = comm.sendrecv_replace(&mut buffer, dest, sendtag, from, recvtag).await?;
            Ok::<_, CallError>((received, buffer))
        })?;
        memory::unload_message(target, buffer, received.length);
        memory::set_status(status, received);
        Ok(())
    }

    fn MPI_Isendrecv<N>(
        sendbuf: *const c_void, sendcount: N, sendtype: Handle, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: N, recvtype: Handle, from: c_int, recvtag: c_int,
        comm: Handle, request: *mut Handle,
    ) {
        about(comm)?;
        let data = memory::place_or_null(sendbuf, sendcount, sendtype)?;
        let target = memory::place_or_null(recvbuf, recvcount, recvtype)?;
        active::distinct(data, target)?;
        start_exchange((data, dest, sendtag), (target, from, recvtag), comm, request)
    }

    fn MPI_Isendrecv_replace<N>(
        buf: *mut c_void, count: N, datatype: Handle, dest: c_int, sendtag: c_int,
        from: c_int, recvtag: c_int, comm: Handle, request: *mut Handle,
    ) {
        about(comm)?;
        let place = memory::place_or_null(buf, count, datatype)?;
        start_exchange((place, dest, sendtag), (place, from, recvtag), comm, request)
    }

    fn MPI_Probe(from: c_int, number: c_int, comm: Handle, status: *mut Status) {
        about(comm)?;
        let (from, number) = (source(from)?, pattern(number)?);
        let found = block(async |state| {
            Ok::<_, CallError>(state.peers(comm)?.probe(from, number).await?)
        })?;
        memory::set_status(status, found);
        Ok(())
    }

    fn MPI_Iprobe(from: c_int, number: c_int, comm: Handle, flag: *mut c_int, status: *mut Status) {
        about(comm)?;
        let (from, number) = (source(from)?, pattern(number)?);
        let found = block(async |state| {
            let question = state.peers(comm)?.iprobe(from, number);
            Ok::<_, CallError>(await_answer(Yes::ShowsArrival, question).await?)
        })?;
        memory::store(flag, c_int::from(found.is_some()));
        if let Some(found) = found {
            memory::set_status(status, found);
        }
        Ok(())
    }
}
