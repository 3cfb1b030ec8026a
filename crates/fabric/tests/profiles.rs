//! Promise: a failure under a communication or a rank is seen at that instant by the actors that
//! wait, in every phase; a change by itself or by an actor counts from that instant.
//!
//! S and O rows are dates of SimGrid; the other rows are closed forms on links of 1e6 bytes/s and 1
//! s of latency.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::common::process::processes;
use fabric::{Fabric, Flow};
use mpi::{Settings, prelude::*};
use platform::{HostNames, Platform};
use sim_core::{ActivityError, Actor, HostId, Outcome, Report, Simulation, Span, Time};

/// Hosts a, b and c; `ab` joins a and b, `ac` joins a and c. `more` is put into the table of the
/// link `ab`.
fn simulation(network: &str, (bandwidth, latency): (&str, &str), more: &str) -> Simulation {
    let text = format!(
        "version = 1\nnetwork = {{ {network} }}\n[hosts]\na.speed = \"1Gf\"\nb.speed = [\"1Gf\", \"0.5Gf\"]\n\
         c.speed = \"1Gf\"\n[links.ab]\nbandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"\n{more}\n[links.ac]\n\
         bandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"\n[[routes]]\nfrom = \"a\"\nto = \"b\"\nlinks = [\"ab\"]\n\
         [[routes]]\nfrom = \"a\"\nto = \"c\"\nlinks = [\"ac\"]\n"
    );
    let platform = Platform::parse("p.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let platform = Arc::new(platform);
    let names = Rc::new(HostNames(Arc::clone(&platform)));
    Simulation::new(models::model(platform), names, 0)
}

/// Links of 1e6 bytes/s and 1 s.
const SLOW: (&str, &str) = ("1MBps", "1s");
const A: HostId = HostId(0);
const B: HostId = HostId(1);

/// Observations: date and text.
type Log = Rc<RefCell<Vec<(f64, String)>>>;

fn note(log: &Log, me: &Actor, text: impl std::fmt::Debug) {
    let line = format!("{} {text:?}", me.name());
    log.borrow_mut().push((me.now().as_secs(), line));
}

#[track_caller]
fn expect(log: &Log, wanted: &[(f64, &str)], tolerance: f64) {
    let log = log.borrow();
    let same = log.len() == wanted.len()
        && log
            .iter()
            .zip(wanted)
            .all(|((date, text), (wanted, line))| {
                (date - wanted).abs() <= tolerance * wanted && text == line
            });
    assert!(same, "{log:?} instead of {wanted:?}");
}

async fn until(me: &Actor, seconds: f64) {
    me.sleep_until(Time::from_secs(seconds)).await;
}

#[test]
fn s16_a_link_that_goes_off_fails_one_of_two_sends() {
    let mut simulation = simulation("model = \"lv08\"", ("1Bps", "0s"), "");
    let log = Log::default();
    for (name, host) in [("to b", 1), ("to c", 2)] {
        let mailbox = simulation.mailbox(name);
        simulation.spawn(name, host, |_| async move { drop(mailbox.get().await) });
    }
    let seen = log.clone();
    simulation.spawn("sender", 0, |me| async move {
        let mut sends = Vec::new();
        for name in ["to b", "to c"] {
            sends.push(me.mailbox(name).put_async(0, 16.0).await);
        }
        while !sends.is_empty() {
            let at = me.wait_any(&sends.iter().collect::<Vec<_>>()).await;
            let end = sends.remove(at).wait().await.map(drop);
            note(&seen, &me, end);
        }
    });
    simulation.spawn("killer", 0, |me| async move {
        until(&me, 10.0).await;
        let link = me.link_by_name("ab").expect("a link");
        link.turn_off().await;
        assert!(!link.is_on());
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let wanted = [(10.0, "sender Err(Failed)"), (17.319588, "sender Ok(())")];
    expect(&log, &wanted, 1e-7);
}

#[test]
fn o18_a_link_that_goes_off_at_one_second() {
    for model in ["raw", "cm02", "lv08"] {
        let network = format!("model = \"{model}\"");
        let mut simulation = simulation(&network, ("1e8Bps", "1ms"), "");
        let log = Log::default();
        pair(&mut simulation, &log, 1e9, (0.0, 0.0));
        simulation.spawn("operator", 2, |me| async move {
            until(&me, 1.0).await;
            me.link_by_name("ab").expect("a link").turn_off().await;
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
        let wanted = [(1.0, "sender Err(Failed)"), (1.0, "receiver Err(Failed)")];
        expect(&log, &wanted, 0.0);
    }
}

/// Spawns a sender on a and a receiver on b, which begin at given dates and note their outcomes.
fn pair(simulation: &mut Simulation, log: &Log, bytes: f64, begin: (f64, f64)) -> [Actor; 2] {
    let (puts, gets) = (simulation.mailbox("m"), simulation.mailbox("m"));
    let (sends, receives) = (log.clone(), log.clone());
    let sender = simulation.spawn("sender", 0, move |me| async move {
        until(&me, begin.0).await;
        let end = puts.put(1, bytes).await;
        note(&sends, &me, end);
    });
    let receiver = simulation.spawn("receiver", 1, move |me| async move {
        until(&me, begin.1).await;
        let get = gets.get_async().await;
        let end = get.wait_timeout(Span::from_secs(20.0)).await.map(drop);
        note(&receives, &me, end);
    });
    [sender, receiver]
}

/// Resource that is turned off.
#[derive(Clone, Copy, PartialEq)]
enum Cause {
    SenderHost,
    ReceiverHost,
    Link,
}

impl Cause {
    async fn happen(self, me: &Actor) {
        match self {
            Self::SenderHost => me.switch_host(A, false).await,
            Self::ReceiverHost => me.switch_host(B, false).await,
            Self::Link => me.link_by_name("ab").expect("a link").turn_off().await,
        }
    }
}

/// Runs a pair whose transfer takes from 1 s to 4 s, including 1 s of latency, and turns a resource
/// off.
fn failure(cause: Cause, date: f64, begin: (f64, f64), suspended: bool) -> Log {
    let mut simulation = simulation("model = \"flow\"", SLOW, "");
    let log = Log::default();
    let both = pair(&mut simulation, &log, 2e6, begin);
    simulation.spawn("operator", 2, move |me| async move {
        if suspended {
            until(&me, date - 0.25).await;
            for actor in &both {
                actor.suspend().await;
            }
        }
        until(&me, date).await;
        cause.happen(&me).await;
        if suspended {
            me.sleep(Span::from_secs(0.5)).await;
            for actor in &both {
                actor.resume().await;
            }
        }
        if let Some(link) = me.link_by_name("ab").filter(|link| !link.is_on()) {
            until(&me, 30.0).await;
            link.turn_on().await;
        }
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    log
}

#[test]
fn a_communication_in_progress_fails_at_that_instant() {
    // The latency is paid until 2 s, the data flow until 4 s.
    for date in [1.5, 2.0, 3.0] {
        for (cause, wanted) in [
            (Cause::SenderHost, &["receiver Err(Failed)"][..]),
            (Cause::ReceiverHost, &["sender Err(Failed)"]),
            (Cause::Link, &["sender Err(Failed)", "receiver Err(Failed)"]),
        ] {
            let wanted: Vec<(f64, &str)> = wanted.iter().map(|line| (date, *line)).collect();
            expect(&failure(cause, date, (1.0, 1.0), false), &wanted, 0.0);
        }
    }
}

#[test]
fn those_who_are_suspended_see_the_failure_when_they_go_on() {
    for (cause, wanted) in [
        (Cause::SenderHost, &["receiver Err(Failed)"][..]),
        (Cause::ReceiverHost, &["sender Err(Failed)"]),
        (Cause::Link, &["sender Err(Failed)", "receiver Err(Failed)"]),
    ] {
        let wanted: Vec<(f64, &str)> = wanted.iter().map(|line| (3.5, *line)).collect();
        expect(&failure(cause, 3.0, (1.0, 1.0), true), &wanted, 0.0);
    }
}

#[test]
fn what_has_no_partner_yet_does_not_fail_but_goes_with_its_actor() {
    // A send waits from 1 s on, a receive comes at 5 s.
    let late = (1.0, 5.0);
    let log = failure(Cause::SenderHost, 3.0, late, false);
    expect(&log, &[(25.0, "receiver Err(TimedOut)")], 0.0);
    let log = failure(Cause::Link, 3.0, late, false);
    // They meet over a link that is off.
    let wanted = [(5.0, "sender Err(Failed)"), (5.0, "receiver Err(Failed)")];
    expect(&log, &wanted, 0.0);
    // The other way round, where the receiver was there first.
    let log = failure(Cause::Link, 3.0, (5.0, 1.0), false);
    let wanted = [(5.0, "receiver Err(Failed)"), (5.0, "sender Err(Failed)")];
    expect(&log, &wanted, 0.0);
}

#[test]
fn an_actor_that_acts_when_a_transfer_ends_comes_too_late() {
    // The transfer has ended; an actor whose host goes off before it can look does not see that.
    for (cause, wanted) in [
        (Cause::SenderHost, &["receiver Ok(())"][..]),
        (Cause::ReceiverHost, &["sender Ok(())"]),
        (Cause::Link, &["sender Ok(())", "receiver Ok(())"]),
    ] {
        let wanted: Vec<(f64, &str)> = wanted.iter().map(|line| (4.0, *line)).collect();
        expect(&failure(cause, 4.0, (1.0, 1.0), false), &wanted, 0.0);
    }
}

#[test]
fn a_profile_at_the_very_end_of_a_transfer_fails_it() {
    let more = "state_profile = { points = [[\"4s\", \"off\"]] }";
    let mut simulation = simulation("model = \"flow\"", SLOW, more);
    let log = Log::default();
    pair(&mut simulation, &log, 2e6, (1.0, 1.0));
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let wanted = [(4.0, "sender Err(Failed)"), (4.0, "receiver Err(Failed)")];
    expect(&log, &wanted, 0.0);
}

#[test]
fn actors_change_bandwidth_latency_and_power_states() {
    let mut simulation = simulation("model = \"flow\"", SLOW, "");
    let log = Log::default();
    // 1 s of latency, 1e6 bytes until 2 s, the other 1e6 at 4e6 bytes/s; then one with the new
    // latency.
    pair(&mut simulation, &log, 2e6, (0.0, 0.0));
    let seen = log.clone();
    simulation.spawn("computing", 1, |me| async move {
        // 1e9 until 1 s, then 5e8 per second.
        let end: Result<(), ActivityError> = me.execute(2e9).await;
        note(&seen, &me, end);
        assert_eq!((me.pstate(B), me.pstate_count(B)), (1, 2));
        assert_eq!(
            (me.pstate_speed(B, 0), me.pstate_speed(B, 2)),
            (Some(1e9), None)
        );
        assert_eq!(me.available_speed(B), Some(5e8));
        let end = me.mailbox("again").put(1, 0.0).await;
        note(&seen, &me, end);
    });
    simulation.spawn("operator", 0, |me| async move {
        until(&me, 1.0).await;
        me.set_pstate(B, 1).await;
        until(&me, 2.0).await;
        let link = me.link_by_name("ab").expect("a link");
        link.set_bandwidth(4e6).await;
        link.set_latency(Span::from_secs(0.5)).await;
        assert_eq!(link.state().bandwidth, 4e6);
        me.mailbox("again").get().await.expect("a message");
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let wanted = [
        (2.25, "sender Ok(())"),
        (2.25, "receiver Ok(())"),
        (3.0, "computing Ok(())"),
        (3.5, "computing Ok(())"),
    ];
    expect(&log, &wanted, 1e-12);
}

#[test]
fn what_a_host_cannot_do_ends_the_run() {
    let mut simulation = simulation("model = \"flow\"", SLOW, "");
    simulation.spawn("operator", 0, |me| async move { me.set_pstate(A, 1).await });
    let message = "host \"a\" has no power state 1: its power states are 0 to 0";
    assert_eq!(simulation.run().outcome, Outcome::BadInput(message.into()));
}

#[test]
fn actors_on_hosts_with_a_state_profile_end_and_start_again() {
    let text = "version = 1\n[hosts.a]\nspeed = \"1Gf\"\nstate_profile = { points = [[\"0s\", \"off\"], [\"2s\", \"on\"], \
                [\"5s\", \"off\"]], period = \"10s\" }\n[hosts.b]\nspeed = \"1Gf\"";
    let platform = Arc::new(Platform::parse("p.toml", text).expect("a platform"));
    let names = Rc::new(HostNames(Arc::clone(&platform)));
    let mut simulation = Simulation::new(models::model(platform), names, 0);
    let log = Log::default();
    let seen = log.clone();
    simulation.spawn_restarting("worker", 0, move |me| {
        let seen = seen.clone();
        async move {
            note(&seen, &me, "begins");
            me.sleep(Span::from_secs(4.0)).await;
            note(&seen, &me, "is never reached");
        }
    });
    simulation.spawn("mayfly", 0, |_| async { unreachable!("host failure") });
    simulation.spawn("watcher", 1, |me| async move { until(&me, 23.0).await });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let begins = "worker \"begins\"";
    expect(&log, &[(2.0, begins), (12.0, begins), (22.0, begins)], 0.0);
}

/// Runs ranks 0 and 1 on a and b, with eager messages below 100 bytes, and an operator on c.
fn ranks<Fut>(program: fn(Comm) -> Fut, cause: Cause, date: f64) -> Report
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let mut simulation = simulation("model = \"flow\"", SLOW, "");
    simulation.set_default_name(|actor| format!("rank {}", actor.number() - 1));
    let flow = Flow::new(simulation.port(), 2, Settings::new(100));
    let processes = processes(&(flow as Rc<dyn Fabric>), 2);
    for (host, process) in (0..).zip(&processes) {
        let program = program(process.world());
        simulation.spawn_anonymous(host, |_| program);
    }
    simulation.spawn("operator", 2, move |me| async move {
        until(&me, date).await;
        cause.happen(&me).await;
    });
    simulation.run()
}

#[track_caller]
fn failed(report: &Report, expected: &str) {
    match &report.outcome {
        Outcome::Failed(failure) => assert_eq!(failure.to_string(), expected),
        other => panic!("{other:?}"),
    }
}

/// Rank 0 sends at 1 s, rank 1 receives at 2 s.
async fn transfer(world: Comm, length: u64) -> Result<()> {
    let mut buffer = world.buffer(length);
    if world.rank() == 0 {
        world.compute(1e9).await;
        world.send(&buffer, 1, 0).await
    } else {
        world.compute(2e9).await;
        world.recv(&mut buffer, 0, 0).await.map(drop)
    }
}

#[test]
fn rank_messages_fail_in_every_phase() {
    let message = |at: f64| {
        format!(
            "rank 0 on host a failed at {at} s: message to rank 1 failed: host or link failure on the route"
        )
    };
    let eager = |world| transfer(world, 10);
    let rendezvous = |world| transfer(world, 2_000_000);
    for cause in [Cause::SenderHost, Cause::ReceiverHost, Cause::Link] {
        // A rendezvous pays its latency from 2 s on, and its data flow from 3 s to 5 s.
        failed(&ranks(rendezvous, cause, 2.5), &message(2.5));
        failed(&ranks(rendezvous, cause, 4.0), &message(4.0));
    }
    // An eager message pays its latency from 1 s on, while the receiver computes.
    failed(&ranks(eager, Cause::SenderHost, 1.5), &message(1.5));
    failed(&ranks(eager, Cause::Link, 1.5), &message(1.5));
    let lost = "rank 1 on host b failed at 1.5 s: computation failed: host failure";
    failed(&ranks(eager, Cause::ReceiverHost, 1.5), lost);
    // What has not met yet fails when it begins over a link that is off; a rank ends with its host.
    failed(&ranks(rendezvous, Cause::Link, 1.5), &message(2.0));
    let lost = "rank 0 on host a failed at 0.5 s: computation failed: host failure";
    failed(&ranks(eager, Cause::SenderHost, 0.5), lost);
    let waits = |world: Comm| async move {
        let mut buffer = world.buffer(1);
        match world.rank() {
            0 => world.recv(&mut buffer, 1, 0).await.map(drop),
            _ => world.recv(&mut buffer, 0, 0).await.map(drop),
        }
    };
    let lost = "rank 1 on host b failed at 0.5 s: host failure";
    failed(&ranks(waits, Cause::ReceiverHost, 0.5), lost);
}
