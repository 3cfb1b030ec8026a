//! Runs drawn at random, for programs that are too large to exhaust.
//!
//! *Uniform*: at each place each possible step is as likely as any other. *PCT* (Burckhardt,
//! Kothari, Musuvathi, Nagarakatti: ASPLOS 2010): actors have random priorities, the first that can
//! continue does, and at d - 1 random places the present one falls behind all others; a mistake
//! that takes d orderings is found with probability of at least 1 / (n k^(d-1)) per run, for n
//! actors and k steps.
//!
//! The same seed gives the same runs. A search of this kind is never exhaustive.

use sim_core::Stream;

use crate::walk::Walk;
use crate::{Bound, Event, Halt, Strategy};

/// Draws runs until a bound is hit.
pub(crate) fn sample_runs(walk: &mut Walk<'_>, strategy: Strategy) -> Result<(), Halt> {
    walk.statistics.bounds.insert(Bound::Sampling);
    let (seed, changes) = match strategy {
        Strategy::DepthFirst => return Ok(()),
        Strategy::Uniform { seed } => (seed, None),
        Strategy::Pct { seed, depth } => (seed, Some(depth.saturating_sub(1))),
    };
    let mut stream = Stream::new(seed, "explore/sampling");
    let mut longest = 1;
    let mut enabled_steps: Vec<Event> = Vec::new();
    loop {
        walk.clear();
        walk.reach()?;
        let mut ranking = Ranking::new(changes, longest, &mut stream);
        while !walk.is_too_deep() {
            enabled_steps.clear();
            let mut actor = walk.next_able(0);
            while let Some(able) = actor {
                walk.machine.enabled_steps(able, &mut enabled_steps);
                actor = walk.next_able(able + 1);
            }
            if enabled_steps.is_empty() {
                break;
            }
            let actor = ranking.pick(&enabled_steps, walk.path.len() as u64, &mut stream);
            let own: Vec<&Event> = enabled_steps
                .iter()
                .filter(|enabled_step| actor.is_none_or(|actor| enabled_step.actor == actor))
                .collect();
            let index = usize::try_from(stream.below(own.len() as u64));
            let step = *own[index.expect("steps are counted in memory")];
            walk.take_step(step.actor, step.choice)?;
        }
        longest = longest.max(walk.path.len() as u64);
        walk.end_run()?;
    }
}

/// The priorities of actors in one run.
struct Ranking {
    /// By actor; the highest goes first. `None` for uniform draws.
    priorities: Option<Vec<u64>>,
    /// The places at which the present actor gets a lower priority, each with this priority.
    changes: Vec<(u64, u64)>,
}

impl Ranking {
    fn new(changes: Option<u32>, longest: u64, stream: &mut Stream) -> Self {
        let places = (0..changes.unwrap_or(0)).map(u64::from);
        Self {
            priorities: changes.map(|_| Vec::new()),
            changes: places.map(|low| (stream.below(longest), low)).collect(),
        }
    }

    /// Returns the actor that goes next; `None` if any actor may go.
    fn pick(&mut self, enabled_steps: &[Event], place: u64, stream: &mut Stream) -> Option<u16> {
        let priorities = self.priorities.as_mut()?;
        let last = enabled_steps
            .iter()
            .map(|enabled_step| enabled_step.actor)
            .max()?;
        while priorities.len() <= last as usize {
            // Above all that a fall leads to.
            priorities.push((1 << 32) + stream.below(1 << 31));
        }
        let first = |priorities: &[u64]| {
            let actors = enabled_steps.iter().map(|enabled_step| enabled_step.actor);
            actors.max_by_key(|&actor| priorities[actor as usize])
        };
        let actor = first(priorities)?;
        if let Some(&(_, low)) = self.changes.iter().find(|(at, _)| *at == place) {
            priorities[actor as usize] = low;
        }
        first(priorities)
    }
}
