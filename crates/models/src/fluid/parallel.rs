//! Parallel tasks: computations on several hosts and transfers between these hosts in step, the
//! model L07 of SimGrid.
//!
//! A task has one variable x, the part of the task that is done per second. The task uses `flops_i
//! × x` of the cores of host i, and of every link x times the sum of the bytes of all pairs with a
//! way across the link. A task first pays the largest latency among the pairs with bytes, without
//! any factor of the network model. The limits: one core for the flop of each entry (`x ≤ s_i /
//! flops_i`), a fatpipe for all bytes that cross it, and the window `tcp_gamma / (2 × max(lat_ij ×
//! bytes_ij))` if the network model has one. So alone a task takes `latency + 1 / x`. Ways back
//! carry no acknowledgements.
//!
//! **Sharing.** A flow has one weight for all its resources. The weight of a task is the inverse of
//! its use of one resource: among the resources with several users, the resource where an equal
//! part of the capacity is least for the task. There the task counts like one computation, or one
//! transfer of a model without penalties. The choice is made anew whenever shares change. If a task
//! meets others on several full resources of different kinds, its shares of the other resources are
//! only as good as flop and bytes can be compared. SimGrid's *fair bottleneck* offers equal parts
//! of each resource instead: with `compat = "simgrid-4.1"` that rule holds for all activities from
//! the first task on. By default there is one solver: fair bottleneck needs another solver, with
//! shares that are not max-min fair, for the whole platform. Tasks that share one resource have the
//! same dates by both rules (`crates/models/tests/parallel.rs`). Fairness on each resource
//! (SimGrid's *bmf*) has more than one solution, and no incremental form is known.
//!
//! *Not modelled*: factors, crosstraffic, penalties by round-trip time, rate limits of single
//! transfers.
//!
//! Units: bytes, flop, seconds; x and its limits are in 1/s.

use std::ops::Range;
use std::rc::Rc;

use sim_core::{ParallelWork, Span, StartError, Time};

use super::dynamics::DynamicState;
use super::wifi::{self, WifiDecay};
use super::{ActivityResources, FlowModel, ModelKind, Phase};
use platform::Route;
use platform::{Hop, LinkId, NoRoute, Platform};

/// A task in progress.
#[derive(Debug)]
pub(super) struct ParallelTask {
    pub(super) work: Rc<ParallelWork>,
    /// Uses of capacities, by number.
    uses: Vec<Use>,
}

/// A capacity that a task uses.
#[derive(Clone, Copy, Debug)]
struct Use {
    number: u32,
    capacity: f64,
    /// Amount used by the whole task.
    amount: f64,
}

/// Demands of a task on the platform with the present bandwidths and speeds.
#[derive(Debug)]
struct Demand {
    uses: Vec<Use>,
    latency_s: f64,
    /// Of x: one core, fatpipes, window.
    limit: f64,
}

/// Adds up the demands of a task.
struct DemandBuilder<'a> {
    platform: &'a Platform,
    dynamics: &'a DynamicState,
    decaying: &'a WifiDecay,
    uses: Vec<Use>,
    fatpipes: Vec<Use>,
    limit: f64,
}

impl DemandBuilder<'_> {
    fn add_computations(&mut self, work: &ParallelWork) {
        for (host, flops) in work.flops() {
            let speed = self.dynamics.speed(self.platform, host);
            let capacity = speed * f64::from(self.platform.cores(host));
            let number = self.platform.link_id_end() + host.0;
            self.uses.push(Use {
                number,
                capacity,
                amount: flops,
            });
            self.limit = self.limit.min(speed / flops);
        }
    }

    /// Adds the ways of all pairs; returns the largest latency.
    fn add_transfers(
        &mut self,
        work: &ParallelWork,
        tcp_gamma: f64,
        route: &mut Route,
    ) -> Result<f64, NoRoute> {
        let (mut latency_s, mut window) = (0.0_f64, 0.0_f64);
        for (from, to, bytes) in work.transfers() {
            self.platform.route_into(from, to, route)?;
            let latency = self.dynamics.latency_s(route);
            latency_s = latency_s.max(latency);
            window = window.max(latency * bytes);
            for hop in &route.hops {
                let (capacity, amount) = wifi::capacity(hop, self.dynamics, self.decaying);
                let uses = if hop.fatpipe {
                    &mut self.fatpipes
                } else {
                    &mut self.uses
                };
                uses.push(Use {
                    number: hop.link.0,
                    capacity,
                    amount: bytes * amount,
                });
            }
        }
        if tcp_gamma > 0.0 && window > 0.0 {
            self.limit = self.limit.min(tcp_gamma / (2.0 * window));
        }
        Ok(latency_s)
    }

    fn finish_demand(mut self, latency_s: f64) -> Demand {
        for Use {
            capacity, amount, ..
        } in summed(self.fatpipes)
        {
            self.limit = self.limit.min(capacity / amount);
        }
        Demand {
            uses: summed(self.uses),
            latency_s,
            limit: self.limit,
        }
    }
}

/// Sorts uses by number, and adds up the uses of one number in their order.
fn summed(mut uses: Vec<Use>) -> Vec<Use> {
    uses.sort_by_key(|entry| entry.number);
    uses.dedup_by(|next, kept| {
        let same = next.number == kept.number;
        if same {
            kept.amount += next.amount;
        }
        same
    });
    uses
}

impl ParallelTask {
    /// Reports whether the task uses a link.
    pub(super) fn crosses(&self, link: LinkId) -> bool {
        self.uses.iter().any(|entry| entry.number == link.0)
    }

