//! Capacities that a flow uses, each once.
//!
//! A capacity that a way crosses several times, or on the way back too, is one use with the sum of
//! the coefficients. All flows of one way share one list.

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::least;
use super::state::index;

/// A use of a capacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Use {
    /// Number of the capacity.
    pub(super) number: u32,
    /// Share of the capacity taken by a unit of the rate.
    pub(super) coefficient: f64,
}

/// The uses of all flows of one way.
#[derive(Clone, Default, Debug)]
pub struct SharedUses(Option<Rc<WayUses>>);

impl SharedUses {
    /// No uses.
    pub const NONE: Self = Self(None);
}

#[derive(Debug)]
struct WayUses {
    /// Inside of the record for up to four capacities: a way in a cluster and the way back.
    uses: SmallVec<[Use; 4]>,
    /// The rate of a lone flow without a bound, with the capacities of this revision.
    narrowest: Cell<f64>,
    revision: Cell<u64>,
}

/// The uses of one flow: shared, or own ones where these are none.
#[derive(Clone, Default, Debug)]
pub(super) struct FlowUses {
    pub(super) own: Vec<Use>,
    pub(super) shared: SharedUses,
}

impl FlowUses {
    pub(super) const NONE: Self = Self {
        own: Vec::new(),
        shared: SharedUses::NONE,
    };

    /// Moves the own uses to `way`, for all flows of the way, in the memory of the former uses
    /// there if no flow has these any more.
    pub(super) fn share_way(&mut self, way: &mut SharedUses) {
        if let Some(former) = way.0.as_mut().and_then(Rc::get_mut) {
            former.uses.clear();
            former.uses.extend_from_slice(&self.own);
            former.revision.set(0);
        } else {
            way.0 = Some(Rc::new(WayUses {
                uses: SmallVec::from_slice(&self.own),
                narrowest: Cell::new(f64::INFINITY),
                revision: Cell::new(0),
            }));
        }
        self.own.clear();
        self.shared.clone_from(way);
    }

    #[inline]
    pub(super) fn forget_uses(&mut self) {
        self.own.clear();
        self.shared.0 = None;
    }

    /// Returns the rate of a lone flow without a bound. `revision`: the one of the capacities, from
    /// 1 on.
    #[inline]
    pub(super) fn narrowest_capacity(&self, capacities: &[f64], revision: u64) -> f64 {
        let Some(way) = &self.shared.0 else {
            return find_narrowest(&self.own, capacities);
        };
        if way.revision.get() != revision {
            way.narrowest.set(find_narrowest(&way.uses, capacities));
            way.revision.set(revision);
        }
        way.narrowest.get()
    }
}

impl std::ops::Deref for FlowUses {
    type Target = [Use];

    #[inline]
    fn deref(&self) -> &[Use] {
        self.shared.0.as_ref().map_or(&*self.own, |way| &*way.uses)
    }
}

/// Returns the rate of a lone flow without a bound.
#[inline(never)]
fn find_narrowest(uses: &[Use], capacities: &[f64]) -> f64 {
    let rate = |known: &Use| capacities[known.number as usize] / known.coefficient;
    uses.iter().map(rate).fold(f64::INFINITY, least)
}

/// Up to this many uses are looked through; the table of positions would cost more.
const FEW: usize = 16;

/// Finds out whether a flow that is being declared uses a capacity already.
#[derive(Debug)]
pub(super) struct UseMerger {
    capacities: usize,
    /// For each capacity, the last declaration that used the capacity (upper half) and the position
    /// there; allocated when needed.
    seen: Vec<u64>,
    declaration: u32,
}

impl UseMerger {
    pub(super) const fn new(capacities: usize) -> Self {
        Self {
            capacities,
            seen: Vec::new(),
            declaration: 0,
        }
    }

    /// The number of capacities.
    pub(super) const fn capacity_count(&self) -> usize {
        self.capacities
    }

    /// Returns the position of a capacity among the uses; if `None`, the caller must now add the
    /// capacity to the uses.
    pub(super) fn find_use(&mut self, uses: &[Use], number: u32) -> Option<usize> {
        if uses.len() < FEW {
            return uses.iter().position(|known| known.number == number);
        }
        if uses.len() == FEW {
            self.begin_declaration(uses);
        }
        let seen = self.seen[number as usize];
        if seen >> 32 == u64::from(self.declaration) {
            return Some(seen as u32 as usize);
        }
        self.note_position(uses.len(), number);
        None
    }

    fn begin_declaration(&mut self, uses: &[Use]) {
        if self.declaration == u32::MAX || self.seen.is_empty() {
            self.seen = vec![0; self.capacities];
            self.declaration = 0;
        }
        self.declaration += 1;
        for (at, known) in uses.iter().enumerate() {
            self.note_position(at, known.number);
        }
    }

    fn note_position(&mut self, at: usize, number: u32) {
        self.seen[number as usize] = u64::from(self.declaration) << 32 | u64::from(index(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_uses_are_merged_like_few() {
        let mut merger = UseMerger::new(100);
        for count in [3, 16, 17, 60] {
            let mut uses: Vec<Use> = Vec::new();
            for number in (0..count).chain((0..count).rev()) {
                match merger.find_use(&uses, number) {
                    Some(at) => uses[at].coefficient += 1.0,
                    None => uses.push(Use {
                        number,
                        coefficient: 1.0,
                    }),
                }
            }
            let numbers: Vec<u32> = uses.iter().map(|known| known.number).collect();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
            assert!(uses.iter().all(|known| known.coefficient == 2.0));
        }
    }
}
