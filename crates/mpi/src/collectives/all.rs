//! Collectives with a result at all ranks: allreduce, allgather, alltoall, `reduce_scatter`.

use observe::SourceLocation;

use ::collectives::Collective;

use super::call::TargetUse;
use super::{Blocks, CollectiveCall, Invocation};
use crate::{Buffer, Comm, Datatype, Op, Result};

impl Comm {
    /// Combines the contributions of all ranks, and gives all the result: `MPI_Allreduce`.
    ///
    /// # Errors
    /// [`Error::Op`](crate::Error::Op) if the contribution is not a whole number of elements of the
    /// operation, [`Error::Comm`](crate::Error::Comm) if the communicator has been freed,
    /// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Short`](crate::Error::Short) if
    /// lengths differ.
    #[track_caller]
    pub fn allreduce(&self, contribution: impl Into<Buffer>, op: &Op) -> CollectiveCall<'_> {
        CollectiveCall::of(
            self,
            Invocation::new(Collective::Allreduce, contribution.into()).with_op(op),
        )
    }

    /// [`Comm::allreduce`] in place: `MPI_Allreduce` with `MPI_IN_PLACE`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn allreduce_in<'a>(&'a self, buffer: &'a mut Buffer, op: &Op) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Allreduce, Buffer::phantom(0)).with_op(op);
        CollectiveCall::of(self, call).with_target(buffer, TargetUse::Input)
    }

    /// Gives all ranks the blocks of all, in the order of the ranks: `MPI_Allgather`. All blocks
    /// have the same length.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn allgather(&self, block: impl Into<Buffer>) -> CollectiveCall<'_> {
        CollectiveCall::of(self, Invocation::new(Collective::Allgather, block.into()))
    }

    /// [`Comm::allgather`] of blocks of different lengths, which all ranks know: `MPI_Allgatherv`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if the block of this rank has
    /// another length than its contribution.
    #[track_caller]
    pub fn allgather_v(
        &self,
        block: impl Into<Buffer>,
        blocks: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        let mut call = Invocation::new(Collective::Allgatherv, block.into());
        call.recv = Some(blocks.into());
        CollectiveCall::of(self, call)
    }

    /// Gives each rank one block of every rank: `MPI_Alltoall`. `blocks` has one for each rank, all
    /// of the same length; so has the result, in the order of the ranks that they come from.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    pub fn alltoall(&self, blocks: impl Into<Buffer>) -> CollectiveCall<'_> {
        CollectiveCall::of(self, Invocation::new(Collective::Alltoall, blocks.into()))
    }

    /// [`Comm::alltoall`] in place: `MPI_Alltoall` with `MPI_IN_PLACE`. Ranks exchange their blocks
    /// in pairs, whichever algorithm is selected for other calls.
    ///
    /// # Errors
    /// As [`Comm::alltoall`].
    #[track_caller]
    pub fn alltoall_in<'a>(&'a self, buffer: &'a mut Buffer) -> CollectiveCall<'a, ()> {
        let mut call = Invocation::new(Collective::Alltoall, Buffer::phantom(0));
        call.in_place = true;
        CollectiveCall::of(self, call).with_target(buffer, TargetUse::Input)
    }

    /// [`Comm::alltoall`] of blocks of different lengths: `MPI_Alltoallv`. `send` gives the place
    /// of each rank's block in `buffer`, `recv` the place of each rank's block in the result.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if the buffer is shorter than
    /// its blocks.
    #[track_caller]
    pub fn alltoall_v(
        &self,
        buffer: impl Into<Buffer>,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::Alltoallv, buffer.into());
        CollectiveCall::of(self, call.with_blocks(send.into(), recv.into()))
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
    pub fn alltoall_w<'a>(
        &'a self,
        buffer: impl Into<Buffer>,
        send: &[(u64, u64, Datatype)],
        target: &'a mut Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Alltoallw, buffer.into());
        let call = call.with_types(send, recv);
        CollectiveCall::of_checked(self, call).into_place(target)
    }

    /// Combines the contributions of all ranks, and gives each rank a block of the result:
    /// `MPI_Reduce_scatter`. `blocks` are the blocks of all ranks, the same at all of them.
    ///
    /// # Errors
    /// As [`Comm::allreduce`] and [`Comm::alltoall_v`].
    #[track_caller]
    pub fn reduce_scatter(
        &self,
        contribution: impl Into<Buffer>,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::ReduceScatter, contribution.into());
        let mut call = call.with_op(op);
        call.send = Some(blocks.into());
        CollectiveCall::of(self, call)
    }

    /// [`Comm::reduce_scatter`] with blocks of equal lengths: `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    pub fn reduce_scatter_block(
        &self,
        contribution: impl Into<Buffer>,
        op: &Op,
    ) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::ReduceScatterBlock, contribution.into());
        CollectiveCall::of(self, call.with_op(op))
    }
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
