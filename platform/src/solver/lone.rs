//! Flows that share nothing with anybody: each has the rate that its own links allow, whatever happens elsewhere.
//!
//! For every capacity is known whether nobody uses it, one lone flow, or flows that are coupled. A flow that finds all its
//! capacities unused is lone, and costs its links and one entry in a heap of dates. It becomes coupled when another
//! flow comes to one of its capacities, and stays so.

use sim_core::Time;

use super::heap::{ABSENT, Heap};
#[cfg(test)]
use super::state::index;
use super::uses::Use;

/// Lone flows, and who uses which capacity.
#[derive(Debug)]
pub(super) struct Lone {
    /// For each capacity: 0, a lone flow plus one, or [`COUPLED`] and the number of coupled flows.
    users: Vec<u32>,
    /// When lone flows end, in seconds.
    ends: Heap,
    positions: Vec<u32>,
    /// Flows whose rate has to be found.
    pub(super) fresh: Vec<u32>,
}

const COUPLED: u32 = 1 << 31;

impl Lone {
    pub(super) fn new(capacities: usize) -> Self {
        Self {
            users: vec![0; capacities],
            ends: Heap::default(),
            positions: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Takes a flow in if nobody uses its capacities; tells whether that is so.
    pub(super) fn admit(&mut self, slot: u32, uses: &[Use]) -> bool {
        let users = &mut self.users;
        if uses.iter().any(|known| users[known.number as usize] != 0) {
            return false;
        }
        for known in uses {
            users[known.number as usize] = slot + 1;
        }
        let count = slot as usize + 1;
        if self.positions.len() < count {
            self.positions.resize(count, ABSENT);
        }
        self.fresh.push(slot);
        true
    }

    /// The lone flow on a capacity.
    pub(super) fn on(&self, number: u32) -> Option<u32> {
        let user = self.users[number as usize];
        (user & COUPLED == 0).then(|| user.checked_sub(1))?
    }

    /// How many flows share a capacity.
    pub(super) fn count(&self, number: u32) -> u32 {
        match self.users[number as usize] {
            0 => 0,
            user if user & COUPLED == 0 => 1,
            user => user & !COUPLED,
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

    /// Lets a lone flow go.
    pub(super) fn release(&mut self, slot: u32, uses: &[Use]) {
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

    /// The first end, in seconds.
    pub(super) fn next(&self) -> Option<f64> {
        self.ends.first().map(|(end, _)| end)
    }

    /// Takes the first flow that ends up to `last`.
    pub(super) fn pop_until(&mut self, last: Time) -> Option<u32> {
        let (end, slot) = self.ends.first()?;
        (end <= last.as_secs()).then(|| {
            self.forget_end(slot);
            slot
        })
    }

    /// Asserts that the users of all capacities are those of `coupled` and `lone`.
    #[cfg(test)]
    pub(super) fn check<'a>(
        &self,
        coupled: impl Iterator<Item = &'a Use>,
        lone: impl Iterator<Item = (u32, &'a Use)>,
    ) {
        let mut users = vec![0; self.users.len()];
        for known in coupled {
            let user = &mut users[known.number as usize];
            *user = (*user | COUPLED) + 1;
        }
        for (slot, known) in lone {
            assert_eq!(users[known.number as usize], 0, "a lone flow is alone");
            users[known.number as usize] = index(slot as usize) + 1;
        }
        assert_eq!(users, self.users);
    }
}
