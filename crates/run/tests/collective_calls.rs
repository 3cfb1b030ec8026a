//! Promise: collective calls that do not fit together are errors that name both lines, in a plain
//! run and under the model checker; correct programs have no finding, and collectives without
//! wildcards add no executions.

use std::rc::Rc;

use crate::common::{explored, fails, on_ranks, plain, scheduled, succeeds};
use explore::{Report, Verdict};
use mpi::{Blocks, Collective, prelude::*};
use run::Program;
use sim_core::Outcome;

/// The program fails with these texts in both runs; the explored message names two of its lines.
#[track_caller]
fn differs(ranks: u32, program: &Rc<dyn Program>, expected: &[&str]) {
    let message = fails(ranks, program, expected);
    let lines = message.matches("collective_calls.rs:").count();
    assert_eq!(lines, 2, "{message}");
}

#[test]
fn different_kinds() {
    let program = on_ranks(|world: Comm| async move {
        let mut data = world.buffer(8);
        if world.rank() == 2 {
            world.barrier().await
        } else {
            world.bcast(&mut data, 0).await
        }
    });
    let texts = [
        "calls barrier at",
        "calls bcast at",
        "collective 1 of the world",
        "collective_calls.rs",
    ];
    differs(3, &program, &texts);
}

#[test]
fn different_roots() {
    let program = on_ranks(|world: Comm| async move {
        let root = usize::from(world.rank() == 3);
        world.bcast(&mut world.buffer(8), root).await
    });
    differs(4, &program, &["has root 1", "has root 0"]);
}

#[test]
fn different_operations_and_types() {
    let program = on_ranks(|world: Comm| async move {
        let op = if world.rank() == 1 {
            Op::max::<f64>()
        } else {
            Op::sum::<f64>()
        };
        world.allreduce(world.buffer(8), &op).await.map(drop)
    });
    differs(
        2,
        &program,
        &["the operation max of f64", "the operation sum of f64"],
    );
    let program = on_ranks(|world: Comm| async move {
        let op = if world.rank() == 1 {
            Op::sum::<u64>()
        } else {
            Op::sum::<f64>()
        };
        world.allreduce(world.buffer(8), &op).await.map(drop)
    });
    differs(
        2,
        &program,
        &["the operation sum of u64", "the operation sum of f64"],
    );
}

/// Calls a collective with 16 bytes at rank 1 and 8 bytes at the others, or blocks of them.
async fn with_different_lengths(world: Comm, kind: Collective) -> Result<()> {
    let (bytes, op) = (8 + 8 * (world.rank() as u64 % 2), Op::sum::<f64>());
    let (mut own, all) = (world.buffer(bytes), world.buffer(bytes * 3));
    match kind {
        Collective::Bcast => world.bcast(&mut own, 0).await,
        Collective::Reduce => world.reduce(&own, &op, 0).await.map(drop),
        Collective::Allreduce => world.allreduce(&own, &op).await.map(drop),
        Collective::Gather => world.gather(&own, 0).await.map(drop),
        Collective::Scatter => world.scatter(Some(&all), &mut own, 0).await,
        Collective::Allgather => world.allgather(&own).await.map(drop),
        Collective::Alltoall => world.alltoall(&all).await.map(drop),
        Collective::ReduceScatterBlock => world.reduce_scatter_block(&all, &op).await.map(drop),
        Collective::Scan => world.scan(&own, &op).await.map(drop),
        Collective::Exscan => world.exscan(&own, &op).await.map(drop),
        other => panic!("{other}"),
    }
}

#[test]
fn different_lengths() {
    use Collective as C;
    let of_a_block = ["gives 16 bytes", "gives 8 bytes"];
    let of_all = ["gives 48 bytes", "gives 24 bytes"];
    for (kind, texts) in [
        (C::Bcast, of_a_block),
        (C::Reduce, of_a_block),
        (C::Allreduce, of_a_block),
        (C::Gather, of_a_block),
        (C::Scatter, of_a_block),
        (C::Allgather, of_a_block),
        (C::Alltoall, of_all),
        (C::ReduceScatterBlock, of_all),
        (C::Scan, of_a_block),
        (C::Exscan, of_a_block),
    ] {
        let program = on_ranks(move |world| with_different_lengths(world, kind));
        differs(3, &program, &texts);
    }
}

