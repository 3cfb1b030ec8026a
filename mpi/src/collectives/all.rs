//! Operations whose result all ranks get: allreduce, allgather, alltoall, `reduce_scatter`.

use observe::SourceLocation;
use std::future::Future;

use ::collectives::Collective;

use super::{Blocks, Invocation};
use crate::{Buffer, Comm, Op, Request, Result};

impl Comm {
    /// Combines the contributions of all ranks, and gives all the result: `MPI_Allreduce`.
    ///
    /// # Errors
    /// [`Error::Op`](crate::Error::Op) if the contribution is not a whole number of elements of the
    /// operation, [`Error::Comm`](crate::Error::Comm) if the communicator has been freed,
    /// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Short`](crate::Error::Short) if
    /// lengths differ.
    #[track_caller]
    pub fn allreduce(
        &self,
        contribution: &Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = Invocation::new(Collective::Allreduce, contribution.clone()).with_op(op);
        self.perform(call, SourceLocation::caller())
    }

    /// [`Comm::allreduce`] in place: `MPI_Allreduce` with `MPI_IN_PLACE`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn allreduce_in<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        let op = op.clone();
        async move {
            let length = buffer.len();
            let input = std::mem::replace(buffer, Buffer::phantom(length));
            let call = Invocation::new(Collective::Allreduce, input).with_op(&op);
            *buffer = self.perform(call, location).await?;
            Ok(())
        }
    }

    /// Starts a reduction for all ranks: `MPI_Iallreduce`. The completion has the result.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn iallreduce(&self, contribution: Buffer, op: &Op) -> Result<Request> {
        let call = Invocation::new(Collective::Allreduce, contribution).with_op(op);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A reduction for all ranks that [`Request::start`] starts: `MPI_Allreduce_init`.
    #[must_use = "it has to be started"]
    pub fn allreduce_init(&self, contribution: Buffer, op: &Op) -> Request {
        self.collective_init(Invocation::new(Collective::Allreduce, contribution).with_op(op))
    }

    /// Gives all ranks the blocks of all, in the order of the ranks: `MPI_Allgather`. All blocks
    /// have the same length.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn allgather(&self, block: &Buffer) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = Invocation::new(Collective::Allgather, block.clone());
        self.perform(call, SourceLocation::caller())
    }

    /// [`Comm::allgather`] of real bytes, also where buffers of the program are phantoms.
    pub(crate) async fn allgather_real(
        &self,
        block: &[u8],
        location: SourceLocation,
    ) -> Result<Vec<u8>> {
        let call = Invocation::new(Collective::Allgather, Buffer::from(block.to_vec()));
        let all = self.perform(call, location).await?;
        Ok(all.bytes().unwrap_or_default().to_vec())
    }

    /// Starts an allgather: `MPI_Iallgather`. The completion has all blocks.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn iallgather(&self, block: Buffer) -> Result<Request> {
        let call = Invocation::new(Collective::Allgather, block);
        self.start_request(&call, SourceLocation::caller())
    }

    /// An allgather that [`Request::start`] starts: `MPI_Allgather_init`.
    #[must_use = "it has to be started"]
    pub fn allgather_init(&self, block: Buffer) -> Request {
        self.collective_init(Invocation::new(Collective::Allgather, block))
    }

    /// [`Comm::allgather`] of blocks of different lengths, which all ranks know: `MPI_Allgatherv`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if that of this rank has
    /// another length than its contribution.
    #[track_caller]
    pub fn allgather_v(
        &self,
        block: &Buffer,
        blocks: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        let mut call = Invocation::new(Collective::Allgatherv, block.clone());
        call.recv = Some(blocks.into());
        self.perform(call, SourceLocation::caller())
    }

    /// Starts an allgather of blocks of different lengths: `MPI_Iallgatherv`.
    ///
    /// # Errors
    /// As [`Comm::allgather_v`].
    #[track_caller]
    pub fn iallgather_v(&self, block: Buffer, blocks: impl Into<Blocks>) -> Result<Request> {
        let mut call = Invocation::new(Collective::Allgatherv, block);
        call.recv = Some(blocks.into());
        self.start_request(&call, SourceLocation::caller())
    }

    /// An allgather of blocks of different lengths that [`Request::start`] starts:
    /// `MPI_Allgatherv_init`.
    #[must_use = "it has to be started"]
    pub fn allgather_v_init(&self, block: Buffer, blocks: impl Into<Blocks>) -> Request {
        let mut call = Invocation::new(Collective::Allgatherv, block);
        call.recv = Some(blocks.into());
        self.collective_init(call)
    }

    /// Gives each rank one block of every rank: `MPI_Alltoall`. `blocks` has one for each rank, all
    /// of the same length; so has the result, in the order of the ranks that they come from.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    pub fn alltoall(&self, blocks: &Buffer) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = Invocation::new(Collective::Alltoall, blocks.clone());
        self.perform(call, SourceLocation::caller())
    }

    /// [`Comm::alltoall`] in place: `MPI_Alltoall` with `MPI_IN_PLACE`. Ranks exchange their blocks
    /// in pairs, whichever algorithm is selected for other calls.
    ///
    /// # Errors
    /// As [`Comm::alltoall`].
    #[track_caller]
    pub fn alltoall_in<'a>(
        &'a self,
        buffer: &'a mut Buffer,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            let length = buffer.len();
            let input = std::mem::replace(buffer, Buffer::phantom(length));
            let mut call = Invocation::new(Collective::Alltoall, input);
            call.in_place = true;
            *buffer = self.perform(call, location).await?;
            Ok(())
        }
    }

    /// Starts an alltoall: `MPI_Ialltoall`. The completion has the blocks for this rank.
    ///
    /// # Errors
    /// As [`Comm::alltoall`].
    #[track_caller]
    pub fn ialltoall(&self, blocks: Buffer) -> Result<Request> {
        let call = Invocation::new(Collective::Alltoall, blocks);
        self.start_request(&call, SourceLocation::caller())
    }

    /// An alltoall that [`Request::start`] starts: `MPI_Alltoall_init`.
    #[must_use = "it has to be started"]
    pub fn alltoall_init(&self, blocks: Buffer) -> Request {
        self.collective_init(Invocation::new(Collective::Alltoall, blocks))
    }

    /// [`Comm::alltoall`] of blocks of different lengths: `MPI_Alltoallv`. `send` says where the
    /// block for each rank is in `buffer`, `recv` where the block of each rank is in the result.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::BlockCount`](crate::Error::BlockCount) if there is not one
    /// block for each rank, [`Error::Blocks`](crate::Error::Blocks) if the buffer is shorter than
    /// its blocks.
    #[track_caller]
    pub fn alltoall_v(
        &self,
        buffer: &Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        let call = alltoall_v(buffer.clone(), send.into(), recv.into());
        self.perform(call, SourceLocation::caller())
    }

    /// Starts an alltoall of blocks of different lengths: `MPI_Ialltoallv`.
    ///
    /// # Errors
    /// As [`Comm::alltoall_v`].
    #[track_caller]
    pub fn ialltoall_v(
        &self,
        buffer: Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> Result<Request> {
        let call = alltoall_v(buffer, send.into(), recv.into());
        self.start_request(&call, SourceLocation::caller())
    }

    /// An alltoall of blocks of different lengths that [`Request::start`] starts:
    /// `MPI_Alltoallv_init`.
    #[must_use = "it has to be started"]
    pub fn alltoall_v_init(
        &self,
        buffer: Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> Request {
        self.collective_init(alltoall_v(buffer, send.into(), recv.into()))
    }

    /// Combines the contributions of all ranks, and gives each rank a block of the result:
    /// `MPI_Reduce_scatter`. `blocks` are the blocks of all ranks, the same at all of them.
    ///
    /// # Errors
    /// As [`Comm::allreduce`] and [`Comm::alltoall_v`].
    #[track_caller]
    pub fn reduce_scatter(
        &self,
        contribution: &Buffer,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> {
        let call = reduce_scatter(contribution.clone(), blocks.into(), op);
        self.perform(call, SourceLocation::caller())
    }

    /// Starts a reduction of which each rank gets a block: `MPI_Ireduce_scatter`.
    ///
    /// # Errors
    /// As [`Comm::reduce_scatter`].
    #[track_caller]
    pub fn ireduce_scatter(
        &self,
        contribution: Buffer,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> Result<Request> {
        let call = reduce_scatter(contribution, blocks.into(), op);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A reduction of which each rank gets a block, that [`Request::start`] starts:
    /// `MPI_Reduce_scatter_init`.
    #[must_use = "it has to be started"]
    pub fn reduce_scatter_init(
        &self,
        contribution: Buffer,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> Request {
        self.collective_init(reduce_scatter(contribution, blocks.into(), op))
    }

    /// [`Comm::reduce_scatter`] with blocks of equal lengths: `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`]; [`Error::Count`](crate::Error::Count) if the length is not a
    /// multiple of the number of ranks.
    #[track_caller]
    pub fn reduce_scatter_block(
        &self,
        contribution: &Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = Invocation::new(Collective::ReduceScatterBlock, contribution.clone());
        self.perform(call.with_op(op), SourceLocation::caller())
    }

    /// Starts a reduction of which each rank gets an equal block: `MPI_Ireduce_scatter_block`.
    ///
    /// # Errors
    /// As [`Comm::reduce_scatter_block`].
    #[track_caller]
    pub fn ireduce_scatter_block(&self, contribution: Buffer, op: &Op) -> Result<Request> {
        let call = Invocation::new(Collective::ReduceScatterBlock, contribution);
        self.start_request(&call.with_op(op), SourceLocation::caller())
    }

    /// A reduction of which each rank gets an equal block, that [`Request::start`] starts:
    /// `MPI_Reduce_scatter_block_init`.
    #[must_use = "it has to be started"]
    pub fn reduce_scatter_block_init(&self, contribution: Buffer, op: &Op) -> Request {
        let call = Invocation::new(Collective::ReduceScatterBlock, contribution);
        self.collective_init(call.with_op(op))
    }
}

fn alltoall_v(buffer: Buffer, send: Blocks, recv: Blocks) -> Invocation {
    let mut call = Invocation::new(Collective::Alltoallv, buffer);
    (call.send, call.recv) = (Some(send), Some(recv));
    call
}

fn reduce_scatter(contribution: Buffer, blocks: Blocks, op: &Op) -> Invocation {
    let mut call = Invocation::new(Collective::ReduceScatter, contribution).with_op(op);
    call.send = Some(blocks);
    call
}
