//! Collective operations over intercommunicators (MPI 5.0, section 6.2.3): one group gives the
//! data, the other group gets the data.
//!
//! The calls are calls of the ranks of both groups, the lower group first. The result is empty at
//! ranks that get no result.

use ::collectives::Collective;

use super::{CollectiveCall, Invocation};
use crate::{Blocks, Buffer, Error, InterComm, Op, Result};

/// The root of a collective over an intercommunicator, as a rank of one of its groups sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterRoot {
    /// The caller: `MPI_ROOT`.
    Root,
    /// Another rank of the caller's group, which takes no part: `MPI_PROC_NULL`.
    Null,
    /// A rank of the other group.
    Remote(usize),
}

/// The root of a rank that takes no part.
pub(super) const NO_ROOT: usize = usize::MAX;

impl InterComm {
    #[track_caller]
    fn new_call(&self, call: Result<Invocation>) -> CollectiveCall<'_> {
        let between = |call| Invocation {
            is_between: true,
            ..call
        };
        CollectiveCall::of_checked(self.both(), call.map(between))
    }

    /// Returns a call with a root.
    fn rooted(&self, kind: Collective, input: Buffer, root: InterRoot) -> Result<Invocation> {
        let size = self.remote_size();
        let root = match root {
            InterRoot::Root => self.both().rank(),
            InterRoot::Null => NO_ROOT,
            InterRoot::Remote(root) if root < size => self.first_remote() + root,
            InterRoot::Remote(root) => return Err(Error::Root { root, size }),
        };
        Ok(Invocation::new(kind, input).with_root(root))
    }

    /// Waits until every rank of both groups has called the barrier: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`] if the intercommunicator has been freed.
    #[track_caller]
    pub fn barrier(&self) -> CollectiveCall<'_> {
        let empty = Buffer::phantom(0);
        self.new_call(Ok(Invocation::new(Collective::Barrier, empty)))
    }

    /// Sends the data of the root to all ranks of the other group: `MPI_Bcast`. The buffers of the
    /// root and of the other group have the same length.
    ///
    /// # Errors
    /// [`Error::Root`] for a root out of range, [`Error::Short`] or [`Error::Truncated`] if lengths
    /// differ, [`Error::Comm`] if the intercommunicator has been freed.
    #[track_caller]
    pub fn bcast(&self, buffer: Buffer, root: InterRoot) -> CollectiveCall<'_> {
        self.new_call(self.rooted(Collective::Bcast, buffer, root))
    }

    /// Collects the blocks of the other group at the root, in the order of their ranks:
    /// `MPI_Gather`. `buffer` is the block of a rank, and at the root the room for all.
    ///
    /// # Errors
    /// As [`InterComm::bcast`]; [`Error::Count`] if the room is not a multiple of the number of
    /// ranks of the other group.
    #[track_caller]
    pub fn gather(&self, buffer: Buffer, root: InterRoot) -> CollectiveCall<'_> {
        let blocks = self.blocks_at_root(&buffer, root);
        self.new_call(blocks.and_then(|blocks| {
            let mut call = self.rooted(Collective::Gather, buffer, root)?;
            call.recv = blocks;
            Ok(call)
        }))
    }

    /// Gives each rank of the other group a block of the root's data, in the order of the ranks:
    /// `MPI_Scatter`. `buffer` is the room for the block of a rank, and at the root all blocks.
    ///
    /// # Errors
    /// As [`InterComm::gather`].
    #[track_caller]
    pub fn scatter(&self, buffer: Buffer, root: InterRoot) -> CollectiveCall<'_> {
        let blocks = self.blocks_at_root(&buffer, root);
        self.new_call(blocks.and_then(|blocks| {
            let mut call = self.rooted(Collective::Scatter, buffer, root)?;
            call.send = blocks;
            Ok(call)
        }))
    }

    /// [`InterComm::gather`] of blocks of different lengths: `MPI_Gatherv`. `blocks` are the blocks
    /// of the other group, at the root.
    ///
    /// # Errors
    /// As [`InterComm::gather`]; [`Error::BlockCount`] if there is not one block for each rank of
    /// the other group.
    #[track_caller]
    pub fn gather_v(
        &self,
        buffer: Buffer,
        blocks: Option<Blocks>,
        root: InterRoot,
    ) -> CollectiveCall<'_> {
        let call = self.rooted(Collective::Gatherv, buffer, root);
        self.new_call(call.map(|call| Invocation {
            recv: blocks,
            ..call
        }))
    }

    /// [`InterComm::scatter`] of blocks of different lengths: `MPI_Scatterv`. `blocks` are the
    /// blocks of the other group, at the root.
    ///
    /// # Errors
    /// As [`InterComm::gather_v`].
    #[track_caller]
    pub fn scatter_v(
        &self,
        buffer: Buffer,
        blocks: Option<Blocks>,
        root: InterRoot,
    ) -> CollectiveCall<'_> {
        let call = self.rooted(Collective::Scatterv, buffer, root);
        self.new_call(call.map(|call| Invocation {
            send: blocks,
            ..call
        }))
    }

    /// Combines the contributions of the other group at the root: `MPI_Reduce`. `buffer` is the
    /// contribution of a rank, and at the root the room for the result.
    ///
    /// # Errors
    /// As [`InterComm::bcast`]; [`Error::Op`] if the contribution is not a whole number of elements
    /// of the operation.
    #[track_caller]
    pub fn reduce(&self, buffer: Buffer, op: &Op, root: InterRoot) -> CollectiveCall<'_> {
        let call = self.rooted(Collective::Reduce, buffer, root);
        self.new_call(call.map(|call| call.with_op(op)))
    }

    /// Combines the contributions of each group and gives the result to the other one:
    /// `MPI_Allreduce`.
    ///
    /// # Errors
    /// As [`InterComm::reduce`].
    #[track_caller]
    pub fn allreduce(&self, contribution: Buffer, op: &Op) -> CollectiveCall<'_> {
        let call = Invocation::new(Collective::Allreduce, contribution);
        self.new_call(Ok(call.with_op(op)))
    }

    /// Gives all ranks the blocks of the other group, in the order of their ranks: `MPI_Allgather`.
    /// Each has `length` bytes.
    ///
    /// # Errors
    /// As [`InterComm::bcast`].
    #[track_caller]
    pub fn allgather(&self, block: Buffer, length: u64) -> CollectiveCall<'_> {
        self.gathering(Collective::Allgather, block, self.equal(length))
    }

    /// [`InterComm::allgather`] of blocks of different lengths: `MPI_Allgatherv`. `blocks` are the
    /// blocks of the other group.
    ///
    /// # Errors
    /// As [`InterComm::gather_v`].
    #[track_caller]
    pub fn allgather_v(&self, block: Buffer, blocks: Blocks) -> CollectiveCall<'_> {
        self.gathering(Collective::Allgatherv, block, blocks)
    }

    #[track_caller]
    fn gathering(&self, kind: Collective, block: Buffer, recv: Blocks) -> CollectiveCall<'_> {
        let own = std::iter::repeat_n((0, block.len()), self.remote_size());
        let send = Blocks::placed(own);
        self.exchange_call(kind, (block, send), recv)
    }

    /// Gives each rank of the other group a block, and gets one of each, of `length` bytes:
    /// `MPI_Alltoall`. `blocks` has one for each rank of the other group.
    ///
    /// # Errors
    /// As [`InterComm::gather`].
    #[track_caller]
    pub fn alltoall(&self, blocks: Buffer, length: u64) -> CollectiveCall<'_> {
        match self.divided(&blocks) {
            Ok(send) => {
                self.exchange_call(Collective::Alltoall, (blocks, send), self.equal(length))
            }
            Err(error) => self.new_call(Err(error)),
        }
    }

    /// [`InterComm::alltoall`] of blocks of different lengths: `MPI_Alltoallv`. `send` gives the
    /// place of the block for each rank of the other group in `buffer`, `recv` the place of the
    /// block of each rank in the result.
    ///
    /// # Errors
    /// As [`InterComm::gather_v`]; [`Error::Blocks`] if the buffer is shorter than its blocks.
    #[track_caller]
    pub fn alltoall_v(&self, buffer: Buffer, send: Blocks, recv: Blocks) -> CollectiveCall<'_> {
        self.exchange_call(Collective::Alltoallv, (buffer, send), recv)
    }

    #[track_caller]
    fn exchange_call(
        &self,
        kind: Collective,
        (buffer, send): (Buffer, Blocks),
        recv: Blocks,
    ) -> CollectiveCall<'_> {
        self.new_call(Ok(Invocation::new(kind, buffer).with_blocks(send, recv)))
    }

    /// Combines the contributions of each group and gives each rank of the other group a block of
    /// the result: `MPI_Reduce_scatter`. `blocks` are the blocks of the caller's group.
    ///
    /// # Errors
    /// As [`InterComm::reduce`]; [`Error::BlockCount`] if there is not one block for each rank of
    /// the caller's group.
    #[track_caller]
    pub fn reduce_scatter(
        &self,
        contribution: Buffer,
        blocks: impl Into<Blocks>,
        op: &Op,
    ) -> CollectiveCall<'_> {
        let mut call = Invocation::new(Collective::ReduceScatter, contribution).with_op(op);
        call.send = Some(blocks.into());
        self.new_call(Ok(call))
    }

    /// Returns blocks of this length, one for each rank of the other group.
    fn equal(&self, length: u64) -> Blocks {
        Blocks::packed(std::iter::repeat_n(length, self.remote_size()))
    }

    /// Returns the blocks of a buffer that has one for each rank of the other group.
    fn divided(&self, buffer: &Buffer) -> Result<Blocks> {
        let (length, size) = (buffer.len(), self.remote_size() as u64);
        match length.is_multiple_of(size) {
            true => Ok(self.equal(length / size)),
            false => Err(Error::Count { length, size }),
        }
    }

    fn blocks_at_root(&self, buffer: &Buffer, root: InterRoot) -> Result<Option<Blocks>> {
        let is_root = root == InterRoot::Root;
        is_root.then(|| self.divided(buffer)).transpose()
    }
}
