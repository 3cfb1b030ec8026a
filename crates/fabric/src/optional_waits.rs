//! Deadlocks of a run in which ranks wait where MPI permits to wait and the run did not.
//!
//! A standard send may wait for its receive, a call that empties an attached buffer for the
//! receives of all messages in the buffer, a collective call or the creation of a communicator for
//! the calls of all ranks, and an epoch of accesses for the posts of its targets or for a lock (MPI
//! 5.0, 3.4, 3.6, 6.14, 7.4.2, 12.5). A run with such waits is a run without them in another order,
//! so waits add no outcomes, but they add deadlocks. The matching of a run is kept, and the notes
//! are repeated: a rank continues when the awaited operation can be over.
//!
//! 1. With all waits. If all ranks come to their ends, no subset of the waits can be stuck, since
//!    more waits let no rank come further.
//! 2. Otherwise ranks are stuck: a deadlock, unless a rank has an alternative: give another answer
//!    to a question, or receive another message than in this run. The alternative is another run.
//! 3. In that case waits are given up one by one, depth first, and each state once.
//!
//! The general question is NP-complete (Forejt, Joshi, Kroening, Narayanaswamy, Sharma, *Precise
//! predictive analysis for discovering communication deadlocks in MPI programs*, 2014); the number
//! of states is limited.
//!
//! *Not modelled*: waits for the results of accesses.

use std::cell::Ref;
use std::collections::BTreeSet;

use channel::{CollectivePlace, Envelope, NotedOperation, SendCause, SendEnd};
use sim_core::{Blocked, ConditionalDeadlock, OptionalWaits, WaitGraph};

use crate::operations::{Alternative, Note, RankNotes};
use crate::ranks::actor;

mod absent;

/// States that are looked at.
const STATES_MAX: usize = 10_000;

/// A note of a rank: the rank and the position.
type At = (u32, u32);

/// By rank: the number of passed notes.
type Cut = Vec<u32>;

/// The state of a rank at the next note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Free,
    /// MPI permits to wait here, and to continue.
    Optional,
    Stuck,
}

/// A run.
struct Notes<'a> {
    ranks: Vec<Ref<'a, Vec<Note>>>,
    alternatives: Vec<Ref<'a, Vec<u32>>>,
    /// True if MPI permits standard sends to wait.
    sends_wait: bool,
    /// The failed rank that has ended the run: each other rank could have continued.
    failed: Option<u32>,
    /// By step: the send of an arrival.
    senders: Vec<(u32, At)>,
    /// By send: the receive that the send has met.
    receivers: Vec<(At, At)>,
    /// By send: the probe that has taken the message.
    takers: Vec<(At, At)>,
    /// By collective: the calls.
    calls: Vec<(CollectivePlace, At)>,
    /// By call of a collective: the receives of the rank.
    parts: Vec<(At, u32)>,
}

/// Looks for a deadlock. `senders`: the send of the arrival of each step.
pub(crate) fn find_deadlock(
    ranks: &[&RankNotes],
    sends_wait: bool,
    senders: impl FnOnce() -> Vec<(u32, At)>,
) -> OptionalWaits {
    if !ranks
        .iter()
        .any(|rank| has_optional_waits(rank, sends_wait))
    {
        return OptionalWaits::Free;
    }
    let notes = Notes::collect_notes(ranks, sends_wait, senders());
    let start = notes.close_cut(vec![0; ranks.len()]);
    if notes.is_over(&start) {
        return OptionalWaits::Free;
    }
    let mut seen = BTreeSet::new();
    let mut pending = vec![(start, Vec::new())];
    while let Some((cut, given_up)) = pending.pop() {
        if !seen.insert(cut.clone()) || notes.is_over(&cut) {
            continue;
        }
        if seen.len() > STATES_MAX {
            return OptionalWaits::Undecided;
        }
        if !notes.has_alternative(&cut) {
            return OptionalWaits::Deadlock(notes.minimise_waits(cut, given_up));
        }
        for rank in notes.list_optional(&cut) {
            let mut given_up = given_up.clone();
            given_up.push((rank, cut[rank as usize]));
            pending.push((notes.give_up(&cut, rank), given_up));
        }
    }
    OptionalWaits::Free
}

