//! A message of 8 bytes there and one back, between two hosts; the size is the number of round trips. SimGrid runs
//! its model CM02, ours is the constant model. Twin: `cpp/pingpong.cpp`.

use sim_core::Simulation;

use crate::workload::{Goal, Metric, Row, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pingpong",
    size: 200_000,
    quick_size: 100,
    repetitions: 5,
    ours,
    program: Some("pingpong"),
    rows: &[Row {
        title: "messages, mailbox ping-pong",
        metric: Metric::PerSecond,
        goal: Goal::AtLeast(5e6),
        limit: None,
    }],
};

fn ours(count: u64) -> u64 {
    let mut simulation = Simulation::with_constant_model(2);
    let (there, back) = (simulation.mailbox("there"), simulation.mailbox("back"));
    let (same_there, same_back) = (there.clone(), back.clone());
    simulation.spawn_anonymous(0, move |_| async move {
        for _ in 0..count {
            there.put(1, 8.0).await?;
            back.get().await?;
        }
        Ok::<(), sim_core::ActivityError>(())
    });
    simulation.spawn_anonymous(1, move |_| async move {
        for _ in 0..count {
            same_there.get().await?;
            same_back.put(1, 8.0).await?;
        }
        Ok::<(), sim_core::ActivityError>(())
    });
    crate::child::finish(simulation);
    2 * count
}
