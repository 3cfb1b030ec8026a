//! The transition table: when each transition is enabled, its effect, and the withdrawal of its
//! effect.
//!
//! One flat match per question. The classes of the table answer for transitions that are always
//! enabled, and for silent transitions.

use super::{Activities, Actors, Kernel, NONE, Objects, OperationSlot, PendingState};
use crate::code::{Code, TransitionKindSet};
use crate::{End, OperationResult, StepKind, Transition};

impl Objects {
    /// Returns true if a pending operation can happen. A test that waits for the next event is
    /// evaluated again only after a wake-up.
    #[inline]
    pub(crate) fn can_happen(&self, actor: u32, slot: &OperationSlot, actors: &Actors) -> bool {
        let fired = slot.state == PendingState::Fired;
        (fired || !slot.code.is_among(TransitionKindSet::POLLS))
            && self.is_enabled(actor, slot.code, fired, actors)
    }

    /// Returns true if a transition can happen now. `fired`: the timer of the transition has
    /// expired, or a poll may test again.
    #[inline]
    pub(crate) fn is_enabled(&self, actor: u32, code: Code, fired: bool, actors: &Actors) -> bool {
        code.is_among(TransitionKindSet::FREE)
            || if code.is_among(TransitionKindSet::LATER) {
                fired
            } else {
                self.is_ready(actor, code, fired, actors)
            }
    }

    /// [`Objects::is_enabled`] for a transition that is not always enabled. By the numbers of the
    /// code: an explorer asks all actors at each step, and a [`Transition`] would cost more than
    /// the answer.
    pub(super) fn is_ready(&self, actor: u32, code: Code, fired: bool, actors: &Actors) -> bool {
        let object = code.object();
        match StepKind::from_number(code.kind()) {
            StepKind::Yield | StepKind::Sleep | StepKind::Device => fired,
            StepKind::Join => fired || actors[object].dead,
            StepKind::Wait => fired || self.activities.has_ended(object),
            StepKind::WaitAny => fired || self.activities.first_ended(object, 0).is_some(),
            StepKind::MutexWait => self.is_owner(object, actor),
            StepKind::SemaphoreWait => fired || self.is_granted(object, code.detail()),
            StepKind::BarrierWait => self.is_complete(object, code.detail()),
            StepKind::CondvarWait => {
                let request = u32::from(code.third());
                fired || (self.condvars[object as usize].signalled).contains(&request)
            }
            StepKind::Test
            | StepKind::TestAny
            | StepKind::Probe
            | StepKind::MutexTest
            | StepKind::MutexTryLock => {
                let transition = code.transition();
                fired
                    || self.poll_succeeds(actor, transition)
                    || !self.must_wait(actor, transition, actors)
            }
            // All other transitions are always enabled.
            _ => true,
        }
    }

    /// Returns the footprint of a transition that was just executed.
    fn footprint_after(&self, actor: u32, code: Code, answer: OperationResult) -> crate::Footprint {
        let member = match (code.transition(), answer) {
            (Transition::WaitAny { .. }, OperationResult::Number(member)) => member,
            _ => 0,
        };
        let mut footprint = self.footprint(actor, code, member);
        if matches!(
            code.transition(),
            Transition::AsyncSend { .. } | Transition::AsyncReceive { .. }
        ) {
            // The footprint names the next place, and this one was just taken.
            footprint.detail = footprint.detail.wrapping_sub(1);
        }
        footprint
    }
}

impl Activities {
    /// The number of branches of an enabled transition.
    pub(crate) fn count_branches(&self, transition: Transition) -> u32 {
        match transition {
            Transition::Random { limit } => limit,
            Transition::WaitAny { list } => self.count_ended(list).max(1),
            _ => 1,
        }
    }
}

impl Kernel {
    /// Executes an enabled transition of an actor; returns [`OperationResult::code`].
    #[inline]
    pub(crate) fn execute_transition(&mut self, actor: u32, code: Code) -> u64 {
        let answer = if code.is_among(TransitionKindSet::SILENT) {
            const { OperationResult::Done.code() }
        } else {
            self.perform_transition(actor, code.transition()).code()
        };
        self.record_transition(actor, code, answer);
        answer
    }

