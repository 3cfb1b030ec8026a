//! Promise: the cases for adapters do not expect too much. They hold, without any deviation, for an adapter that draws at random what happens next: the
//! one in memory that the tests of the message layer use.

mod adapter;

use adapter::{Abilities, Network};
use rdma::conformance::{CASES, Case, MemoryLink, Side, run_pair};

/// What the adapter in memory does not do, because no user of it needs it.
const LEFT_OUT: &[&str] = &[
    // Completions that are not solicited tell, too.
    "order::notifications",
    // Reads and atomics of one queue pair are done in any order, also past one that fails.
    "atomics::fetch_and_add",
    "errors::wrong_remote_keys",
    "errors::missing_rights_of_memory",
    // A queue pair without rights is a remote access error.
    "errors::missing_rights_of_the_queue_pair",
    // There is no way back to RESET, and no draining.
    "states::transitions_that_are_not_allowed",
    "states::posting_too_early",
    "states::a_queue_pair_is_used_again",
    "states::draining",
    // Offsets beyond all memory, and posting nothing to what is gone.
    "memory::what_cannot_be_registered",
    "memory::old_handles_are_refused",
];

/// Steps of the network, of which no case needs nearly so many.
const STEPS_MAX: u32 = 3_000_000;

fn run(case: &Case, seed: u64) {
    let network = Network::new(seed);
    let adapters = [0, 1].map(|_| network.adapter(Abilities::default()));
    let (one, two) = MemoryLink::pair();
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
        network.step();
    });
}

#[test]
fn all_cases_hold_in_memory() {
    let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    assert!(LEFT_OUT.iter().all(|name| names.contains(name)));
    for case in CASES.iter().filter(|case| !LEFT_OUT.contains(&case.name)) {
        for seed in 0..4 {
            run(case, seed);
        }
    }
}
