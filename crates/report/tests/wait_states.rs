//! Promise: the time of each rank is classified as by hand, the classes add up to the time of the
//! run, and so does the critical path.
//!
//! One network: 1 us (two links of 500 ns), 1 GB/s, no software costs: a message of n bytes takes
//! 1 us + n ns. Eager below 64 KiB.

use std::collections::BTreeMap;

use mpi::prelude::*;
use observe::LogEntry;
use report::analysis::{Analysis, AnalysisReport, Class};

use crate::common::{observed, read, table};

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
"#;

fn analysed<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> AnalysisReport
where
    Fut: Future<Output = Result<()>> + 'static,
{
    analysed_with("", ranks, program)
}

/// `settings`: tables after the tables of the platform.
fn analysed_with<Fut>(settings: &str, ranks: u32, program: fn(Comm) -> Fut) -> AnalysisReport
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let (bytes, run) = observed(&format!("{PLATFORM}{settings}"), ranks, program);
    let mut analysis = Analysis::new(ranks);
    let reader = read(&bytes, |entry, log| match entry {
        LogEntry::Rank(rank, time, event) => {
            analysis.handle_event((rank, time, event), |number| log.text(number));
        }
        LogEntry::Network(_, event) => analysis.handle_network_event(&event),
    });
    let report = analysis.finish_report(&reader);
    adds_up(&report, run.time.as_secs());
    report
}

/// The classes of each rank, and the parts of the critical path, add up to the time of the run.
fn adds_up(report: &AnalysisReport, end: f64) {
    assert!(report.whole);
    assert_eq!(report.end_s.to_bits(), end.to_bits());
    for rank in report.times.rank_numbers() {
        let sum: f64 = report.times.rank_split(rank).0.iter().sum();
        assert!((sum - end).abs() <= 1e-9 * end, "{rank:?}: {sum}, {end}");
    }
    let path: f64 = report.critical_path_s.values().sum();
    assert!(
        (path - end).abs() <= 1e-12 * end,
        "critical path {path}, end {end}"
    );
}

/// The rank has these times, in microseconds, in the classes with these names, and no time in the
/// other ones.
#[track_caller]
fn has(report: &AnalysisReport, rank: u32, expected: &str) {
    let split = report.times.rank_split(rank);
    let parts = expected
        .split("; ")
        .map(|part| part.split_once(' ').expect("a time"));
    let mut expected: BTreeMap<&str, f64> = BTreeMap::new();
    expected.extend(parts.map(|(time, class)| (class, time.parse::<f64>().expect("a time"))));
    for class in Class::ALL {
        let microseconds = expected.remove(class.name()).unwrap_or_default();
        let found = split.class_time(class) * 1e6;
        let is_equal = (found - microseconds).abs() < 1e-6;
        assert!(
            is_equal || class == Class::Ended,
            "rank {rank}, {}: {found} us, expected {microseconds}: {split:?}",
            class.name()
        );
    }
    assert!(expected.is_empty(), "no such classes: {expected:?}");
}

/// The rank has this time in the class, in microseconds.
#[track_caller]
fn waits(report: &AnalysisReport, rank: u32, class: Class, microseconds: f64) {
    let found = report.times.class_time(rank, class) * 1e6;
    assert!((found - microseconds).abs() < 1e-6, "{rank}: {found} us");
}

/// Computes for this many microseconds.
async fn compute(world: &Comm, microseconds: f64) {
    world.compute(microseconds * 1e3).await;
}

/// All ranks end a round of an exchange at once, and the first one that continues requests the next
/// round, in no time, before the others continue.
#[test]
fn no_rank_of_a_symmetric_exchange_is_late() {
    let report = analysed(4, |world| async move {
        let (rank, size) = (world.rank(), world.size());
        let block = world.buffer(100_000);
        for _ in 0..3 {
            let mut requests = Vec::new();
            for distance in 1..size {
                let from = (rank + size - distance) % size;
                requests.push(world.irecv(block.clone(), from, 0)?);
            }
            for distance in 1..size {
                requests.push(world.isend(block.clone(), (rank + distance) % size, 0)?);
            }
            waitall(&mut requests).await?;
        }
        Ok(())
    });
    for rank in 0..4 {
        waits(&report, rank, Class::LateSender, 0.0);
        waits(&report, rank, Class::LateReceiver, 0.0);
    }
}

