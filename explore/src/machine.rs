//! The program under the search: the kernel's steps as [`Event`]s.
//!
//! What the kernel calls by numbers that depend on the order of steps is given names that do not. Two things are learnt
//! on the way and change what depends on what, so the search begins anew when they are first seen: that more actors use
//! a barrier than it is made for, and that steps whose answer may change have hidden effects.

use sim_core::{Executed, Footprint, Offer, QueueHead, StepKind, Stepper};

use crate::facts::{Facts, SharedLists};
use crate::independence::{CROWDED, Lists};
use crate::{Event, Halt};

/// The program and what is known of it.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) stepper: Stepper,
    pub(crate) lists: Lists,
    pub(crate) facts: Facts,
    /// Whether who uses which barrier is noted here; otherwise somebody else notes it who sees the runs of other threads too.
    pub(crate) notes_users: bool,
    /// The lists of all threads.
    pub(crate) shared_lists: SharedLists,
    /// By semaphore: its units at first.
    pub(crate) units: Vec<u32>,
    /// Which actors know that they own which mutexes, in the present run.
    held: Vec<(u16, u32)>,
    /// Steps executed, replayed ones included.
    pub(crate) transitions: u64,
    offers: Vec<Offer>,
    places: Vec<(u32, u32)>,
}

/// An executed step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) event: Event,
    pub(crate) answer: u32,
    pub(crate) alternatives: u32,
    /// The place of the step that put there what this one delivers.
    pub(crate) cause: Option<usize>,
}

impl Machine {
    pub(crate) fn new(stepper: Stepper) -> Self {
        Self {
            stepper,
            lists: Lists::default(),
            facts: Facts::default(),
            notes_users: true,
            shared_lists: SharedLists::default(),
            units: Vec::new(),
            held: Vec::new(),
            transitions: 0,
            offers: Vec::new(),
            places: Vec::new(),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.stepper.restart();
        self.held.clear();
    }

    /// Takes a step whose event is known. False if it is not possible, or another one than before.
    #[inline]
    pub(crate) fn replay(&mut self, event: &Event) -> bool {
        self.transitions += 1;
        let executed = self.stepper.execute(u32::from(event.actor), event.choice);
        let Some(executed) = executed else {
            return false;
        };
        self.note_mutexes(event.actor, &executed);
        let Footprint { kind, object, .. } = executed.footprint;
        (kind == event.kind && object == event.object)
            || kind == StepKind::TestAny
            || (kind == StepKind::MutexUnlock && event.kind == StepKind::MutexCancel)
    }

    /// Takes a step. `None` if it is not possible.
    pub(crate) fn execute(&mut self, actor: u16, choice: u32) -> Result<Option<Step>, Halt> {
        self.transitions += 1;
        let Some(executed) = self.stepper.execute(u32::from(actor), choice) else {
            return Ok(None);
        };
        if executed.footprint.kind == StepKind::TestAny {
            self.places.clear();
            self.places.extend_from_slice(self.stepper.tested());
        }
        let event = self.event(actor, choice, executed.footprint, executed.effects);
        self.note_effects(&event)?;
        self.note_mutexes(actor, &executed);
        if event.kind == StepKind::BarrierAsyncLock && self.notes_users {
            let size = self.stepper.barrier_size(event.object);
            if self.facts.note_user(actor, event.object, size) {
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
        Ok(Some(Step {
            event,
            answer,
            alternatives: executed.alternatives,
            cause: usize::try_from(executed.cause)
                .ok()
                .filter(|_| executed.cause != QueueHead::BEFORE),
        }))
    }

    /// The events that an actor could execute now.
    pub(crate) fn offers(&mut self, actor: u16, into: &mut Vec<Event>) {
        let mut offers = std::mem::take(&mut self.offers);
        offers.clear();
        self.stepper.offers(u32::from(actor), &mut offers);
        self.places.clear();
        if offers
            .iter()
            .any(|offer| offer.footprint.kind == StepKind::TestAny)
        {
            self.stepper
                .pending_places(u32::from(actor), &mut self.places);
        }
        for offer in &offers {
            into.push(self.event(actor, offer.choice, offer.footprint, 0));
        }
        self.offers = offers;
    }

    fn event(&mut self, actor: u16, choice: u32, footprint: Footprint, effects: u8) -> Event {
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
                object = self.shared_lists.number(&self.places, &mut self.lists);
            }
            StepKind::BarrierAsyncLock if self.facts.is_crowded(object) => detail |= CROWDED,
            _ => {}
        }
        let mut event = Event {
            actor,
            kind,
            effects,
            object,
            detail,
            choice,
        };
        if event.has_open_end()
            && let Some(effects) = self.facts.wary.get(actor as usize)
        {
            event.effects |= effects;
        }
        event
    }

    /// Notes the effects of a step whose answer may change.
    #[inline]
    fn note_effects(&mut self, event: &Event) -> Result<(), Halt> {
        let effects = event.effects & (Executed::HIDDEN | Executed::ALLOCATES);
        if effects == 0 || !event.has_open_end() {
            return Ok(());
        }
        if self.facts.note_effects(event.actor, effects) {
            return Err(Halt::Again);
        }
        Ok(())
    }

    /// Keeps track of who knows that it owns a mutex.
    #[inline]
    fn note_mutexes(&mut self, actor: u16, executed: &Executed) {
        const YES: u32 = 2;
        let entry = (actor, executed.footprint.object);
        match executed.footprint.kind {
            StepKind::MutexWait => self.held.push(entry),
            StepKind::MutexTest | StepKind::MutexTryLock
                if executed.answer == YES && !self.held.contains(&entry) =>
            {
                self.held.push(entry);
            }
            StepKind::MutexUnlock | StepKind::MutexCancel => {
                self.held.retain(|&other| other != entry);
            }
            StepKind::CondvarAsyncLock => {
                let entry = (actor, executed.footprint.detail);
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
