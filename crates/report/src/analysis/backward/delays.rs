//! Delay costs: the time for which ranks wait for others, charged to the calls of the others.
//!
//! While rank r waits for rank s, the time of r is charged to the call in which s spends its time:
//! a *direct* cost. If s itself waits for rank q, the time is charged to q: an *indirect* cost. All
//! costs add up to all waits (after Böhme et al., *Identifying the root causes of wait states in
//! large-scale parallel applications*, ICPP 2010).
//!
//! *Different from this source*: the cost counts the time in which a rank is late, not all calls in
//! which the rank spent more time than the waiting rank since their last synchronization.
//!
//! *Limit*: a chain of more than [`CHAIN_MAX`] waits is cut. The waits behind the cut are charged
//! to the waiting rank at the cut.

use std::collections::BTreeMap;

use observe::NameId;

/// Length of chains of waits that are followed.
const CHAIN_MAX: u32 = 256;

const NONE: u32 = u32::MAX;

/// A rank at a line of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct DelayKey {
    pub(super) rank: u32,
    pub(super) call: NameId,
    pub(super) place: NameId,
    pub(super) region: Option<NameId>,
}

/// Waits that are charged to a call, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Cost {
    pub(super) direct: f64,
    pub(super) indirect: f64,
}

/// A wait of a rank, until its beginning has been read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Waiter {
    rank: u32,
    wait: u32,
}

/// A rank in the forest of waits. The ranks that wait for this rank are below it.
#[derive(Clone, Copy, Debug)]
struct WaitingRank {
    /// The rank for which this rank waits.
    above: u32,
    /// Number of ranks directly below this rank.
    below: u32,
    /// Number of all ranks below this rank.
    all_below: u32,
    /// Upper bound of the length of the longest chain below this rank.
    height: u32,
    /// Number of the present wait of this rank.
    wait: u32,
    /// True if `above` does not change any more.
    is_fixed: bool,
    /// True if the ranks below this rank do not count above it.
    is_cut: bool,
    /// The time from which on costs are charged, in seconds.
    since: f64,
    /// Costs that are not yet charged to a call.
    open: Cost,
}

const FRESH: WaitingRank = WaitingRank {
    above: NONE,
    below: 0,
    all_below: 0,
    height: 0,
    wait: 0,
    is_fixed: false,
    is_cut: false,
    since: 0.0,
    open: Cost {
        direct: 0.0,
        indirect: 0.0,
    },
};

impl WaitingRank {
    /// Charges the time since the last change. Time runs backwards.
    fn settle_waits(&mut self, time: f64) {
        let seconds = (self.since - time).max(0.0);
        self.since = time;
        let (direct, indirect) = (self.below, self.all_below - self.below);
        if self.above == NONE {
            self.open.direct += f64::from(direct) * seconds;
        }
        if self.above == NONE || self.is_cut {
            self.open.indirect += f64::from(indirect) * seconds;
        }
    }

    const fn counted_ranks(&self) -> u32 {
        if self.is_cut { 1 } else { self.all_below + 1 }
    }
}

/// Ranks that wait for each other, and the costs so far.
#[derive(Debug)]
pub(super) struct Delays {
    nodes: Vec<WaitingRank>,
    pub(super) costs: BTreeMap<DelayKey, Cost>,
}

impl Delays {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            nodes: vec![FRESH; ranks as usize],
            costs: BTreeMap::new(),
        }
    }

    /// Returns the present wait of a rank.
    pub(super) fn waiter(&self, rank: u32) -> Waiter {
        let wait = self.nodes[rank as usize].wait;
        Waiter { rank, wait }
    }

    /// A wait has waited for `rank` until a time in seconds. `is_fixed`: and for no other before.
    pub(super) fn wait_for(&mut self, waiter: Waiter, rank: u32, time: f64, is_fixed: bool) {
        let own = self.nodes[waiter.rank as usize];
        if own.wait != waiter.wait || waiter.rank == rank || own.is_fixed {
            return;
        }
        if own.above != NONE {
            if !is_fixed {
                return;
            }
            self.leave_tree(waiter.rank, time);
        }
        let (mut top, mut length) = (rank, 1);
        while self.nodes[top as usize].above != NONE && !self.nodes[top as usize].is_cut {
            top = self.nodes[top as usize].above;
            length += 1;
            if top == waiter.rank {
                return;
            }
        }
        let own = &mut self.nodes[waiter.rank as usize];
        own.settle_waits(time);
        own.is_cut = own.height + length > CHAIN_MAX;
        own.is_fixed = is_fixed;
        own.above = rank;
        let (count, height) = (own.counted_ranks(), if own.is_cut { 0 } else { own.height });
        self.nodes[top as usize].settle_waits(time);
        self.nodes[rank as usize].below += 1;
        self.climb(rank, |node, steps| {
            node.all_below += count;
            node.height = node.height.max(height + steps);
        });
    }

    /// The beginning of a rank's wait has been read.
    pub(super) fn begin_wait(&mut self, rank: u32, time: f64) {
        self.leave_tree(rank, time);
        let own = &mut self.nodes[rank as usize];
        own.wait = own.wait.wrapping_add(1);
        own.is_fixed = false;
    }

    fn leave_tree(&mut self, rank: u32, time: f64) {
        let own = &mut self.nodes[rank as usize];
        if own.above == NONE {
            return;
        }
        own.settle_waits(time);
        let (above, count) = (own.above, own.counted_ranks());
        (own.above, own.is_cut) = (NONE, false);
        let mut top = above;
        self.climb_to(&mut top);
        self.nodes[top as usize].settle_waits(time);
        self.nodes[above as usize].below -= 1;
        self.climb(above, |node, _| {
            node.all_below -= count;
            if node.all_below == 0 {
                node.height = 0;
            }
        });
    }

    fn climb_to(&self, top: &mut u32) {
        while self.nodes[*top as usize].above != NONE && !self.nodes[*top as usize].is_cut {
            *top = self.nodes[*top as usize].above;
        }
    }

    /// Changes a node and all nodes above that count it, with the number of steps from below.
    fn climb(&mut self, mut rank: u32, change: impl Fn(&mut WaitingRank, u32)) {
        let mut steps = 1;
        loop {
            let node = &mut self.nodes[rank as usize];
            change(node, steps);
            if node.above == NONE || node.is_cut {
                return;
            }
            (rank, steps) = (node.above, steps + 1);
        }
    }

    /// Charges the waits that a rank has caused since the last charge to a call.
    pub(super) fn charge(&mut self, key: DelayKey, time: f64) {
        let own = &mut self.nodes[key.rank as usize];
        own.settle_waits(time);
        let open = std::mem::take(&mut own.open);
        if open.direct + open.indirect > 0.0 {
            let cost = self.costs.entry(key).or_default();
            cost.direct += open.direct;
            cost.indirect += open.indirect;
        }
    }
}
