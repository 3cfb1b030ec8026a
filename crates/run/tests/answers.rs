//! Promise: all answers that MPI permits to tests, nonblocking probes and waits for some of several
//! operations are explored, and only distinguishable orders.
//!
//! Counts are numbers of sequences of answers; a loop multiplies the number by at most three: for
//! one no, for two times no, or for none at its beginning.

use std::cell::RefCell;
use std::collections::BTreeSet;

use mpi::{prelude::*, testany, testsome, waitsome};

use crate::common::{explored, on_ranks};
use explore::{FindingKind, Options, Report, Threads, check_on_threads};
use run::{MessageProtocol, QueueNumbers};

thread_local! {
    /// The answers of runs, as words.
    static SEEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

fn note(word: String) {
    SEEN.with_borrow_mut(|seen| seen.insert(word));
}

/// The words that a program of this many ranks notes, and the number of executions, none of which
/// has an error.
fn words<Fut: Future<Output = Result<()>> + 'static>(
    ranks: u32,
    program: impl Fn(Comm) -> Fut + Copy + Sync + 'static,
) -> (BTreeSet<String>, u64) {
    SEEN.take();
    let report = explored(ranks, &on_ranks(program));
    assert!(report.findings.is_empty(), "{report:?}");
    let numbers = QueueNumbers::default();
    let make = || {
        let options = run::Options {
            ranks: Some(ranks),
            protocol: Some(MessageProtocol::Eager),
            ..run::Options::default()
        };
        run::stepper(None, on_ranks(program), &options, None, &numbers).expect("ranks")
    };
    let threads = Threads {
        number: 2,
        make: &make,
        around: &|work| work(),
    };
    let again = check_on_threads(&threads, &Options::default(), None);
    let counts = |report: &Report| {
        let statistics = &report.statistics;
        (statistics.executions, statistics.covered, statistics.events)
    };
    assert_eq!(counts(&again), counts(&report), "on two threads");
    assert!(report.statistics.bounds.is_empty(), "{report:?}");
    (SEEN.take(), report.statistics.executions)
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Receives of a message of each other rank; `None` at the others, which have sent one.
async fn receives(world: &Comm) -> Result<Option<Vec<Request>>> {
    if world.rank() > 0 {
        world.send(&world.buffer(4), 0, 0).await?;
        return Ok(None);
    }
    let from = |rank| world.irecv(world.buffer(4), rank, 0);
    (1..world.size()).map(from).collect::<Result<_>>().map(Some)
}

#[test]
fn waitany_answers_with_each_request_that_can_be_over() {
    for (ranks, orders) in [(4, 6), (5, 24), (6, 120)] {
        let (seen, executions) = words(ranks, |world| async move {
            let mut order = String::new();
            if let Some(mut requests) = receives(&world).await? {
                while let Some((position, _)) = waitany(&mut requests).await? {
                    order += &position.to_string();
                }
                note(order);
            }
            Ok(())
        });
        assert_eq!((seen.len() as u64, executions), (orders, orders));
    }
}

#[test]
fn a_loop_of_testany_has_each_order_after_up_to_two_answers_no() {
    for (ranks, orders) in [(4, 6), (5, 24)] {
        let (_, executions) = words(ranks, |world| async move {
            if let Some(mut requests) = receives(&world).await? {
                while requests.iter().any(|request| !request.is_null()) {
                    testany(&mut requests).await?;
                }
            }
            Ok(())
        });
        assert_eq!(executions, 3 * orders);
    }
}

#[test]
fn a_loop_of_tests_has_each_order() {
    for (ranks, orders) in [(3, 2), (4, 6), (5, 24)] {
        let (seen, executions) = words(ranks, |world| async move {
            let Some(mut requests) = receives(&world).await? else {
                return Ok(());
            };
            let mut order = String::new();
            while requests.iter().any(|request| !request.is_null()) {
                for (position, request) in requests.iter_mut().enumerate() {
                    if !request.is_null() && request.test().await?.is_some() {
                        order += &position.to_string();
                    }
                }
            }
            note(order);
            Ok(())
        });
        assert_eq!(seen.len(), orders);
        assert!(executions <= 3 * orders as u64, "{executions}");
    }
}

#[test]
fn some_of_several_are_each_subset() {
    let (seen, executions) = words(3, |world| async move {
        if let Some(mut requests) = receives(&world).await? {
            let first = waitsome(&mut requests).await.unwrap_or_default();
            note(format!(
                "{:?}",
                first.iter().map(|one| one.0).collect::<Vec<_>>()
            ));
            waitall(&mut requests).await?;
        }
        Ok(())
    });
    assert_eq!((seen, executions), (set(&["[0]", "[1]", "[0, 1]"]), 3));
    let (seen, executions) = words(3, |world| async move {
        if let Some(mut requests) = receives(&world).await? {
            let first = testsome(&mut requests).await?;
            note(format!(
                "{:?}",
                first.iter().map(|one| one.0).collect::<Vec<_>>()
            ));
            waitall(&mut requests).await?;
        }
        Ok(())
    });
    assert_eq!(
        (seen, executions),
        (set(&["[]", "[0]", "[1]", "[0, 1]"]), 4)
    );
}

/// Each test of each rank has two answers, whatever the others do.
#[test]
fn tests_of_different_ranks_are_answered_apart() {
    let (seen, executions) = words(3, |world| async move {
        let mut request = world.barrier().start()?;
        let over = request.test().await?.is_some();
        note(format!("{} {over}", world.rank()));
        if !over {
            request.wait().await?;
        }
        Ok(())
    });
    assert_eq!((seen.len(), executions), (6, 8));
}

/// The answers to the questions of one rank about messages of another rank, as words.
fn answers_about<Fut: Future<Output = Result<()>> + 'static>(
    send: impl AsyncFn(&Comm) -> Result<()> + Copy + Sync + 'static,
    ask: impl Fn(Comm) -> Fut + Copy + Sync + 'static,
) -> BTreeSet<String> {
    let program = move |world: Comm| async move {
        if world.rank() == 1 {
            send(&world).await
        } else {
            ask(world).await
        }
    };
    words(2, program).0
}

