//! Barriers.

use observe::SourceLocation;
use std::future::Future;

use ::collectives::Collective;

use super::Invocation;
use crate::{Buffer, Comm, Request, Result};

impl Comm {
    /// Waits until every rank of the communicator has called it: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<()>> + '_ {
        self.barrier_in("barrier", SourceLocation::caller())
    }

    /// [`Comm::barrier`] as a part of a call of this name.
    pub(crate) async fn barrier_in(
        &self,
        call: &'static str,
        location: SourceLocation,
    ) -> Result<()> {
        let mut barrier = Invocation::new(Collective::Barrier, Buffer::phantom(0));
        barrier.name = call;
        self.perform(barrier, location).await.map(drop)
    }

    /// Starts a barrier: `MPI_Ibarrier`. The request is over when every rank has called it.
    ///
    /// # Errors
    /// As [`Comm::barrier`].
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request> {
        let barrier = Invocation::new(Collective::Barrier, Buffer::phantom(0));
        self.start_request(&barrier, SourceLocation::caller())
    }

    /// A barrier that [`Request::start`] starts: `MPI_Barrier_init`.
    #[must_use = "it has to be started"]
    pub fn barrier_init(&self) -> Request {
        self.collective_init(Invocation::new(Collective::Barrier, Buffer::phantom(0)))
    }
}
