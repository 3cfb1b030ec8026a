//! Cost of a transfer in the flow model, without a kernel: ring, hot spot, million hosts,
//! loading.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use models::FlowModel;
use platform::{HostId, Platform, Route};
use sim_core::{ActivityId, End, Resource, Time, Work};

fn cluster(hosts: u32, backbone: bool) -> Arc<Platform> {
    let last = hosts - 1;
    let backbone = if backbone {
        "backbone = { bandwidth = \"100Gbps\", latency = \"1us\" }"
    } else {
        ""
    };
    let text = format!(
        "version = 1\n[clusters.nodes]\nhosts = \"node-[0-{last}]\"\nspeed = \"1Gf\"\nbandwidth = \"10Gbps\"\n\
         latency = \"1us\"\n{backbone}\n"
    );
    Arc::new(Platform::parse("bench.toml", &text).expect("a platform"))
}

/// Keeps `tokens` transfers going round all hosts until `count` have ended; sizes differ, so that
/// dates do.
fn ring(platform: &Arc<Platform>, tokens: u32, count: u64) -> Time {
    let hosts = platform.host_count();
    let mut model = FlowModel::new(Arc::clone(platform));
    let mut now = Time::ZERO;
    let mut at: Vec<u32> = (0..tokens).map(|token| token * (hosts / tokens)).collect();
    let mut number = 0;
    let mut send = |model: &mut FlowModel, slot: u32, host: u32, now: Time| {
        let work = Work::Transfer {
            from: HostId(host),
            to: HostId((host + 1) % hosts),
            bytes: 1000.0 + f64::from(slot % 64),
            rate: f64::INFINITY,
        };
        model
            .start(ActivityId { number, slot }, &work, now)
            .expect("a route");
        number += 1;
    };
    for slot in 0..tokens {
        send(&mut model, slot, at[slot as usize], now);
    }
    let mut ended: Vec<(ActivityId, End)> = Vec::new();
    let mut done = 0;
    while done < count {
        now = model.next_event(now, now).expect("a date");
        model.advance(now, &mut ended);
        for (id, _) in ended.drain(..) {
            done += 1;
            let host = &mut at[id.slot as usize];
            *host = (*host + 1) % hosts;
            send(&mut model, id.slot, *host, now);
        }
    }
    now
}

fn transfers(c: &mut Criterion) {
    let mut group = c.benchmark_group("transfers");
    group.throughput(Throughput::Elements(1000)).sample_size(20);
    for (name, hosts, tokens, backbone) in [
        ("ring of 64, 1 token", 64, 1, false),
        ("ring of 1000, 1000 tokens", 1_000, 1_000, false),
        ("ring of 1000000, 10 tokens", 1_000_000, 10, false),
        ("ring of 1000 over a backbone, 10 tokens", 1_000, 10, true),
        ("ring of 1000 over a backbone, 100 tokens", 1_000, 100, true),
    ] {
        let platform = cluster(hosts, backbone);
        group.bench_function(name, |b| b.iter(|| ring(&platform, tokens, 1000)));
    }
    group.finish();
}

fn routes(c: &mut Criterion) {
    let platform = cluster(1_000_000, true);
    let mut route = Route::default();
    let mut host = 0;
    c.bench_function("route in a cluster of a million", |b| {
        b.iter(|| {
            host = (host * 7 + 1) % 999_999;
            platform
                .route_into(HostId(host), HostId(host + 1), &mut route)
                .expect("a route");
            black_box(route.latency_s)
        });
    });
    c.bench_function("load a million hosts", |b| {
        b.iter(|| cluster(1_000_000, true));
    });
}

criterion_group!(benches, transfers, routes);
criterion_main!(benches);
