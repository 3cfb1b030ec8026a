//! The barrier, by dissemination: in round k each rank sends to the rank 2^k above it and receives
//! from the rank 2^k below it, modulo the number of ranks; after ceil(log2 n) rounds everybody has
//! heard of everybody.
//!
//! Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization",
//! International Journal of Parallel Programming 17(1), 1988. The messages are empty and travel in
//! the context of collectives, so they never meet the program's own.

use std::future::Future;
use std::panic::Location;

use crate::{Buffer, Comm, Result};

impl Comm {
    /// Waits until every rank of the communicator has called it: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<()>> + '_ {
        self.barrier_in("barrier", Location::caller())
    }

    /// [`Comm::barrier`] as a part of a call of this name.
    pub(crate) fn barrier_in(
        &self,
        call: &'static str,
        location: &'static Location<'static>,
    ) -> impl Future<Output = Result<()>> + '_ {
        let inner = self.collective();
        async move {
            let inner = inner?;
            let (rank, size) = (inner.rank(), inner.size());
            let mut distance = 1;
            let mut round = 0;
            while distance < size {
                let (above, below) = ((rank + distance) % size, (rank + size - distance) % size);
                let mut sending = inner.isend_at(Buffer::phantom(0), above, round, location)?;
                let mut receiving =
                    inner.irecv_at(Buffer::phantom(0), below.into(), round.into(), location)?;
                receiving.wait_in(call, location).await?;
                sending.wait_in(call, location).await?;
                distance *= 2;
                round += 1;
            }
            Ok(())
        }
    }
}
