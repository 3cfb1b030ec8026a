//! A master deals tasks out to 1000 workers in turn, each a message of 1 KB and a computation. The
//! size is the number of tasks. Twin: `cpp/master_worker.cpp`.

use sim_core::ActivityError;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

const WORKERS: u64 = 1000;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "master-worker",
    size: 100_000,
    quick_size: 2000,
    repetitions: 1,
    ours,
    side: Side::Actors("master_worker"),
    model: "LV08",
    rows: &[WorkloadRow {
        title: "tasks, a master and 1e3 workers, LV08",
        metric: Metric::PerSecond,
        goal: Goal::Times(20.0),
        limit: None,
    }],
};

fn ours(tasks: u64) -> u64 {
    let mut simulation = super::crossbar::simulation(WORKERS + 1);
    let mailboxes: Vec<_> = (0..WORKERS).map(|_| simulation.new_mailbox()).collect();
    let all = mailboxes.clone();
    simulation.spawn("master", 0, move |_| async move {
        for task in 0..tasks {
            let worker = usize::try_from(task % WORKERS).expect("few workers");
            all[worker].put(1, 1000.0).await?;
        }
        for mailbox in &all {
            mailbox.put(0, 1000.0).await?;
        }
        Ok::<(), ActivityError>(())
    });
    for (host, mailbox) in (1..).zip(mailboxes) {
        simulation.spawn_anonymous(host, move |me| async move {
            while mailbox.get().await?.word() == Some(1) {
                me.execute(1e6).await?;
            }
            Ok::<(), ActivityError>(())
        });
    }
    crate::child::finish(simulation);
    tasks
}