#[test]
fn a_test_may_see_what_a_synchronous_send_has_sent() {
    let seen = answers_about(
        async |world| world.ssend(&world.buffer(4), 0, 0).await,
        |world| async move {
            let mut request = world.irecv(world.buffer(4), 1, 0)?;
            let over = request.test().await?.is_some();
            note(over.to_string());
            if !over {
                request.wait().await?;
            }
            Ok(())
        },
    );
    assert_eq!(seen, set(&["false", "true"]));
}

#[test]
fn a_probe_may_say_no_twice_and_says_yes_from_its_first_yes_on() {
    let seen = answers_about(
        async |world| world.send(&world.buffer(4), 0, 0).await,
        |world| async move {
            let mut all = String::new();
            let first = world.iprobe(1, 0).await?;
            let second = world.iprobe(1, 0).await?;
            for answer in [first, second] {
                all.push(if answer.is_some() { 'Y' } else { 'N' });
            }
            note(all);
            world.recv(&mut world.buffer(4), 1, 0).await.map(drop)
        },
    );
    assert_eq!(seen, set(&["NN", "NY", "YY"]));
}

#[test]
fn a_test_of_a_send_may_say_no() {
    let seen = answers_about(
        async |world| {
            let mut request = world.isend(world.buffer(4), 0, 0)?;
            let over = request.test().await?.is_some();
            note(over.to_string());
            if !over {
                request.wait().await?;
            }
            Ok(())
        },
        |world| async move { world.recv(&mut world.buffer(4), 1, 0).await.map(drop) },
    );
    assert_eq!(seen, set(&["false", "true"]));
}

/// A status that was asked for is not taken back.
#[test]
fn what_is_known_to_be_over_stays_over() {
    let seen = answers_about(
        async |world| world.send(&world.buffer(4), 0, 0).await,
        |world| async move {
            let mut request = world.irecv(world.buffer(4), 1, 0)?;
            let known = request.peek().await?.is_some();
            let over = request.test().await?.is_some();
            note(format!("{known} {over}"));
            if !over {
                request.wait().await?;
            }
            Ok(())
        },
    );
    assert_eq!(seen, set(&["true true", "false true", "false false"]));
}

