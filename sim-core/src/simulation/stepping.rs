//! A simulation that an explorer drives, one step at a time, and restarts as often as necessary.
//!
//! Time stands still. A *step* executes one transition of one actor and lets this actor continue up
//! to its next operation, together with the actors that it has created. All other actors stand
//! still. So a run is its list of steps: the same steps give the same run again, if the program
//! keeps to the contract (no time, no randomness of its own, no memory shared between actors).
//!
//! An actor that fails ends alone: the explorer also explores the further steps of the other
//! actors. The failures of a run are kept in order.
//!
//! A time limit expires if no other step is possible, first the limit with the earliest date, as if
//! all other work took no time; or at any moment, if the explorer [asks for
//! it](Stepper::allow_timeouts). Then the limit of a wait for an activity may expire at any moment
//! before the wait ends, whether or not the activity could have ended: work takes time that the
//! explorer does not know. A wait with a limit for an actor, a unit of a semaphore or a signal does
//! not block: if the object is ready at the turn of the wait, the wait succeeds; otherwise the
//! limit expires. The order of the steps decides.
//!
//! Work takes time that the explorer does not know: work is in progress until a step shows its end
//! to an actor. A test, a wait for any, a cancellation, a time limit, a host or a link that goes
//! off may come before or after the end of the work. With [instant
//! transfers](Stepper::use_instant_transfers) a communication is over when both sides have posted
//! it.
//!
//! *Not modelled*: the end of an actor and the drop of a handle always come after the end of work
//! in progress.

mod device;
mod observed;

use device::{footprint_of, take_branch};

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::Simulation;
use crate::code::{Code, TransitionKindSet};
use crate::kernel::{BRANCH_MASK, NONE, PendingState, TurnMode, wait_graph};
use crate::outcome::panic_message;
use crate::{
    Actor, ActorId, Clock, Digest, EnabledStep, Executed, ExplorableDevice, Failure, Footprint,
    HostId, Outcome, QueueHead, StepKind, Transition, WaitGraph,
};

/// A host or a link that may fail.
#[derive(Clone, Copy, Debug)]
enum MayFail {
    Host(HostId),
    Link(u32),
}

/// Number of messages that an actor sends in one step after which a run is cut: as many as the
/// explorer's default number of steps of a run.
const SENDS_MAX: u64 = 100_000;

/// A program under an explorer.
pub struct Stepper {
    build: Box<dyn Fn() -> Simulation>,
    start: Box<dyn Fn(&mut Simulation)>,
    simulation: Simulation,
    device: Option<Rc<dyn ExplorableDevice>>,
    failures: Vec<Failure>,
    /// True if an actor was ended because of a limit.
    is_cut: bool,
    /// A change of the resource cannot be taken back.
    stale: bool,
    /// True if the expiry of a time limit is another step of the waiting actor.
    timeouts: bool,
    /// True if work remains in progress until an actor observes its end.
    transfers_last: bool,
    /// Maximum number of failures in one run, and the hosts and links that may fail.
    failures_allowed: (u32, Rc<[MayFail]>),
    /// The step that is being executed.
    latest: Executed,
    /// The communications that the step tests, if the step tests a list.
    tested: Vec<(u32, u32)>,
    /// The sender of the latest delivery, and the steps that this delivery needs.
    sender: u32,
    causes: Vec<u32>,
}

impl Stepper {
    /// The program that `start` puts into the simulation that `build` makes. `start` is called
    /// again for every run.
    pub fn new(
        build: impl Fn() -> Simulation + 'static,
        start: impl Fn(&mut Simulation) + 'static,
    ) -> Self {
        let simulation = build();
        let mut stepper = Self {
            build: Box::new(build),
            start: Box::new(start),
            simulation,
            device: None,
            failures: Vec::new(),
            is_cut: false,
            stale: false,
            timeouts: false,
            transfers_last: true,
            failures_allowed: (0, Rc::from([])),
            latest: Executed {
                footprint: Footprint {
                    kind: StepKind::Yield,
                    object: Footprint::NOTHING,
                    detail: 0,
                },
                answer: 0,
                alternatives: 1,
                effects: 0,
                cause: QueueHead::BEFORE,
            },
            tested: Vec::new(),
            sender: NONE,
            causes: Vec::new(),
        };
        stepper.begin_run();
        stepper
    }

