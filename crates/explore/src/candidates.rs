//! Finds the events of a long run that can depend on a new event, without a look at all events.
//!
//! Events are listed by the properties that the [rules](crate::independence) compare: the kind
//! together with the object, the detail, or both. A new event searches the lists that its rules
//! name, and the list of the events that can depend on anything. The lists may show events that do
//! not depend on the new event; they omit no event that does.
//!
//! An entry of a list names the latest earlier entry that does not happen before it. If an entry is
//! ordered, the search skips all entries that are ordered with it. So the work per event follows
//! the number of entries that are not ordered, not the length of the run.

use std::collections::BTreeMap;

use sim_core::{Executed, Footprint, StepKind};

use crate::independence::{Rule, is_about_actor, is_global, order_of_arrivals_matters, rule};
use crate::{Event, small};

/// No entry.
const NONE: u32 = u32::MAX;

/// A property that all events of a list share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    All,
    /// They can depend on anything.
    Wide,
    /// They are this actor's.
    Actor(u32),
    /// They join or create this actor.
    AboutActor(u32),
    Object(StepKind, u32),
    Detail(StepKind, u32),
    Communication(StepKind, u32, u32),
    /// Arrivals at a barrier where an actor can observe the order.
    SeenArrival(u32),
}

/// An event in a list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    position: u32,
    list: u32,
    /// The entry before this one in the list.
    previous: u32,
    /// The latest earlier entry that does not happen before this one.
    unordered: u32,
}

/// The lists of the events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    numbers: BTreeMap<Key, u32>,
    /// The last entry of each list.
    heads: Vec<u32>,
    /// In the order of the events.
    entries: Vec<Entry>,
    /// By event, the index of the first entry.
    from: Vec<u32>,
    /// The kinds that have been listed, by number.
    kinds: u64,
    /// The current entries of a search, one per list.
    cursors: Vec<u32>,
    keys: Vec<Key>,
    /// Entries that were looked at.
    #[cfg(test)]
    pub(crate) looks: usize,
}

impl Candidates {
    /// The number of events that are listed.
    pub(crate) const fn len(&self) -> usize {
        self.from.len()
    }

    /// Adds the next event to the lists. `is_ordered` returns true if an earlier event, given by a
    /// position, happens before the new event.
    pub(crate) fn push(&mut self, event: &Event, is_ordered: impl Fn(u32) -> bool) {
        let position = small(self.from.len());
        self.from.push(small(self.entries.len()));
        self.kinds |= 1 << event.kind as u8;
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        list_keys(event, &mut keys);
        for &key in &keys {
            let list = self.list_number(key);
            let previous = self.heads[list as usize];
            let mut unordered = previous;
            while unordered != NONE && is_ordered(self.entries[unordered as usize].position) {
                unordered = self.entries[unordered as usize].unordered;
            }
            self.heads[list as usize] = small(self.entries.len());
            self.entries.push(Entry {
                position,
                list,
                previous,
                unordered,
            });
        }
        self.keys = keys;
    }

    /// Removes the last event.
    pub(crate) fn pop(&mut self) {
        let from = self.from.pop().unwrap_or(0) as usize;
        for entry in self.entries.drain(from..).rev() {
            self.heads[entry.list as usize] = entry.previous;
        }
    }

    /// Shows the events that a new event can depend on, the latest first, until none is left.
    /// `look` returns true if the shown event happens before the new event, or does so from now on.
    pub(crate) fn search(&mut self, event: &Event, mut look: impl FnMut(u32) -> bool) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        search_keys(event, self.kinds, &mut keys);
        self.cursors.clear();
        for key in &keys {
            let number = self.numbers.get(key);
            let head = number.map_or(NONE, |&number| self.heads[number as usize]);
            if head != NONE {
                self.cursors.push(head);
            }
        }
        self.keys = keys;
        // Entries come in the order of their events.
        while let Some(latest) = (0..self.cursors.len()).max_by_key(|&list| self.cursors[list]) {
            let entry = self.entries[self.cursors[latest] as usize];
            #[cfg(test)]
            {
                self.looks += 1;
            }
            let next = if look(entry.position) {
                entry.unordered
            } else {
                entry.previous
            };
            if next == NONE {
                self.cursors.swap_remove(latest);
            } else {
                self.cursors[latest] = next;
            }
        }
    }

    fn list_number(&mut self, key: Key) -> u32 {
        let next = small(self.heads.len());
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.heads.push(NONE);
        }
        number
    }
}

