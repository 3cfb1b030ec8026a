//! Promise: conflicting accesses to a window are errors that name both lines, in a plain run where
//! they meet and under the model checker in any case; correct programs have no finding, in whatever
//! order accesses arrive.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::common::{checked, explored, on_ranks, plain, succeeds};
use explore::{FindingKind, Report};
use mpi::{FenceAssertions, TargetPlace, prelude::*};
use run::Program;
use sim_core::{Note, Outcome};

/// The program has a finding under the checker, with these texts.
#[track_caller]
fn is_found(ranks: u32, program: &Rc<dyn Program>, expected: &[&str]) {
    let report = explored(ranks, program);
    let messages: Vec<&str> = report.findings.iter().map(|f| f.message.as_str()).collect();
    for text in expected {
        let found = messages.iter().any(|message| message.contains(text));
        assert!(found, "{text}: {messages:?}");
    }
}

fn number(value: u64) -> Buffer {
    Buffer::of(&[value])
}

async fn two_puts(world: Comm) -> Result<()> {
    let window = world.window(number(0), 8).await?;
    window.fence().await?;
    if world.rank() < 2 {
        window.put(&number(1), 2, 0).await?;
    }
    window.fence().await?;
    window.free().await?;
    Ok(())
}

#[test]
fn two_puts_in_one_epoch_conflict_also_in_a_plain_run() {
    let texts = [
        "conflicting accesses to bytes 0 to 7 of the window of rank 2: put of rank",
        "and put of rank",
        "at crates/run/tests/rma.rs:",
        "; no synchronisation is between them",
    ];
    let run = plain(3, &on_ranks(two_puts));
    let outcome = format!("{:?}", run.report.outcome);
    for text in texts {
        assert!(outcome.contains(text), "{text}: {outcome}");
    }
    is_found(3, &on_ranks(two_puts), &texts);
}

#[test]
fn puts_to_different_bytes_do_not_conflict() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(Buffer::zeroed(16), 8).await?;
        window.fence().await?;
        window.put(&number(1), 0, world.rank() as u64).await?;
        window.fence().await?;
        window.free().await?;
        Ok(())
    });
    // The put of a rank arrives before the flush of the other one, or after, but not both after.
    assert_eq!(succeeds(2, &program), 3);
}

/// Returns a program in which two ranks accumulate with these operations in one epoch.
fn accumulating(operations: [Op; 2]) -> Rc<dyn Program> {
    on_ranks(move |world: Comm| {
        let op = operations[world.rank()].clone();
        async move {
            let window = world.window(number(0), 8).await?;
            window.fence().await?;
            window.accumulate(&number(1), 0, 0, &op).await?;
            window.fence().await?;
            window.free().await?;
            Ok(())
        }
    })
}

#[test]
fn accumulates_with_different_operations_conflict() {
    let texts = [
        "accumulate with sum of u64 of rank 0 at",
        "accumulate with product of u64 of rank 1 at",
    ];
    let program = || accumulating([Op::sum::<u64>(), Op::product::<u64>()]);
    let outcome = format!("{:?}", plain(2, &program()).report.outcome);
    assert!(texts.iter().all(|text| outcome.contains(text)), "{outcome}");
    is_found(2, &program(), &texts);
    // MPI_REPLACE and MPI_NO_OP are stores and loads that no other access divides.
    for other in [Op::sum::<u64>(), Op::replace::<u64>(), Op::no_op::<u64>()] {
        succeeds(2, &accumulating([Op::sum::<u64>(), other]));
    }
}

#[test]
fn accumulates_of_two_ranks_commute() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        window.lock_all().await?;
        if world.rank() > 0 {
            window
                .accumulate(&number(1), 0, 0, &Op::sum::<u64>())
                .await?;
        }
        window.unlock_all().await?;
        world.barrier().await?;
        let sum = window.read(0, 8).await?;
        assert_eq!(
            sum.values::<u64>()?,
            Some(vec![if world.rank() == 0 { 2 } else { 0 }])
        );
        window.free().await?;
        Ok(())
    });
    assert_eq!(succeeds(3, &program), 1);
}

#[test]
fn exclusive_locks_order_their_accesses() {
    // Who comes second sees what the first one has written: both orders are explored.
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let values = Arc::clone(&seen);
    let program = on_ranks(move |world: Comm| {
        let values = Arc::clone(&values);
        async move {
            let window = world.window(number(0), 8).await?;
            if world.rank() > 0 {
                let mut value = world.buffer(8);
                window.lock(0, true).await?;
                window.get(&mut value, 0, 0).await?;
                let found = value.values::<u64>()?.unwrap_or_default()[0];
                window
                    .put(&number(10 * found + world.rank() as u64), 0, 0)
                    .await?;
                window.unlock(0).await?;
            }
            world.barrier().await?;
            if world.rank() == 0 {
                let last = window
                    .read(0, 8)
                    .await?
                    .values::<u64>()?
                    .unwrap_or_default()[0];
                values.lock().expect("no panic").insert(last);
            }
            window.free().await?;
            Ok(())
        }
    });
    // Two ranks can be the first, and no step can come between a lock and the end of the lock.
    assert_eq!(succeeds(3, &program), 2);
    let seen = seen.lock().expect("no panic").clone();
    assert_eq!(seen, BTreeSet::from([12, 21]));
}

