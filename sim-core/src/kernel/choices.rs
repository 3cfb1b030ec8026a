//! The choices of a chooser, and the execution of a choice.
//!
//! A plain run does not use this module; it executes the same transitions by the same functions.

use super::{Kernel, PendingState, Slot};
use crate::{ActorId, Choice, EnabledTransition, OperationResult};

impl Kernel {
    /// Takes an actor that is new or has an answer out of the queue.
    pub(crate) fn take_answered(&mut self) -> Option<u32> {
        if let Some(actor) = self.next_new_actor() {
            return Some(actor);
        }
        if self.stepped {
            return self.next_answered();
        }
        let (position, operation_id) =
            self.ready
                .iter()
                .enumerate()
                .find_map(|(position, &actor)| {
                    let record = &self.actors[actor as usize];
                    let waits = record.dead || record.suspended;
                    let operation_id = record.answered().filter(|_| !waits)?;
                    Some((position, operation_id))
                })?;
        let actor = self
            .ready
            .remove(position)
            .expect("the position was just found");
        let record = &mut self.actors[actor as usize];
        record.queued = false;
        record.move_to_front(operation_id);
        Some(actor)
    }

    /// [`Kernel::take_answered`] under an explorer. The explorer asks each actor for its enabled
    /// steps: all other actors leave the queue.
    fn next_answered(&mut self) -> Option<u32> {
        while let Some(actor) = self.ready.pop_front() {
            let record = &mut self.actors[actor as usize];
            record.queued = false;
            if record.dead {
                continue;
            }
            if record.suspended {
                record.deferred = true;
                continue;
            }
            if let Some(operation_id) = record.answered() {
                record.move_to_front(operation_id);
                return Some(actor);
            }
        }
        None
    }

    /// The transitions that can happen now; actors without one leave the queue.
    pub(crate) fn candidates(&mut self) -> Vec<EnabledTransition> {
        let mut candidates = Vec::new();
        for actor in std::mem::take(&mut self.ready) {
            let record = &mut self.actors[actor as usize];
            record.queued = false;
            if record.dead {
                continue;
            }
            if record.suspended {
                record.deferred = true;
                continue;
            }
            let branches = self.enabled_branches(actor);
            if let Some(&(slot, _)) = branches.first() {
                let branches =
                    u32::try_from(branches.len()).expect("branches are counted in 32 bits");
                candidates.push(EnabledTransition {
                    actor: ActorId(actor),
                    transition: slot.code.transition(),
                    branches,
                });
                self.schedule(actor);
            }
        }
        candidates
    }

    /// Returns each enabled operation of an actor with each of its branches.
    fn enabled_branches(&self, actor: u32) -> Vec<(Slot, u32)> {
        let mut all = Vec::new();
        for slot in self.actors[actor as usize].slots() {
            if self.can_happen(actor, &slot) {
                all.extend((0..self.branches(slot.code.transition())).map(|branch| (slot, branch)));
            }
        }
        all
    }

    /// Executes a decision of the chooser. True if the actor continues; the actor is then current.
    ///
    /// # Panics
    /// If the decision is not among the candidates: the chooser is broken.
    pub(crate) fn take(&mut self, choice: Choice) -> bool {
        let actor = choice.actor.0;
        let branches = self.enabled_branches(actor);
        let found = branches.get(choice.branch as usize).copied();
        let (slot, branch) =
            found.unwrap_or_else(|| panic!("the chooser picked {choice:?}, which is not possible"));
        if let Some(position) = self.ready.iter().position(|&other| other == actor) {
            self.ready.remove(position);
        }
        self.actors[actor as usize].queued = false;
        self.branch = branch;
        let answer = self.execute_slot(actor, slot.code, slot.state == PendingState::Fired);
        self.branch = 0;
        if let Some(last) = self.schedule.as_mut().and_then(|steps| steps.last_mut()) {
            *last = choice;
        }
        self.actors[actor as usize].move_to_front(slot.operation_id);
        self.answer(actor, slot.operation_id, OperationResult::from_code(answer));
        if self.pauses(actor, slot.code) {
            return false;
        }
        self.current = actor;
        true
    }
}
