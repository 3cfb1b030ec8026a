//! The plain fluid model of networks and hosts, `model = "flow"`.
//!
//! **Transfers**: `T = latency + size / bandwidth`. The sum of the latencies of the route is paid first, using no bandwidth.
//! Then the data flow at the max-min fair rate: all transfers that cross a full link have the same rate there, unless
//! another link or their own limit makes them slower. A `shared` link is one capacity for both directions, a
//! `split-duplex` link one per direction; a `fatpipe` link only limits each transfer. A transfer of 0 bytes takes the latency.
//!
//! **Computations**: a host of n cores with s flop/s each is a capacity of n × s, shared max-min fairly with the priorities as
//! weights; no computation is faster than one core.
//!
//! *Not modelled*, and what a user could therefore observe:
//! - no protocol efficiency and no packet headers: a large transfer reaches 100 % of the nominal bandwidth;
//! - no reverse traffic of acknowledgements: two opposite transfers on a split-duplex link do not slow each other;
//! - no slow start, no window, no unfairness by round-trip time: a transfer has its fair share as soon as its latency is
//!   paid, and a transfer over a long way gets as much of a full link as one over a short way;
//! - no packets: a fair share is exact at every moment, and buffers never overflow;
//! - no memory and cache effects: k computations on k cores do not slow each other.
//!
//! Dates: an activity whose end differs from the current date by at most max(1e-12 s, 8 ulp of the date) ends with it, so
//! that rounding does not split what ends together. Work left is brought up to date only when a rate changes.
//!
//! Ordering guarantee: the same sequence of calls gives the same bits. Only + − × ÷, minimum and maximum are used.
//!
//! Units: bytes, flop, seconds.

use std::sync::Arc;

use sim_core::{ActivityId, CannotStart, Change, End, Resource, Span, Time, Work};

use super::agenda::Agenda;
use super::usage::{Component, Share, Shares, Usage, Use};
use crate::solver::Problem;
use crate::solver::reference::Reference;
use crate::{Platform, Route};

/// Activities this near to the current date, in seconds, end with it.
const TOGETHER_S: f64 = 1e-12;
/// The same in units of the distance between representable dates, for large dates.
const TOGETHER_ULP: f64 = 8.0;

/// The plain fluid model of a platform; see the head of this file for what it models.
#[derive(Debug)]
pub struct FlowModel {
    platform: Arc<Platform>,
    activities: Activities,
    agenda: Agenda,
    usage: Usage,
    solver: Reference,
    /// Buffers, to allocate nothing in the steady state.
    route: Route,
    members: Vec<u32>,
    problem: Problem,
    rates: Vec<f64>,
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
    /// Work left at the date `since`.
    remaining: f64,
    rate: f64,
    since: Time,
    /// The limit that the platform sets: fatpipe links, one core.
    limit: f64,
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
        Self {
            usage: Usage::new(capacities as usize),
            platform,
            activities: Activities::default(),
            agenda: Agenda::default(),
            solver: Reference::default(),
            route: Route::default(),
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
        activity.share.uses.clear();
        let latency;
        let (amount, bound);
        match *work {
            Work::Exec {
                host,
                flops,
                priority,
                bound: wanted,
            } => {
                let speed = self.platform.speed(host);
                let capacity = speed * f64::from(self.platform.cores(host));
                let number = self.platform.link_id_end() + host.0;
                activity.share.uses.push(Use::new(number, capacity));
                activity.share.weight = priority;
                activity.limit = speed;
                latency = Span::ZERO;
                (amount, bound) = (flops, wanted);
            }
            Work::Transfer {
                from,
                to,
                bytes,
                rate,
            } => {
                self.platform
                    .route_into(from, to, &mut self.route)
                    .map_err(|error| CannotStart(error.to_string()))?;
                activity.limit = f64::INFINITY;
                for hop in &self.route.hops {
                    if hop.fatpipe {
                        activity.limit = activity.limit.min(hop.bandwidth);
                    } else {
                        activity
                            .share
                            .uses
                            .push(Use::new(hop.link.0, hop.bandwidth));
                    }
                }
                activity.share.weight = 1.0;
                latency = Span::from_secs(self.route.latency_s);
                (amount, bound) = (bytes, rate);
            }
        }
        activity.id = id;
        activity.suspended = false;
        activity.is_exec = matches!(work, Work::Exec { .. });
        activity.remaining = amount;
        activity.rate = 0.0;
        activity.since = now;
        activity.share.bound = activity.limit.min(bound);
        Ok(latency)
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
            Change::Bound(bound) => activity.share.bound = activity.limit.min(bound),
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
        self.activities.0[id.slot as usize].remaining_at(now)
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
        let together = Span::from_secs(TOGETHER_S.max(TOGETHER_ULP * now.ulp()));
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
        }
    }
}

impl Activity {
    const FREE: Self = Self {
        id: ActivityId { number: 0, slot: 0 },
        phase: Phase::Idle,
        suspended: false,
        is_exec: false,
        remaining: 0.0,
        rate: 0.0,
        since: Time::ZERO,
        limit: f64::INFINITY,
        share: Share::NONE,
    };

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
