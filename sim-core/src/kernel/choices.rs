//! The turns of actors, the choices of a chooser, and the execution of a choice.
//!
//! A plain run takes turns in the order of the queue and has no chooser; it executes the same
//! transitions by the same functions.

use super::{Actors, Kernel, Objects, OperationSlot, PendingState};
use crate::code::{Code, TransitionKindSet};
use crate::{ActorId, Choice, EnabledTransition, Stream};

/// Order of the turns of actors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TurnMode {
    /// Actors run in the order of the queue, and operations happen at once.
    Direct,
    /// Actors wait for their start: operations stop before their first transition.
    Starting,
    /// As [`Self::Starting`], and the polled actor is new.
    Opening,
    /// A chooser decides: operations stop before their first transition.
    Chosen,
    /// An explorer decides, as a chooser.
    Stepped,
}

impl TurnMode {
    /// Returns true if a chooser or an explorer decides.
    #[inline]
    pub(crate) const fn is_chosen(self) -> bool {
        matches!(self, Self::Chosen | Self::Stepped)
    }

    #[inline]
    pub(crate) const fn is_stepped(self) -> bool {
        matches!(self, Self::Stepped)
    }
}

/// The choices of a run: the present branch, the draws without a chooser, and the record.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) schedule: Option<Vec<Choice>>,
    /// The branch that the chooser picked for the transition being executed.
    pub(crate) branch: u32,
    pub(crate) seed: u64,
    pub(super) draws: Option<Stream>,
}

impl Choices {
    /// The branch that the chooser picked, or a draw from the kernel's own stream.
    pub(super) fn draw_number(&mut self, limit: u32, actors: &Actors) -> u32 {
        assert!(limit > 0, "a random choice needs at least one value");
        if actors.mode.is_chosen() {
            return self.branch;
        }
        let seed = self.seed;
        let stream = self
            .draws
            .get_or_insert_with(|| Stream::new(seed, "sim-core/random"));
        let value = u32::try_from(stream.below(u64::from(limit))).expect("below a 32-bit limit");
        self.branch = value;
        value
    }
}

impl Actors {
    /// Takes the next new actor. After the last new actor the other actors take their turns.
    pub(crate) fn next_new_actor(&mut self) -> Option<u32> {
        while let Some(actor) = self.starting.pop_front() {
            let record = &mut self.records[actor as usize];
            if !record.takes_turn() {
                continue;
            }
            record.started = true;
            self.set_plain_mode(TurnMode::Opening);
            return Some(actor);
        }
        self.set_plain_mode(TurnMode::Direct);
        None
    }

    /// Lets an actor go first, up to its next operation.
    pub(super) fn start_turn(&mut self, actor: u32) {
        self.starting.push_back(actor);
        if self.mode == TurnMode::Direct {
            self.mode = TurnMode::Starting;
        }
    }

    /// Changes the order of turns, unless a chooser or an explorer decides.
    fn set_plain_mode(&mut self, mode: TurnMode) {
        if !self.mode.is_chosen() {
            self.mode = mode;
        }
    }

