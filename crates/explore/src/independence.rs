//! The dependency relation: pairs of events whose order matters. It defines the equivalence of
//! runs.
//!
//! Two events are independent if, wherever both can happen, neither enables or disables the other
//! and both orders lead to the same state. The relation may call independent events dependent (more
//! runs than necessary); to call dependent events independent would lose runs. Every cell of the
//! table is tested by executing both orders from random reachable states (`tests/commutation.rs`).
//!
//! The rows are those of the published checkers for this family of programs (The Anh Pham's thesis,
//! section 4.4, for the proofs), with these differences, each for a reason:
//!
//! * A question of a sender about a communication of a mailbox with a permanent receiver does not
//!   depend on the receive: the send began the communication ([`sim_core::Footprint::BEGUN`]).
//! * Arrivals at a barrier are dependent if one of the actors asks for the last arrival, or if the
//!   actors outnumber the barrier's size; arrivals and waits of different rounds are independent.
//! * Two entries into the queue of one condition variable are dependent (with two mutexes they can
//!   race).
//! * Creations of actors commute: only the numbering competes, which happens before, as a separate
//!   effect.
//! * A draw depends on a join of the drawing actor: here the draw may be the actor's last event.
//! * Cancelling depends on everything at the same mailbox or mutex. Ending, suspending and resuming
//!   actors, hosts and links depend on everything.
//! * A put or get that is withdrawn because the time limit expired is a cancellation. A timed wait
//!   for a unit, a signal or the end of an actor has a separate row: the wait is a test of the
//!   awaited condition, and withdraws the request on failure.
//! * A delivery to a rank depends on the other deliveries to the rank and on the rank's tests for
//!   arrivals: a delivery includes all steps of the rank until the next wait. A packet is delivered
//!   after the sending step. But if no call of the rank has a result that depends on the order of
//!   arrivals, deliveries from different queues commute; packets from the rank are delivered after
//!   the packets for which the rank had waited, whichever came last. If the rank only receives from
//!   any source, only deliveries of messages depend on each other; if other ranks access the rank's
//!   memory, deliveries of conflicting accesses ([`sim_core::AccessClass`]). In all these cases the
//!   selected answers to the rank's questions depend on no delivery.
//! * The choice of an answer that is possible only as long as a message has not arrived depends on
//!   all deliveries to the rank.
//! * A time limit that expires because no other step is possible depends on everything.
//! * Events with hidden effects (a handle dropped, a state read without an operation) depend on
//!   everything but draws and sleeps, and events that number new actors or objects on each other.

use std::collections::BTreeMap;

use sim_core::{AccessClass, Executed, Footprint, StepKind};

use crate::Event;

/// When two events of a pair of kinds depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If they are about the same object.
    SameObject,
    /// If they are about the same communication.
    SameCommunication,
    /// If they are about the same communication and the test distinguishes work in progress from
    /// finished work.
    SameEnd,
    /// The same for a communication in the list that is tested.
    EndInList,
    /// If the communication is in the list that is tested.
    InList,
    /// If the mailbox belongs to a communication in the list that is tested.
    MailboxInList,
    /// If they arrive at the same barrier and the order can be seen.
    Arrivals,
    /// If they are about the same round of the same barrier.
    SameRound,
    /// If the mutexes of the condition variables' waits are the same.
    SameMutexes,
    /// If the mutex of a condition variable's wait is the mutex of the other event.
    MutexOfCondvar,
    /// If they are deliveries to the same actor, or a delivery to the actor and a choice of the
    /// actor's continuation, and the actor may observe their order.
    InSight,
    /// If one of the actors is one that the other event also touches, or both touch a third.
    TouchedActors,
}

/// The number of kinds.
const KINDS: usize = StepKind::ALL.len() + 1;

