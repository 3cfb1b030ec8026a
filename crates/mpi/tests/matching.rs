//! Promise: messages that match the same receive are received in the order in which they were sent,
//! across sources, tags and wildcards; and a probe reports the message that the next receive gets.

use mpi::prelude::*;
use testing::ranks::{Order, THRESHOLD, join, pattern, world};

/// The lengths that rank 1 receives, in this order, of the (tag, length) that rank 0 sends.
fn received(
    sent: &'static [(u32, u64)],
    tags: &'static [Option<u32>],
    posted_first: bool,
) -> Vec<String> {
    world(2)
        .run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                if posted_first {
                    world.sleep(1.0).await;
                }
                let sends = sent
                    .iter()
                    .map(|&(tag, length)| world.isend(pattern(length, 0), 1, tag));
                let mut sends: Vec<_> = sends.collect::<Result<_>>()?;
                waitall(&mut sends).await?;
            } else {
                if !posted_first {
                    world.sleep(1.0).await;
                }
                let receives = tags.iter().map(|tag| {
                    let tag = tag.map_or(ANY_TAG, mpi::Tag::Is);
                    world.irecv(world.buffer(1000), ANY_SOURCE, tag)
                });
                let mut receives: Vec<_> = receives.collect::<Result<_>>()?;
                for completion in waitall(&mut receives).await? {
                    let status = completion.expect("not null").status;
                    world.println(format_args!("{}/{}", status.tag, status.length));
                }
            }
            Ok(())
        })
        .printed
}
#[track_caller]
fn check(sent: &'static [(u32, u64)], tags: &'static [Option<u32>], expected: &[&str]) {
    assert_eq!(received(sent, tags, false), expected, "unexpected messages");
    assert_eq!(received(sent, tags, true), expected, "posted receives");
}

#[test]
fn messages_of_one_tag_keep_their_order_whatever_their_protocol() {
    let sent = &[(0, 500), (0, 1), (0, 400), (0, 2)];
    let any = &[None, None, None, None];
    check(sent, any, &["0/500", "0/1", "0/400", "0/2"]);
    let tags = &[Some(0), None, Some(0), None];
    check(sent, tags, &["0/500", "0/1", "0/400", "0/2"]);
}

#[test]
fn a_tag_is_taken_from_the_middle() {
    let sent = &[(1, 10), (2, 200), (1, 30), (3, 40)];
    check(
        sent,
        &[Some(2), Some(3), Some(1), Some(1)],
        &["2/200", "3/40", "1/10", "1/30"],
    );
    // The third accepts any tag, so the older message is its own, and the fourth gets what is left.
    check(
        sent,
        &[Some(2), Some(1), None, Some(3)],
        &["2/200", "1/10", "1/30", "3/40"],
    );
}

#[test]
fn an_older_receive_goes_first_even_if_a_younger_one_fits_better() {
    check(&[(7, 10), (7, 20)], &[None, Some(7)], &["7/10", "7/20"]);
    check(&[(7, 10), (7, 20)], &[Some(7), None], &["7/10", "7/20"]);
}

#[test]
fn a_receive_may_take_a_message_with_its_own_tag_from_behind_a_rendezvous() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            let mut large = world.isend(pattern(THRESHOLD, 0), 1, 0)?;
            world.send(&pattern(1, 1), 1, 1).await?;
            large.wait().await?;
        } else {
            let mut buffer = world.buffer(THRESHOLD);
            assert_eq!(world.recv(&mut buffer, 0, 1).await?.length, 1);
            assert_eq!(
                world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?.length,
                THRESHOLD
            );
            assert_eq!(buffer.bytes(), pattern(THRESHOLD, 0).bytes());
        }
        Ok(())
    });
}

