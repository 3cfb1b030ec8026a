//! Identifiers of Mazurkiewicz traces: a fingerprint of the partial order of an execution.
//!
//! Two interleavings of the same partial order give each actor the same events, in the same order,
//! with the same results and the same vector clocks. So the identifier is the digest of these
//! lists, actor by actor. 128 bits: among the 10^8 traces that an exploration may visit, two that
//! collide are not to be expected before 10^19 explorations.

use sim_core::Digest;

use crate::Path;

/// Identifier of a trace: a fingerprint of a partial order of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceId(u64, u64);

impl TraceId {
    pub(crate) fn from_path(path: &Path) -> Self {
        Self::digest(path, true)
    }

    pub(crate) fn of_histories(path: &Path) -> Self {
        Self::digest(path, false)
    }

    fn digest(path: &Path, with_clocks: bool) -> Self {
        let (mut first, mut second) = (Digest::default(), Digest::default());
        second.mix(1, 1);
        let mut mix = |one: u64, two: u64| {
            first.mix(one, two);
            second.mix(two, one);
        };
        let actors = path.events().iter().map(|event| event.actor).max();
        for actor in 0..=actors.unwrap_or(0) {
            mix(u64::from(actor), u64::MAX);
            for &position in path.events_of(actor as usize) {
                let position = position as usize;
                let event = &path.events()[position];
                let object = u64::from(event.object) << 32 | u64::from(event.detail);
                mix(object, u64::from(event.choice) << 8 | event.kind as u64);
                mix(u64::from(path.answer(position)), 7);
                if !with_clocks {
                    continue;
                }
                let clock = path.clock(position).into_iter().enumerate();
                for (other, count) in clock.filter(|&(_, count)| count > 0) {
                    mix(other as u64, u64::from(count));
                }
            }
        }
        Self(first.value(), second.value())
    }
}
