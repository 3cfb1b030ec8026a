//! The trait behind which all models live: a resource is an *event source*, not a duration.
//!
//! A fluid model cannot know the duration of a transfer at its start, because later transfers slow
//! the transfer down. So the kernel never asks for a duration. The kernel starts work, asks for the
//! next date at which any work ends, and advances the resource to a date.
//! [`Constant`](crate::Constant) and the network and host models of `platform` are resources.
//!
//! Ordering guarantee: the kernel orders the ends of one date by the number of the activity, in
//! whatever order a resource reports them.
//!
//! Units: flop for computation, bytes for transfers, seconds for dates.

use std::fmt;
use std::rc::Rc;

use crate::{Control, LinkState, ParallelWork, PowerStates, Time};

/// A host, as a position in the table of hosts that the simulation was given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// A disk, as a position in the table of disks of the platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DiskId(pub u32);

/// Kind of a disk operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Io {
    /// A read from a disk.
    Read,
    /// A write to a disk.
    Write,
}

/// An activity in progress.
///
/// `slot` is dense and used again after the end of the activity: a resource may use `slot` as the
/// index of a table. `number` grows by one per activity, is never used again, and decides the order
/// of simultaneous ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActivityId {
    /// The serial number of the activity in this simulation.
    pub number: u64,
    /// The position in tables.
    pub slot: u32,
}

/// Work that an activity requests from a resource.
///
/// Parallel tasks are rare and large; they are behind a pointer so that the type stays small.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// A computation on one host.
    Exec {
        /// The host that runs the computation.
        host: HostId,
        /// Number of cores that the computation uses at the same time, at least 1.
        threads: u32,
        /// Amount of all threads together in flop, at least 0 and finite.
        flops: f64,
        /// Share of each thread relative to other computations on the host; 1 is usual, more is
        /// faster.
        priority: f64,
        /// Upper limit of all threads together in flop/s, infinite if there is none.
        bound: f64,
    },
    /// A transfer between two hosts, possibly the same.
    Transfer {
        /// The sending host.
        from: HostId,
        /// The receiving host.
        to: HostId,
        /// Amount in bytes, at least 0 and finite.
        bytes: f64,
        /// Upper limit in bytes/s, infinite if there is none.
        rate: f64,
    },
    /// Reading from or writing to a disk.
    Io {
        /// The disk.
        disk: DiskId,
        /// Read or write.
        operation: Io,
        /// Amount in bytes, at least 0 and finite.
        bytes: f64,
        /// Share relative to others at the disk; 1 is usual, more is faster.
        priority: f64,
    },
    /// Computations and transfers that progress together.
    Parallel(Rc<ParallelWork>),
}

/// A change of an activity that runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// A new priority of a computation or of a disk operation, above 0.
    Priority(f64),
    /// A new upper limit, in flop/s or bytes/s, above 0. Disk operations and parallel tasks have
    /// none.
    Bound(f64),
}

/// End of an activity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// All work of the activity was done.
    Done,
    /// A resource that the activity uses failed.
    Failed,
    /// The owner cancelled the activity, or a partner ended.
    Cancelled,
}

/// Why a resource cannot even start some work: a mistake in the input, such as two hosts without a
/// route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartError(pub String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// A model of hosts and networks, driven by the kernel.
///
/// At a date `now` the kernel calls `start`, `cancel`, `set_suspended` and `update`, one call for
/// each change. After the last change of this date the kernel calls `next_event`, then `advance`
/// with a date that is at most the returned date. So a resource can answer all changes of one date
/// by a single solve inside `next_event`.
pub trait Resource {
    /// Begins `work` for `activity` at the date `now`.
    ///
    /// # Errors
    /// [`StartError`] if the input does not allow this work at all; the run ends with that
    /// message.
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError>;

    /// Forgets the running `activity`; the resource will not report its end.
    fn cancel(&mut self, activity: ActivityId, now: Time);

    /// Stops the progress of `activity`, or lets a suspended activity continue. A latency being
    /// paid stops too. The kernel alternates the two, also when several actors wait for the
    /// activity.
    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time);

    /// Changes a running activity.
    fn update(&mut self, activity: ActivityId, change: Change, now: Time);

    /// The work that `activity` has left at the date `now`, in flop or bytes, or as a part of a
    /// parallel task.
    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64;

    /// Returns the next date, at or after `now`, of an event that the kernel can observe; `None`
    /// without such a date. Internal events of the resource may happen earlier, as long as they are
    /// before `horizon`. The kernel then advances to the returned date, or to `horizon`.
    ///
    /// A date at [`Time::HORIZON`] or later is a time overflow, and no deadlock.
    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time>;

    /// Returns true if no activity is in progress, and no change of a host or a link is to come:
    /// [`Resource::next_event`] has no date and [`Resource::advance`] no effect, until another
    /// method with `&mut self` is called. The kernel calls neither until then.
    fn is_idle(&self) -> bool {
        false
    }

    /// Returns true if no activity runs, and each change up to `date` repeats a change since
    /// `since`: then no actor that has waited since then will ever continue. A model with hosts
    /// that switch by themselves must return true in the end, or no deadlock is ever found.
    fn only_repeats(&self, since: Time, date: Time) -> bool {
        let _ = (since, date);
        false
    }

    /// Moves to the date `now` and appends everything that ends there to `ended`, in any order;
    /// returns true if [`Controllable::take_switched`] has hosts to report.
    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool;

    /// Returns the hosts and links of the resource, if their state can change.
    fn as_controllable(&mut self) -> Option<&mut dyn Controllable> {
        None
    }
}

/// Hosts and links of a resource that change their state, by themselves or by a request of an
/// actor.
pub trait Controllable {
    /// Makes a change that an actor requested; activities that fail by the change end at the next
    /// [`Resource::advance`], which the kernel calls at once.
    ///
    /// # Errors
    /// [`StartError`] if this model, host or link cannot change so; the run ends with the message.
    fn control(&mut self, control: Control, now: Time) -> Result<(), StartError>;

    /// Appends the hosts that were turned on (`true`) or off since the last call, by an actor or by
    /// themselves, in the order of the changes.
    fn take_switched(&mut self, switched: &mut Vec<(HostId, bool)>) {
        let _ = switched;
    }

    /// Returns true if a host that comes back also starts restarting actors that had ended by
    /// themselves, or were killed, before the host went off.
    fn restarts_ended_actors(&self) -> bool {
        false
    }

    /// The number of the link called so, if the model has links.
    fn link_by_name(&self, name: &str) -> Option<u32> {
        let _ = name;
        None
    }

    /// The present state of a link that [`Controllable::link_by_name`] gave.
    fn link_state(&self, link: u32) -> Option<LinkState> {
        let _ = link;
        None
    }

    /// The power states of a host, if the model has speeds.
    fn power_states(&self, host: HostId) -> Option<PowerStates> {
        let _ = host;
        None
    }
}
