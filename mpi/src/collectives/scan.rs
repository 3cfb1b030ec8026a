//! Prefix reductions.

use observe::SourceLocation;
use std::future::Future;

use ::collectives::Collective;

use super::Invocation;
use crate::{Buffer, Comm, Op, Request, Result};

impl Comm {
    /// Combines the contributions of the ranks up to this one: `MPI_Scan`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn scan(
        &self,
        contribution: &Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + '_ {
        let call = Invocation::new(Collective::Scan, contribution.clone()).with_op(op);
        self.perform(call, SourceLocation::caller())
    }

    /// Starts a prefix reduction: `MPI_Iscan`. The completion has the result.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn iscan(&self, contribution: Buffer, op: &Op) -> Result<Request> {
        let call = Invocation::new(Collective::Scan, contribution).with_op(op);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A prefix reduction that [`Request::start`] starts: `MPI_Scan_init`.
    #[must_use = "it has to be started"]
    pub fn scan_init(&self, contribution: Buffer, op: &Op) -> Request {
        self.collective_init(Invocation::new(Collective::Scan, contribution).with_op(op))
    }

    /// Combines the contributions of the ranks below this one: `MPI_Exscan`. Rank 0 gets `None`.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn exscan(
        &self,
        contribution: &Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<Option<Buffer>>> + '_ {
        let location = SourceLocation::caller();
        let call = Invocation::new(Collective::Exscan, contribution.clone()).with_op(op);
        async move {
            let result = self.perform(call, location).await?;
            Ok((self.rank() > 0).then_some(result))
        }
    }

    /// Starts a prefix reduction without the own contribution: `MPI_Iexscan`. The completion of
    /// rank 0 has an empty buffer.
    ///
    /// # Errors
    /// As [`Comm::allreduce`].
    #[track_caller]
    pub fn iexscan(&self, contribution: Buffer, op: &Op) -> Result<Request> {
        let call = Invocation::new(Collective::Exscan, contribution).with_op(op);
        self.start_request(&call, SourceLocation::caller())
    }

    /// A prefix reduction without the own contribution, that [`Request::start`] starts:
    /// `MPI_Exscan_init`.
    #[must_use = "it has to be started"]
    pub fn exscan_init(&self, contribution: Buffer, op: &Op) -> Request {
        self.collective_init(Invocation::new(Collective::Exscan, contribution).with_op(op))
    }
}
