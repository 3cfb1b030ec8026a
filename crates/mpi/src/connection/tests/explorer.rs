//! Breadth-first search over all interleavings of a world.
//!
//! In every state the invariants of [`World::invariant`] hold. A state without choices is an end,
//! and there [`World::at_the_end`] holds. An end can be reached from every state, so no execution
//! runs in circles for ever. The first violation comes with a shortest path.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash as _;

use testing::fingerprint::hash_parts;

use super::super::TakenRow;
use super::world::{Choice, World};

/// Result of a search.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) states: usize,
    pub(super) ends: usize,
    pub(super) end_states: BTreeSet<(u64, u64)>,
    /// There are more states than were allowed.
    pub(super) is_cut: bool,
    /// The rows that were taken.
    pub(super) steps: BTreeSet<TakenRow>,
    /// First violation, and the choices that lead to it.
    pub(super) violation: Option<(String, Vec<Choice>)>,
}

impl Report {
    #[track_caller]
    pub(super) fn assert_right(&self, what: &str) {
        if let Some((violation, path)) = &self.violation {
            panic!("{what}: {violation}, by {path:#?}");
        }
        assert!(!self.is_cut, "{what}: too many states");
    }
}

pub(super) fn fingerprint(world: &World) -> (u64, u64) {
    hash_parts(|hasher| world.hash(hasher))
}

#[derive(Default)]
struct Search {
    numbers: BTreeMap<(u64, u64), usize>,
    /// For each state the state from which the search first reached it, and the choice.
    parents: Vec<Option<(usize, Choice)>>,
    /// For each state the states that lead to this state in one step.
    before: Vec<Vec<usize>>,
}

impl Search {
    /// Returns the number of a state, and true if the state is new.
    fn number(&mut self, world: &World, parent: Option<(usize, Choice)>) -> (usize, bool) {
        let next = self.parents.len();
        let number = *self.numbers.entry(fingerprint(world)).or_insert(next);
        if number == next {
            self.parents.push(parent);
            self.before.push(Vec::new());
        }
        (number, number == next)
    }

    fn path(&self, mut state: usize) -> Vec<Choice> {
        let mut path = Vec::new();
        while let Some((parent, choice)) = self.parents[state] {
            path.push(choice);
            state = parent;
        }
        path.reverse();
        path
    }

    /// A state from which none of the ends can be reached.
    fn stuck(&self, ends: &[usize]) -> Option<usize> {
        let mut reaches = vec![false; self.before.len()];
        let mut todo = ends.to_vec();
        while let Some(state) = todo.pop() {
            if !std::mem::replace(&mut reaches[state], true) {
                todo.extend(&self.before[state]);
            }
        }
        reaches.iter().position(|reaches| !reaches)
    }
}

/// Explores everything that can happen, up to `states_max` states.
pub(super) fn explore(world: World, states_max: usize) -> Report {
    let mut search = Search::default();
    let mut report = Report::default();
    let mut ends = Vec::new();
    search.number(&world, None);
    let mut queue = VecDeque::from([(0, world)]);
    while let Some((number, world)) = queue.pop_front() {
        let choices = world.choices();
        let mut violation = world.invariant();
        if choices.is_empty() {
            ends.push(number);
            report.end_states.insert(fingerprint(&world));
            violation = violation.or_else(|| world.at_the_end());
        }
        if let Some(violation) = violation {
            report.violation = Some((violation, search.path(number)));
            break;
        }
        for choice in choices {
            let mut next = world.clone();
            next.take(choice);
            for process in &mut next.processes {
                report.steps.extend(process.connector.outputs.take_steps());
            }
            let (reached, is_new) = search.number(&next, Some((number, choice)));
            search.before[reached].push(number);
            if is_new {
                queue.push_back((reached, next));
            }
        }
        if search.parents.len() > states_max {
            report.is_cut = true;
            return report;
        }
    }
    report.states = search.parents.len();
    report.ends = ends.len();
    if report.violation.is_none()
        && let Some(state) = search.stuck(&ends)
    {
        report.violation = Some(("no end can be reached".to_owned(), search.path(state)));
    }
    report
}

/// Takes one random path through a world. Returns the world at the end, or the violation.
pub(super) fn walk(mut world: World, mut seed: u64) -> Result<World, String> {
    loop {
        if let Some(violation) = world.invariant() {
            return Err(violation);
        }
        let choices = world.choices();
        if choices.is_empty() {
            return world.at_the_end().map_or(Ok(world), Err);
        }
        seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let pick = (seed >> 33) as usize % choices.len();
        world.take(choices[pick]);
        for process in &mut world.processes {
            process.connector.outputs.take_steps();
        }
    }
}
