//! Flows, links and the owners of flows: the state that the solver keeps between events.
//!
//! A flow's *level* is its rate divided by its weight. Every link has a level, infinite if the link
//! limits no flow. A flow has the level of its *owner*: the link with the smallest level on its
//! way, or its own bound. The level of a flow is read through its owner and never stored: one
//! number moves all flows of a link.
//!
//! - The list of the users of a link starts with the flows that the link owns.
//! - A *watched* link keeps its load as a running sum. A link with every flow below the level at
//!   which all flows would fill the link (with 10 % to spare) cannot be over-full and is not
//!   watched. Watched links come first in a flow.
//!
//! Invariant, also in mid-solve: owners are right for the present levels; only loads may be wrong.
//!
//! Lists keep the order of arrival up to swaps, which depend on the events only: the same events
//! give the same bits.

use std::collections::BTreeMap;

use super::heap::ABSENT;

/// A use of a link by a flow, in 8 bytes: link (28 bits), position in the list of the link (28),
/// class of the coefficient (8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Element(u64);

/// The same seen from the link: flow (32 bits), position in the list of the flow (24), class of the
/// coefficient (8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct User(u64);

/// The class of a coefficient that is too rare to have a number of its own.
pub(super) const RARE: u8 = u8::MAX;

const HALF: u64 = (1 << 28) - 1;
const SLOT: u64 = (1 << 24) - 1;

impl Element {
    pub(super) fn new(link: u32, position: u32, class: u8) -> Self {
        debug_assert!(u64::from(link) <= HALF && u64::from(position) <= HALF);
        Self(u64::from(link) << 36 | u64::from(position) << 8 | u64::from(class))
    }

    pub(super) const fn link(self) -> usize {
        (self.0 >> 36) as usize
    }

    pub(super) const fn position(self) -> usize {
        (self.0 >> 8 & HALF) as usize
    }

    pub(super) const fn class(self) -> u8 {
        self.0 as u8
    }
}

impl User {
    pub(super) fn new(flow: u32, slot: usize, class: u8) -> Self {
        debug_assert!(slot as u64 <= SLOT);
        Self(u64::from(flow) << 32 | (slot as u64) << 8 | u64::from(class))
    }

    pub(super) const fn flow(self) -> usize {
        (self.0 >> 32) as usize
    }

    pub(super) const fn slot(self) -> usize {
        (self.0 >> 8 & SLOT) as usize
    }

    pub(super) const fn class(self) -> u8 {
        self.0 as u8
    }
}

/// Owner that sets the level of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The flow does not share at the moment.
    Out,
    /// The bound of the flow.
    Bound,
    /// No owner yet: the flow has arrived since the last solve, at a level that one link could give
    /// to this flow alone.
    Nobody,
    /// A link, by position.
    Link(u32),
}

/// A flow, by slot. The fields that changes of level touch come first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Flow {
    pub(super) elements: Vec<Element>,
    pub(super) weight: f64,
    /// The upper limit of the rate, as a level.
    pub(super) limit: f64,
    pub(super) owner: Owner,
    /// Number of elements on watched links; they come first.
    pub(super) watched: u32,
    /// True if the owner of the flow has changed since the last solve.
    pub(super) moved: bool,
    /// Upper limit of the rate.
    pub(super) bound: f64,
    /// The level while the flow has no owner.
    pub(super) alone: f64,
    /// The owner of the clock that the flow follows.
    pub(super) clock: Owner,
    /// The reading of this clock at the end of the flow.
    pub(super) tag: f64,
}

/// Capacity and load of a link: all fields that a change of the level of a flow touches, in half
/// a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct LinkLoad {
    /// Σ coefficient × rate of all users; only while watched.
    pub(super) load: f64,
    pub(super) level: f64,
    pub(super) capacity: f64,
    /// At least the level of every user that the link does not own; only while watched.
    pub(super) high: f64,
}

/// The rest of a link in use.
#[derive(Clone, Debug)]
pub(super) struct ActiveLink {
    /// Σ coefficient × weight of the flows that the link owns.
    pub(super) own_weight: f64,
    /// Number of users that the link owns; they come first.
    pub(super) own: u32,
    /// Number of users without an owner yet.
    pub(super) nobodys: u32,
    /// Number of uses of other watched links by the own flows.
    pub(super) crossings: u32,
    /// Updates since the sums of the link were last computed afresh.
    pub(super) updates: u32,
    pub(super) watched: bool,
    /// At most the level at which the first own flow would leave the link, as far as is known.
    pub(super) low: f64,
    /// At most the smallest `threshold` of the unwatched links of the own flows.
    pub(super) trigger: f64,
    /// While unwatched: no user may have a level above the threshold.
    pub(super) threshold: f64,
    /// Σ coefficient × weight of all users.
    pub(super) weight: f64,
    pub(super) users: Vec<User>,
    /// The capacity's number outside.
    pub(super) number: u32,
}

