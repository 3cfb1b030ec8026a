//! A ring of actors on a crossbar: in each round every actor sends 1 KB to the next and receives
//! from the one before, all at once. The size is the number of actors. Twin: `cpp/ring.cpp`.

use sim_core::ActivityError;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

/// Messages of one simulation, if the rounds come out whole.
const MESSAGES: u64 = 100_000;

const fn workload(name: &'static str, size: u64, rows: &'static [WorkloadRow]) -> Workload {
    Workload {
        name,
        size,
        quick_size: 20,
        repetitions: 1,
        ours,
        side: Side::Actors("ring"),
        model: "LV08",
        rows,
    }
}

const fn new_row(title: &'static str, goal: Goal) -> WorkloadRow {
    WorkloadRow {
        title,
        metric: Metric::PerSecond,
        goal,
        limit: None,
    }
}

pub(crate) const THOUSAND: Workload = workload(
    "ring-1e3",
    1000,
    &[new_row(
        "messages, ring of 1e3 actors, LV08",
        Goal::Times(15.0),
    )],
);
pub(crate) const TEN_THOUSAND: Workload = workload(
    "ring-1e4",
    10_000,
    &[new_row(
        "messages, ring of 1e4 actors, LV08",
        Goal::Times(35.0),
    )],
);
pub(crate) const HUNDRED_THOUSAND: Workload = workload(
    "ring-1e5",
    100_000,
    &[new_row(
        "messages, ring of 1e5 actors, LV08",
        Goal::Times(30.0),
    )],
);
pub(crate) const MILLION: Workload = Workload {
    side: Side::None,
    ..workload(
        "ring-1e6",
        1_000_000,
        &[
            new_row("messages, ring of 1e6 actors, LV08", Goal::AtLeast(2.5e6)),
            WorkloadRow {
                title: "memory of the ring of 1e6 actors",
                metric: Metric::Gigabytes,
                goal: Goal::AtMost(2.0),
                limit: None,
            },
        ],
    )
};

fn ours(count: u64) -> u64 {
    let rounds = (MESSAGES / count).max(1);
    let mut simulation = super::crossbar::simulation(count);
    let mailboxes: Vec<_> = (0..count).map(|_| simulation.new_mailbox()).collect();
    for (host, own) in (0..).zip(&mailboxes) {
        let own = own.clone();
        let next = mailboxes[(host as usize + 1) % mailboxes.len()].clone();
        simulation.spawn_anonymous(host, move |_| async move {
            for _ in 0..rounds {
                let sending = next.put_async(1, 1000.0).await;
                own.get().await?;
                sending.wait().await?;
            }
            Ok::<(), ActivityError>(())
        });
    }
    drop(mailboxes);
    crate::child::finish(simulation);
    count * rounds
}