    /// Executes a transition that has an answer or an effect.
    fn perform_transition(&mut self, actor: u32, transition: Transition) -> OperationResult {
        self.actors.acting = actor;
        let answer = match transition {
            Transition::Wait { activity, .. } => {
                OperationResult::Number(self.objects.activities.get(activity).end as u32)
            }
            Transition::WaitAny { list } => OperationResult::Number(
                (self.objects.activities)
                    .first_ended(list, self.choices.branch)
                    .unwrap_or(0),
            ),
            Transition::Test { .. }
            | Transition::TestAny { .. }
            | Transition::Probe { .. }
            | Transition::MutexTest { .. }
            | Transition::MutexTryLock { .. } => {
                (self.objects).poll_once(actor, transition, self.choices.branch, &mut self.actors)
            }
            other => {
                self.actors.progress += 1;
                self.change_objects(actor, other)
            }
        };
        self.actors.acting = NONE;
        answer
    }

    /// Executes a transition that changes the state of an object.
    fn change_objects(&mut self, actor: u32, transition: Transition) -> OperationResult {
        let (actors, objects) = (&mut self.actors, &mut self.objects);
        match transition {
            Transition::Random { limit } => {
                return OperationResult::Number(self.choices.draw_number(limit, actors));
            }
            Transition::Create { child } => {
                self.start_actor(child.0);
                return OperationResult::Number(child.0);
            }
            Transition::Kill { target } => actors.kill_actor(target.0),
            Transition::Suspend { target } => {
                actors.suspend_actor(target.0, &mut objects.activities, &mut self.calendar);
            }
            Transition::Resume { target } => {
                actors.wake_up(target.0, &mut objects.activities, &mut self.calendar);
            }
            Transition::SwitchHost { .. } | Transition::Control { .. } => {
                self.change_under_transfers(transition);
            }
            Transition::AsyncSend { mailbox, comm }
            | Transition::AsyncReceive { mailbox, comm } => {
                let (mailboxes, activities) = (&mut objects.mailboxes, &mut objects.activities);
                let (comm, starts) = if matches!(transition, Transition::AsyncSend { .. }) {
                    mailboxes.post_send(mailbox, comm, actor, activities)
                } else {
                    mailboxes.post_receive(mailbox, comm, actor, activities)
                };
                if starts {
                    self.start_comm(comm);
                }
                return OperationResult::Number(comm);
            }
            Transition::Cancel { activity } if self.choices.branch == 0 => {
                self.cancel_activity(activity);
            }
            Transition::Cancel { activity } => {
                if objects.activities.is_in_progress(activity) {
                    objects.cancel_in_progress(activity);
                }
            }
            Transition::MutexAsyncLock { mutex } => objects.enter_mutex(mutex, actor, actors),
            Transition::MutexUnlock { mutex } | Transition::MutexCancel { mutex } => {
                objects.leave_mutex_of(mutex, actor, actors);
            }
            Transition::SemaphoreAsyncLock { semaphore } => {
                return OperationResult::Number(objects.ask_semaphore(semaphore, actor));
            }
            Transition::SemaphoreUnlock { semaphore } => {
                objects.release_semaphore(semaphore, actors);
            }
            Transition::BarrierAsyncLock { barrier, .. } => {
                return OperationResult::Number(objects.join_barrier(barrier, actor, actors));
            }
            Transition::CondvarAsyncLock { condvar, mutex } => {
                objects.leave_mutex_of(mutex, actor, actors);
                return OperationResult::Number(objects.enter_condvar(condvar, actor));
            }
            Transition::CondvarWait {
                condvar,
                mutex,
                request,
            } => {
                objects.leave_condvar(condvar, request);
                objects.enter_mutex(mutex, actor, actors);
            }
            Transition::CondvarSignal { condvar } => objects.signal_condvar(condvar, actors),
            Transition::CondvarBroadcast { condvar } => objects.broadcast_condvar(condvar, actors),
            silent => unreachable!("{silent:?} changes nothing and is handled before"),
        }
        OperationResult::Done
    }

    /// Ends a wait with an expired time limit.
    pub(crate) fn expire_wait(&mut self, actor: u32, code: Code) -> OperationResult {
        self.actors.progress += 1;
        let transition = code.transition();
        self.actors.acting = actor;
        if let Transition::CondvarWait {
            condvar,
            mutex,
            request,
        } = transition
        {
            (self.objects).withdraw_condvar(condvar, request, &mut self.actors);
            self.objects.enter_mutex(mutex, actor, &mut self.actors);
        } else {
            self.abandon_wait(actor, transition);
        }
        self.record_transition(actor, code, OperationResult::Timeout.code());
        self.actors.acting = NONE;
        OperationResult::Timeout
    }