    /// A program without a platform: one host, as in [`Simulation::with_constant_model`].
    pub fn on_one_host(start: impl Fn(&mut Simulation) + 'static) -> Self {
        Self::new(|| Simulation::with_constant_model(1), start)
    }

    /// Lets the time of each wait with a limit be up, as another step of the actor, and begins
    /// anew.
    pub fn allow_timeouts(&mut self) {
        self.timeouts = true;
        self.restart();
    }

    /// Lets work be over as soon as it begins, as in the formal model of these programs, and
    /// restarts the run.
    pub fn use_instant_transfers(&mut self) {
        self.transfers_last = false;
        self.restart();
    }

    /// Returns true if work remains in progress until an actor observes its end.
    #[must_use]
    pub const fn transfers_last(&self) -> bool {
        self.transfers_last
    }

    /// Lets up to `most` of the named hosts and links fail in a run, at any moment; of all hosts if
    /// no name is given. Restarts the run.
    ///
    /// A failure is a step of the extra actor *failures*, which no host failure ends: it draws the
    /// next host or link, or the end of failures, and switches the host or link off for good. The
    /// actors of the host end. Transfers over a link fail if both sides were posted after the
    /// failure; of the transfers in progress none fails, all fail, or one.
    ///
    /// # Errors
    /// The names that name neither a host nor a link.
    pub fn allow_failures(&mut self, most: u32, names: &[String]) -> Result<(), Vec<String>> {
        let (mut all, mut unknown) = (Vec::new(), Vec::new());
        {
            let kernel = &mut *self.simulation.kernel.borrow_mut();
            let hosts = 0..kernel.actors.hosts.count();
            if names.is_empty() {
                all.extend(hosts.clone().map(|host| MayFail::Host(HostId(host))));
            }
            for name in names {
                let host = hosts
                    .clone()
                    .find(|&host| kernel.actors.hosts.name(HostId(host)) == *name);
                if let Some(host) = host {
                    all.push(MayFail::Host(HostId(host)));
                } else if let Some(link) = (kernel.calendar.resource.as_controllable())
                    .and_then(|resource| resource.link_by_name(name))
                {
                    all.push(MayFail::Link(link));
                } else {
                    unknown.push(name.clone());
                }
            }
        }
        if !unknown.is_empty() {
            return Err(unknown);
        }
        self.failures_allowed = (most, all.into());
        self.restart();
        Ok(())
    }

    /// Starts the actor that lets hosts and links fail.
    fn start_fault_injector(&mut self) {
        let (most, all) = self.failures_allowed.clone();
        if most == 0 || all.is_empty() {
            return;
        }
        let kernel = Rc::clone(&self.simulation.kernel);
        let program = move |me: Actor| async move {
            let mut left = all.to_vec();
            for _ in 0..most {
                let number = u32::try_from(left.len()).expect("few things fail");
                let pick = me.random(number + 1).await as usize;
                let Some(pick) = pick.checked_sub(1).filter(|&pick| pick < left.len()) else {
                    break;
                };
                match left.remove(pick) {
                    MayFail::Host(host) => me.switch_host(host, false).await,
                    MayFail::Link(link) => me.switch_link(link, false).await,
                }
            }
        };
        let actor = self.simulation.spawn("failures", 0, program);
        actor.daemonize();
        kernel.borrow_mut().host_states.sheltered = actor.id.0 + 1;
    }

    /// Begins anew.
    pub fn restart(&mut self) {
        self.device = None;
        self.simulation.clear_objects();
        if self.stale {
            self.stale = false;
            self.simulation = (self.build)();
        }
        self.begin_run();
    }

    fn begin_run(&mut self) {
        self.failures.clear();
        self.is_cut = false;
        self.simulation.set_clock(Clock::Untimed);
        {
            let mut kernel = self.simulation.kernel.borrow_mut();
            kernel.actors.mode = TurnMode::Stepped;
            kernel.exploration.notes.clear();
            kernel.actors.sends_in_step_max = SENDS_MAX;
            kernel.exploration.timeouts = self.timeouts;
            kernel.objects.activities.transfers_last = self.transfers_last;
        }
        (self.start)(&mut self.simulation);
        self.start_fault_injector();
        self.device = self.simulation.kernel.borrow().exploration.device.clone();
        self.settle_actors();
        self.let_time_pass();
        self.simulation.kernel.borrow().actors.effects.take();
    }

