//! Promise: a rank program is explored unchanged: the order of deliveries is the choice, and the
//! message protocol determines the possible deadlocks.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::common::{checked, on_ranks, options, search};
use explore::{Reduction, Statistics, Verdict, check};
use mpi::prelude::*;
use run::{MessageProtocol, Program, explorable};

async fn two_senders(world: Comm) -> Result<()> {
    let partner = world.rank() ^ 1;
    let message = world.buffer(8);
    let mut answer = message.clone();
    world.send(&message, partner, 0).await?;
    world.recv(&mut answer, partner, 0).await?;
    Ok(())
}

#[test]
fn two_senders_wait_for_each_other_only_under_rendezvous() {
    for mode in [MessageProtocol::Eager, MessageProtocol::Threshold(9)] {
        assert_eq!(
            checked(2, mode, &on_ranks(two_senders)).verdict,
            Verdict::Ok
        );
    }
    let report = checked(2, MessageProtocol::Rendezvous, &on_ranks(two_senders));
    assert_eq!(report.findings[0].kind.name(), "deadlock");
    assert_eq!(report.statistics.finished, 0);
    let message = &report.findings[0].message;
    assert!(
        message.contains("rank 0") && message.contains("explore.rs:"),
        "{message}"
    );
}

/// Rank 0 receives the probed message, from any source or from the source of the message.
async fn probes(world: Comm, by_name: bool) -> Result<()> {
    let mut message = world.buffer(8);
    if world.rank() > 0 {
        return world.send(&message, 0, 0).await;
    }
    for _ in 1..world.size() {
        let seen = world.probe(ANY_SOURCE, ANY_TAG).await?;
        let source = if by_name {
            mpi::Source::Rank(seen.source)
        } else {
            ANY_SOURCE
        };
        let got = world.recv(&mut message, source, ANY_TAG).await?;
        assert_eq!(got.source, seen.source, "another message than was seen");
    }
    Ok(())
}

#[test]
fn a_probe_promises_its_message_only_to_a_receive_from_its_source() {
    for mode in [
        Some(MessageProtocol::Eager),
        Some(MessageProtocol::Rendezvous),
        None,
    ] {
        let report = checked(3, mode, &on_ranks(|world| probes(world, true)));
        assert_eq!(
            report.verdict,
            Verdict::Ok,
            "{mode:?} {}",
            report.findings[0].message
        );
        let report = checked(3, mode, &on_ranks(|world| probes(world, false)));
        assert_eq!(report.verdict, Verdict::Found, "{mode:?}");
        let message = &report.findings[0].message;
        assert!(
            message.contains("another message than was seen"),
            "{message}"
        );
    }
}

/// The same classes by all searches, each once by the optimal one.
#[track_caller]
fn agree(ranks: u32, mode: MessageProtocol, program: &Rc<dyn Program>) -> Statistics {
    let find = |reduction| search((ranks, mode, program), &options(reduction));
    let (judge, _) = find(Reduction::Sleep);
    for reduction in [Reduction::None, Reduction::Sdpor] {
        let (seen, _) = find(reduction);
        assert!(
            seen.classes == judge.classes && seen.values == judge.values,
            "{reduction:?}"
        );
    }
    let (seen, statistics) = find(Reduction::Odpor);
    assert!(seen.classes == judge.classes && seen.values == judge.values);
    assert_eq!(
        (statistics.executions, statistics.sleep_set_blocked),
        (judge.classes.len() as u64, 0)
    );
    statistics
}

