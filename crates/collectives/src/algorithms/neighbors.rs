//! Exchange between neighbours in one round: all receives, then all sends.
//!
//! Source: MPICH, `neighbor_alltoallv_allcomm_linear.c`. Libraries have no other algorithm, so
//! there is no selection.
//!
//! In a grid, a message that goes down in a dimension arrives from above, even if both neighbours
//! are the same rank: a separate edge distinguishes it from the message that goes up. In a graph,
//! several messages between the same two ranks match in the order of their sends.

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
    let edge = |at: u32| if neighbors.is_grid { at } else { 0 };
    for (at, source) in (0..).zip(&neighbors.sources) {
        if let Some(source) = source {
            let block = call.recv_block(at);
            steps.set_edge(edge(at ^ 1));
            steps.irecv(*source, Part::recv(block.offset, block.length));
        }
    }
    for (at, destination) in (0..).zip(&neighbors.destinations) {
        if let Some(destination) = destination {
            let block = call.send_block(at);
            steps.set_edge(edge(at));
            steps.isend(*destination, Part::send(block.offset, block.length));
        }
    }
    steps.wait_all();
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::{Collective, Neighbors, Operand, Slot};

    /// Steps as texts, each with an edge.
    #[derive(Default)]
    struct Listing(Vec<String>, u32);

    impl Steps for Listing {
        fn set_edge(&mut self, edge: u32) {
            self.1 = edge;
        }

        fn isend_in(&mut self, _: Slot, peer: u32, part: Part) {
            let text = format!("{}: send {peer} from {}", self.1, part.offset);
            self.0.push(text);
        }

        fn irecv_in(&mut self, _: Slot, peer: u32, part: Part) {
            let text = format!("{}: receive {peer} at {}", self.1, part.offset);
            self.0.push(text);
        }

        fn send(&mut self, _: u32, _: Part) {}

        fn wait(&mut self, _: Slot) {
            self.0.push("wait".to_owned());
        }

        fn wait_first(&mut self, _: Slot) {}

        fn copy(&mut self, _: Part, _: Part) {}

        fn reduce(&mut self, _: Part, _: Part, _: Operand) {}
    }

    /// A ring of two ranks, and a dimension that ends here: in the first dimension the same rank is
    /// both neighbours, and a message that this rank sends down arrives from above.
    #[test]
    fn messages_of_a_grid_have_edges() {
        let steps = |is_grid| {
            let neighbors = Neighbors {
                sources: vec![Some(1), Some(1), None, Some(2)],
                destinations: vec![Some(1), Some(1), None, Some(2)],
                is_grid,
            };
            let mut call = Call::new(Collective::Alltoall, 0, 4, 8);
            call.neighbors = Some(Rc::new(neighbors));
            let mut listing = Listing::default();
            round(&call, 0, &mut listing);
            listing.0
        };
        let grid = [
            "1: receive 1 at 0",
            "0: receive 1 at 8",
            "2: receive 2 at 24",
            "0: send 1 from 0",
            "1: send 1 from 8",
            "3: send 2 from 24",
            "wait",
        ];
        assert_eq!(steps(true), grid);
        let graph = grid.map(|step| match step {
            "wait" => step.to_owned(),
            step => format!("0{}", &step[1..]),
        });
        assert_eq!(steps(false), graph);
    }
}
