//! Operations with a root: broadcast, reduction, gathering and scattering.

use ::collectives::Collective;

use super::call::TargetUse;
use super::{Blocks, CollectiveCall, Invocation};
use crate::{Buffer, Comm, Op, Result};

impl Comm {
    /// Sends the data of the root to all ranks: `MPI_Bcast`. Buffers have the same length at all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root) for a root out of range,
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed,
    /// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Short`](crate::Error::Short) if
    /// lengths differ.
    #[track_caller]
    pub fn bcast<'a>(&'a self, buffer: &'a mut Buffer, root: usize) -> CollectiveCall<'a, ()> {
        let call = Invocation::new(Collective::Bcast, Buffer::phantom(0)).with_root(root);
        CollectiveCall::of(self, call).with_target(buffer, TargetUse::Input)
    }

    /// Combines the contributions of all ranks at the root: `MPI_Reduce`. Returns the result at the
    /// root, and `None` elsewhere.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::Op`](crate::Error::Op) if the contribution is not a whole
    /// number of elements of the operation.
    #[track_caller]
    pub fn reduce(
        &self,
        contribution: impl Into<Buffer>,
        op: &Op,
        root: usize,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Reduce, contribution.into());
        CollectiveCall::of(self, call.with_op(op).with_root(root)).by_value()
    }

    /// Collects the blocks of all ranks at the root, in the order of the ranks: `MPI_Gather`. All
    /// blocks have the same length. Returns them at the root, and `None` elsewhere.
    ///
    /// # Errors
    /// As [`Comm::bcast`].
    #[track_caller]
    pub fn gather(
        &self,
        block: impl Into<Buffer>,
        root: usize,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Gather, block.into()).with_root(root);
        CollectiveCall::of(self, call).by_value()
    }

    /// [`Comm::gather`] of blocks of different lengths, which the root knows: `MPI_Gatherv`. The
    /// result has them where `blocks` says.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::BlockCount`](crate::Error::BlockCount) if the root does not
    /// give one block for each rank.
    #[track_caller]
    pub fn gather_v(
        &self,
        block: impl Into<Buffer>,
        blocks: Option<&Blocks>,
        root: usize,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let mut call = Invocation::new(Collective::Gatherv, block.into()).with_root(root);
        call.recv = blocks.cloned();
        CollectiveCall::of(self, call).by_value()
    }

    /// Gives each rank a block of the root's data, in the order of the ranks: `MPI_Scatter`. All
    /// blocks have the length of `block`, which receives the block of this rank; `all` is read at
    /// the root.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::Blocks`](crate::Error::Blocks) if the root's data are shorter
    /// than all blocks, [`Error::NoBuffer`](crate::Error::NoBuffer) if the root gives no data.
    #[track_caller]
    pub fn scatter<'a>(
        &'a self,
        all: Option<&Buffer>,
        block: &'a mut Buffer,
        root: usize,
    ) -> CollectiveCall<'a, ()> {
        let call = scatter_call(self, Collective::Scatter, all, None, root);
        CollectiveCall::of_checked(self, call).with_target(block, TargetUse::Room)
    }

    /// [`Comm::scatter`] of blocks of different lengths, which the root knows: `MPI_Scatterv`.
    ///
    /// # Errors
    /// As [`Comm::scatter`]; [`Error::BlockCount`](crate::Error::BlockCount) if the root does not
    /// give one block for each rank.
    #[track_caller]
    pub fn scatter_v<'a>(
        &'a self,
        all: Option<(&Buffer, &Blocks)>,
        block: &'a mut Buffer,
        root: usize,
    ) -> CollectiveCall<'a, ()> {
        let (all, blocks) = all.unzip();
        let call = scatter_call(self, Collective::Scatterv, all, blocks, root);
        CollectiveCall::of_checked(self, call).with_target(block, TargetUse::Room)
    }
}

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
