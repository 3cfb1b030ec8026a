//! Promise: a loop that reads a window until the memory changes has a finite search, and a read
//! that follows an equal read has all results that MPI permits, and no others.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::common::{explored, on_ranks, succeeds};
use explore::FindingKind;
use mpi::prelude::*;
use run::Program;

fn number(value: u64) -> Buffer {
    Buffer::of(&[value])
}

/// The number in a result.
fn value_of(result: &Buffer) -> u64 {
    let values = result.values::<u64>().expect("numbers");
    values.expect("no phantom")[0]
}

/// Reads a number of the window of rank 0 in one step, at one place of the program.
async fn look(window: &Window, place: u64) -> Result<u64> {
    let op = Op::no_op::<u64>();
    let result = window.fetch_and_op(&number(0), 0, place, &op).await?;
    window.flush(0).await?;
    Ok(value_of(&result))
}

/// Replaces a number of the window of rank 0. Returns the number before.
async fn replace(window: &Window, place: u64, value: u64) -> Result<u64> {
    let op = Op::replace::<u64>();
    let result = window.fetch_and_op(&number(value), 0, place, &op).await?;
    window.flush(0).await?;
    Ok(value_of(&result))
}

/// A program in an epoch of shared locks of a window of two numbers.
fn in_window<F: Future<Output = Result<()>> + 'static>(
    body: impl Fn(Comm, Rc<Window>) -> F + Clone + 'static,
) -> Rc<dyn Program> {
    on_ranks(move |world: Comm| {
        let body = body.clone();
        async move {
            let window = Rc::new(world.window(Buffer::zeroed(16), 8).await?);
            window.lock_all().await?;
            body(world, Rc::clone(&window)).await?;
            window.unlock_all().await?;
            let window = Rc::into_inner(window).expect("the body is over");
            window.free().await?;
            Ok(())
        }
    })
}

/// Returns the results of rank 1, which `read` gives, while rank 0 stores 1 at place 0.
fn results_of<F: Future<Output = Result<Vec<u64>>> + 'static>(
    read: impl Fn(Rc<Window>) -> F + Copy + 'static,
) -> BTreeSet<Vec<u64>> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let results = Arc::clone(&seen);
    let program = in_window(move |world, window| {
        let results = Arc::clone(&results);
        async move {
            if world.rank() == 0 {
                replace(&window, 0, 1).await?;
                return Ok(());
            }
            let found = read(window).await?;
            results.lock().expect("no panic").insert(found);
            Ok(())
        }
    });
    succeeds(2, &program);
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

#[test]
fn equal_reads_have_all_results_up_to_the_bound() {
    let three = results_of(|window| async move {
        let mut found = Vec::new();
        for _ in 0..3 {
            found.push(look(&window, 0).await?);
        }
        Ok(found)
    });
    let expected = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]];
    assert_eq!(three, expected.map(|all| all.to_vec()).into());
    // The third one is another, or all are equal.
    let four = results_of(|window| async move {
        let mut found = Vec::new();
        for _ in 0..4 {
            found.push(look(&window, 0).await?);
        }
        Ok(found)
    });
    let expected = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]];
    assert_eq!(four, expected.map(|all| all.to_vec()).into());
}

#[test]
fn reads_of_two_places_are_no_repetitions() {
    let found = results_of(|window| async move {
        let mut found = Vec::new();
        for place in [0, 1, 0, 1, 0] {
            found.push(look(&window, place).await?);
        }
        Ok(found)
    });
    assert_eq!(found.len(), 4, "{found:?}");
}

/// The call by which rank 1 learns of the message that rank 0 sends behind a store.
#[derive(Clone, Copy)]
enum News {
    Receive,
    Probe,
    Test,
}

#[test]
fn a_read_behind_a_message_is_no_repetition() {
    for news in [News::Receive, News::Probe, News::Test] {
        let program = in_window(move |world, window| async move {
            let mut token = world.buffer(1);
            if world.rank() == 0 {
                replace(&window, 0, 1).await?;
                return world.send(&token, 1, 0).await;
            }
            let mut request = match news {
                News::Test => Some(world.irecv(world.buffer(1), 0, 0)?),
                News::Receive | News::Probe => None,
            };
            let mut is_later = false;
            loop {
                let found = look(&window, 0).await?;
                assert!(found == 1 || !is_later, "the store was complete");
                if is_later {
                    break;
                }
                is_later = match &mut request {
                    Some(request) => request.test().await?.is_some(),
                    None if matches!(news, News::Probe) => world.iprobe(0, 0).await?.is_some(),
                    None => world.recv(&mut token, 0, 0).await.map(|_| true)?,
                };
            }
            if matches!(news, News::Probe) {
                world.recv(&mut token, 0, 0).await?;
            }
            Ok(())
        });
        succeeds(2, &program);
    }
}

#[test]
fn a_read_that_changes_the_memory_is_no_repetition() {
    let program = in_window(|_, window| async move {
        let op = Op::sum::<u64>();
        let mut count = 0;
        while value_of(&window.fetch_and_op(&number(1), 0, 0, &op).await?) < 3 {
            count += 1;
            assert!(count < 4, "each call counts");
        }
        Ok(())
    });
    succeeds(2, &program);
}

/// Ranks that take a lock by a compare-and-swap, and are alone if `exclusive`.
fn locked(exclusive: bool) -> Rc<dyn Program> {
    in_window(move |_, window| async move {
        let (free, taken) = (number(0), number(1));
        loop {
            let found = match exclusive {
                true => {
                    let before = window.compare_and_swap::<u64>(&taken, &free, 0, 0);
                    value_of(&before.await?)
                }
                false => look(&window, 0).await?,
            };
            if found == 0 {
                break;
            }
        }
        if !exclusive {
            replace(&window, 0, 1).await?;
        }
        assert_eq!(replace(&window, 1, 1).await?, 0, "alone");
        replace(&window, 1, 0).await?;
        replace(&window, 0, 0).await?;
        Ok(())
    })
}

#[test]
fn a_spin_lock_excludes_others_or_is_found() {
    assert_eq!(succeeds(2, &locked(true)), 6);
    assert_eq!(succeeds(3, &locked(true)), 114);
    let report = explored(2, &locked(false));
    let is_found = |finding: &explore::Finding| finding.message.contains("alone");
    assert!(report.findings.iter().any(is_found), "{report:?}");
}

#[test]
fn a_loop_that_no_rank_ends_is_stuck() {
    let program = in_window(|world, window| async move {
        while world.rank() > 0 && look(&window, 0).await? == 0 {}
        Ok(())
    });
    let report = explored(2, &program);
    let FindingKind::Deadlock(graph) = &report.findings[0].kind else {
        panic!("{report:?}");
    };
    let mut waits = graph
        .blocked
        .iter()
        .map(|blocked| blocked.waits_in.as_str());
    let expected = "polling: fetch_and_op of a window at rank 0";
    assert!(waits.any(|wait| wait == expected), "{graph:?}");
}
