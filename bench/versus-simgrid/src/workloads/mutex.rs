//! Actors that lock and unlock one mutex; the size is the number of actors and of turns. Twin:
//! `cpp/mutex.cpp`.

use sim_core::Simulation;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mutex",
    size: 1000,
    quick_size: 20,
    repetitions: 5,
    ours,
    side: Side::Actors("mutex"),
    model: "CM02",
    rows: &[WorkloadRow {
        title: "acquisitions of a mutex, 1000 actors × 1000",
        metric: Metric::PerSecond,
        goal: Goal::Times(5.0),
        limit: None,
    }],
};

fn ours(count: u64) -> u64 {
    let mut simulation = Simulation::with_constant_model(1);
    let mutex = simulation.new_mutex();
    for _ in 0..count {
        let mutex = mutex.clone();
        simulation.spawn_anonymous(0, move |_| async move {
            for _ in 0..count {
                mutex.lock().await;
                mutex.unlock().await;
            }
        });
    }
    crate::child::finish(simulation);
    count * count
}
