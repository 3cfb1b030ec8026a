//! The engine of the fluid models: transfers and computations that progress at shared rates.
//!
//! **Transfers** follow the formula at the head of `parameters`: pay the latency, then share. A
//! link that a transfer crosses n times, and m times on the way back, is used with the weight `n +
//! m × crosstraffic`. A fatpipe is not shared: it limits the transfer to the bandwidth of the
//! fatpipe, divided by the larger of the weights 1 (way) and `crosstraffic` (way back) that occur.
//!
//! **Computations**: a host of n cores with s flop/s each is a capacity of n × s, shared max-min
//! fairly with the priorities as weights; no thread is faster than one core. A computation with t
//! threads has t times the weight and the limit of one thread.
//!
//! **The air** of Wi-Fi zones is in `wifi`.
//!
//! **Disks** are in `disk`, **parallel tasks** in `parallel`.
//!
//! *Not modelled*: memory and cache effects (k computations on k cores do not slow each other), and
//! the limits that the files of the models name.
//!
//! [`Solver`] decides which flows share and when they end; an activity keeps the work left only
//! while it does not share.
//!
//! Dates: an activity with an end that differs from the current date by at most max(1e-12 s, 8 ulp
//! of the date) ends at the current date, so that rounding does not separate simultaneous ends.
//!
//! Ordering guarantee: the same sequence of calls gives the same bits. Only + − × ÷, minimum and
//! maximum are used.
//!
//! Units: bytes, flop, seconds. The solver shares the rate *before* the bandwidth factor, so that
//! work is counted in bytes divided by that factor.

use std::collections::BTreeMap;
use std::sync::Arc;

use maxmin::dates::{DatePlace, DateQueue};
use maxmin::{Solver, least};
use sim_core::{ActivityId, HostId, Span, StartError, Time, Work};

mod activity;
mod adapters;
mod control;
mod disk;
mod drawn;
mod dynamics;
mod model_kind;
mod noise;
mod observation;
mod parallel;
mod resource;
mod route_cache;
mod timetable;
mod wifi;

use activity::{Activities, Activity, ActivityResources, Phase, slowest};
use adapters::Adapters;
use dynamics::DynamicState;
use model_kind::ModelKind;
use noise::NoiseStreams;
use observation::RateObserver;
use parallel::ParallelTask;
use route_cache::RouteCache;
use wifi::WifiDecay;

use crate::contention::Contention;
use platform::{Platform, Route};

/// The fluid model of a platform, with the parameters of its `[network]` table.
#[derive(Debug)]
pub struct FlowModel {
    platform: Arc<Platform>,
    activities: Activities,
    /// The number of activities in progress.
    running: usize,
    /// When latencies are paid.
    latencies: DateQueue,
    solver: Solver,
    model_kind: ModelKind,
    contention: Option<Contention>,
    adapters: Option<Adapters>,
    dynamics: DynamicState,
    /// The parallel tasks in progress, by slot.
    parallel: BTreeMap<u32, ParallelTask>,
    ways: RouteCache,
    decaying: WifiDecay,
    /// The last ones that were looked up: most transfers of a program have few sizes.
    last_factors: SizeFactors,
    /// True if the links of the transfer that is being prepared are on.
    way_is_on: bool,
    /// True from the start on platforms with penalties, gaps of messages or decaying air, otherwise
    /// from the first parallel task, observer, profile or change on. While false, an activity has
    /// only a latency and a share.
    has_extras: bool,
    /// Activities that end this near to the current date, in seconds, end at the current date.
    tolerance_s: f64,
    observation: Option<Box<RateObserver>>,
    noise: Option<Box<NoiseStreams>>,
    /// Buffers, so that the steady state allocates no memory.
    route: Route,
    way_back: Route,
    affected: Vec<u32>,
    due: Vec<u32>,
}

/// The factors for transfers of one size.
#[derive(Debug)]
struct SizeFactors {
    bytes: f64,
    bandwidth: f64,
    latency: f64,
    /// Seconds beside the latency of the links, between two hosts.
    message_latency_s: f64,
}

impl SizeFactors {
    /// Of no size at all.
    const NONE: Self = Self {
        bytes: f64::NAN,
        bandwidth: f64::NAN,
        latency: f64::NAN,
        message_latency_s: f64::NAN,
    };
}

