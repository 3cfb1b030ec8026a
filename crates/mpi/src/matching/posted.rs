//! Receives that wait for a message.

use std::collections::VecDeque;

use super::table::{Key, ListTable};
use super::{FEW_MAX, NONE};
use crate::channel::Token;
use crate::{Envelope, Pattern};

/// In the order in which they were posted.
#[derive(Clone, Debug)]
pub(super) enum Posted {
    One(Option<(Pattern, Token)>),
    Few(VecDeque<(Pattern, Token)>),
    Many(Box<Index>),
}

impl Default for Posted {
    fn default() -> Self {
        Self::One(None)
    }
}

/// A list for each pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    nodes: Vec<PostedReceive>,
    /// The first of the free nodes, which are linked by `after`.
    free: Option<u32>,
    lists: ListTable,
    /// Number of receives of each kind of pattern.
    kinds: [u32; 4],
    numbers: u64,
}

#[derive(Clone, Debug)]
struct PostedReceive {
    pattern: Pattern,
    receive: Token,
    /// Order of posting.
    number: u64,
    before: u32,
    after: u32,
}

impl Posted {
    #[inline]
    pub(super) fn push(&mut self, pattern: Pattern, receive: Token) {
        match self {
            Self::One(one @ None) => *one = Some((pattern, receive)),
            _ => self.push_more(pattern, receive),
        }
    }

    #[inline(never)]
    fn push_more(&mut self, pattern: Pattern, receive: Token) {
        match self {
            Self::One(None) => *self = Self::One(Some((pattern, receive))),
            Self::One(Some(one)) => *self = Self::Few([*one, (pattern, receive)].into()),
            Self::Few(few) if few.len() < FEW_MAX => few.push_back((pattern, receive)),
            Self::Few(few) => {
                let mut index = Box::new(Index::default());
                for (pattern, receive) in few.drain(..) {
                    index.push(pattern, receive);
                }
                index.push(pattern, receive);
                *self = Self::Many(index);
            }
            Self::Many(index) => index.push(pattern, receive),
        }
    }

    /// Takes the oldest receive that accepts a message.
    #[inline]
    pub(super) fn take_receive(&mut self, envelope: &Envelope) -> Option<Token> {
        let Self::One(one) = self else {
            return self.take_of_more(envelope);
        };
        let (_, receive) = one.take_if(|(pattern, _)| pattern.accepts(envelope))?;
        Some(receive)
    }

    #[inline(never)]
    fn take_of_more(&mut self, envelope: &Envelope) -> Option<Token> {
        match self {
            Self::One(_) => unreachable!("the caller looks at one receive"),
            Self::Few(few) => {
                let accepts = |(pattern, _): &(Pattern, Token)| pattern.accepts(envelope);
                let position = few.iter().position(accepts)?;
                few.remove(position).map(|(_, receive)| receive)
            }
            Self::Many(index) => {
                let found = index.take_receive(envelope);
                self.shrink();
                found
            }
        }
    }

    /// Removes a receive; false if the receive is not in the list. Linear in the number of receives
    /// with exactly this pattern.
    pub(super) fn remove_receive(&mut self, pattern: &Pattern, receive: Token) -> bool {
        match self {
            Self::One(one) => one.take_if(|(_, token)| *token == receive).is_some(),
            Self::Few(few) => {
                let position = few.iter().position(|&(_, token)| token == receive);
                position.is_some_and(|position| few.remove(position).is_some())
            }
            Self::Many(index) => {
                let found = index.remove_receive(pattern, receive);
                self.shrink();
                found
            }
        }
    }

    fn shrink(&mut self) {
        if let Self::Many(index) = self
            && index.kinds == [0; 4]
        {
            *self = Self::default();
        }
    }
}

impl Index {
    fn push(&mut self, pattern: Pattern, receive: Token) {
        self.numbers += 1;
        let node = PostedReceive {
            pattern,
            receive,
            number: self.numbers,
            before: NONE,
            after: NONE,
        };
        let at = if let Some(at) = self.free {
            let place = &mut self.nodes[at as usize];
            self.free = (place.after != NONE).then_some(place.after);
            *place = node;
            at
        } else {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("receives are counted in 32 bits")
        };
        let before = self.lists.append(Key::from_pattern(&pattern), at);
        self.nodes[at as usize].before = before;
        if before != NONE {
            self.nodes[before as usize].after = at;
        }
        self.kinds[Key::pattern_kind(&pattern)] += 1;
    }

    fn take_receive(&mut self, envelope: &Envelope) -> Option<Token> {
        let kinds = (0..4).filter(|kind| self.kinds[*kind] > 0);
        let lists = kinds.filter_map(|kind| self.lists.get(Key::matching_key(envelope, kind)));
        let firsts = lists.map(|ends| ends.first);
        let first = firsts.min_by_key(|first| self.nodes[*first as usize].number)?;
        Some(self.unlink(first))
    }

    fn remove_receive(&mut self, pattern: &Pattern, receive: Token) -> bool {
        let ends = self.lists.get(Key::from_pattern(pattern));
        let mut at = ends.map_or(NONE, |ends| ends.first);
        while at != NONE && self.nodes[at as usize].receive != receive {
            at = self.nodes[at as usize].after;
        }
        if at == NONE {
            return false;
        }
        self.unlink(at);
        true
    }

    fn unlink(&mut self, at: u32) -> Token {
        let PostedReceive {
            pattern,
            receive,
            before,
            after,
            ..
        } = self.nodes[at as usize];
        if before != NONE {
            self.nodes[before as usize].after = after;
        }
        if after != NONE {
            self.nodes[after as usize].before = before;
        }
        self.lists
            .unlink(Key::from_pattern(&pattern), before, after);
        self.kinds[Key::pattern_kind(&pattern)] -= 1;
        self.nodes[at as usize].after = self.free.unwrap_or(NONE);
        self.free = Some(at);
        receive
    }
}
