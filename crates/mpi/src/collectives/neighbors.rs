//! Operations between the neighbours of a grid or a graph (MPI 5.0, section 8.6).
//!
//! They start all receives, then all sends in the order of the destinations, and are over when all
//! of them are, as in MPICH. A source that is the null process leaves zeros.

use std::rc::Rc;

use ::collectives::Collective;

use super::{Blocks, CollectiveCall, Invocation};
use crate::{Buffer, Datatype, Error, Graph, PROC_NULL};

impl Graph {
    /// Sends a block to all destinations and collects the blocks of all sources:
    /// `MPI_Neighbor_allgather`. The blocks of all ranks have the same length.
    ///
    /// # Errors
    /// [`Error::Comm`] if the communicator has been freed, [`Error::Truncated`] or [`Error::Short`]
    /// if a neighbour's block has another length.
    #[track_caller]
    pub fn neighbor_allgather(&self, block: impl Into<Buffer>) -> CollectiveCall<'_> {
        let block = block.into();
        let recv = Blocks::packed(self.sources().map(|_| block.len()));
        self.gathering("neighbor_allgather", block, recv)
    }

    /// [`Graph::neighbor_allgather`] of blocks of different lengths: `MPI_Neighbor_allgatherv`.
    /// `blocks` are the blocks of the sources.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// source.
    #[track_caller]
    pub fn neighbor_allgather_v(
        &self,
        block: impl Into<Buffer>,
        blocks: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        self.gathering("neighbor_allgatherv", block.into(), blocks.into())
    }

    #[track_caller]
    fn gathering(&self, name: &'static str, block: Buffer, recv: Blocks) -> CollectiveCall<'_> {
        let send = Blocks::placed(self.destinations().map(|_| (0, block.len())));
        let call = self.new_exchange(name, block).with_blocks(send, recv);
        CollectiveCall::from_invocation(self.comm(), call)
    }

    /// Sends a block to each destination and collects one of each source: `MPI_Neighbor_alltoall`.
    /// `blocks` has one for each destination, all of the same length.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::Count`] if the length is not a multiple of the
    /// number of destinations.
    #[track_caller]
    pub fn neighbor_alltoall(&self, blocks: impl Into<Buffer>) -> CollectiveCall<'_> {
        let blocks = blocks.into();
        let (length, size) = (blocks.len(), self.destinations().len() as u64);
        if size > 0 && !length.is_multiple_of(size) {
            return CollectiveCall::of_checked(self.comm(), Err(Error::Count { length, size }));
        }
        let block = length.checked_div(size).unwrap_or(0);
        let send = Blocks::packed(self.destinations().map(|_| block));
        let recv = Blocks::packed(self.sources().map(|_| block));
        let call = self.new_exchange("neighbor_alltoall", blocks);
        CollectiveCall::from_invocation(self.comm(), call.with_blocks(send, recv))
    }

    /// [`Graph::neighbor_alltoall`] of blocks of different lengths: `MPI_Neighbor_alltoallv`.
    /// `send` gives the place of the block for each destination in `buffer`, `recv` the place of
    /// the block of each source in the result.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// neighbour, [`Error::Blocks`] if the buffer is shorter than its blocks.
    #[track_caller]
    pub fn neighbor_alltoall_v(
        &self,
        buffer: impl Into<Buffer>,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> CollectiveCall<'_> {
        let call = self.new_exchange("neighbor_alltoallv", buffer.into());
        CollectiveCall::from_invocation(self.comm(), call.with_blocks(send.into(), recv.into()))
    }

    /// Sends items of a datatype to each destination and receives items of each source:
    /// `MPI_Neighbor_alltoallw`. The arguments are as for [`Comm::alltoall_w`], with a member for
    /// each neighbour. Where the source is the null process, `target` stays as it is.
    ///
    /// # Errors
    /// As [`Comm::alltoall_w`] and [`Graph::neighbor_alltoall_v`].
    ///
    /// [`Comm::alltoall_w`]: crate::CollectiveOperations::alltoall_w
    #[track_caller]
    pub fn neighbor_alltoall_w<'a>(
        &'a self,
        buffer: impl Into<Buffer>,
        send: &[(u64, u64, Datatype)],
        target: &'a mut Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> CollectiveCall<'a, ()> {
        // The null process sends nothing, so nothing is unpacked.
        let mut recv = recv.to_vec();
        for (block, source) in recv.iter_mut().zip(self.sources()) {
            if source == PROC_NULL {
                block.0 = 0;
            }
        }
        let call = self.new_exchange("neighbor_alltoallw", buffer.into());
        let call = call.with_types(send, &recv);
        CollectiveCall::of_checked(self.comm(), call).into_place(target)
    }

    /// Returns an exchange between neighbours without blocks.
    fn new_exchange(&self, name: &'static str, input: Buffer) -> Invocation {
        let mut call = Invocation::new(Collective::Alltoallv, input);
        call.name = name;
        call.neighbors = Some(Rc::clone(self.neighbors()));
        call
    }
}
