//! Collective operations in three forms: blocking, nonblocking and persistent (MPI 5.0, sections
//! 6.12 and 6.13).
//!
//! A contribution is copied when the operation starts, a result when the operation completes.

use std::rc::Rc;

use mpi::{Blocks, CollectiveCall, Graph, InterRoot, prelude::*};

use super::super::{active, memory};
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::handles::{Memory, Parts, Target};
use crate::state::Handle;

/// The form of an operation, with the place of the request.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Waiting,
    Started(*mut Handle),
    /// `MPI_Start` starts the operation, which can be started again.
    Persistent(*mut Handle),
}

/// Blocks one behind the other: number of bytes, displacement, type of a byte.
pub(super) type Bytes = Vec<(u64, u64, Datatype)>;

/// Blocks with datatypes of their own are exchanged as bytes.
pub(super) struct ByteBlocks {
    pub(super) send: Bytes,
    pub(super) receive: Bytes,
    /// Length in bytes of all that are received.
    pub(super) room: u64,
}

/// An operation, with its arguments other than the contribution.
pub(super) enum CollectiveOperation {
    Barrier,
    Bcast(InterRoot, Target),
    Reduce(Op, InterRoot),
    Allreduce(Op),
    Scan(Op),
    Exscan(Op),
    Gather(InterRoot),
    GatherV(Option<Blocks>, InterRoot),
    /// The place of the own block; true at the root.
    Scatter(InterRoot, Target, bool),
    ScatterV(InterRoot, Target, Option<Blocks>),
    Allgather,
    AllgatherV(Blocks),
    Alltoall,
    /// The result takes the place of the contribution.
    AlltoallInPlace,
    AlltoallV(Blocks, Blocks),
    AlltoallW(ByteBlocks),
    ReduceScatterBlock(Op),
    ReduceScatter(Blocks, Op),
    Neighbors(Graph, Exchange),
}

/// An exchange between neighbours.
pub(super) enum Exchange {
    /// The length of the block of each source.
    Allgather(u64),
    AllgatherV(Blocks),
    /// The length of the block of each source.
    Alltoall(u64),
    AlltoallV(Blocks, Blocks),
    AlltoallW(ByteBlocks),
}

/// A call in one group, with the result at ranks that get a result.
type GroupCall<'a> = CollectiveCall<'a, Option<Buffer>>;

/// An operation, the places of the contribution and the places of the result.
pub(super) struct Prepared {
    /// True if the call has `MPI_IN_PLACE` for a buffer, so that the other buffer is for both.
    pub(super) in_place: bool,
    pub(super) given: Vec<Target>,
    pub(super) result: Vec<Target>,
    pub(super) operation: CollectiveOperation,
}

/// Returns the rank of the root of an operation in one group.
const fn root_rank(root: InterRoot) -> usize {
    match root {
        InterRoot::Remote(rank) => rank,
        InterRoot::Root | InterRoot::Null => usize::MAX,
    }
}

impl CollectiveOperation {
    /// Returns the contribution as a message.
    fn contribution_message(&self, comm: &Comm, given: &[Target]) -> Buffer {
        match self {
            // Only the root has it.
            Self::Bcast(_, place) if given.is_empty() => memory::room(comm, *place),
            _ => memory::message_of(comm, given),
        }
    }

    /// Returns a buffer for the result, if the length of the result is given by the program.
    fn result_buffer(&self, comm: &Comm) -> Buffer {
        match self {
            Self::Scatter(_, place, _) | Self::ScatterV(_, place, _) => memory::room(comm, *place),
            Self::AlltoallW(blocks) | Self::Neighbors(_, Exchange::AlltoallW(blocks)) => {
                comm.buffer(blocks.room)
            }
            _ => Buffer::phantom(0),
        }
    }

