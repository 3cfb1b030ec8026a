//! The transition table: when each transition is enabled, its effect, and the withdrawal of its
//! effect.
//!
//! One flat match per question, because each match must consider a new transition.

use super::{Kernel, NONE};
use crate::code::{Code, TransitionKindSet};
use crate::{End, OperationResult, Transition};

impl Kernel {
    /// Returns true if a transition can happen now. `fired`: the timer of the transition has
    /// expired, or a poll may test again.
    #[inline]
    pub(crate) fn is_enabled(&self, actor: u32, code: Code, fired: bool) -> bool {
        code.is_among(TransitionKindSet::FREE)
            || if code.is_among(TransitionKindSet::LATER) {
                fired
            } else {
                self.is_ready(actor, code.transition(), fired)
            }
    }

    fn is_ready(&self, actor: u32, transition: Transition, fired: bool) -> bool {
        match transition {
            Transition::Yield | Transition::Sleep | Transition::Device => fired,
            Transition::Join { target } => fired || self.actors[target.index()].dead,
            Transition::Wait { activity, .. } => fired || self.has_ended(activity),
            Transition::WaitAny { list } => fired || self.first_ended(list, 0).is_some(),
            Transition::MutexWait { mutex, .. } => self.is_owner(mutex, actor),
            Transition::SemaphoreWait {
                semaphore, request, ..
            } => fired || self.is_granted(semaphore, request),
            Transition::BarrierWait { barrier, round, .. } => self.is_complete(barrier, round),
            Transition::CondvarWait {
                condvar, request, ..
            } => fired || self.is_signalled(condvar, request),
            Transition::Test { .. }
            | Transition::TestAny { .. }
            | Transition::Probe { .. }
            | Transition::MutexTest { .. }
            | Transition::MutexTryLock { .. } => {
                fired || self.poll_succeeds(actor, transition) || !self.must_wait(actor, transition)
            }
            Transition::Random { .. }
            | Transition::Create { .. }
            | Transition::Kill { .. }
            | Transition::Suspend { .. }
            | Transition::Resume { .. }
            | Transition::SwitchHost { .. }
            | Transition::Control { .. }
            | Transition::AsyncSend { .. }
            | Transition::AsyncReceive { .. }
            | Transition::Cancel { .. }
            | Transition::MutexAsyncLock { .. }
            | Transition::MutexUnlock { .. }
            | Transition::MutexCancel { .. }
            | Transition::SemaphoreAsyncLock { .. }
            | Transition::SemaphoreUnlock { .. }
            | Transition::BarrierAsyncLock { .. }
            | Transition::CondvarAsyncLock { .. }
            | Transition::CondvarSignal { .. }
            | Transition::CondvarBroadcast { .. } => true,
        }
    }

    /// The number of branches of an enabled transition.
    pub(crate) fn branches(&self, transition: Transition) -> u32 {
        match transition {
            Transition::Random { limit } => limit,
            Transition::WaitAny { list } => self.count_ended(list).max(1),
            _ => 1,
        }
    }

    /// Executes an enabled transition of an actor; returns [`OperationResult::code`].
    #[inline]
    pub(crate) fn execute(&mut self, actor: u32, code: Code) -> u64 {
        let answer = if code.is_among(TransitionKindSet::SILENT) {
            const { OperationResult::Done.code() }
        } else {
            self.act(actor, code.transition()).code()
        };
        self.record(actor, code, answer);
        answer
    }

    /// Executes a transition that has an answer or an effect.
    fn act(&mut self, actor: u32, transition: Transition) -> OperationResult {
        self.acting = actor;
        let answer = match transition {
            Transition::Wait { activity, .. } => {
                OperationResult::Number(self.end_of(activity) as u32)
            }
            Transition::WaitAny { list } => {
                OperationResult::Number(self.first_ended(list, self.branch).unwrap_or(0))
            }
            Transition::Test { .. }
            | Transition::TestAny { .. }
            | Transition::Probe { .. }
            | Transition::MutexTest { .. }
            | Transition::MutexTryLock { .. } => self.poll_once(actor, transition),
            other => {
                self.progress += 1;
                self.change(actor, other)
            }
        };
        self.acting = NONE;
        answer
    }

