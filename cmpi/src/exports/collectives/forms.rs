//! Collective operations in their three forms: those that wait, those that are started, and
//! persistent ones (MPI 5.0, sections 6.12 and 6.13).
//!
//! A contribution is copied when the operation starts, a result when it is completed.

use std::rc::Rc;

use mpi::{Blocks, Buffer, Comm, Datatype, Graph, Op, Request};

use super::super::{Handle, memory};
use crate::bridge::{block, with};
use crate::errors::CallError;
use crate::handles::{Memory, Parts, Target};

/// The form of an operation, with the place of its request.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Waiting,
    Started(*mut Handle),
    /// `MPI_Start` starts it, and it can be started again.
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

/// An operation, with what it needs beside the contribution.
pub(super) enum Operation {
    Barrier,
    Bcast {
        root: usize,
        place: Target,
    },
    Reduce(Op, usize),
    Allreduce(Op),
    Scan(Op),
    Exscan(Op),
    Gather(usize),
    GatherV(Option<Blocks>, usize),
    /// The place of the own block; true at the root.
    Scatter(usize, Target, bool),
    ScatterV(usize, Target, Option<Blocks>),
    Allgather,
    AllgatherV(Blocks),
    Alltoall,
    /// The result takes the place of the contribution.
    AlltoallInPlace,
    AlltoallV(Blocks, Blocks),
    AlltoallW(ByteBlocks),
    ReduceScatterBlock(Op),
    ReduceScatter(Blocks, Op),
    NeighborAllgather(Graph),
    NeighborAllgatherV(Graph, Blocks),
    NeighborAlltoall(Graph),
    NeighborAlltoallV(Graph, Blocks, Blocks),
    NeighborAlltoallW(Graph, ByteBlocks),
}

/// An operation, and the places of its contribution and its result.
pub(super) struct Prepared {
    pub(super) given: Vec<Target>,
    pub(super) result: Vec<Target>,
    pub(super) operation: Operation,
}

impl Operation {
    /// Returns the contribution as a message.
    fn message(&self, comm: &Comm, given: &[Target]) -> Buffer {
        match self {
            // Only the root has it.
            Self::Bcast { place, .. } if given.is_empty() => memory::room(comm, *place),
            _ => memory::message_of(comm, given),
        }
    }

    /// Performs the operation. Returns the result, at ranks that get one.
    async fn wait(self, comm: &Comm, mut message: Buffer) -> mpi::Result<Option<Buffer>> {
        Ok(Some(match self {
            Self::Barrier => {
                comm.barrier().await?;
                return Ok(None);
            }
            Self::Bcast { root, .. } => {
                comm.bcast(&mut message, root).await?;
                message
            }
            Self::Reduce(op, root) => return comm.reduce(&message, &op, root).await,
            Self::Allreduce(op) => {
                let reducing = comm.allreduce(&message, &op);
                drop(message);
                reducing.await?
            }
            Self::Scan(op) => comm.scan(&message, &op).await?,
            Self::Exscan(op) => return comm.exscan(&message, &op).await,
            Self::Gather(root) => return comm.gather(&message, root).await,
            Self::GatherV(blocks, root) => {
                return comm.gather_v(&message, blocks.as_ref(), root).await;
            }
            Self::Scatter(root, place, is_root) => {
                let mut own = memory::room(comm, place);
                let scattering = comm.scatter(is_root.then_some(&message), &mut own, root);
                drop(message);
                scattering.await?;
                own
            }
            Self::ScatterV(root, place, blocks) => {
                let mut own = memory::room(comm, place);
                let all = blocks.as_ref().map(|blocks| (&message, blocks));
                comm.scatter_v(all, &mut own, root).await?;
                own
            }
            Self::Allgather => comm.allgather(&message).await?,
            Self::AllgatherV(blocks) => comm.allgather_v(&message, blocks).await?,
            Self::Alltoall => {
                let exchange = comm.alltoall(&message);
                drop(message);
                exchange.await?
            }
            Self::AlltoallInPlace => {
                comm.alltoall_in(&mut message).await?;
                message
            }
            Self::AlltoallV(send, receive) => comm.alltoall_v(&message, send, receive).await?,
            Self::AlltoallW(ByteBlocks {
                send,
                receive,
                room,
            }) => {
                let mut all = comm.buffer(room);
                comm.alltoall_w(&message, &send, &mut all, &receive).await?;
                all
            }
            Self::ReduceScatterBlock(op) => comm.reduce_scatter_block(&message, &op).await?,
            Self::ReduceScatter(blocks, op) => comm.reduce_scatter(&message, blocks, &op).await?,
            Self::NeighborAllgather(graph) => graph.neighbor_allgather(&message).await?,
            Self::NeighborAllgatherV(graph, blocks) => {
                graph.neighbor_allgather_v(&message, blocks).await?
            }
            Self::NeighborAlltoall(graph) => graph.neighbor_alltoall(&message).await?,
            Self::NeighborAlltoallV(graph, send, receive) => {
                graph.neighbor_alltoall_v(&message, send, receive).await?
            }
            Self::NeighborAlltoallW(graph, blocks) => {
                let mut all = comm.buffer(blocks.room);
                let (send, receive) = (&blocks.send, &blocks.receive);
                let exchange = graph.neighbor_alltoall_w(&message, send, &mut all, receive);
                exchange.await?;
                all
            }
        }))
    }

