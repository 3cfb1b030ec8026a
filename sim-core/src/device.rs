//! The seam for what carries messages of layers above without mailboxes: a device.
//!
//! A device starts work on the resource and sets timers through the kernel, hears of their ends at
//! their dates, and wakes actors. An actor that waits for a device is parked with
//! [`DevicePort::park`]. The kernel knows nothing about what the device carries.
//!
//! Ordering guarantee: what a device is told at one date comes in the order in which it was started
//! or set.

use std::panic::Location;
use std::rc::Rc;

use crate::code::Code;
use crate::kernel::{Issued, Kernel, SendCall, SlotState, Stop};
use crate::{ActorId, Blocked, End, HostId, Span, Time, Work};

/// What hears of the ends of the work that it started. All methods but [`Device::progress`] are
/// called while the kernel moves; they must not poll anything and reach the kernel only through the
/// argument.
pub trait Device {
    /// The work started under `token` has ended.
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End);

    /// The timer set under `token` has expired.
    fn on_timer(&self, kernel: &mut Kernel, token: u64);

    /// The kernel is free, after [`Kernel::ask_for_progress`]: no actor is being polled, and the
    /// device may reach it through its port.
    fn progress(&self) {}

    /// The host of an actor went off, or is off when the actor should begin; the actor ends at this
    /// date.
    fn on_host_off(&self, kernel: &mut Kernel, actor: ActorId) {
        let _ = (kernel, actor);
    }

    /// Number of queues of the device from which an explorer can let something arrive; 0 for a
    /// device that decides itself.
    fn queues(&self) -> u32 {
        0
    }

    /// What would arrive next from a queue.
    fn head(&self, queue: u32) -> Option<QueueHead> {
        let _ = queue;
        None
    }

    /// The queue from which something arrives first if nobody prefers another. It depends on the
    /// run alone, not on the numbers that earlier runs have given to queues.
    fn first_queue(&self) -> Option<u32> {
        (0..self.queues()).find(|&queue| self.head(queue).is_some())
    }

    /// Lets the head of a queue arrive.
    fn deliver(&self, kernel: &mut Kernel, queue: u32) {
        let _ = (kernel, queue);
    }

    /// The steps that have to come before the head of a queue can arrive, besides the arrival of
    /// what was before it there: as far as its sender has not [chosen](Device::chooses), because
    /// then it is [`QueueHead::cause`] alone.
    fn causes(&self, queue: u32, into: &mut Vec<u32>) {
        into.extend(self.head(queue).map(|head| head.cause));
    }

    /// What an actor has asked in this run whose answer may depend on the order in which things
    /// arrive from different queues.
    fn chooses(&self, actor: ActorId) -> Choosing {
        let _ = actor;
        Choosing::Always
    }

    /// Returns true if a queue holds messages that receives from any source take.
    fn holds_messages(&self, queue: u32) -> bool {
        let _ = queue;
        true
    }

    /// Returns true if a parked actor that was woken stands before a choice of the explorer, and
    /// does not simply go on.
    fn stops(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }

    /// The explorer lets an actor that [stopped](Device::stops) go on.
    fn goes_on(&self, actor: ActorId) {
        let _ = actor;
    }

    /// Shows what came in this run where an actor takes what comes from anybody, in order. Nothing
    /// for a device that does not remember it.
    fn received(&self, show: &mut dyn FnMut(&Received)) {
        let _ = show;
    }

    /// Returns true if actors that are parked for the device stand before choices of the explorer:
    /// [`Device::branches`].
    fn has_branches(&self) -> bool {
        false
    }

    /// What a parked actor could do next. One of these is the actor's next step.
    fn branches(&self, actor: ActorId, into: &mut Vec<Branch>) {
        let _ = (actor, into);
    }

    /// The steps that have to come before a branch of an actor that [draws](Branch::draws), besides
    /// those of the actor itself.
    fn branch_causes(&self, actor: ActorId, into: &mut Vec<u32>) {
        let _ = (actor, into);
    }

    /// Does what a branch of a parked actor means; the actor goes on after that. A text says what
    /// is wrong with it.
    ///
    /// # Errors
    /// The text, with which the actor fails.
    fn take_branch(&self, kernel: &mut Kernel, actor: ActorId, number: u32) -> Result<(), String> {
        let _ = (kernel, actor, number);
        Ok(())
    }

    /// Returns true if the end of the run says nothing, because other runs go on where this one has
    /// stopped an actor.
    fn is_covered(&self) -> bool {
        false
    }

    /// A fingerprint of all that decides what can happen from here on, if that is in the device
    /// alone and its actors have no state of their own.
    fn state(&self) -> Option<(u64, u64)> {
        None
    }

    /// Returns the next arrival from a queue, in words, and the place of the call that has sent it.
    /// The names are filled in by others.
    fn describe_head(&self, queue: u32) -> Option<Blocked> {
        let _ = queue;
        None
    }

    /// A queue in words.
    fn queue_name(&self, queue: u32) -> String {
        format!("queue {queue}")
    }

    /// What was left unfinished at the end of a run, in words.
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the event that a parked actor waits for, in words; `None` if the device does not
    /// know the actor. The names of actor and host are filled in by the kernel.
    fn describe(&self, actor: ActorId) -> Option<Blocked>;
}

