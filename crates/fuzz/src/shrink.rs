//! Shrinking of a program that fails, by its string of choices.
//!
//! MacIver and Donaldson, *Test-Case Reduction via Test-Case Generation* (ECOOP 2020). Candidates
//! are strings without one element, and strings with another number in one place. A candidate is
//! taken if its program fails and is smaller: fewer operations, then fewer choices, then smaller
//! choices. The search ends after a pass in which no candidate is taken, so a shrunk program
//! shrinks no further.

use std::collections::BTreeSet;

use crate::choices::{Choices, Record, Surplus};

/// Places of faults that are tried for a candidate without an element: without the packets that are
/// gone, the old place is elsewhere. \[choice\]
const FAULT_PLACES: u64 = 16;

/// Below this limit all numbers are tried in a place. \[choice\]
const FEW: u64 = 12;

/// A program, and its choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated<P> {
    /// The program.
    pub program: P,
    /// The choices.
    pub choices: Vec<u64>,
}

/// A generator: returns the program of choices, unless no program has them.
pub(crate) type Generator<'a, P> = &'a dyn Fn(&mut Choices<'_>) -> Option<P>;

/// The search for a smaller program.
pub(crate) struct Search<'a, P> {
    pub(crate) generate: Generator<'a, P>,
    /// Returns the number of operations of a program.
    pub(crate) operations: fn(&P) -> usize,
    /// Returns true if a program fails as the original does.
    pub(crate) fails: &'a mut dyn FnMut(&P) -> bool,
    /// The most calls of `fails`.
    pub(crate) budget: u32,
}

/// The smallest program found, and the earlier programs.
struct Smallest<P> {
    program: P,
    record: Record,
    /// Choices of programs that do not fail.
    passing: BTreeSet<Vec<u64>>,
    runs: u32,
}

impl<P: Clone> Search<'_, P> {
    /// Returns the smallest program found, and the number of runs.
    pub(crate) fn shrink(&mut self, original: &Generated<P>) -> (Generated<P>, u32) {
        let Some((program, record)) = self.candidate(original.choices.clone(), Surplus::Last)
        else {
            return (original.clone(), 0);
        };
        let mut smallest = Smallest {
            program,
            record,
            passing: BTreeSet::new(),
            runs: 0,
        };
        loop {
            let before = smallest.record.values.clone();
            self.remove_elements(&mut smallest);
            self.change_numbers(&mut smallest);
            if smallest.record.values == before {
                break;
            }
        }
        let generated = Generated {
            program: smallest.program,
            choices: smallest.record.values,
        };
        (generated, smallest.runs)
    }

    fn candidate(&self, choices: Vec<u64>, surplus: Surplus) -> Option<(P, Record)> {
        let mut choices = Choices::given(choices, surplus);
        let program = (self.generate)(&mut choices)?;
        Some((program, choices.record))
    }

    /// Takes the program of choices if it is smaller and fails, at one of several places of faults.
    fn take_if_smaller(
        &mut self,
        smallest: &mut Smallest<P>,
        (mut choices, surplus): (Vec<u64>, Surplus),
        fault_places: u64,
    ) -> bool {
        for _ in 0..fault_places {
            let Some((program, mut record)) = self.candidate(choices, surplus) else {
                return false;
            };
            let size = |program, record: &Record| {
                (
                    (self.operations)(program),
                    record.values.len(),
                    record.values.clone(),
                )
            };
            let is_smaller = size(&program, &record) < size(&smallest.program, &smallest.record);
            if !is_smaller || smallest.runs == self.budget {
                return false;
            }
            if !smallest.passing.contains(&record.values) {
                smallest.runs += 1;
                if (self.fails)(&program) {
                    (smallest.program, smallest.record) = (program, record);
                    return true;
                }
                smallest.passing.insert(record.values.clone());
            }
            if !record.move_faults() {
                return false;
            }
            choices = record.values;
        }
        false
    }

    fn remove_elements(&mut self, smallest: &mut Smallest<P>) {
        let mut at = 0;
        while let Some(choices) = smallest.record.without_element(at) {
            let is_taken =
                self.take_if_smaller(smallest, (choices.clone(), Surplus::Last), FAULT_PLACES)
                    || self.take_if_smaller(smallest, (choices, Surplus::First), FAULT_PLACES);
            at += usize::from(!is_taken);
        }
    }

    /// Tries other numbers in each place, from the last one on: few, or by bisection.
    fn change_numbers(&mut self, smallest: &mut Smallest<P>) {
        for at in (0..smallest.record.values.len()).rev() {
            match smallest.record.limits.get(at).copied() {
                Some(limit) if limit <= FEW => {
                    for number in 0..limit {
                        self.takes_number(smallest, at, number);
                    }
                }
                Some(_) if !self.takes_number(smallest, at, 0) => {
                    let (mut passes, mut fails) = (0, smallest.record.values[at]);
                    while passes + 1 < fails {
                        let middle = passes + (fails - passes) / 2;
                        if self.takes_number(smallest, at, middle) {
                            fails = middle;
                        } else {
                            passes = middle;
                        }
                    }
                }
                // Zero, or a place of a longer string before.
                _ => {}
            }
        }
    }

    fn takes_number(&mut self, smallest: &mut Smallest<P>, at: usize, number: u64) -> bool {
        let mut choices = smallest.record.values.clone();
        match choices.get_mut(at) {
            Some(old) if *old != number => {
                *old = number;
                self.take_if_smaller(smallest, (choices, Surplus::Last), 1)
            }
            _ => false,
        }
    }
}