/// Calls a collective with blocks of 8 bytes, of which rank 1 gives or expects 16.
async fn with_different_blocks(world: Comm, kind: Collective) -> Result<()> {
    let rank = world.rank();
    let bytes = if rank == 1 { 16 } else { 8 };
    let (own, op) = (world.buffer(bytes), Op::sum::<f64>());
    let equal = || Blocks::from([8, 8, 8]);
    match kind {
        Collective::Gatherv => {
            let blocks = equal();
            let blocks = (rank == 0).then_some(&blocks);
            world.gather_v(&own, blocks, 0).await.map(drop)
        }
        Collective::Scatterv => {
            let (all, mut own, blocks) = (world.buffer(24), own, equal());
            let all = (rank == 0).then_some((&all, &blocks));
            world.scatter_v(all, &mut own, 0).await
        }
        Collective::Allgatherv => {
            let blocks = Blocks::from([8, bytes, 8]);
            world.allgather_v(&own, blocks).await.map(drop)
        }
        Collective::Alltoallv => {
            let all = world.buffer(16 + bytes);
            let send = Blocks::from([8, 8, bytes]);
            world.alltoall_v(&all, send, equal()).await.map(drop)
        }
        Collective::ReduceScatter => {
            let blocks = Blocks::from(if rank == 1 { [16, 0, 8] } else { [8, 8, 8] });
            let all = world.buffer(24);
            world.reduce_scatter(&all, blocks, &op).await.map(drop)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn different_blocks() {
    use Collective as C;
    let to_the_root = ["gives 16 bytes to rank 0", "expects 8 bytes of rank 1"];
    let to_rank_2 = ["gives 16 bytes to rank 2", "expects 8 bytes of rank 1"];
    let of_the_root = ["expects 16 bytes of rank 0", "gives 8 bytes to rank 1"];
    for (kind, texts) in [
        (C::Gatherv, to_the_root),
        (C::Scatterv, of_the_root),
        (C::Allgatherv, to_the_root),
        (C::Alltoallv, to_rank_2),
        (C::ReduceScatter, to_the_root),
    ] {
        let program = on_ranks(move |world| with_different_blocks(world, kind));
        differs(3, &program, &texts);
    }
}

/// No message of one call reaches the other rank: the roots of both send only.
#[test]
fn different_kinds_without_a_message_between_them() {
    let program = on_ranks(|world: Comm| async move {
        let mut own = world.buffer(8);
        if world.rank() == 0 {
            world.bcast(&mut own, 0).await
        } else {
            world.scatter(Some(&world.buffer(16)), &mut own, 1).await
        }
    });
    differs(2, &program, &["calls bcast", "calls scatter"]);
}

#[test]
fn different_element_types() {
    let program = on_ranks(|world: Comm| async move {
        let mut data = if world.rank() == 1 {
            world.buffer_of(&[0_i32; 2])
        } else {
            world.buffer_of(&[1.0_f64])
        };
        world.bcast(&mut data, 0).await
    });
    differs(3, &program, &["has elements of i32", "has elements of f64"]);
}

#[test]
fn a_rank_that_does_not_call() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 1 {
            return Ok(());
        }
        world
            .allreduce(world.buffer(8), &Op::sum::<f64>())
            .await
            .map(drop)
    });
    let texts = [
        "allreduce #1",
        "not called by rank 1",
        "collective_calls.rs",
    ];
    fails(3, &program, &texts);
}

/// The root of a broadcast leaves it at once; no message shows that the other rank never comes.
#[test]
fn a_rank_that_does_not_receive_a_broadcast() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 1 {
            return Ok(());
        }
        world.bcast(&mut world.buffer(8), 0).await
    });
    fails(2, &program, &["not called by rank 1"]);
}

/// The message that comes first decides whether rank 0 calls.
#[test]
fn a_rank_that_does_not_call_in_some_interleavings() {
    let program = on_ranks(|world: Comm| async move {
        let mut buffer = world.buffer(8);
        if world.rank() > 0 {
            world.sleep(world.rank() as f64).await;
            world.send(&buffer, 0, 0).await?;
            return world.barrier().await;
        }
        let first = world.recv(&mut buffer, ANY_SOURCE, 0).await?.source;
        world.recv(&mut buffer, ANY_SOURCE, 0).await?;
        if first == 1 {
            return world.barrier().await;
        }
        Ok(())
    });
    assert_eq!(plain(3, &program).report.outcome, Outcome::Finished);
    let report = explored(3, &program);
    let deadlock = report
        .findings
        .iter()
        .find(|one| one.kind.name() == "deadlock");
    let message = &deadlock.expect("a deadlock").message;
    assert!(
        message.contains("barrier #1") && message.contains("not called by rank 0"),
        "{message}"
    );
}