    /// Returns the operation in one group, with a message and a buffer for the result.
    fn within<'a>(
        &'a self,
        comm: &'a Comm,
        message: &'a mut Buffer,
        own: &'a mut Buffer,
    ) -> GroupCall<'a> {
        let given = |message: &mut Buffer| std::mem::replace(message, Buffer::phantom(0));
        match self {
            Self::Barrier => comm.barrier().by_value(),
            Self::Bcast(root, _) => comm.bcast(message, root_rank(*root)).by_value(),
            Self::Reduce(op, root) => comm.reduce(given(message), op, root_rank(*root)),
            Self::Allreduce(op) => comm.allreduce(given(message), op).by_value(),
            Self::Scan(op) => comm.scan(given(message), op).by_value(),
            Self::Exscan(op) => comm.exscan(given(message), op),
            Self::Gather(root) => comm.gather(given(message), root_rank(*root)),
            Self::GatherV(blocks, root) => {
                comm.gather_v(given(message), blocks.as_ref(), root_rank(*root))
            }
            Self::Scatter(root, _, is_root) => {
                let message = given(message);
                let all = is_root.then_some(&message);
                comm.scatter(all, own, root_rank(*root)).by_value()
            }
            Self::ScatterV(root, _, blocks) => {
                let message = given(message);
                let all = blocks.as_ref().map(|blocks| (&message, blocks));
                comm.scatter_v(all, own, root_rank(*root)).by_value()
            }
            Self::Allgather => comm.allgather(given(message)).by_value(),
            Self::AllgatherV(blocks) => comm.allgather_v(given(message), blocks.clone()).by_value(),
            Self::Alltoall => comm.alltoall(given(message)).by_value(),
            Self::AlltoallInPlace => comm.alltoall_in(message).by_value(),
            Self::AlltoallV(send, receive) => {
                let call = comm.alltoall_v(given(message), send.clone(), receive.clone());
                call.by_value()
            }
            Self::AlltoallW(ByteBlocks { send, receive, .. }) => comm
                .alltoall_w(given(message), send, own, receive)
                .by_value(),
            Self::ReduceScatterBlock(op) => {
                comm.reduce_scatter_block(given(message), op).by_value()
            }
            Self::ReduceScatter(blocks, op) => comm
                .reduce_scatter(given(message), blocks.clone(), op)
                .by_value(),
            Self::Neighbors(graph, exchange) => exchange.within(graph, given(message), own),
        }
    }

    /// Returns the operation between two groups, with a result of `room` bytes at ranks that get a
    /// result.
    fn between(
        self,
        inter: &InterComm,
        message: Buffer,
        room: u64,
    ) -> Result<CollectiveCall<'_>, CallError> {
        // What the root of a rooted operation gives or gets, and the others.
        let buffer = |is_taken: bool, message: Buffer| match is_taken {
            true => inter.local().buffer(room),
            false => message,
        };
        let is_root = |root: InterRoot| root == InterRoot::Root;
        let each = room / inter.remote_size() as u64;
        Ok(match self {
            Self::Barrier => inter.barrier(),
            Self::Bcast(root, _) => inter.bcast(message, root),
            Self::Reduce(op, root) => inter.reduce(buffer(is_root(root), message), &op, root),
            Self::Allreduce(op) => inter.allreduce(message, &op),
            Self::Gather(root) => inter.gather(buffer(is_root(root), message), root),
            Self::GatherV(blocks, root) => {
                inter.gather_v(buffer(is_root(root), message), blocks, root)
            }
            Self::Scatter(root, ..) => inter.scatter(buffer(!is_root(root), message), root),
            Self::ScatterV(root, _, blocks) => {
                inter.scatter_v(buffer(!is_root(root), message), blocks, root)
            }
            Self::Allgather => inter.allgather(message, each),
            Self::AllgatherV(blocks) => inter.allgather_v(message, blocks),
            Self::Alltoall => inter.alltoall(message, each),
            Self::AlltoallV(send, receive) => inter.alltoall_v(message, send, receive),
            Self::AlltoallW(ByteBlocks { send, receive, .. }) => {
                let blocks =
                    |bytes: Bytes| Blocks::packed(bytes.into_iter().map(|(length, ..)| length));
                inter.alltoall_v(message, blocks(send), blocks(receive))
            }
            Self::ReduceScatterBlock(op) => {
                let blocks = Blocks::packed(std::iter::repeat_n(room, inter.size()));
                inter.reduce_scatter(message, blocks, &op)
            }
            Self::ReduceScatter(blocks, op) => inter.reduce_scatter(message, blocks, &op),
            Self::AlltoallInPlace | Self::Scan(_) | Self::Exscan(_) | Self::Neighbors(..) => {
                let text = "not defined over an intercommunicator";
                return Err(CallError::new("MPI_ERR_COMM", text));
            }
        })
    }
}

