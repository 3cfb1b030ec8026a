//! Collective operations in their three forms: those that wait, those that are started, and
//! persistent ones (MPI 5.0, sections 6.12 and 6.13).
//!
//! A contribution is copied when the operation starts, a result when it is completed.

use std::rc::Rc;

use mpi::{Blocks, Buffer, Comm, Datatype, Graph, InterCall, InterComm, InterRoot, Op, Request};

use super::super::{Handle, active, memory};
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

    /// Returns the operation between two groups, whose result has `room` bytes at ranks that get
    /// one.
    fn between(
        self,
        inter: &InterComm,
        message: Buffer,
        room: u64,
    ) -> Result<InterCall<'_>, CallError> {
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

/// Returns the length of a result in bytes.
fn room(result: &[Target]) -> u64 {
    result.iter().map(|part| part.length as u64).sum()
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
    if !is_persistent {
        active::compare(&given, &result)?;
    }
    let parts = Parts {
        contribution: is_persistent.then(|| given.clone()),
        result,
        is_collective: true,
    };
    let parts = Rc::new(parts);
    let handle = with(|state| {
        let inter = state.between.get(&comm);
        let comm = state.comm(comm)?;
        let message = operation.message(comm, &given);
        let begun = match (inter, is_persistent) {
            (None, false) => operation.start(comm, message)?,
            (None, true) => operation.init(comm, message)?,
            (Some(inter), false) => {
                let call = operation.between(inter, message, room(&parts.result))?;
                call.start()?
            }
            (Some(inter), true) => operation
                .between(inter, message, room(&parts.result))?
                .init()?,
        };
        Ok::<_, CallError>(state.insert(begun, Memory::Parts(Rc::clone(&parts))))
    })?;
    if !is_persistent {
        active::note_request(handle, &given, &parts.result);
    }
    memory::store(request, handle);
    Ok(())
}

fn wait(handle: Handle, prepared: Prepared) -> Result<(), CallError> {
    active::compare(&prepared.given, &prepared.result)?;
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
                let call = operation.between(inter, message, room(&result))?;
                Some(call.await?)
            }
        };
        Ok::<_, CallError>((result, message))
    })?;
    if let Some(message) = message {
        memory::fill_parts(&places, &message);
    }
    Ok(())
}
