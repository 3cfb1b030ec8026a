//! The engine of the fluid models: transfers and computations that progress at shared rates.
//!
//! **Transfers** follow the formula at the head of `parameters`: pay the latency, then share. A link that a transfer
//! crosses n times, and m times on the way back, is used with the weight `n + m × crosstraffic`; a fatpipe is not
//! shared and limits the transfer to its bandwidth divided by the larger of the weights 1 and `crosstraffic` that it has.
//!
//! **Computations**: a host of n cores with s flop/s each is a capacity of n × s, shared max-min fairly with the priorities as
//! weights; no computation is faster than one core.
//!
//! *Not modelled*: memory and cache effects (k computations on k cores do not slow each other), and what the files of
//! the models name.
//!
//! Dates: an activity whose end differs from the current date by at most max(1e-12 s, 8 ulp of the date) ends with it, so
//! that rounding does not split what ends together. Work left is brought up to date only when a rate changes.
//!
//! Ordering guarantee: the same sequence of calls gives the same bits. Only + − × ÷, minimum and maximum are used.
//!
//! Units: bytes, flop, seconds. The solver shares the rate *before* the bandwidth factor, so that work is counted in bytes
//! divided by that factor.

use std::sync::Arc;

use sim_core::{ActivityId, CannotStart, Change, End, HostId, Resource, Span, Time, Work};

use super::agenda::Agenda;
use super::ib::Contention;
use super::parameters::{Compat, FluidParameters, NetworkParameters};
use super::usage::{Component, Share, Shares, Usage, Use};
use crate::solver::Problem;
use crate::solver::reference::Reference;
use crate::{Platform, Route};

/// Activities this near to the current date, in seconds, end with it.
const TOGETHER_S: f64 = 1e-12;
/// The same in units of the distance between representable dates, for large dates.
const TOGETHER_ULP: f64 = 8.0;
/// The same in seconds for SimGrid: its `precision/timing`.
const TOGETHER_SIMGRID_S: f64 = 1e-9;

/// The fluid model of a platform, with the parameters of its `[network]` table.
#[derive(Debug)]
pub struct FlowModel {
    platform: Arc<Platform>,
    activities: Activities,
    agenda: Agenda,
    usage: Usage,
    solver: Reference,
    laws: Laws,
    contention: Option<Contention>,
    /// Buffers, to allocate nothing in the steady state.
    route: Route,
    way_back: Route,
    affected: Vec<u32>,
    members: Vec<u32>,
    problem: Problem,
    rates: Vec<f64>,
}

/// The parameters as the formula needs them.
#[derive(Debug)]
enum Laws {
    Fluid {
        parameters: FluidParameters,
        weight_s: f64,
        tcp_gamma: f64,
        compat: Option<Compat>,
    },
    Constant(Span),
}

/// All activities by slot, those that have ended included.
#[derive(Default, Debug)]
struct Activities(Vec<Activity>);

/// An activity in progress.
#[derive(Clone, Debug)]
struct Activity {
    id: ActivityId,
    phase: Phase,
    suspended: bool,
    is_exec: bool,
    /// The hosts between which a transfer goes, if that matters to others.
    between: Option<(u32, u32)>,
    /// What a unit of the solver's rate is in flop or bytes.
    scale: f64,
    /// Work left at the date `since`.
    remaining: f64,
    rate: f64,
    since: Time,
    /// The limit that the platform sets: fatpipe links, window, one core.
    limit: f64,
    /// The limit that the caller sets.
    wanted: f64,
    share: Share,
}

/// What an activity is doing.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Nothing: the slot is free.
    Idle,
    /// It pays the latency, until the date if it is not suspended.
    Latency { until: Time, left: Span },
    /// It progresses.
    Work,
}

impl FlowModel {
    /// The model of a platform on which nothing runs yet.
    ///
    /// # Panics
    /// If the platform has so many hosts and links that their numbers do not fit, which the reader refuses.
    #[must_use]
    pub fn new(platform: Arc<Platform>) -> Self {
        let capacities = u64::from(platform.link_id_end()) + u64::from(platform.host_count());
        assert!(
            u32::try_from(capacities).is_ok(),
            "{capacities} capacities in one platform"
        );
        let laws = Laws::new(platform.network());
        let contention = platform.network().ib_penalty_factors.map(Contention::new);
        Self {
            usage: Usage::new(capacities as usize),
            laws,
            contention,
            platform,
            activities: Activities::default(),
            agenda: Agenda::default(),
            solver: Reference::default(),
            route: Route::default(),
            way_back: Route::default(),
            affected: Vec::new(),
            members: Vec::new(),
            problem: Problem::default(),
            rates: Vec::new(),
        }
    }

