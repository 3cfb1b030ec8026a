//! The correction of all loads after changes: link relaxation in the order of levels.
//!
//! A link is dirty when its load may not fit its level: a finite level means that the link is
//! exactly full, an infinite level that the link is not over-full. A heap orders dirty links by the
//! level at which they will end up. Each link gets the level that fills it, with all other links
//! fixed; this changes loads elsewhere, at this level or above. Lower levels do not depend on
//! higher levels, so that most links are processed once.
//!
//! The result is exact in any order: when no link is dirty, every flow is at its bound or at the
//! smallest level on its way, and every link with a finite level is full. This is max-min fair
//! sharing, which is unique.
//!
//! Short cuts, each exact:
//! - *own flows only*: while the new level is at least the level of all other users of the link and
//!   at most the level that the own flows can have elsewhere, owners stay, and the level moves by
//!   (capacity − load) / own weight;
//! - *one number*: if the own flows cross no other watched link, no other state changes.
//!
//! Running sums drift. They are computed afresh after 64 updates of a link (in the second case,
//! with only one sum that can drift, after as many updates as the link owns flows).

use super::heap::ABSENT;
use super::incremental::Incremental;
use super::state::{Element, Owner, index, owner};
use super::waterfill::{self, UserCap};

/// Relative difference of load and capacity below which a link counts as full. The value only stops
/// rounding noise and is not the precision of the result. A larger value would cost accuracy (the
/// error is amplified on the way up the levels) and save no time.
const EPSILON: f64 = 1e-13;
/// Updates of a link before the sums of the link are computed afresh.
const UPDATES_MAX: u32 = 64;
/// Flows that are fetched together.
const BLOCK: usize = 16;
/// Elements in a cache line of 64 bytes.
const ELEMENTS_PER_LINE: usize = 8;

impl Incremental {
    /// Takes dirty links until there is none, or until `updates_max` changes of flows were made:
    /// then false.
    pub(super) fn relax(&mut self, updates_max: usize) -> bool {
        self.updates = 0;
        while let Some((_, link)) = self.dirty.pop(&mut self.dirty_at) {
            self.process(link as usize);
            self.review_queued();
            if self.updates > updates_max {
                return false;
            }
        }
        true
    }

    /// Puts a link that limits a flow among the dirty ones.
    pub(super) fn mark(&mut self, link: usize) {
        let state = &self.state.links[link];
        let gauge = self.state.gauges[link];
        let level = gauge.level;
        let key = if state.own > 0 {
            let wanted = level + (gauge.capacity - gauge.load) / state.own_weight;
            level.min(wanted).max(0.0)
        } else {
            level
        };
        self.dirty.set(index(link), key, &mut self.dirty_at);
    }

    /// Marks as dirty a link that limits no flow and that a flow with this level has made
    /// over-full.
    pub(super) fn mark_over_full(&mut self, link: usize, level: f64) {
        let position = self.dirty_at[link];
        if position == ABSENT || self.dirty.key(position) > level {
            self.dirty.set(index(link), level, &mut self.dirty_at);
        }
    }

    pub(super) fn is_over_full(&self, link: usize) -> bool {
        let gauge = self.state.gauges[link];
        gauge.load > gauge.capacity * (1.0 + EPSILON)
    }

    /// Decides about the unwatched links with an exceeded threshold.
    pub(super) fn review_queued(&mut self) {
        while let Some(link) = self.state.suspects.pop() {
            if let Some(level) = self.state.update_watch(link as usize) {
                self.mark_over_full(link as usize, level);
            }
        }
    }

    fn process(&mut self, link: usize) {
        let state = &self.state.links[link];
        if state.users.is_empty() {
            self.set_level(link, f64::INFINITY);
            return;
        }
        if !state.watched {
            // It was over-full, and a departure of the same instant has left it with room.
            return;
        }
        let gauge = self.state.gauges[link];
        let (level, own) = (gauge.level, state.own);
        if own > 0 && state.nobodys == 0 {
            let missing = gauge.capacity - gauge.load;
            if missing.abs() <= EPSILON * gauge.capacity && gauge.high <= level {
                return;
            }
            let wanted = level + missing / state.own_weight;
            // Where an update costs one number, a scan of all flows must be as rare as they are
            // many.
            let updates_max = match state.crossings {
                0 => UPDATES_MAX.max(own),
                _ => UPDATES_MAX,
            };
            if state.updates < updates_max && wanted >= gauge.high && wanted <= state.low {
                self.move_own(link, wanted);
                return;
            }
        }
        self.rescan(link);
    }

