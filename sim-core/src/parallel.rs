//! Parallel tasks: computations on several hosts and transfers between them that progress together.
//!
//! Every part of a parallel task is at the same fraction of its amount at any date: the slowest
//! resource slows all parts. This is the model of SimGrid's `ptask_L07`. The
//! [`Resource`](crate::Resource) decides how the parts share hosts and links with other activities.
//!
//! *Not modelled*: phases. A task that first computes and then sends is two tasks.

use std::rc::Rc;

use crate::activity::{Activity, ActivityError};
use crate::operation::Operation;
use crate::{Actor, HostId, StartError};

/// Amounts of a parallel task: flop on each host, and bytes from each host to each host.
#[derive(Clone, PartialEq, Debug)]
pub struct ParallelWork {
    hosts: Vec<HostId>,
    /// One per host, or none at all.
    flops: Vec<f64>,
    /// One row per sending host, or no row at all.
    bytes: Vec<f64>,
}

impl ParallelWork {
    /// A task on `hosts`; a host may appear several times. `flops` has the flop of each host, in
    /// the same order. `bytes` has the bytes from each host to each host, row by row: the bytes
    /// from host i to host j of n are number n × i + j. Either may be empty, for no work.
    ///
    /// # Errors
    /// [`StartError`] if there is no host, a length does not fit, or an amount is negative or not
    /// finite.
    pub fn new(hosts: Vec<HostId>, flops: Vec<f64>, bytes: Vec<f64>) -> Result<Self, StartError> {
        let wrong = |problem: String| Err(StartError(format!("a parallel task {problem}")));
        let count = hosts.len();
        if count == 0 {
            return wrong("needs at least one host".to_owned());
        }
        if !flops.is_empty() && flops.len() != count {
            let found = flops.len();
            return wrong(format!(
                "on {count} hosts needs {count} amounts of flop or none, not {found}"
            ));
        }
        let pairs = count.saturating_mul(count);
        if !bytes.is_empty() && bytes.len() != pairs {
            let found = bytes.len();
            return wrong(format!(
                "on {count} hosts needs {count} x {count} amounts of bytes or none, not {found}"
            ));
        }
        let is_wrong = |amount: &f64| !(*amount >= 0.0 && amount.is_finite());
        if let Some(at) = flops.iter().position(is_wrong) {
            let found = flops[at];
            return wrong(format!(
                "needs amounts that are finite and at least 0, not {found} flop on host number {at} of its list"
            ));
        }
        if let Some(at) = bytes.iter().position(is_wrong) {
            let (from, to, found) = (at / count, at % count, bytes[at]);
            return wrong(format!(
                "needs amounts that are finite and at least 0, not {found} bytes from host number {from} to host number {to} of its list"
            ));
        }
        Ok(Self {
            hosts,
            flops,
            bytes,
        })
    }

    /// Returns the hosts of the task, including hosts without work.
    #[must_use]
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// The hosts that compute, and the flop of each, above 0. A host may be there several times.
    pub fn flops(&self) -> impl Iterator<Item = (HostId, f64)> + '_ {
        let all = self.hosts.iter().copied().zip(self.flops.iter().copied());
        all.filter(|(_, flops)| *flops > 0.0)
    }

    /// The pairs of hosts between which bytes go, and how many, above 0. A pair may be there
    /// several times, and may be one host twice.
    pub fn transfers(&self) -> impl Iterator<Item = (HostId, HostId, f64)> + '_ {
        let count = self.hosts.len();
        let all = self.bytes.iter().enumerate();
        all.filter(|(_, bytes)| **bytes > 0.0)
            .map(move |(at, bytes)| (self.hosts[at / count], self.hosts[at % count], *bytes))
    }
}

impl Actor {
    /// Computes on several hosts and transfers between them, all in step; see [`ParallelWork::new`]
    /// for `flops` and `bytes`.
    ///
    /// # Errors
    /// [`ActivityError`] if a host or a link of the task fails.
    ///
    /// # Panics
    /// If [`ParallelWork::new`] refuses the amounts, or if there is no such host.
    #[track_caller]
    pub fn parallel_execute(
        &self,
        hosts: &[HostId],
        flops: &[f64],
        bytes: &[f64],
    ) -> Operation<'_, Result<(), ActivityError>> {
        let slot = self.prepare_parallel(hosts, flops, bytes);
        self.run_prepared(slot)
    }

    /// Starts the task of [`Actor::parallel_execute`] without waiting for the end. The remaining
    /// work is a fraction from 1 to 0.
    ///
    /// # Panics
    /// If [`ParallelWork::new`] refuses the amounts, or if there is no such host.
    #[must_use]
    #[track_caller]
    pub fn start_parallel_execution(
        &self,
        hosts: &[HostId],
        flops: &[f64],
        bytes: &[f64],
    ) -> Activity {
        self.begin_prepared(self.prepare_parallel(hosts, flops, bytes))
    }

    #[track_caller]
    fn prepare_parallel(&self, hosts: &[HostId], flops: &[f64], bytes: &[f64]) -> u32 {
        let work = ParallelWork::new(hosts.to_vec(), flops.to_vec(), bytes.to_vec())
            .unwrap_or_else(|error| panic!("{error}"));
        let mut kernel = self.kernel.borrow_mut();
        let count = kernel.actors.hosts.count();
        let missing = hosts.iter().find(|host| host.0 >= count);
        if let Some(missing) = missing {
            // The kernel is used again while the panic is reported.
            drop(kernel);
            panic!(
                "a parallel task on host number {} of a platform with {count} hosts",
                missing.0
            );
        }
        (kernel.objects.activities).prepare_parallel(self.id.0, Rc::new(work))
    }
}
