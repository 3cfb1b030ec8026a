//! Promise: messages between ranks of one host take the time of the host's memory, as closed forms.

use crate::common::{DONE, Notes, Run, Runner, loggops_costs, ranks};
use mpi::Comm;
use settings::{LogGopsLoopback, LogGopsParameters};
use sim_core::Span;

/// Two hosts with a memory of 10 GB/s and 0.3 us.
const TWO: &str = r#"
version = 1
network = { model = "raw", loopback = { latency = "0.3us", bandwidth = "10GBps" } }
[clusters.nodes]
hosts = "node-[0-1]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

const BYTES: u64 = 5001;

/// Rank 0 sends `count` messages to each other rank; all note when they are done.
async fn send_to_all(world: Comm, notes: Notes, count: u32) -> mpi::Result<()> {
    let mut buffer = world.buffer(BYTES);
    for peer in 1..world.size() {
        for _ in 0..count {
            if world.rank() == 0 {
                world.send(&buffer, peer, 0).await?;
            } else if world.rank() == peer {
                world.recv(&mut buffer, 0, 0).await?;
            }
        }
    }
    notes.add(&world, "");
    DONE
}

fn run(runner: &Runner, count: u32) -> Run {
    let program = move |world, notes| send_to_all(world, notes, count);
    runner.run(program).finished()
}

#[track_caller]
fn assert_dates(run: &Run, expected: &[f64]) {
    let mut found = vec![0.0; expected.len()];
    for (date, rank, _) in &run.notes {
        found[*rank] = *date;
    }
    let same = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-12;
    let all = found.iter().zip(expected).all(same);
    assert!(all, "{found:?}\nexpected {expected:?}");
}

#[test]
fn flows_within_a_host_have_its_loopback() {
    let runner = ranks(3).on_platform(TWO).on_hosts(&[0, 0, 1]);
    let bytes = BYTES as f64;
    let within = 0.3e-6 + bytes / 10e9;
    // Both cables of the cluster have the latency; the way up and the way down are full duplex.
    let between = 2e-6 + bytes / 1e9;
    assert_dates(&run(&runner, 1), &[0.0, within, between]);
}

#[test]
fn flows_within_a_host_share_no_bandwidth() {
    let runner = ranks(4).on_platform(TWO).on_hosts(&[0; 4]);
    let within = 0.3e-6 + BYTES as f64 / 10e9;
    assert_dates(&run(&runner, 1), &[0.0, within, within, within]);
}

fn costs(loopback: Option<LogGopsLoopback<Span>>) -> LogGopsParameters<Span> {
    LogGopsParameters {
        loopback,
        ..loggops_costs()
    }
}

/// L = 0.25 us, o = 0.5 us, and G of `nanoseconds`.
fn memory(nanoseconds: f64) -> LogGopsLoopback<Span> {
    LogGopsLoopback {
        latency: Span::from_micros(0.25),
        overhead: Span::from_micros(0.5),
        gap_per_byte: Span::from_secs(nanoseconds * 1e-9),
    }
}

#[test]
fn both_processors_copy_a_message_of_loggops_within_a_host() {
    let rest = (BYTES - 1) as f64;
    // O is 2 ns: the slower one of O and G counts at both ends.
    for (nanoseconds, per_byte) in [(4.0, 4e-9), (1.0, 2e-9)] {
        let runner = ranks(2).on_hosts(&[0, 0]);
        let runner = runner.with_costs(costs(Some(memory(nanoseconds))));
        let sent = 0.5e-6 + rest * per_byte;
        let received = 0.25e-6 + 2.0 * 0.5e-6 + rest * per_byte;
        assert_dates(&run(&runner, 1), &[sent, received]);
        // There is no gap of an adapter: three messages follow at the pace of the processors.
        assert_dates(&run(&runner, 3), &[3.0 * sent, 2.0 * sent + received]);
    }
}

#[test]
fn a_message_within_a_host_does_not_occupy_the_adapter_of_loggops() {
    let (gap, rest) = (3e-6 + 5000.0 * 5e-9, 5000.0);
    // To rank 1 on the same host, then to rank 2 on the other one.
    let runner = ranks(3).on_hosts(&[0, 0, 1]);
    let runner = runner.with_costs(costs(Some(memory(1.0))));
    let local = 0.5e-6 + rest * 2e-9;
    let remote = 1e-6 + rest * 2e-9;
    let arrival = local + 1e-6 + 10e-6;
    assert_dates(
        &run(&runner, 1),
        &[
            local + remote,
            local + 0.25e-6 + 0.5e-6,
            arrival + 1e-6 + rest * 5e-9,
        ],
    );
    // Rank 0 sends two messages to rank 1 on the other host, then one to rank 2 on its own: that
    // one leaves although the adapter still sends.
    let runner = ranks(3).on_hosts(&[0, 1, 0]);
    let runner = runner.with_costs(costs(Some(memory(1.0))));
    let found = runner.run(|world, notes| async move {
        let mut buffer = world.buffer(BYTES);
        match world.rank() {
            0 => {
                for peer in [1, 1, 2] {
                    world.send(&buffer, peer, 0).await?;
                }
            }
            1 => {
                world.recv(&mut buffer, 0, 0).await?;
                world.recv(&mut buffer, 0, 0).await?;
            }
            _ => drop(world.recv(&mut buffer, 0, 0).await?),
        }
        notes.add(&world, "");
        DONE
    });
    let second = gap + 1e-6 + rest * 2e-9;
    assert_dates(
        &found.finished(),
        &[
            second + local,
            gap + 11e-6 + 1e-6 + rest * 5e-9,
            second + local + 0.25e-6 + 0.5e-6,
        ],
    );
}

#[test]
fn without_costs_of_its_own_a_host_is_as_far_as_any_other() {
    let [same, other] = [[0, 0], [0, 1]].map(|hosts| {
        let runner = ranks(2).on_hosts(&hosts).with_costs(costs(None));
        run(&runner, 3).notes
    });
    assert_eq!(same, other);
}