    /// Withdraws the request of a pending wait, because the wait ended without success.
    pub(crate) fn abandon_wait(&mut self, actor: u32, transition: Transition) {
        match transition {
            Transition::MutexWait { mutex, owned: true } => {
                (self.objects).leave_mutex_if_asked(mutex, actor, &mut self.actors);
            }
            Transition::SemaphoreWait {
                semaphore,
                request,
                owned: true,
            } => {
                (self.objects).withdraw_semaphore(semaphore, request, &mut self.actors);
            }
            Transition::BarrierWait {
                barrier,
                round,
                owned: true,
            } => (self.objects).leave_barrier(barrier, round, actor, &self.actors),
            Transition::CondvarWait {
                condvar, request, ..
            } => (self.objects).withdraw_condvar(condvar, request, &mut self.actors),
            Transition::Wait {
                activity,
                owned: true,
            } => {
                self.cancel_activity(activity);
                self.objects.activities.release_activity(activity);
            }
            Transition::AsyncSend { comm, .. } | Transition::AsyncReceive { comm, .. } => {
                self.objects.activities.discard_prepared(comm);
            }
            Transition::Create { child } => self.actors.kill_actor(child.0),
            Transition::Join { target } => {
                if let Some(extra) = &mut self.actors[target.0].extra {
                    extra.joiners.retain(|&joiner| joiner != actor);
                }
            }
            _ => {}
        }
    }

    /// Withdraws the result of an operation that was dropped before its future saw the answer.
    pub(crate) fn revert_answer(
        &mut self,
        actor: u32,
        transition: Transition,
        answer: OperationResult,
    ) {
        match (transition, answer) {
            (
                Transition::Wait {
                    activity,
                    owned: true,
                },
                _,
            ) => self.objects.activities.release_activity(activity),
            (Transition::AsyncReceive { .. }, OperationResult::Number(comm)) => {
                self.drop_handle(comm);
            }
            // A detached send has no handle and continues.
            (Transition::AsyncSend { .. }, OperationResult::Number(comm))
                if !self.objects.activities.get(comm).detached =>
            {
                self.drop_handle(comm);
            }
            (Transition::MutexTryLock { mutex }, OperationResult::Bool(true))
            | (Transition::MutexAsyncLock { mutex }, _)
            | (Transition::MutexWait { mutex, owned: true }, OperationResult::Done)
            | (Transition::CondvarWait { mutex, .. }, _) => {
                (self.objects).leave_mutex_if_asked(mutex, actor, &mut self.actors);
            }
            (Transition::SemaphoreAsyncLock { semaphore }, OperationResult::Number(request))
            | (
                Transition::SemaphoreWait {
                    semaphore,
                    request,
                    owned: true,
                },
                OperationResult::Done,
            ) => (self.objects).withdraw_semaphore(semaphore, request, &mut self.actors),
            (Transition::BarrierAsyncLock { barrier, .. }, OperationResult::Number(round)) => {
                (self.objects).leave_barrier(barrier, round, actor, &self.actors);
            }
            (Transition::CondvarAsyncLock { condvar, .. }, OperationResult::Number(request)) => {
                (self.objects).withdraw_condvar(condvar, request, &mut self.actors);
            }
            _ => {}
        }
    }

    /// Records a decision and shows it to the trace.
    #[cold]
    pub(crate) fn write_down(&mut self, actor: u32, code: Code, answer: OperationResult) {
        let branch = std::mem::take(&mut self.choices.branch);
        // A panic of the trace is told as one of this actor.
        self.actors.acting = actor;
        let actor = crate::ActorId(actor);
        if let Some(schedule) = &mut self.choices.schedule {
            schedule.push(crate::Choice { actor, branch });
        }
        let (time, footprint) = (
            self.calendar.now,
            self.objects.footprint_after(actor.0, code, answer),
        );
        let cancelled = matches!(code.transition(), Transition::Cancel { activity }
            if self.objects.activities.get(activity).end == End::Cancelled);
        if let Some(sink) = &mut self.trace {
            (sink.0)(&crate::TraceEvent {
                time,
                actor,
                transition: code.transition(),
                answer,
                footprint,
                cancelled,
            });
        }
    }
}

impl Actors {
    /// Marks an actor for its end; the loop drops the future before any other actor runs.
    pub(crate) fn kill_actor(&mut self, target: u32) {
        let record = &mut self.records[target as usize];
        if record.dead {
            return;
        }
        record.killed = true;
        self.drop_later(target);
    }
}
