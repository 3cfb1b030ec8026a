//! Optimal reduction: each class of runs exactly once, and no run that is begun in vain.
//!
//! Optimal dynamic partial-order reduction with wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: POPL 2014 and JACM 64(4),
//! 2017). After each run that is over, each of its races that can be reversed yields a sequence of events that leads to
//! another class; it goes into the tree of pending sequences at the place of the race, unless that tree or a step that
//! has been explored there covers it already.
//!
//! What is inserted is *everything* after the first event of the race that does not happen after it, up to the end of the
//! run. Shorter sequences lose classes: a subtree then trusts that a pending leaf covers what the leaf leaves to the
//! subtree.
//!
//! Choices (draws, the members of a wait-any, several operations at a time) are steps of one actor in conflict. All others
//! of a choice are inserted with the same tail, after every run; and a member that is completed only after the choice counts
//! too.
//!
//! The run of a leaf is a pure function of its path: its sleep set is empty, and new branches are appended behind existing
//! ones. Both are asserted.

use sim_core::{Executed, StepKind};

use crate::independence::dependent;
use crate::reversible::{Verdict, come_first, reversible};
use crate::walk::Walk;
use crate::{Event, Halt, Mutant};

/// No node.
const NONE: u32 = u32::MAX;

/// A pending step and what is pending behind it.
#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    child: u32,
    sibling: u32,
}

/// The trees of pending sequences, in one arena.
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

/// The search.
#[derive(Debug, Default)]
pub(crate) struct Odpor {
    nodes: Nodes,
    frames: Vec<Frame>,
    sleep: Vec<Event>,
    /// How many events at the beginning of the path have had their races looked at.
    done: usize,
    sequence: Vec<Event>,
    rest: Vec<Event>,
    offers: Vec<Event>,
}

impl Odpor {
    pub(crate) fn run(walk: &mut Walk<'_>) -> Result<(), Halt> {
        let mut search = Self::default();
        search.frames.push(Frame {
            sleep: 0,
            pending: NONE,
            started: false,
        });
        let result = search.explore(walk);
        walk.statistics.pending_max = walk.statistics.pending_max.max(search.nodes.used_max);
        result
    }

    fn explore(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        while let Some(frame) = self.frames.last_mut() {
            let sleep = frame.sleep as usize;
            if !frame.started {
                frame.started = true;
                assert!(
                    sleep == self.sleep.len() || walk.options.mutant.is_some(),
                    "nothing sleeps at the leaf of a wakeup tree"
                );
                walk.reach()?;
                self.run_on(walk)?;
                self.process_races(walk)?;
                continue;
            }
            let next = frame.pending;
            if next == NONE {
                self.leave(walk);
                continue;
            }
            let Node {
                event,
                child,
                sibling,
            } = *self.nodes.at(next);
            frame.pending = sibling;
            self.nodes.remove(next);
            walk.reach()?;
            let executed = walk.advance(event.actor, event.choice)?;
            if !Walk::is_as_planned(&event, &executed) {
                return Err(Halt::NotDeterministic(executed));
            }
            let start = self.sleep.len();
            for position in sleep..start {
                let sleeper = self.sleep[position];
                if !dependent(&sleeper, &executed, &walk.machine.lists) {
                    self.sleep.push(sleeper);
                }
            }
            self.frames.push(Frame {
                sleep: small(start),
                pending: child,
                started: child != NONE,
            });
        }
        Ok(())
    }

    /// Goes on from a leaf with any steps to the end of a run.
    fn run_on(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        while !walk.is_too_deep() {
            let Some((actor, choice)) = walk.first_step() else {
                break;
            };
            walk.advance(actor, choice)?;
            self.frames.push(Frame {
                sleep: small(self.sleep.len()),
                pending: NONE,
                started: true,
            });
        }
        walk.end_run()
    }

    /// Goes back by one event, which sleeps from now on.
    fn leave(&mut self, walk: &mut Walk<'_>) {
        let frame = self.frames.pop().expect("there is a frame");
        self.sleep.truncate(frame.sleep as usize);
        if let Some(event) = walk.retreat() {
            self.sleep.push(event);
        }
        self.done = self.done.min(walk.path.len());
    }

    /// Looks at the races of a run that is over.
    fn process_races(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        if walk.options.every_race || walk.thorough {
            self.done = 0;
        }
        for second in self.done..walk.path.len() {
            for race in 0..walk.path.races(second).len() {
                let first = walk.path.races(second)[race] as usize;
                if walk.path.events()[first].actor == walk.path.events()[second].actor {
                    continue;
                }
                self.reverse(walk, first, second)?;
            }
            self.choose_otherwise(walk, second)?;
        }
        self.done = walk.path.len();
        Ok(())
    }

