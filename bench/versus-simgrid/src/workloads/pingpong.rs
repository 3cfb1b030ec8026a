//! A message and an answer between two hosts; the size is the number of round trips. First 8 bytes,
//! SimGrid with the model CM02 and simrun with the constant model; then 1 byte and 1 MB in turn,
//! both with LV08. Twins: `cpp/pingpong.cpp` and `cpp/pingpong_lv08.cpp`.

use sim_core::Simulation;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pingpong",
    size: 200_000,
    quick_size: 100,
    repetitions: 5,
    ours,
    side: Side::Actors("pingpong"),
    model: "CM02",
    rows: &[WorkloadRow {
        title: "messages, mailbox ping-pong",
        metric: Metric::PerSecond,
        goal: Goal::AtLeast(8e6),
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

pub(crate) const LV08: Workload = Workload {
    name: "lv08-pingpong",
    size: 100_000,
    quick_size: 100,
    repetitions: 5,
    ours: lv08,
    side: Side::Actors("pingpong_lv08"),
    model: "LV08",
    rows: &[WorkloadRow {
        title: "messages, ping-pong of 1 B and 1 MB, LV08",
        metric: Metric::PerSecond,
        goal: Goal::Times(15.0),
        limit: None,
    }],
};

fn lv08(count: u64) -> u64 {
    let mut simulation = super::crossbar::simulation(2);
    let (there, back) = (simulation.mailbox("there"), simulation.mailbox("back"));
    let (same_there, same_back) = (there.clone(), back.clone());
    simulation.spawn_anonymous(0, move |_| async move {
        for _ in 0..count {
            there.put(1, 1.0).await?;
            back.get().await?;
        }
        Ok::<(), sim_core::ActivityError>(())
    });
    simulation.spawn_anonymous(1, move |_| async move {
        for _ in 0..count {
            same_there.get().await?;
            same_back.put(1, 1e6).await?;
        }
        Ok::<(), sim_core::ActivityError>(())
    });
    crate::child::finish(simulation);
    2 * count
}