/// What came to an actor that would have taken the same from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Who took it.
    pub by: ActorId,
    /// From whom it came.
    pub from: ActorId,
    /// Where the program asked for it.
    pub location: &'static Location<'static>,
}

/// Something that an actor which is parked for a device could do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Its name among all that the actor may ever do, below 2^24.
    pub number: u32,
    /// Another actor whose part of the device it reads or changes.
    pub also: Option<ActorId>,
    /// The step that made it possible, if that was one of another actor; otherwise
    /// [`QueueHead::BEFORE`].
    pub cause: u32,
    /// True if it only decides how the actor goes on:
    /// [`StepKind::Choose`](crate::StepKind::Choose), which depends only on what arrives at an
    /// actor that [chooses](Device::chooses).
    pub draws: bool,
}

/// How much of the order in which things arrive an actor can tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Choosing {
    /// Nothing: it asks by name and waits.
    #[default]
    Never,
    /// It receives from any source: the order of the [messages](Device::holds_messages), and of
    /// nothing else.
    Sources,
    /// Everything: it tests, or waits for any of several things.
    Always,
}

/// What would arrive next from a queue of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueHead {
    /// For which actor.
    pub to: ActorId,
    /// Which actor put it there.
    pub from: ActorId,
    /// The how manyth of its queue it is, from 1.
    pub place: u32,
    /// The step in which it was put there, [`QueueHead::BEFORE`] if that was before the first; see
    /// [`Kernel::present_step`].
    pub cause: u32,
}

impl QueueHead {
    /// Before the first step.
    pub const BEFORE: u32 = u32::MAX;
}

/// Tokens are below this number.
pub const DEVICE_TOKENS: u64 = 1 << 62;

impl Kernel {
    /// Starts work; the device hears of its end under `token`, which is below [`DEVICE_TOKENS`].
    pub fn start_for_device(&mut self, work: &Work, token: u64) {
        debug_assert!(token < DEVICE_TOKENS, "tokens have 62 bits");
        self.start_device_work(work, token);
    }

    /// Sets a timer; the device hears of it under `token`, which is below [`DEVICE_TOKENS`].
    pub fn set_device_timer(&mut self, date: Time, token: u64) {
        debug_assert!(token < DEVICE_TOKENS, "tokens have 62 bits");
        let date = if self.clock == crate::Clock::Untimed {
            self.now
        } else {
            date
        };
        self.set_timer(date, crate::kernel::DEVICE_TARGET | token);
    }

    /// Lets an actor that is parked for the device go on. Does nothing if it is not parked.
    #[inline]
    pub fn wake_actor(&mut self, actor: ActorId) {
        self.progress += 1;
        let record = &mut self.actors[actor.index()];
        if record.fire_device() {
            self.schedule(actor.0);
        }
    }

    /// Asks for a call of [`Device::progress`] at this date, before any actor goes on.
    #[inline]
    pub const fn ask_for_progress(&mut self) {
        self.progress += 1;
        self.device_waits = true;
    }

    /// Folds two words that describe what the device did into the digest.
    #[inline]
    pub fn mix_digest(&mut self, first: u64, second: u64) {
        self.digest.mix(first, second);
    }

    /// Returns true if an explorer compares the contents of messages: then the device notes them
    /// with the calls that send them.
    #[must_use]
    pub const fn compares_sends(&self) -> bool {
        self.sends.is_some()
    }

    /// Notes a call that has sent a message.
    pub fn note_send(&mut self, call: SendCall) {
        if let Some(sends) = &mut self.sends {
            sends.push(call);
        }
    }