#[test]
fn a_source_is_taken_from_the_middle() {
    let program = |world: Comm| async move {
        if world.rank() > 0 {
            world
                .send(&pattern(10 * world.rank() as u64, 0), 0, 0)
                .await?;
        } else {
            world.sleep(1.0).await;
            let mut buffer = world.buffer(100);
            assert_eq!(world.recv(&mut buffer, 2, 0).await?.length, 20);
            let status = world.recv(&mut buffer, ANY_SOURCE, 0).await?;
            assert_eq!((status.source, status.length), (3, 30));
            assert_eq!(
                world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?.source,
                1
            );
        }
        Ok(())
    };
    let order = Order::script(&[(3, 0), (1, 0), (2, 0)]);
    world(4).order(order).run(program).finished();
}

#[test]
fn a_relayed_message_may_overtake_a_direct_one() {
    let program = |world: Comm| async move {
        let mut buffer = world.buffer(10);
        match world.rank() {
            0 => {
                world.send(&buffer, 2, 0).await?;
                world.send(&buffer, 1, 0).await?;
            }
            1 => {
                world.recv(&mut buffer, 0, 0).await?;
                world.send(&buffer, 2, 0).await?;
            }
            _ => {
                for _ in 0..2 {
                    let status = world.recv(&mut buffer, ANY_SOURCE, 0).await?;
                    world.println(format_args!("{}", status.source));
                }
            }
        }
        Ok(())
    };
    let run = |order| world(3).order(order).run(program).finished().printed;
    assert_eq!(run(Order::Posted), ["0", "1"]);
    assert_eq!(run(Order::script(&[(0, 1), (1, 2), (0, 2)])), ["1", "0"]);
}

#[test]
fn a_probe_tells_what_the_next_receive_gets() {
    for length in [20, 200] {
        world(2).run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                world.sleep(2.0).await;
                world.send(&pattern(length, 0), 1, 4).await?;
                world.send(&pattern(length + 1, 1), 1, 5).await?;
            } else {
                assert_eq!(world.iprobe(ANY_SOURCE, 4).await?, None);
                let status = world.probe(ANY_SOURCE, 4).await?;
                assert_eq!(world.wtime(), 2.0);
                assert_eq!((status.source, status.tag, status.length), (0, 4, length));
                assert_eq!(world.iprobe(0, 4).await?, Some(status), "it is still there");
                let mut buffer = world.buffer(status.length);
                assert_eq!(
                    world.recv(&mut buffer, status.source, status.tag).await?,
                    status
                );
                assert_eq!(buffer.bytes(), pattern(length, 0).bytes());
                let second = world.probe(0, ANY_TAG).await?;
                assert_eq!((second.tag, second.length), (5, length + 1));
                let mut buffer = world.buffer(second.length);
                world.recv(&mut buffer, 0, ANY_TAG).await?;
                assert_eq!(world.iprobe(ANY_SOURCE, ANY_TAG).await?, None);
            }
            Ok(())
        });
    }
}

#[test]
fn a_probe_does_not_see_what_a_posted_receive_got() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            world.send(&pattern(1, 0), 1, 0).await?;
            world.send(&pattern(2, 0), 1, 0).await?;
        } else {
            let mut first = world.irecv(world.buffer(9), 0, 0)?;
            assert_eq!(world.probe(0, 0).await?.length, 2);
            assert_eq!(first.wait().await?.status.length, 1);
            world.recv(&mut world.buffer(9), 0, 0).await?;
        }
        Ok(())
    });
}

#[test]
fn collectives_do_not_meet_wildcards() {
    let program = |world: Comm| async move {
        if world.rank() == 0 {
            world.barrier().await?;
            world.send(&pattern(7, 0), 1, 0).await?;
        } else {
            let mut buffer = world.buffer(9);
            let (status, barrier) = join(
                world.recv(&mut buffer, ANY_SOURCE, ANY_TAG),
                world.barrier(),
            )
            .await;
            barrier?;
            assert_eq!(status?.length, 7);
        }
        Ok(())
    };
    for seed in 1..20 {
        world(2).order(Order::Seeded(seed)).run(program).finished();
    }
}
