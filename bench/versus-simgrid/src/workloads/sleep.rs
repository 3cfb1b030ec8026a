//! Actors that sleep 5 random times below 1 s each; the size is the number of actors. Twin:
//! `cpp/sleep.cpp`.

use sim_core::{Simulation, Span};

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

const BYTES_EACH: WorkloadRow = WorkloadRow {
    title: "memory per sleeping actor, 1e6",
    metric: Metric::BytesEach,
    goal: Goal::AtMost(300.0),
    limit: None,
};

pub(crate) const SMALL: Workload = Workload {
    name: "sleep-1e4",
    size: 10_000,
    quick_size: 100,
    repetitions: 20,
    ours,
    side: Side::Actors("sleep"),
    model: "CM02",
    rows: &[WorkloadRow {
        title: "sleeps, 1e4 actors",
        metric: Metric::PerSecond,
        goal: Goal::Times(35.0),
        limit: None,
    }],
};

pub(crate) const LARGE: Workload = Workload {
    name: "sleep-1e6",
    size: 1_000_000,
    quick_size: 200,
    repetitions: 1,
    ours,
    side: Side::Actors("sleep"),
    model: "CM02",
    rows: &[
        WorkloadRow {
            title: "sleeps, 1e6 actors",
            metric: Metric::PerSecond,
            goal: Goal::Times(15.0),
            limit: None,
        },
        BYTES_EACH,
    ],
};

pub(crate) const HUGE: Workload = Workload {
    name: "sleep-1e7",
    size: 10_000_000,
    quick_size: 300,
    repetitions: 1,
    ours,
    side: Side::None,
    model: "CM02",
    rows: &[
        WorkloadRow {
            title: "sleeps, 1e7 actors",
            metric: Metric::PerSecond,
            goal: Goal::AtLeast(0.0),
            limit: None,
        },
        WorkloadRow {
            title: "memory of 1e7 sleeping actors",
            metric: Metric::Gigabytes,
            goal: Goal::AtMost(4.0),
            limit: None,
        },
    ],
};

fn ours(actors: u64) -> u64 {
    let mut simulation = Simulation::with_constant_model(1);
    for i in 0..actors {
        simulation.spawn_anonymous(0, move |me| async move {
            let mut x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(12345);
            for _ in 0..5 {
                x ^= x >> 12;
                x ^= x << 25;
                x ^= x >> 27;
                me.sleep(Span::from_secs(below_one(x))).await;
            }
        });
    }
    crate::child::finish(simulation);
    5 * actors
}

#[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
fn below_one(x: u64) -> f64 {
    (x >> 11) as f64 / 9_007_199_254_740_992.0
}
