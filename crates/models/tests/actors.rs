//! Promise: programs use threads, disks and parallel tasks through their actor, wait for these
//! activities, see the work left and how the activities end.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use platform::{DiskId, HostNames, Platform};
use sim_core::{Activity, ActivityError, Actor, Change, HostId, Outcome, Simulation, Span, Time};

const PLATFORM: &str = r#"
version = 1
[hosts.a]
speed = "1Gf"
cores = 2
disks.d = { read_bandwidth = "200MBps", write_bandwidth = "100MBps" }
[hosts.b]
speed = "1Gf"
[links.L]
bandwidth = "100MBps"
latency = "1ms"
[[routes]]
from = "a"
to = "b"
links = ["L"]
"#;

const A: HostId = HostId(0);
const B: HostId = HostId(1);

fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}

fn simulation(platform: &str) -> Simulation {
    let platform = Platform::parse("p.toml", platform).unwrap_or_else(|error| panic!("{error}"));
    let platform = Arc::new(platform);
    let hosts = Rc::new(HostNames(Arc::clone(&platform)));
    Simulation::new(models::model(platform), hosts, 0)
}

/// Runs one actor on host a; the outcome and the last date.
fn run<Fut: Future<Output = ()> + 'static>(
    program: impl FnOnce(Actor) -> Fut + 'static,
) -> (Outcome, f64) {
    run_on(PLATFORM, program)
}

fn run_on<Fut: Future<Output = ()> + 'static>(
    platform: &str,
    program: impl FnOnce(Actor) -> Fut + 'static,
) -> (Outcome, f64) {
    let mut simulation = simulation(platform);
    simulation.spawn("actor", 0, program);
    let report = simulation.run();
    (report.outcome, report.time.as_secs())
}

#[track_caller]
fn finishes<Fut: Future<Output = ()> + 'static>(
    wanted: f64,
    program: impl FnOnce(Actor) -> Fut + 'static,
) {
    let (outcome, end) = run(program);
    assert_eq!(outcome, Outcome::Finished);
    assert!(
        (end - wanted).abs() <= 1e-13 * wanted,
        "{end} instead of {wanted}"
    );
}

