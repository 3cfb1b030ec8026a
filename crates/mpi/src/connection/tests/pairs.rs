//! Search over the interleavings of a world in which steps of different pairs of processes commute:
//! one pair continues at a time.
//!
//! The steps commute while no process takes a step of its program, ends, or is lost, and no
//! resource is limited: then two virtual connections of a process share no state. The search checks
//! this: in each visited state, any two choices of different pairs are taken in both orders, and
//! must lead to the same world.
//!
//! Numbers of sockets are given in the order of their use. So before worlds are compared, sockets
//! are renumbered by the processes that opened them.

use std::collections::{BTreeMap, BTreeSet};

use super::explorer::{Report, fingerprint};
use super::world::{Choice, World};

/// Explores the interleavings of a world, up to `states_max` states.
pub(super) fn explore(world: World, states_max: usize) -> Report {
    let mut report = Report::default();
    let mut seen = BTreeSet::from([fingerprint(&world.renumbered())]);
    let mut todo = vec![(world, Vec::new())];
    while let Some((world, path)) = todo.pop() {
        let choices = world.choices();
        let mut violation = world.invariant();
        if choices.is_empty() {
            report.ends += 1;
            let end = fingerprint(&world.renumbered());
            report.end_states.insert(end);
            violation = violation.or_else(|| world.at_the_end());
        }
        let mut pairs: BTreeMap<[usize; 2], Vec<Choice>> = BTreeMap::new();
        for choice in choices {
            pairs.entry(world.pair(choice)).or_default().push(choice);
        }
        violation = violation.or_else(|| conflict(&world, &pairs));
        if let Some(violation) = violation {
            report.violation = Some((violation, path));
            break;
        }
        let first = pairs.into_values().next();
        for choice in first.into_iter().flatten() {
            let next = after(&world, &[choice]);
            if seen.insert(fingerprint(&next.renumbered())) {
                let mut path = path.clone();
                path.push(choice);
                todo.push((next, path));
            }
        }
        report.states = seen.len();
        if seen.len() > states_max {
            report.is_cut = true;
            break;
        }
    }
    report
}

fn after(world: &World, choices: &[Choice]) -> World {
    let mut world = world.clone();
    for &choice in choices {
        world.take(choice);
        for process in &mut world.processes {
            process.connector.outputs.take_steps();
        }
    }
    world
}

/// Returns a report of two choices of different pairs that do not commute, if any.
fn conflict(world: &World, pairs: &BTreeMap<[usize; 2], Vec<Choice>>) -> Option<String> {
    for (pair, some) in pairs {
        for (other, others) in pairs.range(*pair..).skip(1) {
            for (&one, &two) in some
                .iter()
                .flat_map(|one| others.iter().map(move |two| (one, two)))
            {
                let there = fingerprint(&after(world, &[one, two]).renumbered());
                let back = fingerprint(&after(world, &[two, one]).renumbered());
                if there != back {
                    return Some(format!(
                        "{one:?} of {pair:?} and {two:?} of {other:?} do not commute"
                    ));
                }
            }
        }
    }
    None
}