thread_local! {
    /// Results that a rank has seen, over all runs.
    static SEEN: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// P0 sends to P2, then to P1; P1 receives and sends to P2; P2 may see P1's message first.
async fn relayed(world: Comm) -> Result<()> {
    let message = world.buffer(8);
    let mut buffer = message.clone();
    match world.rank() {
        0 => {
            world.send(&message, 2, 0).await?;
            world.send(&message, 1, 0).await?;
        }
        1 => {
            world.recv(&mut buffer, 0, 0).await?;
            world.send(&message, 2, 0).await?;
        }
        _ => {
            let first = world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
            world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
            SEEN.with_borrow_mut(|seen| seen.insert(u32::try_from(first.source).expect("few")));
        }
    }
    Ok(())
}

#[test]
fn a_relayed_message_may_overtake() {
    for reduction in [
        Reduction::None,
        Reduction::Sleep,
        Reduction::Sdpor,
        Reduction::Odpor,
    ] {
        SEEN.with_borrow_mut(BTreeSet::clear);
        let report = check(
            explorable(on_ranks(relayed), 3, MessageProtocol::Eager),
            &options(reduction),
        );
        assert_eq!(report.verdict, Verdict::Ok);
        let seen = SEEN.with_borrow(Clone::clone);
        assert_eq!(seen, BTreeSet::from([0, 1]), "{reduction:?}");
    }
    assert_eq!(
        agree(3, MessageProtocol::Eager, &on_ranks(relayed)).executions,
        2
    );
}

async fn workers(world: Comm) -> Result<()> {
    let message = world.buffer(8);
    let mut buffer = message.clone();
    if world.rank() > 0 {
        return world.send(&message, 0, 0).await.map(drop);
    }
    for _ in 1..world.size() {
        world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
    }
    Ok(())
}

#[test]
fn messages_of_workers_arrive_in_every_order() {
    for (ranks, orders) in [(2, 1), (3, 2), (4, 6), (5, 24)] {
        let statistics = agree(ranks, MessageProtocol::Eager, &on_ranks(workers));
        assert_eq!(statistics.finished, orders, "{ranks} ranks");
    }
}

async fn ring(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let message = world.buffer(8);
    let mut buffer = message.clone();
    if rank > 0 {
        world.recv(&mut buffer, rank - 1, 0).await?;
    }
    world.send(&message, (rank + 1) % size, 0).await?;
    if rank == 0 {
        world.recv(&mut buffer, size - 1, 0).await?;
    }
    Ok(())
}

#[test]
fn a_ring_has_one_order() {
    assert_eq!(
        agree(4, MessageProtocol::Eager, &on_ranks(ring)).finished,
        1
    );
    assert_eq!(
        agree(4, MessageProtocol::Rendezvous, &on_ranks(ring)).deadlocks,
        0
    );
}

async fn tester(world: Comm) -> Result<()> {
    let message = world.buffer(8);
    if world.rank() == 1 {
        return world.send(&message, 0, 0).await.map(drop);
    }
    let mut request = world.irecv(message, 1, 0)?;
    let over = request.test().await?.is_some();
    SEEN.with_borrow_mut(|seen| seen.insert(u32::from(over)));
    if !over {
        request.wait().await?;
    }
    Ok(())
}

#[test]
fn a_test_comes_before_and_after_the_arrival() {
    let statistics = agree(2, MessageProtocol::Eager, &on_ranks(tester));
    assert_eq!(statistics.finished, 2);
    assert_eq!(SEEN.with_borrow(Clone::clone), BTreeSet::from([0, 1]));
}

async fn ignored(world: Comm) -> Result<()> {
    let message = world.buffer(8);
    if world.rank() == 0 {
        world.send(&message, 1, 7).await?;
    }
    Ok(())
}

#[test]
fn a_message_that_nobody_receives_is_found() {
    let report = checked(2, MessageProtocol::Eager, &on_ranks(ignored));
    assert_eq!(report.verdict, Verdict::Found);
    assert_eq!(report.findings[0].kind.name(), "unfinished-operations");
    assert!(
        report.findings[0].message.contains("tag 7"),
        "{}",
        report.findings[0].message
    );
}

#[test]
fn what_is_found_replays() {
    let report = checked(2, MessageProtocol::Rendezvous, &on_ranks(two_senders));
    let mut stepper = explorable(on_ranks(two_senders), 2, MessageProtocol::Rendezvous);
    let steps = explore::replay(&mut stepper, &report.findings[0].replay);
    assert_eq!(steps, report.findings[0].steps.len());
    assert!(stepper.next_able(0).is_none() && !stepper.is_finished());
}
