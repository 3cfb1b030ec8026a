//! Checkpoints: an interrupted search as numbers that can be stored and read back to continue.
//!
//! A checkpoint has the state of the search: the path, the pending steps and the sleep sets along
//! the path, the facts, the counts and the findings. The program is not part of a checkpoint: the
//! reader must supply the same program, with devices that number queues in the same way. The search
//! verifies that the program takes the steps of the path again.
//!
//! Numbers that do not fit together are refused. The writer must ensure that every other damage is
//! detected.

use std::collections::BTreeSet;

use sim_core::{Note, OrderSensitivity, StepKind};

use crate::orders::{Known, Order};
use crate::properties::{ProgramProperties, SharedLists};
use crate::search::Kept;
use crate::state::SearchState;
use crate::wakeup::{Saved, Trees};
use crate::{End, Event, Statistics};

/// The version of the numbers.
const VERSION: u64 = 4;

/// State of an interrupted search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint(Vec<u64>);

impl Checkpoint {
    /// The numbers.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Returns the checkpoint with these numbers; `None` if they do not fit together.
    pub fn from_words(words: Vec<u64>) -> Option<Self> {
        let checkpoint = Self(words);
        checkpoint.decode_state().map(|_| checkpoint)
    }

    /// The counts so far.
    pub fn statistics(&self) -> Statistics {
        let opened = self.decode_state().map(|(state, _)| state.statistics);
        opened.unwrap_or_default()
    }

    pub(crate) fn new(state: &SearchState, kept: &Kept) -> Self {
        let mut words = vec![VERSION];
        let flags = u64::from(state.thorough) | u64::from(state.properties.has_invariants) << 1;
        words.extend([flags, state.done as u64]);
        events(&mut words, &state.path);
        let saved = state.trees.save();
        events(&mut words, &saved.sleep);
        numbers(
            &mut words,
            saved
                .frames
                .iter()
                .map(|&(sleep, started)| u64::from(sleep) << 1 | u64::from(started)),
        );
        numbers(
            &mut words,
            saved.shape.iter().map(|&shape| u64::from(shape)),
        );
        events(&mut words, &saved.pending);
        words.push(state.properties.users.len() as u64);
        for users in &state.properties.users {
            numbers(&mut words, users.iter().map(|&actor| u64::from(actor)));
        }
        let oversubscribed = state.properties.oversubscribed.iter();
        numbers(
            &mut words,
            oversubscribed.map(|&oversubscribed| u64::from(oversubscribed)),
        );
        let may_have_effects = state.properties.may_have_effects.iter();
        numbers(
            &mut words,
            may_have_effects.map(|&effects| u64::from(effects)),
        );
        let order_sensitive = state.properties.order_sensitive.iter();
        numbers(
            &mut words,
            order_sensitive.map(|&order_sensitivity| order_sensitivity as u64),
        );
        let lists = state.lists.to_vec();
        words.push(lists.len() as u64);
        for list in &lists {
            let pair = |&(mailbox, place): &(u32, u32)| u64::from(mailbox) << 32 | u64::from(place);
            numbers(&mut words, list.iter().map(pair));
        }
        words.extend(state.statistics.to_words());
        words.push(kept.found.len() as u64);
        for (counterexample, end) in &kept.found {
            words.push(*end as u64);
            events(&mut words, counterexample);
        }
        words.push(kept.orders.0.len() as u64);
        for known in &kept.orders.0 {
            words.push(u64::from(known.actor));
            push_order(&mut words, &known.first);
            words.push(u64::from(known.other.is_some()));
            if let Some(other) = &known.other {
                push_order(&mut words, other);
            }
        }
        words.push(kept.notes.len() as u64);
        for known in &kept.notes {
            write_note(&mut words, known);
        }
        Self(words)
    }

    /// Returns the state of the search and the findings; `None` if the numbers do not fit
    /// together.
    pub(crate) fn decode_state(&self) -> Option<(SearchState, Kept)> {
        let mut reader = Reader(&self.0);
        if reader.next_word()? != VERSION {
            return None;
        }
        let mut state = SearchState::new();
        let flags = reader.next_word()?;
        (state.thorough, state.properties.has_invariants) = (flags & 1 == 1, flags & 2 == 2);
        state.done = reader.small()?;
        state.path = reader.events()?;
        let sleep = reader.events()?;
        let frames = reader.numbers()?.iter().copied();
        let frame = |word: u64| Some((u32::try_from(word >> 1).ok()?, word & 1 == 1));
        let frames: Option<Vec<(u32, bool)>> = frames.map(frame).collect();
        let shape = reader.numbers()?.iter().copied();
        let shape: Option<Vec<u8>> = shape.map(|word| u8::try_from(word).ok()).collect();
        let saved = Saved {
            sleep,
            frames: frames?,
            shape: shape?,
            pending: reader.events()?,
        };
        // A search that is over has no place left.
        let is_over = saved.frames.is_empty() && state.path.is_empty();
        let is_under_way = saved.frames.len() == state.path.len() + 1;
        let fits = (is_over || is_under_way) && state.done <= state.path.len();
        state.trees = Trees::restore(saved).filter(|_| fits)?;
        reader.properties(&mut state.properties)?;
        let mut lists = Vec::new();
        for _ in 0..reader.count()? {
            let pairs = reader.numbers()?.iter().copied();
            lists.push(pairs.map(|word| (high(word), low(word))).collect());
        }
        state.lists = SharedLists::from_vec(lists);
        state.statistics = Statistics::from_words(reader.take_words(Statistics::WORDS)?)?;
        let mut kept = Kept::default();
        for _ in 0..reader.count()? {
            let end = *End::ALL.get(reader.small()?)?;
            kept.found.push((reader.events()?, end));
        }
        for _ in 0..reader.count()? {
            let actor = u32::try_from(reader.next_word()?)
                .ok()
                .filter(|&actor| actor > 0)?;
            let first = reader.read_order()?;
            let other = match reader.next_word()? {
                0 => None,
                _ => Some(reader.read_order()?),
            };
            kept.orders.0.push(Known {
                actor,
                first,
                other,
            });
        }
        kept.notes = reader.read_notes()?;
        reader.0.is_empty().then_some((state, kept))
    }
}

