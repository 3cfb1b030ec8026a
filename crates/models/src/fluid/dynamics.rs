//! State of a platform that changes in a run: bandwidths, latencies, speeds, links and hosts off.
//!
//! - A new **bandwidth** takes effect at once, for the link and for all limits and penalties that
//!   use it. (With `compat = "simgrid-4.1"` a transfer keeps the limit `min B_i` from its start.)
//! - A new **latency** changes the penalty and the window of running transfers. A latency already
//!   being paid is not changed.
//! - A new **speed** is a part of the speed of the host; it takes effect at once for all
//!   computations of the host. So does a new power state.
//! - A link or host that goes **off** fails all its activities at that instant; later starts on it
//!   fail at once. For a link this includes use on the way back, if the model has such use.
//!
//! A speed or a bandwidth of 0 stops progress without a failure; internally a very small part of
//! the value in the platform file replaces 0, so that the work left is not lost.
//!
//! At one date, changes come before ends: an activity that would end at the very moment at which
//! its link goes off fails.
//!
//! Cost: a change examines all transfers in progress and their routes; unchanged links cost no
//! memory.
//!
//! *Not modelled*: routing around a link that is off; and, whatever the `compat`, that a new
//! latency lets transfers that pay the old latency begin early, where `SimGrid` contradicts itself
//! (its lazy and its full updates differ).

use std::collections::BTreeMap;
use std::ops::Range;

use observe::LinkParameter;
use sim_core::{HostId, LinkState, Span, Time};

use super::timetable::{DueEvent, ProfileSchedule};
use super::{ActivityResources, FlowModel, Phase};
use platform::profile::{Change, Profile, Target};
use platform::{Hop, LinkId, Platform, Route};

/// Bandwidth or speed in place of 0, as a part of the value in the platform file; for a power state
/// without speed, in flop/s.
const STANDSTILL: f64 = 1e-30;
/// From here on, in bytes/s, a bandwidth is larger than that part of any other.
const STANDSTILL_BELOW: f64 = 1e-9;

