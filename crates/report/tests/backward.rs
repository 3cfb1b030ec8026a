//! Promise: slack, delay costs and derivatives equal the values known by hand. Slack is never
//! negative, delay costs add up to the waits, derivatives add up to the time of the run, and both
//! agree with runs that are changed.
//!
//! One network: 1 us (two links of 500 ns), 1 GB/s, no software costs: a message of n bytes takes 1
//! us + n ns. Eager below 64 KiB.

use std::io::Cursor;

use mpi::prelude::*;
use observe::{BackwardReader, LogEntry};
use report::analysis::{
    Analysis, AnalysisReport, BackwardReport, Class, DelayCost, Sensitivity, SlackRow,
};

use crate::common::{observed, read};

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
sharing = "split-duplex"
"#;

const LOGGOPS: &str = r#"
version = 1
[network]
model = "loggops"
latency = "2us"
overhead = "500ns"
gap = "100ns"
gap_per_byte = "0.5ns"
overhead_per_byte = "0ns"
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
"#;

/// Returns the analyses of a run that ends.
fn analysed<Fut>(
    platform: &str,
    ranks: u32,
    program: impl Fn(Comm) -> Fut + 'static,
) -> (AnalysisReport, BackwardReport)
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let (forward, backward) = analysed_anyhow(platform, ranks, program);
    adds_up(&forward, &backward);
    (forward, backward)
}

/// Returns the analyses of a run that perhaps does not end.
fn analysed_anyhow<Fut>(
    platform: &str,
    ranks: u32,
    program: impl Fn(Comm) -> Fut + 'static,
) -> (AnalysisReport, BackwardReport)
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let (bytes, _) = observed(platform, ranks, program);
    let mut analysis = Analysis::new(ranks);
    let reader = read(&bytes, |entry, log| match entry {
        LogEntry::Rank(rank, time, event) => {
            analysis.handle_event((rank, time, event), |number| log.text(number));
        }
        LogEntry::Network(_, event) => analysis.handle_network_event(&event),
    });
    let mut forward = analysis.finish_report(&reader);
    let log = BackwardReader::new(Cursor::new(&bytes)).expect("a log");
    let backward = BackwardReport::from_log(log, &reader, forward.end_s).expect("a log");
    forward.add_backward(backward.clone());
    (forward, backward)
}

/// Slack is not negative; the derivatives, and the parts of both paths, add up to the same times.
fn adds_up(forward: &AnalysisReport, backward: &BackwardReport) {
    for row in backward.slack.iter().chain(&backward.rank_slack) {
        assert!(
            row.least_s >= 0.0 && row.greatest_s <= forward.end_s,
            "{row:?}"
        );
    }
    let parts = backward.derivatives.iter().map(|part| part.seconds.abs());
    let sum = parts.sum::<f64>() + backward.other_s;
    let end = forward.end_s;
    assert!(
        (sum - end).abs() <= 1e-9 * end,
        "{sum}, {end}: {backward:?}"
    );
    let path = &forward.critical_path_s;
    let latency = sum_of(backward, "latency");
    // Parts of sends that end later are not told apart on the other path.
    if path["transfer"] > 0.0 {
        return;
    }
    assert!(
        (latency - path["latency"]).abs() <= 1e-9 * end,
        "{path:?}: {backward:?}"
    );
}

/// The sum of the derivatives by a parameter of all links and hosts.
fn sum_of(backward: &BackwardReport, parameter: &str) -> f64 {
    let all = backward.derivatives.iter();
    all.filter(|one| one.parameter == parameter)
        .map(|one| one.seconds)
        .sum()
}

/// The classes of waits that have a cause.
const CAUSED: [Class; 6] = [
    Class::LateSender,
    Class::LateSenderWrongOrder,
    Class::LateReceiver,
    Class::WaitAtCollective,
    Class::LateBroadcast,
    Class::EarlyReduce,
];

/// All waits of the ranks for each other.
fn waits(forward: &AnalysisReport) -> f64 {
    let ranks = forward.times.rank_numbers();
    ranks
        .flat_map(|rank| CAUSED.map(|class| forward.times.class_time(rank, class)))
        .sum()
}

/// The delay costs of each wait are charged once per rank that waits: as many seconds as ranks
/// wait.
#[track_caller]
fn costs_are_waits(forward: &AnalysisReport, backward: &BackwardReport) {
    let costs: f64 = backward.delay_costs.iter().map(DelayCost::seconds).sum();
    let waits = waits(forward);
    assert!(
        (costs - waits).abs() <= 1e-9 * waits.max(forward.end_s),
        "costs {costs}, waits {waits}: {:?}",
        backward.delay_costs
    );
}