    /// Executes a transition that changes the state of an object.
    fn change(&mut self, actor: u32, transition: Transition) -> OperationResult {
        match transition {
            Transition::Random { limit } => OperationResult::Number(self.draw(limit)),
            Transition::Create { child } => {
                self.start_actor(child.0);
                OperationResult::Number(child.0)
            }
            Transition::Kill { target } => {
                self.kill(target.0);
                OperationResult::Done
            }
            Transition::Suspend { target } => {
                self.suspend(target.0);
                OperationResult::Done
            }
            Transition::Resume { target } => {
                self.wake_up(target.0);
                OperationResult::Done
            }
            Transition::SwitchHost { .. } | Transition::Control { .. } => {
                self.change_under_transfers(transition);
                OperationResult::Done
            }
            Transition::AsyncSend { mailbox, comm } => {
                OperationResult::Number(self.post_send(mailbox, comm))
            }
            Transition::AsyncReceive { mailbox, comm } => {
                OperationResult::Number(self.post_receive(mailbox, comm))
            }
            Transition::Cancel { activity } => {
                self.cancel_under_way(activity);
                OperationResult::Done
            }
            Transition::MutexAsyncLock { mutex } => {
                self.enter_mutex(mutex, actor);
                OperationResult::Done
            }
            Transition::MutexUnlock { mutex } | Transition::MutexCancel { mutex } => {
                self.leave_mutex_of(mutex, actor);
                OperationResult::Done
            }
            Transition::SemaphoreAsyncLock { semaphore } => {
                OperationResult::Number(self.ask_semaphore(semaphore, actor))
            }
            Transition::SemaphoreUnlock { semaphore } => {
                self.release_semaphore(semaphore);
                OperationResult::Done
            }
            Transition::BarrierAsyncLock { barrier, .. } => self.arrive(barrier, actor),
            Transition::CondvarAsyncLock { condvar, mutex } => {
                OperationResult::Number(self.enter_condvar(condvar, mutex, actor))
            }
            Transition::CondvarWait {
                condvar,
                mutex,
                request,
            } => {
                self.leave_condvar(condvar, request);
                self.enter_mutex(mutex, actor);
                OperationResult::Done
            }
            Transition::CondvarSignal { condvar } => {
                self.signal(condvar);
                OperationResult::Done
            }
            Transition::CondvarBroadcast { condvar } => {
                self.broadcast(condvar);
                OperationResult::Done
            }
            silent => unreachable!("{silent:?} changes nothing and is handled before"),
        }
    }

    /// Ends a wait with an expired time limit.
    pub(crate) fn expire(&mut self, actor: u32, code: Code) -> OperationResult {
        self.progress += 1;
        let transition = code.transition();
        self.acting = actor;
        if let Transition::CondvarWait {
            condvar,
            mutex,
            request,
        } = transition
        {
            self.withdraw_from_condvar(condvar, request);
            self.enter_mutex(mutex, actor);
        } else {
            self.abandon(actor, transition);
        }
        self.record(actor, code, OperationResult::Timeout.code());
        self.acting = NONE;
        OperationResult::Timeout
    }

    /// Withdraws the request of a pending wait, because the wait ended without success.
    pub(crate) fn abandon(&mut self, actor: u32, transition: Transition) {
        match transition {
            Transition::MutexWait { mutex, owned: true } => self.leave_mutex_if_asked(mutex, actor),
            Transition::SemaphoreWait {
                semaphore,
                request,
                owned: true,
            } => {
                self.withdraw_from_semaphore(semaphore, request);
            }
            Transition::BarrierWait {
                barrier,
                round,
                owned: true,
            } => self.withdraw_from_barrier(barrier, round, actor),
            Transition::CondvarWait {
                condvar, request, ..
            } => self.withdraw_from_condvar(condvar, request),
            Transition::Wait {
                activity,
                owned: true,
            } => {
                self.cancel_activity(activity);
                self.release_activity(activity);
            }
            Transition::AsyncSend { comm, .. } | Transition::AsyncReceive { comm, .. } => {
                self.discard_prepared(comm);
            }
            Transition::Create { child } => self.kill(child.0),
            Transition::Join { target } => {
                if let Some(extra) = &mut self.actors[target.index()].extra {
                    extra.joiners.retain(|&joiner| joiner != actor);
                }
            }
            _ => {}
        }
    }

