//! Actor programs: the operations of each actor, and rules of the exploration.
//!
//! *Not decided here*: the meaning of an operation; the interpreter decides the meaning.

use serde::{Deserialize, Serialize};
use sim_core::{Stepper, Stream};

use super::interpreter::start;
use super::operations::{Family, Op};
use super::wire::two_hosts;
use crate::FuzzProgram;
use crate::choices::Choices;

/// Operations of each actor.
pub type Program = Vec<Vec<Op>>;

/// Returns the program of a family with this number.
pub fn program(family: Family, number: u64) -> Program {
    let mut stream = Stream::new(number, &format!("{family:?}"));
    draw_family_program(family, &mut Choices::from_stream(&mut stream))
}

/// Draws a program of a family.
fn draw_family_program(family: Family, choices: &mut Choices<'_>) -> Program {
    let ops = family.ops();
    let count = 2 + choices.draw_below(3);
    let mut actors = Vec::new();
    for _ in 0..count {
        let Some(actor) = choices.enter() else {
            continue;
        };
        let length = match (count, family) {
            // Many operations of this family do nothing, and are left out.
            (_, Family::OneMutex) => 4 + choices.draw_below(5),
            (4, _) => 2 + choices.draw_below(3),
            _ => 2 + choices.draw_below(5),
        };
        let mut drawn = Vec::new();
        for _ in 0..length {
            if let Some(element) = choices.enter() {
                drawn.push(choices.pick(&ops));
                choices.leave_element(element);
            }
        }
        actors.push(drawn);
        choices.leave_element(actor);
    }
    actors
}

/// Returns the program for the model checker, with the rules of [`ActorProgram::from_actors`].
pub fn stepper(program: &Program) -> Stepper {
    ActorProgram::from_actors(program.clone()).stepper()
}

/// An actor program with the rules of the exploration.
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
    /// Returns a program with rules that the lengths determine: transfers are instant in a third of
    /// the programs, and timeouts are late in a quarter of the programs.
    pub fn from_actors(actors: Program) -> Self {
        let operations: usize = actors.iter().map(Vec::len).sum();
        Self {
            version: Self::VERSION,
            instant_transfers: operations.is_multiple_of(3),
            timeouts: actors.len() != 3 || actors[0].len().is_multiple_of(2),
            actors,
        }
    }

    /// Draws a program of any family. A program that becomes shorter keeps its rules.
    pub(super) fn draw_program(choices: &mut Choices<'_>) -> Self {
        let family = choices.pick(&Family::ALL);
        let program = Self::from_actors(draw_family_program(family, choices));
        let mut rule = |rule: bool| choices.fixed(rule.into(), 2) == 1;
        Self {
            instant_transfers: rule(program.instant_transfers),
            timeouts: rule(program.timeouts),
            ..program
        }
    }

    /// Returns the program for the model checker.
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
}

impl FuzzProgram for ActorProgram {
    const VERSION: u32 = 1;

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
}