/// A deadlock that only broadcasts show in which the root waits for the others.
#[test]
fn collectives_of_two_communicators_in_different_orders() {
    let program = on_ranks(|world: Comm| async move {
        let other = world.dup().await?;
        let (mut first, mut second) = (world.buffer(8), world.buffer(8));
        if world.rank() == 0 {
            world.bcast(&mut first, 0).await?;
            other.bcast(&mut second, 1).await
        } else {
            other.bcast(&mut second, 1).await?;
            world.bcast(&mut first, 0).await
        }
    });
    assert_eq!(plain(2, &program).report.outcome, Outcome::Finished);
    for report in [explored(2, &program), scheduled(2, &program)] {
        let message = &report.findings[0].message;
        assert!(
            message.contains("waits for all ranks and the bcast of rank 1"),
            "{message}"
        );
    }
}

#[test]
fn non_blocking_calls_in_different_orders() {
    let program = on_ranks(|world: Comm| async move {
        let data = || world.buffer(8);
        let (mut first, mut second) = if world.rank() == 0 {
            (
                world.bcast(&mut data(), 0).start()?,
                world.barrier().start()?,
            )
        } else {
            let barrier = world.barrier().start()?;
            (world.bcast(&mut data(), 0).start()?, barrier)
        };
        first.wait().await?;
        second.wait().await.map(drop)
    });
    differs(
        2,
        &program,
        &["calls nonblocking barrier", "calls nonblocking bcast"],
    );
}

#[test]
fn correct_programs_have_one_execution() {
    let program = on_ranks(|world: Comm| async move {
        let own = world.buffer_of(&[world.rank() as u64]);
        let sum = world.allreduce(&own, &Op::sum::<u64>()).await?;
        assert_eq!(sum.values::<u64>()?, Some(vec![15]));
        let mut data = world.buffer_of(&[if world.rank() == 2 { 7_u64 } else { 0 }]);
        world.bcast(&mut data, 2).await?;
        assert_eq!(data.values::<u64>()?, Some(vec![7]));
        let all = world.gather(&own, 1).await?;
        assert_eq!(all.is_some(), world.rank() == 1);
        world.barrier().await
    });
    assert_eq!(succeeds(6, &program), 1);
}

/// Calls blocking collectives of all kinds of patterns.
async fn blocking(world: Comm) -> Result<()> {
    let (size, op) = (world.size() as u64, Op::sum::<u64>());
    let (mut own, all) = (world.buffer(8), world.buffer(8 * size));
    world.bcast(&mut own, 1).await?;
    world.allreduce(&own, &op).await?;
    world.alltoall(&all).await?;
    world.reduce_scatter_block(&all, &op).await?;
    world.allgather(&own).await?;
    world.reduce(&own, &op, 2).await?;
    world.scan(&own, &op).await.map(drop)
}

#[track_caller]
fn one_execution(ranks: u32, report: &Report) {
    assert_eq!(report.verdict, Verdict::Ok, "{ranks} ranks: {report:?}");
    assert_eq!(report.statistics.executions, 1, "{ranks} ranks: {report:?}");
}

/// Messages of collectives have one order, whether calls wait for all ranks or not.
#[test]
fn blocking_collectives_add_no_executions() {
    for ranks in 4..=6 {
        one_execution(ranks, &explored(ranks, &on_ranks(blocking)));
        one_execution(ranks, &scheduled(ranks, &on_ranks(blocking)));
    }
}