#[test]
fn a_late_sender() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() == 0 {
            compute(&world, 50.0).await;
            return world.send(&data, 1, 0).await;
        }
        compute(&world, 10.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    has(&report, 0, "50 compute");
    assert!((report.computation_s - 60e-6).abs() < 1e-15);
    has(
        &report,
        1,
        "10 compute; 40 late sender; 1 latency; 1 bandwidth",
    );
    let state = &report.waits[0];
    assert_eq!((state.class, &*state.call), (Class::LateSender, "recv"));
    assert_eq!(state.causer_call, "compute");
    assert_eq!(state.longest_causer, Some(0));
    assert_eq!(report.critical_packets, 1);
    let place = &report.critical_places[0];
    assert_eq!((place.rank, &*place.call), (Some(0), "compute"));
    assert!((place.seconds - 50e-6).abs() < 1e-12);
}

#[test]
fn a_late_sender_of_a_rendezvous() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(100_000);
        if world.rank() == 0 {
            compute(&world, 50.0).await;
            return world.send(&data, 1, 0).await;
        }
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    // The request to send and its answer take no time; the data take 1 us + 100 us.
    has(&report, 0, "50 compute; 1 latency; 100 bandwidth");
    has(&report, 1, "50 late sender; 1 latency; 100 bandwidth");
}

#[test]
fn a_late_receiver() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(100_000);
        if world.rank() == 0 {
            compute(&world, 10.0).await;
            return world.send(&data, 1, 0).await;
        }
        compute(&world, 50.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    has(
        &report,
        0,
        "10 compute; 40 late receiver; 1 latency; 100 bandwidth",
    );
    has(&report, 1, "50 compute; 1 latency; 100 bandwidth");
    let state = (report.waits.iter()).find(|state| state.class == Class::LateReceiver);
    let state = state.expect("rank 0 waits");
    assert_eq!((&*state.call, &*state.causer_call), ("send", "compute"));
    assert_eq!(state.longest_causer, Some(1));
}

#[test]
fn a_late_receiver_of_an_isend() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(100_000);
        if world.rank() == 0 {
            let mut sending = world.isend(data, 1, 0)?;
            compute(&world, 20.0).await;
            return sending.wait().await.map(drop);
        }
        compute(&world, 50.0).await;
        world.recv(&mut data, 0, 0).await.map(drop)
    });
    has(
        &report,
        0,
        "20 compute; 30 late receiver; 1 latency; 100 bandwidth",
    );
}

#[test]
fn the_wrong_order() {
    let report = analysed(3, |world| async move {
        let mut data = world.buffer(1000);
        match world.rank() {
            0 => {
                compute(&world, 5.0).await;
                world.recv(&mut data, 1, 0).await?;
                world.recv(&mut data, 2, 0).await.map(drop)
            }
            1 => {
                compute(&world, 30.0).await;
                world.send(&data, 0, 0).await
            }
            _ => world.send(&data, 0, 0).await,
        }
    });
    has(
        &report,
        0,
        "5 compute; 25 late sender, wrong order; 1 latency; 1 bandwidth",
    );
}

#[test]
fn choices_of_the_program_are_told() {
    let report = analysed(3, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() > 0 {
            return world.send(&data, 0, 0).await;
        }
        world.recv(&mut data, ANY_SOURCE, 0).await?;
        let mut request = world.irecv(data, 2, 0)?;
        while request.test().await?.is_none() {
            compute(&world, 1.0).await;
        }
        Ok(())
    });
    // The messages come at the same time: the receive gets that of rank 1, and the first test
    // succeeds.
    assert_eq!(report.choices, 1);
    let note = "1 receives from any source, tests and probes: messages in another order";
    assert!(report.to_string().contains(note), "{report}");
}

