//! Operations that all searches have in common: take steps, go back by running the program again,
//! count, check the bounds, and show each run that is over to the observer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sim_core::{Executed, StepKind, Stepper};

use crate::clock::Stopwatch;
use crate::independence::is_global;
use crate::machine::Machine;
use crate::search::end_of_finished;
use crate::seeded::{Seeded, SeededDefect};
use crate::{
    Bound, End, Event, Halt, Observer, Options, Path, Statistics, check_determinism, spinning,
};

/// Number of steps between two looks at the clock.
const STEPS_BETWEEN_LOOKS: u64 = 4096;

/// The program, the present position of the search, and the counts.
pub(crate) struct Walk<'a> {
    pub(crate) machine: Machine,
    pub(crate) path: Path,
    /// Number of events of the path that the program has executed; `None` after steps that are not
    /// on the path.
    at: Option<usize>,
    pub(crate) options: &'a Options,
    /// Stops the walk beside the flag of the options.
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) statistics: Statistics,
    observer: &'a mut dyn Observer,
    /// True if there are choices, or steps that depend on everything. Then all races of each run
    /// are examined, because a race that was examined with another end of the run may have left out
    /// events that matter to a choice.
    pub(crate) thorough: bool,
    next_look: u64,
    watch: Stopwatch,
    /// The steps of the first run: a program that keeps state takes others later.
    first_run: Vec<Event>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        stepper: Stepper,
        options: &'a Options,
        observer: &'a mut dyn Observer,
        watch: Stopwatch,
    ) -> Self {
        let mut machine = Machine::new(stepper);
        machine.seeded = Seeded::from_options(options);
        Self {
            machine,
            path: Path::default(),
            at: Some(0),
            options,
            stop: None,
            statistics: Statistics::default(),
            observer,
            thorough: false,
            next_look: STEPS_BETWEEN_LOOKS.min(options.transitions_max),
            watch,
            first_run: Vec::new(),
        }
    }

    /// Gives the program back.
    pub(crate) fn into_stepper(self) -> Stepper {
        self.machine.stepper
    }

    /// Seconds since the beginning.
    pub(crate) fn elapsed_seconds(&self) -> f64 {
        self.watch.elapsed_seconds()
    }

    /// Begins the whole search anew.
    pub(crate) fn begin_again(&mut self) {
        self.path.clear();
        self.observer.forget();
        self.statistics.begin_again();
        self.machine.restart();
        self.at = Some(0);
    }

    /// Tells the observer that the search could continue from here another time.
    pub(crate) fn report_checkpoint(&mut self) {
        self.observer.on_checkpoint();
    }

    /// Clears the path. The program may be beyond it, after a step that discovered a fact.
    pub(crate) fn clear(&mut self) {
        self.path.clear();
        self.at = None;
    }

    /// Brings the program to the end of the path.
    pub(crate) fn reach(&mut self) -> Result<(), Halt> {
        let wanted = self.path.len();
        if self.at == Some(wanted) {
            return Ok(());
        }
        self.reach_prefix(wanted)?;
        self.at = Some(wanted);
        Ok(())
    }

    /// Brings the program to the first events of the path.
    fn reach_prefix(&mut self, length: usize) -> Result<(), Halt> {
        self.machine.restart();
        self.at = None;
        self.look_at_bounds()?;
        for position in 0..length {
            let event = self.path.events()[position];
            if !self.machine.replay(&event) {
                return Err(self.judge_difference(position, &event));
            }
        }
        Ok(())
    }

    /// The first actor from `from` on that can take a step.
    pub(crate) fn next_able(&self, from: u16) -> Option<u16> {
        let actor = self.machine.stepper.next_able(u32::from(from))?;
        Some(actor_index(actor))
    }

    /// Takes a step at the end of the path and adds the step to the path.
    pub(crate) fn take_step(&mut self, actor: u16, choice: u32) -> Result<Event, Halt> {
        let length = self.path.len();
        debug_assert_eq!(
            self.at,
            Some(length),
            "the program is at the end of the path"
        );
        let Some(step) = self.machine.execute_step(actor, choice)? else {
            return Err(Halt::Different {
                actor,
                choice,
                repeats: false,
            });
        };
        self.at = Some(length + 1);
        self.statistics.events += 1;
        let machine = &self.machine;
        self.path.push(&step, &machine.causes, &machine.lists);
        self.thorough |= self.needs_all_races(self.path.len() - 1);
        Ok(step.event)
    }

    /// Returns true if an event of the path is such that races have to be looked at after every
    /// run.
    #[inline]
    pub(crate) fn needs_all_races(&self, position: usize) -> bool {
        let event = &self.path.events()[position];
        let order_sensitivity =
            self.path.alternatives(position) > 1 || event.effects & Executed::SEVERAL != 0;
        event.effects & Executed::HIDDEN != 0
            || is_global(event.kind)
            || (order_sensitivity
                && !Seeded::from_options(self.options).has_defect(SeededDefect::ChoicesOnce))
    }

    /// Takes the last event of the path away.
    pub(crate) fn retreat(&mut self) -> Option<Event> {
        let event = self.path.pop();
        if self.at != Some(self.path.len()) {
            self.at = None;
        }
        event
    }

    /// Takes a planned step at the end of the path and adds the step to the path.
    pub(crate) fn advance_as_planned(&mut self, planned: &Event) -> Result<Event, Halt> {
        let length = self.path.len();
        match self.take_step(planned.actor, planned.choice) {
            Ok(executed) if Self::is_as_planned(planned, &executed) => Ok(executed),
            Ok(_) | Err(Halt::Different { .. }) => Err(self.judge_difference(length, planned)),
            other => other,
        }
    }

    /// Decides why the step after the first `length` events of the path is not the step of `event`.
    /// The search is the cause if the program takes these steps in the same way each time and the
    /// last step differs again.
    #[cold]
    fn judge_difference(&mut self, length: usize, event: &Event) -> Halt {
        let events = [&self.path.events()[..length], &[*event]].concat();
        let repeats = self.repeats_steps(&events) && !self.replay_all(&events);
        Halt::Different {
            actor: event.actor,
            choice: event.choice,
            repeats,
        }
    }

    /// Returns true if the program takes these steps in the same way each time, and the steps of
    /// the first run once more.
    pub(crate) fn repeats_steps(&mut self, events: &[Event]) -> bool {
        let first_run = std::mem::take(&mut self.first_run);
        check_determinism::repeats_events(&mut self.machine.stepper, events)
            && self.replay_all(&first_run)
    }

    /// Returns true if the program takes these steps.
    fn replay_all(&mut self, events: &[Event]) -> bool {
        self.at = None;
        self.machine.restart();
        events.iter().all(|event| self.machine.replay(event))
    }

    /// Decides why the path leads to a place where the search was before.
    #[cold]
    pub(crate) fn judge_second_visit(&mut self) -> Halt {
        let events = self.path.events().to_vec();
        let repeats = self.repeats_steps(&events);
        Halt::ExploredTwice { repeats }
    }

    /// The first step of the first actor that can take one, unless the run is too long already.
    pub(crate) fn first_step_within_bounds(&self) -> Option<(u16, u32)> {
        if self.is_too_deep() {
            return None;
        }
        let stepper = &self.machine.stepper;
        let mut step = stepper.first_step_that(|_| true)?;
        if self.spins(step.0) {
            let other = stepper.first_step_that(|actor| !self.spins(actor));
            step = other.unwrap_or(step);
        }
        Some((actor_index(step.0), step.1))
    }

    /// Returns true if an actor only yields and sleeps, and another actor has the turn.
    #[inline]
    pub(crate) fn spins(&self, actor: u32) -> bool {
        spinning::spins(&self.path, actor_index(actor))
    }

    /// Returns true if the path has as many events as a run may have.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.path.len() >= self.options.depth_max || self.machine.stepper.is_cut()
    }

    /// Examines a run that is over: no actor can take a step, or the run is too deep.
    pub(crate) fn end_run(&mut self) -> Result<(), Halt> {
        let end = self.run_end();
        if self.first_run.is_empty() {
            self.first_run = self.path.events().to_vec();
        }
        self.statistics.count_run(end, self.path.len());
        let view = crate::Run {
            path: &self.path,
            end,
            stepper: &self.machine.stepper,
        };
        if end == End::Covered {
            self.observer.note_covered(&view);
        } else if self.observer.examine_run(&view).is_break() {
            return Err(Halt::Stopped);
        }
        if self.statistics.count_runs() >= self.options.executions_max {
            return Err(Halt::Bound(Bound::Executions));
        }
        self.look_at_bounds()
    }

    /// Returns the end of the run, when no step is enabled or the run is cut.
    pub(crate) fn run_end(&self) -> End {
        let stepper = &self.machine.stepper;
        if !stepper.failures().is_empty() {
            return End::Failed;
        }
        if stepper.is_cut() {
            return End::TooDeep;
        }
        let is_cut = stepper.next_able(0).is_some();
        if !is_cut && stepper.is_covered() {
            return End::Covered;
        }
        if is_cut || !stepper.is_finished() {
            let spinners = spinning::spinners(stepper, self.path.events());
            if !spinners.is_empty() {
                return End::Spinning;
            }
        }
        if is_cut {
            return End::TooDeep;
        }
        if stepper.is_finished() {
            return end_of_finished(stepper);
        }
        if (0..stepper.actors()).any(|actor| stepper.is_polling(actor)) {
            return End::Livelock;
        }
        End::Deadlock
    }

    fn look_at_bounds(&mut self) -> Result<(), Halt> {
        self.statistics.transitions = self.machine.transitions;
        if self.machine.transitions >= self.options.transitions_max {
            return Err(Halt::Bound(Bound::Transitions));
        }
        if self.machine.transitions < self.next_look {
            // Steps that copy large messages are slow: a time limit is looked at in each run.
            return match self.options.seconds_max.is_finite() {
                true => self.look_at_clock(),
                false => Ok(()),
            };
        }
        self.next_look = self.machine.transitions + STEPS_BETWEEN_LOOKS;
        if let Some(progress) = &self.options.progress {
            progress.update_counts(self.statistics.executions, self.machine.transitions);
        }
        self.look_at_clock()
    }

    /// Returns an error if the time limit is reached or the search is to stop.
    pub(crate) fn look_at_clock(&self) -> Result<(), Halt> {
        if self.elapsed_seconds() > self.options.seconds_max {
            return Err(Halt::Bound(Bound::Time));
        }
        match self.is_interrupted() {
            true => Err(Halt::Bound(Bound::Interrupt)),
            false => Ok(()),
        }
    }

    /// Returns true if the search is to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        let mut flags = self.options.interrupt.iter().chain(&self.stop);
        flags.any(|flag| flag.load(Ordering::Relaxed))
    }

    /// Runs the first `length` events of the path and then `more`; tells which steps the actor of
    /// `last` could take then. `None` if the way there is not possible. The program is no longer on
    /// the path.
    pub(crate) fn offers_after(
        &mut self,
        length: usize,
        more: &[Event],
        actor: u16,
        into: &mut Vec<Event>,
    ) -> Result<bool, Halt> {
        self.reach_prefix(length)?;
        for event in more {
            if !self.machine.replay(event) {
                return Ok(false);
            }
        }
        self.machine.enabled_steps(actor, into);
        Ok(true)
    }

    /// Returns true if an executed event is the one that was planned.
    fn is_as_planned(planned: &Event, executed: &Event) -> bool {
        let unlocks =
            |event: &Event| matches!(event.kind, StepKind::MutexUnlock | StepKind::MutexCancel);
        let same_kind = planned.kind == executed.kind || (unlocks(planned) && unlocks(executed));
        let same_detail = planned.detail == executed.detail
            || executed.kind == StepKind::BarrierAsyncLock
            || matches!(
                executed.kind,
                StepKind::SemaphoreWait | StepKind::TimedSemaphoreWait
            );
        same_kind && planned.object == executed.object && same_detail
    }
}

fn actor_index(actor: u32) -> u16 {
    u16::try_from(actor).expect("an exploration has at most 2^16 actors")
}
