//! One run, step by step, under the control of the caller: for a timeline, or a test of the
//! dependency relation.

use sim_core::Stepper;

use crate::independence::{Lists, dependent};
use crate::machine::Machine;
use crate::{Event, Halt, Path, TraceId};

/// A program and one run of the program.
#[derive(Debug)]
pub struct Player {
    machine: Machine,
    path: Path,
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Played {
    /// The step was taken.
    Event(Event),
    /// The step is not possible.
    Impossible,
    /// The step was taken and changed the dependency relation: earlier events may differ when they
    /// are played again.
    Learnt,
}

impl Player {
    /// Creates a player at the beginning of a run.
    pub fn new(stepper: Stepper) -> Self {
        Self {
            machine: Machine::new(stepper),
            path: Path::default(),
        }
    }

    /// Begins the run anew.
    pub fn restart(&mut self) {
        self.machine.restart();
        self.path.clear();
    }

    /// Takes the step `choice` of an actor.
    pub fn take_step(&mut self, actor: u16, choice: u32) -> Played {
        match self.machine.execute_step(actor, choice) {
            Ok(Some(step)) => {
                self.path
                    .push(&step, &self.machine.causes, &self.machine.lists);
                Played::Event(step.event)
            }
            Ok(None) => Played::Impossible,
            Err(Halt::Again) => Played::Learnt,
            Err(other) => unreachable!("a step cannot end in {other:?}"),
        }
    }

    /// Returns the enabled steps, by actor. Their further effects are not known before they are
    /// taken.
    ///
    /// # Panics
    /// If there are more than 2^16 actors.
    pub fn enabled_steps(&mut self) -> Vec<Event> {
        let mut enabled_steps = Vec::new();
        let mut actor = self.machine.stepper.next_able(0);
        while let Some(able) = actor {
            let number = u16::try_from(able).expect("a run has at most 2^16 actors");
            self.machine.enabled_steps(number, &mut enabled_steps);
            actor = self.machine.stepper.next_able(able + 1);
        }
        enabled_steps
    }

    /// Gives the program back.
    pub fn into_stepper(self) -> Stepper {
        self.machine.stepper
    }

    /// The run so far.
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// The program.
    pub const fn stepper(&self) -> &Stepper {
        &self.machine.stepper
    }

    /// The lists of communications that events name by number.
    pub const fn lists(&self) -> &Lists {
        &self.machine.lists
    }

    /// Returns true if two events depend on each other.
    pub fn depend(&self, first: &Event, second: &Event) -> bool {
        dependent(first, second, &self.machine.lists)
    }

    /// A fingerprint of the state: the steps and answers of each actor, and all objects.
    pub fn state_fingerprint(&self) -> (TraceId, u64) {
        let objects = self.machine.stepper.object_digest().value();
        (self.path.histories(), objects)
    }
}
