//! Choice of the sends that are buffered, where a model checker chooses for each.
//!
//! Messages leave as if all sends were buffered. A rank that waits for sends (`send`, `wait`,
//! `waitall`) stops there, and the explorer chooses: it continues, because they are buffered, or it
//! stays, because one is not and no receive has met its message. A rank that stays does so for the
//! rest of the run. If its messages have all been received at the end, the run says nothing: where
//! the rank continues after that, it does what it does in a run in which its sends are buffered. So
//! the runs in which the rest is stuck too, and one message of each rank that stays was not
//! received, are the deadlocks of all ways to buffer.
//!
//! *Not modelled*: tests, `waitany`, `waitsome` and the like find such sends over. The messages
//! that collective operations are made of are buffered.

use std::cell::{Cell, RefCell};

use channel::Envelope;

/// A message whose send is buffered or not.
#[derive(Clone, Copy, Debug)]
struct Sent {
    destination: u32,
    envelope: Envelope,
    /// A receive has met it.
    is_met: bool,
}

/// One rank.
#[derive(Debug, Default)]
struct Waiting {
    /// The message that it has posted last, until its operation knows.
    latest: Cell<Option<u32>>,
    /// The messages about which it waits for the explorer's choice.
    asked: RefCell<Vec<u32>>,
    /// Those with which it may continue.
    granted: RefCell<Vec<u32>>,
    /// Those at whose sends it stays.
    held: RefCell<Vec<u32>>,
}

/// All ranks.
#[derive(Debug)]
pub(crate) struct ChosenSends {
    sent: RefCell<Vec<Sent>>,
    ranks: Vec<Waiting>,
}

impl ChosenSends {
    pub(crate) fn new(ranks: u32) -> Self {
        let mut all = Vec::new();
        all.resize_with(ranks as usize, Waiting::default);
        Self {
            sent: RefCell::default(),
            ranks: all,
        }
    }

    /// As before the first run.
    pub(crate) fn clear(&mut self) {
        self.sent.get_mut().clear();
        for rank in &mut self.ranks {
            rank.latest.set(None);
            rank.asked.get_mut().clear();
            rank.granted.get_mut().clear();
            rank.held.get_mut().clear();
        }
    }

    /// Notes a message of a rank; its number, by which its receive answers.
    pub(crate) fn post(&self, rank: u32, destination: u32, envelope: Envelope) -> u32 {
        let mut sent = self.sent.borrow_mut();
        let number = u32::try_from(sent.len()).expect("messages are counted in 32 bits");
        sent.push(Sent {
            destination,
            envelope,
            is_met: false,
        });
        self.ranks[rank as usize].latest.set(Some(number));
        number
    }

    /// A receive has met a message.
    pub(crate) fn note_met(&self, message: u32) {
        self.sent.borrow_mut()[message as usize].is_met = true;
    }

    /// The number of the message that a rank has just posted.
    pub(crate) fn take_latest(&self, rank: u32) -> Option<u32> {
        self.ranks[rank as usize].latest.take()
    }

    /// Returns true if a rank continues that waits for the sends of these messages; otherwise the
    /// explorer is asked, unless it has answered.
    pub(crate) fn may_leave(&self, rank: u32, messages: &[u32]) -> bool {
        let own = &self.ranks[rank as usize];
        if *own.granted.borrow() == messages {
            own.granted.borrow_mut().clear();
            return true;
        }
        let mut asked = own.asked.borrow_mut();
        if asked.is_empty() && *own.held.borrow() != messages {
            asked.extend_from_slice(messages);
        }
        false
    }

    /// Returns true if a rank waits for the explorer's choice.
    pub(crate) fn asks(&self, rank: u32) -> bool {
        let own = self.ranks.get(rank as usize);
        own.is_some_and(|own| !own.asked.borrow().is_empty())
    }

    /// The explorer's choice.
    pub(crate) fn choose(&self, rank: u32, goes_on: bool) {
        let own = &self.ranks[rank as usize];
        let asked = own.asked.take();
        let place = if goes_on { &own.granted } else { &own.held };
        place.replace(asked);
    }

    /// Returns true if a rank stays at sends whose messages have all been received: other runs
    /// continue from there.
    pub(crate) fn are_covered(&self) -> bool {
        let sent = self.sent.borrow();
        self.ranks.iter().any(|own| {
            let held = own.held.borrow();
            let mut held = held.iter().map(|&message| &sent[message as usize]);
            held.len() > 0 && held.all(|one| one.is_met)
        })
    }

    /// The sends at which a rank stays, or about which the explorer is asked, in words, and the
    /// ranks that could receive them. Nothing if there are none.
    pub(crate) fn describe(&self, rank: u32) -> Option<(String, Vec<u32>)> {
        let sent = self.sent.borrow();
        let own = self.ranks.get(rank as usize)?;
        let (asked, held) = (own.asked.borrow(), own.held.borrow());
        let (all, suffix) = if asked.is_empty() {
            (&held, ", not buffered")
        } else {
            (&asked, "")
        };
        let all = all.iter().map(|&message| &sent[message as usize]);
        let left: Vec<&Sent> = all.filter(|one| !one.is_met).collect();
        let word = |one: &&Sent| {
            let (destination, tag) = (one.destination, one.envelope.tag);
            format!("send (destination {destination}, tag {tag}{suffix})")
        };
        let texts: Vec<String> = left.iter().map(word).collect();
        let ranks = left.iter().map(|one| one.destination).collect();
        (!texts.is_empty()).then(|| (texts.join(", "), ranks))
    }
}
