//! Promise: wrong calls of one-sided communication are errors that name the place, the found value
//! and the expected value; the report of a blocked call names the ranks for which the call waits.

use mpi::{WindowError, prelude::*};
use testing::ranks::world;

fn group(world: &Comm, ranks: &[usize]) -> Group {
    world.group().incl(ranks).expect("ranks of the world")
}

/// The text of the error of a call.
#[track_caller]
fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("an error is expected").to_string()
}

/// Asserts that the call failed with this text.
#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, expected: impl AsRef<str>) {
    assert_eq!(text(result), expected.as_ref());
}

/// The text of a call that an epoch does not allow.
fn in_epoch(call: &str, began: &str, at: &str) -> String {
    format!("{call} of window 0 in the epoch that {began} began at {at}")
}

fn line(location: u32) -> String {
    format!("crates/mpi/tests/rma_errors.rs:{location}")
}

#[test]
fn calls_need_an_epoch() {
    world(2).run(|world: Comm| async move {
        let window = world.window(world.buffer(64 << world.rank()), 8).await?;
        let data = world.buffer(16);
        let unlocked = |call| {
            format!("{call} of window 0 at rank 1, which this rank has not locked")
        };
        let outside = "access outside of an epoch: expected fence, start or lock of window 0 before an access to rank 1";
        fails(window.put(&data, 1, 0).await, outside);
        let mut got = world.buffer(8);
        fails(window.get(&mut got, 1, 0).await, outside);
        fails(window.unlock(1).await, unlocked("unlock"));
        fails(window.flush(1).await, unlocked("flush"));
        fails(window.flush_all().await, "flush_all of window 0 without lock before");
        fails(window.unlock_all().await, "unlock_all of window 0 without lock_all before");
        fails(window.complete().await, "complete of window 0 without start before");
        fails(window.wait().await, "wait of window 0 without post before");
        assert_eq!(
            window.lock(2, true).await,
            Err(Error::Rank { rank: 2, size: 2 })
        );
        Ok(())
    }).returned();
}

#[test]
fn one_epoch_at_a_time() {
    world(2)
        .run(|world: Comm| async move {
            let window = world.window(world.buffer(64 << world.rank()), 8).await?;
            window.lock(1, false).await?;
            let locked = line(line!() - 1);
            fails(
                window.lock(1, true).await,
                format!("window 0 at rank 1 is locked already by this rank, at {locked}"),
            );
            fails(window.fence().await, in_epoch("fence", "lock", &locked));
            fails(
                window.lock_all().await,
                in_epoch("lock_all", "lock", &locked),
            );
            window.unlock(1).await?;
            let around = group(&world, &[1 - world.rank()]);
            window.post(&around).await?;
            let posted = line(line!() - 1);
            fails(
                window.post(&around).await,
                in_epoch("post", "post", &posted),
            );
            window.start(&around).await?;
            window.complete().await?;
            window.wait().await?;
            window.fence().await?;
            window.put(&world.buffer(8), 0, 0).await?;
            let fenced = line(line!() - 2);
            fails(window.free().await, in_epoch("free", "fence", &fenced));
            Ok(())
        })
        .returned();
}

#[test]
fn arguments_are_checked() {
    world(2)
        .run(|world: Comm| async move {
            let window = world.window(world.buffer(64 << world.rank()), 8).await?;
            let data = world.buffer(16);
            window.lock(1, false).await?;
            let range = window.put(&data, 1, 15).await;
            let range = range.expect_err("the window ends before");
            assert_eq!(range.class(), ErrorClass::RmaRange);
            assert_eq!(
                range.to_string(),
                "invalid range: 16 bytes from byte 120 on, window 0 has 128 bytes at rank 1"
            );
            assert!(text(window.put(&data, 1, u64::MAX).await).starts_with("invalid range"));
            assert_eq!(
                window.put(&data, 2, 0).await,
                Err(Error::Rank { rank: 2, size: 2 })
            );
            let own = Op::new::<u64>("mine", true, |_, _| {});
            fails(
                window.accumulate(&data, 1, 0, &own).await,
                "invalid operation `mine`: an accumulate expects a built-in operation",
            );
            assert_eq!(
                window
                    .accumulate(&world.buffer(12), 1, 0, &Op::sum::<u64>())
                    .await,
                Err(Error::Op {
                    element: 8,
                    length: 12
                })
            );
            let two = window.fetch_and_op(&data, 1, 0, &Op::sum::<u64>()).await;
            fails(
                two,
                "invalid length: a buffer of 16 bytes, expected 8 bytes",
            );
            window.unlock(1).await?;
            let beyond = window.read(60 << world.rank(), 8 << world.rank()).await;
            assert!(text(beyond).starts_with("invalid range"));
            let own = [world.rank()];
            window.post(&group(&world, &own)).await?;
            window.start(&group(&world, &own)).await?;
            let other = window.put(&data, 1 - world.rank(), 0).await;
            let other = other.expect_err("the target is not in the group");
            assert_eq!(other.class(), ErrorClass::RmaSync);
            window.complete().await?;
            window.wait().await?;
            let unit = world.window(world.buffer(8), 0).await;
            assert_eq!(
                unit.expect_err("a unit of 0"),
                Error::Window(&WindowError::Unit)
            );
            Ok(())
        })
        .returned();
}

#[test]
fn a_blocked_call_says_for_whom_it_waits() {
    let outcome = world(4).run(|world: Comm| async move {
        let window = world.window(world.buffer(8), 1).await?;
        match world.rank() {
            0 => window.start(&group(&world, &[1, 2])).await?,
            1 => {
                window.lock(3, true).await?;
                world.recv(&mut world.buffer(1), 0, 0).await?;
            }
            2 => {
                world.sleep(1.0).await;
                window.lock(3, false).await?;
            }
            _ => {
                window.post(&group(&world, &[0])).await?;
                window.wait().await?;
            }
        }
        Ok(())
    });
    assert_eq!(
        outcome.blocked(0),
        ("start of window 0 for post of ranks 1, 2", &[1, 2][..])
    );
    assert_eq!(outcome.blocked(2), ("lock of window 0 at rank 3", &[3][..]));
    assert_eq!(
        outcome.blocked(3),
        ("wait of window 0 for complete of rank 0", &[0][..])
    );
}
