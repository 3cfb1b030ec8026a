//! The air of Wi-Fi zones: one capacity, of which a transfer needs more if its station is slower.
//!
//! The capacity of the air is 1: the whole time. A transfer from or to a station with the rate r
//! needs 1/r of the capacity per byte/s, and `crosstraffic` / r for its way back; between two
//! stations of one zone it needs these parts for both stations. So a lone transfer reaches r / (1 +
//! crosstraffic), a slow station slows all others, and all transfers limited only by the air have
//! the same rate.
//!
//! With `decay`, the air has the part `(5678270 − 5424 (n − 20)) / 5678270` of its capacity if more
//! than 20 stations, n of them, use it, because of collisions. A transfer between two stations of
//! the zone counts two stations, any other transfer or a parallel task counts one. Source: the
//! Wi-Fi link of SimGrid 4.1, a linear fit to measurements with up to some dozens of stations; the
//! part stays constant from 1066 stations on, where the line would reach zero.
//!
//! The air has no latency, does not limit the bandwidth of a single transfer, and adds no penalty
//! by round-trip time. With `compat = "simgrid-4.1"` the air adds `weight_s / (1 B/s)` as SimGrid
//! does: hours, so that latencies do not matter, all transfers over the air have equal rates, and
//! they hardly get any bandwidth of a wire that they share with others.
//!
//! *Not modelled*: distance, interference between zones, stations that move or change their level
//! in a run.

use std::collections::BTreeMap;

use sim_core::Time;

use super::{DynamicState, FlowModel, ModelKind, Phase};
use platform::{Hop, LinkId, Platform, Route};

/// Stations up to which there is no decay.
const UNDISTURBED: u32 = 20;
/// The rate of one station in the fit, and the cost of each further station, in bits/s.
const ALONE: f64 = 5_678_270.0;
const EACH: f64 = 5_424.0;
/// The largest number of stations beyond [`UNDISTURBED`] that the fit can express.
const BEYOND_MAX: u32 = 1_046;

/// The part of the air that is left to this number of stations.
fn air_share(stations: u32) -> f64 {
    let beyond = stations.saturating_sub(UNDISTURBED).min(BEYOND_MAX);
    (ALONE - EACH * f64::from(beyond)) / ALONE
}

/// The air of the zones with decay.
#[derive(Default, Debug)]
pub(super) struct WifiDecay {
    /// The present part of each.
    parts: Vec<(LinkId, f64)>,
    /// Links used by transfers on the air, by slot: once for each station.
    stations: BTreeMap<u32, Vec<LinkId>>,
}

impl WifiDecay {
    pub(super) fn new(platform: &Platform) -> Self {
        let decaying = platform.airs().filter(|air| air.decay);
        Self {
            parts: decaying.map(|air| (air.link, 1.0)).collect(),
            stations: BTreeMap::new(),
        }
    }

    /// Reports whether there is no air with decay.
    pub(super) const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Records the stations of a transfer on the air.
    pub(super) fn begin_transfer(&mut self, slot: u32, way: &Route) {
        let hops = way.hops.iter().filter(|hop| hop.air).map(|hop| hop.link);
        let air = hops.filter(|link| self.parts.iter().any(|(known, _)| known == link));
        let air: Vec<LinkId> = air.collect();
        if !air.is_empty() {
            self.stations.insert(slot, air);
        }
    }

    /// Forgets a transfer.
    #[inline]
    pub(super) fn end_transfer(&mut self, slot: u32) {
        if !self.stations.is_empty() {
            self.stations.remove(&slot);
        }
    }
}

/// The capacity that a transfer shares at a hop, and the amount that it uses per byte/s.
pub(super) fn capacity(hop: &Hop, dynamics: &DynamicState, decaying: &WifiDecay) -> (f64, f64) {
    let bandwidth = dynamics.bandwidth(hop);
    if !hop.air {
        return (bandwidth, 1.0);
    }
    let found = decaying.parts.iter().find(|(link, _)| *link == hop.link);
    (found.map_or(1.0, |(_, part)| *part), 1.0 / bandwidth)
}

impl ModelKind {
    /// Returns the addition of a hop to a penalty by round-trip time, in seconds.
    pub(super) fn slowness(&self, hop: &Hop, dynamics: &DynamicState, weight_s: f64) -> f64 {
        match (hop.air, self.is_compat()) {
            (false, _) => weight_s / dynamics.bandwidth(hop),
            (true, false) => 0.0,
            (true, true) => weight_s,
        }
    }
}

impl FlowModel {
    /// Returns true if a link is the air of a Wi-Fi zone.
    pub(super) fn is_air(&self, link: LinkId) -> bool {
        let mut airs = self.platform.airs();
        airs.any(|air| air.link.0 / 2 == link.0 / 2)
    }

    /// Sets the capacity of each air with decay by the number of its stations: shares are about to
    /// change.
    #[inline]
    pub(super) fn decay(&mut self, now: Time) {
        if self.decaying.is_empty() {
            return;
        }
        for (link, known) in &mut self.decaying.parts {
            let tasks = self.parallel.iter().filter(|(_, task)| task.crosses(*link));
            let tasks = tasks.map(|(slot, _)| (*slot, 1));
            let transfers = self.decaying.stations.iter().map(|(slot, stations)| {
                let here = stations.iter().filter(|air| *air == link);
                (*slot, here.count())
            });
            let shares = |slot: u32| {
                let activity = &self.activities.0[slot as usize];
                activity.phase == Phase::Work && !activity.suspended
            };
            let sharing = transfers.chain(tasks).filter(|(slot, _)| shares(*slot));
            let stations: usize = sharing.map(|(_, stations)| stations).sum();
            let present = air_share(u32::try_from(stations).unwrap_or(u32::MAX));
            if present != *known {
                *known = present;
                self.solver.set_capacity(link.0, present, now.as_secs());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::air_share;

    #[test]
    fn the_air_decays_and_never_vanishes() {
        assert_eq!((air_share(0), air_share(20)), (1.0, 1.0));
        assert_eq!(air_share(21), (5_678_270.0 - 5_424.0) / 5_678_270.0);
        assert!(air_share(1066) > 0.0 && air_share(u32::MAX) == air_share(1066));
    }
}
