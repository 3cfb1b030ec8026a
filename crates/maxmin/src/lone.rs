//! Flows that share no capacity: the own links of each flow set its rate, with any other flows
//! elsewhere.
//!
//! For every capacity the state is known: unused, one lone flow, or coupled flows. A flow with only
//! unused capacities is lone, and costs its links and one entry in a queue of dates. The flow
//! becomes coupled when another flow comes to one of its capacities, and stays coupled.

use super::dates::{DatePlace, DateQueue};
use super::uses::Use;

/// Marks a number of coupled flows.
pub(super) const COUPLED: u32 = 1 << 31;

/// Lone flows, and the users of all capacities.
#[derive(Default, Debug)]
pub(super) struct Lone {
    /// For each capacity 0, a lone flow plus one, or [`COUPLED`] and the number of coupled flows.
    pub(super) users: Vec<u32>,
    /// When lone flows end, in seconds.
    pub(super) ends: DateQueue,
    /// Flows with a rate that must be found.
    pub(super) fresh: Vec<u32>,
}

impl Lone {
    /// Adds a flow if no flow uses its capacities; returns true in this case.
    #[inline]
    pub(super) fn admit(&mut self, slot: u32, uses: &[Use]) -> bool {
        let is_used = |known: &Use| self.users[known.number as usize] != 0;
        if uses.iter().any(is_used) {
            return false;
        }
        for known in uses {
            self.users[known.number as usize] = slot + 1;
        }
        true
    }

    /// Lets a lone flow go.
    #[inline]
    pub(super) fn release_flow(&mut self, uses: &[Use]) {
        for known in uses {
            self.users[known.number as usize] = 0;
        }
    }

    /// Sets the end of a flow that has none; returns the place of the end.
    #[inline]
    pub(super) fn set_end(&mut self, slot: u32, end: f64) -> DatePlace {
        // A flow that stands still must not be the last in the queue.
        if end < f64::INFINITY {
            self.ends.insert_date(slot, end)
        } else {
            DatePlace::NONE
        }
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
