//! Promise: the cases for adapters do not expect too much. The cases hold, without any deviation,
//! for the in-memory adapter of the tests of the message layer, which draws the next step at
//! random.

use rdma::conformance::{CASES, ConformanceCase, InMemoryChannel, Side, run_pair};
use testing::adapter::{Abilities, Network};

/// Steps of the network, of which no case needs nearly this many.
const STEPS_MAX: u32 = 3_000_000;

fn run(case: &ConformanceCase, seed: u64) {
    let network = Network::new(seed);
    let adapters = [0, 1].map(|_| network.add_adapter(Abilities::default()));
    let (one, two) = InMemoryChannel::pair();
    let first = Side::new(&adapters[0], &one, true);
    let second = Side::new(&adapters[1], &two, false);
    let mut steps = 0;
    run_pair(case, &first, &second, &mut || {
        steps += 1;
        assert!(
            steps < STEPS_MAX,
            "{} with seed {seed} has no end",
            case.name
        );
        network.process_event();
    });
}

#[test]
fn all_cases_hold_in_memory() {
    for case in CASES {
        for seed in 0..4 {
            run(case, seed);
        }
    }
}