    /// The platform that is modelled.
    #[must_use]
    pub const fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Takes the slot of a new activity and fills in its work; returns the latency to pay first.
    fn prepare(&mut self, id: ActivityId, work: &Work, now: Time) -> Result<Span, CannotStart> {
        check_amounts(work)?;
        self.activities.make_room(id.slot);
        let activity = &mut self.activities.0[id.slot as usize];
        activity.id = id;
        activity.share.uses.clear();
        activity.share.weight = 1.0;
        activity.suspended = false;
        activity.is_exec = matches!(work, Work::Exec { .. });
        activity.between = None;
        activity.scale = 1.0;
        activity.limit = f64::INFINITY;
        activity.rate = 0.0;
        activity.since = now;
        match *work {
            Work::Exec {
                host,
                flops,
                priority,
                bound,
            } => {
                let speed = self.platform.speed(host);
                let capacity = speed * f64::from(self.platform.cores(host));
                let number = self.platform.link_id_end() + host.0;
                activity.share.uses.push(Use::new(number, capacity, 1.0));
                activity.share.weight = priority;
                activity.limit = speed;
                (activity.remaining, activity.wanted) = (flops, bound);
                activity.set_bound(1.0);
                Ok(Span::ZERO)
            }
            Work::Transfer {
                from,
                to,
                bytes,
                rate,
            } => self.prepare_transfer(id.slot, (from, to), bytes, rate),
        }
    }

    fn prepare_transfer(
        &mut self,
        slot: u32,
        (from, to): (HostId, HostId),
        bytes: f64,
        rate: f64,
    ) -> Result<Span, CannotStart> {
        let activity = &mut self.activities.0[slot as usize];
        let (parameters, weight_s, tcp_gamma, compat) = match &self.laws {
            Laws::Constant(duration) => {
                activity.remaining = 0.0;
                return Ok(*duration);
            }
            Laws::Fluid {
                parameters,
                weight_s,
                tcp_gamma,
                compat,
            } => (parameters, *weight_s, *tcp_gamma, *compat),
        };
        let no_route = |error: crate::NoRoute| CannotStart(error.to_string());
        self.platform
            .route_into(from, to, &mut self.route)
            .map_err(no_route)?;
        activity.cross(&self.route, 1.0);
        if parameters.crosstraffic > 0.0 {
            self.platform
                .route_into(to, from, &mut self.way_back)
                .map_err(no_route)?;
            activity.cross(&self.way_back, parameters.crosstraffic);
        }
        let latency = self.route.latency_s;
        if tcp_gamma > 0.0 && latency > 0.0 {
            activity.limit = activity.limit.min(tcp_gamma / (2.0 * latency));
        }
        if parameters.rtt_penalty {
            let slowness: f64 = self
                .route
                .hops
                .iter()
                .map(|hop| weight_s / hop.bandwidth)
                .sum();
            activity.share.weight = match latency + slowness {
                _ if latency == 0.0 && compat.is_some() => 1.0,
                0.0 => 1.0,
                penalty => 1.0 / penalty,
            };
        }
        activity.scale = parameters.bandwidth_factor.of(bytes);
        activity.remaining = bytes / activity.scale;
        activity.wanted = rate / activity.scale;
        if self.contention.is_some() && from != to {
            let slowest = |limit: f64, hop: &crate::Hop| limit.min(hop.bandwidth);
            activity.limit = self.route.hops.iter().fold(activity.limit, slowest);
            activity.between = Some((from.0, to.0));
        }
        activity.set_bound(1.0);
        Ok(Span::from_secs(
            latency * parameters.latency_factor.of(bytes),
        ))
    }

    /// Tells the others that a transfer begins.
    fn meet(&mut self, slot: u32) {
        let between = self.activities.0[slot as usize].between;
        if let (Some(contention), Some((from, to))) = (&mut self.contention, between) {
            self.affected.clear();
            contention.begin(slot, from, to, &mut self.affected);
            self.renew_penalties();
        }
    }

    /// Tells the others that a transfer has ended.
    fn part(&mut self, slot: u32) {
        let between = self.activities.0[slot as usize].between.take();
        if let (Some(contention), Some((from, to))) = (&mut self.contention, between) {
            self.affected.clear();
            contention.end(slot, from, to, &mut self.affected);
            self.renew_penalties();
        }
    }

    /// Divides the limits of the affected transfers by their new penalties.
    fn renew_penalties(&mut self) {
        let Some(contention) = &self.contention else {
            return;
        };
        for slot in &self.affected {
            let activity = &mut self.activities.0[*slot as usize];
            let Some((from, to)) = activity.between else {
                continue;
            };
            let before = activity.share.bound;
            activity.set_bound(contention.penalty(from, to));
            let shares = activity.phase == Phase::Work && !activity.suspended;
            if shares && before != activity.share.bound {
                self.usage.touch(&activity.share);
            }
        }
    }

