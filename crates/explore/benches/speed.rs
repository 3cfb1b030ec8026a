//! Number of transitions per second that an exploration executes. Transitions that are executed
//! again to return to an earlier place are included.
//!
//! The benchmark runs whole explorations of programs without any other work.

#[path = "../tests/programs/mod.rs"]
mod programs;

use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explore::{Options, Run, explore};
use sim_core::Stepper;

struct Nobody;

impl explore::Observer for Nobody {
    fn examine_run(&mut self, _: &Run<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn whole(criterion: &mut Criterion, name: &str, mut stepper: Stepper) {
    let mut search = || explore(&mut stepper, &Options::default(), &mut Nobody).0;
    let transitions = search().transitions;
    let mut group = criterion.benchmark_group("explore");
    group.sample_size(10);
    group.throughput(Throughput::Elements(transitions));
    group.bench_function(name, |bencher| bencher.iter(&mut search));
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    let programs = [
        ("7 mutex users", programs::mutex_users(7)),
        ("8 mutex users", programs::mutex_users(8)),
        (
            "producers and consumers 2 2 2",
            programs::producers_consumers(2, 2, 2, 2),
        ),
        ("philosophers 10", programs::philosophers(10, true)),
        ("7 receives", programs::receives(7)),
        (
            "philosophers with a semaphore 3",
            programs::philosophers_with_semaphore(3),
        ),
        (
            "philosophers at a table 4",
            programs::philosophers_with_table(4),
        ),
        ("barrier 3, three times", programs::barrier(3, 3)),
        ("two draws", programs::draws()),
    ];
    for (name, stepper) in programs {
        whole(criterion, name, stepper);
    }
}

criterion_group!(all, benches);
criterion_main!(all);