/// The rows that are not `Never`. Either order of a pair means both.
const ROWS: &[(StepKind, StepKind, Rule)] = {
    use Rule::{
        Always, Arrivals, EndInList, InList, InSight, MailboxInList, MutexOfCondvar,
        SameCommunication, SameEnd, SameMutexes, SameObject, SameRound, TouchedActors,
    };
    use StepKind::{
        AsyncReceive, AsyncSend, BarrierAsyncLock, BarrierWait, Cancel, Choose, CondvarAsyncLock,
        CondvarBroadcast, CondvarSignal, CondvarWait, Deliver, Device, MutexAsyncLock, MutexCancel,
        MutexTest, MutexTryLock, MutexUnlock, MutexWait, Probe, SemaphoreAsyncLock,
        SemaphoreUnlock, SemaphoreWait, Test, TestAny, TestAnyEnded, TestEnded, TimedCondvarWait,
        TimedSemaphoreWait, Wait, WaitAny, Withdraw,
    };
    &[
        (AsyncSend, AsyncSend, SameObject),
        (AsyncReceive, AsyncReceive, SameObject),
        (AsyncSend, Probe, SameObject),
        (AsyncReceive, Probe, SameObject),
        (Probe, Probe, SameObject),
        (AsyncSend, Test, SameCommunication),
        (AsyncReceive, Test, SameCommunication),
        (AsyncSend, Wait, SameCommunication),
        (AsyncReceive, Wait, SameCommunication),
        (AsyncSend, WaitAny, SameCommunication),
        (AsyncReceive, WaitAny, SameCommunication),
        (AsyncSend, TestEnded, SameCommunication),
        (AsyncReceive, TestEnded, SameCommunication),
        (AsyncSend, TestAnyEnded, Always),
        (AsyncReceive, TestAnyEnded, Always),
        (Test, Wait, SameEnd),
        (Test, WaitAny, SameEnd),
        (Test, TestEnded, SameEnd),
        (Test, TestAnyEnded, SameEnd),
        (TestAny, Wait, EndInList),
        (TestAny, WaitAny, EndInList),
        (TestAny, TestEnded, EndInList),
        (TestAny, TestAnyEnded, EndInList),
        // A branch that lets work end sleeps while its test is explored. If it were independent of
        // what shows that end, it would cover orders in which the test itself comes later.
        (TestEnded, Wait, SameEnd),
        (TestEnded, WaitAny, SameEnd),
        (TestEnded, TestEnded, SameEnd),
        (TestEnded, TestAnyEnded, SameEnd),
        (TestAnyEnded, Wait, Always),
        (TestAnyEnded, WaitAny, Always),
        (TestAnyEnded, TestAnyEnded, Always),
        (AsyncSend, TestAny, InList),
        (AsyncReceive, TestAny, InList),
        (Cancel, AsyncSend, SameObject),
        (Cancel, AsyncReceive, SameObject),
        (Cancel, Probe, SameObject),
        (Cancel, Test, SameObject),
        (Cancel, Wait, SameObject),
        (Cancel, WaitAny, SameObject),
        (Cancel, TestEnded, SameObject),
        (Cancel, TestAnyEnded, SameObject),
        (Cancel, Cancel, SameObject),
        (Cancel, TestAny, MailboxInList),
        (Withdraw, AsyncSend, SameObject),
        (Withdraw, AsyncReceive, SameObject),
        (Withdraw, Probe, SameObject),
        (Withdraw, Test, SameObject),
        (Withdraw, Wait, SameObject),
        (Withdraw, WaitAny, SameObject),
        (Withdraw, TestEnded, SameObject),
        (Withdraw, TestAnyEnded, SameObject),
        (Withdraw, Cancel, SameObject),
        (Withdraw, Withdraw, SameObject),
        (Withdraw, TestAny, MailboxInList),
        (MutexAsyncLock, MutexAsyncLock, SameObject),
        (MutexAsyncLock, MutexTryLock, SameObject),
        (MutexTryLock, MutexTryLock, SameObject),
        (MutexTryLock, MutexUnlock, SameObject),
        (MutexTest, MutexUnlock, SameObject),
        (MutexUnlock, MutexWait, SameObject),
        (MutexCancel, MutexAsyncLock, SameObject),
        (MutexCancel, MutexTest, SameObject),
        (MutexCancel, MutexTryLock, SameObject),
        (MutexCancel, MutexWait, SameObject),
        (MutexCancel, MutexUnlock, SameObject),
        (MutexCancel, MutexCancel, SameObject),
        (SemaphoreAsyncLock, SemaphoreAsyncLock, SameObject),
        (SemaphoreUnlock, SemaphoreWait, SameObject),
        (SemaphoreUnlock, TimedSemaphoreWait, SameObject),
        (BarrierAsyncLock, BarrierAsyncLock, Arrivals),
        (BarrierAsyncLock, BarrierWait, SameRound),
        (CondvarAsyncLock, CondvarAsyncLock, SameObject),
        (CondvarAsyncLock, CondvarSignal, SameObject),
        (CondvarAsyncLock, CondvarBroadcast, SameObject),
        (CondvarWait, CondvarSignal, SameObject),
        (CondvarWait, CondvarBroadcast, SameObject),
        (CondvarWait, CondvarWait, SameMutexes),
        (CondvarAsyncLock, MutexWait, MutexOfCondvar),
        (CondvarAsyncLock, MutexUnlock, MutexOfCondvar),
        (CondvarAsyncLock, MutexTryLock, MutexOfCondvar),
        (CondvarAsyncLock, MutexTest, MutexOfCondvar),
        (CondvarAsyncLock, MutexCancel, MutexOfCondvar),
        (CondvarWait, MutexAsyncLock, MutexOfCondvar),
        (CondvarWait, MutexTryLock, MutexOfCondvar),
        (CondvarWait, MutexCancel, MutexOfCondvar),
        (TimedCondvarWait, CondvarSignal, SameObject),
        (TimedCondvarWait, CondvarBroadcast, SameObject),
        (TimedCondvarWait, CondvarWait, SameMutexes),
        (TimedCondvarWait, TimedCondvarWait, SameMutexes),
        (TimedCondvarWait, MutexAsyncLock, MutexOfCondvar),
        (TimedCondvarWait, MutexTryLock, MutexOfCondvar),
        (TimedCondvarWait, MutexCancel, MutexOfCondvar),
        (Deliver, Deliver, InSight),
        (Deliver, Device, InSight),
        (Deliver, Choose, InSight),
        (Device, Device, TouchedActors),
    ]
};