    /// Moves the level with the own flows; their owner stays.
    fn move_own(&mut self, link: usize, level: f64) {
        let before = self.state.gauges[link].level;
        self.set_level(link, level);
        let gauge = &mut self.state.gauges[link];
        gauge.load = gauge.capacity;
        let state = &mut self.state.links[link];
        state.updates += 1;
        let (own, crossings) = (state.own as usize, state.crossings);
        let passes_trigger = level > state.trigger;
        self.updates += 1;
        if crossings > 0 {
            self.updates += own;
            let mut at = 0;
            while at < own {
                let (block, count) = self.fetch_block(link, at, own);
                for flow in &block[..count] {
                    self.spread(*flow as usize, link, before, level);
                }
                at += count;
            }
            self.mark_touched();
        }
        if passes_trigger {
            self.renew_trigger(link);
        }
    }

    /// Returns the next own flows of a link, brought into the cache.
    ///
    /// With many flows nearly all time is waiting for memory: for a flow, and then for the list of
    /// its links. Requests for several flows at a time, before any result is needed, make the waits
    /// overlap.
    fn fetch_block(&self, link: usize, at: usize, own: usize) -> ([u32; BLOCK], usize) {
        let mut block = [0; BLOCK];
        let mut ways: [&[Element]; BLOCK] = [&[]; BLOCK];
        let users = &self.state.links[link].users[at..own.min(at + BLOCK)];
        for ((number, method), user) in block.iter_mut().zip(&mut ways).zip(users) {
            let flow = &self.state.flows[user.flow()];
            *number = index(user.flow());
            *method = &flow.elements[..flow.watched as usize];
        }
        let mut seen = 0;
        for method in ways {
            for element in method.iter().step_by(ELEMENTS_PER_LINE) {
                seen ^= element.link();
            }
        }
        std::hint::black_box(seen);
        (block, users.len())
    }

    /// Changes the loads of the other watched links of a flow with a changed level.
    fn spread(&mut self, flow: usize, except: usize, before: f64, level: f64) {
        let state = &mut self.state;
        let Some(entry) = state.flows.get(flow) else {
            return;
        };
        let change = entry.weight * (level - before);
        for element in &entry.elements[..entry.watched as usize] {
            let at = element.link();
            if at == except {
                continue;
            }
            let gauge = &mut state.gauges[at];
            let coefficient = match state.classes.get(element.class() as usize) {
                Some(coefficient) => *coefficient,
                None => state.rare[&(index(flow), index(at))],
            };
            gauge.load += coefficient * change;
            // A comparison that is nearly always false costs less than a store.
            if level > gauge.high {
                gauge.high = level;
            }
            if !state.listed[at] {
                state.listed[at] = true;
                self.touched.push((index(at), level));
            }
        }
    }

    /// Marks the links with a changed load.
    fn mark_touched(&mut self) {
        while let Some((link, level)) = self.touched.pop() {
            let at = link as usize;
            self.state.listed[at] = false;
            if self.state.gauges[at].level.is_infinite() {
                if self.is_over_full(at) {
                    self.mark_over_full(at, level);
                }
            } else if self.dirty_at[at] == ABSENT {
                // One that is there keeps its key: an old key costs a repeat at worst, a new one a
                // move in the heap.
                self.mark(at);
            }
        }
    }

    /// Renews the trigger of a link from its own flows; unwatched links with a threshold below the
    /// level of the link become suspects.
    fn renew_trigger(&mut self, link: usize) {
        let level = self.state.gauges[link].level;
        let mut trigger = f64::INFINITY;
        for at in 0..self.state.links[link].own as usize {
            let flow = self.state.links[link].users[at].flow();
            trigger = trigger.min(self.state.queue_below(flow, level));
        }
        self.state.links[link].trigger = trigger;
    }

    /// Finds the level and the owners of a link from all users of the link.
    fn rescan(&mut self, link: usize) {
        let (level, fits) = self.gather_users(link);
        let level = if fits {
            level
        } else {
            self.caps.clear();
            let caps = self.scan.iter().map(|user| UserCap {
                level: user.cap,
                share: user.share,
            });
            self.caps.extend(caps);
            waterfill::level(self.state.gauges[link].capacity, &mut self.caps)
        };
        let before = self.state.gauges[link].level;
        self.set_level(link, level);
        self.assign(link, before, level);
        self.mark_touched();
        self.sum_up(link);
    }