    /// Returns the number of actors so far, including dead actors. Actors are numbered from 0 here:
    /// actor 0 has the [`ActorId`] that prints as 1. Higher numbers are queues of the device; the
    /// only step of a queue is a delivery.
    #[must_use]
    pub fn actors(&self) -> u32 {
        self.simulation.kernel.borrow().actors.count_actors()
    }

    /// Returns true if an actor has an enabled step.
    #[must_use]
    pub fn has_step(&self, actor: u32) -> bool {
        if actor < self.actors() {
            self.simulation.kernel.borrow().view_steps().has_step(actor)
        } else {
            self.head(actor).is_some()
        }
    }

    /// The first actor from `from` on that can take a step.
    #[must_use]
    pub fn next_able(&self, from: u32) -> Option<u32> {
        let kernel = self.simulation.kernel.borrow();
        let actors = kernel.actors.count_actors();
        let actor = (from..actors).find(|&actor| kernel.view_steps().has_step(actor));
        if actor.is_some() {
            return actor;
        }
        let device = self.device.as_ref()?;
        let mut queues = from.max(actors)..actors + device.queue_count();
        queues.find(|&queue| device.head(queue - actors).is_some())
    }

    /// The first actor that can take a step and for which a condition holds, and the first step of
    /// the actor. If there are only queues, the queue that the device
    /// [prefers](crate::ArrivalQueues::first_queue), without the condition. The same after the same
    /// steps, whatever other runs there have been.
    pub fn first_step_that(&self, condition: impl Fn(u32) -> bool) -> Option<(u32, u32)> {
        let kernel = self.simulation.kernel.borrow();
        let (actors, view) = (kernel.actors.count_actors(), kernel.view_steps());
        let able = (0..actors).find(|&actor| view.has_step(actor) && condition(actor));
        if let Some(actor) = able
            && view.begins_with_zero(actor)
        {
            return Some((actor, 0));
        }
        drop(kernel);
        let actor = able.or_else(|| Some(actors + self.device.as_ref()?.first_queue()?))?;
        Some((actor, self.first_choice(actor)?))
    }

    /// Adds the steps that an actor can take.
    pub fn enabled_steps(&self, actor: u32, into: &mut Vec<EnabledStep>) {
        if let Some(head) = self.head(actor) {
            into.push(EnabledStep {
                choice: 0,
                footprint: footprint_of(head),
            });
            return;
        }
        (self.simulation.kernel.borrow())
            .view_steps()
            .enabled_steps(actor, into);
    }

    /// Returns the first step that an actor can take, if there is any.
    #[must_use]
    pub fn first_choice(&self, actor: u32) -> Option<u32> {
        if self.head(actor).is_some() {
            return Some(0);
        }
        Some(list_steps(self, actor).first()?.choice)
    }

    /// Returns the footprint of the next step of an actor, enabled or not; `None` if the actor has
    /// ended or is about to begin.
    #[must_use]
    pub fn next_footprint(&self, actor: u32) -> Option<Footprint> {
        (self.simulation.kernel.borrow())
            .view_steps()
            .next_footprint(actor)
    }

    /// Returns the mailboxes and positions of the communications that the latest step tested, if
    /// the step was a test of a list.
    #[must_use]
    pub fn tested(&self) -> &[(u32, u32)] {
        &self.tested
    }

    /// The mailboxes and places of the communications that the pending wait or test of a list of an
    /// actor is about.
    pub fn pending_places(&self, actor: u32, into: &mut Vec<(u32, u32)>) {
        let kernel = self.simulation.kernel.borrow();
        for slot in kernel.actors[actor].slots() {
            if let Transition::WaitAny { list } | Transition::TestAny { list } =
                slot.code.transition()
            {
                kernel.objects.activities.list_members(actor, list, into);
            }
        }
    }

    /// The actor that sent the message of the latest step, if this step was a delivery.
    #[must_use]
    pub const fn sender(&self) -> u32 {
        self.sender
    }

    /// Returns the steps that the latest step needs. They are set for a delivery if its
    /// [sender](Self::sender) does not [choose](Self::order_sensitivity), for a step that
    /// [draws](crate::Branch::draws), and for a step of a device if its actor does not choose.
    /// [`QueueHead::BEFORE`] may be among them.
    #[must_use]
    pub fn causes(&self) -> &[u32] {
        &self.causes
    }

