//! Collective operations in their three forms: those that wait, those that are started, and
//! persistent ones (MPI 5.0, sections 6.12 and 6.13).
//!
//! A contribution is copied when the operation starts, a result when it is completed.

use std::rc::Rc;

use mpi::{Blocks, Buffer, Comm, Datatype, Graph, InterComm, InterRoot, Op, Request};

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
    Allgather,
    AllgatherV(Blocks),
    Alltoall,
    AlltoallV(Blocks, Blocks),
    AlltoallW(ByteBlocks),
}

/// An operation, and the places of its contribution and its result.
pub(super) struct Prepared {
    pub(super) given: Vec<Target>,
    pub(super) result: Vec<Target>,
    pub(super) operation: Operation,
}

/// Returns the rank of the root of an operation in one group.
const fn rank(root: InterRoot) -> usize {
    match root {
        InterRoot::Remote(rank) => rank,
        InterRoot::Root | InterRoot::Null => usize::MAX,
    }
}

impl Operation {
    /// Returns the contribution as a message.
    fn message(&self, comm: &Comm, given: &[Target]) -> Buffer {
        match self {
            // Only the root has it.
            Self::Bcast(_, place) if given.is_empty() => memory::room(comm, *place),
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
            Self::Bcast(root, _) => {
                comm.bcast(&mut message, rank(root)).await?;
                message
            }
            Self::Reduce(op, root) => return comm.reduce(&message, &op, rank(root)).await,
            Self::Allreduce(op) => {
                let reducing = comm.allreduce(&message, &op);
                drop(message);
                reducing.await?
            }
            Self::Scan(op) => comm.scan(&message, &op).await?,
            Self::Exscan(op) => return comm.exscan(&message, &op).await,
            Self::Gather(root) => return comm.gather(&message, rank(root)).await,
            Self::GatherV(blocks, root) => {
                return comm.gather_v(&message, blocks.as_ref(), rank(root)).await;
            }
            Self::Scatter(root, place, is_root) => {
                let mut own = memory::room(comm, place);
                let scattering = comm.scatter(is_root.then_some(&message), &mut own, rank(root));
                drop(message);
                scattering.await?;
                own
            }
            Self::ScatterV(root, place, blocks) => {
                let mut own = memory::room(comm, place);
                let all = blocks.as_ref().map(|blocks| (&message, blocks));
                comm.scatter_v(all, &mut own, rank(root)).await?;
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
            Self::Neighbors(graph, exchange) => exchange.wait(&graph, message).await?,
        }))
    }

    /// Performs the operation between two groups. Returns the result, which has `room` bytes, at
    /// ranks that get one.
    async fn wait_between(
        self,
        inter: &InterComm,
        mut message: Buffer,
        room: u64,
    ) -> Result<Option<Buffer>, CallError> {
        let mut result = inter.local().buffer(room);
        match self {
            Self::Barrier => inter.barrier().await?,
            Self::Bcast(root, _) => {
                inter.bcast(&mut message, root).await?;
                result = message;
            }
            Self::Reduce(op, InterRoot::Root) => {
                inter.reduce(&mut result, &op, InterRoot::Root).await?;
            }
            Self::Reduce(op, root) => inter.reduce(&mut message, &op, root).await?,
            Self::Allreduce(op) => result = inter.allreduce(&message, &op).await?,
            Self::Gather(InterRoot::Root) => inter.gather(&mut result, InterRoot::Root).await?,
            Self::Gather(root) => inter.gather(&mut message, root).await?,
            Self::GatherV(blocks, InterRoot::Root) => {
                let gathering = inter.gather_v(&mut result, blocks.as_ref(), InterRoot::Root);
                gathering.await?;
            }
            Self::GatherV(_, root) => inter.gather_v(&mut message, None, root).await?,
            Self::Scatter(root, _, true) => inter.scatter(&mut message, root).await?,
            Self::Scatter(root, ..) => inter.scatter(&mut result, root).await?,
            Self::ScatterV(root, _, blocks @ Some(_)) => {
                inter.scatter_v(&mut message, blocks.as_ref(), root).await?;
            }
            Self::ScatterV(root, ..) => inter.scatter_v(&mut result, None, root).await?,
            Self::Allgather => inter.allgather(&message, &mut result).await?,
            Self::AllgatherV(blocks) => {
                inter.allgather_v(&message, (&mut result, &blocks)).await?;
            }
            Self::Alltoall => inter.alltoall(&message, &mut result).await?,
            Self::AlltoallV(send, receive) => {
                let exchange = inter.alltoall_v((&message, &send), (&mut result, &receive));
                exchange.await?;
            }
            Self::AlltoallW(ByteBlocks { send, receive, .. }) => {
                let blocks =
                    |bytes: Bytes| Blocks::packed(bytes.into_iter().map(|(length, ..)| length));
                let (send, receive) = (blocks(send), blocks(receive));
                let exchange = inter.alltoall_v((&message, &send), (&mut result, &receive));
                exchange.await?;
            }
            Self::ReduceScatterBlock(op) => {
                let ranks = inter.size();
                let blocks = Blocks::packed(std::iter::repeat_n(room, ranks));
                result = inter.reduce_scatter(&message, &blocks, &op).await?;
            }
            Self::ReduceScatter(blocks, op) => {
                result = inter.reduce_scatter(&message, &blocks, &op).await?;
            }
            _ => {
                let text = "not defined over an intercommunicator";
                return Err(CallError::new("MPI_ERR_COMM", text));
            }
        }
        Ok(Some(result))
    }

    /// Starts the operation.
    fn start(self, comm: &Comm, message: Buffer) -> mpi::Result<Request> {
        match self {
            Self::Barrier => comm.ibarrier(),
            Self::Bcast(root, _) => comm.ibcast(message, rank(root)),
            Self::Reduce(op, root) => comm.ireduce(message, &op, rank(root)),
            Self::Allreduce(op) => comm.iallreduce(message, &op),
            Self::Scan(op) => comm.iscan(message, &op),
            Self::Exscan(op) => comm.iexscan(message, &op),
            Self::Gather(root) => comm.igather(message, rank(root)),
            Self::GatherV(blocks, root) => comm.igather_v(message, blocks.as_ref(), rank(root)),
            Self::Scatter(root, place, is_root) => comm.iscatter(
                is_root.then_some(message),
                memory::room(comm, place),
                rank(root),
            ),
            Self::ScatterV(root, place, blocks) => {
                let all = blocks.map(|blocks| (message, blocks));
                comm.iscatter_v(all, memory::room(comm, place), rank(root))
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
            Self::Neighbors(graph, exchange) => exchange.start(&graph, message),
        }
    }

    /// Makes a persistent request of the operation.
    fn init(self, comm: &Comm, message: Buffer) -> mpi::Result<Request> {
        Ok(match self {
            Self::Barrier => comm.barrier_init(),
            Self::Bcast(root, _) => comm.bcast_init(message, rank(root)),
            Self::Reduce(op, root) => comm.reduce_init(message, &op, rank(root)),
            Self::Allreduce(op) => comm.allreduce_init(message, &op),
            Self::Scan(op) => comm.scan_init(message, &op),
            Self::Exscan(op) => comm.exscan_init(message, &op),
            Self::Gather(root) => comm.gather_init(message, rank(root)),
            Self::GatherV(blocks, root) => comm.gather_v_init(message, blocks.as_ref(), rank(root)),
            Self::Scatter(root, place, is_root) => comm.scatter_init(
                is_root.then_some(message),
                memory::room(comm, place),
                rank(root),
            )?,
            Self::ScatterV(root, place, blocks) => {
                let all = blocks.map(|blocks| (message, blocks));
                comm.scatter_v_init(all, memory::room(comm, place), rank(root))?
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
            Self::Neighbors(graph, exchange) => exchange.init(&graph, message)?,
        })
    }
}

impl Exchange {
    async fn wait(self, graph: &Graph, message: Buffer) -> mpi::Result<Buffer> {
        Ok(match self {
            Self::Allgather => graph.neighbor_allgather(&message).await?,
            Self::AllgatherV(blocks) => graph.neighbor_allgather_v(&message, blocks).await?,
            Self::Alltoall => graph.neighbor_alltoall(&message).await?,
            Self::AlltoallV(send, receive) => {
                graph.neighbor_alltoall_v(&message, send, receive).await?
            }
            Self::AlltoallW(blocks) => {
                let mut all = graph.buffer(blocks.room);
                let (send, receive) = (&blocks.send, &blocks.receive);
                let exchange = graph.neighbor_alltoall_w(&message, send, &mut all, receive);
                exchange.await?;
                all
            }
        })
    }

    fn start(self, graph: &Graph, message: Buffer) -> mpi::Result<Request> {
        match self {
            Self::Allgather => graph.ineighbor_allgather(message),
            Self::AllgatherV(blocks) => graph.ineighbor_allgather_v(message, blocks),
            Self::Alltoall => graph.ineighbor_alltoall(message),
            Self::AlltoallV(send, receive) => graph.ineighbor_alltoall_v(message, send, receive),
            Self::AlltoallW(blocks) => {
                let room = graph.buffer(blocks.room);
                graph.ineighbor_alltoall_w(message, &blocks.send, room, &blocks.receive)
            }
        }
    }

    fn init(self, graph: &Graph, message: Buffer) -> mpi::Result<Request> {
        Ok(match self {
            Self::Allgather => graph.neighbor_allgather_init(message),
            Self::AllgatherV(blocks) => graph.neighbor_allgather_v_init(message, blocks),
            Self::Alltoall => graph.neighbor_alltoall_init(message)?,
            Self::AlltoallV(send, receive) => {
                graph.neighbor_alltoall_v_init(message, send, receive)
            }
            Self::AlltoallW(blocks) => {
                let room = graph.buffer(blocks.room);
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
        if state.between.contains_key(&comm) {
            let text = "over an intercommunicator only collectives that wait are supported";
            return Err(CallError::new("MPI_ERR_COMM", text));
        }
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

fn wait(handle: Handle, prepared: Prepared) -> Result<(), CallError> {
    let (places, message) = block(async move |state| {
        let Prepared {
            given,
            result,
            operation,
        } = prepared;
        let comm = state.comm(handle)?;
        let message = operation.message(comm, &given);
        let message = match state.between.get(&handle) {
            None => operation.wait(comm, message).await?,
            Some(inter) => {
                let room = result.iter().map(|part| part.length as u64).sum();
                operation.wait_between(inter, message, room).await?
            }
        };
        Ok::<_, CallError>((result, message))
    })?;
    if let Some(message) = message {
        memory::fill_parts(&places, &message);
    }
    Ok(())
}