    /// Starts the operation.
    fn start(self, comm: &Comm, message: Buffer) -> mpi::Result<Request> {
        match self {
            Self::Barrier => comm.ibarrier(),
            Self::Bcast { root, .. } => comm.ibcast(message, root),
            Self::Reduce(op, root) => comm.ireduce(message, &op, root),
            Self::Allreduce(op) => comm.iallreduce(message, &op),
            Self::Scan(op) => comm.iscan(message, &op),
            Self::Exscan(op) => comm.iexscan(message, &op),
            Self::Gather(root) => comm.igather(message, root),
            Self::GatherV(blocks, root) => comm.igather_v(message, blocks.as_ref(), root),
            Self::Scatter(root, place, is_root) => {
                comm.iscatter(is_root.then_some(message), memory::room(comm, place), root)
            }
            Self::ScatterV(root, place, blocks) => {
                let all = blocks.map(|blocks| (message, blocks));
                comm.iscatter_v(all, memory::room(comm, place), root)
            }
            Self::Allgather => comm.iallgather(message),
            Self::AllgatherV(blocks) => comm.iallgather_v(message, blocks),
            Self::Alltoall | Self::AlltoallInPlace => comm.ialltoall(message),
            Self::AlltoallV(send, receive) => comm.ialltoall_v(message, send, receive),
            Self::AlltoallW(ByteBlocks {
                send,
                receive,
                room,
            }) => comm.ialltoall_w(message, &send, comm.buffer(room), &receive),
            Self::ReduceScatterBlock(op) => comm.ireduce_scatter_block(message, &op),
            Self::ReduceScatter(blocks, op) => comm.ireduce_scatter(message, blocks, &op),
            Self::NeighborAllgather(graph) => graph.ineighbor_allgather(message),
            Self::NeighborAllgatherV(graph, blocks) => graph.ineighbor_allgather_v(message, blocks),
            Self::NeighborAlltoall(graph) => graph.ineighbor_alltoall(message),
            Self::NeighborAlltoallV(graph, send, receive) => {
                graph.ineighbor_alltoall_v(message, send, receive)
            }
            Self::NeighborAlltoallW(graph, blocks) => {
                let room = comm.buffer(blocks.room);
                graph.ineighbor_alltoall_w(message, &blocks.send, room, &blocks.receive)
            }
        }
    }

    /// Makes a persistent request of the operation.
    fn init(self, comm: &Comm, message: Buffer) -> mpi::Result<Request> {
        Ok(match self {
            Self::Barrier => comm.barrier_init(),
            Self::Bcast { root, .. } => comm.bcast_init(message, root),
            Self::Reduce(op, root) => comm.reduce_init(message, &op, root),
            Self::Allreduce(op) => comm.allreduce_init(message, &op),
            Self::Scan(op) => comm.scan_init(message, &op),
            Self::Exscan(op) => comm.exscan_init(message, &op),
            Self::Gather(root) => comm.gather_init(message, root),
            Self::GatherV(blocks, root) => comm.gather_v_init(message, blocks.as_ref(), root),
            Self::Scatter(root, place, is_root) => {
                comm.scatter_init(is_root.then_some(message), memory::room(comm, place), root)?
            }
            Self::ScatterV(root, place, blocks) => {
                let all = blocks.map(|blocks| (message, blocks));
                comm.scatter_v_init(all, memory::room(comm, place), root)?
            }
            Self::Allgather => comm.allgather_init(message),
            Self::AllgatherV(blocks) => comm.allgather_v_init(message, blocks),
            Self::Alltoall | Self::AlltoallInPlace => comm.alltoall_init(message),
            Self::AlltoallV(send, receive) => comm.alltoall_v_init(message, send, receive),
            Self::AlltoallW(ByteBlocks {
                send,
                receive,
                room,
            }) => comm.alltoall_w_init(message, &send, comm.buffer(room), &receive)?,
            Self::ReduceScatterBlock(op) => comm.reduce_scatter_block_init(message, &op),
            Self::ReduceScatter(blocks, op) => comm.reduce_scatter_init(message, blocks, &op),
            Self::NeighborAllgather(graph) => graph.neighbor_allgather_init(message),
            Self::NeighborAllgatherV(graph, blocks) => {
                graph.neighbor_allgather_v_init(message, blocks)
            }
            Self::NeighborAlltoall(graph) => graph.neighbor_alltoall_init(message)?,
            Self::NeighborAlltoallV(graph, send, receive) => {
                graph.neighbor_alltoall_v_init(message, send, receive)
            }
            Self::NeighborAlltoallW(graph, blocks) => {
                let room = comm.buffer(blocks.room);
                graph.neighbor_alltoall_w_init(message, &blocks.send, room, &blocks.receive)?
            }
        })
    }
}

/// Performs or begins an operation.
pub(super) fn perform(form: Form, comm: Handle, prepared: Prepared) -> Result<(), CallError> {
    let (is_persistent, request) = match form {
        Form::Waiting => return wait(comm, prepared),
        Form::Started(request) => (false, request),
        Form::Persistent(request) => (true, request),
    };
    let Prepared {
        given,
        result,
        operation,
    } = prepared;
    let handle = with(|state| {
        let comm = state.comm(comm)?;
        let message = operation.message(comm, &given);
        let begun = match is_persistent {
            false => operation.start(comm, message)?,
            true => operation.init(comm, message)?,
        };
        let parts = Parts {
            contribution: is_persistent.then_some(given),
            result,
            is_collective: true,
        };
        Ok::<_, CallError>(state.insert(begun, Memory::Parts(Rc::new(parts))))
    })?;
    memory::store(request, handle);
    Ok(())
}

fn wait(comm: Handle, prepared: Prepared) -> Result<(), CallError> {
    let (places, message) = block(async move |state| {
        let Prepared {
            given,
            result,
            operation,
        } = prepared;
        let comm = state.comm(comm)?;
        let message = operation.message(comm, &given);
        let message = operation.wait(comm, message).await?;
        Ok::<_, CallError>((result, message))
    })?;
    if let Some(message) = message {
        memory::fill_parts(&places, &message);
    }
    Ok(())
}