    /// Takes a step. `None` if the actor cannot take the step now; then the state is unchanged.
    ///
    /// # Panics
    /// If an invariant of the kernel is broken; never because of an actor.
    pub fn execute_step(&mut self, actor: u32, choice: u32) -> Option<Executed> {
        let failures_before = self.failures.len();
        self.run_step::<true>(actor, choice)?;
        let mut effects = self.latest.effects;
        if self.failures.len() > failures_before {
            effects |= Executed::FAILED;
        }
        effects |= self.simulation.kernel.borrow().actors.effects.take();
        let Footprint { kind, object, .. } = self.latest.footprint;
        let asks = matches!(kind, StepKind::Choose | StepKind::Deliver)
            && (self.device.as_ref())
                .is_some_and(|device| device.asks_for_arrivals(ActorId(object)));
        if asks {
            effects |= Executed::ASKS;
        }
        Some(Executed {
            effects,
            ..self.latest
        })
    }

    /// Takes a step of an earlier run once more; returns only the accessed object and the answer.
    /// The [causes](Self::causes), the [sender](Self::sender) and the [tested](Self::tested)
    /// communications are not set.
    ///
    /// # Panics
    /// As [`Stepper::execute_step`].
    pub fn repeat_step(&mut self, actor: u32, choice: u32) -> Option<(Footprint, u32)> {
        self.run_step::<false>(actor, choice)?;
        Some((self.latest.footprint, self.latest.answer))
    }

    /// Takes a step. `latest` describes the step; without `IS_NEW` only in part.
    #[inline]
    fn run_step<const IS_NEW: bool>(&mut self, actor: u32, choice: u32) -> Option<()> {
        if actor >= self.simulation.kernel.borrow().actors.count_actors() {
            self.deliver_head::<IS_NEW>(actor)?;
            self.let_time_pass();
            return Some(());
        }
        let shielded = catch_unwind(AssertUnwindSafe(|| self.take_step::<IS_NEW>(actor, choice)));
        match shielded {
            Ok(None) => return None,
            Ok(Some(false)) => {}
            Ok(Some(true)) => self.settle_actors(),
            Err(panic) => {
                self.note_panic(&*panic);
                self.settle_actors();
                self.latest.effects |= Executed::FAILED;
            }
        }
        self.let_time_pass();
        Some(())
    }

    /// Lets a time limit expire if no other step is possible.
    #[inline(always)]
    fn let_time_pass(&mut self) {
        let kernel = self.simulation.kernel.borrow();
        let has_limits = !kernel.exploration.limits.is_empty();
        drop(kernel);
        if has_limits && !self.is_finished() && self.next_able(0).is_none() {
            let kernel = &mut *self.simulation.kernel.borrow_mut();
            kernel.exploration.limits.expire_first(&mut kernel.actors);
        }
    }

