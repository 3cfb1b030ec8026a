//! The profile of a path through a run: where the time of the chain of causes went that ends at a
//! moment of a rank.
//!
//! Each rank and each packet under way carries the profile of the path that leads to it. It grows
//! along program order; at a join that of the enabling side is taken. At the end the rank that ends
//! last has the profile of the critical path, whose parts add up to the time of the run.
//!
//! *Not exact*: the list of the heaviest places. It has room for a few, and one that gets in takes
//! the sum of the one that it replaces (Metwally et al., *Efficient computation of frequent and
//! top-k elements in data streams*, 2005): its error is at most that sum.

use observe::NameId;

use super::flights::TransferParts;

/// Number of places that a profile lists.
const PLACES: usize = 6;

/// Rank of the places of transfers: those of all ranks are added up.
pub(crate) const NETWORK: u32 = u32::MAX;

/// Kinds of time on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathTime {
    /// Computation and sleep.
    Compute,
    /// Software cost of calls.
    Software,
    /// Packets on the way between ranks: their latency.
    Latency,
    /// Packets on the way: their length at the rate that they have alone.
    Bandwidth,
    /// Packets on the way: the time beyond that of a transfer alone on its route.
    Contention,
    /// Packets on the way, of which the log does not tell the parts.
    Transfer,
    /// Waits whose cause was not observed.
    Other,
}

/// A place on a path: a call of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathPlace {
    pub(crate) rank: u32,
    pub(crate) call: NameId,
    pub(crate) place: NameId,
}

/// The profile of a path.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Profile {
    /// Seconds by [`PathTime`].
    pub(crate) times: [f64; 7],
    /// Number of packets along the path.
    pub(crate) packets: u64,
    /// The heaviest places with their seconds.
    pub(crate) heaviest: [(PathPlace, f64); PLACES],
}

impl Profile {
    /// Adds time at a place.
    pub(crate) fn spend(&mut self, time: PathTime, at: PathPlace, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        self.times[time as usize] += seconds;
        let known = (self.heaviest.iter()).position(|(place, sum)| *place == at && *sum > 0.0);
        let index = known.unwrap_or_else(|| {
            let sums = self.heaviest.iter().map(|(_, sum)| *sum).enumerate();
            let least = sums.min_by(|one, other| one.1.total_cmp(&other.1));
            least.map_or(0, |(index, _)| index)
        });
        self.heaviest[index].0 = at;
        self.heaviest[index].1 += seconds;
    }

    /// Adds the flight of a packet that a rank waits for in this call and line.
    pub(crate) fn travel(
        &mut self,
        (call, place): (NameId, NameId),
        parts: TransferParts,
        seconds: f64,
    ) {
        self.packets += 1;
        let rank = NETWORK;
        let at = PathPlace { rank, call, place };
        for (time, part) in parts.of(seconds) {
            self.spend(time, at, part);
        }
    }
}
