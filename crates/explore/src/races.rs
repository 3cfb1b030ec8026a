//! Races of a complete run: the sequences of events that reverse them, each with its place on the
//! path.
//!
//! Each reversible race yields one sequence. The sequence has *all* events after the first event of
//! the race that do not happen after this event, up to the end of the run, and then the second
//! event. Shorter sequences lose classes: a subtree then trusts that a pending leaf covers the
//! classes that the leaf leaves to the subtree.
//!
//! Choices (draws, the members of a wait-any, several operations at a time) are conflicting steps
//! of one actor. The other branches of a choice are inserted with the same tail, after every run; a
//! member that completes only after the choice is a branch, too.

use sim_core::{Executed, StepKind};

use crate::independence::Lists;
use crate::reversible::{Verdict, come_first, reversible};
use crate::seeded::{Seeded, SeededDefect};
use crate::walk::Walk;
use crate::{Event, Halt};

/// Takes the sequences.
pub(crate) trait Sink {
    /// A sequence of events, from a place of the path on.
    fn insert(&mut self, lists: &Lists, place: usize, sequence: &[Event]);
}

/// Examines the races of runs; keeps memory between runs.
#[derive(Debug, Default)]
pub(crate) struct Races {
    positions: Vec<u32>,
    sequence: Vec<Event>,
    enabled_steps: Vec<Event>,
}

impl Races {
    /// Examines the races between earlier events and the events from a position on. If a step had
    /// to be tried, the program is not at the end of the path any more.
    pub(crate) fn examine_races(
        &mut self,
        walk: &mut Walk<'_>,
        from: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        for second in from..walk.path.len() {
            for race in 0..walk.path.races(second).len() {
                let first = walk.path.races(second)[race] as usize;
                if walk.path.events()[first].actor == walk.path.events()[second].actor {
                    continue;
                }
                self.reverse(walk, first, second, sink)?;
            }
            self.choose_otherwise(walk, second, sink)?;
        }
        Ok(())
    }

    fn reverse(
        &mut self,
        walk: &mut Walk<'_>,
        first: usize,
        second: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let is_wait = walk.path.events()[second].kind == StepKind::SemaphoreWait;
        let verdict = if is_wait
            && Seeded::from_options(walk.options).has_defect(SeededDefect::SemaphoresNeverReverse)
        {
            Verdict::No
        } else {
            reversible(&walk.path, &walk.machine.units, first, second)
        };
        if verdict == Verdict::No {
            return Ok(());
        }
        let Some(last) = come_first(walk, verdict, first, second)? else {
            return Ok(());
        };
        self.collect_independent(walk, first, second);
        self.sequence.push(last);
        sink.insert(&walk.machine.lists, first, &self.sequence);
        Ok(())
    }

    /// Collects the events after `first` that do not happen after it, in order, without `second`.
    fn collect_independent(&mut self, walk: &Walk<'_>, first: usize, second: usize) {
        self.sequence.clear();
        let end = if Seeded::from_options(walk.options).has_defect(SeededDefect::ShortSequences) {
            second
        } else {
            walk.path.len()
        };
        self.positions.clear();
        walk.path.add_not_after(first, end, &mut self.positions);
        for &position in &self.positions {
            let position = position as usize;
            let past_only = Seeded::from_options(walk.options).has_defect(SeededDefect::CausalPast)
                && !walk.path.happens_before(position, second);
            if position != second && !past_only {
                self.sequence.push(walk.path.events()[position]);
            }
        }
    }

    /// Tells the other steps that the actor of an event could have taken, there or later.
    fn choose_otherwise(
        &mut self,
        walk: &mut Walk<'_>,
        position: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let event = walk.path.events()[position];
        let alternatives = walk.path.alternatives(position);
        let short = Seeded::from_options(walk.options).has_defect(SeededDefect::ShortChoices);
        if event.kind == StepKind::Random && event.effects & Executed::SEVERAL == 0 {
            for choice in (0..alternatives).filter(|&choice| choice != event.choice) {
                self.collect_tail(walk, position, short);
                self.sequence.push(Event { choice, ..event });
                sink.insert(&walk.machine.lists, position, &self.sequence);
            }
        } else if event.effects & Executed::SEVERAL != 0 {
            self.sequence.clear();
            if !Seeded::from_options(walk.options).has_defect(SeededDefect::NoWaitAnyRule) {
                self.collect_tail(walk, position, short);
            }
            self.tell_offers(walk, position, event.actor, Some(event.choice), sink)?;
        }
        if stops_others(event.kind) {
            self.let_others_first(walk, position, sink)?;
        }
        Ok(())
    }

    fn collect_tail(&mut self, walk: &Walk<'_>, position: usize, short: bool) {
        if short {
            self.sequence.clear();
        } else {
            self.collect_independent(walk, position, position);
        }
    }

    /// Tells the sequence followed by each step that the actor can take then, but for one.
    fn tell_offers(
        &mut self,
        walk: &mut Walk<'_>,
        position: usize,
        actor: u16,
        without: Option<u32>,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let mut enabled_steps = std::mem::take(&mut self.enabled_steps);
        enabled_steps.clear();
        walk.offers_after(position, &self.sequence, actor, &mut enabled_steps)?;
        let length = self.sequence.len();
        for enabled_step in &enabled_steps {
            if Some(enabled_step.choice) != without {
                let several = Event {
                    effects: enabled_step.effects | Executed::SEVERAL,
                    ..*enabled_step
                };
                self.sequence.push(several);
                sink.insert(&walk.machine.lists, position, &self.sequence);
                self.sequence.truncate(length);
            }
        }
        self.enabled_steps = enabled_steps;
        Ok(())
    }

    /// Inserts each step that another actor could have taken before an event that ends or stops
    /// actors. Such an event disables their steps, so no race with these steps is visible.
    fn let_others_first(
        &mut self,
        walk: &mut Walk<'_>,
        position: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let actors = u16::try_from(walk.path.actors()).expect("an exploration has few actors");
        for actor in 0..actors {
            if actor == walk.path.events()[position].actor {
                continue;
            }
            self.collect_independent(walk, position, position);
            self.tell_offers(walk, position, actor, None, sink)?;
        }
        Ok(())
    }
}

/// Returns true if an event may stop other actors.
pub(crate) const fn stops_others(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Kill | StepKind::Suspend | StepKind::SwitchHost
    )
}