    /// Begins to pay a latency; an activity without work ends after it.
    fn pay(&mut self, slot: u32, left: Span, now: Time) {
        let until = now + left;
        let activity = &mut self.activities.0[slot as usize];
        activity.phase = Phase::Latency { until, left };
        self.agenda.set(activity.id, until);
    }

    /// Begins to progress.
    fn enter(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        activity.phase = Phase::Work;
        activity.since = now;
        activity.rate = 0.0;
        if activity.share.uses.is_empty() {
            let rate = activity.share.bound;
            self.progress(slot, rate, now);
        } else {
            self.usage.enter(slot, &mut activity.share);
        }
    }

    /// Stops to progress or to pay, keeping what is left.
    fn leave(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        if activity.suspended {
            return;
        }
        match activity.phase {
            Phase::Idle => {}
            Phase::Latency { until, .. } => {
                let left = until.since(now);
                activity.phase = Phase::Latency { until, left };
            }
            Phase::Work => {
                activity.settle(now);
                activity.rate = 0.0;
                self.usage.leave(slot, &mut self.activities);
            }
        }
    }

    /// Goes on at a new rate, and predicts the end.
    fn progress(&mut self, slot: u32, rate: f64, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        activity.settle(now);
        activity.rate = rate;
        let left = Span::from_secs(activity.remaining / rate);
        self.agenda.set(activity.id, now + left);
    }

    /// Gives new rates to everything that the changes of this date can affect.
    fn solve(&mut self, now: Time) {
        self.usage.begin_solve();
        while let Some(component) =
            self.usage
                .component(&mut self.activities, &mut self.members, &mut self.problem)
        {
            match component {
                Component::Alone(slot, rate) => self.change_rate(slot, rate, now),
                Component::Shared => {
                    self.solver.solve(&self.problem, &mut self.rates);
                    for at in 0..self.members.len() {
                        self.change_rate(self.members[at], self.rates[at], now);
                    }
                }
            }
        }
    }

    fn change_rate(&mut self, slot: u32, rate: f64, now: Time) {
        // Compared exactly: an unchanged rate keeps its predicted end, bit for bit.
        if self.activities.0[slot as usize].rate != rate {
            self.progress(slot, rate, now);
        }
    }
}

/// Refuses amounts that no activity can have.
fn check_amounts(work: &Work) -> Result<(), CannotStart> {
    let (amount, limits) = match *work {
        Work::Exec {
            flops,
            priority,
            bound,
            ..
        } => (flops, [priority, bound]),
        Work::Transfer { bytes, rate, .. } => (bytes, [1.0, rate]),
    };
    if !(amount >= 0.0 && amount.is_finite()) {
        let message = format!("an amount of work must be finite and at least 0, not {amount}");
        return Err(CannotStart(message));
    }
    match limits
        .into_iter()
        .find(|limit| limit.is_nan() || *limit <= 0.0)
    {
        Some(limit) => Err(CannotStart(format!(
            "a priority or a rate limit must be above 0, not {limit}"
        ))),
        None => Ok(()),
    }
}

impl Resource for FlowModel {
    fn start(&mut self, id: ActivityId, work: &Work, now: Time) -> Result<(), CannotStart> {
        let latency = self.prepare(id, work, now)?;
        self.meet(id.slot);
        if latency > Span::ZERO || self.activities.0[id.slot as usize].remaining == 0.0 {
            self.pay(id.slot, latency, now);
        } else {
            self.enter(id.slot, now);
        }
        Ok(())
    }

    fn cancel(&mut self, id: ActivityId, now: Time) {
        self.leave(id.slot, now);
        self.agenda.remove(id.slot);
        self.activities.0[id.slot as usize].phase = Phase::Idle;
        self.part(id.slot);
    }

    fn suspend(&mut self, id: ActivityId, now: Time) {
        self.leave(id.slot, now);
        self.agenda.remove(id.slot);
        self.activities.0[id.slot as usize].suspended = true;
    }

    fn resume(&mut self, id: ActivityId, now: Time) {
        let activity = &mut self.activities.0[id.slot as usize];
        if !std::mem::replace(&mut activity.suspended, false) {
            return;
        }
        match activity.phase {
            Phase::Idle => {}
            Phase::Latency { left, .. } => self.pay(id.slot, left, now),
            Phase::Work => self.enter(id.slot, now),
        }
    }