/// Returns true if events of a kind depend on everything.
#[inline]
pub(crate) const fn is_global(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Kill
            | StepKind::Suspend
            | StepKind::Resume
            | StepKind::SwitchHost
            | StepKind::Control
    )
}

/// Returns true if a pair of kinds is dependent although both orders of two such enabled steps lead
/// to the same state: two probes; a step that only enables the other (the release of a semaphore
/// and a wait for the unit, a signal and the wait for this signal, a waiter that leaves the queue
/// of a mutex); joining and leaving the queue of a mutex; an enabled wait and a cancellation at the
/// same mailbox, which changes only the names of others; a timed join, for which only the last step
/// of the target matters; a test that lets work end, and a step that shows an end or begins work,
/// because of the test itself; and steps that depend on everything. This costs runs and loses none.
pub fn is_conservative(first: StepKind, second: StepKind) -> bool {
    let pair = (first.min(second), first.max(second));
    matches!(
        pair,
        (StepKind::Probe, StepKind::Probe)
            | (StepKind::SemaphoreWait, StepKind::SemaphoreUnlock)
            | (StepKind::MutexAsyncLock, StepKind::MutexCancel)
            | (StepKind::Wait | StepKind::WaitAny, StepKind::Cancel)
            | (
                StepKind::MutexWait | StepKind::MutexCancel,
                StepKind::MutexCancel
            )
            | (StepKind::BarrierAsyncLock, StepKind::BarrierWait)
            | (
                StepKind::MutexCancel,
                StepKind::CondvarAsyncLock | StepKind::CondvarWait | StepKind::TimedCondvarWait
            )
            | (
                StepKind::CondvarWait,
                StepKind::CondvarSignal | StepKind::CondvarBroadcast
            )
            | (_, StepKind::TimedJoin)
            | (
                StepKind::Wait | StepKind::WaitAny | StepKind::TestEnded | StepKind::TestAnyEnded,
                StepKind::TestEnded | StepKind::TestAnyEnded
            )
            | (
                StepKind::AsyncSend | StepKind::AsyncReceive,
                StepKind::TestAnyEnded
            )
    ) || is_global(first)
        || is_global(second)
}

