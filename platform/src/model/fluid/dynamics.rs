//! What changes on a platform while it runs: bandwidths, latencies, speeds, and what is off.
//!
//! - A new **bandwidth** counts at once, for the link and for all limits and penalties that it enters. (With
//!   `compat = "simgrid-4.1"` a transfer keeps the limit `min B_i` from its start.)
//! - A new **latency** moves the penalty and the window of the transfers that run. A latency already being paid is not changed.
//! - A new **speed** is a part of the speed of the host; it counts at once for all that it computes.
//! - A link or host that goes **off** fails everything on it at that instant; what starts over it later fails at once. For a
//!   link that includes its use on the way back, if the model has any.
//!
//! A speed or a bandwidth of 0 stops progress without failing anything; inside it is a very small part of the one in the
//! platform file, so that what is left is not lost.
//!
//! At one date, changes come before ends: what would end at the very moment at which its link goes off fails.
//!
//! Cost: a change looks at all transfers in progress, and at the routes of those; nothing is kept for links that never
//! change.
//!
//! *Not modelled*: routing around a link that is off.

use std::collections::BTreeMap;

use sim_core::{HostId, Time};

use super::{FlowModel, Phase, Place};
use crate::model::profile::{Change, Profile, Target};
use crate::{Hop, LinkId, Route};

/// The part of its bandwidth or speed that something that stands still has.
const STANDSTILL: f64 = 1e-30;

