//! Two actors that let each other go first; the size is the number of yields of each. Twin:
//! `cpp/yield.cpp`.

use sim_core::Simulation;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "yield",
    size: 5_000_000,
    quick_size: 1000,
    repetitions: 1,
    ours,
    side: Side::Actors("yield"),
    model: "CM02",
    rows: &[WorkloadRow {
        title: "yield",
        metric: Metric::Nanoseconds,
        goal: Goal::Times(9.0),
        limit: Some(
            "half of the [instructions](instructions.md) of a yield are the loop, with the move of \
             the future and the digest; the rest are issuing and collecting behind a borrow each, \
             and the future itself",
        ),
    }],
};

fn ours(count: u64) -> u64 {
    let mut simulation = Simulation::with_constant_model(1);
    for _ in 0..2 {
        simulation.spawn_anonymous(0, move |me| async move {
            for _ in 0..count {
                me.yield_now().await;
            }
        });
    }
    crate::child::finish(simulation);
    2 * count
}
