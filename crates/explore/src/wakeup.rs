//! Wakeup trees: the pending steps at each place of the path, and the sleep set of the place.
//!
//! At each place of the path there is an ordered tree of steps that are still to be taken from
//! there (Abdulla, Aronis, Jonsson, Sagonas: JACM 64(4), 2017). A leaf of a tree stands for one
//! run. New branches are appended behind existing branches and no step is inserted below a leaf, so
//! the path of a pending leaf never changes, and the sleep set is empty when the search reaches the
//! leaf: the run is a pure function of the path.
//!
//! *Not here*: the execution of the steps, and the choice of the sequences to insert
//! ([`races`](crate::races)).

mod saved;

use crate::independence::{Lists, Suspects, dependent};
use crate::{Event, small};

pub(crate) use self::saved::Saved;

/// No node.
const NONE: u32 = u32::MAX;

/// A pending step and the pending steps behind it.
#[derive(Clone, Copy, Debug)]
struct PendingStep {
    event: Event,
    child: u32,
    sibling: u32,
    /// For a leaf: the job that runs the leaf; 0 if there is none.
    job: u32,
}

/// The nodes of all trees, in one arena.
#[derive(Debug, Default)]
struct Nodes {
    nodes: Vec<PendingStep>,
    free: u32,
    used: u64,
    used_max: u64,
}

impl Nodes {
    fn add_node(&mut self, event: Event) -> u32 {
        self.used += 1;
        self.used_max = self.used_max.max(self.used);
        let node = PendingStep {
            event,
            child: NONE,
            sibling: NONE,
            job: 0,
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

    fn remove_node(&mut self, index: u32) {
        self.used -= 1;
        self.nodes[index as usize].sibling = self.free;
        self.free = index + 1;
    }

    fn node_at(&self, index: u32) -> &PendingStep {
        &self.nodes[index as usize]
    }
}

/// State of one place of the path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Position of this place's sleep set in the stack of sleep sets.
    sleep: u32,
    /// The first pending step.
    pending: u32,
    /// True if the steps from here on have been decided.
    started: bool,
}

/// Next action of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The run of a leaf, from the end of the path on.
    Leaf,
    /// This step, which was planned.
    Step(Event),
    /// No step is left at the end of the path.
    Leave,
}

/// A leaf that is pending.
#[derive(Debug)]
pub(crate) struct PendingLeaf<'a> {
    /// The place of the tree on the path.
    pub(crate) place: usize,
    /// The steps from there to the leaf.
    pub(crate) steps: &'a [Event],
    /// Number of events at the start of the path that the previous run has, too.
    pub(crate) shared: usize,
    /// The number of the job that runs the leaf; 0 if there is none.
    pub(crate) job: &'a mut u32,
}

/// The trees along one path, from a first place on: one place more than events from there.
///
/// An exploration below a leaf affects the places above the leaf only by the sequences that the
/// exploration inserts there. So a part of the path can have trees of its own: these sequences are
/// kept for the owner of the trees above.
#[derive(Debug)]
pub(crate) struct Trees {
    /// The first place.
    base: usize,
    nodes: Nodes,
    frames: Vec<Frame>,
    sleep: Vec<Event>,
    rest: Vec<Event>,
    /// Sequences for places before the first.
    outer: Sequences,
}

/// Sequences of events and their places, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    /// The place and the length of each sequence.
    places: Vec<(usize, usize)>,
    events: Vec<Event>,
}

impl Sequences {
    fn push_sequence(&mut self, place: usize, sequence: &[Event]) {
        self.places.push((place, sequence.len()));
        self.events.extend_from_slice(sequence);
    }
}

impl Trees {
    /// Returns the trees of a leaf with a path of `base` events.
    pub(crate) fn at_leaf(base: usize) -> Self {
        let first = Frame {
            sleep: 0,
            pending: NONE,
            started: false,
        };
        Self {
            base,
            nodes: Nodes::default(),
            frames: vec![first],
            sleep: Vec::new(),
            rest: Vec::new(),
            outer: Sequences::default(),
        }
    }

    /// The first place.
    pub(crate) const fn base(&self) -> usize {
        self.base
    }

    /// Returns the maximum number of pending steps so far.
    pub(crate) const fn pending_max(&self) -> u64 {
        self.nodes.used_max
    }

    /// Returns the next action; `None` if no step is left at any place.
    #[inline]
    pub(crate) fn next_action(&self) -> Option<Next> {
        let frame = self.frames.last()?;
        Some(if !frame.started {
            Next::Leaf
        } else if frame.pending == NONE {
            Next::Leave
        } else {
            Next::Step(self.nodes.node_at(frame.pending).event)
        })
    }

    /// Begins the run of the leaf at the end of the path. Returns false if the sleep set of the
    /// leaf is not empty, which is impossible for a deterministic program.
    pub(crate) fn start_run(&mut self) -> bool {
        let count = self.sleep.len();
        let Some(frame) = self.frames.last_mut() else {
            return false;
        };
        frame.started = true;
        frame.sleep as usize == count
    }