impl FlowModel {
    /// The model of a platform without running activities.
    ///
    /// # Panics
    /// If the numbers of hosts, links and disks of the platform do not fit, which the reader
    /// refuses.
    pub fn new(platform: Arc<Platform>) -> Self {
        let capacities = u64::from(platform.link_id_end())
            + u64::from(platform.host_count())
            + disk::capacities(&platform);
        assert!(
            u32::try_from(capacities).is_ok(),
            "{capacities} capacities in one platform"
        );
        let model_kind = ModelKind::new(platform.network());
        let contention = Contention::of_network(platform.network());
        let adapters = Adapters::of_network(platform.network(), platform.host_count());
        let decaying = WifiDecay::new(&platform);
        let mut model = Self {
            has_extras: contention.is_some() || adapters.is_some() || !decaying.is_empty(),
            tolerance_s: model_kind.time_tolerance_s(),
            solver: Solver::new(capacities as usize),
            model_kind,
            contention,
            adapters,
            dynamics: DynamicState::default(),
            parallel: BTreeMap::new(),
            ways: RouteCache::new(platform.host_count()),
            decaying,
            platform,
            activities: Activities::default(),
            running: 0,
            latencies: DateQueue::default(),
            last_factors: SizeFactors::NONE,
            way_is_on: true,
            observation: None,
            noise: None,
            route: Route::default(),
            way_back: Route::default(),
            affected: Vec::new(),
            due: Vec::new(),
        };
        for profile in model.platform.profiles().to_vec() {
            model.add_profile(profile);
        }
        // What is said of the date 0 holds before anything begins.
        model.play(Time::ZERO);
        model
    }

    /// Takes the slot of a new activity and stores its work; returns the latency to pay first.
    #[inline(always)]
    fn prepare_activity(&mut self, id: ActivityId, work: &Work) -> Result<Span, StartError> {
        match *work {
            Work::Transfer {
                from,
                to,
                bytes,
                rate,
            } if (0.0..=f64::MAX).contains(&bytes) && rate > 0.0 => {
                self.prepare_transfer(id, (from, to), bytes, rate)
            }
            _ => self.prepare_other(id, work),
        }
    }

    /// The same for an activity that is no transfer.
    #[inline(never)]
    fn prepare_other(&mut self, id: ActivityId, work: &Work) -> Result<Span, StartError> {
        check_amounts(work)?;
        let activity = self.activities.claim_slot(id.slot);
        *activity = Activity {
            id,
            ..Activity::FREE
        };
        self.solver.declare(id.slot);
        match *work {
            Work::Exec {
                host,
                threads,
                flops,
                priority,
                bound,
            } => {
                activity.place = ActivityResources::Exec(host);
                activity.threads = threads;
                let speed = self.dynamics.speed(&self.platform, host);
                let capacity = speed * f64::from(self.platform.cores(host));
                let number = self.platform.link_id_end() + host.0;
                self.solver.cross(id.slot, number, capacity, 1.0);
                activity.weight = priority * f64::from(threads);
                activity.limit = speed * f64::from(threads);
                (activity.remaining, activity.wanted) = (flops, bound);
                activity.set_bound(1.0);
                Ok(Span::ZERO)
            }
            Work::Io {
                disk,
                operation,
                bytes,
                priority,
            } => self.prepare_io(id.slot, (disk, operation), bytes, priority),
            Work::Parallel(ref work) => self.prepare_parallel(id.slot, work),
            Work::Transfer { .. } => unreachable!("refused or prepared as a transfer"),
        }
    }

    #[inline(always)]
    fn prepare_transfer(
        &mut self,
        id: ActivityId,
        (from, to): (HostId, HostId),
        bytes: f64,
        rate: f64,
    ) -> Result<Span, StartError> {
        let (parameters, message_latency, compat) = match &self.model_kind {
            ModelKind::Fluid {
                parameters,
                message_latency,
                compat,
                ..
            } => (parameters, message_latency, compat),
            ModelKind::FixedDuration(alone) => {
                let duration = alone.duration(bytes);
                // A model without links has no ways.
                self.way_is_on = true;
                *self.activities.claim_slot(id.slot) = Activity {
                    id,
                    place: ActivityResources::Transfer(from, to),
                    ..Activity::FREE
                };
                return Ok(duration);
            }
        };
        if self.last_factors.bytes != bytes {
            self.last_factors = SizeFactors {
                bytes,
                bandwidth: parameters.bandwidth_factor.factor_for(bytes),
                latency: parameters.latency_factor.factor_for(bytes),
                message_latency_s: message_latency.message_overhead(bytes as u64),
            };
        }
        let (scale, factor) = (self.last_factors.bandwidth, self.last_factors.latency);
        let added_s = match from == to {
            true => 0.0,
            false => self.last_factors.message_latency_s,
        };
        // With the reference's quirks a transfer without a latency to pay begins like a transfer
        // on a way without latency.
        let is_unweighted = compat.is_some() && factor == 0.0;
        let place = match self.ways.place_of(from, to) {
            Some(place) => place,
            None => self.look_for_way(id, (from, to))?,
        };
        let way = self.ways.at(place);
        self.way_is_on = way.is_on;
        self.solver.declare_like(id.slot, &way.uses);
        let activity = self.activities.claim_slot(id.slot);
        let between = self.contention.is_some() && from != to;
        *activity = Activity {
            id,
            place: ActivityResources::Transfer(from, to),
            between: between.then_some((from.0, to.0)),
            scale,
            remaining: if way.latency_only { 0.0 } else { bytes / scale },
            weight: if is_unweighted { 1.0 } else { way.weight },
            limit: way.limit,
            limit_kept: way.limit_kept,
            wanted: rate / scale,
            ..Activity::FREE
        };
        activity.set_bound(1.0);
        Ok(Span::from_secs(way.latency_s * factor + added_s))
    }