/// The message of the panic of the only actor.
fn panics(program: impl FnOnce(Actor) + 'static) -> String {
    let (outcome, _) = run(|me| async move { program(me) });
    match outcome {
        Outcome::Failed(failure) => failure.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn threads() {
    finishes(1.0, |me| async move {
        let work = me.execution(1e9).thread_count(2).start();
        me.sleep(secs(0.25)).await;
        assert_eq!(work.remaining(), 1.5e9);
        work.wait().await.unwrap();
    });
    finishes(1.25, |me| async move {
        let threads = me.execution(1e9).thread_count(2).priority(2.0).start();
        let one = me.execution(0.5e9).start();
        threads.wait().await.unwrap();
        assert_eq!(me.now(), Time::from_secs(1.25));
        one.wait().await.unwrap();
    });
    finishes(4.0, |me| async move {
        let work = me.execution(1e9).thread_count(2).bound(5e8).start();
        work.wait().await.unwrap();
    });
    assert_eq!(
        panics(|me| drop(me.execution(1.0).thread_count(0).start())),
        "a computation needs at least one thread"
    );
    assert_eq!(
        panics(|me| drop(me.execution(-1.0).start())),
        "an amount of flop must be finite and at least 0, not -1"
    );
    assert_eq!(
        panics(|me| drop(me.execution(1.0).bound(0.0).start())),
        "a bound must be above 0, not 0"
    );
    assert_eq!(
        panics(|me| drop(me.execution(1.0).priority(f64::NAN).start())),
        "a priority must be above 0, not NaN"
    );
}

#[test]
fn disks() {
    finishes(3.0, |me| async move {
        let disk = me.disk("d").expect("a disk");
        assert_eq!(me.disk("e"), None);
        assert_eq!((me.disk_of(A, "d"), me.disk_of(B, "d")), (Some(disk), None));
        me.read(disk, 2e8).await.unwrap();
        assert_eq!(me.now(), Time::from_secs(1.0));
        me.write(disk, 2e8).await.unwrap();
    });
    finishes(2.0, |me| async move {
        let disk = me.disk("d").expect("a disk");
        let reads = [me.start_read(disk, 2e8), me.start_read(disk, 2e8)];
        reads[0].update(Change::Priority(2.0));
        assert_eq!(reads[0].remaining(), 2e8);
        let all: Vec<&Activity> = reads.iter().collect();
        assert_eq!(me.wait_any(&all).await, 0);
        assert_eq!(me.now(), Time::from_secs(1.5));
        me.wait_all(&all).await.unwrap();
        let write = me.start_write(disk, 1e8);
        write.cancel().await;
        assert_eq!(write.wait().await.unwrap_err(), ActivityError::Cancelled);
    });
    assert_eq!(
        panics(|me| drop(me.start_read(DiskId(0), f64::NAN))),
        "an amount of bytes must be finite and at least 0, not NaN"
    );
    let (outcome, _) = run(|me| async move {
        let _ = me.write(DiskId(7), 1.0).await;
    });
    let Outcome::BadInput(message) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(message, "disk number 7 of a platform with 1 disks");
}

#[test]
fn parallel_tasks() {
    finishes(3.001, |me| async move {
        let bytes = [0.0, 1e8, 0.0, 0.0];
        me.parallel_execute(&[A, B], &[3e9, 1e9], &bytes)
            .await
            .unwrap();
    });
    finishes(2.0, |me| async move {
        let task = me.start_parallel_execution(&[A, B], &[2e9, 1e9], &[]);
        assert_eq!(task.remaining(), 1.0);
        me.sleep(secs(0.5)).await;
        assert_eq!(task.remaining(), 0.75);
        assert!(!task.test().await);
        let other = me.start_parallel_execution(&[B], &[1e15], &[]);
        other.cancel().await;
        task.wait().await.unwrap();
        assert_eq!(task.remaining(), 0.0);
    });
    // One that has been made but not awaited does nothing, and leaves nothing.
    finishes(1.0, |me| async move {
        drop(me.parallel_execute(&[A], &[1e15], &[]));
        me.parallel_execute(&[A], &[1e9], &[]).await.unwrap();
    });
    assert_eq!(
        panics(|me| drop(me.start_parallel_execution(&[], &[], &[]))),
        "a parallel task needs at least one host"
    );
    assert_eq!(
        panics(|me| drop(me.start_parallel_execution(&[A, HostId(2)], &[], &[]))),
        "a parallel task on host number 2 of a platform with 2 hosts"
    );
    assert_eq!(
        panics(|me| drop(me.start_parallel_execution(&[A], &[-0.5], &[]))),
        "a parallel task needs amounts that are finite and at least 0, not -0.5 flop on host number 0 of its list"
    );
}

#[test]
fn failures_are_seen_by_those_who_wait() {
    finishes(1.0, |me| async move {
        let task = me.start_parallel_execution(&[A, B], &[1e9, 2e9], &[]);
        let killer = me.spawn("killer", A, |me: Actor| async move {
            me.sleep(secs(1.0)).await;
            me.switch_host(B, false).await;
        });
        killer.await;
        assert_eq!(task.wait().await.unwrap_err(), ActivityError::Failed);
        // A task over a host that is off fails at once.
        let again = me.parallel_execute(&[A, B], &[1e9, 0.0], &[]).await;
        assert_eq!(again, Err(ActivityError::Failed));
    });
}

#[test]
fn a_suspended_actor_suspends_what_it_waits_for() {
    // 0.25 s of each, then 1 s of nothing.
    for which in 0..3 {
        finishes(2.0, move |me| async move {
            let worker = me.spawn("worker", A, move |me: Actor| async move {
                let disk = me.disk("d").expect("a disk");
                match which {
                    0 => me.read(disk, 2e8).await.unwrap(),
                    1 => me
                        .parallel_execute(&[A, B], &[1e9, 1e9], &[])
                        .await
                        .unwrap(),
                    _ => {
                        let work = me.execution(1e9).thread_count(2).start();
                        work.wait().await.unwrap();
                    }
                }
            });
            let worker = worker.await;
            me.sleep(secs(0.25)).await;
            worker.suspend().await;
            me.sleep(secs(1.0)).await;
            worker.resume().await;
            worker.join().await;
        });
    }
}

/// Host b is off from 1 to 2 s, from 5 to 6 s, and so on.
fn switching() -> String {
    let profile = r#"state_profile = { points = [["1s", "off"], ["2s", "on"]], period = "4s" }"#;
    PLATFORM.replace("[hosts.b]", &format!("[hosts.b]\n{profile}"))
}

#[test]
fn a_deadlock_is_found_where_hosts_go_off_and_on_for_ever() {
    // The last thing to happen: b goes off under an actor, and comes back without it.
    let (outcome, end) = run_on(&switching(), |me| async move {
        let mailbox = me.new_mailbox();
        let lost = mailbox.clone();
        me.spawn("lost", B, |me: Actor| async move {
            me.sleep(secs(2.5)).await;
            let _ = lost.get().await;
        })
        .await;
        let _ = mailbox.get().await;
    });
    assert!(matches!(outcome, Outcome::Deadlock(_)), "{outcome:?}");
    assert!((1.0..=6.0).contains(&end), "{end}");
}

#[test]
fn an_actor_that_is_started_again_with_its_host_may_end_a_wait() {
    let mut simulation = simulation(&switching());
    let mailbox = simulation.new_mailbox();
    let again = mailbox.clone();
    // It is started at 0, 2 and 6 s.
    simulation.spawn_restarting("worker", B.0, move |me| {
        let again = again.clone();
        async move {
            if me.now() > Time::from_secs(5.0) {
                let _ = again.put(1, 0.0).await;
            } else {
                me.sleep(secs(100.0)).await;
            }
        }
    });
    simulation.spawn("waits", 0, move |_| async move {
        let _ = mailbox.get().await;
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    let end = report.time.as_secs();
    assert!((6.0..=6.1).contains(&end), "{end}");
}

/// The host is off from 1 to 2 and from 5 to 6 s, and the actor has ended each time before.
#[test]
fn an_ended_actor_starts_again_with_its_host_only_as_in_simgrid() {
    let compat = "\n[network]\nmodel = \"raw\"\ncompat = \"simgrid-4.1\"\n";
    for (network, expected) in [("", &[0.0][..]), (compat, &[0.0, 2.0, 6.0])] {
        let mut simulation = simulation(&format!("{}{network}", switching()));
        let starts = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&starts);
        simulation.spawn_restarting("short", B.0, move |me| {
            let log = Rc::clone(&log);
            async move { log.borrow_mut().push(me.now().as_secs()) }
        });
        simulation.spawn("watcher", 0, |me: Actor| async move {
            me.sleep(secs(9.0)).await;
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
        assert_eq!(*starts.borrow(), expected, "{network:?}");
    }
}