    /// [`Stepper::run_step`] for an actor, without the shield. The answer is true if other actors
    /// must be looked after.
    #[inline]
    fn take_step<const IS_NEW: bool>(&mut self, actor: u32, choice: u32) -> Option<bool> {
        let simulation = &mut self.simulation;
        let (goes_on, scan) = {
            let mut kernel = simulation.kernel.borrow_mut();
            let kernel = &mut *kernel;
            kernel.actors.effects.take();
            let (slot, branch, alternatives) = kernel.view_steps().chosen_slot(actor, choice)?;
            kernel.exploration.steps = kernel.exploration.steps.wrapping_add(1);
            let code = slot.code;
            let of_device = (kernel.exploration).branch_of(actor, code, choice & BRANCH_MASK);
            let number = choice & BRANCH_MASK;
            let view = kernel.view_steps();
            if IS_NEW {
                self.latest = view.describe_step(actor, code, (number, alternatives), of_device);
                self.causes.clear();
                let device = self.device.as_ref();
                if let Some(device) = device.filter(|_| code == Code::DEVICE) {
                    device.branch_causes(ActorId(actor), &mut self.causes);
                }
                if let Transition::TestAny { list } = code.transition() {
                    self.tested.clear();
                    (kernel.objects.activities).list_members(actor, list, &mut self.tested);
                }
            } else {
                self.latest.footprint = view.accessed_object(actor, code, number, of_device);
            }
            (kernel.exploration.limits.is_up, kernel.choices.branch) = (false, branch);
            let answer = if code.is_limited() {
                kernel.execute_limited(actor, code)
            } else {
                kernel.execute_slot(actor, code, slot.state == PendingState::Fired)
            };
            kernel.choices.branch = 0;
            if code.is_among(TransitionKindSet::TELLS_END) {
                kernel.objects.activities.note_known(actor, code, answer);
            }
            if !code.is_among(TransitionKindSet::POLLS) {
                kernel.actors.forget_failures(actor, code);
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an answer is a small code or a 32-bit number and 4"
            )]
            let short = answer as u32;
            self.latest.answer = short;
            (kernel.actors).answer_chosen(actor, slot.operation_id, answer, &mut kernel.calendar);
            let kind = self.latest.footprint.kind;
            if code == Code::DEVICE
                && let (Some(device), Some(branch)) = (&self.device, of_device)
            {
                take_branch(device, kernel, actor, branch);
            }
            self.stale |= kind == StepKind::Control;
            let paused = kernel.actors.pauses_after(actor, code);
            if !paused {
                let progress = simulation.progress.as_deref();
                (kernel.actors).begin_poll(actor, &mut simulation.running, progress);
            }
            (!paused, paused || kind == StepKind::Resume)
        };
        let outcome = if goes_on {
            simulation.poll_body(actor)
        } else {
            simulation.after_poll()
        };
        if let Some(outcome) = outcome {
            self.end_failed_actor(actor, outcome);
        }
        let kernel = self.simulation.kernel.borrow();
        Some(scan || self.device.is_some() || kernel.actors.has_changes() || kernel.stop.is_some())
    }

    /// Lets the actors without a choice continue: new actors, and actors that were stopped with an
    /// answer.
    fn settle_actors(&mut self) {
        while let Some(actor) = self.simulation.next_without_choice() {
            let shielded = catch_unwind(AssertUnwindSafe(|| self.simulation.poll_actor(actor)));
            match shielded {
                Ok(None) => {}
                Ok(Some(outcome)) => self.end_failed_actor(actor, outcome),
                Err(panic) => {
                    self.note_panic(&*panic);
                }
            }
        }
    }

    /// Records the failure of an actor and ends only that actor, not the run.
    #[cold]
    fn end_failed_actor(&mut self, actor: u32, outcome: Outcome) {
        let failure = match outcome {
            Outcome::Failed(failure) => failure,
            Outcome::ForeignFuture(failure) => {
                self.simulation.kernel.borrow_mut().actors.drop_later(actor);
                failure
            }
            Outcome::BadInput(message) => {
                let kernel = self.simulation.kernel.borrow();
                kernel.describe_failure(actor, message, false)
            }
            _ => return,
        };
        self.note_failure(failure);
    }

    #[cold]
    fn note_failure(&mut self, failure: Failure) {
        let ActorId(index) = failure.actor;
        self.simulation.kernel.borrow_mut().actors[index].killed = true;
        self.failures.push(failure);
        self.bury();
    }

    /// Ends the actors that are to end.
    fn bury(&mut self) {
        while (self.simulation)
            .after_poll()
            .is_some_and(|outcome| outcome != Outcome::Finished)
        {}
    }

    /// An actor panicked.
    #[cold]
    fn note_panic(&mut self, panic: &(dyn std::any::Any + Send)) {
        let message = panic_message(panic);
        let failure = {
            let mut kernel = self.simulation.kernel.borrow_mut();
            let actor = kernel.actors.current.min(kernel.actors.acting);
            assert!(actor != NONE, "a broken invariant of the kernel: {message}");
            (
                kernel.actors.current,
                kernel.actors.acting,
                kernel.choices.branch,
            ) = (NONE, NONE, 0);
            kernel.actors.drop_later(actor);
            kernel.actors[actor].killed = true;
            let is_limit = matches!(kernel.stop, Some(Outcome::Limit(_)));
            if is_limit {
                kernel.stop = None;
            }
            (!is_limit).then(|| kernel.describe_failure(actor, message, true))
        };
        // The future has not gone back into its record, unless it was its transition that panicked.
        let running = self.simulation.running.take();
        drop(catch_unwind(AssertUnwindSafe(|| drop(running))));
        if let Some(failure) = failure {
            return self.note_failure(failure);
        }
        self.is_cut = true;
        self.bury();
    }

    /// Returns true if an actor of the run was ended because of a limit.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The failures of the run so far, the first one first.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns true if an invariant has been stated in the run so far.
    #[must_use]
    pub fn has_invariants(&self) -> bool {
        self.simulation.kernel.borrow().watch.is_some()
    }

    /// Returns the blocked actors and the operations in which they wait.
    #[must_use]
    pub fn wait_graph(&self) -> WaitGraph {
        wait_graph(&self.simulation.kernel.borrow())
    }

    /// The choice that a branch of a [`Schedule`](crate::Schedule) means: the position among the
    /// steps that the actor can take.
    #[must_use]
    pub fn choice_of(&self, actor: u32, branch: u32) -> Option<u32> {
        Some(list_steps(self, actor).get(branch as usize)?.choice)
    }

    /// The branch of a schedule that means a choice: the inverse of [`Stepper::choice_of`].
    #[must_use]
    pub fn branch_of(&self, actor: u32, choice: u32) -> Option<u32> {
        let mut steps = list_steps(self, actor).into_iter();
        let position = steps.position(|step| step.choice == choice)?;
        u32::try_from(position).ok()
    }

    /// Returns the number of actors of a barrier.
    #[must_use]
    pub fn barrier_size(&self, barrier: u32) -> u32 {
        self.simulation.kernel.borrow().objects.barriers[barrier as usize].size
    }

    /// Returns true if an actor is in a loop of tests that can never succeed.
    #[must_use]
    pub fn is_polling(&self, actor: u32) -> bool {
        let kernel = self.simulation.kernel.borrow();
        let record = &kernel.actors[actor];
        !record.dead
            && record
                .slots()
                .iter()
                .any(|slot| slot.code.is_among(TransitionKindSet::POLLS))
    }

    /// The name of an actor.
    #[must_use]
    pub fn name_of(&self, actor: u32) -> String {
        let kernel = self.simulation.kernel.borrow();
        match (
            &self.device,
            actor.checked_sub(kernel.actors.count_actors()),
        ) {
            (Some(device), Some(queue)) => device.describe_queue(queue).name,
            _ => kernel.actors.actor_name(actor),
        }
    }

    /// Returns a fingerprint of all objects: the queues of waiting actors, and the posted
    /// operations. The knowledge of the actors is not in the fingerprint.
    #[must_use]
    pub fn object_digest(&self) -> Digest {
        let kernel = self.simulation.kernel.borrow();
        kernel.objects.object_digest(&kernel.actors)
    }
}