    /// Returns true if no actor has a step at this date: only the rates in the resource have
    /// changed.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && !self.must_drop()
            && self.starting.is_empty()
            && !self.mode.is_chosen()
    }

    /// Begins the yields of a new actor: the actor is queued behind all runnable actors.
    #[cold]
    pub(super) fn give_turn_away(&mut self, actor: u32) {
        for slot in self.records[actor as usize].slots() {
            if slot.code == Code::YIELD && slot.state == PendingState::Waiting {
                let record = &mut self.records[actor as usize];
                let pending = record.slot_mut(slot.operation_id).expect("just listed");
                pending.state = PendingState::Fired;
                self.schedule_actor(actor);
            }
        }
    }

    /// True if another actor, or this actor, must end or stop before this actor continues; this
    /// actor is then the next.
    #[inline]
    pub(crate) fn pauses_after(&mut self, actor: u32, code: Code) -> bool {
        let pauses = code.is_among(TransitionKindSet::PAUSED);
        if pauses {
            self.schedule_first(actor);
        }
        pauses
    }

    /// Takes an actor that is new or has an answer out of the queue.
    #[inline]
    pub(crate) fn take_answered(&mut self) -> Option<u32> {
        if self.starting.is_empty() && self.ready.is_empty() && self.mode.is_stepped() {
            return None;
        }
        self.take_queued()
    }

    fn take_queued(&mut self) -> Option<u32> {
        if let Some(actor) = self.next_new_actor() {
            return Some(actor);
        }
        if self.mode.is_stepped() {
            return self.next_answered();
        }
        let (position, operation_id) =
            self.ready
                .iter()
                .enumerate()
                .find_map(|(position, &actor)| {
                    let record = &self.records[actor as usize];
                    let waits = record.dead || record.suspended;
                    let operation_id = record.answered().filter(|_| !waits)?;
                    Some((position, operation_id))
                })?;
        let actor = self
            .ready
            .remove(position)
            .expect("the position was just found");
        let record = &mut self.records[actor as usize];
        record.queued = false;
        record.move_to_front(operation_id);
        Some(actor)
    }

    /// [`Actors::take_answered`] under an explorer. The explorer asks each actor for its enabled
    /// steps: all other actors leave the queue.
    fn next_answered(&mut self) -> Option<u32> {
        while let Some(actor) = self.ready.pop_front() {
            let record = &mut self.records[actor as usize];
            record.queued = false;
            if !record.takes_turn() {
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
    pub(crate) fn list_candidates(&mut self, objects: &Objects) -> Vec<EnabledTransition> {
        let mut candidates = Vec::new();
        for actor in std::mem::take(&mut self.ready) {
            let record = &mut self.records[actor as usize];
            record.queued = false;
            if !record.takes_turn() {
                continue;
            }
            let branches = objects.enabled_branches(actor, self);
            if let Some(&(slot, _)) = branches.first() {
                let branches =
                    u32::try_from(branches.len()).expect("branches are counted in 32 bits");
                candidates.push(EnabledTransition {
                    actor: ActorId(actor),
                    transition: slot.code.transition(),
                    branches,
                });
                self.schedule_actor(actor);
            }
        }
        candidates
    }
}

impl Objects {
    /// Returns each enabled operation of an actor with each of its branches.
    fn enabled_branches(&self, actor: u32, actors: &Actors) -> Vec<(OperationSlot, u32)> {
        let mut all = Vec::new();
        for slot in actors[actor].slots() {
            if self.can_happen(actor, &slot, actors) {
                all.extend(
                    (0..self.activities.count_branches(slot.code.transition()))
                        .map(|branch| (slot, branch)),
                );
            }
        }
        all
    }
}

impl Kernel {
    /// Executes a decision of the chooser. True if the actor continues.
    ///
    /// # Panics
    /// If the decision is not among the candidates: the chooser is broken.
    pub(crate) fn take_choice(&mut self, choice: Choice) -> bool {
        let actor = choice.actor.0;
        let branches = self.objects.enabled_branches(actor, &self.actors);
        let found = branches.get(choice.branch as usize).copied();
        let (slot, branch) =
            found.unwrap_or_else(|| panic!("the chooser picked {choice:?}, which is not possible"));
        if let Some(position) = self.actors.ready.iter().position(|&other| other == actor) {
            self.actors.ready.remove(position);
        }
        self.actors[actor].queued = false;
        self.choices.branch = branch;
        let answer = self.execute_slot(actor, slot.code, slot.state == PendingState::Fired);
        self.choices.branch = 0;
        if let Some(last) = self
            .choices
            .schedule
            .as_mut()
            .and_then(|steps| steps.last_mut())
        {
            *last = choice;
        }
        self.actors[actor].move_to_front(slot.operation_id);
        (self.actors).give_answer(actor, slot.operation_id, answer, &mut self.calendar);
        !self.actors.pauses_after(actor, slot.code)
    }
}
