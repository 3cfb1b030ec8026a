//! Operations for which a blocked rank waits, in words: for reports of deadlocks.
//!
//! A rank may wait in several operations at once (`join!`, `select!`). The operations that were
//! pending at the latest turn are kept; a turn is the time between two events. A dropped future is
//! removed.

use crate::channel::{Interest, Token, Waiting};
use crate::matching::envelope::TagInWords;
use crate::protocol::engine::{OperationState, OutboundSend, ProtocolEngine};
use crate::{Error, Pattern};
use observe::SourceLocation;

/// At most this many operations are listed one by one.
const LISTED_MAX: usize = 3;

/// Operation that a pending future waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// The end of one operation.
    Operation(Token),
    /// The end of an operation that belongs to a call of this name.
    Named(&'static str, Token),
    /// To begin with the call of this name.
    Call(&'static str),
    /// The end of all of some operations.
    All,
    /// The end of any of some operations.
    Any,
    /// Operations that are not over, of a call of this name.
    Several(&'static str),
    /// The end of one operation, by asking again and again.
    Test(Token),
    /// The end of some operations, by repeated questions of calls with this name. As for one
    /// operation, the rank may ask other questions in between, so any event may end the wait.
    Tests(&'static str),
    /// A message that the wait does not receive.
    Probe(Pattern),
    /// The same, by asking again and again.
    Iprobe(Pattern),
    /// The memory of a window in its present state, in a call of this name.
    Memory(&'static str),
    /// Another result of a read of the window of this rank by a call of this name, by reading again
    /// and again.
    Read(&'static str, u32),
    /// The sends that were still in progress when the program returned.
    Finalize,
}

impl Waits {
    /// Returns true if the wait may be over after some events; `ended` is the number of ended
    /// operations before these events.
    #[inline]
    pub(crate) fn may_end(self, engine: &ProtocolEngine, ended: u64) -> bool {
        // With limits, a rank may have something to do besides what it waits for.
        engine.flow_control().is_some()
            || match self {
                Self::Operation(token) | Self::Named(_, token) => engine.requests.is_done(token),
                Self::All | Self::Any | Self::Several(_) => engine.requests.count_ended() != ended,
                Self::Call(_)
                | Self::Test(_)
                | Self::Tests(_)
                | Self::Probe(_)
                | Self::Iprobe(_)
                | Self::Memory(_)
                | Self::Read(..)
                | Self::Finalize => true,
            }
    }

    /// Returns true if the answer depends on arrivals so far: under a model checker the rank then
    /// looks in a separate step.
    pub(crate) const fn needs_look(self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Returns true if the answer depends on the order in which messages of different senders
    /// arrive.
    pub(crate) const fn depends_on_order(self) -> bool {
        matches!(self, Self::Probe(pattern) if pattern.source.is_none())
    }

    /// Returns true if arrivals so far may end the wait at once.
    pub(crate) fn may_be_complete(self, engine: &ProtocolEngine) -> bool {
        match self {
            Self::Operation(token) | Self::Named(_, token) => {
                engine.requests.depends_on_arrival(token)
            }
            Self::All | Self::Probe(_) => true,
            _ => false,
        }
    }

    /// Returns the events that can end the wait.
    #[inline]
    pub(crate) fn interest(self, engine: &ProtocolEngine) -> Interest {
        let requests = &engine.requests;
        let is_receive = match self {
            Self::Operation(token) | Self::Named(_, token) => matches!(
                requests.operations.state(token),
                OperationState::AwaitPost { .. }
                    | OperationState::Posted { .. }
                    | OperationState::AwaitData { .. }
                    | OperationState::Elapsing
            ),
            Self::Probe(_) => true,
            Self::Call(_)
            | Self::All
            | Self::Any
            | Self::Several(_)
            | Self::Test(_)
            | Self::Tests(_)
            | Self::Iprobe(_)
            | Self::Memory(_)
            | Self::Read(..)
            | Self::Finalize => false,
        };
        // With limits, the end of a packet lets others leave; that of a send lets a collective
        // continue.
        if is_receive && engine.flow_control().is_none() && !requests.has_running() {
            Interest::Arrivals
        } else {
            Interest::All
        }
    }
}

type Entry = (Waits, SourceLocation);

#[derive(Debug, Default)]
struct MorePending(Vec<Entry>);

/// The futures of a rank that were pending at its latest turn.
#[derive(Debug, Default)]
pub(crate) struct Blocked {
    /// The number of events handled at that turn.
    turn: u64,
    first: Option<Entry>,
    /// The others; most ranks never have any.
    more: Option<Box<MorePending>>,
}

impl Blocked {
    fn others(&self) -> &[Entry] {
        self.more.as_ref().map_or(&[], |more| &more.0)
    }

    /// Notes a pending future. Returns true if the rank waits for this future alone.
    #[inline]
    pub(crate) fn add_pending(
        &mut self,
        turn: u64,
        waits: Waits,
        location: SourceLocation,
    ) -> bool {
        if self.turn == turn && self.first.is_some() {
            return self.add_other((waits, location));
        }
        self.turn = turn;
        self.first = Some((waits, location));
        if self.more.is_some() {
            self.more = None;
        }
        true
    }

    #[inline(never)]
    fn add_other(&mut self, entry: Entry) -> bool {
        if self.first != Some(entry) && !self.others().contains(&entry) {
            self.more.get_or_insert_default().0.push(entry);
        }
        self.others().is_empty()
    }

    /// Returns true if a future is known to be pending.
    pub(crate) fn contains(&self, waits: Waits, location: SourceLocation) -> bool {
        let entry = (waits, location);
        self.first == Some(entry) || self.others().contains(&entry)
    }

    /// Returns the operation that the rank waits for, if that is one future alone.
    #[inline]
    pub(crate) fn only(&self) -> Option<Waits> {
        match &self.first {
            Some((waits, _)) if self.others().is_empty() => Some(*waits),
            _ => None,
        }
    }

    /// Events have been handled, and the rank waits as before.
    pub(crate) fn go_on(&mut self, turn: u64) {
        self.turn = turn;
    }

    /// Removes a future that has been dropped or is over. Returns true if it was known.
    pub(crate) fn remove_pending(&mut self, waits: Waits, location: SourceLocation) -> bool {
        let Some(first) = self.first else {
            return false;
        };
        if first == (waits, location) {
            let more = self.more.as_mut().filter(|more| !more.0.is_empty());
            self.first = more.map(|more| more.0.remove(0));
            return true;
        }
        let Some(more) = &mut self.more else {
            return false;
        };
        let before = more.0.len();
        more.0.retain(|&entry| entry != (waits, location));
        more.0.len() < before
    }

    /// Describes the operations of the rank in the words of another wait at the same place.
    pub(crate) fn describe_as(&self, engine: &ProtocolEngine, waits: Waits) -> Option<Waiting> {
        let &(_, location) = self.first.as_ref()?;
        Some(describe_wait(engine, waits, location))
    }

    /// Returns the operations for which the rank waits; `None` if the rank does not wait.
    pub(crate) fn describe_waits(&self, engine: &ProtocolEngine) -> Option<Waiting> {
        let &(first, location) = self.first.as_ref()?;
        if self.turn != engine.requests.count_events() {
            return None;
        }
        let mut all = describe_wait(engine, first, location);
        for &(waits, location) in self.others() {
            let next = describe_wait(engine, waits, location);
            all.operation = format!("{} or {}", all.operation, next.operation);
            // A future that any rank could end makes the whole wait one that any rank could end.
            if all.ranks.is_empty() || next.ranks.is_empty() {
                all.ranks.clear();
            } else {
                all.ranks.extend(next.ranks);
            }
        }
        let mut seen = Vec::new();
        all.ranks.retain(|rank| {
            let new = !seen.contains(rank);
            seen.push(*rank);
            new
        });
        Some(all)
    }
}

fn describe_wait(engine: &ProtocolEngine, waits: Waits, location: SourceLocation) -> Waiting {
    let operations = &engine.requests.operations;
    let describe_one = |token: Token| {
        let state = operations.state(token);
        (in_words(engine, state), location, partners(engine, state))
    };
    let describe_any = |name: &str| {
        let (text, any, ranks) = several(engine, is_pending);
        let ranks = if any { Vec::new() } else { ranks };
        (format!("{name} ({text})"), location, ranks)
    };
    let (operation, location, ranks) = match waits {
        Waits::Operation(token) => describe_one(token),
        Waits::Named(name, token) => match describe_one(token) {
            one if matches!(operations.state(token), OperationState::Collective { .. }) => one,
            (_, location, ranks) => (name.to_owned(), location, ranks),
        },
        Waits::Call(name) | Waits::Memory(name) => (name.to_owned(), location, Vec::new()),
        Waits::Read(name, target) => {
            let text = format!("polling: {name} of a window at rank {target}");
            (text, location, Vec::new())
        }
        Waits::Test(token) => {
            let (text, location, ranks) = describe_one(token);
            (format!("polling: test of {text}"), location, ranks)
        }
        Waits::All => {
            let (text, _, ranks) = several(engine, is_pending);
            (format!("waitall ({text})"), location, ranks)
        }
        Waits::Any => describe_any("waitany"),
        Waits::Several(name) => describe_any(name),
        Waits::Tests(name) => describe_any(&format!("polling: {name}")),
        Waits::Probe(pattern) => (
            format!("probe ({pattern})"),
            location,
            pattern_source(&pattern),
        ),
        Waits::Iprobe(pattern) => {
            let text = format!("polling: probe ({pattern})");
            (text, location, pattern_source(&pattern))
        }
        Waits::Finalize => {
            let (text, _, ranks) = several(engine, is_send);
            let location = operations.find_location(is_send).unwrap_or(location);
            (format!("finalize, for {text}"), location, ranks)
        }
    };
    Waiting {
        operation,
        location: location.to_string(),
        ranks,
    }
}

/// The operations of one kind that are not over: their words, whether any rank could end one, and
/// their partners.
fn several(
    engine: &ProtocolEngine,
    wanted: fn(&OperationState) -> bool,
) -> (String, bool, Vec<u32>) {
    let mut texts = Vec::new();
    let (mut any, mut ranks, mut rest) = (false, Vec::new(), 0);
    let states = engine.requests.operations.states();
    for state in states.filter(|state| wanted(state)) {
        let found = partners(engine, state);
        any |= found.is_empty();
        ranks.extend(found);
        if texts.len() < LISTED_MAX {
            texts.push(in_words(engine, state));
        } else {
            rest += 1;
        }
    }
    let mut text = texts.join(", ");
    if rest > 0 {
        text = format!("{text} and {rest} more");
    }
    (text, any, ranks)
}

pub(crate) const fn is_send(state: &OperationState) -> bool {
    matches!(
        state,
        OperationState::AwaitTurn { .. }
            | OperationState::Queued(_)
            | OperationState::AwaitCts(_)
            | OperationState::AwaitAck(_)
            | OperationState::Sending(_)
    )
}

pub(crate) const fn is_pending(state: &OperationState) -> bool {
    is_send(state)
        || matches!(
            state,
            OperationState::AwaitPost { .. }
                | OperationState::Posted { .. }
                | OperationState::AwaitData { .. }
                | OperationState::Collective { .. }
                | OperationState::Remote(_)
        )
}

fn pattern_source(pattern: &Pattern) -> Vec<u32> {
    pattern.source.into_iter().collect()
}

/// The rank that could end an operation; none if any could.
fn partners(engine: &ProtocolEngine, state: &OperationState) -> Vec<u32> {
    match state {
        OperationState::Collective { index } => {
            let collectives = engine.requests.collectives.as_ref();
            collectives.map_or_else(Vec::new, |all| all.list_partners(*index))
        }
        OperationState::AwaitPost { pattern, .. } | OperationState::Posted { pattern, .. } => {
            pattern_source(pattern)
        }
        OperationState::AwaitTurn { message, .. }
        | OperationState::Queued(message)
        | OperationState::AwaitCts(message)
        | OperationState::AwaitAck(message)
        | OperationState::Sending(message) => vec![message.peer],
        OperationState::Packing { peer } | OperationState::Matching { peer, .. } => vec![*peer],
        OperationState::AwaitData { envelope, .. } => vec![envelope.source],
        OperationState::Remote(call) => call.peers.clone(),
        OperationState::Elapsing
        | OperationState::Partitions { .. }
        | OperationState::Done { .. }
        | OperationState::Free { .. }
        | OperationState::Assembly(_)
        | OperationState::Packet(_) => Vec::new(),
    }
}

/// Describes a state, and the resource for which the connection of a queued message waits.
fn in_words(engine: &ProtocolEngine, state: &OperationState) -> String {
    if let OperationState::Collective { index } = state {
        let collectives = engine.requests.collectives.as_ref();
        let described = collectives.and_then(|all| all.in_words(*index));
        return described.unwrap_or_else(|| "a collective operation".to_owned());
    }
    let text = state_in_words(state);
    let peer = match state {
        OperationState::Queued(to)
        | OperationState::AwaitCts(to)
        | OperationState::AwaitAck(to)
        | OperationState::Sending(to) => to.peer,
        _ => return text,
    };
    let flow = engine.flow_control();
    match flow.and_then(|flow| flow.waits_for(peer)) {
        Some(what) => format!("{text}; connection waits for {what}"),
        None => text,
    }
}

fn state_in_words(state: &OperationState) -> String {
    match state {
        OperationState::AwaitPost { pattern, .. } | OperationState::Posted { pattern, .. } => {
            format!("recv ({pattern})")
        }
        OperationState::AwaitTurn { message, .. } => format!(
            "send (destination {}, tag {}), not yet sent",
            message.peer,
            TagInWords(message.envelope.tag)
        ),
        OperationState::Queued(OutboundSend { peer, envelope, .. }) => format!(
            "send (destination {peer}, tag {}), queued",
            TagInWords(envelope.tag)
        ),
        OperationState::AwaitCts(OutboundSend {
            peer,
            envelope,
            buffer,
        }) => format!(
            "send (destination {peer}, tag {}, {} bytes, rendezvous)",
            TagInWords(envelope.tag),
            buffer.len()
        ),
        OperationState::AwaitAck(OutboundSend { peer, envelope, .. }) => format!(
            "send (destination {peer}, tag {}, synchronous)",
            TagInWords(envelope.tag)
        ),
        OperationState::Sending(OutboundSend { peer, envelope, .. }) => format!(
            "send (destination {peer}, tag {}), sending data",
            TagInWords(envelope.tag)
        ),
        OperationState::AwaitData { envelope, .. } => format!(
            "recv (source {}, tag {}), receiving data",
            envelope.source,
            TagInWords(envelope.tag)
        ),
        OperationState::Collective { .. } => "a collective operation".to_owned(),
        OperationState::Partitions { left } => {
            format!("a partitioned send, {left} of whose partitions are not ready")
        }
        OperationState::Remote(call) => call.to_string(),
        OperationState::Elapsing
        | OperationState::Assembly(_)
        | OperationState::Packet(_)
        | OperationState::Packing { .. }
        | OperationState::Matching { .. } => "a timer".to_owned(),
        OperationState::Done { result: Ok(_), .. } => "a completed operation".to_owned(),
        OperationState::Done {
            result: Err(error), ..
        } => describe_failure(error),
        OperationState::Free { .. } => "nothing".to_owned(),
    }
}

fn describe_failure(error: &Error) -> String {
    format!("something that has failed: {error}")
}