    /// Lists the users with their caps; returns the level for unchanged owners, and true if this
    /// level is right.
    fn gather_users(&mut self, link: usize) -> (f64, bool) {
        self.scan.clear();
        let (mut load, mut own_weight) = (0.0, 0.0);
        let (mut high, mut low) = (0.0_f64, f64::INFINITY);
        for at in 0..self.state.links[link].users.len() {
            let user = self.state.links[link].users[at];
            let flow = user.flow();
            let share = self.state.share_of(link, user);
            let own = match self.state.flows[flow].owner {
                Owner::Nobody => true,
                from => from == owner(link),
            };
            let (cap, second) = if own {
                self.state.second(flow, link)
            } else {
                (self.state.level(flow), self.state.flows[flow].owner)
            };
            if own {
                own_weight += share;
                low = low.min(cap);
            } else {
                load += share * cap;
                high = high.max(cap);
            }
            self.scan.push(ScannedUser {
                flow: index(flow),
                own,
                cap,
                share,
                second,
            });
        }
        let capacity = self.state.gauges[link].capacity;
        if own_weight == 0.0 {
            return (f64::INFINITY, load <= capacity * (1.0 + EPSILON));
        }
        let level = (capacity - load) / own_weight;
        (level, level >= high && level <= low && level > 0.0)
    }

    /// Gives the users of a link their owners and levels.
    fn assign(&mut self, link: usize, before: f64, level: f64) {
        for at in 0..self.scan.len() {
            let user = self.scan[at];
            let flow = user.flow as usize;
            if user.own {
                let nobody = self.state.flows[flow].owner == Owner::Nobody;
                let from = if nobody {
                    self.state.flows[flow].alone
                } else {
                    before
                };
                self.updates += 1;
                if user.cap < level {
                    self.give_away(flow, link, user.second, user.cap);
                    self.spread(flow, link, from, user.cap);
                } else {
                    self.state.change_owner(flow, owner(link), level);
                    self.spread(flow, link, from, level);
                }
            } else if user.cap > level {
                self.updates += 1;
                self.state.change_owner(flow, owner(link), level);
                self.spread(flow, link, user.cap, level);
            } else if let Owner::Link(other) = user.second {
                // That owner must know that this flow cannot rise above the new level here.
                let low = &mut self.state.links[other as usize].low;
                *low = low.min(level);
            }
        }
    }

    /// Gives an own flow of a link to the new owner of the flow.
    fn give_away(&mut self, flow: usize, link: usize, to: Owner, level: f64) {
        self.state.change_owner(flow, to, level);
        let least = self.state.queue_below(flow, level);
        if let Owner::Link(other) = to {
            let (low, _) = self.state.second(flow, other as usize);
            let own = self.state.gauges[link].level.min(low);
            let other = &mut self.state.links[other as usize];
            other.low = other.low.min(own);
            other.trigger = other.trigger.min(least);
        }
    }

    /// Makes the sums of a link afresh.
    fn sum_up(&mut self, link: usize) {
        let (mut load, mut own_weight, mut weight) = (0.0, 0.0, 0.0);
        let (mut high, mut low) = (0.0_f64, f64::INFINITY);
        for at in 0..self.scan.len() {
            let user = self.scan[at];
            let flow = user.flow as usize;
            let level = self.state.level(flow);
            weight += user.share;
            load += user.share * level;
            if self.state.flows[flow].owner == owner(link) {
                own_weight += user.share;
                low = low.min(user.cap);
            } else {
                high = high.max(level);
            }
        }
        let state = &mut self.state.links[link];
        (state.own_weight, state.weight, state.low) = (own_weight, weight, low);
        state.updates = 0;
        let gauge = &mut self.state.gauges[link];
        (gauge.load, gauge.high) = (load, high);
        self.renew_trigger(link);
    }
}

/// A user of a link that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedUser {
    flow: u32,
    /// True if the link owns the flow, or the flow has no owner.
    own: bool,
    /// The level that the others allow an own flow, or the level of any other.
    cap: f64,
    share: f64,
    /// Owner that sets that cap.
    second: Owner,
}
