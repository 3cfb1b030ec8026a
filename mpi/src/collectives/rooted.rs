//! Operations with a root: broadcast, reduction, gathering and scattering.

use observe::SourceLocation;
use std::future::Future;

use ::collectives::Collective;

use super::{Blocks, Invocation};
use crate::{Buffer, Comm, Op, Request, Result};

/// Takes a buffer out of its place, where a phantom of its length stays.
fn take(buffer: &mut Buffer) -> Buffer {
    let length = buffer.len();
    std::mem::replace(buffer, Buffer::phantom(length))
}

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
    pub fn bcast<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        root: usize,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            let call = Invocation::new(Collective::Bcast, take(buffer)).with_root(root);
            *buffer = self.perform(call, location).await?;
            Ok(())
        }
    }

    /// Starts a broadcast: `MPI_Ibcast`. The completion has the data.
    ///
    /// # Errors
    /// As [`Comm::bcast`].
    #[track_caller]
    pub fn ibcast(&self, buffer: Buffer, root: usize) -> Result<Request> {
        let call = Invocation::new(Collective::Bcast, buffer).with_root(root);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A broadcast that [`Request::start`] starts: `MPI_Bcast_init`.
    #[must_use = "it has to be started"]
    pub fn bcast_init(&self, buffer: Buffer, root: usize) -> Request {
        self.collective_init(Invocation::new(Collective::Bcast, buffer).with_root(root))
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
        contribution: &Buffer,
        op: &Op,
        root: usize,
    ) -> impl Future<Output = Result<Option<Buffer>>> + '_ {
        let location = SourceLocation::caller();
        let call = Invocation::new(Collective::Reduce, contribution.clone());
        let call = call.with_op(op).with_root(root);
        self.perform_at_root(call, location)
    }

    /// Starts a reduction: `MPI_Ireduce`. At the root the completion has the result, elsewhere an
    /// empty buffer.
    ///
    /// # Errors
    /// As [`Comm::reduce`].
    #[track_caller]
    pub fn ireduce(&self, contribution: Buffer, op: &Op, root: usize) -> Result<Request> {
        let call = Invocation::new(Collective::Reduce, contribution);
        self.start_request(&call.with_op(op).with_root(root), SourceLocation::caller())
    }

    /// A reduction that [`Request::start`] starts: `MPI_Reduce_init`.
    #[must_use = "it has to be started"]
    pub fn reduce_init(&self, contribution: Buffer, op: &Op, root: usize) -> Request {
        let call = Invocation::new(Collective::Reduce, contribution);
        self.collective_init(call.with_op(op).with_root(root))
    }

    /// Collects the blocks of all ranks at the root, in the order of the ranks: `MPI_Gather`. All
    /// blocks have the same length. Returns them at the root, and `None` elsewhere.
    ///
    /// # Errors
    /// As [`Comm::bcast`].
    #[track_caller]
    pub fn gather(
        &self,
        block: &Buffer,
        root: usize,
    ) -> impl Future<Output = Result<Option<Buffer>>> + '_ {
        let location = SourceLocation::caller();
        let call = Invocation::new(Collective::Gather, block.clone()).with_root(root);
        self.perform_at_root(call, location)
    }

    /// Starts to collect blocks: `MPI_Igather`. At the root the completion has all of them,
    /// elsewhere an empty buffer.
    ///
    /// # Errors
    /// As [`Comm::bcast`].
    #[track_caller]
    pub fn igather(&self, block: Buffer, root: usize) -> Result<Request> {
        let call = Invocation::new(Collective::Gather, block).with_root(root);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A gathering that [`Request::start`] starts: `MPI_Gather_init`.
    #[must_use = "it has to be started"]
    pub fn gather_init(&self, block: Buffer, root: usize) -> Request {
        self.collective_init(Invocation::new(Collective::Gather, block).with_root(root))
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
        block: &Buffer,
        blocks: Option<&Blocks>,
        root: usize,
    ) -> impl Future<Output = Result<Option<Buffer>>> + '_ {
        let location = SourceLocation::caller();
        let call = gather_v(block.clone(), blocks, root);
        self.perform_at_root(call, location)
    }

    /// Starts to collect blocks of different lengths: `MPI_Igatherv`.
    ///
    /// # Errors
    /// As [`Comm::gather_v`].
    #[track_caller]
    pub fn igather_v(
        &self,
        block: Buffer,
        blocks: Option<&Blocks>,
        root: usize,
    ) -> Result<Request> {
        self.start_request(&gather_v(block, blocks, root), SourceLocation::caller())
    }

    /// A gathering of blocks of different lengths that [`Request::start`] starts:
    /// `MPI_Gatherv_init`.
    #[must_use = "it has to be started"]
    pub fn gather_v_init(&self, block: Buffer, blocks: Option<&Blocks>, root: usize) -> Request {
        self.collective_init(gather_v(block, blocks, root))
    }

    /// Gives each rank a block of the root's data, in the order of the ranks: `MPI_Scatter`. All
    /// blocks have the length of `block`, which receives that of this rank; `all` is read at the
    /// root.
    ///
    /// # Errors
    /// As [`Comm::bcast`]; [`Error::Blocks`](crate::Error::Blocks) if the root's data are shorter
    /// than all blocks, [`Error::NoBuffer`](crate::Error::NoBuffer) if it gives none.
    #[track_caller]
    pub fn scatter<'a>(
        &'a self,
        all: Option<&Buffer>,
        block: &'a mut Buffer,
        root: usize,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        let all = all.cloned();
        async move {
            let call = self.scatter_call(Collective::Scatter, all, take(block), root)?;
            *block = self.perform(call, location).await?;
            Ok(())
        }
    }

    /// Starts to distribute blocks: `MPI_Iscatter`. The completion has the block of this rank.
    ///
    /// # Errors
    /// As [`Comm::scatter`].
    #[track_caller]
    pub fn iscatter(&self, all: Option<Buffer>, block: Buffer, root: usize) -> Result<Request> {
        let call = self.scatter_call(Collective::Scatter, all, block, root)?;
        self.start_request(&call, SourceLocation::caller())
    }

    /// A scattering that [`Request::start`] starts: `MPI_Scatter_init`.
    ///
    /// # Errors
    /// As [`Comm::scatter`].
    pub fn scatter_init(&self, all: Option<Buffer>, block: Buffer, root: usize) -> Result<Request> {
        let call = self.scatter_call(Collective::Scatter, all, block, root)?;
        Ok(self.collective_init(call))
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
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        let (all, blocks) = all
            .map(|(all, blocks)| (all.clone(), blocks.clone()))
            .unzip();
        async move {
            let mut call = self.scatter_call(Collective::Scatterv, all, take(block), root)?;
            call.send = blocks;
            *block = self.perform(call, location).await?;
            Ok(())
        }
    }

    /// Starts to distribute blocks of different lengths: `MPI_Iscatterv`.
    ///
    /// # Errors
    /// As [`Comm::scatter_v`].
    #[track_caller]
    pub fn iscatter_v(
        &self,
        all: Option<(Buffer, Blocks)>,
        block: Buffer,
        root: usize,
    ) -> Result<Request> {
        let (all, blocks) = all.unzip();
        let mut call = self.scatter_call(Collective::Scatterv, all, block, root)?;
        call.send = blocks;
        self.start_request(&call, SourceLocation::caller())
    }

    /// A scattering of blocks of different lengths that [`Request::start`] starts:
    /// `MPI_Scatterv_init`.
    ///
    /// # Errors
    /// As [`Comm::scatter_v`].
    pub fn scatter_v_init(
        &self,
        all: Option<(Buffer, Blocks)>,
        block: Buffer,
        root: usize,
    ) -> Result<Request> {
        let (all, blocks) = all.unzip();
        let mut call = self.scatter_call(Collective::Scatterv, all, block, root)?;
        call.send = blocks;
        Ok(self.collective_init(call))
    }

    fn scatter_call(
        &self,
        kind: Collective,
        all: Option<Buffer>,
        block: Buffer,
        root: usize,
    ) -> Result<Invocation> {
        let is_root = self.rank() == root;
        let input = match all.filter(|_| is_root) {
            Some(all) => all,
            None if is_root => return Err(crate::Error::NoBuffer),
            None => Buffer::phantom(0),
        };
        let mut call = Invocation::new(kind, input).with_root(root);
        call.room = Some(block);
        Ok(call)
    }

    /// Performs a collective that has its result at the root.
    async fn perform_at_root(
        &self,
        call: Invocation,
        location: SourceLocation,
    ) -> Result<Option<Buffer>> {
        let is_root = self.rank() == call.root;
        let result = self.perform(call, location).await?;
        Ok(is_root.then_some(result))
    }
}

fn gather_v(block: Buffer, blocks: Option<&Blocks>, root: usize) -> Invocation {
    let mut call = Invocation::new(Collective::Gatherv, block).with_root(root);
    call.recv = blocks.cloned();
    call
}