    /// Changes priority or bound. A priority means nothing to a transfer.
    fn update(&mut self, id: ActivityId, change: Change, now: Time) {
        let activity = &mut self.activities.0[id.slot as usize];
        match change {
            Change::Priority(priority) if activity.is_exec => activity.share.weight = priority,
            Change::Priority(_) => return,
            Change::Bound(bound) => {
                activity.wanted = bound / activity.scale;
                let penalty = match (&self.contention, activity.between) {
                    (Some(contention), Some((from, to))) => contention.penalty(from, to),
                    _ => 1.0,
                };
                activity.set_bound(penalty);
            }
        }
        if activity.suspended || activity.phase != Phase::Work {
            return;
        }
        if activity.share.uses.is_empty() {
            let rate = activity.share.bound;
            self.progress(id.slot, rate, now);
        } else {
            self.usage.touch(&activity.share);
        }
    }

    fn remaining(&mut self, id: ActivityId, now: Time) -> f64 {
        let activity = &self.activities.0[id.slot as usize];
        activity.remaining_at(now) * activity.scale
    }

    fn next_date(&mut self, now: Time) -> Option<Time> {
        if self.usage.is_marked() {
            self.solve(now);
        }
        self.agenda
            .first()
            .filter(|date| *date < Time::NEVER)
            .map(|date| date.max(now))
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        if self.agenda.first().is_none_or(|date| date > now) {
            return;
        }
        let together = Span::from_secs(self.laws.together_s().max(TOGETHER_ULP * now.ulp()));
        while let Some(slot) = self.agenda.pop_until(now + together) {
            let activity = &mut self.activities.0[slot as usize];
            let pays = matches!(activity.phase, Phase::Latency { .. });
            if pays && activity.remaining > 0.0 {
                self.enter(slot, now);
                continue;
            }
            if !pays {
                self.usage.leave(slot, &mut self.activities);
            }
            let activity = &mut self.activities.0[slot as usize];
            activity.phase = Phase::Idle;
            activity.remaining = 0.0;
            ended.push((activity.id, End::Done));
            self.part(slot);
        }
    }
}

impl Activity {
    const FREE: Self = Self {
        id: ActivityId { number: 0, slot: 0 },
        phase: Phase::Idle,
        suspended: false,
        is_exec: false,
        between: None,
        scale: 1.0,
        remaining: 0.0,
        rate: 0.0,
        since: Time::ZERO,
        limit: f64::INFINITY,
        wanted: f64::INFINITY,
        share: Share::NONE,
    };

    /// Sets the limit of the rate, given the penalty of the model.
    fn set_bound(&mut self, penalty: f64) {
        self.share.bound = self.limit.min(self.wanted) / penalty;
    }

    /// Uses the links of a way with a weight.
    fn cross(&mut self, way: &Route, weight: f64) {
        for hop in &way.hops {
            if hop.fatpipe {
                self.limit = self.limit.min(hop.bandwidth / weight);
                continue;
            }
            let known = self
                .share
                .uses
                .iter_mut()
                .find(|used| used.number == hop.link.0);
            match known {
                Some(used) => used.coefficient += weight,
                None => self
                    .share
                    .uses
                    .push(Use::new(hop.link.0, hop.bandwidth, weight)),
            }
        }
    }

    /// The work left at a date at which the rate has not changed since it was last set.
    fn remaining_at(&self, now: Time) -> f64 {
        (self.remaining - self.rate * now.since(self.since).as_secs()).max(0.0)
    }

    /// Brings the work left up to date.
    fn settle(&mut self, now: Time) {
        self.remaining = self.remaining_at(now);
        self.since = now;
    }
}

impl Laws {
    fn new(network: &NetworkParameters) -> Self {
        match &network.fluid {
            Some(fluid) => Self::Fluid {
                weight_s: fluid.weight_s.bytes() as f64,
                tcp_gamma: fluid.tcp_gamma.bytes() as f64,
                parameters: fluid.clone(),
                compat: network.compat,
            },
            None => {
                let duration = network.duration.as_ref();
                Self::Constant(Span::from_secs(duration.map_or(1.0, |all| all.as_secs())))
            }
        }
    }

    /// Activities this near to the current date, in seconds, end with it.
    const fn together_s(&self) -> f64 {
        match self {
            Self::Fluid {
                compat: Some(Compat::Simgrid41),
                ..
            } => TOGETHER_SIMGRID_S,
            _ => TOGETHER_S,
        }
    }
}

impl Activities {
    fn make_room(&mut self, slot: u32) {
        let count = slot as usize + 1;
        if self.0.len() < count {
            self.0.resize(count, Activity::FREE);
        }
    }
}

impl Shares for Activities {
    fn share(&self, slot: u32) -> &Share {
        &self.0[slot as usize].share
    }

    fn share_mut(&mut self, slot: u32) -> &mut Share {
        &mut self.0[slot as usize].share
    }
}

#[cfg(test)]
mod tests;