/// The waits that MPI permits and without which `rank` failed, in words. `senders`: as in
/// [`find_deadlock`].
pub(crate) fn list_absent_waits(
    ranks: &[&RankNotes],
    sends_wait: bool,
    senders: Vec<(u32, At)>,
    rank: u32,
) -> Vec<String> {
    let mut notes = Notes::collect_notes(ranks, sends_wait, senders);
    notes.failed = Some(rank);
    notes.list_absent(rank)
}

/// Returns true if MPI permits a rank to wait somewhere.
fn has_optional_waits(rank: &RankNotes, sends_wait: bool) -> bool {
    let notes = rank.notes.borrow();
    notes.iter().any(|note| match note {
        Note::Begin { operation, .. } => match operation {
            NotedOperation::Send { end, .. } => {
                sends_wait && matches!(end, SendEnd::Standard | SendEnd::Attached)
            }
            NotedOperation::Collective { .. } => true,
            NotedOperation::Epoch { is_optional, .. } => *is_optional,
            NotedOperation::Receive { .. } => false,
        },
        Note::Wait { .. } | Note::Probe { .. } => false,
    })
}

impl<'a> Notes<'a> {
    fn collect_notes(ranks: &[&'a RankNotes], sends_wait: bool, senders: Vec<(u32, At)>) -> Self {
        let mut all = Self {
            ranks: ranks.iter().map(|rank| rank.notes.borrow()).collect(),
            alternatives: ranks
                .iter()
                .map(|rank| rank.alternatives.borrow())
                .collect(),
            sends_wait,
            failed: None,
            senders,
            receivers: Vec::new(),
            takers: Vec::new(),
            calls: Vec::new(),
            parts: Vec::new(),
        };
        for (rank, notes) in (0..).zip(&all.ranks) {
            for (position, note) in (0..).zip(notes.iter()) {
                let (operation, arrival, collective) = match *note {
                    Note::Begin {
                        operation,
                        arrival,
                        collective,
                        ..
                    } => (operation, arrival, collective),
                    Note::Probe {
                        arrival,
                        takes: true,
                        ..
                    } => {
                        let send = find_entry(&all.senders, &arrival);
                        let at = (rank, position);
                        all.takers.extend(send.map(|send| (send, at)));
                        continue;
                    }
                    Note::Probe { .. } | Note::Wait { .. } => continue,
                };
                match operation {
                    NotedOperation::Send { .. } | NotedOperation::Epoch { .. } => {}
                    NotedOperation::Receive { .. } => {
                        if let Some(send) = find_entry(&all.senders, &arrival) {
                            all.receivers.push((send, (rank, position)));
                        }
                        if let Some(call) = collective {
                            all.parts.push(((rank, call), position));
                        }
                    }
                    NotedOperation::Collective { place, .. } => {
                        all.calls.push((place, (rank, position)));
                    }
                }
            }
        }
        all.receivers.sort_unstable();
        all.takers.sort_unstable();
        all.calls.sort_unstable();
        all.parts.sort_unstable();
        all
    }

    fn find_note(&self, (rank, position): At) -> Option<&Note> {
        self.ranks[rank as usize].get(position as usize)
    }

    /// The next note of a rank.
    fn next_note(&self, cut: &Cut, rank: u32) -> Option<&Note> {
        self.find_note((rank, cut[rank as usize]))
    }

    fn is_over(&self, cut: &Cut) -> bool {
        (0..)
            .zip(cut)
            .all(|(rank, _)| self.next_note(cut, rank).is_none())
    }

    fn has_begun(cut: &Cut, (rank, position): At) -> bool {
        cut[rank as usize] > position
    }

    /// Returns true if the message that arrived in this step has been sent.
    fn is_sent(&self, cut: &Cut, arrival: u32) -> bool {
        // A receive that was cancelled, or without a known message.
        arrival == SendCause::NONE
            || find_entry(&self.senders, &arrival).is_none_or(|send| Self::has_begun(cut, send))
    }

    /// Returns the state of the end of an operation of a rank.
    fn judge_end(&self, cut: &Cut, rank: u32, operation: u32) -> Next {
        let at = (rank, operation);
        let Some(&Note::Begin {
            operation, arrival, ..
        }) = self.find_note(at)
        else {
            return Next::Free;
        };
        match operation {
            NotedOperation::Send {
                end, destination, ..
            } => {
                let waits = match end {
                    SendEnd::Synchronous => Next::Stuck,
                    SendEnd::Standard | SendEnd::Attached if self.sends_wait => Next::Optional,
                    SendEnd::Standard | SendEnd::Attached | SendEnd::Buffered => {
                        return Next::Free;
                    }
                };
                let receiver = find_entry(&self.receivers, &at);
                let is_met = match receiver {
                    Some(receive) => Self::has_begun(cut, receive),
                    None => self.may_come(cut, destination),
                };
                if is_met { Next::Free } else { waits }
            }
            NotedOperation::Receive { .. } if self.is_sent(cut, arrival) => Next::Free,
            NotedOperation::Receive { .. } => Next::Stuck,
            NotedOperation::Epoch {
                start, is_optional, ..
            } => {
                let begun = (rank, start.unwrap_or(at.1));
                match self.list_awaited(cut, begun).next() {
                    None => Next::Free,
                    Some(_) if is_optional => Next::Optional,
                    Some(_) => Next::Stuck,
                }
            }
            NotedOperation::Collective { place, ranks, .. } => {
                let mut parts = list_entries(&self.parts, at);
                if parts.any(|part| self.judge_end(cut, rank, part) == Next::Stuck) {
                    return Next::Stuck;
                }
                let calls = list_entries(&self.calls, place);
                let begun = calls.filter(|call| Self::has_begun(cut, *call)).count();
                let to_come = match self.failed {
                    None => 0,
                    Some(_) => self.count_to_come(cut, place),
                };
                match begun + to_come < ranks as usize {
                    true => Next::Optional,
                    false => Next::Free,
                }
            }
        }
    }

    /// Returns true if a rank would have continued after the failure of another one.
    fn may_come(&self, cut: &Cut, rank: u32) -> bool {
        let other_failed = self.failed.is_some_and(|failed| failed != rank);
        other_failed && self.next_note(cut, rank).is_none()
    }

    /// The number of ranks that could call a collective after the failure.
    fn count_to_come(&self, cut: &Cut, place: CollectivePlace) -> usize {
        let has_called =
            |rank: u32| list_entries(&self.calls, place).any(|(other, _)| other == rank);
        let ranks = 0..to_number(self.ranks.len());
        let to_come = ranks.filter(|rank| self.may_come(cut, *rank) && !has_called(*rank));
        to_come.count()
    }

    /// Returns the ranks whose messages an epoch waits for.
    fn list_awaited<'b>(&'b self, cut: &'b Cut, epoch: At) -> impl Iterator<Item = u32> + 'b {
        let parts = list_entries(&self.parts, epoch);
        parts.filter_map(move |part| match self.find_note((epoch.0, part)) {
            Some(&Note::Begin {
                operation: NotedOperation::Receive { source, .. },
                arrival,
                ..
            }) => {
                // A message that the run has not had is awaited, too.
                let is_there = arrival != SendCause::NONE && self.is_sent(cut, arrival);
                let sender = find_entry(&self.senders, &arrival).map(|(rank, _)| rank);
                let awaited = sender.or(source).filter(|_| !is_there);
                awaited.filter(|rank| !self.may_come(cut, *rank))
            }
            _ => None,
        })
    }

    fn judge_next(&self, cut: &Cut, rank: u32) -> Next {
        match self.next_note(cut, rank) {
            None | Some(Note::Begin { .. }) => Next::Free,
            Some(&Note::Wait { operation, .. }) => self.judge_end(cut, rank, operation),
            Some(&Note::Probe { arrival, .. }) if self.is_sent(cut, arrival) => Next::Free,
            Some(Note::Probe { .. }) => Next::Stuck,
        }
    }

    /// Lets all ranks continue as far as they can.
    fn close_cut(&self, mut cut: Cut) -> Cut {
        let ranks = 0..self.ranks.len();
        loop {
            let mut moves = false;
            for rank in ranks.clone() {
                let number = to_number(rank);
                while self.next_note(&cut, number).is_some()
                    && self.judge_next(&cut, number) == Next::Free
                {
                    cut[rank] += 1;
                    moves = true;
                }
            }
            if !moves {
                return cut;
            }
        }
    }

    /// The ranks that wait where they could continue.
    fn list_optional(&self, cut: &Cut) -> Vec<u32> {
        let ranks = 0..to_number(self.ranks.len());
        let is_optional = |rank: &u32| self.judge_next(cut, *rank) == Next::Optional;
        ranks.filter(is_optional).collect()
    }

    /// The same where a rank continues.
    fn give_up(&self, cut: &Cut, rank: u32) -> Cut {
        let mut cut = cut.clone();
        cut[rank as usize] += 1;
        self.close_cut(cut)
    }

    /// Returns true if a rank has an alternative to waiting.
    fn has_alternative(&self, cut: &Cut) -> bool {
        (0..to_number(self.ranks.len())).any(|rank| {
            self.answers_otherwise(cut, rank)
                || self.receives_another(cut, rank)
                || self.gets_free_lock(cut, rank)
        })
    }

    /// Returns true if a rank waits for a lock that another rank has given back in this run, and
    /// has not asked for yet: the lock is free, so the rank gets the lock first in another run.
    fn gets_free_lock(&self, cut: &Cut, rank: u32) -> bool {
        let Some(&Note::Wait { operation, .. }) = self.next_note(cut, rank) else {
            return false;
        };
        let start = match self.find_note((rank, operation)) {
            Some(&Note::Begin {
                operation: NotedOperation::Epoch { start, .. },
                ..
            }) => start.unwrap_or(operation),
            _ => return false,
        };
        let mut parts = list_entries(&self.parts, (rank, start));
        parts.any(|part| match self.find_note((rank, part)) {
            Some(Note::Begin { arrival, .. }) => {
                let unlock = find_entry(&self.senders, arrival);
                let lock = unlock.and_then(|unlock| self.find_lock(unlock));
                lock.is_some_and(|lock| !Self::has_begun(cut, lock))
            }
            _ => false,
        })
    }

    /// Returns the call that got the lock which this message gives back: the message follows the
    /// wait of the unlock.
    fn find_lock(&self, (rank, unlock): At) -> Option<At> {
        let &Note::Wait { operation, .. } = self.find_note((rank, unlock.checked_sub(1)?))? else {
            return None;
        };
        match self.find_note((rank, operation))? {
            &Note::Begin {
                operation: NotedOperation::Epoch { name, start, .. },
                ..
            } if name.starts_with("unlock") => Some((rank, start?)),
            _ => None,
        }
    }

    /// Returns true if a rank could give another answer to its question.
    fn answers_otherwise(&self, cut: &Cut, rank: u32) -> bool {
        let (Some(Note::Wait { alternative, .. }) | Some(Note::Probe { alternative, .. })) =
            self.next_note(cut, rank)
        else {
            return false;
        };
        let &Alternative::OneOf(first, end) = alternative else {
            return false;
        };
        let all = &self.alternatives[rank as usize][first as usize..end as usize];
        let is_over = |operation: &u32| self.judge_end(cut, rank, *operation) == Next::Free;
        all.is_empty() || all.iter().any(is_over)
    }

    /// Returns true if a message that has been sent and is not received fits a receive of a rank
    /// that has another message in this run, not sent yet.
    fn receives_another(&self, cut: &Cut, rank: u32) -> bool {
        let posted = self.ranks[rank as usize][..cut[rank as usize] as usize].iter();
        (0..).zip(posted).any(|(position, note)| match note {
            &Note::Begin {
                operation:
                    NotedOperation::Receive {
                        context,
                        source,
                        tag,
                    },
                arrival,
                collective,
                ..
            } if !self.is_sent(cut, arrival) && !self.is_of_epoch(rank, collective) => {
                let fits = |envelope: &Envelope| {
                    envelope.context == context
                        && source.is_none_or(|source| source == envelope.source)
                        && tag.is_none_or(|tag| tag == envelope.tag)
                };
                self.list_messages(cut, (rank, position))
                    .any(|envelope| fits(&envelope))
            }
            _ => false,
        })
    }

    /// Returns true if the call of a receive begins an epoch. A post meets the epochs in order, and
    /// a message that gives a lock back is for the rank that gets the lock next.
    fn is_of_epoch(&self, rank: u32, call: Option<u32>) -> bool {
        let note = call.and_then(|call| self.find_note((rank, call)));
        let operation = note.and_then(|note| match note {
            Note::Begin { operation, .. } => Some(operation),
            _ => None,
        });
        matches!(operation, Some(NotedOperation::Epoch { .. }))
    }

    /// The messages that have been sent to the rank of a receive and that no probe has taken and no
    /// receive has met so far. A message that a later receive of the rank has met counts, too: the
    /// message is for the first receive without a message.
    fn list_messages<'b>(
        &'b self,
        cut: &'b Cut,
        (to, receive): At,
    ) -> impl Iterator<Item = Envelope> + 'b {
        let ranks = (0..).zip(&self.ranks);
        let sent = ranks.flat_map(move |(rank, notes)| {
            let sent = notes[..cut[rank as usize] as usize].iter();
            (0..)
                .zip(sent)
                .map(move |(position, note)| ((rank, position), note))
        });
        sent.filter_map(move |(at, note)| {
            let &Note::Begin {
                operation:
                    NotedOperation::Send {
                        destination,
                        envelope,
                        ..
                    },
                ..
            } = note
            else {
                return None;
            };
            let earlier = find_entry(&self.receivers, &at).filter(|(_, other)| *other < receive);
            let mut met = [earlier, find_entry(&self.takers, &at)]
                .into_iter()
                .flatten();
            let is_met = met.any(|meeting| Self::has_begun(cut, meeting));
            (destination == to && !is_met).then_some(envelope)
        })
    }

    /// The deadlock with as few waits as giving up one by one leaves.
    fn minimise_waits(&self, mut cut: Cut, mut given_up: Vec<At>) -> ConditionalDeadlock {
        'again: loop {
            for rank in self.list_optional(&cut) {
                let less = self.give_up(&cut, rank);
                let is_stuck = !self.is_over(&less) && !self.has_alternative(&less);
                if is_stuck && self.list_optional(&less).len() < self.list_optional(&cut).len() {
                    cut = less;
                    continue 'again;
                }
            }
            break;
        }
        given_up.retain(|at| Self::has_begun(&cut, *at));
        let is_needed = |rank: &u32| self.judge_next(&cut, *rank) == Next::Optional;
        let ranks = 0..to_number(self.ranks.len());
        let waits = ranks.clone().filter(is_needed);
        let waits =
            waits.filter_map(|rank| self.describe_condition((rank, cut[rank as usize]), true));
        let others = given_up.iter();
        let others = others.filter_map(|at| self.describe_condition(*at, false));
        let mut only_if: Vec<String> = waits.chain(others).collect();
        only_if.dedup();
        let blocked = ranks.filter_map(|rank| self.describe_blocked(&cut, rank));
        ConditionalDeadlock {
            only_if,
            graph: WaitGraph {
                blocked: blocked.collect(),
                ..WaitGraph::default()
            },
        }
    }

    /// A wait as a condition in words, or the absence of a wait.
    fn describe_condition(&self, (rank, position): At, waits: bool) -> Option<String> {
        let &Note::Wait { operation, .. } = self.find_note((rank, position))? else {
            return None;
        };
        let &Note::Begin {
            operation,
            location,
            ..
        } = self.find_note((rank, operation))?
        else {
            return None;
        };
        Some(match operation {
            NotedOperation::Collective { name, .. } => {
                let verb = if waits { "waits" } else { "does not wait" };
                format!("the {name} of rank {rank} at {location} {verb} for all ranks")
            }
            NotedOperation::Epoch { name, .. } => {
                let verb = if waits { "waits" } else { "does not wait" };
                let awaited = match name.starts_with("lock") {
                    true => "the grant",
                    false => "the posts of its targets",
                };
                format!("the {name} of rank {rank} at {location} {verb} for {awaited}")
            }
            NotedOperation::Send {
                end: SendEnd::Attached,
                ..
            } => {
                let place = match waits {
                    true => "stays in the attached buffer until its receive",
                    false => "leaves the attached buffer before its receive",
                };
                format!("the message of rank {rank} at {location} {place}")
            }
            _ => {
                let verb = if waits { "is not" } else { "is" };
                format!("the send of rank {rank} at {location} {verb} buffered")
            }
        })
    }

    /// Where a rank is stuck.
    fn describe_blocked(&self, cut: &Cut, rank: u32) -> Option<Blocked> {
        let (operation, arrival) = match *self.next_note(cut, rank)? {
            Note::Wait { operation, .. } => (Some(operation), SendCause::NONE),
            Note::Probe { arrival, .. } => (None, arrival),
            Note::Begin { .. } => return None,
        };
        let begun = operation.and_then(|operation| match self.find_note((rank, operation))? {
            Note::Begin {
                operation: begun,
                location,
                arrival,
                ..
            } => Some((*begun, *location, *arrival, operation)),
            _ => None,
        });
        let sender = |arrival: u32| find_entry(&self.senders, &arrival).map(|(rank, _)| rank);
        let (waits_in, location, ranks) = match begun {
            None => (
                "probe".to_owned(),
                String::new(),
                sender(arrival).into_iter().collect(),
            ),
            Some((
                NotedOperation::Send {
                    destination,
                    envelope,
                    end,
                },
                location,
                ..,
            )) => (
                format!(
                    "{} (destination {destination}, tag {})",
                    match end {
                        SendEnd::Attached => "detach of bsend",
                        _ => "send",
                    },
                    envelope.tag
                ),
                location.to_string(),
                vec![destination],
            ),
            Some((NotedOperation::Receive { source, tag, .. }, location, arrival, _)) => {
                let from = source.map_or("any source".to_owned(), |rank| format!("source {rank}"));
                let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
                let ranks = sender(arrival).into_iter().collect();
                (format!("recv ({from}, {tag})"), location.to_string(), ranks)
            }
            Some((NotedOperation::Collective { name, place, .. }, location, _, number)) => (
                name.to_owned(),
                location.to_string(),
                self.list_missing(cut, (rank, number), place),
            ),
            Some((NotedOperation::Epoch { name, start, .. }, location, _, number)) => {
                let awaited = self.list_awaited(cut, (rank, start.unwrap_or(number)));
                (name.to_owned(), location.to_string(), awaited.collect())
            }
        };
        Some(Blocked {
            actor: actor(rank),
            name: String::new(),
            host: String::new(),
            waits_in,
            location,
            waits_for: ranks.into_iter().map(actor).collect(),
        })
    }

    /// The ranks that have not called a collective, as far as the run shows them.
    fn list_missing(&self, cut: &Cut, own: At, place: CollectivePlace) -> Vec<u32> {
        let calls = list_entries(&self.calls, place);
        let late = calls.filter(|call| *call != own && !Self::has_begun(cut, *call));
        late.map(|(rank, _)| rank).collect()
    }
}

/// Returns the value of a key in a sorted table.
fn find_entry<K: Ord, V: Copy>(table: &[(K, V)], key: &K) -> Option<V> {
    let place = table.binary_search_by(|(other, _)| other.cmp(key));
    place.ok().map(|place| table[place].1)
}

/// Returns the values of a key in a sorted table.
fn list_entries<K: Ord + Copy, V: Copy>(table: &[(K, V)], key: K) -> impl Iterator<Item = V> + '_ {
    let first = table.partition_point(|(other, _)| *other < key);
    let rest = table[first..].iter();
    rest.take_while(move |(other, _)| *other == key)
        .map(|(_, value)| *value)
}

/// The number of a rank, or of ranks.
fn to_number(rank: usize) -> u32 {
    u32::try_from(rank).expect("ranks are counted in 32 bits")
}