/// Returns true if an event can depend on others of any kind and object.
const fn is_wide(event: &Event) -> bool {
    const SPECIAL: u8 = Executed::HIDDEN | Executed::ALLOCATES | Executed::IDLE;
    event.effects & SPECIAL != 0
        || is_global(event.kind)
        || matches!(event.kind, StepKind::TestAny | StepKind::TestAnyEnded)
}

/// The lists to which an event belongs.
fn list_keys(event: &Event, keys: &mut Vec<Key>) {
    use StepKind::{
        AsyncReceive, AsyncSend, CondvarAsyncLock, CondvarWait, Device, Test, TestEnded,
        TimedCondvarWait, Wait, WaitAny,
    };
    let Event {
        kind,
        object,
        detail,
        ..
    } = *event;
    keys.push(Key::All);
    if is_wide(event) {
        keys.push(Key::Wide);
    } else if is_about_actor(kind) {
        keys.push(Key::AboutActor(object));
    } else if object != Footprint::NOTHING {
        keys.push(Key::Object(kind, object));
        match kind {
            AsyncSend | AsyncReceive | Test | TestEnded | Wait | WaitAny => {
                let place = detail & !Footprint::BEGUN;
                keys.push(Key::Communication(kind, object, place));
            }
            CondvarAsyncLock | CondvarWait | TimedCondvarWait => {
                keys.push(Key::Detail(kind, detail));
            }
            Device if detail > 0 && detail - 1 != object => {
                keys.push(Key::Object(kind, detail - 1));
            }
            _ if order_of_arrivals_matters(event) => keys.push(Key::SeenArrival(object)),
            _ => {}
        }
    }
    keys.push(Key::Actor(u32::from(event.actor)));
}

/// The lists of all events that can depend on an event. `kinds`: the kinds that have been listed.
fn search_keys(event: &Event, kinds: u64, keys: &mut Vec<Key>) {
    if is_wide(event) {
        keys.push(Key::All);
        return;
    }
    keys.push(Key::Wide);
    const ABOUT_ACTORS: u64 =
        1 << StepKind::Join as u8 | 1 << StepKind::TimedJoin as u8 | 1 << StepKind::Create as u8;
    if kinds & ABOUT_ACTORS != 0 {
        keys.push(Key::AboutActor(u32::from(event.actor)));
    }
    if is_about_actor(event.kind) {
        keys.push(Key::AboutActor(event.object));
        keys.push(Key::Actor(event.object));
        return;
    }
    if event.object == Footprint::NOTHING {
        return;
    }
    let mut left = kinds;
    while left != 0 {
        let number = left.trailing_zeros();
        left &= left - 1;
        let kind = StepKind::ALL[number as usize - 1];
        push_keys_of_rule(rule(event.kind, kind), event, kind, keys);
    }
}

/// The lists of the events of a kind that depend on an event by a rule.
fn push_keys_of_rule(rule: Rule, event: &Event, kind: StepKind, keys: &mut Vec<Key>) {
    let Event { object, detail, .. } = *event;
    match rule {
        // Those of the last are all in the list of events that can depend on anything.
        Rule::Never | Rule::Always | Rule::EndInList | Rule::InList | Rule::MailboxInList => {}
        Rule::SameObject | Rule::SameRound | Rule::InSight => keys.push(Key::Object(kind, object)),
        Rule::SameCommunication | Rule::SameEnd => {
            let place = detail & !Footprint::BEGUN;
            keys.push(Key::Communication(kind, object, place));
        }
        Rule::Arrivals if order_of_arrivals_matters(event) => {
            keys.push(Key::Object(kind, object));
        }
        Rule::Arrivals => keys.push(Key::SeenArrival(object)),
        Rule::SameMutexes => keys.push(Key::Detail(kind, detail)),
        Rule::MutexOfCondvar if waits_for_condvar(event.kind) => {
            keys.push(Key::Object(kind, detail));
        }
        Rule::MutexOfCondvar => keys.push(Key::Detail(kind, object)),
        Rule::TouchedActors => {
            keys.push(Key::Object(kind, object));
            if detail > 0 && detail - 1 != object {
                keys.push(Key::Object(kind, detail - 1));
            }
        }
    }
}

const fn waits_for_condvar(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::CondvarAsyncLock | StepKind::CondvarWait | StepKind::TimedCondvarWait
    )
}
