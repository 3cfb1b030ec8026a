//! Messages that wait for a receive.

use std::collections::VecDeque;

use super::table::{Key, ListTable};
use super::{FEW_MAX, NONE};
use crate::channel::Token;
use crate::exploration::SendCause;
use crate::{Buffer, Envelope, Pattern, Status};

/// A message that no receive has met.
#[derive(Clone, Debug)]
pub(crate) struct UnexpectedMessage {
    pub(crate) envelope: Envelope,
    pub(crate) content: UnexpectedContent,
    pub(crate) arrival: Arrival,
}

/// When a message arrived, under a model checker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The step since which receives can get the message.
    pub(crate) step: u32,
    /// The step in which the message was delivered for the first time, since which probes can see
    /// the message.
    pub(crate) delivery: u32,
    /// True if a probe has seen the message.
    pub(crate) is_seen: bool,
}

impl Default for Arrival {
    fn default() -> Self {
        Self::NONE
    }
}

impl Arrival {
    /// No arrival.
    pub(crate) const NONE: Self = Self::in_step(SendCause::NONE);

    /// A message that is delivered for the first time in this step.
    pub(crate) const fn in_step(step: u32) -> Self {
        Self {
            step,
            delivery: step,
            is_seen: false,
        }
    }

    /// Returns both steps.
    pub(crate) const fn both_steps(self) -> [u32; 2] {
        [self.step, self.delivery]
    }

    /// The cause of an answer to the message: the rank had posted this number of receives, and had
    /// known this number of arrivals then.
    pub(crate) const fn send_cause(self, known: u32, receives: u32) -> SendCause {
        SendCause {
            known,
            arrival: self.step,
            delivery: self.delivery,
            receives,
        }
    }
}

impl UnexpectedMessage {
    /// Returns the status that a probe reports.
    pub(crate) fn probe_status(&self) -> Status {
        Status {
            source: self.envelope.source as usize,
            tag: self.envelope.tag,
            length: self.content.length(),
            cancelled: false,
        }
    }
}

/// Part of a message that has arrived.
#[derive(Clone, Debug)]
pub(crate) enum UnexpectedContent {
    /// The whole message.
    Eager(Buffer),
    /// The whole message; the data leave the sender only after the match.
    Detached(Buffer),
    /// The announcement of the message; the message waits at the sender under this token, whether
    /// or not the sender waits too.
    Rts {
        length: u64,
        send: Token,
        detached: bool,
    },
    /// The whole message or a part, kept by this operation; only if limits are set.
    Held { length: u64, assembly: Token },
    /// A synchronous message that has come whole; the sender waits under this token for an
    /// acknowledgement.
    Synchronous { send: Token, message: Box<Self> },
    /// A message of a ready send that found no receive, where that is a mistake.
    Unready(Box<Self>),
}

impl UnexpectedContent {
    pub(crate) const fn length(&self) -> u64 {
        match self {
            Self::Eager(buffer) | Self::Detached(buffer) => buffer.len(),
            Self::Rts { length, .. } | Self::Held { length, .. } => *length,
            Self::Synchronous { message, .. } | Self::Unready(message) => message.length(),
        }
    }

    /// Returns true if the message has come, and not only its announcement.
    pub(crate) const fn is_here(&self) -> bool {
        match self {
            Self::Eager(_) | Self::Held { .. } => true,
            Self::Rts { .. } | Self::Detached(_) => false,
            Self::Synchronous { message, .. } | Self::Unready(message) => message.is_here(),
        }
    }

    /// The operation at the sender that still waits for the message to meet a receive.
    pub(crate) const fn waiting_send(&self) -> Option<Token> {
        match self {
            Self::Rts { send, .. } | Self::Synchronous { send, .. } => Some(*send),
            Self::Unready(message) => message.waiting_send(),
            Self::Eager(_) | Self::Detached(_) | Self::Held { .. } => None,
        }
    }
}

/// In the order of arrival.
#[derive(Clone, Debug)]
pub(super) enum UnexpectedQueue {
    Few(VecDeque<UnexpectedMessage>),
    Many(Box<Index>),
}

impl Default for UnexpectedQueue {
    fn default() -> Self {
        Self::Few(VecDeque::new())
    }
}

/// Four patterns accept a message: each is a kind of list. A kind has lists from the first search
/// for such a pattern on, since most programs search for one kind only.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    nodes: Vec<UnexpectedEntry>,
    free: Vec<u32>,
    lists: ListTable,
    has_lists: [bool; 4],
    numbers: u64,
}

#[derive(Clone, Debug)]
struct UnexpectedEntry {
    /// None if the node is free.
    message: Option<UnexpectedMessage>,
    /// Order of arrival.
    number: u64,
    links: [ListNeighbors; 4],
}

/// The neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct ListNeighbors {
    before: u32,
    after: u32,
}

impl UnexpectedQueue {
    pub(super) fn push(&mut self, message: UnexpectedMessage) {
        match self {
            Self::Few(few) if few.len() < FEW_MAX => {
                if few.capacity() == 0 {
                    // Most ranks of a large run have one such message at a time.
                    few.reserve_exact(1);
                }
                few.push_back(message);
            }
            Self::Few(few) => {
                let mut index = Box::new(Index::default());
                for message in few.drain(..) {
                    index.push(message);
                }
                index.push(message);
                *self = Self::Many(index);
            }
            Self::Many(index) => index.push(message),
        }
    }

