//! Time of one choice of an algorithm: calls of random sizes, with the tables of each selector.
//!
//! At most 100 ns are allowed for a call.

use std::hint::black_box;

use collectives::{Call, Collective, Facts, Selector};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Calls of a kind, with numbers of ranks up to 4096 and up to 16 MiB.
fn calls(kind: Collective) -> Vec<(Call, Facts)> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from(state >> 40).expect("24 bits") % below
    };
    let call = |_| {
        let (ranks, bytes) = (1 << next(13), u64::from(next(1 << 24) >> next(24)));
        let mut call = Call::new(kind, 0, ranks + next(2), bytes * 8);
        call.element = 8;
        let ranks_per_node = [1, 2, 4, 8, 16][next(5) as usize];
        let facts = Facts {
            ranks_per_node,
            ..Facts::default()
        };
        (call, facts)
    };
    (0..1000).map(call).collect()
}

fn choices(criterion: &mut Criterion) {
    let kinds = [
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Alltoall,
        Collective::Allgather,
        Collective::ReduceScatter,
    ];
    for name in Selector::names() {
        let selector = Selector::built_in(name).expect("a selector");
        let mut group = criterion.benchmark_group(name);
        for kind in kinds {
            let mut calls = calls(kind);
            let mut number = 0;
            group.bench_function(BenchmarkId::from_parameter(kind), |bencher| {
                bencher.iter(|| {
                    number = (number + 1) % calls.len();
                    let (call, facts) = &mut calls[number];
                    black_box(selector.select(call, *facts))
                });
            });
        }
    }
}

criterion_group!(benches, choices);
criterion_main!(benches);