#[test]
fn a_waitall_is_charged_to_the_last_message() {
    let report = analysed(3, |world| async move {
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
    has(&report, 0, "20 late sender; 1 latency; 1 bandwidth");
    let state = &report.waits[0];
    assert_eq!((&*state.call, state.longest_causer), ("waitall", Some(2)));
}

#[test]
fn a_barrier_waits_for_the_last() {
    let report = analysed(4, |world| async move {
        compute(&world, 10.0 * world.rank() as f64).await;
        world.barrier().await
    });
    for rank in 0..4 {
        let computed = 10.0 * rank as f64;
        waits(&report, rank, Class::WaitAtCollective, 30.0 - computed);
    }
    let state = &report.waits[0];
    assert_eq!(state.class, Class::WaitAtCollective);
    assert_eq!((state.longest_rank, state.longest_causer), (0, Some(3)));
}

#[test]
fn an_allreduce_with_data_waits_for_the_last() {
    let report = analysed(5, |world| async move {
        if world.rank() == 2 {
            compute(&world, 40.0).await;
        }
        let data = world.buffer(80_000);
        world.allreduce(&data, &Op::sum::<f64>()).await.map(drop)
    });
    for rank in [0, 1, 3, 4] {
        waits(&report, rank, Class::WaitAtCollective, 40.0);
    }
    assert!(report.times.class_time(2, Class::WaitAtCollective) == 0.0);
}

#[test]
fn a_broadcast_waits_for_its_root() {
    let report = analysed(4, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() == 1 {
            compute(&world, 25.0).await;
        }
        world.bcast(&mut data, 1).await
    });
    for rank in [0, 2, 3] {
        waits(&report, rank, Class::LateBroadcast, 25.0);
    }
    assert!(report.times.class_time(1, Class::LateBroadcast) == 0.0);
}

#[test]
fn the_root_of_a_reduction_is_early() {
    let report = analysed(4, |world| async move {
        if world.rank() != 0 {
            compute(&world, 15.0).await;
        }
        let data = world.buffer(8);
        world.reduce(&data, &Op::sum::<f64>(), 0).await.map(drop)
    });
    waits(&report, 0, Class::EarlyReduce, 15.0);
}

#[test]
fn two_messages_share_a_link() {
    // Each takes 1 us + 50 us alone, and shares the link of rank 2 with the other all the time.
    let report = analysed(3, |world| async move {
        let mut data = world.buffer(50_000);
        if world.rank() < 2 {
            return world.send(&data, 2, 0).await;
        }
        world.recv(&mut data, 0, 0).await?;
        world.recv(&mut data, 1, 0).await.map(drop)
    });
    has(&report, 2, "1 latency; 50 bandwidth; 50 contention");
    assert!((report.critical_path_s["contention"] - 50e-6).abs() < 1e-12);
}

#[test]
fn a_deadlock_leaves_ranks_blocked() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(8);
        if world.rank() == 0 {
            compute(&world, 10.0).await;
        }
        world.recv(&mut data, 1 - world.rank(), 0).await.map(drop)
    });
    has(&report, 0, "10 compute");
    has(&report, 1, "10 blocked at the end");
}

#[test]
fn a_deadlock_at_time_0_has_no_shares() {
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(8);
        world.recv(&mut data, 1 - world.rank(), 0).await.map(drop)
    });
    let page = report.to_string();
    let headline = "the run ends at time 0: 2 of 2 ranks are blocked\n      2  in recv, ";
    assert!(page.starts_with(headline), "{page}");
    assert!(!page.contains('%'), "{page}");
}

#[test]
fn regions_and_sleep() {
    let report = analysed(2, |world| async move {
        {
            let _solve = world.region("solve");
            compute(&world, 10.0).await;
            let _inner = world.region("inner");
            world.sleep(5e-6).await;
        }
        compute(&world, 3.0).await;
        world.mark("done", 1.0);
        Ok(())
    });
    has(&report, 0, "13 compute; 5 sleep");
    let time = |region: &str, class: &str| report.regions_s[region][class] * 1e6;
    assert!((time("solve", "compute") - 10.0).abs() < 1e-6);
    assert!((time("inner", "sleep") - 5.0).abs() < 1e-6);
    assert_eq!(report.regions_s.len(), 2);
}

#[test]
fn the_critical_path_turns_to_the_rank_that_is_late() {
    // Rank 0 is late for the first message, rank 1 for the second.
    let report = analysed(2, |world| async move {
        let mut data = world.buffer(1000);
        if world.rank() == 0 {
            compute(&world, 30.0).await;
            world.send(&data, 1, 0).await?;
            world.recv(&mut data, 1, 0).await.map(drop)
        } else {
            world.recv(&mut data, 0, 0).await?;
            compute(&world, 20.0).await;
            world.send(&data, 0, 0).await
        }
    });
    assert_eq!(report.critical_packets, 2);
    let path = &report.critical_path_s;
    assert!((path["compute"] - 50e-6).abs() < 1e-12);
    assert!((path["latency"] - 2e-6).abs() < 1e-12);
    assert!((path["bandwidth"] - 2e-6).abs() < 1e-12);
    let text = report.to_string();
    let headline = text.lines().next().expect("a page");
    assert!(headline.contains("late sender in recv"), "{headline}");
    assert!(text.lines().count() <= 60, "{text}");
}

/// Rank 0 sends a message to rank 1.
async fn one_message(world: Comm, bytes: u64) -> Result<()> {
    let mut data = world.buffer(bytes);
    if world.rank() == 0 {
        return world.send(&data, 1, 0).await;
    }
    world.recv(&mut data, 0, 0).await.map(drop)
}

#[test]
fn packets_wait_for_credits() {
    // Four packets of 2 us each, one after the other: three wait for the credit of the one before.
    let settings = "[protocol]\ncredits = 1\npacket_size = \"1kB\"\n";
    let report = analysed_with(settings, 2, |world| one_message(world, 4000));
    has(&report, 0, "6 credits; 2 transfer");
    has(&report, 1, "6 credits; 1 latency; 1 bandwidth");
    assert_eq!(report.waits[0].class, Class::Credits);
    assert!(report.to_string().contains("is credits in"), "{report}");
}