/// Starts collectives of all kinds of patterns, receives from named ranks meanwhile, and sends in
/// the order of the calls.
async fn non_blocking(world: Comm) -> Result<()> {
    let (size, op) = (world.size(), Op::sum::<u64>());
    let (own, all) = (|| world.buffer(8), || world.buffer(8 * size as u64));
    let mut requests = vec![
        world.barrier().start()?,
        world.bcast(&mut own(), 1).start()?,
        world.allreduce(own(), &op).start()?,
        world.alltoall(all()).start()?,
    ];
    let (next, before) = ((world.rank() + 1) % size, (world.rank() + size - 1) % size);
    let mut token = own();
    world
        .sendrecv(&own(), next, 0, &mut token, before, 0)
        .await?;
    waitall(&mut requests).await?;
    let mut again = world.reduce_scatter_block(all(), &op).init()?;
    for _ in 0..2 {
        again.start()?;
        world
            .sendrecv(&own(), before, 0, &mut token, next, 0)
            .await?;
        again.wait().await?;
    }
    world.scan(own(), &op).start()?.wait().await.map(drop)
}

/// A program that waits for all its non-blocking calls behaves the same in any order of messages.
#[test]
fn non_blocking_collectives_add_no_executions() {
    for ranks in 2..=5 {
        one_execution(ranks, &explored(ranks, &on_ranks(non_blocking)));
    }
}

/// Two ranks send to a third, which receives from any source while a reduction is in progress: the
/// two orders of their messages, and no more.
#[test]
fn choices_beside_non_blocking_collectives_are_all_found() {
    let program = on_ranks(|world: Comm| async move {
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let mut sum = world.allreduce(own, &Op::sum::<u64>()).start()?;
        if world.rank() == 0 {
            let mut first = None;
            for _ in 1..world.size() {
                let mut message = world.buffer(8);
                let status = world.recv(&mut message, ANY_SOURCE, ANY_TAG).await?;
                first.get_or_insert(status.source);
            }
            assert_eq!(first, Some(1), "another rank came first");
        } else {
            world.send(&world.buffer(8), 0, 0).await?;
        }
        let done = sum.wait().await?;
        assert_eq!(done.buffer.values::<u64>()?, Some(vec![6]));
        Ok(())
    });
    let report = explored(3, &program);
    assert_ne!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(report.statistics.executions, 2, "{report:?}");
}

/// A message sent after a barrier is ordered behind the messages received before the barrier.
#[test]
fn results_of_non_blocking_collectives_order_messages() {
    let program = on_ranks(|world: Comm| async move {
        let (mut token, size) = (world.buffer(8), world.size());
        if world.rank() == 1 {
            world.send(&token, 0, 0).await?;
        }
        if world.rank() == 0 {
            let first = world.recv(&mut token, ANY_SOURCE, ANY_TAG).await?;
            assert_eq!(first.source, 1);
        }
        world.barrier().start()?.wait().await?;
        if world.rank() == 0 {
            for _ in 2..size {
                world.recv(&mut token, ANY_SOURCE, ANY_TAG).await?;
            }
        } else if world.rank() > 1 {
            world.send(&token, 0, 0).await?;
        }
        Ok(())
    });
    one_execution(3, &explored(3, &program));
    let report = explored(4, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(report.statistics.executions, 2, "{report:?}");
}

/// The program continues while a reduction is in progress.
#[test]
fn correct_non_blocking_programs_have_no_finding() {
    let program = on_ranks(|world: Comm| async move {
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let mut sum = world.allreduce(own, &Op::sum::<u64>()).start()?;
        let next = (world.rank() + 1) % world.size();
        let before = (world.rank() + world.size() - 1) % world.size();
        let mut token = world.buffer(8);
        world
            .sendrecv(&world.buffer(8), next, 0, &mut token, before, 0)
            .await?;
        let done = sum.wait().await?;
        assert_eq!(done.buffer.values::<u64>()?, Some(vec![6]));
        Ok(())
    });
    succeeds(3, &program);
}

#[test]
fn different_calls_that_make_communicators() {
    let program = on_ranks(|world: Comm| async move {
        world.barrier().await?;
        if world.rank() == 2 {
            world.split(Some(0), 0).await.map(drop)
        } else {
            world.dup().await.map(drop)
        }
    });
    let texts = [
        "calls split of a communicator at crates/run/tests/collective_calls.rs",
        "calls dup of a communicator at crates/run/tests/collective_calls.rs",
        "collective 2 of the world",
    ];
    fails(3, &program, &texts);
}

#[test]
fn a_collective_where_others_make_a_communicator() {
    let program = on_ranks(|world: Comm| async move {
        let group = world.group();
        if world.rank() == 0 {
            world.barrier().await
        } else {
            world.create(&group).await.map(drop)
        }
    });
    fails(
        2,
        &program,
        &["calls create of a communicator", "calls barrier"],
    );
    let program = on_ranks(|world: Comm| async move {
        let comm = world.dup().await?;
        if world.rank() == 0 {
            comm.barrier().await
        } else {
            comm.free()
        }
    });
    fails(
        2,
        &program,
        &["calls free of a communicator", "calls barrier"],
    );
}

#[test]
fn a_rank_that_does_not_make_a_communicator() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            return Ok(());
        }
        world.dup().await.map(drop)
    });
    let texts = ["dup of a communicator", "not called by rank 0"];
    fails(3, &program, &texts);
}