    /// Compares the state of the solver with a solve from scratch, after
    /// [`next_event`](sim_core::Resource::next_event).
    ///
    /// # Panics
    /// If a value is wrong by more than `tolerance` (relative).
    #[cfg(feature = "check")]
    pub fn check_solver(&mut self, tolerance: f64) {
        self.solver.check(tolerance);
    }

    /// Finds the links and limits of a transfer between two hosts, for a new transfer.
    ///
    /// Returns the place of the way in the table.
    #[inline(never)]
    fn look_for_way(
        &mut self,
        id: ActivityId,
        (from, to): (HostId, HostId),
    ) -> Result<usize, StartError> {
        let slot = id.slot;
        let (route, way_back) = (&mut self.route, &mut self.way_back);
        self.solver.declare(slot);
        self.model_kind
            .find_routes(&self.platform, (from, to), route, way_back)
            .map_err(|error| StartError(error.to_string()))?;
        let ModelKind::Fluid { parameters, .. } = &self.model_kind else {
            unreachable!("only fluid models have ways");
        };
        for (way, weight) in [(&*route, 1.0), (&*way_back, parameters.crosstraffic)] {
            for hop in way.hops.iter().filter(|hop| !hop.fatpipe) {
                let (capacity, amount) = wifi::capacity(hop, &self.dynamics, &self.decaying);
                self.solver
                    .cross(slot, hop.link.0, capacity, weight * amount);
            }
        }
        let activity = self.activities.claim_slot(slot);
        let between = self.contention.is_some() && from != to;
        *activity = Activity {
            id,
            between: between.then_some((from.0, to.0)),
            ..Activity::FREE
        };
        if self.model_kind.is_compat() {
            activity.limit_kept = slowest(route, &self.dynamics);
        }
        activity.update_weight(&self.model_kind, &self.dynamics, route, way_back);
        let place = self.ways.claim_place(from, to);
        let way = self.ways.at_mut(place);
        self.solver.share_uses(slot, &mut way.uses);
        (way.weight, way.limit) = (activity.weight, activity.limit);
        way.limit_kept = activity.limit_kept;
        way.latency_s = self.dynamics.latency_s(route);
        way.latency_only = route.hops.is_empty();
        way.is_on = self.dynamics.is_route_up(route) && self.dynamics.is_route_up(way_back);
        Ok(place)
    }

    /// Returns true if a prepared activity can run: its hosts and links are on.
    fn is_on(&mut self, slot: u32) -> bool {
        match self.activities.0[slot as usize].place {
            ActivityResources::Exec(host) => self.dynamics.is_host_on(host),
            ActivityResources::Io(disk) => self.dynamics.is_host_on(self.platform.disk_host(disk)),
            ActivityResources::Parallel => self.is_task_on(slot),
            ActivityResources::Transfer(from, to) => {
                self.way_is_on && self.dynamics.is_host_on(from) && self.dynamics.is_host_on(to)
            }
        }
    }

    /// Tells the others that a transfer begins.
    fn meet(&mut self, slot: u32, now: Time) {
        let between = self.activities.0[slot as usize].between;
        if let (Some(contention), Some((from, to))) = (&mut self.contention, between) {
            self.affected.clear();
            let Activity {
                remaining, scale, ..
            } = self.activities.0[slot as usize];
            contention.begin_transfer(slot, (from, to), remaining * scale, &mut self.affected);
            self.renew_penalties(now);
        }
    }

    /// Tells the others that a transfer has ended.
    fn end_transfer(&mut self, slot: u32, now: Time) {
        let between = self.activities.0[slot as usize].between.take();
        if let (Some(contention), Some((from, to))) = (&mut self.contention, between) {
            self.affected.clear();
            contention.end_transfer(slot, from, to, &mut self.affected);
            self.renew_penalties(now);
        }
    }

    /// Divides the limits of the affected transfers by their new penalties.
    fn renew_penalties(&mut self, now: Time) {
        let Some(contention) = &self.contention else {
            return;
        };
        for slot in &self.affected {
            let activity = &mut self.activities.0[*slot as usize];
            let Some((from, to)) = activity.between else {
                continue;
            };
            let before = activity.bound;
            activity.set_bound(contention.penalty(*slot, from, to));
            let shares = activity.phase == Phase::Work && !activity.suspended;
            if shares && before != activity.bound {
                let (weight, bound) = (activity.weight, activity.bound);
                self.solver.update(*slot, weight, bound, now.as_secs());
            }
        }
    }