#[test]
fn credits_that_nothing_waits_for_end_no_wait() {
    // A packet of credits follows the last byte of each message at once.
    let settings = "[protocol]\ncredits = 1\n";
    let report = analysed_with(settings, 2, |world| async move {
        if world.rank() == 1 {
            compute(&world, 50.0).await;
        }
        one_message(world, 1000).await
    });
    has(&report, 0, "50 late receiver; 1 latency; 1 bandwidth");
    has(&report, 1, "50 compute; 1 latency; 1 bandwidth");
}

/// Rank 0 sends two messages, and rank 1 receives the second one first.
async fn two_messages(world: Comm, all: bool) -> Result<()> {
    let mut data = world.buffer(1000);
    if world.rank() == 1 {
        world.recv(&mut data, 0, 1).await?;
        return world.recv(&mut data, 0, 0).await.map(drop);
    }
    if all {
        let mut sends = [world.isend(data.clone(), 1, 0)?, world.isend(data, 1, 1)?];
        return waitall(&mut sends).await.map(drop);
    }
    world.send(&data, 1, 0).await?;
    world.send(&data, 1, 1).await
}

#[test]
fn a_message_waits_for_a_buffer() {
    // The only buffer is free when the first message has arrived.
    let settings = "[protocol]\nsend_buffers = 1\n";
    for all in [false, true] {
        let report = if all {
            analysed_with(settings, 2, |world| two_messages(world, true))
        } else {
            analysed_with(settings, 2, |world| two_messages(world, false))
        };
        // The end waits for the second message.
        has(&report, 0, "2 buffers; 2 transfer");
        has(&report, 1, "2 buffers; 1 latency; 1 bandwidth");
        let state = (report.waits.iter()).find(|state| state.class == Class::Buffers);
        let call = state.map(|state| &*state.call);
        assert_eq!(call, Some(if all { "waitall" } else { "send" }));
    }
}

#[test]
fn the_first_message_waits_for_its_connection() {
    // Four packets of 64 bytes open it. It is closed after the computation.
    let opens = 4.0 * 1.064;
    let settings = "[connection]\nmode = \"on-demand\"\n";
    async fn program(world: Comm, bytes: u64) -> Result<()> {
        one_message(world.clone(), bytes).await?;
        compute(&world, 10.0).await;
        Ok(())
    }
    let report = analysed_with(settings, 2, |world| program(world, 1000));
    // A short send ends when it is written to the connection.
    let waits = |report: &AnalysisReport, rank| {
        let classes = [
            Class::Connection,
            Class::Latency,
            Class::Bandwidth,
            Class::Contention,
        ];
        classes.map(|class| (report.times.class_time(rank, class) * 1e9).round() / 1e3)
    };
    assert_eq!(waits(&report, 0), [opens, 0.0, 0.0, 0.0]);
    assert_eq!(waits(&report, 1), [opens, 1.0, 1.0, 0.0]);
    assert!((report.critical_path_s["resources"] * 1e6 - opens).abs() < 1e-6);
    let report = analysed_with(settings, 2, |world| program(world, 100_000));
    for rank in 0..2 {
        assert_eq!(waits(&report, rank), [opens, 1.0, 100.0, 0.0], "{rank}");
    }
}

#[test]
fn tables_without_rows_have_the_names_of_their_columns() {
    let report = analysed(1, |_| async { Ok(()) });
    assert!(report.waits.is_empty() && report.backward.is_none());
    let waits = table(|out| report.write_waits(out));
    assert!(waits.starts_with("class,call,place,"), "{waits}");
    for text in [
        waits,
        table(|out| report.write_critical(out)),
        table(|out| report.write_slack(out)),
        table(|out| report.write_delays(out)),
        table(|out| report.write_derivatives(out)),
    ] {
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("call,place") || text.contains("parameter,of"),
            "{text}"
        );
    }
}

#[test]
fn two_ranks_share_a_processor() {
    // Both have half of it for 100 us, then rank 1 has all of it for the rest.
    let report = analysed(9, |world| async move {
        match world.rank() {
            0 => compute(&world, 50.0).await,
            1 => compute(&world, 100.0).await,
            _ => {}
        }
        Ok(())
    });
    has(&report, 0, "50 compute; 50 shared processor");
    has(&report, 1, "100 compute; 50 shared processor");
    assert!((report.critical_path_s["resources"] - 50e-6).abs() < 1e-12);
}
