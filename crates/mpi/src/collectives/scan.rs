//! Prefix reductions.

use ::collectives::Collective;

use super::{CollectiveCall, Invocation};
use crate::{Buffer, Comm, Op};

impl Comm {
    /// Combines the contributions of the ranks up to this one: `MPI_Scan`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn scan(&self, contribution: impl Into<Buffer>, op: &Op) -> CollectiveCall<'_> {
        CollectiveCall::of(
            self,
            Invocation::new(Collective::Scan, contribution.into()).with_op(op),
        )
    }

    /// Combines the contributions of the ranks below this one: `MPI_Exscan`. Rank 0 gets `None`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn exscan(
        &self,
        contribution: impl Into<Buffer>,
        op: &Op,
    ) -> CollectiveCall<'_, Option<Buffer>> {
        let call = Invocation::new(Collective::Exscan, contribution.into());
        CollectiveCall::of(self, call.with_op(op)).by_value()
    }
}