#[test]
fn accesses_under_shared_locks_conflict() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        let mut value = world.buffer(8);
        window.lock(0, false).await?;
        if world.rank() == 0 {
            window.get(&mut value, 0, 0).await?;
        } else {
            window.put(&number(1), 0, 0).await?;
        }
        window.unlock(0).await?;
        window.free().await?;
        Ok(())
    });
    is_found(2, &program, &["put of rank 1 at", "get of rank 0 at"]);
}

#[test]
fn a_flush_and_a_message_order_two_puts() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        window.lock_all().await?;
        match world.rank() {
            0 => {
                window.put(&number(1), 2, 0).await?;
                window.flush(2).await?;
                world.send(&number(0), 1, 0).await?;
            }
            1 => {
                world.recv(&mut world.buffer(8), 0, 0).await?;
                window.put(&number(2), 2, 0).await?;
            }
            _ => {}
        }
        window.unlock_all().await?;
        window.free().await?;
        Ok(())
    });
    // The unlock of rank 0 comes before the put of rank 1, or after.
    assert_eq!(succeeds(3, &program), 2);
}

#[test]
fn a_message_without_a_flush_orders_nothing() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        window.lock_all().await?;
        match world.rank() {
            0 => {
                window.put(&number(1), 2, 0).await?;
                world.send(&number(0), 1, 0).await?;
            }
            1 => {
                world.recv(&mut world.buffer(8), 0, 0).await?;
                window.put(&number(2), 2, 0).await?;
            }
            _ => {}
        }
        window.unlock_all().await?;
        window.free().await?;
        Ok(())
    });
    is_found(3, &program, &["put of rank 0 at", "put of rank 1 at"]);
}

#[test]
fn a_store_conflicts_with_a_put() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        window.fence().await?;
        if world.rank() == 0 {
            window.put(&number(1), 1, 0).await?;
        } else {
            window.write(0, &number(2)).await?;
        }
        window.fence().await?;
        window.free().await?;
        Ok(())
    });
    is_found(2, &program, &["put of rank 0 at", "write of rank 1 at"]);
}

#[test]
fn epochs_of_groups_order_their_accesses() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        let (mine, other) = (world.rank(), 1 - world.rank());
        let neighbour = world.group().incl(&[other])?;
        for round in 0..2 {
            window.write(0, &number(round)).await?;
            window.post(&neighbour).await?;
            window.start(&neighbour).await?;
            window
                .put(&number(10 * round + mine as u64), other, 0)
                .await?;
            window.complete().await?;
            window.wait().await?;
            let found = window.read(0, 8).await?.values::<u64>()?;
            assert_eq!(found, Some(vec![10 * round + other as u64]));
        }
        window.free().await?;
        Ok(())
    });
    // A program cannot tell when a post arrives.
    assert_eq!(succeeds(2, &program), 1);
}

/// Rank 0 starts an epoch, perhaps ends the epoch, and sends to rank 1, which receives, and posts
/// then.
fn started(completes_first: bool) -> Rc<dyn Program> {
    on_ranks(move |world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        let mut token = world.buffer(1);
        let neighbour = world.group().incl(&[1 - world.rank()])?;
        if world.rank() == 0 {
            window.start(&neighbour).await?;
            window.put(&number(7), 1, 0).await?;
            if completes_first {
                window.complete().await?;
                world.send(&token, 1, 0).await?;
            } else {
                world.send(&token, 1, 0).await?;
                window.complete().await?;
            }
        } else {
            world.recv(&mut token, 0, 0).await?;
            window.post(&neighbour).await?;
            window.wait().await?;
            let found = window.read(0, 8).await?.values::<u64>()?;
            assert_eq!(found, Some(vec![7]));
        }
        window.free().await?;
        Ok(())
    })
}

/// The only error of the program is a deadlock on one condition.
#[track_caller]
fn is_stuck_only_if(report: &Report, name: &str, expected: &str) {
    let FindingKind::ConditionalDeadlock(deadlock) = &report.findings[0].kind else {
        panic!("{report:?}");
    };
    let [condition] = &deadlock.only_if[..] else {
        panic!("{deadlock:?}");
    };
    assert!(
        condition.starts_with(name) && condition.ends_with(expected),
        "{condition}"
    );
}

#[test]
fn an_epoch_may_begin_and_end_before_the_post_or_wait_for_it() {
    let expected = "waits for the posts of its targets";
    is_stuck_only_if(
        &explored(2, &started(false)),
        "the start of rank 0 at ",
        expected,
    );
    // Here the wait of either call is enough.
    is_stuck_only_if(
        &explored(2, &started(true)),
        "the start of rank 0 at ",
        expected,
    );
}

#[test]
fn a_start_without_a_post_is_found() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        if world.rank() == 0 {
            window.start(&world.group().incl(&[1])?).await?;
            window.complete().await?;
        }
        window.free().await?;
        Ok(())
    });
    is_stuck_only_if(
        &explored(2, &program),
        "the start of rank 0 at ",
        "waits for the posts of its targets",
    );
}

