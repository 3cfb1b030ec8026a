//! Cost of single operations of the kernel: yield, creation and end of an actor, sleep, mutex,
//! mailbox, digest.
//!
//! Each measurement is a whole simulation, creation included, per operation. Comparisons with
//! another simulator are in `bench/versus-simgrid`.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim_core::{ActivityError, Digest, Outcome, Simulation, Span};

fn finish(simulation: Simulation) {
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

fn yields(count: u64) -> Simulation {
    let mut simulation = Simulation::with_constant_model(1);
    for _ in 0..2 {
        simulation.spawn_anonymous(0, move |me| async move {
            for _ in 0..count {
                me.yield_now().await;
            }
        });
    }
    simulation
}

/// Actors that sleep `turns` random times below 1 s each.
fn sleepers(actors: u64, turns: u32) -> Simulation {
    let mut simulation = Simulation::with_constant_model(1);
    for i in 0..actors {
        simulation.spawn_anonymous(0, move |me| async move {
            let mut x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(12345);
            for _ in 0..turns {
                x ^= x >> 12;
                x ^= x << 25;
                x ^= x >> 27;
                let seconds = f64::from(u32::try_from(x >> 32).expect("32 bits")) / 4_294_967_296.0;
                me.sleep(Span::from_secs(seconds)).await;
            }
        });
    }
    simulation
}

fn lockers(count: u64) -> Simulation {
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
    simulation
}

fn players(count: u64) -> Simulation {
    let mut simulation = Simulation::with_constant_model(2);
    let (there, back) = (simulation.new_mailbox(), simulation.new_mailbox());
    let (same_there, same_back) = (there.clone(), back.clone());
    simulation.spawn_anonymous(0, move |_| async move {
        for _ in 0..count {
            there.put(1, 8.0).await?;
            back.get().await?;
        }
        Ok::<(), ActivityError>(())
    });
    simulation.spawn_anonymous(1, move |_| async move {
        for _ in 0..count {
            same_there.get().await?;
            same_back.put(1, 8.0).await?;
        }
        Ok::<(), ActivityError>(())
    });
    simulation
}

fn operations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("operations");
    group.throughput(Throughput::Elements(200_000));
    group.bench_function("yield", |bench| bench.iter(|| finish(yields(100_000))));
    group.throughput(Throughput::Elements(10_000));
    group.bench_function("spawn and end", |bench| {
        bench.iter(|| finish(sleepers(10_000, 0)));
    });
    group.throughput(Throughput::Elements(200 * 200));
    group.bench_function("mutex", |bench| bench.iter(|| finish(lockers(200))));
    group.throughput(Throughput::Elements(2 * 20_000));
    group.bench_function("mailbox ping-pong", |bench| {
        bench.iter(|| finish(players(20_000)));
    });
    group.throughput(Throughput::Elements(1000));
    group.bench_function("digest mix", |bench| {
        bench.iter(|| {
            let mut digest = Digest::default();
            for step in 0..1000 {
                digest.mix(black_box(step), step);
            }
            digest
        });
    });
    group.finish();
}

fn sleeps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sleep");
    group.sample_size(10);
    for actors in [1000, 10_000, 100_000, 1_000_000] {
        group.throughput(Throughput::Elements(5 * actors));
        group.bench_with_input(
            BenchmarkId::from_parameter(actors),
            &actors,
            |bench, &actors| {
                bench.iter_batched(|| sleepers(actors, 5), finish, BatchSize::PerIteration);
            },
        );
    }
    group.finish();
}

criterion_group!(pieces, operations, sleeps);
criterion_main!(pieces);