const TABLE: [[Rule; KINDS]; KINDS] = {
    let mut table = [[Rule::Never; KINDS]; KINDS];
    let mut row = 0;
    while row < ROWS.len() {
        let (first, second, rule) = ROWS[row];
        table[first as usize][second as usize] = rule;
        table[second as usize][first as usize] = rule;
        row += 1;
    }
    let mut all = 0;
    while all < StepKind::ALL.len() {
        let global = StepKind::ALL[all];
        all += 1;
        if !is_global(global) {
            continue;
        }
        let mut kind = 0;
        while kind < KINDS {
            table[global as usize][kind] = Rule::Always;
            table[kind][global as usize] = Rule::Always;
            kind += 1;
        }
    }
    table
};

/// The pairs of kinds that the table calls dependent, the smaller kind first, without the kinds
/// that depend on everything.
pub fn dependent_pairs() -> impl Iterator<Item = (StepKind, StepKind)> {
    let pair =
        |&(first, second, _): &(StepKind, StepKind, Rule)| (first.min(second), first.max(second));
    ROWS.iter().map(pair)
}

/// The rule for a pair of kinds; the order does not matter.
#[inline]
pub const fn rule(first: StepKind, second: StepKind) -> Rule {
    TABLE[first as usize][second as usize]
}

/// The lists of communications that are tested, each with a number, for the whole exploration. The
/// number of a list is computed from the members and is the same in every search, because traces
/// are distinguished by this number.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    all: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Lists {
    /// The number of a list of communications, each given as mailbox and place.
    pub fn list_number(&mut self, list: &[(u32, u32)]) -> u32 {
        let mix = |hash: u32, word: u32| (hash ^ word).wrapping_mul(0x9e37_79b1).rotate_left(13);
        let hash = list
            .iter()
            .fold(7, |hash, &(mailbox, place)| mix(mix(hash, mailbox), place));
        let mut number = hash;
        while self.all.get(&number).is_some_and(|other| other != list) {
            number = number.wrapping_add(1);
        }
        self.all.entry(number).or_insert_with(|| list.to_vec());
        number
    }

    /// The communications of a list.
    ///
    /// # Panics
    /// If no list has this number.
    pub fn get(&self, number: u32) -> &[(u32, u32)] {
        &self.all[&number]
    }
}

/// The kinds of events on which one event can depend, as bit sets: a fast check that avoids most
/// calls of [`dependent`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspects {
    /// Whatever they are about.
    any: u64,
    /// If they are about the same object.
    same_object: u64,
    object: u32,
    /// The bit of the object in [`Touched`].
    object_bit: u64,
}

impl Suspects {
    #[inline]
    pub(crate) const fn from_event(event: &Event) -> Self {
        let [any, same_object] = SUSPECTS[event.kind as usize];
        let is_special = event.effects & SPECIAL != 0;
        Self {
            any: if is_special { u64::MAX } else { any },
            same_object,
            object: event.object,
            object_bit: 1 << (event.object % u64::BITS),
        }
    }

    /// Returns false only if the event depends on none of the events of another actor.
    #[inline]
    pub(crate) const fn include_any(self, touched: Touched) -> bool {
        let same_object = touched.objects & self.object_bit != 0;
        touched.kinds & self.any != 0
            || (same_object && touched.kinds & self.same_object != 0)
            || touched.effects & SPECIAL != 0
    }

    /// Returns false only if the event does not depend on another one of another actor.
    #[inline]
    pub(crate) const fn include(self, other: &Event) -> bool {
        let set = if other.object == self.object {
            self.any | self.same_object
        } else {
            self.any
        };
        set >> other.kind as u64 & 1 != 0 || other.effects & SPECIAL != 0
    }
}

/// The kinds and objects of the events of an actor. A superset is sound, and only slower.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Touched {
    kinds: u64,
    /// A bit for all objects with the same rest.
    objects: u64,
    effects: u8,
}

impl Touched {
    #[inline]
    pub(crate) const fn add_event(&mut self, event: &Event) {
        self.kinds |= 1 << event.kind as u64;
        self.objects |= 1 << (event.object % u64::BITS);
        self.effects |= event.effects;
    }
}