    /// Notes that a program reads the time at this place, where no time passes.
    pub fn note_clock_read(&mut self, location: &'static Location<'static>) {
        if !self.is_timed() && !self.clock_reads.contains(&location) {
            self.clock_reads.push(location);
        }
    }

    /// The number of the step that an explorer is taking, from 0; [`QueueHead::BEFORE`] before the
    /// first.
    #[must_use]
    pub const fn present_step(&self) -> u32 {
        self.step
    }

    /// Counts a message of `bytes` bytes in the statistics.
    #[inline]
    pub fn count_message(&mut self, bytes: f64) {
        self.messages += 1;
        self.bytes += bytes;
    }

    /// The host of an actor.
    #[must_use]
    #[inline]
    pub fn host_of(&self, actor: ActorId) -> HostId {
        self.actors[actor.index()].host
    }

    /// Ends the run: the input does not allow what was asked for.
    pub fn refuse(&mut self, message: String) {
        self.stop.get_or_insert(Stop::BadInput(message));
    }

    /// Ends the run as a failure of an actor. Nobody else goes on at this date.
    pub fn fail_actor(&mut self, actor: ActorId, message: String) {
        self.fail(actor.0, message, false);
    }

    /// The name of a host.
    #[must_use]
    pub fn host_name(&self, host: HostId) -> String {
        self.hosts.name(host)
    }

    /// Returns true if simulated time passes.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.clock == crate::Clock::Timed
    }
}

impl crate::kernel::ActorRecord {
    fn fire_device(&mut self) -> bool {
        let extra = self
            .extra
            .iter_mut()
            .flat_map(|extra| extra.slots.iter_mut());
        let mut any = false;
        for slot in std::iter::once(&mut self.first).chain(extra) {
            if slot.state == SlotState::Waiting && slot.code == Code::DEVICE {
                slot.state = SlotState::Fired;
                any = true;
            }
        }
        any
    }
}

/// A device's way to the kernel from within an actor's poll.
#[derive(Clone, Debug)]
pub struct DevicePort {
    kernel: crate::kernel::Shared,
}

impl DevicePort {
    pub(crate) const fn new(kernel: crate::kernel::Shared) -> Self {
        Self { kernel }
    }

    /// Calls `f` with the kernel.
    pub fn with<T>(&self, f: impl FnOnce(&mut Kernel) -> T) -> T {
        f(&mut self.kernel.borrow_mut())
    }

    /// The present date.
    #[must_use]
    pub fn now(&self) -> Time {
        self.kernel.borrow().now
    }

    /// An actor, for its name, its host and its output.
    #[must_use]
    pub fn actor(&self, id: ActorId) -> crate::Actor {
        crate::Actor {
            kernel: Rc::clone(&self.kernel),
            id,
        }
    }

    /// Returns true if this is the waker that the kernel itself polls with: waking it means
    /// nothing, any other belongs to a combinator that polls only those of its futures that were
    /// woken.
    #[must_use]
    pub fn is_own_waker(&self, waker: &std::task::Waker) -> bool {
        std::ptr::eq(waker, self.kernel.borrow().waker)
    }

    /// Makes `device` the one that the kernel tells of ends and timers.
    pub fn attach(&self, device: Rc<dyn Device>) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.branches = device.has_branches();
        kernel.device = Some(device);
    }

    /// Parks the actor that is being polled until the device wakes it. Dropping the token unparks.
    #[must_use]
    pub fn park(&self, location: &'static Location<'static>) -> Parked {
        let mut kernel = self.kernel.borrow_mut();
        let (actor, waker) = (kernel.current, kernel.waker);
        let issued = kernel.issue(Code::DEVICE, Span::INFINITE, location, waker);
        let Issued::Parked(ticket) = issued else {
            unreachable!("a device wait is never enabled when it is issued")
        };
        Parked { actor, ticket }
    }

    /// Returns true if a parked actor has been woken; if so the token is used up.
    #[must_use]
    pub fn is_woken(&self, parked: Parked) -> bool {
        self.kernel
            .borrow_mut()
            .collect(parked.actor, parked.ticket)
            .is_some()
    }

    /// Takes a parked wait back.
    pub fn unpark(&self, parked: Parked) {
        self.kernel
            .borrow_mut()
            .withdraw(parked.actor, parked.ticket);
    }
}

/// The ticket of a parked actor.
#[derive(Clone, Copy, Debug)]
pub struct Parked {
    actor: u32,
    ticket: u32,
}