/// The present state of what differs from the platform file, and what is to come.
#[derive(Default, Debug)]
pub(super) struct Dynamics {
    /// Links that have changed, by physical number.
    links: BTreeMap<u32, LinkNow>,
    hosts: BTreeMap<HostId, HostNow>,
    profiles: Vec<Running>,
    /// Activities that have failed and are not yet reported.
    pub(super) failed: Vec<u32>,
    /// Hosts that went on or off and are not yet reported.
    pub(super) switched: Vec<(HostId, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct LinkNow {
    bandwidth: Option<f64>,
    /// The present latency less the one in the file, in seconds.
    latency_change: f64,
    on: bool,
}

#[derive(Clone, Copy, Debug)]
struct HostNow {
    scale: f64,
    on: bool,
}

/// A profile and where it is.
#[derive(Debug)]
struct Running {
    profile: Profile,
    next: usize,
    /// Periods that are over.
    round: u32,
}

impl Running {
    fn date(&self) -> Option<Time> {
        let (date_s, _) = self.profile.events.get(self.next)?;
        let begin_s = f64::from(self.round) * self.profile.period_s.unwrap_or(0.0);
        Some(Time::from_secs(begin_s + date_s))
    }

    fn step(&mut self) {
        self.next += 1;
        if self.next == self.profile.events.len() && self.profile.period_s.is_some() {
            self.next = 0;
            self.round += 1;
        }
    }
}

/// The physical link of one of its directions.
const fn wire(link: LinkId) -> u32 {
    link.0 / 2
}

impl Dynamics {
    pub(super) fn bandwidth(&self, hop: &Hop) -> f64 {
        let now = self.links.get(&wire(hop.link));
        now.and_then(|link| link.bandwidth).unwrap_or(hop.bandwidth)
    }

    /// The latency of a way, in seconds.
    pub(super) fn latency_s(&self, way: &Route) -> f64 {
        if self.links.is_empty() {
            return way.latency_s;
        }
        let changes = way
            .hops
            .iter()
            .filter_map(|hop| self.links.get(&wire(hop.link)));
        let change: f64 = changes.map(|link| link.latency_change).sum();
        (way.latency_s + change).max(0.0)
    }

    pub(super) fn is_way_on(&self, way: &Route) -> bool {
        let is_on = |hop: &Hop| self.links.get(&wire(hop.link)).is_none_or(|link| link.on);
        self.links.is_empty() || way.hops.iter().all(is_on)
    }

    pub(super) fn is_host_on(&self, host: HostId) -> bool {
        self.hosts.get(&host).is_none_or(|host| host.on)
    }

    pub(super) fn scale(&self, host: HostId) -> f64 {
        self.hosts.get(&host).map_or(1.0, |host| host.scale)
    }

    /// The date of the next event of a profile, if anybody can notice it: while nothing runs, only hosts count, on
    /// which actors may start again. So a periodic profile does not keep a deadlock alive.
    pub(super) fn next(&self, is_busy: bool) -> Option<Time> {
        let matters =
            |running: &&Running| is_busy || matches!(running.profile.target, Target::Host(_));
        self.profiles
            .iter()
            .filter(matters)
            .filter_map(Running::date)
            .min()
    }

    fn link(&mut self, link: LinkId) -> &mut LinkNow {
        self.links.entry(wire(link)).or_insert(LinkNow {
            bandwidth: None,
            latency_change: 0.0,
            on: true,
        })
    }

    fn host(&mut self, host: HostId) -> &mut HostNow {
        let same = HostNow {
            scale: 1.0,
            on: true,
        };
        self.hosts.entry(host).or_insert(same)
    }
}

impl FlowModel {
    /// Lets something change in time; profiles with the same date happen in the order in which they were added.
    pub fn add_profile(&mut self, profile: Profile) {
        self.dynamics.profiles.push(Running {
            profile,
            next: 0,
            round: 0,
        });
    }

    /// Changes a link or a host at the date `now`, at which the model is.
    pub fn change(&mut self, change: Change, now: Time) {
        self.ways.forget();
        match change {
            Change::Bandwidth(link, _) if self.is_air(link) => {}
            Change::Bandwidth(link, bytes_per_s) => {
                let least = STANDSTILL * self.platform.link(link).bandwidth;
                let bytes_per_s = bytes_per_s.max(least);
                self.dynamics.link(link).bandwidth = Some(bytes_per_s);
                for number in [2 * wire(link), 2 * wire(link) + 1] {
                    self.solver.set_capacity(number, bytes_per_s, now);
                }
                self.renew_transfers(link, now);
            }
            Change::Latency(link, latency) => {
                let base = self.platform.link(link).latency;
                self.dynamics.link(link).latency_change = latency.as_secs() - base.as_secs();
                self.renew_transfers(link, now);
            }
            Change::Link(link, on) => {
                self.dynamics.link(link).on = on;
                if !on {
                    for slot in self.transfers_over(link) {
                        self.fail(slot, now);
                    }
                    for slot in self.tasks_over(link) {
                        self.fail(slot, now);
                    }
                }
            }
            Change::Speed(host, scale) => self.set_speed(host, scale, now),
            Change::Host(host, on) => self.set_host(host, on, now),
        }
    }

    /// Makes the events of all profiles happen up to the date `now`.
    pub(super) fn play(&mut self, now: Time) {
        while let Some(date) = self.dynamics.next(true).filter(|date| *date <= now) {
            for at in 0..self.dynamics.profiles.len() {
                let running = &mut self.dynamics.profiles[at];
                if running.date() == Some(date) {
                    let (_, value) = running.profile.events[running.next];
                    let change = running.profile.target.to(value);
                    running.step();
                    self.change(change, now);
                }
            }
        }
    }

    /// The transfers in progress that cross a link, on their way or on the way back.
    fn transfers_over(&mut self, link: LinkId) -> Vec<u32> {
        let way_back = self.laws.uses_way_back();
        let mut found = Vec::new();
        for (activity, slot) in self.activities.0.iter().zip(0..) {
            let Place::Transfer(from, to) = activity.place else {
                continue;
            };
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            let crosses = |from, to, route: &mut Route| {
                let known = self.platform.route_into(from, to, route).is_ok();
                known && route.hops.iter().any(|hop| wire(hop.link) == wire(link))
            };
            if runs
                && (crosses(from, to, &mut self.route)
                    || way_back && crosses(to, from, &mut self.route))
            {
                found.push(slot);
            }
        }
        found
    }

    /// Finds the weights and limits of the transfers over a link anew.
    fn renew_transfers(&mut self, link: LinkId, now: Time) {
        for slot in self.transfers_over(link) {
            let activity = &mut self.activities.0[slot as usize];
            let Place::Transfer(from, to) = activity.place else {
                continue;
            };
            let found = self.laws.find_ways(
                &self.platform,
                (from, to),
                &mut self.route,
                &mut self.way_back,
            );
            if found.is_ok() {
                activity.weigh(&self.laws, &self.dynamics, &self.route, &self.way_back);
                self.renew(slot, now);
            }
        }
        for slot in self.tasks_over(link) {
            self.renew_parallel(slot, now);
        }
    }

    /// Shares with the new weight and limit of an activity.
    pub(super) fn renew(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        let penalty = match (&self.contention, activity.between) {
            (Some(contention), Some((from, to))) => contention.penalty(from, to),
            _ => 1.0,
        };
        activity.set_bound(penalty);
        if activity.phase == Phase::Work && !activity.suspended {
            let (weight, bound) = (activity.weight, activity.bound);
            self.solver.update(slot, weight, bound, now);
        }
    }

    fn set_speed(&mut self, host: HostId, scale: f64, now: Time) {
        let scale = scale.max(STANDSTILL);
        self.dynamics.host(host).scale = scale;
        let speed = scale * self.platform.speed(host);
        let capacity = speed * f64::from(self.platform.cores(host));
        let number = self.platform.link_id_end() + host.0;
        self.solver.set_capacity(number, capacity, now);
        for slot in self.computations_on(host) {
            let activity = &mut self.activities.0[slot as usize];
            activity.limit = speed * f64::from(activity.threads);
            self.renew(slot, now);
        }
        for slot in self.tasks_on(host) {
            self.renew_parallel(slot, now);
        }
    }

    fn computations_on(&self, host: HostId) -> Vec<u32> {
        let all = self.activities.0.iter().zip(0..);
        all.filter(|(activity, _)| {
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            runs && activity.place == Place::Exec(host)
        })
        .map(|(_, slot)| slot)
        .collect()
    }

    /// Switches a host; what runs on it or reaches it fails.
    pub(super) fn set_host(&mut self, host: HostId, on: bool, now: Time) {
        if std::mem::replace(&mut self.dynamics.host(host).on, on) == on {
            return;
        }
        self.dynamics.switched.push((host, on));
        if on {
            return;
        }
        for slot in (0..).take(self.activities.0.len()) {
            let activity = &self.activities.0[slot as usize];
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            let there = match activity.place {
                Place::Exec(place) => place == host,
                Place::Transfer(from, to) => from == host || to == host,
                Place::Io(disk) => self.platform.disk_host(disk) == host,
                Place::Parallel => self
                    .parallel
                    .get(&slot)
                    .is_some_and(|task| task.work.hosts().contains(&host)),
            };
            if runs && there {
                self.fail(slot, now);
            }
        }
    }

    /// Ends an activity without success; it is reported by the next `advance`.
    pub(super) fn fail(&mut self, slot: u32, now: Time) {
        self.leave(slot, now);
        self.activities.0[slot as usize].phase = Phase::Failed;
        self.dynamics.failed.push(slot);
    }
}

impl Target {
    /// The change that an event with this value means.
    fn to(self, value: f64) -> Change {
        match self {
            Self::Bandwidth(link) => Change::Bandwidth(link, value),
            Self::Latency(link) => Change::Latency(link, sim_core::Span::from_secs(value)),
            Self::Link(link) => Change::Link(link, value > 0.0),
            Self::Speed(host) => Change::Speed(host, value),
            Self::Host(host) => Change::Host(host, value > 0.0),
        }
    }
}