#[test]
fn exchanges_between_neighbours_are_compared() {
    let program = on_ranks(|world: Comm| async move {
        let grid = world.cartesian(&[2], &[true]).await?.expect("two ranks");
        let blocks = world.buffer(16);
        if world.rank() == 0 {
            grid.neighbor_alltoall(&blocks).await?;
        } else {
            grid.neighbor_allgather(&blocks).await?;
        }
        grid.free()
    });
    let texts = ["calls neighbor_alltoall at", "calls neighbor_allgather at"];
    fails(2, &program, &texts);
}

/// Operations in progress on a communicator that is freed continue to their normal end.
#[test]
fn a_communicator_is_freed_while_operations_are_in_progress() {
    let program = on_ranks(|world: Comm| async move {
        let comm = world.dup().await?;
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let mut sum = comm.allreduce(own, &Op::sum::<u64>()).start()?;
        let grid = comm.cartesian(&[3], &[true]).await?.expect("all ranks");
        let mut blocks = grid
            .neighbor_alltoall(world.buffer_of(&[1_u64, 2]))
            .start()?;
        grid.free()?;
        comm.free()?;
        let done = sum.wait().await?;
        assert_eq!(done.buffer.values::<u64>()?, Some(vec![6]));
        let done = blocks.wait().await?;
        assert_eq!(done.buffer.values::<u64>()?, Some(vec![2, 1]));
        Ok(())
    });
    assert_eq!(plain(3, &program).report.outcome, Outcome::Finished);
    let program = on_ranks(|world: Comm| async move {
        let comm = world.dup().await?;
        let mut data = comm.bcast(&mut world.buffer_of(&[7_u64]), 0).start()?;
        comm.free()?;
        data.wait().await.map(drop)
    });
    let report = explored(2, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
}

/// Rank 0 and ranks 1 and 2, with an intercommunicator.
async fn between(world: &Comm) -> Result<InterComm> {
    let is_upper = world.rank() > 0;
    let half = world.split(Some(is_upper.into()), 0).await?;
    let half = half.expect("each rank has a colour");
    let other = usize::from(!is_upper);
    half.intercomm_create(0, world, other, 1).await
}

#[test]
fn calls_of_the_groups_of_an_intercommunicator() {
    let program = on_ranks(|world: Comm| async move {
        let between = between(&world).await?;
        if world.rank() == 0 {
            between.barrier().await.map(drop)
        } else {
            between.merge(false).await.map(drop)
        }
    });
    let texts = [
        "calls barrier at",
        "calls merge of an intercommunicator at",
        "collective 1 of the intercommunicator with context",
    ];
    fails(3, &program, &texts);
}

#[test]
fn correct_programs_with_intercommunicators_have_one_execution() {
    let program = on_ranks(|world: Comm| async move {
        let between = between(&world).await?;
        let data = world.buffer_of(&[world.rank() as u64]);
        let root = if world.rank() == 0 {
            mpi::InterRoot::Root
        } else {
            mpi::InterRoot::Remote(0)
        };
        let data = between.bcast(data, root).await?;
        let total = between.allreduce(data, &Op::sum::<u64>()).await?;
        assert_eq!(total.values::<u64>()?, Some(vec![0]));
        let mut gathered = between.allgather(total, 8).start()?;
        let mut barrier = between.barrier().start()?;
        barrier.wait().await?;
        gathered.wait().await?;
        let all = between.merge(world.rank() > 0).await?;
        assert_eq!(all.rank(), world.rank());
        all.free()?;
        let group = world.group().incl(&[2, 1])?;
        if let Some(pair) = world.create_group(&group, 3).await? {
            pair.free()?;
        }
        between.free()
    });
    assert_eq!(succeeds(3, &program), 1);
}
