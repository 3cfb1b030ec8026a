//! Deliveries of one run, for model checkers: the calls of a rank that happen before a send of
//! another rank.
//!
//! A packet that the program of a rank posts happens after the arrivals that the program has waited
//! for. An answer of the protocol happens after the answered message and after the posting of the
//! receive. A posting happens before a send if a chain of such relations leads to the send.
//!
//! *Not modelled*: order by other means than messages, such as memory that simulated ranks share.
//! The messages of collective operations count, so an algorithm may order more than MPI promises.

use sim_core::SourceLocation;
use std::cell::RefCell;
use std::ops::Range;

use channel::{PacketOrigin, SendCause};

/// A packet that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// The step in which the packet arrived.
    pub(crate) step: u32,
    pub(crate) source: u32,
    /// The causes that the sender knew.
    pub(crate) send_cause: SendCause,
    /// Further arrivals that caused the send.
    pub(crate) also: Vec<u32>,
    /// The call that sent the packet, if the packet is a message, and the number of the send among
    /// the notes of the sender.
    pub(crate) call: Option<SourceLocation>,
    pub(crate) send: u32,
}

/// The deliveries of one run, in the order of their steps.
#[derive(Debug, Default)]
pub(crate) struct Deliveries(RefCell<Vec<Delivery>>);

impl Deliveries {
    pub(crate) fn clear(&mut self) {
        self.0.get_mut().clear();
    }

    pub(crate) fn push(&self, delivery: Delivery) {
        self.0.borrow_mut().push(delivery);
    }

    /// Returns the step, the source and the number of the send of each arrival.
    pub(crate) fn senders(&self) -> Vec<(u32, (u32, u32))> {
        let all = self.0.borrow();
        let sender = |one: &Delivery| (one.step, (one.source, one.send));
        all.iter().map(sender).collect()
    }

    /// Returns the delivery of a step.
    pub(crate) fn find_delivery(&self, step: u32) -> Option<Delivery> {
        let all = self.0.borrow();
        Some(all[find_position(&all, step)?].clone())
    }

    /// Returns the origin of the packet that arrived in a step.
    pub(crate) fn packet_origin(&self, step: u32) -> PacketOrigin {
        let all = self.0.borrow();
        let Some(position) = find_position(&all, step) else {
            return PacketOrigin::default();
        };
        let Delivery {
            send_cause,
            also,
            call,
            ..
        } = &all[position];
        let mut arrivals = also.clone();
        if !also.contains(&send_cause.arrival) {
            arrivals.push(send_cause.arrival);
        }
        PacketOrigin {
            call: *call,
            arrivals,
        }
    }

    /// Returns true if the posting of a receive of a rank, given by its number from 1, happens
    /// before the send of the packet that arrived in a step. `learnt` adds the steps of the
    /// arrivals that a rank has waited for, for a range of their numbers.
    pub(crate) fn is_posted_before(
        &self,
        (rank, receive): (u32, u32),
        step: u32,
        ranks: usize,
        learnt: impl Fn(u32, Range<u32>, &mut Vec<u32>),
    ) -> bool {
        let all = self.0.borrow();
        let mut is_visited = vec![false; all.len()];
        // By rank: the number of its first arrivals that have been added.
        let mut added = vec![0; ranks];
        let mut pending = vec![step];
        while let Some(step) = pending.pop() {
            // Choices of the explorer are learnt, too, and are no deliveries.
            let Some(position) = find_position(&all, step) else {
                continue;
            };
            if std::mem::replace(&mut is_visited[position], true) {
                continue;
            }
            let Delivery {
                source, send_cause, ..
            } = all[position];
            if source == rank && send_cause.receives >= receive {
                return true;
            }
            let arrivals = [send_cause.arrival, send_cause.delivery].into_iter();
            pending.extend(arrivals.filter(|arrival| *arrival != SendCause::NONE));
            let added = &mut added[source as usize];
            if *added < send_cause.known {
                learnt(source, *added..send_cause.known, &mut pending);
                *added = send_cause.known;
            }
        }
        false
    }
}

fn find_position(all: &[Delivery], step: u32) -> Option<usize> {
    all.binary_search_by_key(&step, |delivery| delivery.step)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(step: u32, source: u32, (known, receives): (u32, u32)) -> Delivery {
        Delivery {
            step,
            source,
            send_cause: SendCause {
                known,
                arrival: SendCause::NONE,
                delivery: SendCause::NONE,
                receives,
            },
            also: Vec::new(),
            call: None,
            send: 0,
        }
    }

    /// Rank 2 posts its second receive and sends to rank 1. Rank 1 sends to rank 0, and rank 0
    /// sends the message.
    #[test]
    fn knowledge_is_relayed() {
        let deliveries = Deliveries::default();
        deliveries.push(posted(3, 2, (0, 2)));
        deliveries.push(posted(5, 1, (1, 0)));
        deliveries.push(posted(8, 0, (1, 0)));
        deliveries.push(posted(9, 0, (0, 0)));
        let learnt = |rank: u32, range: Range<u32>, into: &mut Vec<u32>| {
            let all: [&[u32]; 3] = [&[5], &[3], &[8, 9]];
            into.extend(&all[rank as usize][range.start as usize..range.end as usize]);
        };
        let before = |receive, step| deliveries.is_posted_before((2, receive), step, 3, learnt);
        assert!(
            before(1, 8) && before(2, 8),
            "posted before the first message"
        );
        assert!(!before(3, 8), "posted after it");
        assert!(!before(1, 9), "sent before anything was known");
    }

    #[test]
    fn an_answer_shows_the_receive_that_it_answers() {
        let deliveries = Deliveries::default();
        deliveries.push(posted(1, 0, (0, 0)));
        let answer = SendCause {
            known: 0,
            arrival: 1,
            delivery: 1,
            receives: 4,
        };
        deliveries.push(Delivery {
            send_cause: answer,
            ..posted(2, 1, (0, 0))
        });
        deliveries.push(posted(3, 0, (1, 0)));
        let learnt = |rank: u32, _: Range<u32>, into: &mut Vec<u32>| {
            into.extend((rank == 0).then_some(2));
        };
        assert!(deliveries.is_posted_before((1, 4), 3, 2, learnt));
        assert!(!deliveries.is_posted_before((1, 5), 3, 2, learnt));
    }
}
