//! Collective operations of a communicator: with a root, with a result at all ranks, prefix
//! reductions and the barrier.

use observe::SourceLocation;

use ::collectives::Collective;

use super::call::TargetUse;
use super::{Blocks, CollectiveCall, Invocation};
use crate::{Buffer, Comm, Datatype, Op, Result};

/// Collective operations, which all ranks call.
///
/// A call is a value: `.await` waits for the end, [`CollectiveCall::start`] returns a request
/// (`MPI_Ibcast`), [`CollectiveCall::init`] a persistent one (`MPI_Bcast_init`). Neighbors of
/// [`Graph`](crate::Graph) and both groups of [`InterComm`](crate::InterComm) have their own calls.
pub trait CollectiveOperations: AsRef<Comm> {
    /// Sends the data of the root to all ranks: `MPI_Bcast`. Buffers have the same length at all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root) for a root out of range,
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed,
    /// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Short`](crate::Error::Short) if
    /// lengths differ.
    #[track_caller]
    fn bcast<'a>(&'a self, buffer: &'a mut Buffer, root: usize) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Bcast, Buffer::phantom(0)).with_root(root);
        CollectiveCall::from_invocation(self.as_ref(), call).with_target(buffer, TargetUse::Input)
    }

    /// Combines the contributions of all ranks at the root: `MPI_Reduce`. Returns the result at the
    /// root, and `None` elsewhere.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::Op`](crate::Error::Op) if the contribution is not a whole
    /// number of elements of the operation.
    #[track_caller]
    fn reduce(
        &self,
        contribution: impl Into<Buffer>,
        op: &Op,
        root: usize,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Reduce, contribution.into());
        CollectiveCall::from_invocation(self.as_ref(), call.with_op(op).with_root(root)).by_value()
    }

    /// Collects the blocks of all ranks at the root, in the order of the ranks: `MPI_Gather`. All
    /// blocks have the same length. Returns them at the root, and `None` elsewhere.
    ///
    /// # Errors
    /// As [`Comm::bcast`].
    #[track_caller]
    fn gather(&self, block: impl Into<Buffer>, root: usize) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Gather, block.into()).with_root(root);
        CollectiveCall::from_invocation(self.as_ref(), call).by_value()
    }

    /// [`Comm::gather`] of blocks of different lengths, which the root knows: `MPI_Gatherv`. The
    /// result has them where `blocks` says.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::BlockCount`](crate::Error::BlockCount) if the root does not
    /// give one block for each rank.
    #[track_caller]
    fn gather_v(
        &self,
        block: impl Into<Buffer>,
        blocks: Option<&Blocks>,
        root: usize,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let mut call = Invocation::new(Collective::Gatherv, block.into()).with_root(root);
        call.recv = blocks.cloned();
        CollectiveCall::from_invocation(self.as_ref(), call).by_value()
    }

    /// Gives each rank a block of the root's data, in the order of the ranks: `MPI_Scatter`. All
    /// blocks have the length of `block`, which receives the block of this rank; `all` is read at
    /// the root.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::Blocks`](crate::Error::Blocks) if the root's data are shorter
    /// than all blocks, [`Error::NoBuffer`](crate::Error::NoBuffer) if the root gives no data.
    #[track_caller]
    fn scatter<'a>(
        &'a self,
        all: Option<&Buffer>,
        block: &'a mut Buffer,
        root: usize,
    ) -> CollectiveCall<'a, ()> {
        let comm = self.as_ref();
        let call = scatter_call(comm, Collective::Scatter, all, None, root);
        CollectiveCall::of_checked(comm, call).with_target(block, TargetUse::Room)
    }

    /// [`Comm::scatter`] of blocks of different lengths, which the root knows: `MPI_Scatterv`.
    ///
    /// # Errors
    /// As [`Comm::scatter`]; [`Error::BlockCount`](crate::Error::BlockCount) if the root does not
    /// give one block for each rank.
    #[track_caller]
    fn scatter_v<'a>(
        &'a self,
        all: Option<(&Buffer, &Blocks)>,
        block: &'a mut Buffer,
        root: usize,
    ) -> CollectiveCall<'a, ()> {
        let comm = self.as_ref();
        let (all, blocks) = all.unzip();
        let call = scatter_call(comm, Collective::Scatterv, all, blocks, root);
        CollectiveCall::of_checked(comm, call).with_target(block, TargetUse::Room)
    }

    /// Combines the contributions of all ranks, and gives all the result: `MPI_Allreduce`.
    ///
    /// # Errors
    /// [`Error::Op`](crate::Error::Op) if the contribution is not a whole number of elements of the
    /// operation, [`Error::Comm`](crate::Error::Comm) if the communicator has been freed,
    /// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Short`](crate::Error::Short) if
    /// lengths differ.
    #[track_caller]
    fn allreduce(&self, contribution: impl Into<Buffer>, op: &Op) -> CollectiveCall<'_> {
        CollectiveCall::from_invocation(
            self.as_ref(),
            Invocation::new(Collective::Allreduce, contribution.into()).with_op(op),
        )
    }

    /// [`Comm::allreduce`] in place: `MPI_Allreduce` with `MPI_IN_PLACE`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    fn allreduce_in<'a>(&'a self, buffer: &'a mut Buffer, op: &Op) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Allreduce, Buffer::phantom(0)).with_op(op);
        CollectiveCall::from_invocation(self.as_ref(), call).with_target(buffer, TargetUse::Input)
    }

    /// Gives all ranks the blocks of all, in the order of the ranks: `MPI_Allgather`. All blocks
    /// have the same length.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    fn allgather(&self, block: impl Into<Buffer>) -> CollectiveCall<'_> {
        CollectiveCall::from_invocation(
            self.as_ref(),
            Invocation::new(Collective::Allgather, block.into()),
        )
    }

    /// [`Comm::allgather`] of blocks of different lengths, which all ranks know: `MPI_Allgatherv`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if the block of this rank has
    /// another length than its contribution.
    #[track_caller]
    fn allgather_v(
        &self,
        block: impl Into<Buffer>,
        blocks: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        let mut call = Invocation::new(Collective::Allgatherv, block.into());
        call.recv = Some(blocks.into());
        CollectiveCall::from_invocation(self.as_ref(), call)
    }

    /// Gives each rank one block of every rank: `MPI_Alltoall`. `blocks` has one for each rank, all
    /// of the same length; so has the result, in the order of the ranks that they come from.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    fn alltoall(&self, blocks: impl Into<Buffer>) -> CollectiveCall<'_> {
        CollectiveCall::from_invocation(
            self.as_ref(),
            Invocation::new(Collective::Alltoall, blocks.into()),
        )
    }

    /// [`Comm::alltoall`] in place: `MPI_Alltoall` with `MPI_IN_PLACE`. Ranks exchange their blocks
    /// in pairs, whichever algorithm is selected for other calls.
    ///
    /// # Errors
    /// As [`Comm::alltoall`].
    #[track_caller]
    fn alltoall_in<'a>(&'a self, buffer: &'a mut Buffer) -> CollectiveCall<'a, ()> {
        let mut call = Invocation::new(Collective::Alltoall, Buffer::phantom(0));
        call.in_place = true;
        CollectiveCall::from_invocation(self.as_ref(), call).with_target(buffer, TargetUse::Input)
    }

    /// [`Comm::alltoall`] of blocks of different lengths: `MPI_Alltoallv`. `send` gives the place
    /// of each rank's block in `buffer`, `recv` the place of each rank's block in the result.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if the buffer is shorter than
    /// its blocks.
    #[track_caller]
    fn alltoall_v(
        &self,
        buffer: impl Into<Buffer>,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::Alltoallv, buffer.into());
        CollectiveCall::from_invocation(self.as_ref(), call.with_blocks(send.into(), recv.into()))
    }

    /// Sends items of a datatype to each rank and receives items of each rank: `MPI_Alltoallw`.
    /// `send` has for each rank the number of items, their displacement in bytes in `buffer`, and
    /// their datatype; `recv` has the same for `target`. The bytes between the data stay as they
    /// are.
    ///
    /// # Errors
    /// As [`Comm::alltoall_v`], [`Datatype::structure`], [`Datatype::pack`] and
    /// [`Datatype::unpack`].
    #[track_caller]
    fn alltoall_w<'a>(
        &'a self,
        buffer: impl Into<Buffer>,
        send: &[(u64, u64, Datatype)],
        target: &'a mut Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Alltoallw, buffer.into());
        let call = call.with_types(send, recv);
        CollectiveCall::of_checked(self.as_ref(), call).into_place(target)
    }

    /// Combines the contributions of all ranks, and gives each rank a block of the result:
    /// `MPI_Reduce_scatter`. `blocks` are the blocks of all ranks, the same at all of them.
    ///
    /// # Errors
    /// As [`Comm::allreduce`] and [`Comm::alltoall_v`].
    #[track_caller]
    fn reduce_scatter(
        &self,
        contribution: impl Into<Buffer>,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::ReduceScatter, contribution.into());
        let mut call = call.with_op(op);
        call.send = Some(blocks.into());
        CollectiveCall::from_invocation(self.as_ref(), call)
    }

    /// [`Comm::reduce_scatter`] with blocks of equal lengths: `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    fn reduce_scatter_block(&self, contribution: impl Into<Buffer>, op: &Op) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::ReduceScatterBlock, contribution.into());
        CollectiveCall::from_invocation(self.as_ref(), call.with_op(op))
    }

    /// Combines the contributions of the ranks up to this one: `MPI_Scan`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    fn scan(&self, contribution: impl Into<Buffer>, op: &Op) -> CollectiveCall<'_> {
        CollectiveCall::from_invocation(
            self.as_ref(),
            Invocation::new(Collective::Scan, contribution.into()).with_op(op),
        )
    }

    /// Combines the contributions of the ranks below this one: `MPI_Exscan`. Rank 0 gets `None`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    fn exscan(
        &self,
        contribution: impl Into<Buffer>,
        op: &Op,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Exscan, contribution.into());
        CollectiveCall::from_invocation(self.as_ref(), call.with_op(op)).by_value()
    }

    /// Waits until every rank of the communicator has called the barrier: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed.
    #[track_caller]
    fn barrier(&self) -> CollectiveCall<'_, ()> {
        barrier_in(self.as_ref(), "barrier", SourceLocation::caller())
    }
}