#[track_caller]
fn is(found: f64, microseconds: f64) {
    let found = found * 1e6;
    assert!(
        (found - microseconds).abs() < 1e-6,
        "{found} us, expected {microseconds} us"
    );
}

/// The slack of a call.
fn slack<'a>(backward: &'a BackwardReport, call: &str) -> &'a SlackRow {
    let found = backward.slack.iter().find(|row| row.call == call);
    found.unwrap_or_else(|| panic!("no call {call}: {backward:?}"))
}

/// Direct and indirect costs of a rank in a call, in microseconds.
#[track_caller]
fn costs(backward: &BackwardReport, rank: u32, call: &str, direct: f64, indirect: f64) {
    let of = |cost: &&DelayCost| cost.rank == rank && cost.call == call;
    let all = || backward.delay_costs.iter().filter(of);
    is(all().map(|cost| cost.direct_s).sum(), direct);
    is(all().map(|cost| cost.indirect_s).sum(), indirect);
}

/// Computes for this many microseconds.
async fn compute(world: &Comm, microseconds: f64) {
    world.compute(microseconds * 1e3).await;
}

#[test]
fn a_late_sender() {
    let (forward, backward) = analysed(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() == 0 {
            compute(&world, 50.0).await;
            return world.send(&data, 1, 0).await;
        }
        let _early = world.region("early");
        compute(&world, 10.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    // The message arrives at 52 us.
    let computed = slack(&backward, "compute");
    assert_eq!(computed.count, 2);
    is(computed.least_s, 0.0);
    is(computed.greatest_s, 42.0);
    is(slack(&backward, "recv").greatest_s, 0.0);
    is(backward.rank_slack[1].greatest_s, 42.0);
    let message = backward.slack.iter().find(|row| row.of == "message");
    is(message.expect("a message").greatest_s, 0.0);
    costs(&backward, 0, "compute", 40.0, 0.0);
    costs_are_waits(&forward, &backward);
    is(sum_of(&backward, "speed"), -50.0);
    is(sum_of(&backward, "latency"), 1.0);
    is(sum_of(&backward, "bandwidth"), -1.0);
    is(backward.other_s, 0.0);
    assert_eq!(backward.derivatives[0].of, "node-0");
}

#[test]
fn a_late_receiver() {
    let (forward, backward) = analysed(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(100_000);
        if world.rank() == 0 {
            compute(&world, 10.0).await;
            return world.send(&data, 1, 0).await;
        }
        let _late = world.region("late");
        compute(&world, 50.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    // The request to send takes no time, and is needed at 50 us.
    is(slack(&backward, "compute").greatest_s, 40.0);
    costs(&backward, 1, "compute", 40.0, 0.0);
    costs_are_waits(&forward, &backward);
    assert_eq!(backward.delay_costs[0].region, "late");
    is(sum_of(&backward, "bandwidth"), -100.0);
}

#[test]
fn a_pipeline_has_direct_and_indirect_costs() {
    let (forward, backward) = analysed(PLATFORM, 3, |world| async move {
        let mut data = world.buffer(1000);
        let rank = world.rank();
        if rank > 0 {
            world.recv(&mut data, rank - 1, 0).await?;
        }
        if rank < 2 {
            compute(&world, [30.0, 10.0][rank]).await;
            world.send(&data, rank + 1, 0).await?;
        }
        Ok(())
    });
    // Rank 1 waits for rank 0 until 30 us, and has the data at 32 us. Rank 2 waits for rank 1 until
    // 42 us: 30 us of it because of rank 0, 2 us of the transfer.
    costs(&backward, 0, "compute", 30.0, 30.0);
    costs(&backward, 1, "compute", 10.0, 0.0);
    costs(&backward, 1, "recv", 2.0, 0.0);
    costs_are_waits(&forward, &backward);
    is(sum_of(&backward, "speed"), -40.0);
    is(sum_of(&backward, "latency"), 2.0);
    is(sum_of(&backward, "bandwidth"), -2.0);
}

#[test]
fn imbalance_at_a_barrier() {
    let (forward, backward) = analysed(PLATFORM, 4, |world| async move {
        compute(&world, 10.0 * (world.rank() + 1) as f64).await;
        world.barrier().await
    });
    costs(&backward, 3, "compute", 30.0 + 20.0 + 10.0, 0.0);
    costs_are_waits(&forward, &backward);
    is(sum_of(&backward, "speed"), -40.0);
    let (forward, backward) = analysed(PLATFORM, 2, |world| async move {
        compute(&world, [10.0, 30.0][world.rank()]).await;
        world.barrier().await
    });
    // One message each way: that of rank 0 may arrive at the end, 31 us, and not at 11 us.
    is(slack(&backward, "compute").greatest_s, 20.0);
    costs(&backward, 1, "compute", 20.0, 0.0);
    costs_are_waits(&forward, &backward);
}

#[test]
fn the_first_of_two_messages_has_slack() {
    let (forward, backward) = analysed(PLATFORM, 3, |world| async move {
        let data = world.buffer(1000);
        if world.rank() > 0 {
            compute(&world, 10.0 * world.rank() as f64).await;
            return world.send(&data, 0, 0).await;
        }
        let mut requests = [
            world.irecv(world.buffer(1000), 1, 0)?,
            world.irecv(world.buffer(1000), 2, 0)?,
        ];
        waitall(&mut requests).await.map(drop)
    });
    let message = backward.messages[0].clone();
    assert_eq!((message.rank, message.peer, message.bytes), (1, 0, 1000));
    is(message.slack_s, 10.0);
    is(message.sent_s, 10.0);
    costs(&backward, 2, "compute", 20.0, 0.0);
    costs_are_waits(&forward, &backward);
}

#[test]
fn an_unexpected_message_is_needed_when_it_is_received() {
    let (_, backward) = analysed(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() == 0 {
            return world.send(&data, 1, 7).await;
        }
        compute(&world, 10.0).await;
        compute(&world, 20.0).await;
        world.recv(&mut data, 0, 7).await?;
        compute(&world, 5.0).await;
        Ok(())
    });
    // It arrives at 2 us.
    is(backward.messages[0].slack_s, 28.0);
}

#[test]
fn a_receive_that_is_posted_before_has_the_slack_of_its_answer() {
    let (_, backward) = analysed(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(100_000);
        if world.rank() == 0 {
            compute(&world, 50.0).await;
            return world.send(&data, 1, 0).await;
        }
        compute(&world, 20.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    // Not until the data are there, at 151 us, but until the request to send is, at 50 us.
    is(slack(&backward, "compute").greatest_s, 30.0);
}

#[test]
fn a_deadlock_has_slack_and_no_path() {
    let (forward, backward) = analysed_anyhow(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(8);
        if world.rank() == 0 {
            compute(&world, 10.0).await;
            world.send(&data, 1, 0).await?;
        }
        world.recv(&mut data, 1 - world.rank(), 0).await?;
        world.recv(&mut data, 1 - world.rank(), 1).await.map(drop)
    });
    is(forward.end_s, 11.008);
    is(slack(&backward, "recv").greatest_s, 0.0);
    costs(&backward, 0, "compute", 10.0, 0.0);
    assert!(backward.derivatives.is_empty());
}

/// Hosts behind a slow trunk.
const TRUNK: &str = r#"
version = 1
[network]
model = "flow"
[hosts]
left = { speed = "1Gf" }
right = { speed = "1Gf" }
[links.trunk]
bandwidth = "1GBps"
latency = "3us"
sharing = "split-duplex"
[links.wire]
bandwidth = "4GBps"
latency = "1us"
sharing = "split-duplex"
[[routes]]
from = "left"
to = "right"
links = ["wire", "trunk"]
"#;

#[test]
fn derivatives_name_the_links() {
    let (_, backward) = analysed(TRUNK, 2, |world| async move {
        let mut data = world.buffer(10_000);
        if world.rank() == 0 {
            return world.send(&data, 1, 0).await;
        }
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    let of = |parameter: &str, link: &str| {
        let is = |one: &&Sensitivity| one.parameter == parameter && one.of.starts_with(link);
        let found = backward.derivatives.iter().find(is);
        found.unwrap_or_else(|| panic!("{parameter} of {link}: {backward:?}"))
    };
    is(of("bandwidth", "trunk").seconds, -10.0);
    is(of("latency", "trunk").seconds, 3.0);
    is(of("latency", "wire").seconds, 1.0);
    // The path crosses each once: a second more is a second more.
    let crossings = of("latency", "wire")
        .per_unit
        .expect("its latency is known");
    assert!((crossings - 1.0).abs() < 1e-9, "{crossings}");
    assert_eq!(backward.derivatives.len(), 3);
}

/// Programs with many kinds of waits.
async fn mixed(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut data = world.buffer(3000);
    for round in 0..3 {
        compute(&world, ((7 * rank + 5 * round) % 11) as f64).await;
        let sending = world.isend(world.buffer(100_000), (rank + 1) % size, 1)?;
        let receiving = world.irecv(world.buffer(100_000), (rank + size - 1) % size, 1)?;
        compute(&world, ((3 * rank + round) % 5) as f64).await;
        waitall(&mut [sending, receiving]).await?;
        if rank == 0 {
            for _ in 1..size {
                world.recv(&mut data, ANY_SOURCE, 2).await?;
            }
        } else {
            world.send(&data, 0, 2).await?;
        }
        world.bcast(&mut data, 1).await?;
        let own = world.buffer(800);
        world.allreduce(&own, &Op::sum::<f64>()).await?;
    }
    world.barrier().await
}

#[test]
fn costs_of_mixed_waits_are_waits() {
    for platform in [PLATFORM, LOGGOPS] {
        let (forward, backward) = analysed(platform, 8, mixed);
        assert!(waits(&forward) > 0.0);
        costs_are_waits(&forward, &backward);
    }
}

/// The time of a run, with each value of the platform multiplied.
fn time(platform: &str, replaced: (&str, &str)) -> f64 {
    let platform = platform.replace(replaced.0, replaced.1);
    analysed(&platform, 8, token).0.end_s
}

/// A message that goes round three times.
async fn token(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut data = world.buffer(3000);
    for _ in 0..3 {
        if rank > 0 {
            world.recv(&mut data, rank - 1, 0).await?;
        }
        compute(&world, (10 + rank) as f64).await;
        world.send(&data, (rank + 1) % size, 0).await?;
        if rank == 0 {
            world.recv(&mut data, size - 1, 0).await?;
        }
    }
    Ok(())
}

#[test]
fn derivatives_are_those_of_changed_runs() {
    // The value, 1 % more and 1 % less, and the parameter.
    let flow = [
        (
            "latency = \"500ns\"",
            "latency = \"505ns\"",
            "latency = \"495ns\"",
            "latency",
        ),
        ("\"1GBps\"", "\"1.01GBps\"", "\"0.99GBps\"", "bandwidth"),
        ("\"1Gf\"", "\"1.01Gf\"", "\"0.99Gf\"", "speed"),
    ];
    let loggops = [
        ("\"2us\"", "\"2.02us\"", "\"1.98us\"", "latency"),
        ("\"0.5ns\"", "\"0.505ns\"", "\"0.495ns\"", "gap"),
        ("\"1Gf\"", "\"1.01Gf\"", "\"0.99Gf\"", "speed"),
    ];
    for (platform, changes) in [(PLATFORM, &flow[..]), (LOGGOPS, &loggops[..])] {
        let (_, backward) = analysed(platform, 8, token);
        for &(value, more, less, parameter) in changes {
            let change = time(platform, (value, more)) - time(platform, (value, less));
            let measured = change / 0.02;
            // A gap is the reciprocal of a bandwidth.
            let told = match parameter {
                "gap" => -sum_of(&backward, "bandwidth"),
                // It is 2 us of 3 us: the latency of a packet has two overheads of 500 ns.
                "latency" if platform == LOGGOPS => sum_of(&backward, "latency") * 2.0 / 3.0,
                _ => sum_of(&backward, parameter),
            };
            assert!(
                (told - measured).abs() <= 0.001 * measured.abs(),
                "{parameter}: {told}, measured {measured}"
            );
        }
    }
}

/// The program of apps/imbalance, with a sleep outside of the region of the program: in each of two
/// steps rank r computes (1 + r/3) × 30 us.
async fn imbalance(world: Comm) -> Result<()> {
    for _ in 0..2 {
        {
            let _work = world.region("work");
            compute(&world, 30.0 + 10.0 * world.rank() as f64).await;
        }
        world.barrier().await?;
    }
    world.sleep(7e-6).await;
    Ok(())
}

#[test]
fn imbalance_of_a_region_is_what_balance_saves() {
    let (forward, backward) = analysed(PLATFORM, 4, imbalance);
    let [work, outside] = &forward.imbalance[..] else {
        panic!("{:?}", forward.imbalance);
    };
    // The path computes twice 60 us, a rank twice 45 us.
    assert_eq!((&*work.region, &*outside.region), ("work", ""));
    is(work.path_s, 120.0);
    is(work.mean_s, 90.0);
    is(work.imbalance_s, 30.0);
    assert!((work.part - 30e-6 / forward.end_s).abs() < 1e-12);
    is(outside.path_s, 7.0);
    is(outside.mean_s, 7.0);
    assert_eq!(outside.imbalance_s, 0.0);
    let percent = format!(
        "balance of region work would save {:.1} % at most",
        100.0 * work.part
    );
    assert!(forward.to_string().contains(&percent), "{forward}");
    // With perfect balance it ends earlier by that time, less the second round of the barrier, for
    // which a rank that is late does not wait.
    let (balanced, _) = analysed(PLATFORM, 4, |world| async move {
        for _ in 0..2 {
            compute(&world, 45.0).await;
            world.barrier().await?;
        }
        world.sleep(7e-6).await;
        Ok(())
    });
    is(forward.end_s - balanced.end_s, 30.0 - 2.0);
    let path: f64 = backward.critical_regions_s.values().sum();
    is(path, 127.0);
}

/// Ranks in a ring; ranks with odd numbers send after their receive. The rank `late` computes for
/// `delay` microseconds more before it sends `bytes`.
async fn chain(world: Comm, bytes: u64, (delay, late): (f64, Option<usize>)) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    compute(&world, (3 * rank % 7) as f64).await;
    let delay = if late == Some(rank) { delay } else { 0.0 };
    let mut data = world.buffer(bytes);
    if rank % 2 == 0 {
        compute(&world, delay).await;
        world.send(&data, rank + 1, 0).await?;
        world.recv(&mut data, (rank + size - 1) % size, 0).await?;
    } else {
        world.recv(&mut data, rank - 1, 0).await?;
        compute(&world, delay).await;
        world.send(&data, (rank + 1) % size, 0).await?;
    }
    Ok(())
}

/// Rank 0 learns that its token has left only when the token has returned.
#[test]
fn a_packet_that_has_left_before_ends_no_wait() {
    let (_, backward) = analysed(LOGGOPS, 4, |world| async move {
        let (rank, size) = (world.rank(), world.size());
        let mut data = world.buffer(1001);
        let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
        if rank == 0 {
            let mut sending = world.isend(world.buffer(1001), above, 0)?;
            world.recv(&mut data, below, 0).await?;
            return sending.wait().await.map(drop);
        }
        world.recv(&mut data, below, 0).await?;
        world.send(&data, above, 0).await
    });
    // Each of four messages takes 3 us, and 0.5 us for its bytes.
    is(sum_of(&backward, "latency"), 12.0);
    is(sum_of(&backward, "bandwidth"), -2.0);
}

#[test]
fn a_delay_within_the_slack_changes_nothing() {
    let run = |delay: f64, late: Option<usize>| {
        analysed(LOGGOPS, 8, move |world| chain(world, 500, (delay, late)))
    };
    let (forward, backward) = run(0.0, None);
    let late = backward.messages[0].clone();
    assert!(late.slack_s > 0.0);
    let delay = late.slack_s * 1e6 / 2.0;
    let (delayed, _) = run(delay, Some(late.rank as usize));
    is(delayed.end_s, forward.end_s * 1e6);
    let (delayed, _) = run(4.0 * delay, Some(late.rank as usize));
    assert!(delayed.end_s > forward.end_s, "{late:?}");
}

/// All ranks send to the ranks at two distances through one link per direction of each host.
async fn crowd(world: Comm, (delay, late): (f64, Option<usize>)) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut sending = Vec::new();
    let mut receiving = Vec::new();
    for step in 0..4_u32 {
        compute(&world, ((5 * rank + 3 * step as usize) % 13) as f64).await;
        if step == 0 && late == Some(rank) {
            compute(&world, delay).await;
        }
        for distance in [1, 3] {
            let from = (rank + size - distance) % size;
            receiving.push(world.irecv(world.buffer(20_000), from, step)?);
            let to = (rank + distance) % size;
            sending.push(world.isend(world.buffer(20_000), to, step)?);
        }
    }
    waitall(&mut sending).await?;
    waitall(&mut receiving).await.map(drop)
}

/// Slack takes durations of transfers as fixed. Where they share links they are not, so the run
/// may end later, but by little.
#[test]
fn a_delay_within_the_slack_changes_little_where_links_are_shared() {
    for model in ["flow", "lv08", "ib"] {
        let platform = format!("{PLATFORM}[network]\nmodel = \"{model}\"\n");
        let run = |delay: f64, late: Option<usize>| {
            analysed(&platform, 8, move |world| crowd(world, (delay, late)))
        };
        let (forward, backward) = run(0.0, None);
        assert!(forward.critical_path_s["contention"] > 0.0, "{forward:?}");
        let late = backward.messages[0].clone();
        let (delayed, _) = run(late.slack_s * 1e6 / 2.0, Some(late.rank as usize));
        let change = delayed.end_s / forward.end_s - 1.0;
        assert!(change.abs() < 0.01, "{model}: {change}, {late:?}");
    }
}
