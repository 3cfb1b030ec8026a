//! A run recorded as steps of a checker: arrivals, and looks of ranks into their inboxes, in order.
//!
//! An arrival is named by the queue of the [ideal device](crate::IdealFabric) that holds the same
//! packet. A message that its sender has copied and that leaves later than its announcement is one
//! packet there: its announcement is its arrival, and the later packets are left out.
//!
//! *Not modelled*: the ends of sends and of computations, which under a checker come at once. A
//! user may see a run with tests of its own sends that no checker's schedule expresses.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use channel::{Packet, PacketHeader, Token};
use sim_core::Observed;

use crate::lanes::{TopicTable, queue_name};
use crate::ranks::actor;

/// The record so far, and the state that later packets refer to.
pub(crate) struct Journal {
    topics: TopicTable,
    /// Sends that were copied, by rank and token.
    copied: BTreeSet<(u32, Token)>,
    /// Receives whose data arrive as a separate step, by rank and token.
    cleared: BTreeSet<(u32, Token)>,
    steps: Rc<RefCell<Vec<Observed>>>,
}

impl Journal {
    pub(crate) fn new(ranks: u32, steps: Rc<RefCell<Vec<Observed>>>) -> Self {
        Self {
            topics: TopicTable::new(ranks),
            copied: BTreeSet::new(),
            cleared: BTreeSet::new(),
            steps,
        }
    }

    /// Notes that a packet arrives.
    pub(crate) fn note_arrival(&mut self, source: u32, destination: u32, packet: &Packet) {
        match packet.header {
            PacketHeader::Rts {
                send,
                detached: true,
                ..
            } => {
                self.copied.insert((source, send));
            }
            PacketHeader::Cts { send, .. } if self.copied.remove(&(destination, send)) => return,
            PacketHeader::Cts { receive, .. } => {
                self.cleared.insert((source, receive));
            }
            PacketHeader::Data { receive } if !self.cleared.remove(&(destination, receive)) => {
                return;
            }
            _ => {}
        }
        let lane = self.topics.lane(source, destination, packet);
        let name = queue_name(source, destination, lane);
        self.steps.borrow_mut().push(Observed::Arrival(name));
    }

    /// Notes that a question of a rank was answered.
    pub(crate) fn note_answer(&mut self, rank: u32, question: u64, begun: u64, answer: u32) {
        self.steps.borrow_mut().push(Observed::Answer {
            actor: actor(rank),
            question,
            begun,
            answer,
        });
    }

    /// Records that a rank looks into its inbox.
    pub(crate) fn note_look(&mut self, rank: u32) {
        let look = Observed::Poll(actor(rank));
        self.steps.borrow_mut().push(look);
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}
