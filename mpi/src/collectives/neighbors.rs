//! Operations between the neighbours of a grid or a graph (MPI 5.0, section 8.6).
//!
//! They start all receives, then all sends in the order of the destinations, and are over when all
//! of them are, as in MPICH. A source that is the null process leaves zeros.

use observe::SourceLocation;
use std::future::Future;
use std::rc::Rc;

use ::collectives::Collective;

use super::{Blocks, Invocation};
use crate::{Buffer, Error, Graph, Request, Result};

impl Graph {
    /// Sends a block to all destinations and collects those of all sources:
    /// `MPI_Neighbor_allgather`. The blocks of all ranks have the same length.
    ///
    /// # Errors
    /// [`Error::Comm`] if the communicator has been freed, [`Error::Truncated`] or
    /// [`Error::Short`] if a neighbour's block has another length.
    #[track_caller]
    pub fn neighbor_allgather(&self, block: &Buffer) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = self.allgather_call(block.clone());
        self.comm().perform(call, SourceLocation::caller())
    }

    /// Starts [`Graph::neighbor_allgather`]: `MPI_Ineighbor_allgather`. The completion has the
    /// blocks.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`].
    #[track_caller]
    pub fn ineighbor_allgather(&self, block: Buffer) -> Result<Request> {
        let call = self.allgather_call(block);
        self.comm().start_request(&call, SourceLocation::caller())
    }

    /// [`Graph::neighbor_allgather`] that [`Request::start`] starts:
    /// `MPI_Neighbor_allgather_init`.
    #[must_use = "it has to be started"]
    pub fn neighbor_allgather_init(&self, block: Buffer) -> Request {
        self.comm().collective_init(self.allgather_call(block))
    }

    /// [`Graph::neighbor_allgather`] of blocks of different lengths: `MPI_Neighbor_allgatherv`.
    /// `blocks` are those of the sources.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// source.
    #[track_caller]
    pub fn neighbor_allgather_v(
        &self,
        block: &Buffer,
        blocks: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        let call = self.allgather_v_call(block.clone(), blocks.into());
        self.comm().perform(call, SourceLocation::caller())
    }

    /// Starts [`Graph::neighbor_allgather_v`]: `MPI_Ineighbor_allgatherv`.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather_v`].
    #[track_caller]
    pub fn ineighbor_allgather_v(
        &self,
        block: Buffer,
        blocks: impl Into<Blocks>,
    ) -> Result<Request> {
        let call = self.allgather_v_call(block, blocks.into());
        self.comm().start_request(&call, SourceLocation::caller())
    }

    /// [`Graph::neighbor_allgather_v`] that [`Request::start`] starts:
    /// `MPI_Neighbor_allgatherv_init`.
    #[must_use = "it has to be started"]
    pub fn neighbor_allgather_v_init(&self, block: Buffer, blocks: impl Into<Blocks>) -> Request {
        let call = self.allgather_v_call(block, blocks.into());
        self.comm().collective_init(call)
    }

    /// Sends a block to each destination and collects one of each source: `MPI_Neighbor_alltoall`.
    /// `blocks` has one for each destination, all of the same length.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::Count`] if the length is not a multiple of the
    /// number of destinations.
    #[track_caller]
    pub fn neighbor_alltoall(
        &self,
        blocks: &Buffer,
    ) -> impl Future<Output = Result<Buffer>> + use<'_> {
        let location = SourceLocation::caller();
        let call = self.alltoall_call(blocks.clone());
        async move { self.comm().perform(call?, location).await }
    }

    /// Starts [`Graph::neighbor_alltoall`]: `MPI_Ineighbor_alltoall`.
    ///
    /// # Errors
    /// As [`Graph::neighbor_alltoall`].
    #[track_caller]
    pub fn ineighbor_alltoall(&self, blocks: Buffer) -> Result<Request> {
        let call = self.alltoall_call(blocks)?;
        self.comm().start_request(&call, SourceLocation::caller())
    }

    /// [`Graph::neighbor_alltoall`] that [`Request::start`] starts: `MPI_Neighbor_alltoall_init`.
    ///
    /// # Errors
    /// [`Error::Count`] if the length is not a multiple of the number of destinations.
    pub fn neighbor_alltoall_init(&self, blocks: Buffer) -> Result<Request> {
        let call = self.alltoall_call(blocks)?;
        Ok(self.comm().collective_init(call))
    }

    /// [`Graph::neighbor_alltoall`] of blocks of different lengths: `MPI_Neighbor_alltoallv`.
    /// `send` says where the block for each destination is in `buffer`, `recv` where the block of
    /// each source is in the result.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// neighbour, [`Error::Blocks`] if the buffer is shorter than its blocks.
    #[track_caller]
    pub fn neighbor_alltoall_v(
        &self,
        buffer: &Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        let call = self.alltoall_v_call(buffer.clone(), send.into(), recv.into());
        self.comm().perform(call, SourceLocation::caller())
    }

    /// Starts [`Graph::neighbor_alltoall_v`]: `MPI_Ineighbor_alltoallv`.
    ///
    /// # Errors
    /// As [`Graph::neighbor_alltoall_v`].
    #[track_caller]
    pub fn ineighbor_alltoall_v(
        &self,
        buffer: Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> Result<Request> {
        let call = self.alltoall_v_call(buffer, send.into(), recv.into());
        self.comm().start_request(&call, SourceLocation::caller())
    }

    /// [`Graph::neighbor_alltoall_v`] that [`Request::start`] starts:
    /// `MPI_Neighbor_alltoallv_init`.
    #[must_use = "it has to be started"]
    pub fn neighbor_alltoall_v_init(
        &self,
        buffer: Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> Request {
        let call = self.alltoall_v_call(buffer, send.into(), recv.into());
        self.comm().collective_init(call)
    }

    /// Returns an exchange between neighbours without blocks.
    pub(super) fn call(&self, name: &'static str, input: Buffer) -> Invocation {
        let mut call = Invocation::new(Collective::Alltoallv, input);
        call.name = name;
        call.neighbors = Some(Rc::clone(self.neighbors()));
        call
    }

    fn allgather_call(&self, block: Buffer) -> Invocation {
        let length = block.len();
        let send = Blocks::placed(self.destinations().map(|_| (0, length)));
        let recv = Blocks::packed(self.sources().map(|_| length));
        exchange(self.call("neighbor_allgather", block), send, recv)
    }

    fn allgather_v_call(&self, block: Buffer, blocks: Blocks) -> Invocation {
        let length = block.len();
        let send = Blocks::placed(self.destinations().map(|_| (0, length)));
        exchange(self.call("neighbor_allgatherv", block), send, blocks)
    }

    fn alltoall_call(&self, blocks: Buffer) -> Result<Invocation> {
        let (length, size) = (blocks.len(), self.destinations().len() as u64);
        if size > 0 && !length.is_multiple_of(size) {
            return Err(Error::Count { length, size });
        }
        let block = length.checked_div(size).unwrap_or(0);
        let send = Blocks::packed(self.destinations().map(|_| block));
        let recv = Blocks::packed(self.sources().map(|_| block));
        Ok(exchange(self.call("neighbor_alltoall", blocks), send, recv))
    }

    fn alltoall_v_call(&self, buffer: Buffer, send: Blocks, recv: Blocks) -> Invocation {
        exchange(self.call("neighbor_alltoallv", buffer), send, recv)
    }
}

fn exchange(mut call: Invocation, send: Blocks, recv: Blocks) -> Invocation {
    (call.send, call.recv) = (Some(send), Some(recv));
    call
}