    /// Withdraws the result of an operation that was dropped before its future saw the answer.
    pub(crate) fn revert(&mut self, actor: u32, transition: Transition, answer: OperationResult) {
        match (transition, answer) {
            (
                Transition::Wait {
                    activity,
                    owned: true,
                },
                _,
            ) => self.release_activity(activity),
            (Transition::AsyncReceive { .. }, OperationResult::Number(comm)) => {
                self.drop_handle(comm);
            }
            // A detached send has no handle and continues.
            (Transition::AsyncSend { .. }, OperationResult::Number(comm))
                if !self.activities.get(comm).detached =>
            {
                self.drop_handle(comm);
            }
            (Transition::MutexTryLock { mutex }, OperationResult::Bool(true))
            | (Transition::MutexAsyncLock { mutex }, _)
            | (Transition::MutexWait { mutex, owned: true }, OperationResult::Done)
            | (Transition::CondvarWait { mutex, .. }, _) => {
                self.leave_mutex_if_asked(mutex, actor);
            }
            (Transition::SemaphoreAsyncLock { semaphore }, OperationResult::Number(request))
            | (
                Transition::SemaphoreWait {
                    semaphore,
                    request,
                    owned: true,
                },
                OperationResult::Done,
            ) => self.withdraw_from_semaphore(semaphore, request),
            (Transition::BarrierAsyncLock { barrier, .. }, OperationResult::Number(round)) => {
                self.withdraw_from_barrier(barrier, round, actor);
            }
            (Transition::CondvarAsyncLock { condvar, .. }, OperationResult::Number(request)) => {
                self.withdraw_from_condvar(condvar, request);
            }
            _ => {}
        }
    }

    /// Marks an actor for its end; the loop drops the future before any other actor runs.
    pub(crate) fn kill(&mut self, target: u32) {
        let record = &mut self.actors[target as usize];
        if record.dead {
            return;
        }
        record.killed = true;
        self.dying.push(target);
    }

    /// The branch that the chooser picked, or a draw from the kernel's own stream.
    fn draw(&mut self, limit: u32) -> u32 {
        assert!(limit > 0, "a random choice needs at least one value");
        if self.chosen {
            return self.branch;
        }
        let seed = self.seed;
        let stream = self
            .draws
            .get_or_insert_with(|| crate::Stream::new(seed, "sim-core/random"));
        let value = u32::try_from(stream.below(u64::from(limit))).expect("below a 32-bit limit");
        self.branch = value;
        value
    }

    /// Records a decision and shows it to the trace.
    #[cold]
    pub(crate) fn write_down(&mut self, actor: u32, code: Code, answer: OperationResult) {
        let branch = std::mem::take(&mut self.branch);
        // A panic of the trace is told as one of this actor.
        self.acting = actor;
        let actor = crate::ActorId(actor);
        if let Some(schedule) = &mut self.schedule {
            schedule.push(crate::Choice { actor, branch });
        }
        let (time, footprint) = (self.now, self.footprint_after(actor.0, code, answer));
        let cancelled = matches!(code.transition(), Transition::Cancel { activity }
            if self.end_of(activity) == End::Cancelled);
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

    /// A list of activities for a wait-any.
    pub(crate) fn add_list(&mut self, members: Vec<u32>) -> u32 {
        if let Some(list) = self.free_lists.pop() {
            self.lists[list as usize] = members;
            return list;
        }
        self.lists.push(members);
        let list = u32::try_from(self.lists.len() - 1).expect("lists are counted in 32 bits");
        assert!(list != NONE, "lists are counted in 32 bits");
        list
    }

    pub(crate) fn free_list(&mut self, list: u32) {
        self.lists[list as usize].clear();
        self.free_lists.push(list);
    }

    /// Frees the list of a wait-any that was dropped.
    pub(crate) fn free_list_of(&mut self, transition: Transition) {
        if let Transition::WaitAny { list } | Transition::TestAny { list } = transition {
            self.free_list(list);
        }
    }
}
