//! Promise: for rank programs with a known number of distinguishable orders, this number is
//! explored, alone and on several threads, and an interrupted search continues to the same number.

use crate::common::{checked, on_ranks};
use explore::{Options, Report, Threads, Verdict, check_on_threads};
use mpi::{ANY_SOURCE, ANY_TAG, Comm, Result, waitall};
use run::MessageProtocol;

fn traces<Fut>(ranks: u32, mode: MessageProtocol, program: fn(Comm) -> Fut) -> u64
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let report = checked(ranks, mode, &on_ranks(program));
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(report.statistics.sleep_set_blocked, 0);
    report.statistics.executions
}

/// Receives from and sends to everybody by name, and waits for all.
async fn exchange(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut requests = Vec::new();
    for distance in 1..size {
        requests.push(world.irecv(world.buffer(8), (rank + size - distance) % size, 0)?);
    }
    for distance in 1..size {
        requests.push(world.isend(world.buffer(8), (rank + distance) % size, 0)?);
    }
    waitall(&mut requests).await.map(drop)
}

/// All ranks receive by name: for any number of messages, no rank can observe their order.
#[test]
fn an_exchange_by_name_has_one_order() {
    for mode in [MessageProtocol::Eager, MessageProtocol::Rendezvous] {
        for ranks in 2..=6 {
            assert_eq!(traces(ranks, mode, exchange), 1, "{ranks} {mode:?}");
        }
    }
}

/// All others send to rank 0.
async fn fan_in(world: Comm, from_any: bool) -> Result<()> {
    let mut buffer = world.buffer(8);
    if world.rank() > 0 {
        return world.send(&buffer, 0, 0).await;
    }
    for source in 1..world.size() {
        if from_any {
            world.recv(&mut buffer, ANY_SOURCE, 0).await?;
        } else {
            world.recv(&mut buffer, source, 0).await?;
        }
    }
    Ok(())
}

/// Rank 0 takes n messages in any order: n!, whether or not the senders wait for it. If rank 0
/// receives each message by name: one order.
#[test]
fn a_fan_in_has_as_many_orders_as_its_receiver_can_tell() {
    for (ranks, orders) in [(2, 1), (3, 2), (4, 6), (5, 24), (6, 120)] {
        for mode in [MessageProtocol::Eager, MessageProtocol::Rendezvous] {
            assert_eq!(
                traces(ranks, mode, |world| fan_in(world, true)),
                orders,
                "{ranks} {mode:?}"
            );
            assert_eq!(
                traces(ranks, mode, |world| fan_in(world, false)),
                1,
                "{ranks} {mode:?}"
            );
        }
    }
}

/// An exchange among all others, and a fan-in from them.
async fn mixed(world: Comm) -> Result<()> {
    if world.rank() > 0 {
        let (rank, others) = (world.rank(), world.size() - 1);
        let mut requests = Vec::new();
        for other in (1..=others).filter(|&other| other != rank) {
            requests.push(world.irecv(world.buffer(8), other, 1)?);
            requests.push(world.isend(world.buffer(8), other, 1)?);
        }
        waitall(&mut requests).await?;
    }
    fan_in(world, true).await
}

/// The exchange has one order, the fan-in n!; other orders are not distinguishable.
#[test]
fn indistinguishable_orders_do_not_multiply_distinguishable_ones() {
    for (ranks, orders) in [(3, 2), (4, 6), (5, 24)] {
        assert_eq!(
            traces(ranks, MessageProtocol::Eager, mixed),
            orders,
            "{ranks}"
        );
    }
}

/// Rank 0 hears from the others in any order, then tells rank 1, which had a message by name from
/// each of them before.
async fn twice(world: Comm) -> Result<()> {
    let mut buffer = world.buffer(8);
    if world.rank() > 1 {
        world.send(&buffer, 1, 0).await?;
    }
    if world.rank() == 1 {
        for source in 2..world.size() {
            world.recv(&mut buffer, source, 0).await?;
        }
    }
    fan_in(world, true).await
}

