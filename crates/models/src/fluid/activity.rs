//! One activity in progress: its place, its phase, and the limits and the weight set by the links.

use sim_core::{ActivityId, DiskId, HostId, Span, Time};

use maxmin::dates::DatePlace;
use maxmin::least;

use super::dynamics::DynamicState;
use super::model_kind::ModelKind;
use platform::Route;

/// All activities by slot, including ended activities.
#[derive(Default, Debug)]
pub(super) struct Activities(pub(super) Vec<Activity>);

/// An activity in progress.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    pub(super) id: ActivityId,
    pub(super) phase: Phase,
    pub(super) suspended: bool,
    pub(super) place: ActivityResources,
    /// Of a computation.
    pub(super) threads: u32,
    /// The hosts between which a transfer goes, if that matters to others.
    pub(super) between: Option<(u32, u32)>,
    /// Value of a unit of the solver's rate, in flop or bytes.
    pub(super) scale: f64,
    /// Work left, in units of the solver's rate, while the activity does not share.
    pub(super) remaining: f64,
    /// Inverse of the penalty in sharing.
    pub(super) weight: f64,
    /// The limit of the solver's rate.
    pub(super) bound: f64,
    /// The limit that the platform sets: fatpipe links, window, one core.
    pub(super) limit: f64,
    /// Bandwidth of the slowest link at the start, if this bandwidth stays a limit.
    pub(super) limit_kept: f64,
    /// The limit that the caller sets.
    pub(super) wanted: f64,
}

/// The hosts or the disk of an activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ActivityResources {
    Exec(HostId),
    Transfer(HostId, HostId),
    Io(DiskId),
    /// See [`FlowModel::parallel`](super::FlowModel).
    Parallel,
}

/// Phase of an activity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Phase {
    /// The slot is free.
    Idle,
    /// The activity pays the latency, until the date if it is not suspended.
    Latency {
        until: Time,
        left: Span,
        place: DatePlace,
    },
    /// The activity progresses.
    Work,
    /// The activity has failed, and the failure is not yet reported.
    Failed,
}

impl Activity {
    pub(super) const FREE: Self = Self {
        id: ActivityId { number: 0, slot: 0 },
        phase: Phase::Idle,
        suspended: false,
        place: ActivityResources::Exec(HostId(0)),
        threads: 1,
        between: None,
        scale: 1.0,
        remaining: 0.0,
        weight: 1.0,
        bound: f64::INFINITY,
        limit: f64::INFINITY,
        limit_kept: f64::INFINITY,
        wanted: f64::INFINITY,
    };

    /// Sets the limit of the rate, given the penalty of the model.
    #[inline]
    pub(super) fn set_bound(&mut self, penalty: f64) {
        self.bound = least(self.limit, self.wanted) / penalty;
    }

    /// Finds the weight and the limit that the present state of the links gives to a transfer.
    pub(super) fn update_weight(
        &mut self,
        model_kind: &ModelKind,
        links: &DynamicState,
        way: &Route,
        way_back: &Route,
    ) {
        let ModelKind::Fluid {
            parameters,
            weight_s,
            tcp_gamma,
            compat,
            ..
        } = model_kind
        else {
            return;
        };
        let latency = links.latency_s(way);
        self.limit = self.limit_kept;
        for (way, weight) in [(way, 1.0), (way_back, parameters.crosstraffic)] {
            for hop in way.hops.iter().filter(|hop| hop.fatpipe) {
                self.limit = self.limit.min(links.bandwidth(hop) / weight);
            }
        }
        if *tcp_gamma > 0.0 && latency > 0.0 {
            self.limit = self.limit.min(tcp_gamma / (2.0 * latency));
        }
        if self.between.is_some() {
            self.limit = self.limit.min(slowest(way, links));
        }
        if parameters.rtt_penalty {
            let slowness = |hop| model_kind.slowness(hop, links, *weight_s);
            let slow = way.hops.iter().map(slowness);
            let slowness: f64 = slow.sum();
            self.weight = match latency + slowness {
                _ if latency == 0.0 && compat.is_some() => 1.0,
                0.0 => 1.0,
                penalty => 1.0 / penalty,
            };
        }
    }
}

/// The bandwidth of the slowest link of a way, but for the air of Wi-Fi zones.
pub(super) fn slowest(way: &Route, links: &DynamicState) -> f64 {
    let wires = way.hops.iter().filter(|hop| !hop.air);
    wires.fold(f64::INFINITY, |limit, hop| limit.min(links.bandwidth(hop)))
}

impl Activities {
    /// Sorts activities by number: the order of simultaneous events does not depend on any heap.
    pub(super) fn sort_by_number(&self, slots: &mut [u32]) {
        slots.sort_unstable_by_key(|slot| self.0[*slot as usize].id.number);
    }

    /// Returns the record for a new activity in `slot`.
    #[inline]
    pub(super) fn claim_slot(&mut self, slot: u32) -> &mut Activity {
        if self.0.len() <= slot as usize {
            self.make_room(slot);
        }
        &mut self.0[slot as usize]
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, slot: u32) {
        self.0.resize(slot as usize + 1, Activity::FREE);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn records_of_activities_stay_small() {
        assert_eq!(size_of::<super::Activity>(), 128);
    }
}