/// A cancelled receive gets a message or does not, whether or not the message could have come
/// before another one. Messages of other senders are of no consequence.
#[test]
fn a_cancelled_receive_is_met_or_gone() {
    let counted = words(4, |world| cancels(world, false));
    assert_eq!(counted, (set(&["cancelled", "met"]), 2));
    let counted = words(4, |world| cancels(world, true));
    assert_eq!(counted, (set(&["cancelled", "met"]), 8));
}

/// A receive from any source before a cancel gets each message.
#[test]
fn a_cancel_hides_no_message() {
    let (seen, executions) = words(3, |world| async move {
        if world.rank() > 0 {
            return world.send(&world.buffer(4), 0, 0).await;
        }
        let first = world.recv(&mut world.buffer(4), ANY_SOURCE, 0).await?;
        let mut request = world.irecv(world.buffer(4), 1, 0)?;
        request.cancel().await;
        let is_cancelled = request.wait().await?.status.cancelled;
        note(format!("{} {is_cancelled}", first.source));
        if is_cancelled {
            world.recv(&mut world.buffer(4), ANY_SOURCE, 0).await?;
        }
        Ok(())
    });
    assert_eq!(seen, set(&["1 true", "2 false", "2 true"]));
    assert_eq!(executions, 3);
}

/// Rank 0 cancels a receive of a message of rank 1, and gets messages of the others before, or
/// behind that.
async fn cancels(world: Comm, waits_before: bool) -> Result<()> {
    if world.rank() > 0 {
        return world.send(&world.buffer(4), 0, 0).await;
    }
    let others = async || {
        world.recv(&mut world.buffer(4), 2, 0).await?;
        world.recv(&mut world.buffer(4), 3, 0).await
    };
    let mut request = world.irecv(world.buffer(4), 1, 0)?;
    if waits_before {
        others().await?;
    }
    request.cancel().await;
    request.cancel().await;
    let is_cancelled = request.wait().await?.status.cancelled;
    note(if is_cancelled { "cancelled" } else { "met" }.to_owned());
    if is_cancelled {
        world.recv(&mut world.buffer(4), 1, 0).await?;
    }
    if !waits_before {
        others().await?;
    }
    Ok(())
}

/// A receive that is known to be over is not cancelled; one without a message is.
#[test]
fn a_cancel_has_one_answer_if_the_other_is_impossible() {
    let cancel = |world: Comm| async move {
        let mut request = world.irecv(world.buffer(4), 1, 0)?;
        let is_known = request.peek().await?.is_some();
        request.cancel().await;
        let is_cancelled = request.wait().await?.status.cancelled;
        note(format!("{is_known} {is_cancelled}"));
        match is_cancelled {
            true => world.recv(&mut world.buffer(4), 1, 0).await.map(drop),
            false => Ok(()),
        }
    };
    let seen = answers_about(
        async |world| world.send(&world.buffer(4), 0, 0).await,
        cancel,
    );
    assert_eq!(seen, set(&["true false", "false false", "false true"]));
    let counted = words(2, |world| async move {
        if world.rank() == 0 {
            let mut request = world.irecv(world.buffer(4), 1, 0)?;
            request.cancel().await;
            note(request.wait().await?.status.cancelled.to_string());
        }
        Ok(())
    });
    assert_eq!(counted, (set(&["true"]), 1));
}

/// A receive from any source gets another message if a cancelled one before has got a message.
#[test]
fn a_cancelled_receive_from_any_source_takes_a_message_of_each() {
    let (seen, executions) = words(3, |world| async move {
        if world.rank() > 0 {
            return world.send(&world.buffer(4), 0, 0).await;
        }
        let mut request = world.irecv(world.buffer(4), ANY_SOURCE, 0)?;
        request.cancel().await;
        let status = request.wait().await?.status;
        let mut left = 2;
        let mut word = format!("{} {}", status.cancelled, status.source);
        if !status.cancelled {
            left -= 1;
        }
        for _ in 0..left {
            let status = world.recv(&mut world.buffer(4), ANY_SOURCE, 0).await?;
            word += &status.source.to_string();
        }
        note(word);
        Ok(())
    });
    assert_eq!(seen, set(&["true 012", "true 021", "false 12", "false 21"]));
    assert_eq!(executions, 4);
}

