//! Flows that share no capacity: the own links of each flow set its rate, with any other flows
//! elsewhere.
//!
//! For every capacity the state is known: unused, one lone flow, or coupled flows. A flow with only
//! unused capacities is lone, and costs its links and one entry in a heap of dates. The flow
//! becomes coupled when another flow comes to one of its capacities, and stays coupled.

use super::heap::{ABSENT, IndexedHeap};
use super::uses::Use;

/// Marks a number of coupled flows.
pub(super) const COUPLED: u32 = 1 << 31;

/// Lone flows, and the users of all capacities.
#[derive(Debug)]
pub(super) struct Lone {
    /// For each capacity 0, a lone flow plus one, or [`COUPLED`] and the number of coupled flows.
    pub(super) users: Vec<u32>,
    /// When lone flows end, in seconds.
    ends: IndexedHeap,
    positions: Vec<u32>,
    /// Flows with a rate that must be found.
    pub(super) fresh: Vec<u32>,
}

impl Lone {
    pub(super) fn new(capacities: usize) -> Self {
        Self {
            users: vec![0; capacities],
            ends: IndexedHeap::default(),
            positions: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Adds a flow if no flow uses its capacities; returns true in this case.
    pub(super) fn admit(&mut self, slot: u32, uses: &[Use]) -> bool {
        let is_used = |known: &Use| self.users[known.number as usize] != 0;
        if uses.iter().any(is_used) {
            return false;
        }
        for known in uses {
            self.users[known.number as usize] = slot + 1;
        }
        let count = slot as usize + 1;
        if self.positions.len() < count {
            self.positions.resize(count, ABSENT);
        }
        true
    }

    /// Lets a lone flow go.
    pub(super) fn release_flow(&mut self, slot: u32, uses: &[Use]) {
        for known in uses {
            self.users[known.number as usize] = 0;
        }
        self.forget_end(slot);
    }

    pub(super) fn set_end(&mut self, slot: u32, end: f64) {
        self.ends.set(slot, end, &mut self.positions);
    }

    pub(super) fn forget_end(&mut self, slot: u32) {
        self.ends.remove(slot, &mut self.positions);
    }

    /// The first end in seconds, infinite if there is none.
    pub(super) fn next_s(&self) -> f64 {
        self.ends.first().map_or(f64::INFINITY, |(end, _)| end)
    }

    /// Takes the first flow that ends up to `last`.
    pub(super) fn pop_until(&mut self, last: f64) -> Option<u32> {
        let (end, slot) = self.ends.first()?;
        (end <= last).then(|| {
            self.forget_end(slot);
            slot
        })
    }

    /// The lone flow on a capacity.
    pub(super) fn lone_flow(&self, number: u32) -> Option<u32> {
        let users = self.users[number as usize];
        (users & COUPLED == 0).then(|| users.checked_sub(1))?
    }

    /// Returns the number of flows that share a capacity.
    pub(super) fn count_users(&self, number: u32) -> u32 {
        let users = self.users[number as usize];
        if users & COUPLED == 0 {
            users.min(1)
        } else {
            users & !COUPLED
        }
    }

    /// Notes that a flow, lone or not here before, is coupled from now on.
    pub(super) fn couple(&mut self, uses: &[Use]) {
        for known in uses {
            let users = &mut self.users[known.number as usize];
            *users = match *users & COUPLED {
                0 => COUPLED | 1,
                _ => *users + 1,
            };
        }
    }

    /// Notes that a coupled flow leaves.
    pub(super) fn uncouple(&mut self, uses: &[Use]) {
        for known in uses {
            let users = &mut self.users[known.number as usize];
            *users -= 1;
            if *users == COUPLED {
                *users = 0;
            }
        }
    }
}