/// By kind, the sets of [`Suspects`].
static SUSPECTS: [[u64; 2]; KINDS] = {
    let mut table = [[0; 2]; KINDS];
    let mut first = 1;
    while first < KINDS {
        let mut second = 1;
        while second < KINDS {
            let is_about_actor = is_about_actor(StepKind::from_number(first as u8))
                || is_about_actor(StepKind::from_number(second as u8));
            match TABLE[first][second] {
                _ if is_about_actor => table[first][0] |= 1 << second,
                Rule::Never => {}
                Rule::SameObject
                | Rule::SameCommunication
                | Rule::SameEnd
                | Rule::Arrivals
                | Rule::SameRound
                | Rule::InSight => table[first][1] |= 1 << second,
                _ => table[first][0] |= 1 << second,
            }
            second += 1;
        }
        first += 1;
    }
    table
};

/// Effects that can make any two events dependent.
const SPECIAL: u8 = Executed::HIDDEN | Executed::ALLOCATES | Executed::IDLE;

/// Returns true if two events depend on each other. Events of one actor always do.
#[inline]
pub fn dependent(first: &Event, second: &Event, lists: &Lists) -> bool {
    if first.actor == second.actor {
        return true;
    }
    if (first.effects | second.effects) & SPECIAL != 0 && have_effects(first, second) {
        return true;
    }
    if is_about_actor(first.kind) || is_about_actor(second.kind) {
        return about_actors(first, second) || rule(first.kind, second.kind) == Rule::Always;
    }
    match rule(first.kind, second.kind) {
        Rule::Never => false,
        Rule::SameObject => is_same_object(first, second),
        other => rarer(other, first, second, lists),
    }
}

/// Returns true if two events are dependent because of effects besides their transitions. A draw,
/// sleep, yield or expiry of a time limit without own hidden effects does not depend on the hidden
/// effects of others.
#[cold]
fn have_effects(first: &Event, second: &Event) -> bool {
    let touches = |one: &Event, other: &Event| {
        one.effects & Executed::HIDDEN != 0
            && (other.effects & Executed::HIDDEN != 0
                || !matches!(
                    other.kind,
                    StepKind::Random | StepKind::Sleep | StepKind::Yield | StepKind::TimeUp
                ))
    };
    (first.effects | second.effects) & Executed::IDLE != 0
        || touches(first, second)
        || touches(second, first)
        || first.effects & second.effects & Executed::ALLOCATES != 0
}

/// Returns true if two events access the same object. A wait for a computation accesses none.
#[inline]
const fn is_same_object(first: &Event, second: &Event) -> bool {
    first.object == second.object && first.object != Footprint::NOTHING
}

pub(crate) const fn is_about_actor(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Join | StepKind::TimedJoin | StepKind::Create
    )
}

/// Returns true if a join and an event of the target, or a creation and an event of the child, or a
/// join and the creation of the target are dependent; the target may have no event.
fn about_actors(first: &Event, second: &Event) -> bool {
    let about = |event: &Event, other: &Event| {
        is_about_actor(event.kind) && event.object == u32::from(other.actor)
    };
    about(first, second)
        || about(second, first)
        || (is_about_actor(first.kind)
            && is_about_actor(second.kind)
            && (first.kind == StepKind::Create) != (second.kind == StepKind::Create)
            && first.object == second.object)
}

