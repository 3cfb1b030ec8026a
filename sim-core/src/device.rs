//! The seam for devices: a device carries messages of upper layers without mailboxes.
//!
//! A device starts work on the resource and sets timers through the kernel, gets their ends at
//! their dates, and wakes actors. An actor that waits for a device is parked with
//! [`KernelHandle::park`]. The kernel does not know the contents of the messages.
//!
//! Ordering guarantee: the notifications of one date come in the order in which the device started
//! the work and set the timers.

use source_location::SourceLocation;
use std::rc::Rc;

use crate::ExplorableDevice;
use crate::code::Code;
use crate::kernel::{DEVICE_TARGET, DEVICE_WORK, Kernel, NONE, PendingState};
use crate::{
    ActivityId, ActorId, Blocked, DeviceFact, End, HostId, Limit, Note, Outcome, Time, Work,
};

/// A component that starts work and is notified when the work ends. The kernel is borrowed during
/// all calls except [`Device::progress`]; the methods must not poll a future and reach the kernel
/// only through the argument.
pub trait Device {
    /// The work started under `token` has ended.
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End);

    /// The timer set under `token` has expired.
    fn on_timer(&self, kernel: &mut Kernel, token: u64);

    /// Called after [`Kernel::request_progress`], when the kernel is not borrowed: no actor is
    /// being polled, and the device may reach the kernel through its port.
    fn progress(&self) {}

    /// The host of an actor went off, or is off when the actor should begin; the actor ends at this
    /// date.
    fn on_host_off(&self, kernel: &mut Kernel, actor: ActorId) {
        let _ = (kernel, actor);
    }

    /// Returns the event that a parked actor waits for, in words; `None` if the device does not
    /// know the actor. The names of actor and host are filled in by the kernel.
    fn describe(&self, actor: ActorId) -> Option<Blocked>;
}

/// Tokens are below this number.
pub const DEVICE_TOKENS: u64 = 1 << 62;

impl Kernel {
    /// Starts work; the device gets the end under `token`, which is below [`DEVICE_TOKENS`]. In
    /// untimed runs the work ends at once, as an event of its own.
    #[inline]
    pub fn start_for_device(&mut self, work: &Work, token: u64) {
        debug_assert!(token < DEVICE_TOKENS, "tokens have 62 bits");
        if !self.is_timed() {
            let target = DEVICE_TARGET | DEVICE_WORK | token;
            self.calendar.set_timer(self.now(), target);
            return;
        }
        let slot = self.objects.activities.insert_device_work(token);
        let (number, now) = (self.calendar.next_number(), self.now());
        let id = ActivityId { number, slot };
        if let Err(error) = self.calendar.resource.start(id, work, now) {
            self.objects.activities.take_device_work(slot);
            self.stop.get_or_insert(Outcome::BadInput(error.0));
        }
    }

    /// Sets a timer; the device gets its expiry under `token`, which is below [`DEVICE_TOKENS`].
    pub fn set_device_timer(&mut self, date: Time, token: u64) {
        debug_assert!(token < DEVICE_TOKENS, "tokens have 62 bits");
        let date = if self.is_timed() { date } else { self.now() };
        self.calendar.set_timer(date, DEVICE_TARGET | token);
    }

    /// Lets an actor that is parked for the device continue. Has no effect on an unparked actor.
    #[inline]
    pub fn wake_actor(&mut self, actor: ActorId) {
        self.actors.progress += 1;
        if self.actors[actor.0].fire_slots(|slot| slot.code == Code::DEVICE) {
            self.actors.schedule_actor(actor.0);
            if self.actors.mode.is_stepped() {
                self.actors.woken.push(actor.0);
            }
        }
    }

    /// [`Kernel::wake_actor`] for a device that does not look at the token of the park, while the
    /// actor is not polled. Returns true if the park is over and the token is void: the actor waits
    /// for the device alone, and neither a chooser nor an explorer chooses turns. Otherwise
    /// [`KernelHandle::is_woken`] has the answer.
    #[inline]
    pub fn end_park(&mut self, actor: ActorId) -> bool {
        let is_chosen = self.actors.mode.is_chosen();
        let is_polled = self.actors.current == actor.0;
        debug_assert!(is_chosen || !is_polled, "a poll ends its own park");
        let record = &mut self.actors[actor.0];
        let slot = &record.first;
        let is_parked = slot.code == Code::DEVICE && slot.state == PendingState::Waiting;
        let is_alone = is_parked && !record.has_more() && !record.has_wakers();
        if !is_alone || is_chosen {
            self.wake_actor(actor);
            return false;
        }
        record.first.code = Code::DEVICE.marked(true);
        record.first.state = PendingState::Fired;
        self.actors.progress += 1;
        self.actors.schedule_actor(actor.0);
        true
    }

    /// Asks for a call of [`Device::progress`] at this date, before any actor continues.
    #[inline]
    pub const fn request_progress(&mut self) {
        self.actors.progress += 1;
        self.device_waits = true;
    }

    /// Folds two words that describe an action of the device into the digest.
    #[inline]
    pub fn mix_digest(&mut self, first: u64, second: u64) {
        self.counters.digest.mix(first, second);
    }

    /// Returns true if an explorer compares the contents of messages: then the device notes them
    /// with the calls that send them.
    #[must_use]
    pub const fn compares_sends(&self) -> bool {
        self.exploration.sends.is_some()
    }

    /// Notes a fact of the run for an explorer.
    #[inline]
    pub fn note_fact(&mut self, fact: DeviceFact) {
        match fact {
            DeviceFact::MessageSent(call) => {
                if let Some(sends) = &mut self.exploration.sends {
                    sends.push(call);
                }
            }
            DeviceFact::WildcardReceive(receive) => {
                self.exploration.wildcard_receives.push(receive);
            }
            DeviceFact::UserNote(note) => {
                if !self.exploration.notes.contains(&note) {
                    self.exploration.notes.push(note);
                }
            }
        }
    }

