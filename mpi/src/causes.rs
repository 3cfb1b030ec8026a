//! Why packets leave: what a model checker wants to know of a rank.
//!
//! A rank that asks for messages by name alone, and never asks what has arrived *by now*, does the
//! same in whatever order messages of different senders come to it. What it does is then not the
//! doing of whichever message came last: a packet leaves because of exactly those messages that the
//! program has waited for before it posted the packet, and an answer of the protocol because of the
//! message that is answered and of what the program had waited for when it posted the receive.
//!
//! A rank *chooses* from its first question on whose answer may depend on the order of arrivals: a
//! receive or a probe from any source, a test, a wait for some of several operations or in several
//! places at once, a cancellation, a request that is given up, a buffered send that does not leave
//! at once, a message that is forwarded.
//!
//! A rank that does nothing of this but receive from any source can tell the order of messages and
//! of announcements alone: receives and messages that both prefer the earlier have one matching.
//! When the answers and the data of announced messages come it cannot tell.

use std::panic::Location;

use crate::channel::Channel;

/// What a packet needs before it can leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason {
    /// So many of the arrivals that the program has waited for, in the order in which it did.
    pub known: u32,
    /// The step of one more arrival; [`Reason::NONE`] if there is none.
    pub arrival: u32,
    /// Number of receives that the rank had posted before the packet, as far as the packet shows
    /// it.
    pub receives: u32,
}

impl Reason {
    /// No arrival.
    pub const NONE: u32 = u32::MAX;
}

/// Takes note of one rank's reasons. Only channels under a model checker do.
pub trait Causes {
    /// The present step.
    fn step(&self) -> u32;

    /// The program has waited for something that arrived in this step.
    fn learn(&self, step: u32);

    /// How many arrivals the program has waited for.
    fn known(&self) -> u32;

    /// Counts a receive that is posted now. Returns its number among those of the rank, from 1.
    fn post_receive(&self) -> u32;

    /// Returns true if the posting of a receive of the rank happens before the send of the message
    /// that arrived in this step.
    fn is_posted_before(&self, receive: u32, arrival: u32) -> bool;

    /// The call that sent the message that arrived in this step.
    fn call_of(&self, arrival: u32) -> Option<&'static Location<'static>>;

    /// Why the next packets leave; `None` if the program posts them.
    fn because(&self, reason: Option<Reason>);

    /// The rank has asked something whose answer may depend on the order of arrivals.
    fn choose(&self);

    /// The rank receives from any source: the order of messages and of announcements may matter,
    /// and of nothing else.
    fn choose_source(&self);

    /// Returns true if it has asked something in this run whose answer may depend on more than the
    /// order of messages.
    fn has_chosen(&self) -> bool;

    /// The rank is about to park although what it waits for is there, and wants to go on at once:
    /// so it shows in how many places it waits.
    fn defer(&self);

    /// The program reads the time, which stands still.
    fn note_clock(&self, location: &'static Location<'static>) {
        let _ = location;
    }

    /// What is posted next is the message of this call.
    fn note_call(&self, location: &'static Location<'static>) {
        let _ = location;
    }

    /// A call has sent a message.
    fn note_send(&self, location: &'static Location<'static>) {
        let _ = location;
    }

    /// Takes the number of the message that the rank has just posted, if the model checker chooses
    /// whether its send is buffered.
    fn take_message(&self) -> Option<u32> {
        None
    }

    /// The rank waits for the sends of these messages. True if it goes on, as if all were buffered;
    /// otherwise it has to park.
    fn may_leave(&self, messages: &[u32]) -> bool {
        let _ = messages;
        true
    }
}

/// Notes a question whose answer may depend on the order of arrivals.
pub(crate) fn choose(channel: &dyn Channel) {
    if let Some(causes) = channel.causes() {
        causes.choose();
    }
}

/// Notes a receive from any source.
pub(crate) fn choose_source(channel: &dyn Channel) {
    if let Some(causes) = channel.causes() {
        causes.choose_source();
    }
}
