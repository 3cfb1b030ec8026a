//! Cache of ways: programs send to the same partners again and again.
//!
//! A table of fixed size keeps, for pairs of hosts, the links and the limits of a transfer between
//! the hosts; a pair replaces another pair with the same number. So memory does not grow with the
//! number of used pairs, and a missing pair costs one lookup. A change of any link empties the
//! table.

use sim_core::HostId;

use maxmin::SharedUses;

/// Pairs that are kept at most.
const PAIRS_MAX: usize = 1 << 15;
/// Pairs that are kept per host of the platform.
const PAIRS_PER_HOST: usize = 4;

/// The table.
#[derive(Debug)]
pub(super) struct RouteCache {
    pairs: Vec<CachedRoute>,
    /// One less than the number of places, which is a power of two.
    mask: usize,
    /// Grows when a link changes.
    era: u32,
}

/// Links used by a transfer between two hosts, and the bounds of the rate of the transfer.
#[derive(Clone, Debug)]
pub(super) struct CachedRoute {
    from: HostId,
    to: HostId,
    /// The era in which the way was found.
    era: u32,
    /// True if all links are on.
    pub(super) is_on: bool,
    pub(super) latency_s: f64,
    /// True if the way has no links, so that the size of a transfer does not matter.
    pub(super) latency_only: bool,
    pub(super) weight: f64,
    pub(super) limit: f64,
    pub(super) limit_kept: f64,
    pub(super) uses: SharedUses,
}

/// The era of an empty place.
const NEVER: u32 = 0;

impl RouteCache {
    pub(super) fn new(hosts: u32) -> Self {
        let places = (PAIRS_PER_HOST * hosts as usize).next_power_of_two();
        Self {
            pairs: Vec::new(),
            mask: places.min(PAIRS_MAX) - 1,
            era: NEVER + 1,
        }
    }

    fn pair_place(&self, from: HostId, to: HostId) -> usize {
        let pair = u64::from(from.0) << 32 | u64::from(to.0);
        // Fibonacci hashing: 2^64 divided by the golden ratio spreads neighbours evenly.
        let spread = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        spread as usize & self.mask
    }

    /// Returns the place of a pair, if the pair is in the table.
    #[inline]
    pub(super) fn place_of(&self, from: HostId, to: HostId) -> Option<usize> {
        let place = self.pair_place(from, to);
        let way = self.pairs.get(place)?;
        (way.from == from && way.to == to && way.era == self.era).then_some(place)
    }

    /// Returns the cached way of the pair in a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> &CachedRoute {
        &self.pairs[place]
    }

    /// The same, to be filled in.
    pub(super) fn at_mut(&mut self, place: usize) -> &mut CachedRoute {
        &mut self.pairs[place]
    }

    /// Returns the place for a newly found way of a pair, with a former way to be replaced.
    pub(super) fn claim_place(&mut self, from: HostId, to: HostId) -> usize {
        if self.pairs.is_empty() {
            self.pairs.resize(self.mask + 1, CachedRoute::NONE);
        }
        let place = self.pair_place(from, to);
        let way = &mut self.pairs[place];
        (way.from, way.to, way.era) = (from, to, self.era);
        place
    }

    /// Forgets all pairs: a link has changed.
    pub(super) fn forget_pairs(&mut self) {
        self.era = self.era.checked_add(1).unwrap_or_else(|| {
            self.pairs.clear();
            NEVER + 1
        });
    }
}

impl CachedRoute {
    const NONE: Self = Self {
        from: HostId(0),
        to: HostId(0),
        era: NEVER,
        is_on: true,
        latency_s: 0.0,
        latency_only: false,
        weight: 1.0,
        limit: f64::INFINITY,
        limit_kept: f64::INFINITY,
        uses: SharedUses::NONE,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_until_it_is_displaced_or_a_link_changes() {
        let mut ways = RouteCache::new(2);
        let pair = |n: u32| (HostId(n), HostId(n + 1));
        assert!(ways.place_of(HostId(0), HostId(0)).is_none());
        for n in 0..100 {
            let (from, to) = pair(n);
            let place = ways.claim_place(from, to);
            ways.at_mut(place).latency_s = f64::from(n);
            assert_eq!(ways.place_of(from, to), Some(place));
            assert_eq!(ways.at(place).latency_s, f64::from(n));
            assert!(ways.place_of(to, from).is_none());
        }
        let known = (0..100).filter(|n| ways.place_of(pair(*n).0, pair(*n).1).is_some());
        assert!(known.count() <= 8, "the table does not grow");
        ways.forget_pairs();
        assert!(ways.place_of(HostId(99), HostId(100)).is_none());
    }
}