fn list_steps(stepper: &Stepper, actor: u32) -> Vec<EnabledStep> {
    let mut steps = Vec::new();
    stepper.enabled_steps(actor, &mut steps);
    steps
}

impl Drop for Stepper {
    /// The kernel and its device keep each other alive until here.
    fn drop(&mut self) {
        self.device = None;
        self.simulation.clear_objects();
    }
}

impl fmt::Debug for Stepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper")
            .field("actors", &self.actors())
            .finish_non_exhaustive()
    }
}

impl Simulation {
    /// Takes the next actor that continues without a choice.
    fn next_without_choice(&self) -> Option<u32> {
        let mut kernel = self.kernel.borrow_mut();
        if kernel.device_waits {
            drop(kernel);
            self.poll_device();
            kernel = self.kernel.borrow_mut();
        }
        let kernel = &mut *kernel;
        let mut next = kernel.actors.take_answered();
        if next.is_none() {
            next = (kernel.actors).take_woken(&kernel.exploration, &mut kernel.calendar);
        }
        next
    }

    /// Forgets all actors and objects and keeps the memory.
    fn clear_objects(&mut self) {
        self.drop_bodies();
        self.result = Ok(None);
        let messages = self.kernel.borrow_mut().objects.activities.take_messages();
        if !messages.is_empty() {
            drop(catch_unwind(AssertUnwindSafe(|| drop(messages))));
        }
        let watch = self.kernel.borrow_mut().watch.take();
        if watch.is_some() {
            drop(catch_unwind(AssertUnwindSafe(|| drop(watch))));
        }
        let mut kernel = self.kernel.borrow_mut();
        (kernel.device, kernel.exploration.device) = (None, None);
        kernel.recycle_parts();
        self.polls = 0;
    }
}
