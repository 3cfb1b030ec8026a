//! Exchange between neighbours in one round: all receives, then all sends.
//!
//! Source: MPICH, `neighbor_alltoallv_allcomm_linear.c`. Libraries have no other algorithm, so it is
//! not selected.
//!
//! All messages of a call have one tag, so that several between the same two ranks match in the
//! order in which they are sent. Receives are started in that order: in a grid, that from above
//! before that from below, as the sender names its neighbour below first.

use crate::{Algorithm, Call, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    about: "from all sources, then to all destinations, all at once",
    time: "d (α + n β) with d neighbours",
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let Some(neighbors) = call.neighbors.as_deref() else {
        return;
    };
    for number in 0..neighbors.sources.len() {
        let at = number ^ usize::from(neighbors.is_grid);
        if let Some(source) = neighbors.sources[at] {
            let block = call.recv_block(in_32_bits(at));
            steps.irecv(source, Part::recv(block.offset, block.length));
        }
    }
    for (at, destination) in neighbors.destinations.iter().enumerate() {
        if let Some(destination) = destination {
            let block = call.send_block(in_32_bits(at));
            steps.isend(*destination, Part::send(block.offset, block.length));
        }
    }
    steps.wait_all();
}

fn in_32_bits(at: usize) -> u32 {
    u32::try_from(at).expect("neighbours are counted in 32 bits")
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::{Collective, Neighbors, Operand, Slot};

    #[derive(Default)]
    struct Listing(Vec<String>);

    impl Steps for Listing {
        fn isend_in(&mut self, _: Slot, peer: u32, part: Part) {
            self.0.push(format!("send {peer} from {}", part.offset));
        }

        fn irecv_in(&mut self, _: Slot, peer: u32, part: Part) {
            self.0.push(format!("receive {peer} at {}", part.offset));
        }

        fn send(&mut self, _: u32, _: Part) {}

        fn wait(&mut self, _: Slot) {
            self.0.push("wait".to_owned());
        }

        fn wait_first(&mut self, _: Slot) {}

        fn copy(&mut self, _: Part, _: Part) {}

        fn reduce(&mut self, _: Part, _: Part, _: Operand) {}
    }

    /// A ring of two ranks, and a dimension that ends here: both neighbours in the first dimension
    /// are the same rank, whose first message comes from above.
    #[test]
    fn messages_of_a_grid_match_in_the_order_of_sends() {
        let neighbors = |is_grid| Neighbors {
            sources: vec![Some(1), Some(1), None, Some(2)],
            destinations: vec![Some(1), Some(1), None, Some(2)],
            is_grid,
        };
        let steps = |is_grid| {
            let mut call = Call::new(Collective::Alltoall, 0, 4, 8);
            call.neighbors = Some(Rc::new(neighbors(is_grid)));
            let mut listing = Listing::default();
            round(&call, 0, &mut listing);
            listing.0
        };
        let sends = ["send 1 from 0", "send 1 from 8", "send 2 from 24", "wait"];
        let grid = ["receive 1 at 8", "receive 1 at 0", "receive 2 at 24"];
        assert_eq!(steps(true), [&grid[..], &sends].concat());
        let graph = ["receive 1 at 0", "receive 1 at 8", "receive 2 at 24"];
        assert_eq!(steps(false), [&graph[..], &sends].concat());
    }
}
