//! Wakeup trees: what is pending at each place of the path, and what sleeps there.
//!
//! At each place of the path there is an ordered tree of steps that are still to be taken from there (Abdulla, Aronis, Jonsson,
//! Sagonas: JACM 64(4), 2017). A leaf of a tree stands for one run. New branches are appended behind existing ones and nothing is
//! put below a leaf, so the path of a pending leaf never changes, and nothing sleeps when it is reached: its run is a pure
//! function of its path.
//!
//! *Not here*: who takes the steps, and which sequences are worth inserting ([`races`](crate::races)).

use crate::Event;
use crate::independence::{Lists, dependent};

/// No node.
const NONE: u32 = u32::MAX;

/// A pending step and what is pending behind it.
#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    child: u32,
    sibling: u32,
}

/// The nodes of all trees, in one arena.
#[derive(Debug, Default)]
struct Nodes {
    nodes: Vec<Node>,
    free: u32,
    used: u64,
    used_max: u64,
}

impl Nodes {
    fn add(&mut self, event: Event) -> u32 {
        self.used += 1;
        self.used_max = self.used_max.max(self.used);
        let node = Node {
            event,
            child: NONE,
            sibling: NONE,
        };
        if self.free != 0 {
            let index = self.free - 1;
            self.free = self.nodes[index as usize].sibling;
            self.nodes[index as usize] = node;
            return index;
        }
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("pending steps are counted in 32 bits")
    }

    fn remove(&mut self, index: u32) {
        self.used -= 1;
        self.nodes[index as usize].sibling = self.free;
        self.free = index + 1;
    }

    fn at(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }
}

/// What is known at one place of the path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Where its sleep set begins in the stack of sleep sets.
    sleep: u32,
    /// The first pending step.
    pending: u32,
    /// Whether the steps from here on have been decided.
    started: bool,
}

/// What is to be done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The run of a leaf, from the end of the path on.
    Leaf,
    /// This step, which was planned.
    Step(Event),
    /// Nothing is left at the end of the path.
    Leave,
}

/// The trees along one path: one place more than it has events.
#[derive(Debug)]
pub(crate) struct Trees {
    nodes: Nodes,
    frames: Vec<Frame>,
    sleep: Vec<Event>,
    rest: Vec<Event>,
}

impl Trees {
    /// The trees of the empty path: one leaf.
    pub(crate) fn new() -> Self {
        let first = Frame {
            sleep: 0,
            pending: NONE,
            started: false,
        };
        Self {
            nodes: Nodes::default(),
            frames: vec![first],
            sleep: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// The most pending steps there have been.
    pub(crate) const fn pending_max(&self) -> u64 {
        self.nodes.used_max
    }

    /// What is to be done next; `None` if nothing is left anywhere.
    #[inline]
    pub(crate) fn next(&self) -> Option<Next> {
        let frame = self.frames.last()?;
        Some(if !frame.started {
            Next::Leaf
        } else if frame.pending == NONE {
            Next::Leave
        } else {
            Next::Step(self.nodes.at(frame.pending).event)
        })
    }

    /// Begins the run of the leaf at the end of the path. False if something sleeps there, which cannot be.
    pub(crate) fn start(&mut self) -> bool {
        let count = self.sleep.len();
        let Some(frame) = self.frames.last_mut() else {
            return false;
        };
        frame.started = true;
        frame.sleep as usize == count
    }

    /// Adds the place behind a step of the run of a leaf.
    pub(crate) fn extend(&mut self) {
        self.frames.push(Frame {
            sleep: small(self.sleep.len()),
            pending: NONE,
            started: true,
        });
    }

    /// Adds the place behind the first pending step, which has been taken.
    pub(crate) fn descend(&mut self, executed: &Event, lists: &Lists) {
        let frame = self.frames.last_mut().expect("there is a place");
        let (sleep, next) = (frame.sleep as usize, frame.pending);
        let Node { child, sibling, .. } = *self.nodes.at(next);
        frame.pending = sibling;
        self.nodes.remove(next);
        let start = self.sleep.len();
        for position in sleep..start {
            let sleeper = self.sleep[position];
            if !dependent(&sleeper, executed, lists) {
                self.sleep.push(sleeper);
            }
        }
        self.frames.push(Frame {
            sleep: small(start),
            pending: child,
            started: child != NONE,
        });
    }

    /// Takes the last place away. The step that leads to it sleeps from now on; there is none for the first place.
    pub(crate) fn leave(&mut self, event: Option<Event>) {
        let frame = self.frames.pop().expect("there is a place");
        self.sleep.truncate(frame.sleep as usize);
        self.sleep.extend(event);
    }

    /// Puts a sequence into the tree at a place of the path, unless it is covered.
    pub(crate) fn insert(&mut self, lists: &Lists, place: usize, sequence: &[Event]) {
        let sleep = self.frames[place].sleep as usize;
        let end = self
            .frames
            .get(place + 1)
            .map_or(self.sleep.len(), |next| next.sleep as usize);
        for sleeper in &self.sleep[sleep..end] {
            if is_weak_initial(sleeper, sequence, lists) {
                return;
            }
        }
        self.rest.clear();
        self.rest.extend_from_slice(sequence);
        let mut parent = NONE;
        let mut level = self.frames[place].pending;
        loop {
            let (mut node, mut last) = (level, NONE);
            while node != NONE {
                if is_weak_initial(&self.nodes.at(node).event, &self.rest, lists) {
                    break;
                }
                last = node;
                node = self.nodes.at(node).sibling;
            }
            if node == NONE {
                if !self.rest.is_empty() {
                    self.append(place, parent, last);
                }
                return;
            }
            let event = self.nodes.at(node).event;
            if let Some(position) = self
                .rest
                .iter()
                .position(|other| other.actor == event.actor)
            {
                self.rest.remove(position);
            }
            parent = node;
            level = self.nodes.at(node).child;
            if level == NONE {
                // A leaf: whatever runs from there covers the rest.
                return;
            }
        }
    }

    /// Appends the rest as a branch: behind a sibling, or as the first below a node or at the place.
    fn append(&mut self, place: usize, parent: u32, sibling: u32) {
        let rest = std::mem::take(&mut self.rest);
        let mut below = parent;
        for (depth, &event) in rest.iter().enumerate() {
            let node = self.nodes.add(event);
            if depth > 0 {
                self.nodes.nodes[below as usize].child = node;
            } else if sibling != NONE {
                self.nodes.nodes[sibling as usize].sibling = node;
            } else if parent != NONE {
                self.nodes.nodes[parent as usize].child = node;
            } else {
                self.frames[place].pending = node;
            }
            below = node;
        }
        self.rest = rest;
    }
}

/// Whether a run could begin with the event and then still do everything of the sequence: it is the first event of its
/// actor there and depends on nothing before it, or it is not there and depends on nothing.
fn is_weak_initial(event: &Event, sequence: &[Event], lists: &Lists) -> bool {
    for other in sequence {
        if other.actor == event.actor {
            return other.choice == event.choice;
        }
        if dependent(event, other, lists) {
            return false;
        }
    }
    true
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("sleep sets are counted in 32 bits")
}
