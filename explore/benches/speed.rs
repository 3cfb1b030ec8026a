//! How many transitions per second an exploration executes, those included that are executed again to come back to a place.
//!
//! Whole explorations of programs whose actors do nothing else: 7 and 8 users of a mutex, producers and consumers, ten
//! philosophers.

#[path = "../tests/programs/mod.rs"]
mod programs;

use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explore::{Options, Run, explore};
use sim_core::Stepper;

struct Nobody;

impl explore::Observer for Nobody {
    fn look(&mut self, _: &Run<'_>) -> ControlFlow<()> {
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
    whole(criterion, "7 mutex users", programs::mutex_users(7));
    whole(criterion, "8 mutex users", programs::mutex_users(8));
    whole(
        criterion,
        "producers and consumers 2 2 2",
        programs::producers_consumers(2, 2, 2, 2),
    );
    whole(
        criterion,
        "philosophers 10",
        programs::philosophers(10, true),
    );
}

criterion_group!(all, benches);
criterion_main!(all);
