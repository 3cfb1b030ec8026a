//! Who uses which capacity at the moment, and which part of the sharing a change can affect.
//!
//! A capacity (a direction of a link, the cores of a host) is known by a dense number. Only capacities in use have an
//! entry with a list of users; the table from numbers to entries is zeroed memory that the system does not even
//! provide until it is touched. So idle hosts and links cost nothing.
//!
//! A change marks the capacities of the changed activity. [`Usage::component`] collects everything connected to a mark
//! over shared capacities: nothing else can change its rate.

use crate::solver::Problem;

/// An activity's use of one capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The number of the capacity.
    pub(crate) number: u32,
    /// The entry of the capacity while the activity uses it.
    entry: u32,
    /// Where the activity stands among the users.
    position: u32,
    /// Flop/s or bytes/s.
    capacity: f64,
    /// How much of the capacity a unit of the rate takes.
    pub(crate) coefficient: f64,
}

/// What sharing needs to know of an activity.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) uses: Vec<Use>,
    pub(crate) weight: f64,
    pub(crate) bound: f64,
    visited: u64,
}

/// A capacity in use.
#[derive(Clone, Default, Debug)]
struct Entry {
    capacity: f64,
    users: Vec<User>,
    marked: bool,
    visited: u64,
    /// The position in the problem of the visit.
    local: u32,
}

/// An activity that uses a capacity: its slot, and which of its uses this is.
#[derive(Clone, Copy, Debug)]
struct User {
    slot: u32,
    at: u32,
}

/// All capacities in use.
#[derive(Debug)]
pub(crate) struct Usage {
    /// The entry of each capacity plus one; 0 while it is idle.
    entry_of: Vec<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Entries whose users changed.
    marks: Vec<u32>,
    visit: u64,
    frontier: Vec<u32>,
}

/// What a marked capacity is connected with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Component {
    /// One activity alone on all its capacities, and its rate.
    Alone(u32, f64),
    /// The activities in the list and the problem that was filled.
    Shared,
}

impl Share {
    /// Nothing is used.
    pub(crate) const NONE: Self = Self {
        uses: Vec::new(),
        weight: 1.0,
        bound: f64::INFINITY,
        visited: 0,
    };
}

impl Use {
    pub(crate) const fn new(number: u32, capacity: f64, coefficient: f64) -> Self {
        Self {
            number,
            entry: 0,
            position: 0,
            capacity,
            coefficient,
        }
    }

    /// Flop/s or bytes/s.
    #[cfg(test)]
    pub(crate) const fn capacity(&self) -> f64 {
        self.capacity
    }
}

/// The shares of all activities, by slot.
pub(crate) trait Shares {
    fn share(&self, slot: u32) -> &Share;
    fn share_mut(&mut self, slot: u32) -> &mut Share;
}

impl Usage {
    /// No use of any of `capacities`.
    pub(crate) fn new(capacities: usize) -> Self {
        Self {
            entry_of: vec![0; capacities],
            entries: Vec::new(),
            free: Vec::new(),
            marks: Vec::new(),
            visit: 0,
            frontier: Vec::new(),
        }
    }

    /// Lets the activity in `slot` use its capacities, and marks them.
    pub(crate) fn enter(&mut self, slot: u32, share: &mut Share) {
        for (used, at) in share.uses.iter_mut().zip(0_u32..) {
            used.entry = self.entry(used.number, used.capacity);
            let entry = &mut self.entries[used.entry as usize];
            used.position = length(&entry.users);
            entry.users.push(User { slot, at });
            mark(&mut self.marks, entry, used.entry);
        }
    }

    /// Ends the use of its capacities by the activity in `slot`, and marks them.
    pub(crate) fn leave(&mut self, slot: u32, shares: &mut impl Shares) {
        for at in 0..shares.share(slot).uses.len() {
            let used = shares.share(slot).uses[at];
            let entry = &mut self.entries[used.entry as usize];
            entry.users.swap_remove(used.position as usize);
            if let Some(moved) = entry.users.get(used.position as usize) {
                shares.share_mut(moved.slot).uses[moved.at as usize].position = used.position;
            }
            if entry.users.is_empty() {
                self.entry_of[used.number as usize] = 0;
                self.free.push(used.entry);
            } else {
                mark(&mut self.marks, entry, used.entry);
            }
        }
    }

    /// Marks the capacities of an activity whose weight or bound changed.
    pub(crate) fn touch(&mut self, share: &Share) {
        for used in &share.uses {
            mark(
                &mut self.marks,
                &mut self.entries[used.entry as usize],
                used.entry,
            );
        }
    }

    /// Whether anything changed since the last solve.
    pub(crate) fn is_marked(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Begins a solve: components found from now on do not overlap.
    pub(crate) fn begin_solve(&mut self) {
        self.visit += 1;
    }

    /// The next component with a mark: its activities in `members`, its sharing in `problem`.
    pub(crate) fn component(
        &mut self,
        shares: &mut impl Shares,
        members: &mut Vec<u32>,
        problem: &mut Problem,
    ) -> Option<Component> {
        let start = loop {
            let start = self.marks.pop()?;
            let entry = &mut self.entries[start as usize];
            entry.marked = false;
            if !entry.users.is_empty() && entry.visited != self.visit {
                break start;
            }
        };
        if let Some(alone) = self.alone(start, shares) {
            return Some(alone);
        }
        members.clear();
        problem.clear();
        self.reach(start, problem);
        while let Some(entry) = self.frontier.pop() {
            for at in 0..self.entries[entry as usize].users.len() {
                let user = self.entries[entry as usize].users[at];
                let share = shares.share_mut(user.slot);
                if share.visited == self.visit {
                    continue;
                }
                share.visited = self.visit;
                members.push(user.slot);
                for used in &share.uses {
                    self.reach(used.entry, problem);
                    problem.uses.push(self.entries[used.entry as usize].local);
                    problem.coefficients.push(used.coefficient);
                }
                problem.finish_flow(share.weight, share.bound);
            }
        }
        Some(Component::Shared)
    }

    /// The usual case: one activity, alone on all its capacities.
    fn alone(&mut self, start: u32, shares: &impl Shares) -> Option<Component> {
        let [user] = self.entries[start as usize].users[..] else {
            return None;
        };
        let share = shares.share(user.slot);
        let mut rate = share.bound;
        for used in &share.uses {
            if self.entries[used.entry as usize].users.len() > 1 {
                return None;
            }
            rate = rate.min(used.capacity / used.coefficient);
        }
        for used in &share.uses {
            self.entries[used.entry as usize].visited = self.visit;
        }
        Some(Component::Alone(user.slot, rate))
    }

    fn reach(&mut self, number: u32, problem: &mut Problem) {
        let entry = &mut self.entries[number as usize];
        if entry.visited != self.visit {
            entry.visited = self.visit;
            entry.local = length(&problem.capacities);
            problem.capacities.push(entry.capacity);
            self.frontier.push(number);
        }
    }

    /// The entry of a capacity, which may have been idle until now.
    fn entry(&mut self, number: u32, capacity: f64) -> u32 {
        if let Some(entry) = self.entry_of[number as usize].checked_sub(1) {
            return entry;
        }
        let position = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            length(&self.entries) - 1
        });
        let entry = &mut self.entries[position as usize];
        entry.capacity = capacity;
        self.entry_of[number as usize] = position + 1;
        position
    }
}

fn mark(marks: &mut Vec<u32>, entry: &mut Entry, position: u32) {
    if !entry.marked {
        entry.marked = true;
        marks.push(position);
    }
}

fn length<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("fewer than 2^32 uses of capacities")
}
