//! Choice of the next transition when several are possible.
//!
//! There are two independent axes: the choice and the [`Clock`]. In a *plain* run actors go in the
//! order in which they became runnable, without a decision. With a [`Chooser`] every transition is
//! a decision. A plain run can record its decisions as a [`Schedule`]; the replay of this schedule
//! gives the same digest.
//!
//! *Not modelled*: the place of a decision inside an actor that waits for several operations at
//! once. A plain run executes all enabled operations of such an actor within one poll; a chooser
//! decides each step. The branch of a step can therefore differ: the replay of a plain run with
//! `join!` or `select!` may take another order or stop. A schedule recorded under a chooser replays
//! exactly, with any program. (An explorer finds its own steps in the [trace](crate::TraceEvent) of
//! a plain run, for all operations of the actors.)

use std::fmt;
use std::str::FromStr;

use crate::{ActorId, Transition};

/// Behaviour of the simulated clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Time passes; a decision is among the transitions that can happen at one date.
    #[default]
    Timed,
    /// Time stands still: sleeps and computations have no effect, a matched communication is
    /// complete, no timeout expires (under a [`Stepper`](crate::Stepper) only if no other step is
    /// possible), and the digest contains no dates.
    Untimed,
}

/// One decision: the next actor, and the branch that this actor takes (0 if the actor has only one
/// branch).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Choice {
    /// The actor.
    pub actor: ActorId,
    /// The branch: a drawn value, or the position among the members of a wait-any that are ready.
    pub branch: u32,
}

/// One transition that could happen now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnabledTransition {
    /// The actor that would execute the transition.
    pub actor: ActorId,
    /// The transition.
    pub transition: Transition,
    /// The number of branches of the transition, at least 1.
    pub branches: u32,
}

/// Decides which transition happens next.
pub trait Chooser {
    /// Picks one of the `candidates`, which are never empty and in the order in which they became
    /// runnable. `None` stops the run.
    fn choose(&mut self, candidates: &[EnabledTransition]) -> Option<Choice>;
}

/// A list of decisions, printed as `actor` or `actor/branch` joined by `;`, for example
/// `1;3;1/2;2`. Many equal ones in a row are printed once with their number: `1*1000`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule(pub Vec<Choice>);

/// Number of equal decisions in a row from which on they are printed as one.
const REPEATS_MIN: usize = 32;
/// Most decisions of a schedule that is read, so that a number by mistake does not fill the memory.
const DECISIONS_MAX: usize = 1 << 24;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for equal in self.0.chunk_by(|one, next| one == next) {
            let Choice { actor, branch } = equal[0];
            let is_one = equal.len() >= REPEATS_MIN;
            for _ in 0..if is_one { 1 } else { equal.len() } {
                write!(f, "{separator}{actor}")?;
                separator = ";";
                if branch > 0 {
                    write!(f, "/{branch}")?;
                }
            }
            if is_one {
                write!(f, "*{}", equal.len())?;
            }
        }
        Ok(())
    }
}

/// A text that is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseScheduleError(String);

impl fmt::Display for ParseScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not a step of a schedule: expected ACTOR or ACTOR/BRANCH, such as 3 or 3/1, or many equal ones, such as 3*1000",
            self.0
        )
    }
}

impl std::error::Error for ParseScheduleError {}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, ParseScheduleError> {
        let mut all = Vec::new();
        for step in text.split(';').filter(|step| !step.trim().is_empty()) {
            let bad = || ParseScheduleError(step.to_owned());
            let (one, times) = step.split_once('*').unwrap_or((step, "1"));
            let (actor, branch) = one.split_once('/').unwrap_or((one, "0"));
            let number: u32 = actor.trim().parse().map_err(|_| bad())?;
            let branch = branch.trim().parse().map_err(|_| bad())?;
            let times: usize = times.trim().parse().map_err(|_| bad())?;
            if number == 0 || times == 0 || times > DECISIONS_MAX - all.len().min(DECISIONS_MAX) {
                return Err(bad());
            }
            let actor = ActorId::from_number(number);
            all.resize(all.len() + times, Choice { actor, branch });
        }
        Ok(Self(all))
    }
}

/// Follows a schedule; stops the run at the end of the schedule or at an impossible decision.
#[derive(Clone, Debug)]
pub struct Replay {
    schedule: Schedule,
    next: usize,
}

impl Replay {
    /// A chooser that takes the decisions of `schedule`, one after the other.
    #[must_use]
    pub const fn new(schedule: Schedule) -> Self {
        Self { schedule, next: 0 }
    }
}

impl Chooser for Replay {
    fn choose(&mut self, candidates: &[EnabledTransition]) -> Option<Choice> {
        let choice = *self.schedule.0.get(self.next)?;
        let possible = candidates
            .iter()
            .any(|candidate| candidate.actor == choice.actor && choice.branch < candidate.branches);
        self.next += 1;
        possible.then_some(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_reads_back_as_it_prints() {
        let text = "1;3;1/2;2";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.to_string(), text);
        assert_eq!(
            schedule.0[2],
            Choice {
                actor: ActorId::from_number(1),
                branch: 2
            }
        );
        for wrong in [
            "0",
            "1;x",
            "1/",
            "-1",
            "1*0",
            "1*",
            "1*99999999999",
            "1;1*16777216",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn many_equal_decisions_are_one() {
        let text = format!("2;1/3*{REPEATS_MIN};1/3;1");
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.0.len(), REPEATS_MIN + 3);
        assert_eq!(schedule.to_string(), format!("2;1/3*{};1", REPEATS_MIN + 1));
        let few = "3;".repeat(REPEATS_MIN - 1);
        let few: Schedule = few.parse().unwrap();
        assert!(!few.to_string().contains('*'));
    }
}