/// The answers to questions about the partitions of a message of rank 1 are independent.
#[test]
fn partitions_arrive_in_any_order() {
    let send = async |world: &Comm| {
        let mut sending = world.psend_init(world.buffer(8), 2, 0, 0)?;
        for _ in 0..2 {
            sending.start()?;
            sending.pready_list(&[1, 0])?;
            sending.wait().await?;
        }
        Ok(())
    };
    let seen = answers_about(send, |world| async move {
        let mut receiving = world.precv_init(world.buffer(8), 2, 1, 0)?;
        for round in 0..2 {
            receiving.start()?;
            let mut word = round.to_string();
            for partition in [1, 0, 1] {
                let has_arrived = receiving.parrived(partition).await?;
                word.push(if has_arrived { 'Y' } else { 'N' });
            }
            note(word);
            receiving.wait().await?;
        }
        Ok(())
    });
    let words = ["NNN", "NNY", "NYN", "NYY", "YNY", "YYY"];
    let all = words.map(|word| [format!("0{word}"), format!("1{word}")]);
    assert_eq!(seen, all.into_iter().flatten().collect());
}

/// A loop that only reads the clock ends, and one that looks for a message ends by the message or
/// by the time.
#[test]
fn a_loop_that_waits_for_time_ends() {
    let (seen, _) = words(2, |world| async move {
        let begin = world.wtime();
        let mut now = begin;
        while now < begin + 60.0 {
            let later = world.wtime();
            assert!(later >= now, "the clock does not decrease");
            now = later;
        }
        if world.rank() == 1 {
            return world.send(&world.buffer(4), 0, 0).await;
        }
        let begin = world.wtime();
        let mut has_message = false;
        while !has_message && world.wtime() < begin + 3600.0 {
            has_message = world.iprobe(1, 0).await?.is_some();
        }
        note(has_message.to_string());
        world.recv(&mut world.buffer(4), 1, 0).await.map(drop)
    });
    assert_eq!(seen, set(&["false", "true"]));
}

/// A partition arrives before the other one is ready.
#[test]
fn partitions_arrive_one_by_one() {
    let send = async |world: &Comm| {
        let mut sending = world.psend_init(world.buffer(8), 2, 0, 0)?;
        sending.start()?;
        sending.pready(1)?;
        world.recv(&mut world.buffer(1), 0, 1).await?;
        sending.pready(0)?;
        sending.wait().await.map(drop)
    };
    let seen = answers_about(send, |world| async move {
        let mut receiving = world.precv_init(world.buffer(8), 4, 1, 0)?;
        receiving.start()?;
        let (first, last) = (receiving.parrived(0).await?, receiving.parrived(3).await?);
        world.send(&world.buffer(1), 1, 1).await?;
        note(format!("{first} {last}"));
        receiving.wait().await.map(drop)
    });
    assert_eq!(seen, set(&["false false", "false true"]));
}

/// Rank 0 of several does this, the others send rank 0 a message.
fn fan_in<Fut: Future<Output = Result<()>> + 'static>(
    ranks: u32,
    receive: impl Fn(Comm) -> Fut + Copy + Sync + 'static,
) -> (BTreeSet<String>, u64) {
    words(ranks, move |world| async move {
        match world.rank() {
            0 => receive(world).await,
            _ => world.send(&world.buffer(4), 0, 0).await,
        }
    })
}

#[test]
fn probes_of_any_source_see_each_order() {
    for (ranks, orders) in [(3, 2), (4, 6), (5, 24)] {
        let (seen, executions) = fan_in(ranks, |world| async move {
            let mut order = String::new();
            for _ in 1..world.size() {
                let source = world.probe(ANY_SOURCE, 0).await?.source;
                world.recv(&mut world.buffer(4), source, 0).await?;
                order += &source.to_string();
            }
            note(order);
            Ok(())
        });
        assert_eq!((seen.len(), executions), (orders, orders as u64));
    }
}