    /// Takes back that the run of the leaf at the end of the path was begun.
    pub(crate) fn unstart(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.started = false;
        }
    }

    /// Undoes the last [`Trees::extend`]. The pending steps at that place are dropped: the same run
    /// will insert these steps again.
    pub(crate) fn take_back(&mut self) {
        self.frames.pop();
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
        let PendingStep { child, sibling, .. } = *self.nodes.node_at(next);
        frame.pending = sibling;
        self.nodes.remove_node(next);
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

    /// Shows the pending leaves, at most `limit`, in the order in which they come if no leaf is
    /// added.
    pub(crate) fn show_pending(&mut self, limit: usize, mut show: impl FnMut(PendingLeaf<'_>)) {
        let mut left = limit;
        let (mut above, mut steps): (Vec<u32>, Vec<Event>) = (Vec::new(), Vec::new());
        for (place, frame) in self.frames.iter().enumerate().rev() {
            let mut node = frame.pending;
            // Whatever comes first at a place has the events up to there in common with the run
            // before it.
            let mut shared = place;
            while node != NONE && left > 0 {
                above.push(node);
                steps.push(self.nodes.node_at(node).event);
                let child = self.nodes.node_at(node).child;
                if child != NONE {
                    node = child;
                    continue;
                }
                left -= 1;
                show(PendingLeaf {
                    place,
                    steps: &steps,
                    shared,
                    job: &mut self.nodes.nodes[node as usize].job,
                });
                while let Some(done) = above.pop() {
                    steps.pop();
                    node = self.nodes.node_at(done).sibling;
                    if node != NONE {
                        shared = place + above.len();
                        break;
                    }
                }
            }
            above.clear();
            steps.clear();
            if left == 0 {
                return;
            }
        }
    }

    /// Removes the last place. The step that leads to the place sleeps from now on; the first place
    /// has no such step.
    pub(crate) fn leave_place(&mut self, event: Option<Event>) {
        let frame = self.frames.pop().expect("there is a place");
        self.sleep.truncate(frame.sleep as usize);
        self.sleep.extend(event);
    }

    /// Inserts a sequence into the tree at a place of the path, unless the sequence is covered.
    pub(crate) fn insert(&mut self, lists: &Lists, place: usize, sequence: &[Event]) {
        let Some(place) = place.checked_sub(self.base) else {
            self.outer.push_sequence(place, sequence);
            return;
        };
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
                if is_weak_initial(&self.nodes.node_at(node).event, &self.rest, lists) {
                    break;
                }
                last = node;
                node = self.nodes.node_at(node).sibling;
            }
            if node == NONE {
                if !self.rest.is_empty() {
                    self.append(place, parent, last);
                }
                return;
            }
            let event = self.nodes.node_at(node).event;
            if let Some(position) = self
                .rest
                .iter()
                .position(|other| other.actor == event.actor)
            {
                self.rest.remove(position);
            }
            parent = node;
            level = self.nodes.node_at(node).child;
            if level == NONE {
                // A leaf: whatever runs from there covers the rest.
                return;
            }
        }
    }

    /// Takes over the trees of the leaf at the end of the path, which another worker has run
    /// meanwhile.
    pub(crate) fn take_over(&mut self, lists: &Lists, other: &Self) {
        let mut from = 0;
        for &(place, length) in &other.outer.places {
            self.insert(lists, place, &other.outer.events[from..from + length]);
            from += length;
        }
        let offset = small(self.sleep.len());
        if other.frames.is_empty() {
            self.start_run();
            return;
        }
        self.frames.pop();
        self.sleep.extend_from_slice(&other.sleep);
        for frame in &other.frames {
            let pending = self.copy_level(&other.nodes, frame.pending);
            self.frames.push(Frame {
                sleep: frame.sleep + offset,
                pending,
                started: frame.started,
            });
        }
    }

    /// Copies a level of a tree and all nodes below the level.
    fn copy_level(&mut self, from: &Nodes, level: u32) -> u32 {
        let mut first = NONE;
        // What is to be copied, and where it goes: the child or the sibling of a node.
        let mut todo = vec![(level, NONE, false)];
        while let Some((original, above, is_child)) = todo.pop() {
            if original == NONE {
                continue;
            }
            let PendingStep {
                event,
                child,
                sibling,
                ..
            } = *from.node_at(original);
            let node = self.nodes.add_node(event);
            match self.nodes.nodes.get_mut(above as usize) {
                None => first = node,
                Some(parent) if is_child => parent.child = node,
                Some(before) => before.sibling = node,
            }
            todo.push((sibling, node, false));
            todo.push((child, node, true));
        }
        first
    }

    /// Appends the rest as a branch: behind a sibling, or as the first below a node or at the
    /// place.
    fn append(&mut self, place: usize, parent: u32, sibling: u32) {
        let rest = std::mem::take(&mut self.rest);
        let mut below = parent;
        for (depth, &event) in rest.iter().enumerate() {
            let node = self.nodes.add_node(event);
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

/// Returns true if a run could begin with the event and then still execute the whole sequence: the
/// event is the first event of the actor in the sequence and depends on no event before, or the
/// event is not in the sequence and depends on no event there.
fn is_weak_initial(event: &Event, sequence: &[Event], lists: &Lists) -> bool {
    let suspects = Suspects::from_event(event);
    for other in sequence {
        if other.actor == event.actor {
            return other.choice == event.choice;
        }
        if suspects.include(other) && dependent(event, other, lists) {
            return false;
        }
    }
    true
}