#[test]
fn a_wait_for_the_end_of_an_epoch_is_no_wait_for_a_lock() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        let mut token = world.buffer(1);
        match world.rank() {
            0 => {
                world.send(&token, 2, 0).await?;
                window.start(&world.group().incl(&[1])?).await?;
                window.complete().await?;
            }
            1 => {
                window.post(&world.group().incl(&[0])?).await?;
                window.wait().await?;
                world.send(&token, 2, 0).await?;
            }
            _ => {
                world.recv(&mut token, 1, 0).await?;
                world.recv(&mut token, 0, 0).await?;
            }
        }
        window.free().await?;
        Ok(())
    });
    let report = checked(3, None, &program);
    is_stuck_only_if(&report, "the send of rank 0 at ", "is not buffered");
}

/// A rank receives its own message between two fences from ranks that are in the first fence or
/// behind it.
#[test]
fn a_fence_that_ends_no_epoch_need_not_wait() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let values = Arc::clone(&seen);
    let program = on_ranks(move |world: Comm| {
        let values = Arc::clone(&values);
        async move {
            let window = world.window(number(0), 8).await?;
            let mut token = world.buffer(1);
            if world.rank() == 0 {
                let first = world.recv(&mut token, ANY_SOURCE, 0).await?;
                values.lock().expect("no panic").insert(first.source);
            }
            if world.rank() == 2 {
                world.send(&token, 0, 0).await?;
            }
            let first = FenceAssertions {
                no_precede: true,
                ..FenceAssertions::default()
            };
            window.fence_with(first).await?;
            window
                .accumulate(&number(1), 0, 0, &Op::sum::<u64>())
                .await?;
            match world.rank() {
                0 => drop(world.recv(&mut token, ANY_SOURCE, 0).await?),
                1 => world.send(&token, 0, 0).await?,
                _ => {}
            }
            window.fence().await?;
            if world.rank() == 0 {
                let sum = window.read(0, 8).await?.values::<u64>()?;
                assert_eq!(sum, Some(vec![3]));
            }
            window.free().await?;
            Ok(())
        }
    });
    succeeds(3, &program);
    let seen = seen.lock().expect("no panic").clone();
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

/// Ranks 0 and 2 add twice to the window of rank 1. The order of two updates of one rank at
/// different places is free (MPI 5.0, 12.7.2), and is not explored.
#[test]
fn the_order_of_updates_in_an_epoch_of_accesses_is_a_stated_bound() {
    for (places, is_bound) in [([0, 0], false), ([0, 1], true)] {
        let program = on_ranks(move |world: Comm| async move {
            let window = world.window(Buffer::zeroed(16), 8).await?;
            if world.rank() == 1 {
                window.post(&world.group().incl(&[0, 2])?).await?;
                window.wait().await?;
            } else {
                window.start(&world.group().incl(&[1])?).await?;
                for place in places {
                    let sum = Op::sum::<u64>();
                    window.accumulate(&number(1), 1, place, &sum).await?;
                }
                window.complete().await?;
            }
            window.free().await?;
            Ok(())
        });
        let report = explored(3, &program);
        let is_stated = report.notes.iter().any(|note| match note {
            Note::Bound(text) => text.starts_with("accesses of one rank to one target arrive in"),
            Note::Remark(_) => false,
        });
        assert_eq!(is_stated, is_bound, "{:?}", report.notes);
    }
}

#[test]
fn a_lock_that_is_never_given_back_is_a_deadlock_that_names_its_holder() {
    let program = on_ranks(|world: Comm| async move {
        let window = world.window(number(0), 8).await?;
        if world.rank() > 0 {
            window.lock(0, true).await?;
        }
        world.barrier().await
    });
    let run = plain(3, &program);
    let Outcome::Deadlock(graph) = &run.report.outcome else {
        panic!("a deadlock was expected: {:?}", run.report.outcome);
    };
    let graph = format!("{graph:?}");
    let text = "lock of window 0 at rank 0, held by rank ";
    assert!(graph.contains(text), "{graph}");
    is_found(3, &program, &["deadlock"]);
}

#[test]
fn accesses_to_places_of_a_datatype_conflict_by_their_bytes() {
    let columns = |apart: u64| {
        move |world: Comm| async move {
            let window = world.window(Buffer::zeroed(64), 8).await?;
            let column = Datatype::vector(4, 1, 2, &Datatype::of::<u64>())?;
            window.fence().await?;
            if world.rank() < 2 {
                let place = TargetPlace::items(apart * world.rank() as u64, 1, &column)?;
                window.put(&Buffer::of(&[1_u64; 4]), 2, place).await?;
            }
            window.fence().await?;
            window.free().await?;
            Ok(())
        }
    };
    succeeds(3, &on_ranks(columns(1)));
    let texts = ["conflicting accesses to bytes 0 to 7 of the window of rank 2: put of rank"];
    is_found(3, &on_ranks(columns(0)), &texts);
}