/// The present values that differ from the platform file, and the changes to come.
#[derive(Default, Debug)]
pub(super) struct DynamicState {
    /// Directions of links that have changed.
    links: BTreeMap<LinkId, CurrentLink>,
    hosts: BTreeMap<HostId, CurrentHost>,
    pub(super) timetable: ProfileSchedule,
    /// Activities that have failed and are not yet reported.
    pub(super) failed: Vec<u32>,
    /// Hosts that were turned on or off and are not yet reported.
    pub(super) switched: Vec<(HostId, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct CurrentLink {
    bandwidth: Option<f64>,
    /// The present latency less the one in the file, in seconds.
    latency_change: f64,
    on: bool,
}

#[derive(Clone, Copy, Debug)]
struct CurrentHost {
    scale: f64,
    on: bool,
    /// The power state to which the host was set, and the speed of this power state.
    pstate: Option<u32>,
    state_speed: Option<f64>,
}

/// Numbers of both directions of a link, given one of them.
const fn both(link: LinkId) -> Range<u32> {
    let first = link.0 & !1;
    first..first + 2
}

impl DynamicState {
    /// Returns true if only running activities can change the state of the model.
    #[inline]
    pub(super) const fn is_steady(&self) -> bool {
        self.timetable.is_empty() && self.failed.is_empty()
    }

    pub(super) fn bandwidth(&self, hop: &Hop) -> f64 {
        let now = self.links.get(&hop.link);
        now.and_then(|link| link.bandwidth).unwrap_or(hop.bandwidth)
    }

    /// The latency of a way, in seconds.
    pub(super) fn latency_s(&self, way: &Route) -> f64 {
        if self.links.is_empty() {
            return way.latency_s;
        }
        let changes = way.hops.iter().filter_map(|hop| self.links.get(&hop.link));
        let change: f64 = changes.map(|link| link.latency_change).sum();
        (way.latency_s + change).max(0.0)
    }

    pub(super) fn is_route_up(&self, way: &Route) -> bool {
        let is_on = |hop: &Hop| self.links.get(&hop.link).is_none_or(|link| link.on);
        self.links.is_empty() || way.hops.iter().all(is_on)
    }

    pub(super) fn is_host_on(&self, host: HostId) -> bool {
        self.hosts.get(&host).is_none_or(|host| host.on)
    }

    /// The speed of a core of a host, for sharing: above 0 also in a power state without speed.
    pub(super) fn speed(&self, platform: &Platform, host: HostId) -> f64 {
        match self.exact_speed(platform, host) {
            0.0 => STANDSTILL,
            speed => speed,
        }
    }

    /// The speed of a core of a host.
    pub(super) fn exact_speed(&self, platform: &Platform, host: HostId) -> f64 {
        match self.hosts.get(&host) {
            None => platform.speed(host),
            Some(now) => now.scale * now.state_speed.unwrap_or_else(|| platform.speed(host)),
        }
    }

    /// The power state of a host, if an actor has changed this state.
    pub(super) fn pstate(&self, host: HostId) -> Option<u32> {
        self.hosts.get(&host).and_then(|host| host.pstate)
    }

    /// The present state of a link, given the one in the platform file.
    pub(super) fn link_now(&self, link: LinkId, (bandwidth, latency_s): (f64, f64)) -> LinkState {
        let now = self.links.get(&link);
        LinkState {
            on: now.is_none_or(|now| now.on),
            bandwidth: now.and_then(|now| now.bandwidth).unwrap_or(bandwidth),
            latency: Span::from_secs(latency_s + now.map_or(0.0, |now| now.latency_change)),
        }
    }

    /// Returns true if a link or a host has no bandwidth or speed at present.
    pub(super) fn stands_still(&self, platform: &Platform) -> bool {
        let slow = |link: &CurrentLink| link.bandwidth.is_some_and(|now| now < STANDSTILL_BELOW);
        let still = |host: &CurrentHost| host.scale <= STANDSTILL || host.state_speed == Some(0.0);
        self.links.values().any(slow)
            || self.hosts.values().any(still)
            || platform.has_stopped_host()
    }

    fn link_mut(&mut self, link: u32) -> &mut CurrentLink {
        self.links.entry(LinkId(link)).or_insert(CurrentLink {
            bandwidth: None,
            latency_change: 0.0,
            on: true,
        })
    }

    fn host_mut(&mut self, host: u32) -> &mut CurrentHost {
        let same = CurrentHost {
            scale: 1.0,
            on: true,
            pstate: None,
            state_speed: None,
        };
        self.hosts.entry(HostId(host)).or_insert(same)
    }
}

impl FlowModel {
    /// Adds a profile, which changes a link or a host in time; profiles with the same date take
    /// effect in the order in which they were added.
    pub fn add_profile(&mut self, profile: Profile) {
        self.has_extras = true;
        self.dynamics.timetable.add_profile(profile);
    }

    /// Changes a link or a host at the date `now`, at which the model is.
    pub fn apply_change(&mut self, change: Change, now: Time) {
        self.has_extras = true;
        self.ways.forget_pairs();
        let single = |number: u32| number..number + 1;
        match change {
            Change::Bandwidth(link, _) if self.is_air(link) => {}
            Change::Bandwidth(link, bytes_per_s) => {
                self.set_bandwidth(both(link), bytes_per_s, now);
            }
            Change::Latency(link, latency) => {
                self.set_latency(both(link), latency.as_secs(), now);
            }
            Change::Link(link, on) => self.set_links(both(link), on, now),
            Change::Speed(host, scale) => self.set_scale(single(host.0), scale, now),
            Change::Host(host, on) => self.set_hosts(single(host.0), on, now),
            Change::PowerState(host, state) => self.set_pstate(host, state, now),
        }
    }

    /// Makes the events of all profiles happen up to the date `now`.
    #[inline]
    pub(super) fn play(&mut self, now: Time) {
        if !self.dynamics.timetable.is_empty() {
            self.play_due(now);
        }
    }

    #[inline(never)]
    fn play_due(&mut self, now: Time) {
        while let Some(DueEvent {
            target,
            count,
            value,
        }) = self.dynamics.timetable.pop_due(now)
        {
            self.ways.forget_pairs();
            let row = |first: u32| first..first + count;
            match target {
                Target::Bandwidth(link) => self.set_bandwidth(row(link.0), value, now),
                Target::Latency(link) => self.set_latency(row(link.0), value, now),
                Target::Link(link) => self.set_links(row(link.0), value > 0.0, now),
                Target::Speed(host) => self.set_scale(row(host.0), value, now),
                Target::Host(host) => self.set_hosts(row(host.0), value > 0.0, now),
            }
        }
    }

    fn set_bandwidth(&mut self, links: Range<u32>, bytes_per_s: f64, now: Time) {
        for link in links.clone() {
            let mut bytes_per_s = bytes_per_s;
            if bytes_per_s < STANDSTILL_BELOW {
                let least = STANDSTILL * self.platform.link(LinkId(link)).bandwidth;
                bytes_per_s = bytes_per_s.max(least);
            }
            self.dynamics.link_mut(link).bandwidth = Some(bytes_per_s);
            self.solver.set_capacity(link, bytes_per_s, now.as_secs());
        }
        self.observe_links(links.clone(), LinkParameter::Bandwidth, bytes_per_s, now);
        self.renew_transfers(&links, now);
    }

    fn set_latency(&mut self, links: Range<u32>, latency_s: f64, now: Time) {
        for link in links.clone() {
            let base = self.platform.link(LinkId(link)).latency;
            self.dynamics.link_mut(link).latency_change = latency_s - base.as_secs();
        }
        self.observe_links(links.clone(), LinkParameter::Latency, latency_s, now);
        self.renew_transfers(&links, now);
    }

    fn set_links(&mut self, links: Range<u32>, on: bool, now: Time) {
        for link in links.clone() {
            self.dynamics.link_mut(link).on = on;
        }
        let state = f64::from(u8::from(on));
        self.observe_links(links.clone(), LinkParameter::State, state, now);
        if !on {
            for slot in self.transfers_over(&links) {
                self.fail_activity(slot, now);
            }
            for slot in self.tasks_over(&links) {
                self.fail_activity(slot, now);
            }
        }
    }

    /// The transfers in progress that cross any of these links, on their way or on the way back.
    fn transfers_over(&mut self, links: &Range<u32>) -> Vec<u32> {
        let way_back = self.model_kind.uses_reverse_route();
        let mut found = Vec::new();
        for (activity, slot) in self.activities.0.iter().zip(0..) {
            let ActivityResources::Transfer(from, to) = activity.place else {
                continue;
            };
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            let crosses = |from, to, route: &mut Route| {
                let known = self.platform.route_into(from, to, route).is_ok();
                known && route.hops.iter().any(|hop| links.contains(&hop.link.0))
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

    /// Finds the weights and limits of the transfers over some links anew.
    fn renew_transfers(&mut self, links: &Range<u32>, now: Time) {
        for slot in self.transfers_over(links) {
            let activity = &mut self.activities.0[slot as usize];
            let ActivityResources::Transfer(from, to) = activity.place else {
                continue;
            };
            let found = self.model_kind.find_routes(
                &self.platform,
                (from, to),
                &mut self.route,
                &mut self.way_back,
            );
            if found.is_ok() {
                activity.update_weight(
                    &self.model_kind,
                    &self.dynamics,
                    &self.route,
                    &self.way_back,
                );
                self.update_share(slot, now);
            }
        }
        for slot in self.tasks_over(links) {
            self.update_parallel_limit(slot, now);
        }
    }

    /// Shares with the new weight and limit of an activity.
    pub(super) fn update_share(&mut self, slot: u32, now: Time) {
        let activity = &mut self.activities.0[slot as usize];
        let penalty = match (&self.contention, activity.between) {
            (Some(contention), Some((from, to))) => contention.penalty(slot, from, to),
            _ => 1.0,
        };
        activity.set_bound(penalty);
        if activity.phase == Phase::Work && !activity.suspended {
            let (weight, bound) = (activity.weight, activity.bound);
            self.solver.update(slot, weight, bound, now.as_secs());
        }
    }

    fn set_scale(&mut self, hosts: Range<u32>, scale: f64, now: Time) {
        for host in hosts.clone() {
            self.dynamics.host_mut(host).scale = scale.max(STANDSTILL);
        }
        self.observe_hosts(hosts.clone(), "speed of the host", Some(scale), now);
        self.renew_computations(hosts, now);
    }

    fn set_pstate(&mut self, host: HostId, state: u32, now: Time) {
        let speed = self.platform.pstate_speed(host, state);
        let entry = self.dynamics.host_mut(host.0);
        entry.pstate = Some(state);
        entry.state_speed = speed;
        let single = host.0..host.0 + 1;
        self.observe_hosts(single, "power state of the host", Some(state.into()), now);
        self.renew_computations(host.0..host.0 + 1, now);
    }

    /// Gives the computations on some hosts the present speed of these.
    fn renew_computations(&mut self, hosts: Range<u32>, now: Time) {
        for host in hosts.clone().map(HostId) {
            let speed = self.dynamics.speed(&self.platform, host);
            let capacity = speed * f64::from(self.platform.cores(host));
            let number = self.platform.link_id_end() + host.0;
            self.solver.set_capacity(number, capacity, now.as_secs());
        }
        for slot in (0..).take(self.activities.0.len()) {
            let activity = &mut self.activities.0[slot as usize];
            let ActivityResources::Exec(host) = activity.place else {
                continue;
            };
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            if runs && hosts.contains(&host.0) {
                let speed = self.dynamics.speed(&self.platform, host);
                activity.limit = speed * f64::from(activity.threads);
                self.update_share(slot, now);
            }
        }
        for slot in self.tasks_on(&hosts) {
            self.update_parallel_limit(slot, now);
        }
    }

    /// Turns hosts on or off; when a host goes off, its activities and its transfers fail.
    pub(super) fn set_hosts(&mut self, hosts: Range<u32>, on: bool, now: Time) {
        let mut changed = false;
        for host in hosts.clone() {
            if std::mem::replace(&mut self.dynamics.host_mut(host).on, on) != on {
                self.dynamics.switched.push((HostId(host), on));
                changed = true;
                let name = if on { "host on" } else { "host off" };
                self.observe_hosts(host..host + 1, name, None, now);
            }
        }
        if on || !changed {
            return;
        }
        for slot in (0..).take(self.activities.0.len()) {
            let activity = &self.activities.0[slot as usize];
            let runs = !matches!(activity.phase, Phase::Idle | Phase::Failed);
            let there = match activity.place {
                ActivityResources::Exec(place) => hosts.contains(&place.0),
                ActivityResources::Transfer(from, to) => {
                    hosts.contains(&from.0) || hosts.contains(&to.0)
                }
                ActivityResources::Io(disk) => hosts.contains(&self.platform.disk_host(disk).0),
                ActivityResources::Parallel => self.parallel.get(&slot).is_some_and(|task| {
                    let mut used = task.work.hosts().iter();
                    used.any(|host| hosts.contains(&host.0))
                }),
            };
            if runs && there {
                self.fail_activity(slot, now);
            }
        }
    }

    /// Ends an activity with a failure; the next `advance` reports the failure.
    pub(super) fn fail_activity(&mut self, slot: u32, now: Time) {
        self.stop_progress(slot, now);
        self.activities.0[slot as usize].phase = Phase::Failed;
        self.dynamics.failed.push(slot);
    }
}
