//! Barriers.

use observe::SourceLocation;

use ::collectives::Collective;

use super::{CollectiveCall, Invocation};
use crate::{Buffer, Comm};

impl Comm {
    /// Waits until every rank of the communicator has called the barrier: `MPI_Barrier`.
    ///
    /// # Errors
    /// [`Error::Comm`](crate::Error::Comm) if the communicator has been freed.
    #[track_caller]
    pub fn barrier(&self) -> CollectiveCall<'_, ()> {
        barrier_in(self, "barrier", SourceLocation::caller())
    }
}

/// [`Comm::barrier`] as a part of a call of this name.
pub(crate) fn barrier_in<'a>(
    comm: &'a Comm,
    call: &'static str,
    location: SourceLocation,
) -> CollectiveCall<'a, ()> {
    let mut barrier = Invocation::new(Collective::Barrier, Buffer::phantom(0));
    barrier.name = call;
    CollectiveCall::new(comm, Ok(barrier), location).with_output(|_, _| ())
}
