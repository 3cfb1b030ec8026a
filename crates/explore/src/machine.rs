//! The program under the search: the kernel's steps as [`Event`]s.
//!
//! Objects that the kernel numbers in the order of steps get names that do not depend on that
//! order. Some facts are discovered during the search and change the dependency relation, so the
//! search restarts when such a fact is new: the actors of a barrier are more than its size, steps
//! with an uncertain answer have hidden effects, or the order of deliveries to an actor may matter.

use sim_core::{EnabledStep, Executed, Footprint, OrderSensitivity, QueueHead, StepKind, Stepper};

use crate::independence::{Lists, OVERSUBSCRIBED};
use crate::properties::{ProgramProperties, SharedLists};
use crate::seeded::{Seeded, SeededDefect};
use crate::{Event, Halt};

/// The program and the known facts.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) stepper: Stepper,
    pub(crate) lists: Lists,
    pub(crate) properties: ProgramProperties,
    /// True if the users of barriers are recorded here; otherwise the thread that sees all runs
    /// records them.
    pub(crate) notes_users: bool,
    /// The lists of all threads.
    pub(crate) shared_lists: SharedLists,
    /// By semaphore: the initial units.
    pub(crate) units: Vec<u32>,
    /// Actors and the mutexes that they know to own, in the present run.
    held: Vec<(u16, u32)>,
    /// Steps executed, replayed ones included.
    pub(crate) transitions: u64,
    /// The steps that the latest step needs besides the dependencies, without causes before the
    /// first step.
    pub(crate) causes: Vec<u32>,
    /// An intentional defect, for tests.
    pub(crate) seeded: Seeded,
    /// True until the actors with an order sensitivity before the first step are known.
    is_new: bool,
    enabled_steps: Vec<EnabledStep>,
    places: Vec<(u32, u32)>,
}

/// An executed step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutedStep {
    pub(crate) event: Event,
    pub(crate) answer: u32,
    pub(crate) alternatives: u32,
}