    /// Notes that a program reads the time at this place, where no time passes.
    pub fn note_clock_read(&mut self, location: SourceLocation) {
        if !self.is_timed() && !self.exploration.clock_reads.contains(&location) {
            self.exploration.clock_reads.push(location);
        }
    }

    /// The number of the step that an explorer is taking, from 0;
    /// [`QueueHead::BEFORE`](crate::QueueHead::BEFORE) before the first.
    #[must_use]
    pub const fn current_step(&self) -> u32 {
        self.exploration.steps.wrapping_sub(1)
    }

    /// Counts a message of `bytes` bytes in the statistics. An actor that sends without end, and
    /// never waits, ends the run if time is limited, or the run of an explorer.
    #[inline]
    pub fn count_message(&mut self, bytes: f64) {
        self.counters.messages += 1;
        self.counters.bytes += bytes;
        self.actors.sends_in_step += 1;
        if self.actors.sends_in_step > self.actors.sends_in_step_max && self.actors.current != NONE
        {
            end_at_sends(self);
        }
    }

    /// The host of an actor.
    #[must_use]
    #[inline]
    pub fn host_of(&self, actor: ActorId) -> HostId {
        self.actors[actor.0].host
    }

    /// Ends the run: the input does not allow the requested action.
    pub fn refuse_run(&mut self, message: String) {
        self.stop.get_or_insert(Outcome::BadInput(message));
    }

    /// Ends the run because of a limit. If an actor is running, the call also unwinds the poll of
    /// this actor. An explorer continues with other runs and shows the text to its user.
    pub fn reach_limit(&mut self, limit: Limit, text: &str) {
        if self.actors.mode.is_stepped() {
            self.note_fact(DeviceFact::UserNote(Note::Remark(text.to_owned())));
        }
        self.stop.get_or_insert(Outcome::Limit(limit));
        if self.actors.current != NONE {
            std::panic::resume_unwind(Box::new("a limit was reached"));
        }
    }

    /// Ends the run as a failure of an actor. No other actor continues at this date.
    pub fn fail_actor(&mut self, actor: ActorId, message: String) {
        self.actors[actor.0].killed = true;
        if self.stop.is_none() {
            let failure = self.describe_failure(actor.0, message, false);
            self.stop = Some(Outcome::Failed(failure));
        }
    }

    /// The name of a host.
    #[must_use]
    pub fn host_name(&self, host: HostId) -> String {
        self.actors.hosts.name(host)
    }

    /// Returns true if simulated time passes.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.calendar.is_timed()
    }
}

/// Ends the run because the polled actor sends without end.
#[cold]
fn end_at_sends(kernel: &mut Kernel) {
    let actors = &kernel.actors;
    let (count, name) = (actors.sends_in_step, actors.actor_name(actors.current));
    let text =
        format!("{name} sends {count} messages and never waits: the search goes no further there");
    kernel.reach_limit(Limit::Standstill(count), &text);
}

/// A device's way to the kernel from within an actor's poll.
#[derive(Clone, Debug)]
pub struct KernelHandle {
    kernel: crate::kernel::Shared,
}

impl KernelHandle {
    pub(crate) const fn new(kernel: crate::kernel::Shared) -> Self {
        Self { kernel }
    }

    /// Calls `f` with the kernel.
    pub fn with_kernel<T>(&self, f: impl FnOnce(&mut Kernel) -> T) -> T {
        f(&mut self.kernel.borrow_mut())
    }

    /// The present date.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Time {
        self.kernel.borrow().now()
    }

    /// Returns the handle of an actor, for the name, the host and the output of the actor.
    #[must_use]
    pub fn actor(&self, id: ActorId) -> crate::Actor {
        crate::Actor {
            kernel: Rc::clone(&self.kernel),
            id,
        }
    }

    /// Returns the waker of the kernel, which has no effect when woken. Any waker at another
    /// address belongs to a combinator that polls only its woken futures.
    #[must_use]
    pub fn own_waker(&self) -> &'static std::task::Waker {
        self.kernel.borrow().waker
    }

    /// Makes `device` the one that the kernel tells of ends and timers.
    pub fn attach(&self, device: Rc<dyn Device>) {
        self.kernel.borrow_mut().device = Some(device);
    }

    /// Attaches a device with arrivals that are steps of an explorer.
    pub fn attach_explorable(&self, device: Rc<dyn ExplorableDevice>) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.exploration.device = Some(Rc::clone(&device));
        kernel.device = Some(device);
    }

    /// Parks the polled actor until the device wakes it.
    #[must_use]
    #[inline]
    pub fn park(&self, location: SourceLocation) -> Parked {
        let (actor, operation_id) = self.kernel.borrow_mut().park_for_device(location);
        Parked {
            actor,
            operation_id,
        }
    }

    /// Returns true if a parked actor has been woken; if so the token is used up.
    #[must_use]
    pub fn is_woken(&self, parked: Parked) -> bool {
        (self.kernel.borrow_mut().actors)
            .take_answer(parked.actor, parked.operation_id)
            .is_some()
    }

    /// Takes a parked wait back.
    pub fn unpark(&self, parked: Parked) {
        (self.kernel.borrow_mut()).withdraw_operation(parked.actor, parked.operation_id);
    }
}

/// The ticket of a parked actor.
#[derive(Clone, Copy, Debug)]
pub struct Parked {
    pub(crate) actor: u32,
    pub(crate) operation_id: u32,
}