impl CollectiveOperations for Comm {}

fn scatter_call(
    comm: &Comm,
    kind: Collective,
    all: Option<&Buffer>,
    blocks: Option<&Blocks>,
    root: usize,
) -> Result<Invocation> {
    let is_root = comm.rank() == root;
    let input = match all.filter(|_| is_root) {
        Some(all) => all.clone(),
        None if is_root => return Err(crate::Error::NoBuffer),
        None => Buffer::phantom(0),
    };
    let mut call = Invocation::new(kind, input).with_root(root);
    call.send = blocks.cloned();
    Ok(call)
}

/// [`Comm::allgather`] of real bytes, also where buffers of the program are phantoms.
pub(crate) async fn allgather_real(
    comm: &Comm,
    block: &[u8],
    location: SourceLocation,
) -> Result<Vec<u8>> {
    let call = Invocation::new(Collective::Allgather, Buffer::from(block.to_vec()));
    let all = CollectiveCall::new(comm, Ok(call), location).await?;
    Ok(all.bytes().unwrap_or_default().to_vec())
}

/// [`Comm::barrier`] as a part of a call of this name.
pub(crate) fn barrier_in<'a>(
    comm: &'a Comm,
    call: &'static str,
    location: SourceLocation,
) -> CollectiveCall<'a, ()> {
    let mut barrier = Invocation::new(Collective::Barrier, Buffer::phantom(0));
    barrier.name = call;
    CollectiveCall::new(comm, Ok(barrier), location).with_output(|_, _| ())
}