/// Rank 1 sends to rank 0 after a message from each other rank; these ranks send to both at once. n
/// messages to rank 0 in any order: n!, because the messages for rank 1 come in parallel with all
/// messages for rank 0.
#[test]
fn what_is_relayed_by_name_is_one_of_those_that_come_in_any_order() {
    for (ranks, orders) in [(3, 2), (4, 6), (5, 24)] {
        assert_eq!(
            traces(ranks, MessageProtocol::Eager, twice),
            orders,
            "{ranks}"
        );
    }
}

fn searched(threads: usize, options: &Options, from: Option<&explore::Checkpoint>) -> Report {
    let numbers = run::QueueNumbers::default();
    let make = || {
        let options = run::Options {
            ranks: Some(5),
            protocol: Some(MessageProtocol::Eager),
            ..run::Options::default()
        };
        run::stepper(None, on_ranks(mixed), &options, None, &numbers).expect("ranks")
    };
    let threads = Threads {
        number: threads,
        make: &make,
        around: &|work| work(),
    };
    check_on_threads(&threads, options, from)
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let whole = searched(1, &Options::default(), None);
    assert_eq!(whole.statistics.executions, 24);
    assert_eq!(whole.receive_orders.len(), 1, "rank 0 is warned of");
    for threads in [2, 3] {
        let report = searched(threads, &Options::default(), None);
        let counts = |report: &Report| (report.statistics.executions, report.statistics.events);
        assert_eq!(counts(&report), counts(&whole), "{threads} threads");
        assert_eq!(report.receive_orders, whole.receive_orders);
    }
    for stop in [1, 5, 11] {
        let bounded = Options {
            executions_max: stop,
            ..Options::default()
        };
        let first = searched(1, &bounded, None);
        let checkpoint = first.checkpoint.expect("it can continue");
        let words = checkpoint.words().to_vec();
        let checkpoint = explore::Checkpoint::from_words(words).expect("it is whole");
        let rest = searched(2, &Options::default(), Some(&checkpoint));
        assert_eq!(rest.statistics.executions, 24, "stopped after {stop}");
        assert_eq!(rest.receive_orders.len(), 1, "the warning survives");
    }
}

/// Rank 0 asks up to ten times for a message of rank 1, then takes the message. `tells`: rank 0
/// sends a message to rank 2 after each no.
async fn ask_ten_times(world: Comm, tells: bool) -> Result<()> {
    const LAST: u32 = 1;
    let mut buffer = world.buffer(8);
    match world.rank() {
        0 => {
            for _ in 0..10 {
                if world.iprobe(1, ANY_TAG).await?.is_some() {
                    break;
                }
                if tells {
                    world.send(&buffer, 2, 0).await?;
                }
            }
            world.recv(&mut buffer, ANY_SOURCE, 0).await?;
            if tells {
                world.send(&buffer, 2, LAST).await?;
            }
        }
        1 => world.send(&buffer, 0, 0).await?,
        _ => while world.recv(&mut buffer, 0, ANY_TAG).await?.tag != LAST {},
    }
    Ok(())
}

/// Published: 11, for two ranks (SimGrid's suite, "iprobe ok"): no up to nine times and then yes,
/// or no ten times. Here a repeated question is answered yes, no and yes, no twice and yes, or no
/// until the loop ends: 4. A rank that acts after each no asks ten different questions, and has the
/// 11 sequences.
#[test]
fn a_question_that_is_repeated_has_four_sequences_of_answers() {
    let eager = MessageProtocol::Eager;
    assert_eq!(traces(2, eager, |world| ask_ten_times(world, false)), 4);
    assert_eq!(traces(3, eager, |world| ask_ten_times(world, true)), 11);
}

/// A rank that fails unless its first question is answered with yes.
async fn relies_on_the_first(world: Comm) -> Result<()> {
    let mut buffer = world.buffer(8);
    if world.rank() > 0 {
        return world.send(&buffer, 0, 0).await;
    }
    assert!(world.iprobe(1, 0).await?.is_some(), "it is not there yet");
    world.recv(&mut buffer, 1, 0).await.map(drop)
}

#[test]
fn a_program_that_relies_on_an_early_answer_is_found() {
    let report = checked(2, MessageProtocol::Eager, &on_ranks(relies_on_the_first));
    assert_eq!(report.verdict, Verdict::Found);
    let counts = (report.statistics.finished, report.statistics.failed);
    assert_eq!(counts, (1, 1), "{report:?}");
}
