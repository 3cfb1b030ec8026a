//! Barriers: the last of a fixed number of actors to arrive lets all of them continue, in the order
//! of arrival.
//!
//! A barrier can be used again: arrivals count for the round in which they come.

use super::{Actors, Objects, Recycle};

/// One barrier.
#[derive(Debug, Default)]
pub(crate) struct BarrierRecord {
    /// Number of actors that must arrive.
    pub(crate) size: u32,
    /// The present round, from 0.
    pub(super) round: u32,
    /// The actors that have arrived in this round.
    pub(crate) arrived: Vec<u32>,
}

impl Recycle for BarrierRecord {
    fn recycle(&mut self) {
        self.arrived.clear();
        (self.size, self.round) = (0, 0);
    }
}

impl Objects {
    pub(crate) fn add_barrier(&mut self, size: u32) -> u32 {
        assert!(size > 0, "a barrier needs at least one actor");
        let (barrier, record) = self.barriers.add();
        record.size = size;
        barrier
    }

    /// Arrives; answers with the round.
    pub(crate) fn join_barrier(&mut self, barrier: u32, actor: u32, actors: &mut Actors) -> u32 {
        let record = &mut self.barriers[barrier as usize];
        let round = record.round;
        record.arrived.push(actor);
        if record.arrived.len() == record.size as usize {
            record.round = record.round.wrapping_add(1);
            let mut arrived = std::mem::take(&mut record.arrived);
            for actor in arrived.drain(..) {
                actors.schedule_actor(actor);
            }
            self.barriers[barrier as usize].arrived = arrived;
        }
        round
    }

    pub(crate) fn is_complete(&self, barrier: u32, round: u32) -> bool {
        self.barriers[barrier as usize].round != round
    }

    pub(crate) fn leave_barrier(&mut self, barrier: u32, round: u32, actor: u32, actors: &Actors) {
        actors.record_hidden_effect();
        let record = &mut self.barriers[barrier as usize];
        if record.round == round {
            record.arrived.retain(|&other| other != actor);
        }
    }
}
