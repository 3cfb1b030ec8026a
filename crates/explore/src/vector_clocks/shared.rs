//! Clocks as trees that share parts: a node has 16 children, a leaf the numbers of 16 actors.
//!
//! A clock differs from the clock of the event before in few numbers, so few new nodes are needed.
//! Nodes are kept in one stack. An event's nodes are above all earlier nodes and go with the event.

use crate::small;

/// Children per node, and numbers per leaf.
const FAN: usize = 16;
const FAN_BITS: u32 = FAN.trailing_zeros();
/// Levels of nodes: enough for the 2^16 actors that an event can name.
const LEVELS: u32 = 4;
/// The node in which all numbers are 0, on every level.
const ZERO: u32 = 0;

type Node = [u32; FAN];

/// The clock of one event.
#[derive(Clone, Copy, Debug)]
struct EventClock {
    root: u32,
    /// The first node that was created for this clock.
    first: u32,
}

/// The clocks of the events of a run.
#[derive(Clone, Debug)]
pub(super) struct SharedClocks {
    nodes: Vec<Node>,
    clocks: Vec<EventClock>,
}

impl SharedClocks {
    /// The clocks of rows of numbers.
    pub(super) fn from_rows<'a>(rows: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut clocks = Self {
            nodes: vec![[0; FAN]],
            clocks: Vec::new(),
        };
        for row in rows {
            clocks.push(None);
            for (actor, &count) in row.iter().enumerate() {
                if count > 0 {
                    clocks.set_count(actor, count);
                }
            }
        }
        clocks
    }

    pub(super) fn push(&mut self, previous: Option<usize>) {
        self.clocks.push(EventClock {
            root: previous.map_or(ZERO, |event| self.clocks[event].root),
            first: small(self.nodes.len()),
        });
    }

    pub(super) fn pop(&mut self) {
        if let Some(clock) = self.clocks.pop() {
            self.nodes.truncate(clock.first as usize);
        }
    }

    pub(super) fn get(&self, event: usize, actor: usize) -> u32 {
        let mut node = self.clocks[event].root;
        for level in (0..LEVELS).rev() {
            node = self.nodes[node as usize][child(actor, level)];
        }
        node
    }

    pub(super) fn set_count(&mut self, actor: usize, count: u32) {
        let root = self.own_node(self.last().root);
        self.set_root(root);
        let mut node = root;
        for level in (1..LEVELS).rev() {
            let place = child(actor, level);
            let below = self.own_node(self.nodes[node as usize][place]);
            self.nodes[node as usize][place] = below;
            node = below;
        }
        self.nodes[node as usize][child(actor, 0)] = count;
    }

    pub(super) fn join_clock(&mut self, event: usize) {
        let root = self.joined_node(self.last().root, self.clocks[event].root, LEVELS - 1);
        self.set_root(root);
    }

    /// Returns a node with the greater of each two numbers, or the argument that has these numbers.
    fn joined_node(&mut self, one: u32, other: u32, level: u32) -> u32 {
        if one == other || other == ZERO {
            return one;
        }
        if one == ZERO {
            return other;
        }
        let (old, theirs) = (self.nodes[one as usize], self.nodes[other as usize]);
        let mut new = old;
        for (own, &theirs) in new.iter_mut().zip(&theirs) {
            *own = if level == 0 {
                (*own).max(theirs)
            } else {
                self.joined_node(*own, theirs, level - 1)
            };
        }
        if new == old {
            return one;
        }
        if new == theirs {
            return other;
        }
        let node = self.own_node(one);
        self.nodes[node as usize] = new;
        node
    }

    /// Returns the node if it was created for the last clock, otherwise a copy.
    fn own_node(&mut self, node: u32) -> u32 {
        if node >= self.last().first {
            return node;
        }
        self.nodes.push(self.nodes[node as usize]);
        small(self.nodes.len() - 1)
    }

    fn last(&self) -> EventClock {
        *self.clocks.last().expect("the clock is being made")
    }

    fn set_root(&mut self, root: u32) {
        if let Some(clock) = self.clocks.last_mut() {
            clock.root = root;
        }
    }

    /// Bytes that the clocks take.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + size_of_val(&self.clocks[..])
    }
}

/// The place of an actor in a node of a level.
const fn child(actor: usize, level: u32) -> usize {
    actor >> (level * FAN_BITS) & (FAN - 1)
}
