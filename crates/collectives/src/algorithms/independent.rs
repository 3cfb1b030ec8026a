//! Algorithms in which no message depends on a received message: each rank sends all of its
//! messages when it calls.
//!
//! A model checker explores nonblocking calls with these algorithms: with other schedules, the
//! sends would depend on the messages that have arrived when the program happens to wait.

use super::{allgather, allreduce, alltoall, barrier, bcast, between, gather, reduce};
use super::{reduce_scatter, scan, scatter};
use crate::{Algorithm, Call, Collective};

/// Returns the algorithm of a call in which each rank sends all of its messages at the call. The
/// algorithm keeps the order of operands.
#[must_use]
pub fn independent(call: &Call) -> &'static Algorithm {
    match call.collective {
        _ if call.is_between() => &between::DIRECT,
        Collective::Barrier => &barrier::all_to_all::ALL_TO_ALL,
        Collective::Bcast => &bcast::linear::LINEAR,
        Collective::Reduce => &reduce::linear_nb::LINEAR_NB,
        Collective::Allreduce => &allreduce::linear::LINEAR,
        Collective::Gather | Collective::Gatherv => &gather::linear_nb::LINEAR_NB,
        Collective::Scatter | Collective::Scatterv => &scatter::linear_nb::LINEAR_NB,
        Collective::Allgather | Collective::Allgatherv => &allgather::linear::LINEAR,
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
            &alltoall::linear::LINEAR
        }
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            &reduce_scatter::linear::LINEAR
        }
        Collective::Scan | Collective::Exscan => &scan::linear::LINEAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operand, Part, Slot, Steps};

    /// Notes whether a send follows a wait.
    #[derive(Default)]
    struct Order {
        waits: bool,
        is_late: bool,
    }

    impl Steps for Order {
        fn isend_in(&mut self, _: Slot, _: u32, _: Part) {
            self.is_late |= self.waits;
        }

        fn irecv_in(&mut self, _: Slot, _: u32, _: Part) {}

        fn send(&mut self, peer: u32, part: Part) {
            self.isend_in(0, peer, part);
            self.waits = true;
        }

        fn wait(&mut self, _: Slot) {
            self.waits = true;
        }

        fn wait_first(&mut self, _: Slot) {
            self.waits = true;
        }

        fn copy(&mut self, _: Part, _: Part) {}

        fn reduce(&mut self, _: Part, _: Part, _: Operand) {}
    }

    fn sends_late(algorithm: &Algorithm, call: &Call) -> bool {
        let mut order = Order::default();
        for round in 0..(algorithm.rounds)(call) {
            (algorithm.round)(call, round, &mut order);
        }
        order.is_late
    }

    #[test]
    fn no_send_follows_a_wait() {
        for collective in Collective::ALL {
            let algorithm = independent(&Call::new(collective, 0, 2, 8));
            assert!(algorithm.collectives.contains(&collective));
            assert!(algorithm.ordered || !collective.has_operation());
            for (size, root) in (1..9).flat_map(|size| (0..size).map(move |root| (size, root))) {
                for rank in 0..size {
                    let mut call = Call::new(collective, rank, size, 8);
                    (call.root, call.commutative) = (root, false);
                    assert!(algorithm.suits(&call), "{collective} of {size}");
                    assert!(!sends_late(algorithm, &call), "{collective} of {size}");
                    for first in 1..size {
                        call.first_group = first;
                        let algorithm = independent(&call);
                        assert!(!sends_late(algorithm, &call), "{collective} of {size}");
                    }
                }
            }
        }
        let call = Call::new(Collective::Barrier, 0, 4, 0);
        assert!(sends_late(crate::DISSEMINATION, &call));
    }
}