/// Each of k loops has up to two answers *no* at the beginning.
#[test]
fn loops_of_probes_of_any_source_see_each_order() {
    for (ranks, orders, executions) in [(3, 2, 2 * 9), (4, 6, 6 * 27)] {
        let (seen, counted) = fan_in(ranks, |world| async move {
            let mut order = String::new();
            for _ in 1..world.size() {
                let message = loop {
                    if let Some(message) = world.improbe(ANY_SOURCE, 0).await? {
                        break message;
                    }
                };
                order += &message.status().source.to_string();
                message.recv(world.buffer(4)).await?;
            }
            note(order);
            Ok(())
        });
        assert_eq!((seen.len(), counted), (orders, executions));
    }
}

/// A second probe of any source, or a receive, may see the message of another one.
#[test]
fn a_probe_of_any_source_says_nothing_about_the_next() {
    let counted = fan_in(3, |world| async move {
        let mut word = String::new();
        for _ in 0..2 {
            let status = world.iprobe(ANY_SOURCE, 0).await?;
            word += &status.map_or(0, |status| status.source).to_string();
        }
        for source in 1..3 {
            world.recv(&mut world.buffer(4), source, 0).await?;
        }
        note(word);
        Ok(())
    });
    let all = ["00", "01", "02", "11", "12", "21", "22"];
    assert_eq!(counted, (set(&all), 8));
    let counted = fan_in(3, |world| async move {
        let mut word = world.probe(ANY_SOURCE, 0).await?.source.to_string();
        for _ in 0..2 {
            let status = world.recv(&mut world.buffer(4), ANY_SOURCE, 0).await?;
            word += &status.source.to_string();
        }
        note(word);
        Ok(())
    });
    assert_eq!(counted, (set(&["112", "121", "212", "221"]), 4));
    let counted = fan_in(3, |world| async move {
        let mut word = String::new();
        for _ in 0..2 {
            let status = world.probe(ANY_SOURCE, 0).await?;
            word += &status.source.to_string();
        }
        let message = world.mprobe(ANY_SOURCE, 0).await?;
        let source = message.status().source;
        message.recv(world.buffer(4)).await?;
        world.recv(&mut world.buffer(4), 3 - source, 0).await?;
        note(format!("{word}{source}"));
        Ok(())
    });
    let all = ["111", "112", "121", "122", "211", "212", "221", "222"];
    assert_eq!(counted, (set(&all), 8));
}

/// A receive behind a probe may get a message of another source that is sent after the probe.
#[test]
fn a_receive_behind_a_probe_gets_a_later_message() {
    let counted = words(3, |world| async move {
        let mut buffer = world.buffer(4);
        match world.rank() {
            0 => {
                world.probe(1, 0).await?;
                world.send(&buffer, 2, 0).await?;
                let first = world.recv(&mut buffer, ANY_SOURCE, 0).await?;
                note(first.source.to_string());
                world.recv(&mut buffer, ANY_SOURCE, 0).await?;
            }
            1 => world.send(&buffer, 0, 0).await?,
            _ => {
                world.recv(&mut buffer, 0, 0).await?;
                world.send(&buffer, 0, 0).await?;
            }
        }
        Ok(())
    });
    assert_eq!(counted, (set(&["1", "2"]), 2));
}

/// Messages of one rank stay in order, also if probes see them in another one; a message ahead of
/// a seen one is there.
#[test]
fn probes_by_tag_do_not_reorder_messages() {
    let (seen, _) = words(3, |world| async move {
        match world.rank() {
            0 => {
                world.probe(1, 2).await?;
                let ahead = world.iprobe(1, ANY_TAG).await?;
                let mut word = format!("{:?}", ahead.map(|status| status.tag));
                for _ in 0..3 {
                    let mut buffer = world.buffer(4);
                    let status = world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
                    word += &format!(" {}{}", status.source, status.tag);
                }
                note(word);
            }
            1 => {
                world.send(&world.buffer(4), 0, 1).await?;
                world.send(&world.buffer(4), 0, 2).await?;
            }
            _ => world.send(&world.buffer(4), 0, 3).await?,
        }
        Ok(())
    });
    let orders = [" 11 12 23", " 11 23 12", " 23 11 12"];
    assert_eq!(seen, orders.map(|order| format!("Some(1){order}")).into());
}

