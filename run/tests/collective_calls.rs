//! Promise: collective calls that do not fit together are errors that name both lines, in a plain
//! run and under the model checker; correct programs have no finding, and collectives without
//! wildcards add no executions.

mod wrong;

use explore::Verdict;
use mpi::{Comm, Op};
use sim_core::Outcome;
use wrong::{explored, fails, plain, scheduled};

#[test]
fn different_kinds() {
    let program = |world: Comm| async move {
        let mut data = world.buffer(8);
        if world.rank() == 2 {
            world.barrier().await
        } else {
            world.bcast(&mut data, 0).await
        }
    };
    let texts = [
        "calls barrier at",
        "calls bcast at",
        "collective 1 of the world",
        "collective_calls.rs",
    ];
    fails(3, program, &texts);
}

#[test]
fn different_roots() {
    let program = |world: Comm| async move {
        let root = usize::from(world.rank() == 3);
        world.bcast(&mut world.buffer(8), root).await
    };
    fails(4, program, &["has root 1", "has root 0"]);
}

#[test]
fn different_operations_and_types() {
    let program = |world: Comm| async move {
        let op = if world.rank() == 1 {
            Op::max::<f64>()
        } else {
            Op::sum::<f64>()
        };
        world.allreduce(&world.buffer(8), &op).await.map(drop)
    };
    fails(
        2,
        program,
        &["the operation max of f64", "the operation sum of f64"],
    );
    let program = |world: Comm| async move {
        let op = if world.rank() == 1 {
            Op::sum::<u64>()
        } else {
            Op::sum::<f64>()
        };
        world.allreduce(&world.buffer(8), &op).await.map(drop)
    };
    fails(
        2,
        program,
        &["the operation sum of u64", "the operation sum of f64"],
    );
}

#[test]
fn different_lengths() {
    let program = |world: Comm| async move {
        let bytes = if world.rank() == 1 { 16 } else { 8 };
        world
            .allreduce(&world.buffer(bytes), &Op::sum::<f64>())
            .await
            .map(drop)
    };
    fails(3, program, &["gives 16 bytes", "gives 8 bytes"]);
    let program = |world: Comm| async move {
        let bytes = if world.rank() == 1 { 16 } else { 8 };
        world.gather(&world.buffer(bytes), 0).await.map(drop)
    };
    fails(3, program, &["gives 16 bytes", "gives 8 bytes"]);
}

/// Rank 1 gives fewer bytes than the root expects from it.
#[test]
fn different_blocks() {
    let program = |world: Comm| async move {
        let bytes = if world.rank() == 1 { 8 } else { 16 };
        let blocks = mpi::Blocks::from([16, 16]);
        let blocks = (world.rank() == 0).then_some(&blocks);
        world
            .gather_v(&world.buffer(bytes), blocks, 0)
            .await
            .map(drop)
    };
    fails(
        2,
        program,
        &["counts differ: 8 bytes from rank 1, expected 16 bytes"],
    );
}

#[test]
fn a_rank_that_does_not_call() {
    let program = |world: Comm| async move {
        if world.rank() == 1 {
            return Ok(());
        }
        world
            .allreduce(&world.buffer(8), &Op::sum::<f64>())
            .await
            .map(drop)
    };
    let texts = [
        "allreduce #1",
        "not called by rank 1",
        "collective_calls.rs",
    ];
    fails(3, program, &texts);
}

/// The root of a broadcast leaves it at once; no message tells that the other rank never comes.
#[test]
fn a_rank_that_does_not_receive_a_broadcast() {
    let program = |world: Comm| async move {
        if world.rank() == 1 {
            return Ok(());
        }
        world.bcast(&mut world.buffer(8), 0).await
    };
    fails(2, program, &["not called by rank 1"]);
}

/// A deadlock that depends on the algorithm: a broadcast that is sent eagerly hides it.
#[test]
fn collectives_of_two_communicators_in_different_orders() {
    let program = |world: Comm| async move {
        let other = world.dup().await?;
        let (mut first, mut second) = (world.buffer(8), world.buffer(8));
        if world.rank() == 0 {
            world.bcast(&mut first, 0).await?;
            other.bcast(&mut second, 1).await
        } else {
            other.bcast(&mut second, 1).await?;
            world.bcast(&mut first, 0).await
        }
    };
    assert_eq!(plain(2, program).report.outcome, Outcome::Finished);
    let report = explored(2, program);
    assert_eq!(report.findings[0].kind.name(), "deadlock");
    let message = &report.findings[0].message;
    assert!(
        message.contains("until all ranks have called it"),
        "{message}"
    );
    let report = scheduled(2, program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
}

#[test]
fn non_blocking_calls_in_different_orders() {
    let program = |world: Comm| async move {
        let data = || world.buffer(8);
        let (mut first, mut second) = if world.rank() == 0 {
            (world.ibcast(data(), 0)?, world.ibarrier()?)
        } else {
            let barrier = world.ibarrier()?;
            (world.ibcast(data(), 0)?, barrier)
        };
        first.wait().await?;
        second.wait().await.map(drop)
    };
    fails(2, program, &["calls barrier", "calls bcast"]);
}

#[test]
fn correct_programs_have_one_execution() {
    let program = |world: Comm| async move {
        let own = world.buffer_of(&[world.rank() as u64]);
        let sum = world.allreduce(&own, &Op::sum::<u64>()).await?;
        assert_eq!(sum.values::<u64>()?, Some(vec![15]));
        let mut data = world.buffer_of(&[if world.rank() == 2 { 7_u64 } else { 0 }]);
        world.bcast(&mut data, 2).await?;
        assert_eq!(data.values::<u64>()?, Some(vec![7]));
        let all = world.gather(&own, 1).await?;
        assert_eq!(all.is_some(), world.rank() == 1);
        world.barrier().await
    };
    assert_eq!(plain(6, program).report.outcome, Outcome::Finished);
    let report = explored(6, program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(report.statistics.finished, 1);
}

/// The program continues while a reduction is in progress.
#[test]
fn correct_non_blocking_programs_have_no_finding() {
    let program = |world: Comm| async move {
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let mut sum = world.iallreduce(own, &Op::sum::<u64>())?;
        let next = (world.rank() + 1) % world.size();
        let before = (world.rank() + world.size() - 1) % world.size();
        let mut token = world.buffer(8);
        world
            .sendrecv(&world.buffer(8), next, 0, &mut token, before, 0)
            .await?;
        let done = sum.wait().await?;
        assert_eq!(done.buffer.values::<u64>()?, Some(vec![6]));
        Ok(())
    };
    assert_eq!(plain(3, program).report.outcome, Outcome::Finished);
    let report = explored(3, program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
}
