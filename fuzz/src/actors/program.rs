//! Actor programs: the operations of each actor, and rules of the exploration.
//!
//! *Not decided here*: the meaning of an operation; the interpreter has it.

use serde::{Deserialize, Serialize};
use sim_core::{Stepper, Stream};

use super::interpreter::start;
use super::operations::{Family, Op};
use super::wire::two_hosts;
use crate::FuzzProgram;

/// Operations of each actor.
pub type Program = Vec<Vec<Op>>;

/// Returns the program of a family with this number.
pub fn program(family: Family, number: u64) -> Program {
    draw(family, &mut Stream::new(number, &format!("{family:?}")))
}

/// Draws a program of a family.
pub(super) fn draw(family: Family, stream: &mut Stream) -> Program {
    let ops = family.ops();
    let actors = 2 + stream.below(3);
    (0..actors)
        .map(|_| {
            let length = match (actors, family) {
                // Many operations of this family do nothing, and are left out.
                (_, Family::OneMutex) => 4 + stream.below(5),
                (4, _) => 2 + stream.below(3),
                _ => 2 + stream.below(5),
            };
            (0..length)
                .map(|_| ops[usize::try_from(stream.below(ops.len() as u64)).expect("few")])
                .collect()
        })
        .collect()
}

/// Returns the program as the model checker explores it, with the rules of [`ActorProgram::of`].
pub fn stepper(program: &Program) -> Stepper {
    ActorProgram::of(program.clone()).stepper()
}

/// An actor program with the rules of its exploration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorProgram {
    /// Version of the format.
    pub version: u32,
    /// True if a transfer ends when it begins, as in the formal model.
    pub instant_transfers: bool,
    /// True if the time of a wait may be up at any moment; otherwise only when no other step is
    /// possible.
    pub timeouts: bool,
    /// Operations of each actor.
    pub actors: Program,
}

impl ActorProgram {
    /// Returns a program whose rules are chosen by its lengths: transfers are instant in a third of
    /// the programs, and timeouts are late in a quarter.
    pub fn of(actors: Program) -> Self {
        let operations: usize = actors.iter().map(Vec::len).sum();
        Self {
            version: Self::VERSION,
            instant_transfers: operations.is_multiple_of(3),
            timeouts: actors.len() != 3 || actors[0].len().is_multiple_of(2),
            actors,
        }
    }

    /// Returns the program as the model checker explores it.
    ///
    /// # Panics
    /// Never: the hosts and the link that may fail exist.
    pub fn stepper(&self) -> Stepper {
        let moved = self.actors.clone();
        let mut stepper = Stepper::new(two_hosts, move |simulation| start(simulation, &moved));
        if self.actors.iter().flatten().any(|op| *op == Op::MayFail) {
            let names = ["host-1", "wire"].map(str::to_owned);
            stepper.allow_failures(1, &names).expect("both exist");
        }
        if self.instant_transfers {
            stepper.use_instant_transfers();
        }
        if self.timeouts {
            stepper.allow_timeouts();
        }
        stepper
    }

    fn with_actors(&self, actors: Program) -> Self {
        Self {
            actors,
            ..self.clone()
        }
    }

    /// Returns the programs without one actor, the last one first. The numbers of actors in
    /// operations follow.
    fn without_actors(&self) -> Vec<Self> {
        let without = |gone: usize| {
            let mut actors = self.actors.clone();
            actors.remove(gone);
            for ops in &mut actors {
                ops.retain(|op| op.target() != Some(gone));
                for op in ops {
                    *op = op.after_removal(gone);
                }
            }
            self.with_actors(actors)
        };
        (0..self.actors.len()).rev().map(without).collect()
    }

    fn without_operations(&self) -> Vec<Self> {
        let places = self.actors.iter().enumerate();
        let places = places.flat_map(|(actor, ops)| (0..ops.len()).map(move |at| (actor, at)));
        let without = |(actor, at): (usize, usize)| {
            let mut actors = self.actors.clone();
            actors[actor].remove(at);
            self.with_actors(actors)
        };
        places.map(without).collect()
    }

    fn with_plain_rules(&self) -> Vec<Self> {
        let plain = Self {
            instant_transfers: true,
            ..self.clone()
        };
        let late = Self {
            timeouts: false,
            ..self.clone()
        };
        let changed = [plain, late].into_iter().filter(|other| other != self);
        changed.collect()
    }
}

impl FuzzProgram for ActorProgram {
    const VERSION: u32 = 1;
    const PHASES: usize = 3;

    fn operations(&self) -> usize {
        self.actors.iter().map(Vec::len).sum()
    }

    fn validate(&self) -> Result<(), String> {
        let count = self.actors.len();
        if count == 0 {
            return Err("actors = []: expected at least 1 actor".to_owned());
        }
        for (actor, ops) in self.actors.iter().enumerate() {
            for (at, op) in ops.iter().enumerate() {
                let (number, limit) = match (op.target(), op.object()) {
                    (Some(target), _) => (target, count),
                    (None, Some(object)) => (object, 2),
                    (None, None) => continue,
                };
                if number >= limit {
                    return Err(format!(
                        "actors[{actor}][{at}]: {op:?}: expected a number below {limit}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn smaller(&self, phase: usize) -> Vec<Self> {
        match phase {
            0 => self.without_actors(),
            1 => self.without_operations(),
            _ => self.with_plain_rules(),
        }
    }
}