    fn reverse(&mut self, walk: &mut Walk<'_>, first: usize, second: usize) -> Result<(), Halt> {
        let verdict = match walk.options.mutant {
            Some(Mutant::SemaphoresNeverReverse)
                if walk.path.events()[second].kind == StepKind::SemaphoreWait =>
            {
                Verdict::No
            }
            _ => reversible(&walk.path, &walk.machine.units, first, second),
        };
        if verdict == Verdict::No {
            return Ok(());
        }
        let Some(last) = come_first(walk, verdict, first, second)? else {
            return Ok(());
        };
        self.collect(walk, first, second);
        self.sequence.push(last);
        self.insert(walk, first);
        Ok(())
    }

    /// The events after `first` that do not happen after it, in order, and not `second`.
    fn collect(&mut self, walk: &Walk<'_>, first: usize, second: usize) {
        self.sequence.clear();
        let end = match walk.options.mutant {
            Some(Mutant::ShortSequences) => second,
            _ => walk.path.len(),
        };
        for position in first + 1..end {
            let past_only = walk.options.mutant == Some(Mutant::CausalPast)
                && !walk.path.happens_before(position, second);
            if position != second && !past_only && !walk.path.happens_before(first, position) {
                self.sequence.push(walk.path.events()[position]);
            }
        }
    }

    /// Inserts the other steps that the actor of an event could have taken, there or later.
    fn choose_otherwise(&mut self, walk: &mut Walk<'_>, position: usize) -> Result<(), Halt> {
        let event = walk.path.events()[position];
        let alternatives = walk.path.alternatives(position);
        let short = walk.options.mutant == Some(Mutant::ShortChoices);
        if event.kind == StepKind::Random && event.effects & Executed::SEVERAL == 0 {
            for choice in (0..alternatives).filter(|&choice| choice != event.choice) {
                self.collect_tail(walk, position, short);
                self.sequence.push(Event { choice, ..event });
                self.insert(walk, position);
            }
        } else if event.effects & Executed::SEVERAL != 0 {
            self.sequence.clear();
            if walk.options.mutant != Some(Mutant::NoWaitAnyRule) {
                self.collect_tail(walk, position, short);
            }
            self.insert_offers(walk, position, event.actor, Some(event.choice))?;
        }
        if stops_others(event.kind) {
            self.let_others_first(walk, position)?;
        }
        Ok(())
    }

    fn collect_tail(&mut self, walk: &Walk<'_>, position: usize, short: bool) {
        if short {
            self.sequence.clear();
        } else {
            self.collect(walk, position, position);
        }
    }

    /// Inserts the sequence followed by each step that the actor can take then, but for one.
    fn insert_offers(
        &mut self,
        walk: &mut Walk<'_>,
        position: usize,
        actor: u16,
        without: Option<u32>,
    ) -> Result<(), Halt> {
        let mut offers = std::mem::take(&mut self.offers);
        offers.clear();
        walk.offers_after(position, &self.sequence, actor, &mut offers)?;
        let length = self.sequence.len();
        for offer in &offers {
            if Some(offer.choice) != without {
                let several = Event {
                    effects: Executed::SEVERAL,
                    ..*offer
                };
                self.sequence.push(several);
                self.insert(walk, position);
                self.sequence.truncate(length);
            }
        }
        self.offers = offers;
        Ok(())
    }

    /// What ends or stops other actors disables their steps, so no race with those shows: inserts each step that another actor
    /// could have taken before.
    fn let_others_first(&mut self, walk: &mut Walk<'_>, position: usize) -> Result<(), Halt> {
        let actors = u16::try_from(walk.path.stride()).expect("an exploration has few actors");
        for actor in 0..actors {
            if actor == walk.path.events()[position].actor {
                continue;
            }
            self.collect(walk, position, position);
            self.insert_offers(walk, position, actor, None)?;
        }
        Ok(())
    }

    /// Puts the sequence into the tree of pending sequences at a place of the path, unless it is covered.
    fn insert(&mut self, walk: &Walk<'_>, place: usize) {
        let lists = &walk.machine.lists;
        let sleep = self.frames[place].sleep as usize;
        let end = self
            .frames
            .get(place + 1)
            .map_or(self.sleep.len(), |next| next.sleep as usize);
        let asleep = self.sleep[sleep..end].iter();
        self.rest.clear();
        self.rest.extend_from_slice(&self.sequence);
        for sleeper in asleep {
            if is_weak_initial(sleeper, &self.rest, lists) {
                return;
            }
        }
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
pub(crate) fn is_weak_initial(
    event: &Event,
    sequence: &[Event],
    lists: &crate::independence::Lists,
) -> bool {
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

/// Whether an event may stop other actors.
pub(crate) const fn stops_others(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Kill | StepKind::Suspend | StepKind::SwitchHost
    )
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("sleep sets are counted in 32 bits")
}