    /// Returns true if no message waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Few(few) if few.is_empty())
    }

    /// Takes the oldest message that a pattern accepts.
    pub(super) fn take_message(&mut self, pattern: &Pattern) -> Option<UnexpectedMessage> {
        match self {
            Self::Few(few) => {
                let accepts = |message: &UnexpectedMessage| pattern.accepts(&message.envelope);
                let position = few.iter().position(accepts)?;
                few.remove(position)
            }
            Self::Many(index) => {
                let first = index.first_message(pattern)?;
                let message = index.unlink(first);
                if index.free.len() == index.nodes.len() {
                    *self = Self::default();
                }
                Some(message)
            }
        }
    }

    /// Takes the message out of which the sender waits under this token; linear in the number of
    /// messages with this very envelope.
    pub(super) fn withdraw_message(
        &mut self,
        envelope: &Envelope,
        send: Token,
    ) -> Option<UnexpectedMessage> {
        let is_it = |message: &UnexpectedMessage| {
            message.envelope == *envelope && message.content.waiting_send() == Some(send)
        };
        match self {
            Self::Few(few) => {
                let position = few.iter().position(is_it)?;
                few.remove(position)
            }
            Self::Many(index) => {
                let pattern = Pattern::from_envelope(envelope);
                let kind = Key::pattern_kind(&pattern);
                let mut at = index.first_message(&pattern)?;
                while !index.nodes[at as usize].message.as_ref().is_some_and(is_it) {
                    at = index.nodes[at as usize].links[kind].after;
                    if at == NONE {
                        return None;
                    }
                }
                let message = index.unlink(at);
                if index.free.len() == index.nodes.len() {
                    *self = Self::default();
                }
                Some(message)
            }
        }
    }

    /// The oldest message that a pattern accepts.
    pub(super) fn find_message(&mut self, pattern: &Pattern) -> Option<&UnexpectedMessage> {
        match self {
            Self::Few(few) => few
                .iter()
                .find(|message| pattern.accepts(&message.envelope)),
            Self::Many(index) => {
                let first = index.first_message(pattern)?;
                index.nodes[first as usize].message.as_ref()
            }
        }
    }

    /// All messages, in the order of arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = &UnexpectedMessage> {
        let mut nodes: Vec<&UnexpectedEntry> = Vec::new();
        let few = match self {
            Self::Few(few) => Some(few),
            Self::Many(index) => {
                nodes.extend(&index.nodes);
                nodes.sort_unstable_by_key(|node| node.number);
                None
            }
        };
        let many = nodes.into_iter().filter_map(|node| node.message.as_ref());
        few.into_iter().flatten().chain(many)
    }
}

impl Index {
    fn first_message(&mut self, pattern: &Pattern) -> Option<u32> {
        let kind = Key::pattern_kind(pattern);
        if !self.has_lists[kind] {
            self.make_lists(kind);
        }
        let ends = self.lists.get(Key::from_pattern(pattern));
        ends.map(|ends| ends.first)
    }

    /// Puts all messages into lists of this kind, in the order of arrival.
    #[cold]
    fn make_lists(&mut self, kind: usize) {
        self.has_lists[kind] = true;
        let nodes = (0..).zip(&self.nodes);
        let full = nodes.filter(|(_, node)| node.message.is_some());
        let mut arrivals: Vec<(u64, u32)> = full.map(|(at, node)| (node.number, at)).collect();
        arrivals.sort_unstable();
        for (_, at) in arrivals {
            self.append_to_list(kind, at);
        }
    }

    fn append_to_list(&mut self, kind: usize, at: u32) {
        let message = self.nodes[at as usize].message.as_ref();
        let envelope = &message.expect("a listed node has a message").envelope;
        let before = (self.lists).append(Key::matching_key(envelope, kind), at);
        self.nodes[at as usize].links[kind].before = before;
        if before != NONE {
            self.nodes[before as usize].links[kind].after = at;
        }
    }

    fn push(&mut self, message: UnexpectedMessage) {
        self.numbers += 1;
        let link = ListNeighbors {
            before: NONE,
            after: NONE,
        };
        let node = UnexpectedEntry {
            message: Some(message),
            number: self.numbers,
            links: [link; 4],
        };
        let at = if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            at
        } else {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("messages are counted in 32 bits")
        };
        for kind in 0..4 {
            if self.has_lists[kind] {
                self.append_to_list(kind, at);
            }
        }
    }

    fn unlink(&mut self, at: u32) -> UnexpectedMessage {
        let node = &mut self.nodes[at as usize];
        let (message, links) = (node.message.take(), node.links);
        let message = message.expect("only what is there is taken");
        for (kind, ListNeighbors { before, after }) in links.into_iter().enumerate() {
            if !self.has_lists[kind] {
                continue;
            }
            if before != NONE {
                self.nodes[before as usize].links[kind].after = after;
            }
            if after != NONE {
                self.nodes[after as usize].links[kind].before = before;
            }
            let key = Key::matching_key(&message.envelope, kind);
            self.lists.unlink(key, before, after);
        }
        self.free.push(at);
        message
    }
}