    /// Begins to pay a latency; an activity without work ends after the latency.
    #[inline(always)]
    fn pay(&mut self, slot: u32, left: Span, now: Time) {
        let until = now + left;
        let activity = &mut self.activities.0[slot as usize];
        let place = self.latencies.insert_date(slot, until.as_secs());
        activity.phase = Phase::Latency { until, left, place };
    }

    /// Begins to progress.
    #[inline]
    fn start_progress(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        activity.phase = Phase::Work;
        let Activity {
            weight,
            bound,
            remaining,
            ..
        } = *activity;
        self.solver
            .enter(slot, weight, bound, remaining, now.as_secs());
        if self.has_extras {
            self.note_users();
        }
    }

    /// Lets weights and airs that depend on the users of links be found anew.
    #[inline(never)]
    fn note_users(&mut self) {
        if !self.parallel.is_empty() || !self.decaying.is_empty() {
            self.solver.mark_changed();
        }
    }

    /// Stops an activity that progresses or pays its latency, and keeps the work or latency left.
    fn stop_progress(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        if activity.suspended {
            return;
        }
        match activity.phase {
            Phase::Idle | Phase::Failed => {}
            Phase::Latency { until, place, .. } => {
                let left = until.since(now);
                self.latencies.remove_date(slot, place);
                let place = DatePlace::NONE;
                activity.phase = Phase::Latency { until, left, place };
            }
            Phase::Work => {
                activity.remaining = self.solver.stop_sharing(slot, now.as_secs());
                self.note_users();
            }
        }
    }

    /// Forgets an activity that does not share any more; the solver has forgotten the uses.
    #[inline]
    fn forget_activity(&mut self, slot: u32, now: Time) {
        self.running -= 1;
        self.activities.0[slot as usize].phase = Phase::Idle;
        if self.has_extras {
            self.end_extras(slot, now);
        }
    }

    /// Tells others of the end of an activity.
    #[inline(never)]
    fn end_extras(&mut self, slot: u32, now: Time) {
        // The activity has left links that others use.
        self.note_users();
        if self.observation.is_some() {
            self.observe_end(slot, now);
        }
        if self.activities.0[slot as usize].place == ActivityResources::Parallel {
            self.parallel.remove(&slot);
        }
        self.decaying.end_transfer(slot);
        self.end_transfer(slot, now);
    }

    /// Tells others of an activity that has been prepared; returns the latency to pay, with the
    /// wait for the adapter, or `None` if the activity fails.
    #[inline(never)]
    fn begin_extras(&mut self, slot: u32, work: &Work, latency: Span, now: Time) -> Option<Span> {
        if let Work::Transfer { from, to, .. } = *work
            && !self.decaying.is_empty()
            && self.platform.route_into(from, to, &mut self.route).is_ok()
        {
            self.decaying.begin_transfer(slot, &self.route);
        }
        if self.observation.is_some() {
            self.observe_begin(slot, work, latency, now);
        }
        self.meet(slot, now);
        if !self.is_on(slot) {
            self.fail_activity(slot, now);
            return None;
        }
        match (&mut self.adapters, work) {
            (Some(adapters), Work::Transfer { from, to, .. }) if from != to => {
                Some(latency + adapters.wait_of_message(*from, now))
            }
            _ => Some(latency),
        }
    }

    /// The first date at which anything ends or has paid, in seconds.
    #[inline]
    fn first_end_s(&self) -> f64 {
        least(self.latencies.first_s(), self.solver.next_s())
    }
}

/// Refuses amounts that no activity can have.
fn check_amounts(work: &Work) -> Result<(), StartError> {
    let (amount, limits) = match *work {
        Work::Exec {
            flops,
            priority,
            bound,
            ..
        } => (flops, [priority, bound]),
        Work::Transfer { bytes, rate, .. } => (bytes, [1.0, rate]),
        Work::Io {
            bytes, priority, ..
        } => (bytes, [priority, 1.0]),
        // Checked when it was made.
        Work::Parallel(_) => return Ok(()),
    };
    if matches!(work, Work::Exec { threads: 0, .. }) {
        let message = "a computation needs at least one thread".to_owned();
        return Err(StartError(message));
    }
    if !(amount >= 0.0 && amount.is_finite()) {
        let message = format!("an amount of work must be finite and at least 0, not {amount}");
        return Err(StartError(message));
    }
    match limits
        .into_iter()
        .find(|limit| limit.is_nan() || *limit <= 0.0)
    {
        Some(limit) => Err(StartError(format!(
            "a priority or a rate limit must be above 0, not {limit}"
        ))),
        None => Ok(()),
    }
}
