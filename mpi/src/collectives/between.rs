//! Collective operations over intercommunicators (MPI 5.0, section 6.2.3): what one group gives,
//! the other gets.
//!
//! The algorithms are those of MPICH: rank 0 of a group exchanges messages with the other group,
//! and collectives inside the group, with algorithms of the selector, do the rest. `gather` and
//! `scatter` are linear, `alltoall` exchanges blocks with one rank at a time.
//!
//! *Not modelled*: other algorithms of libraries, non-blocking and persistent forms.

use observe::SourceLocation;
use std::future::Future;

use super::Invocation;
use crate::api::communicators::Step;
use crate::api::intercomm::BETWEEN;
use crate::{Blocks, Buffer, Error, InterComm, Op, PROC_NULL, Result};

use ::collectives::Collective;

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

type Caller = SourceLocation;

/// Takes a message as the content of a buffer of the same length.
fn accept(buffer: &mut Buffer, message: &Buffer, source: usize) -> Result<()> {
    let (length, expected) = (message.len(), buffer.len());
    if length != expected {
        return Err(Error::Short {
            source,
            length,
            expected,
        });
    }
    buffer.write(0, message);
    Ok(())
}

impl InterComm {
    fn step(name: &'static str, location: Caller) -> Step {
        Step {
            down: BETWEEN,
            ..Step::new(name, location)
        }
    }

    /// Checks the root.
    fn check_root(&self, root: InterRoot) -> Result<()> {
        match root {
            InterRoot::Remote(root) if root >= self.remote_size() => Err(Error::Root {
                root,
                size: self.remote_size(),
            }),
            _ => Ok(()),
        }
    }

    /// Sends a message to a rank of the other group and waits until it has left.
    async fn give(&self, content: Buffer, to: usize, step: Step) -> Result<()> {
        self.between()?.hand_over(content, to, BETWEEN, step).await
    }

    /// Receives a message of a rank of the other group that is as long as the buffer.
    async fn take(&self, buffer: &mut Buffer, from: usize, step: Step) -> Result<()> {
        let message = self.between()?.take_over(from, BETWEEN, step).await?;
        accept(buffer, &message, from)
    }

    async fn local_bcast(&self, buffer: Buffer, location: Caller) -> Result<Buffer> {
        let call = Invocation::new(Collective::Bcast, buffer);
        self.local().perform(call, location).await
    }