fn rarer(rule: Rule, first: &Event, second: &Event, lists: &Lists) -> bool {
    match rule {
        Rule::Never => false,
        Rule::Always => true,
        Rule::SameObject => is_same_object(first, second),
        Rule::SameCommunication => is_same_object(first, second) && first.detail == second.detail,
        Rule::SameEnd => {
            (first.effects | second.effects) & Event::TELLS_ENDS != 0
                && is_same_object(first, second)
                && (first.detail ^ second.detail) & !Footprint::BEGUN == 0
        }
        Rule::EndInList => {
            let (list, other) = list_first(first, second);
            let mut members = lists.get(list.object).iter();
            list.effects & Event::TELLS_ENDS != 0
                && members.any(|&(mailbox, place)| {
                    mailbox == other.object && (place ^ other.detail) & !Footprint::BEGUN == 0
                })
        }
        Rule::InList => {
            let (list, other) = list_first(first, second);
            lists
                .get(list.object)
                .contains(&(other.object, other.detail))
        }
        Rule::MailboxInList => {
            let (list, other) = list_first(first, second);
            let mut members = lists.get(list.object).iter();
            members.any(|&(mailbox, _)| mailbox == other.object)
        }
        Rule::Arrivals => {
            first.object == second.object && (first.detail | second.detail) & ORDER_MATTERS != 0
        }
        Rule::SameRound => {
            let (arrival, wait) = if first.kind == StepKind::BarrierAsyncLock {
                (first, second)
            } else {
                (second, first)
            };
            let in_round = arrival.detail >> 1 == wait.detail;
            arrival.object == wait.object && (in_round || arrival.detail & OVERSUBSCRIBED != 0)
        }
        Rule::TouchedActors => {
            // Of different actors; the detail is 0 if there is no other.
            let (one, other) = (first.detail, second.detail);
            (one != 0 && (one == other || one == second.object + 1))
                || (other != 0 && other == first.object + 1)
        }
        Rule::SameMutexes => first.detail == second.detail,
        Rule::InSight => {
            let effects = first.effects | second.effects;
            if let Some((first, second)) = access_of(first).zip(access_of(second)) {
                return effects & Event::ORDERLESS == 0 && first.conflicts_with(second);
            }
            first.object == second.object
                && (effects & Event::ORDERLESS == 0
                    || effects & Executed::ASKS != 0
                    || sees_arrivals(first)
                    || sees_arrivals(second))
        }
        Rule::MutexOfCondvar => {
            let is_condvar = matches!(
                first.kind,
                StepKind::CondvarAsyncLock | StepKind::CondvarWait | StepKind::TimedCondvarWait
            );
            if is_condvar {
                first.detail == second.object
            } else {
                second.detail == first.object
            }
        }
    }
}

/// The access to memory of the actor that a delivery is.
fn access_of(event: &Event) -> Option<AccessClass> {
    let is_delivery = event.kind == StepKind::Deliver;
    AccessClass::from_number(event.detail).filter(|_| is_delivery)
}

/// Returns true for a step that depends on all deliveries to the actor.
pub(crate) fn sees_arrivals(event: &Event) -> bool {
    event.kind == StepKind::Device && event.detail == event.object + 1
}

/// In the detail of an arrival at a barrier: the number of actors exceeds the barrier's size.
pub(crate) const OVERSUBSCRIBED: u32 = 1 << 31;
/// The actor asks for the last arrival, or the number of actors exceeds the barrier's size.
const ORDER_MATTERS: u32 = OVERSUBSCRIBED | 1;

/// Returns true for an arrival at a barrier if an actor can observe the order of the arrivals.
pub(crate) fn order_of_arrivals_matters(event: &Event) -> bool {
    event.kind == StepKind::BarrierAsyncLock && event.detail & ORDER_MATTERS != 0
}

fn list_first<'a>(first: &'a Event, second: &'a Event) -> (&'a Event, &'a Event) {
    if first.kind == StepKind::TestAny {
        (first, second)
    } else {
        (second, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_symmetric_and_each_row_is_given_once() {
        for (position, (first, second, _)) in ROWS.iter().enumerate() {
            let again = |(a, b, _): &&(StepKind, StepKind, Rule)| {
                (a == first && b == second) || (a == second && b == first)
            };
            assert_eq!(
                ROWS[position..].iter().filter(again).count(),
                1,
                "{first:?} {second:?}"
            );
        }
        for first in StepKind::ALL {
            for second in StepKind::ALL {
                assert_eq!(rule(first, second), rule(second, first));
            }
        }
    }

    #[test]
    fn sends_and_receives_commute_and_pure_kinds_depend_on_nothing() {
        use StepKind::{AsyncReceive, AsyncSend, Random, Sleep, TimeUp, Yield};
        assert_eq!(rule(AsyncSend, AsyncReceive), Rule::Never);
        for kind in [Random, Sleep, Yield, TimeUp] {
            for other in StepKind::ALL {
                let global = is_global(other);
                assert_eq!(
                    rule(kind, other) == Rule::Never,
                    !global,
                    "{kind:?} {other:?}"
                );
            }
        }
    }
}