/// Adds a list of numbers.
fn numbers(words: &mut Vec<u64>, list: impl ExactSizeIterator<Item = u64>) {
    words.push(list.len() as u64);
    words.extend(list);
}

/// Adds an order in which messages came.
fn push_order(words: &mut Vec<u64>, order: &Order) {
    let sources = order.sources.iter();
    numbers(words, sources.map(|&source| u64::from(source)));
    events(words, &order.events);
}

/// Adds a note: true as 1 for a bound, and the bytes of the text.
fn write_note(words: &mut Vec<u64>, note: &Note) {
    let (is_bound, text) = match note {
        Note::Remark(text) => (false, text),
        Note::Bound(text) => (true, text),
    };
    words.push(u64::from(is_bound));
    numbers(words, text.bytes().map(u64::from));
}

/// Adds a list of events.
fn events(words: &mut Vec<u64>, list: &[Event]) {
    words.push(list.len() as u64);
    for event in list {
        let what = u64::from(event.kind as u8) << 8 | u64::from(event.effects);
        words.push(u64::from(event.choice) << 32 | what << 16 | u64::from(event.actor));
        words.push(u64::from(event.object) << 32 | u64::from(event.detail));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the other half is what the other function gives"
)]
const fn low(word: u64) -> u32 {
    word as u32
}

const fn high(word: u64) -> u32 {
    low(word >> 32)
}

/// The numbers that have not been read.
struct Reader<'a>(&'a [u64]);

impl<'a> Reader<'a> {
    fn take_words(&mut self, count: usize) -> Option<&'a [u64]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn next_word(&mut self) -> Option<u64> {
        self.take_words(1).map(|words| words[0])
    }

    fn small(&mut self) -> Option<usize> {
        usize::try_from(self.next_word()?).ok()
    }

    /// Reads the number of elements that follow, each of at least one number.
    fn count(&mut self) -> Option<usize> {
        let count = self.small()?;
        (count <= self.0.len()).then_some(count)
    }

    fn numbers(&mut self) -> Option<&'a [u64]> {
        let count = self.count()?;
        self.take_words(count)
    }

    /// Reads the facts of the program; `None` if they do not fit together.
    fn properties(&mut self, properties: &mut ProgramProperties) -> Option<()> {
        for _ in 0..self.count()? {
            let users = self.numbers()?.iter().copied();
            let users: Option<Vec<u16>> = users.map(|word| u16::try_from(word).ok()).collect();
            properties.users.push(users?);
        }
        let oversubscribed = self.numbers()?.iter().copied();
        properties.oversubscribed = oversubscribed.map(|word| word == 1).collect();
        let may_have_effects = self.numbers()?.iter().copied();
        let may_have_effects: Option<Vec<u8>> = may_have_effects
            .map(|word| u8::try_from(word).ok())
            .collect();
        properties.may_have_effects = may_have_effects?;
        let order_sensitive = self.numbers()?.iter().copied();
        properties.order_sensitive = order_sensitive.map(order_sensitivity).collect();
        (properties.users.len() == properties.oversubscribed.len()).then_some(())
    }

    fn read_order(&mut self) -> Option<Order> {
        let sources = self.numbers()?.iter().copied();
        let sources: Option<Vec<u32>> = sources.map(|word| u32::try_from(word).ok()).collect();
        Some(Order {
            sources: sources?,
            events: self.events()?,
        })
    }

    fn read_notes(&mut self) -> Option<BTreeSet<Note>> {
        let mut notes = BTreeSet::new();
        for _ in 0..self.count()? {
            let is_bound = self.next_word()? == 1;
            let bytes = self.numbers()?.iter();
            let bytes: Option<Vec<u8>> = bytes.map(|&word| u8::try_from(word).ok()).collect();
            let text = String::from_utf8(bytes?).ok()?;
            notes.insert(match is_bound {
                true => Note::Bound(text),
                false => Note::Remark(text),
            });
        }
        Some(notes)
    }

    fn events(&mut self) -> Option<Vec<Event>> {
        let count = self.count()?.checked_mul(2)?;
        let pairs = self.take_words(count)?.chunks_exact(2);
        pairs.map(|pair| decode_event(pair[0], pair[1])).collect()
    }
}

fn decode_event(first: u64, second: u64) -> Option<Event> {
    let [actor, kind, effects] = [first & 0xffff, first >> 24 & 0xff, first >> 16 & 0xff];
    let is_kind = |other: &&StepKind| u64::from(**other as u8) == kind;
    Some(Event {
        actor: u16::try_from(actor).ok()?,
        kind: *StepKind::ALL.iter().find(is_kind)?,
        effects: u8::try_from(effects).ok()?,
        object: high(second),
        detail: low(second),
        choice: high(first),
    })
}
/// Returns the [`OrderSensitivity`] of a number.
const fn order_sensitivity(word: u64) -> OrderSensitivity {
    match word {
        0 => OrderSensitivity::Never,
        1 => OrderSensitivity::Accesses,
        2 => OrderSensitivity::Sources,
        3 => OrderSensitivity::Receives,
        _ => OrderSensitivity::Always,
    }
}