    /// Waits until every rank of both groups has called it: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`] if the intercommunicator has been freed.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<()>> + '_ {
        self.barrier_in("barrier", SourceLocation::caller())
    }

    /// [`InterComm::barrier`] as a part of a call of this name.
    pub(crate) async fn barrier_in(&self, name: &'static str, location: Caller) -> Result<()> {
        self.begin(name, location)?;
        self.local().barrier_in(name, location).await?;
        if self.rank() == 0 {
            let step = Self::step(name, location);
            let empty = Buffer::phantom(0);
            self.between()?.swap(empty, 0, step).await?;
        }
        // A byte, because an empty broadcast need not wait for its root.
        self.local_bcast(Buffer::phantom(1), location)
            .await
            .map(drop)
    }

    /// Sends the data of the root to all ranks of the other group: `MPI_Bcast`.
    ///
    /// # Errors
    /// [`Error::Root`] for a root out of range, [`Error::Short`] if lengths differ,
    /// [`Error::Comm`] if the intercommunicator has been freed.
    #[track_caller]
    pub fn bcast<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            self.begin("bcast", location)?;
            self.check_root(root)?;
            let step = Self::step("bcast", location);
            match root {
                InterRoot::Root => self.give(buffer.clone(), 0, step).await,
                InterRoot::Null => Ok(()),
                InterRoot::Remote(root) => {
                    if self.rank() == 0 {
                        self.take(buffer, root, step).await?;
                    }
                    let data = std::mem::replace(buffer, Buffer::phantom(0));
                    *buffer = self.local_bcast(data, location).await?;
                    Ok(())
                }
            }
        }
    }

    /// Collects the blocks of the other group at the root, in the order of their ranks:
    /// `MPI_Gather`. `buffer` is the block of a rank, and at the root the room for all.
    ///
    /// # Errors
    /// As [`InterComm::bcast`]; [`Error::Count`] if the room is not a multiple of the number of
    /// ranks of the other group.
    #[track_caller]
    pub fn gather<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            self.begin("gather", location)?;
            self.check_root(root)?;
            let step = Self::step("gather", location);
            match root {
                InterRoot::Null => Ok(()),
                InterRoot::Remote(root) => self.give(buffer.clone(), root, step).await,
                InterRoot::Root => {
                    let blocks = self.equal_blocks(buffer)?;
                    self.collect(buffer, &blocks, step).await
                }
            }
        }
    }

    /// Gives each rank of the other group a block of the root's data, in the order of the ranks:
    /// `MPI_Scatter`. `buffer` is the room for the block of a rank, and at the root all blocks.
    ///
    /// # Errors
    /// As [`InterComm::gather`].
    #[track_caller]
    pub fn scatter<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            self.begin("scatter", location)?;
            self.check_root(root)?;
            let step = Self::step("scatter", location);
            match root {
                InterRoot::Null => Ok(()),
                InterRoot::Remote(root) => self.take(buffer, root, step).await,
                InterRoot::Root => {
                    let blocks = self.equal_blocks(buffer)?;
                    self.distribute(buffer, &blocks, step).await
                }
            }
        }
    }

    /// [`InterComm::gather`] of blocks of different lengths: `MPI_Gatherv`. `blocks` are those of
    /// the other group, at the root.
    ///
    /// # Errors
    /// As [`InterComm::gather`].
    #[track_caller]
    pub fn gather_v<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        blocks: Option<&'a Blocks>,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            self.begin("gatherv", location)?;
            self.check_root(root)?;
            let step = Self::step("gatherv", location);
            match (root, blocks) {
                (InterRoot::Remote(root), _) => self.give(buffer.clone(), root, step).await,
                (InterRoot::Root, Some(blocks)) => self.collect(buffer, blocks, step).await,
                _ => Ok(()),
            }
        }
    }

    /// [`InterComm::scatter`] of blocks of different lengths: `MPI_Scatterv`. `blocks` are those of
    /// the other group, at the root.
    ///
    /// # Errors
    /// As [`InterComm::scatter`].
    #[track_caller]
    pub fn scatter_v<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        blocks: Option<&'a Blocks>,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + 'a {
        let location = SourceLocation::caller();
        async move {
            self.begin("scatterv", location)?;
            self.check_root(root)?;
            let step = Self::step("scatterv", location);
            match (root, blocks) {
                (InterRoot::Remote(root), _) => self.take(buffer, root, step).await,
                (InterRoot::Root, Some(blocks)) => self.distribute(buffer, blocks, step).await,
                _ => Ok(()),
            }
        }
    }

    /// Receives a block of each rank of the other group.
    async fn collect(&self, buffer: &mut Buffer, blocks: &Blocks, step: Step) -> Result<()> {
        for rank in 0..self.remote_size() {
            let (offset, length) = blocks.block(rank);
            let mut block = buffer.of_kind(length);
            self.take(&mut block, rank, step).await?;
            buffer.write(offset, &block);
        }
        Ok(())
    }

    /// Sends a block to each rank of the other group.
    async fn distribute(&self, buffer: &Buffer, blocks: &Blocks, step: Step) -> Result<()> {
        for rank in 0..self.remote_size() {
            let (offset, length) = blocks.block(rank);
            self.give(buffer.slice(offset, length), rank, step).await?;
        }
        Ok(())
    }

    /// Gives all ranks the blocks of the other group, in the order of their ranks: `MPI_Allgather`.
    /// `all` has room for them.
    ///
    /// # Errors
    /// As [`InterComm::bcast`].
    #[track_caller]
    pub fn allgather<'a>(
        &'a self,
        block: &Buffer,
        all: &'a mut Buffer,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let (location, block) = (SourceLocation::caller(), block.clone());
        async move {
            self.begin("allgather", location)?;
            let gather = Invocation::new(Collective::Gather, block);
            let own = self.local().perform(gather, location).await?;
            self.exchange(own, all, Self::step("allgather", location))
                .await
        }
    }

    /// Combines the contributions of each group and gives the result to the other one:
    /// `MPI_Allreduce`.
    ///
    /// # Errors
    /// As [`InterComm::bcast`]; [`Error::Op`] if the contribution is not a whole number of elements
    /// of the operation.
    #[track_caller]
    pub fn allreduce(
        &self,
        contribution: &Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + use<'_> {
        let location = SourceLocation::caller();
        let call = Invocation::new(Collective::Reduce, contribution.clone()).with_op(op);
        let mut result = contribution.clone();
        async move {
            self.begin("allreduce", location)?;
            let own = self.local().perform(call, location).await?;
            let step = Self::step("allreduce", location);
            self.exchange(own, &mut result, step).await?;
            Ok(result)
        }
    }

    /// Exchanges what ranks 0 have, and tells it to all ranks of the groups.
    async fn exchange(&self, own: Buffer, into: &mut Buffer, step: Step) -> Result<()> {
        if self.rank() == 0 {
            let found = self.between()?.swap(own, 0, step).await?;
            accept(into, &found, 0)?;
        }
        let data = std::mem::replace(into, Buffer::phantom(0));
        *into = self.local_bcast(data, step.location).await?;
        Ok(())
    }

    /// Combines the contributions of the other group at the root: `MPI_Reduce`. `buffer` is the
    /// contribution of a rank, and at the root the room for the result.
    ///
    /// # Errors
    /// As [`InterComm::allreduce`].
    #[track_caller]
    pub fn reduce<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        op: &Op,
        root: InterRoot,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let (location, op) = (SourceLocation::caller(), op.clone());
        async move {
            self.begin("reduce", location)?;
            self.check_root(root)?;
            let step = Self::step("reduce", location);
            match root {
                InterRoot::Null => Ok(()),
                InterRoot::Root => self.take(buffer, 0, step).await,
                InterRoot::Remote(root) => {
                    let call = Invocation::new(Collective::Reduce, buffer.clone()).with_op(&op);
                    let result = self.local().perform(call, location).await?;
                    if self.rank() == 0 {
                        self.give(result, root, step).await?;
                    }
                    Ok(())
                }
            }
        }
    }

    /// Gives each rank of the other group a block, and gets one of each: `MPI_Alltoall`. Both
    /// buffers have one block for each rank of the other group.
    ///
    /// # Errors
    /// As [`InterComm::gather`].
    #[track_caller]
    pub fn alltoall<'a>(
        &'a self,
        blocks: &Buffer,
        result: &'a mut Buffer,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let (location, blocks) = (SourceLocation::caller(), blocks.clone());
        async move {
            self.begin("alltoall", location)?;
            let step = Self::step("alltoall", location);
            let (send, receive) = (self.equal_blocks(&blocks)?, self.equal_blocks(result)?);
            self.exchange_blocks((&blocks, &send), (result, &receive), step)
                .await
        }
    }

    /// Exchanges blocks with one rank of the other group at a time.
    async fn exchange_blocks(
        &self,
        (blocks, send): (&Buffer, &Blocks),
        (result, receive): (&mut Buffer, &Blocks),
        step: Step,
    ) -> Result<()> {
        let (rank, remote) = (self.rank(), self.remote_size());
        let rounds = self.size().max(remote);
        let known = |rank: usize| if rank < remote { rank } else { PROC_NULL };
        for round in 0..rounds {
            let source = known((rank + rounds - round) % rounds);
            let destination = known((rank + round) % rounds);
            let block = if destination == PROC_NULL {
                Buffer::phantom(0)
            } else {
                let (offset, length) = send.block(destination);
                blocks.slice(offset, length)
            };
            let between = self.between()?;
            let mut sending = between.isend_at(block, destination, BETWEEN, step.location)?;
            if source != PROC_NULL {
                let (offset, length) = receive.block(source);
                let mut block = result.of_kind(length);
                self.take(&mut block, source, step).await?;
                result.write(offset, &block);
            }
            sending.wait_in(step.name, step.location).await?;
        }
        Ok(())
    }

    /// [`InterComm::alltoall`] of blocks of different lengths: `MPI_Alltoallv`.
    ///
    /// # Errors
    /// As [`InterComm::alltoall`].
    #[track_caller]
    pub fn alltoall_v<'a>(
        &'a self,
        (blocks, send): (&'a Buffer, &'a Blocks),
        (result, receive): (&'a mut Buffer, &'a Blocks),
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        async move {
            self.begin("alltoallv", location)?;
            let step = Self::step("alltoallv", location);
            self.exchange_blocks((blocks, send), (result, receive), step)
                .await
        }
    }

    /// [`InterComm::allgather`] of blocks of different lengths: `MPI_Allgatherv`. `receive` are
    /// those of the other group.
    ///
    /// # Errors
    /// As [`InterComm::allgather`].
    #[track_caller]
    pub fn allgather_v<'a>(
        &'a self,
        block: &'a Buffer,
        (result, receive): (&'a mut Buffer, &'a Blocks),
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        async move {
            self.begin("allgatherv", location)?;
            let step = Self::step("allgatherv", location);
            let own = std::iter::repeat_n((0, block.len()), self.remote_size());
            let send = Blocks::placed(own);
            self.exchange_blocks((block, &send), (result, receive), step)
                .await
        }
    }

    /// Combines the contributions of each group and gives each rank of the other one a block of the
    /// result: `MPI_Reduce_scatter`. `blocks` are those of the caller's group.
    ///
    /// # Errors
    /// As [`InterComm::allreduce`].
    #[track_caller]
    pub fn reduce_scatter<'a>(
        &'a self,
        contribution: &Buffer,
        blocks: &'a Blocks,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + use<'a> {
        let location = SourceLocation::caller();
        let call = Invocation::new(Collective::Reduce, contribution.clone()).with_op(op);
        let mut block = contribution.of_kind(blocks.block(self.rank()).1);
        async move {
            self.begin("reduce_scatter", location)?;
            let own = self.local().perform(call, location).await?;
            let step = Self::step("reduce_scatter", location);
            let all = match self.rank() {
                0 => Some(self.between()?.swap(own, 0, step).await?),
                _ => None,
            };
            let all = all.as_ref().map(|all| (all, blocks));
            self.local().scatter_v(all, &mut block, 0).await?;
            Ok(block)
        }
    }

    /// Returns the blocks of a buffer that has one for each rank of the other group.
    fn equal_blocks(&self, buffer: &Buffer) -> Result<Blocks> {
        let (length, size) = (buffer.len(), self.remote_size());
        if length.is_multiple_of(size as u64) {
            let block = length / size as u64;
            return Ok(Blocks::packed(std::iter::repeat_n(block, size)));
        }
        let size = size as u64;
        Err(Error::Count { length, size })
    }
}