/// All flows and links.
#[derive(Default, Debug)]
pub(super) struct SolverState {
    pub(super) flows: Vec<Flow>,
    pub(super) links: Vec<ActiveLink>,
    /// The gauges of the links.
    pub(super) gauges: Vec<LinkLoad>,
    /// True for each link in a list of links to review.
    pub(super) listed: Vec<bool>,
    /// The coefficients that occur, by class; at most [`RARE`].
    pub(super) classes: Vec<f64>,
    /// The coefficients of the class [`RARE`], by flow and link.
    pub(super) rare: BTreeMap<(u32, u32), f64>,
    /// Flows with an owner that has changed since the last solve.
    pub(super) moved: Vec<u32>,
    /// Unwatched links that may have to be watched.
    pub(super) suspects: Vec<u32>,
    /// Number of flows that share.
    pub(super) sharing: usize,
}

/// Room that an unwatched link must have: no user above this part of the level at which all users
/// would fill the link.
pub(super) const THRESHOLD: f64 = 0.9;
/// A watched link with less than this part of its capacity in use,
const UNWATCH_LOAD: f64 = 0.7;
/// and all users below this part of the level at which all fill the link, is no longer watched.
const UNWATCH_LEVEL: f64 = 0.8;

impl Flow {
    pub(super) const NEW: Self = Self {
        weight: 1.0,
        bound: f64::INFINITY,
        limit: f64::INFINITY,
        owner: Owner::Out,
        watched: 0,
        elements: Vec::new(),
        alone: 0.0,
        clock: Owner::Out,
        tag: 0.0,
        moved: false,
    };
}

impl ActiveLink {
    /// A link without users.
    pub(super) const fn new(number: u32) -> Self {
        Self {
            own_weight: 0.0,
            low: f64::INFINITY,
            trigger: f64::INFINITY,
            threshold: 0.0,
            weight: 0.0,
            users: Vec::new(),
            own: 0,
            nobodys: 0,
            crossings: 0,
            updates: 0,
            watched: false,
            number,
        }
    }
}

impl LinkLoad {
    /// The gauge of a link without users.
    pub(super) const fn new(capacity: f64) -> Self {
        Self {
            load: 0.0,
            level: f64::INFINITY,
            capacity,
            high: 0.0,
        }
    }
}

impl SolverState {
    /// The level of a flow that shares.
    pub(super) fn level(&self, flow: usize) -> f64 {
        let flow = &self.flows[flow];
        match flow.owner {
            Owner::Link(link) => self.gauges[link as usize].level,
            Owner::Bound => flow.limit,
            Owner::Nobody => flow.alone,
            Owner::Out => 0.0,
        }
    }

    /// Coefficient × weight of a flow on the link of an element of the flow.
    pub(super) fn share(&self, flow: usize, element: Element) -> f64 {
        self.coefficient(flow, element.link(), element.class()) * self.flows[flow].weight
    }

    /// The same seen from the link.
    pub(super) fn share_of(&self, link: usize, user: User) -> f64 {
        let flow = user.flow();
        self.coefficient(flow, link, user.class()) * self.flows[flow].weight
    }

    pub(super) fn coefficient(&self, flow: usize, link: usize, class: u8) -> f64 {
        let known = self.classes.get(class as usize).copied();
        known.unwrap_or_else(|| self.rare[&(index(flow), index(link))])
    }

    /// The class of a coefficient; [`RARE`] if there are too many to number them.
    pub(super) fn coefficient_class(&mut self, coefficient: f64) -> u8 {
        let known = self.classes.iter().position(|known| *known == coefficient);
        let at = known.unwrap_or(self.classes.len());
        if known.is_none() && at < RARE as usize {
            self.classes.push(coefficient);
        }
        u8::try_from(at).unwrap_or(RARE)
    }