impl Exchange {
    fn within<'a>(&self, graph: &'a Graph, message: Buffer, own: &'a mut Buffer) -> GroupCall<'a> {
        match self {
            Self::Allgather(block) => {
                let call = graph.neighbor_allgather(message);
                call.with_block_of_neighbors(*block)
            }
            Self::AllgatherV(blocks) => graph.neighbor_allgather_v(message, blocks.clone()),
            Self::Alltoall(block) => {
                let call = graph.neighbor_alltoall(message);
                call.with_block_of_neighbors(*block)
            }
            Self::AlltoallV(send, receive) => {
                graph.neighbor_alltoall_v(message, send.clone(), receive.clone())
            }
            Self::AlltoallW(ByteBlocks { send, receive, .. }) => {
                return graph
                    .neighbor_alltoall_w(message, send, own, receive)
                    .by_value();
            }
        }
        .by_value()
    }
}

/// Returns the length of a result in bytes.
fn room(result: &[Target]) -> u64 {
    result.iter().map(|part| part.length as u64).sum()
}

/// Performs or begins an operation.
pub(super) fn perform(form: Form, comm: Handle, prepared: Prepared) -> Result<(), CallError> {
    prepared.compare_arguments(comm)?;
    let (is_persistent, request) = match form {
        Form::Waiting => return run_collective(comm, prepared),
        Form::Started(request) => (false, request),
        Form::Persistent(request) => (true, request),
    };
    let Prepared {
        given,
        result,
        operation,
        in_place,
    } = prepared;
    if !is_persistent {
        active::compare(&given, &result)?;
    }
    let parts = Parts {
        contribution: is_persistent.then(|| given.clone()),
        result,
        is_collective: true,
    };
    let parts = Rc::new(parts);
    let handle = with_state(|state| {
        let inter = state.comms.between.get(&comm);
        let comm = state.comm(comm)?;
        let (mut message, mut own) = (
            operation.contribution_message(comm, &given),
            operation.result_buffer(comm),
        );
        let call = match inter {
            None => operation
                .within(comm, &mut message, &mut own)
                .with_in_place_argument(in_place),
            Some(inter) => operation
                .between(inter, message, room(&parts.result))?
                .by_value(),
        };
        let begun = match is_persistent {
            true => call.init()?,
            false => call.start()?,
        };
        Ok::<_, CallError>(state.insert(begun, Memory::Parts(Rc::clone(&parts))))
    })?;
    if !is_persistent {
        active::note_request(handle, &given, &parts.result);
    }
    memory::store(request, handle);
    Ok(())
}

fn run_collective(handle: Handle, prepared: Prepared) -> Result<(), CallError> {
    active::compare(&prepared.given, &prepared.result)?;
    let (places, message) = block(async move |state| {
        let Prepared {
            given,
            result,
            operation,
            in_place,
        } = prepared;
        let comm = state.comm(handle)?;
        let (mut message, mut own) = (
            operation.contribution_message(comm, &given),
            operation.result_buffer(comm),
        );
        let call = match state.comms.between.get(&handle) {
            None => operation
                .within(comm, &mut message, &mut own)
                .with_in_place_argument(in_place),
            Some(inter) => operation.between(inter, message, room(&result))?.by_value(),
        };
        Ok::<_, CallError>((result, call.await?))
    })?;
    if let Some(message) = message {
        memory::fill_parts(&places, &message);
    }
    Ok(())
}