    /// The inverse of the amount used of one resource: among the resources with several users, the
    /// one with the smallest equal part for the task.
    fn weight(&self, users: impl Fn(u32) -> u32) -> f64 {
        let mut least = (f64::INFINITY, 1.0);
        for entry in &self.uses {
            let users = users(entry.number);
            let part = entry.capacity / f64::from(users) / entry.amount;
            if users > 1 && part < least.0 {
                least = (part, entry.amount);
            }
        }
        1.0 / least.1
    }
}

impl FlowModel {
    /// Fills in a parallel task; returns the latency to pay first.
    pub(super) fn prepare_parallel(
        &mut self,
        slot: u32,
        work: &Rc<ParallelWork>,
    ) -> Result<Span, StartError> {
        let demand = self
            .demand(work)
            .map_err(|error| StartError(error.to_string()))?;
        for entry in &demand.uses {
            self.solver
                .cross(slot, entry.number, entry.capacity, entry.amount);
        }
        if self.model_kind.is_compat() {
            self.solver.share_by_bottleneck();
        }
        self.has_extras = true;
        let activity = &mut self.activities.0[slot as usize];
        activity.place = ActivityResources::Parallel;
        activity.wanted = f64::INFINITY;
        activity.limit = demand.limit;
        let idle = demand.uses.is_empty() && demand.limit == f64::INFINITY;
        activity.remaining = if idle { 0.0 } else { 1.0 };
        activity.set_bound(1.0);
        let task = ParallelTask {
            work: Rc::clone(work),
            uses: demand.uses,
        };
        self.parallel.insert(slot, task);
        Ok(Span::from_secs(demand.latency_s))
    }

    fn demand(&mut self, work: &ParallelWork) -> Result<Demand, NoRoute> {
        let mut survey = DemandBuilder {
            platform: &self.platform,
            dynamics: &self.dynamics,
            decaying: &self.decaying,
            uses: Vec::new(),
            fatpipes: Vec::new(),
            limit: f64::INFINITY,
        };
        survey.add_computations(work);
        let latency_s = match &self.model_kind {
            ModelKind::Fluid { tcp_gamma, .. } => {
                survey.add_transfers(work, *tcp_gamma, &mut self.route)?
            }
            ModelKind::FixedDuration(alone) => {
                let durations = work.transfers().map(|(_, _, bytes)| alone.duration(bytes));
                durations.max().unwrap_or(Span::ZERO).as_secs()
            }
        };
        Ok(survey.finish_demand(latency_s))
    }

    /// Computes the limit of a task again, after a host or a link of the task has changed.
    pub(super) fn update_parallel_limit(&mut self, slot: u32, now: Time) {
        let Some(work) = self.parallel.get(&slot).map(|task| Rc::clone(&task.work)) else {
            return;
        };
        let Ok(demand) = self.demand(&work) else {
            return;
        };
        self.activities.0[slot as usize].limit = demand.limit;
        if let Some(task) = self.parallel.get_mut(&slot) {
            task.uses = demand.uses;
        }
        self.update_share(slot, now);
    }

    /// Finds the weights of all tasks, if shares are about to change.
    #[inline]
    pub(super) fn update_task_weights(&mut self, now: Time) {
        if self.parallel.is_empty() {
            return;
        }
        for (slot, task) in &self.parallel {
            let activity = &mut self.activities.0[*slot as usize];
            let shares = activity.phase == Phase::Work && !activity.suspended;
            let weight = task.weight(|number| self.solver.users(number));
            if shares && weight != activity.weight {
                activity.weight = weight;
                self.solver
                    .update(*slot, weight, activity.bound, now.as_secs());
            }
        }
    }

    /// The tasks in progress with any of these hosts among theirs.
    pub(super) fn tasks_on(&self, hosts: &Range<u32>) -> Vec<u32> {
        let all = self.parallel.iter();
        let uses =
            |task: &ParallelTask| task.work.hosts().iter().any(|host| hosts.contains(&host.0));
        all.filter(|(slot, task)| self.runs(**slot) && uses(task))
            .map(|(slot, _)| *slot)
            .collect()
    }

    /// The tasks in progress that cross any of these physical links, in either direction.
    pub(super) fn tasks_over(&mut self, links: &Range<u32>) -> Vec<u32> {
        let is_there = |hop: &Hop| links.contains(&hop.link.0);
        let mut found = Vec::new();
        for (slot, task) in &self.parallel {
            let crosses = task.work.transfers().any(|(from, to, _)| {
                let known = self.platform.route_into(from, to, &mut self.route).is_ok();
                known && self.route.hops.iter().any(is_there)
            });
            if crosses && self.runs(*slot) {
                found.push(*slot);
            }
        }
        found
    }

    fn runs(&self, slot: u32) -> bool {
        let phase = self.activities.0[slot as usize].phase;
        !matches!(phase, Phase::Idle | Phase::Failed)
    }

    /// Returns true if all hosts and links of a task are on.
    pub(super) fn is_task_on(&mut self, slot: u32) -> bool {
        let Some(ParallelTask { work, .. }) = self.parallel.get(&slot) else {
            return true;
        };
        let hosts = work.hosts().iter();
        let mut transfers = work.transfers();
        hosts.copied().all(|host| self.dynamics.is_host_on(host))
            && (matches!(self.model_kind, ModelKind::FixedDuration(_))
                || transfers.all(|(from, to, _)| {
                    let known = self.platform.route_into(from, to, &mut self.route).is_ok();
                    known && self.dynamics.is_route_up(&self.route)
                }))
    }
}
