//! Promise: a partitioned message arrives when all its partitions are ready, in any order and with
//! any numbers at the two ends, and the requests of two ranks match in the order in which they were
//! initialised.

use mpi::prelude::*;
use testing::ranks::{Order, THRESHOLD, world};

fn numbers(first: u64, count: u64) -> Vec<u64> {
    (first..first + count).collect()
}

/// Two rounds of a message in 4 partitions, received in 2.
#[test]
fn a_message_leaves_when_its_partitions_are_ready() {
    for count in [4, THRESHOLD] {
        let program = move |world: Comm| async move {
            if world.rank() == 0 {
                let mut sending = world.psend_init(world.buffer(8 * count), 4, 1, 7)?;
                for round in 0..2 {
                    sending.start()?;
                    sending.pready_list(&[2, 0])?;
                    assert!(sending.test().await?.is_none());
                    let content = world.buffer_of(&numbers(100 * round, count));
                    *sending.buffer_mut().expect("partitions are not ready") = content;
                    sending.pready(3)?;
                    sending.pready_range(1..2)?;
                    assert!(sending.buffer_mut().is_none());
                    sending.wait().await?;
                    world.recv(&mut world.buffer(0), 1, ANY_TAG).await?;
                }
            } else {
                let mut receiving = world.precv_init(world.buffer(8 * count), 2, 0, 7)?;
                for round in 0..2 {
                    assert!(receiving.parrived(1).await?);
                    receiving.start()?;
                    while !receiving.parrived(0).await? {}
                    assert!(receiving.parrived(1).await?);
                    let done = receiving.wait().await?;
                    assert_eq!((done.status.source, done.status.tag), (0, 7));
                    assert_eq!(done.buffer.values()?, Some(numbers(100 * round, count)));
                    world.send(&world.buffer(0), 0, 1).await?;
                }
            }
            Ok(())
        };
        for seed in 1..4 {
            world(2).order(Order::Seeded(seed)).run(program).finished();
        }
    }
}

/// Requests with one tag are started in another order than they are initialised, beside ordinary
/// messages with that tag.
#[test]
fn requests_match_in_the_order_of_their_initialisation() {
    let program = |world: Comm| async move {
        let (rank, other) = (world.rank(), 1 - world.rank());
        let mut requests = Vec::new();
        for position in 0..3_u64 {
            let content = world.buffer_of(&[10 * rank as u64 + position]);
            requests.push(world.psend_init(content, 1, other, 0)?);
            requests.push(world.precv_init(world.buffer(8), 1, other, 0)?);
        }
        let order = if rank == 0 { [4, 2, 0] } else { [0, 4, 2] };
        for at in order {
            requests[at].start()?;
            requests[at].pready(0)?;
        }
        let mut plain = world.irecv(world.buffer(8), other, ANY_TAG)?;
        for at in order {
            requests[6 - at - 1].start()?;
        }
        world.send(&world.buffer_of(&[99_u64]), other, 0).await?;
        assert_eq!(plain.wait().await?.buffer.values()?, Some(vec![99_u64]));
        let done = waitall(&mut requests).await?;
        for position in 0..3 {
            let received = done[2 * position + 1].as_ref().expect("a completion");
            let expected = 10 * other as u64 + position as u64;
            assert_eq!(received.buffer.values()?, Some(vec![expected]));
        }
        Ok(())
    };
    for seed in 1..6 {
        world(2).order(Order::Seeded(seed)).run(program).finished();
    }
}

#[test]
fn mistakes_are_errors() {
    world(1).run_finished(|world: Comm| async move {
        let mut sending = world.psend_init(world.buffer(8), 2, PROC_NULL, 0)?;
        assert_eq!(sending.pready(0), Err(Error::Request));
        sending.start()?;
        let count = 2;
        let (partition, error) = (2, sending.pready(2));
        assert_eq!(error, Err(Error::Partition { partition, count }));
        assert_eq!(
            error.expect_err("out of range").to_string(),
            "invalid partition 2: the request has 2 partitions"
        );
        sending.pready(1)?;
        assert_eq!(
            sending.pready(1),
            Err(Error::PartitionReady { partition: 1 })
        );
        assert_eq!(sending.parrived(0).await, Err(Error::Request));
        sending.pready(0)?;
        assert_eq!(
            sending.pready(0),
            Err(Error::PartitionReady { partition: 0 })
        );
        sending.wait().await?;
        let error = world.psend_init(world.buffer(8), 2, 5, 0).err();
        assert_eq!(error, Some(Error::Rank { rank: 5, size: 1 }));
        Ok(())
    });
}

/// A partition that is never ready is named in the report.
#[test]
fn a_send_that_is_not_ready_is_a_deadlock() {
    let outcome = world(1).run(|world: Comm| async move {
        let mut sending = world.psend_init(world.buffer(8), 2, 0, 0)?;
        sending.start()?;
        sending.pready(1)?;
        let waited: Result<_> = sending.wait().await;
        waited.map(drop)
    });
    let (waits, _) = outcome.blocked(0);
    assert_eq!(
        waits,
        "a partitioned send, 1 of whose partitions are not ready"
    );
}

/// The report of a receive has the tag that the program gave.
#[test]
fn a_partitioned_receive_that_waits_has_the_tag_of_the_program() {
    let outcome = world(1).run(|world: Comm| async move {
        let mut receiving = world.precv_init(world.buffer(8), 2, 0, 7)?;
        receiving.start()?;
        let waited: Result<_> = receiving.wait().await;
        waited.map(drop)
    });
    let (waits, _) = outcome.blocked(0);
    assert_eq!(waits, "recv (source 0, tag 7 of a partitioned message)");
}