/// A probe of any source that no message can end is a deadlock, also behind another one.
#[test]
fn a_probe_of_any_source_without_a_message_is_a_deadlock() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() > 0 {
            return world.send(&world.buffer(4), 0, 0).await;
        }
        let source = world.probe(ANY_SOURCE, 0).await?.source;
        world.probe(ANY_SOURCE, 0).await?;
        world.recv(&mut world.buffer(4), source, 0).await?;
        world.probe(ANY_SOURCE, 0).await.map(drop)
    });
    let report = explored(2, &program);
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    assert!(
        finding.message.contains("probe (any source, tag 0)"),
        "{finding:?}"
    );
    assert!(matches!(finding.kind, FindingKind::Deadlock(_)));
}

/// A receive that is freed after the cancel still takes a message, or does not.
#[test]
fn a_cancelled_receive_that_is_freed_takes_its_message_or_leaves_it() {
    let counted = words(2, |world| async move {
        if world.rank() == 1 {
            world.send(&world.buffer(4), 0, 0).await?;
            return world.send(&world.buffer(8), 0, 0).await;
        }
        let mut request = world.irecv(world.buffer(4), 1, 0)?;
        request.cancel().await;
        request.free();
        let first = world.recv(&mut world.buffer(8), 1, 0).await?;
        note(first.length.to_string());
        match first.length {
            4 => world.recv(&mut world.buffer(8), 1, 0).await.map(drop),
            _ => Ok(()),
        }
    });
    assert_eq!(counted, (set(&["4", "8"]), 2));
}

#[test]
fn a_loop_that_ends_is_no_deadlock() {
    let (seen, _) = words(2, |world| async move {
        let mut request = world.irecv(world.buffer(4), 1 - world.rank(), 0)?;
        let mut over = false;
        for _ in 0..5 {
            over = over || request.test().await?.is_some();
        }
        note(format!("{} {over}", world.rank()));
        world.send(&world.buffer(4), 1 - world.rank(), 0).await?;
        if !over {
            request.wait().await?;
        }
        Ok(())
    });
    assert_eq!(seen, set(&["0 false", "0 true", "1 false", "1 true"]));
}

#[test]
fn waits_for_what_never_comes_are_deadlocks() {
    let waits = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            let never = |tag| world.irecv(world.buffer(4), 1, tag);
            let mut requests = [never(1)?, never(2)?];
            waitany(&mut requests).await?;
        }
        Ok(())
    });
    let report = explored(2, &waits);
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    let text = "waitany (recv (source 1, tag 1), recv (source 1, tag 2))";
    assert!(finding.message.contains(text), "{finding:?}");
    let loops = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            let mut request = world.irecv(world.buffer(4), 1, 0)?;
            while request.test().await?.is_none() {}
        }
        Ok(())
    });
    let report = explored(2, &loops);
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    assert!(
        finding.message.contains("polling: test of recv"),
        "{finding:?}"
    );
    let is_stuck = matches!(
        finding.kind,
        FindingKind::Deadlock(_) | FindingKind::Livelock(_)
    );
    assert!(is_stuck, "{finding:?}");
}

/// A put that is over at once here may be over later elsewhere (MPI 5.0, 12.3.5).
#[test]
fn a_test_of_a_put_says_no_or_yes() {
    let (seen, executions) = words(2, |world| async move {
        let window = world.window(world.buffer(8), 1).await?;
        if world.rank() == 0 {
            window.lock(1, false).await?;
            let mut request = window.rput(&world.buffer(8), 1, 0).await?;
            let over = request.test().await?.is_some();
            note(format!("{over}"));
            if !over {
                request.wait().await?;
            }
            window.unlock(1).await?;
        }
        window.free().await.map(drop)
    });
    assert_eq!((seen, executions), (set(&["true", "false"]), 2));
}