impl Machine {
    pub(crate) fn new(stepper: Stepper) -> Self {
        Self {
            stepper,
            lists: Lists::default(),
            properties: ProgramProperties::default(),
            notes_users: true,
            shared_lists: SharedLists::default(),
            units: Vec::new(),
            held: Vec::new(),
            transitions: 0,
            causes: Vec::new(),
            seeded: Seeded::default(),
            is_new: true,
            enabled_steps: Vec::new(),
            places: Vec::new(),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.stepper.restart();
        self.held.clear();
    }

    /// Takes a known step. False if the step is not possible, or differs from the known event.
    #[inline]
    pub(crate) fn replay(&mut self, event: &Event) -> bool {
        self.transitions += 1;
        let repeated = self
            .stepper
            .repeat_step(u32::from(event.actor), event.choice);
        let Some((footprint, answer)) = repeated else {
            return false;
        };
        self.note_mutexes(event.actor, footprint, answer);
        let Footprint { kind, object, .. } = footprint;
        (kind == event.kind && object == event.object)
            || kind == StepKind::TestAny
            || (kind == StepKind::MutexUnlock && event.kind == StepKind::MutexCancel)
    }

    /// Takes a step. `None` if the step is not possible.
    pub(crate) fn execute_step(
        &mut self,
        actor: u16,
        choice: u32,
    ) -> Result<Option<ExecutedStep>, Halt> {
        self.transitions += 1;
        let Some(executed) = self.stepper.execute_step(u32::from(actor), choice) else {
            return Ok(None);
        };
        if executed.footprint.kind == StepKind::TestAny {
            self.places.clear();
            self.places.extend_from_slice(self.stepper.tested());
        }
        if !self.properties.has_invariants && self.stepper.has_invariants() {
            self.properties.has_invariants = true;
            return Err(Halt::Again);
        }
        self.note_order_sensitive_actors(executed.footprint)?;
        self.note_causes(&executed);
        let event = self.make_event(actor, choice, executed.footprint, executed.effects);
        self.note_effects(&event)?;
        self.note_mutexes(actor, executed.footprint, executed.answer);
        if event.kind == StepKind::BarrierAsyncLock && self.notes_users {
            let size = self.stepper.barrier_size(event.object);
            if self.properties.note_user(actor, event.object, size) {
                return Err(Halt::Again);
            }
        }
        if event.kind == StepKind::SemaphoreWait {
            self.note_semaphore(event.object);
        }
        let answer = match event.kind {
            // The number of a record, which depends on the order of steps and which nobody sees.
            StepKind::AsyncSend | StepKind::AsyncReceive => 0,
            _ => executed.answer,
        };
        Ok(Some(ExecutedStep {
            event,
            answer,
            alternatives: executed.alternatives,
        }))
    }

    /// The events that an actor could execute now.
    pub(crate) fn enabled_steps(&mut self, actor: u16, into: &mut Vec<Event>) {
        let mut enabled_steps = std::mem::take(&mut self.enabled_steps);
        enabled_steps.clear();
        self.stepper
            .enabled_steps(u32::from(actor), &mut enabled_steps);
        self.places.clear();
        if enabled_steps
            .iter()
            .any(|enabled_step| enabled_step.footprint.kind == StepKind::TestAny)
        {
            self.stepper
                .pending_places(u32::from(actor), &mut self.places);
        }
        for enabled_step in &enabled_steps {
            into.push(self.make_event(actor, enabled_step.choice, enabled_step.footprint, 0));
        }
        self.enabled_steps = enabled_steps;
    }

    fn make_event(&mut self, actor: u16, choice: u32, footprint: Footprint, effects: u8) -> Event {
        let Footprint {
            mut kind,
            mut object,
            mut detail,
        } = footprint;
        match kind {
            StepKind::MutexUnlock if !self.held.contains(&(actor, object)) => {
                kind = StepKind::MutexCancel;
            }
            StepKind::TestAny => {
                object = self.shared_lists.list_number(&self.places, &mut self.lists);
            }
            StepKind::BarrierAsyncLock if self.properties.is_oversubscribed(object) => {
                detail |= OVERSUBSCRIBED;
            }
            _ => {}
        }
        let is_test = matches!(
            kind,
            StepKind::Test | StepKind::TestEnded | StepKind::TestAny | StepKind::TestAnyEnded
        );
        let tells_ends = is_test && self.stepper.transfers_last();
        let is_orderless = match kind {
            StepKind::Deliver => {
                let visible = self.stepper.visible_from(u32::from(actor));
                self.properties.order_sensitivity(object) < visible
            }
            // What is picked does not depend on what has arrived, and what the actor does then
            // only if it can tell more than the order of messages.
            StepKind::Choose => {
                self.properties.order_sensitivity(object) < OrderSensitivity::Always
            }
            _ => false,
        };
        if kind == StepKind::Deliver
            && self.properties.order_sensitivity(object) == OrderSensitivity::Always
        {
            // The actor can tell more than the effects of accesses.
            detail &= !(1 << 31);
        }
        let mut event = Event {
            actor,
            kind,
            effects: effects
                | if is_orderless { Event::ORDERLESS } else { 0 }
                | if tells_ends { Event::TELLS_ENDS } else { 0 },
            object,
            detail,
            choice,
        };
        if let Some(effects) = self.properties.may_have_effects.get(actor as usize) {
            event.effects |= effects & event.uncertain_effects();
        }
        if self.properties.has_invariants {
            // Whatever it does, an invariant may look at it.
            event.effects |= Executed::HIDDEN;
        }
        event
    }

    /// Records the actors with results that depend on the order of deliveries.
    #[inline]
    fn note_order_sensitive_actors(&mut self, footprint: Footprint) -> Result<(), Halt> {
        let actors = match footprint.kind {
            _ if self.seeded.has_defect(SeededDefect::NobodyChooses) => return Ok(()),
            _ if std::mem::take(&mut self.is_new) => 0..self.stepper.actors(),
            StepKind::Deliver | StepKind::Device | StepKind::Choose => {
                footprint.object..footprint.object + 1
            }
            _ => return Ok(()),
        };
        let is_news = |actor: &u32| {
            self.stepper.order_sensitivity(*actor) > self.properties.order_sensitivity(*actor)
        };
        if actors.into_iter().any(|actor| is_news(&actor)) {
            // All that are known by now, so that the search begins anew less often.
            for actor in (0..self.stepper.actors())
                .filter(is_news)
                .collect::<Vec<_>>()
            {
                self.properties
                    .note_order_sensitive(actor, self.stepper.order_sensitivity(actor));
            }
            return Err(Halt::Again);
        }
        Ok(())
    }

    /// Records the causes of a step.
    #[inline]
    fn note_causes(&mut self, executed: &Executed) {
        self.causes.clear();
        let is_draw = executed.footprint.kind == StepKind::Choose;
        let is_delivery = executed.footprint.kind == StepKind::Deliver;
        let is_mistaken = self.seeded.has_defect(SeededDefect::LatestCause);
        let is_look = executed.footprint.kind == StepKind::Device;
        let is_orderless = |actor: u32| {
            !is_mistaken && self.properties.order_sensitivity(actor) < OrderSensitivity::Always
        };
        if is_draw
            || (is_delivery && is_orderless(self.stepper.sender()))
            || (is_look && is_orderless(executed.footprint.object))
        {
            let causes = self.stepper.causes().iter();
            self.causes
                .extend(causes.filter(|&&cause| cause != QueueHead::BEFORE));
        } else if executed.cause != QueueHead::BEFORE {
            self.causes.push(executed.cause);
        }
    }

    /// Records the effects of a step with an answer that may change.
    #[inline]
    fn note_effects(&mut self, event: &Event) -> Result<(), Halt> {
        let effects = event.effects & event.uncertain_effects();
        if effects == 0 || self.properties.has_invariants {
            return Ok(());
        }
        if self.properties.note_effects(event.actor, effects) {
            return Err(Halt::Again);
        }
        Ok(())
    }

    /// Records the actors that know that they own a mutex.
    #[inline]
    fn note_mutexes(&mut self, actor: u16, footprint: Footprint, answer: u32) {
        const YES: u32 = 2;
        let entry = (actor, footprint.object);
        match footprint.kind {
            StepKind::MutexWait => self.held.push(entry),
            StepKind::MutexTest | StepKind::MutexTryLock
                if answer == YES && !self.held.contains(&entry) =>
            {
                self.held.push(entry);
            }
            StepKind::MutexUnlock | StepKind::MutexCancel => {
                self.held.retain(|&other| other != entry);
            }
            StepKind::CondvarAsyncLock => {
                let entry = (actor, footprint.detail);
                self.held.retain(|&other| other != entry);
            }
            _ => {}
        }
    }

    #[inline]
    fn note_semaphore(&mut self, semaphore: u32) {
        let index = semaphore as usize;
        if index >= self.units.len() {
            self.units.resize(index + 1, 0);
        }
        self.units[index] = self.stepper.initial_units(semaphore);
    }
}