    /// Forgets all flows and links; flows that share have left the table of flows before.
    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.gauges.clear();
        self.listed.clear();
        self.classes.clear();
        self.rare.clear();
        self.moved.clear();
        self.suspects.clear();
        self.sharing = 0;
    }

    /// Returns the level that a flow would have without the limit of `link`, and its owner then.
    pub(super) fn second(&self, flow: usize, link: usize) -> (f64, Owner) {
        let flow = &self.flows[flow];
        let mut best = (flow.limit, Owner::Bound);
        for element in &flow.elements[..flow.watched as usize] {
            let other = element.link();
            if other != link && self.gauges[other].level < best.0 {
                best = (self.gauges[other].level, owner(other));
            }
        }
        best
    }

    /// Swaps two users of a link.
    pub(super) fn swap_users(&mut self, link: usize, one: usize, two: usize) {
        if one == two {
            return;
        }
        self.links[link].users.swap(one, two);
        for position in [one, two] {
            self.note_position(link, position);
        }
    }

    fn note_position(&mut self, link: usize, position: usize) {
        let user = self.links[link].users[position];
        self.flows[user.flow()].elements[user.slot()] =
            Element::new(index(link), index(position), user.class());
    }

    pub(super) fn swap_elements(&mut self, flow: usize, one: usize, two: usize) {
        if one == two {
            return;
        }
        self.flows[flow].elements.swap(one, two);
        for slot in [one, two] {
            let element = self.flows[flow].elements[slot];
            self.links[element.link()].users[element.position()] =
                User::new(index(flow), slot, element.class());
        }
    }

    /// Appends a flow to the users of the link of an element of the flow.
    pub(super) fn attach(&mut self, flow: usize, slot: usize) {
        let element = self.flows[flow].elements[slot];
        let link = element.link();
        let position = self.links[link].users.len();
        self.links[link]
            .users
            .push(User::new(index(flow), slot, element.class()));
        self.note_position(link, position);
        self.links[link].weight += self.share(flow, element);
    }

    /// Removes a flow from the users of a link; the link does not own the flow.
    pub(super) fn detach(&mut self, flow: usize, slot: usize) {
        let element = self.flows[flow].elements[slot];
        let link = element.link();
        let last = self.links[link].users.len() - 1;
        self.swap_users(link, element.position(), last);
        let share = self.share(flow, element);
        let link = &mut self.links[link];
        link.users.pop();
        link.weight -= share;
    }

    /// Notes a new owner, on the lists and sums of both; the level of the flow is `level` from now
    /// on.
    pub(super) fn change_owner(&mut self, flow: usize, to: Owner, level: f64) {
        let from = std::mem::replace(&mut self.flows[flow].owner, to);
        if from == to {
            return;
        }
        if let Owner::Link(link) = from {
            self.disown(flow, link as usize, level);
        }
        if let Owner::Link(link) = to {
            self.own_flow(flow, link as usize);
        }
        if from == Owner::Nobody {
            for slot in 0..self.flows[flow].elements.len() {
                let link = self.flows[flow].elements[slot].link();
                self.links[link].nobodys -= 1;
                self.gauges[link].high = self.gauges[link].high.max(level);
            }
        }
        if !std::mem::replace(&mut self.flows[flow].moved, true) {
            self.moved.push(index(flow));
        }
    }

    pub(super) fn own_flow(&mut self, flow: usize, link: usize) {
        let element = self.element_on(flow, link);
        let first = self.links[link].own as usize;
        self.swap_users(link, element.position(), first);
        let share = self.share(flow, element);
        let others = self.flows[flow].watched - 1;
        let link = &mut self.links[link];
        link.own += 1;
        link.own_weight += share;
        link.crossings += others;
    }

    fn disown(&mut self, flow: usize, link: usize, level: f64) {
        let element = self.element_on(flow, link);
        let last = self.links[link].own as usize - 1;
        self.swap_users(link, element.position(), last);
        let share = self.share(flow, element);
        let others = self.flows[flow].watched - 1;
        let high = &mut self.gauges[link].high;
        *high = high.max(level);
        let link = &mut self.links[link];
        link.own -= 1;
        link.own_weight -= share;
        link.crossings -= others;
        if link.own == 0 {
            // A sum of nothing must be nothing: what subtractions leave is noise.
            link.own_weight = 0.0;
            link.low = f64::INFINITY;
            link.trigger = f64::INFINITY;
        }
    }

    /// Returns the element of a flow on a watched link that the flow uses.
    fn element_on(&self, flow: usize, link: usize) -> Element {
        let flow = &self.flows[flow];
        *flow.elements[..flow.watched as usize]
            .iter()
            .find(|element| element.link() == link)
            .expect("an owner is a watched link on the way of its flow")
    }

    /// Puts an unwatched link on the list of links to review.
    pub(super) fn queue_for_review(&mut self, link: usize) {
        if !self.links[link].watched && !std::mem::replace(&mut self.listed[link], true) {
            self.suspects.push(index(link));
        }
    }

    /// Suspects every unwatched link of a flow with a threshold below `level`; returns the least
    /// threshold of the other unwatched links.
    pub(super) fn queue_below(&mut self, flow: usize, level: f64) -> f64 {
        let mut least = f64::INFINITY;
        let watched = self.flows[flow].watched as usize;
        for slot in watched..self.flows[flow].elements.len() {
            let link = self.flows[flow].elements[slot].link();
            let threshold = self.links[link].threshold;
            if threshold < level {
                self.queue_for_review(link);
            } else {
                least = least.min(threshold);
            }
        }
        least
    }

    /// Decides afresh whether an unwatched link must be watched. Returns the highest level on the
    /// link if the link must be solved.
    ///
    /// All levels must be consistent: no change may be half spread.
    pub(super) fn update_watch(&mut self, link: usize) -> Option<f64> {
        self.listed[link] = false;
        if self.links[link].watched || self.links[link].users.is_empty() {
            return None;
        }
        let (mut weight, mut load, mut high) = (0.0, 0.0, 0.0_f64);
        for at in 0..self.links[link].users.len() {
            let user = self.links[link].users[at];
            let share = self.share_of(link, user);
            let level = self.level(user.flow());
            weight += share;
            load += share * level;
            high = high.max(level);
        }
        let threshold = THRESHOLD * (self.gauges[link].capacity / weight);
        self.links[link].weight = weight;
        if high <= threshold {
            self.set_threshold(link, threshold);
            return None;
        }
        self.links[link].watched = true;
        self.gauges[link].load = load;
        self.gauges[link].high = high;
        for at in 0..self.links[link].users.len() {
            let user = self.links[link].users[at];
            let flow = user.flow();
            let first = self.flows[flow].watched as usize;
            self.swap_elements(flow, user.slot(), first);
            self.flows[flow].watched += 1;
            if let Owner::Link(owner) = self.flows[flow].owner {
                self.links[owner as usize].crossings += 1;
            }
        }
        let over_full = load > self.gauges[link].capacity || self.links[link].nobodys > 0;
        over_full.then_some(high)
    }

    pub(super) fn set_threshold(&mut self, link: usize, threshold: f64) {
        self.links[link].threshold = threshold;
        for at in 0..self.links[link].users.len() {
            let user = self.links[link].users[at];
            if let Owner::Link(owner) = self.flows[user.flow()].owner {
                let trigger = &mut self.links[owner as usize].trigger;
                *trigger = trigger.min(threshold);
            }
        }
    }

    /// Stops watching a link that limits no flow and has room.
    pub(super) fn unwatch_if_idle(&mut self, link: usize) {
        let ActiveLink {
            watched,
            weight,
            nobodys,
            ..
        } = self.links[link];
        let LinkLoad {
            level,
            load,
            high,
            capacity,
        } = self.gauges[link];
        let full = capacity / weight;
        let idle = level.is_infinite() && load < UNWATCH_LOAD * capacity;
        if !watched || nobodys > 0 || !idle || high >= UNWATCH_LEVEL * full {
            return;
        }
        self.unwatch(link);
        self.set_threshold(link, THRESHOLD * full);
    }

    fn unwatch(&mut self, link: usize) {
        self.links[link].watched = false;
        for at in 0..self.links[link].users.len() {
            let user = self.links[link].users[at];
            let flow = user.flow();
            let last = self.flows[flow].watched as usize - 1;
            self.swap_elements(flow, user.slot(), last);
            self.flows[flow].watched -= 1;
            if let Owner::Link(owner) = self.flows[flow].owner {
                self.links[owner as usize].crossings -= 1;
            }
        }
    }

    /// Forgets the sums of a link without users.
    pub(super) fn empty(&mut self, link: usize) {
        let gauge = &mut self.gauges[link];
        (gauge.load, gauge.high) = (0.0, 0.0);
        let link = &mut self.links[link];
        debug_assert!(link.users.is_empty() && link.own == 0 && link.nobodys == 0);
        (link.weight, link.own_weight) = (0.0, 0.0);
        link.crossings = 0;
        link.low = f64::INFINITY;
        link.trigger = f64::INFINITY;
        link.threshold = 0.0;
        link.watched = false;
        link.updates = 0;
    }
}

/// A link as an owner.
pub(super) fn owner(link: usize) -> Owner {
    Owner::Link(index(link))
}

/// A position that is known to fit.
pub(super) fn index(position: usize) -> u32 {
    let index = u32::try_from(position).unwrap_or(ABSENT);
    debug_assert!(index != ABSENT);
    index
}
