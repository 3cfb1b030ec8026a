//! E8: the point-to-point programs of MPICH's test-suite (folder `test/mpi/pt2pt`), written anew on
//! our calls from a description of their tests. The comment of each test gives this description.
//! Programs about intercommunicators, threads, Fortran, error handlers and one-sided calls have no
//! counterpart here.

use mpi::{Limits, Settings, prelude::*, start_all, testall};
use testing::ranks::{Order, THRESHOLD, World, pattern, world};

/// The default world, the world with the explicit protocol, and the world with few resources.
fn worlds(ranks: u32) -> Vec<World> {
    let few = Limits {
        packet: Some(16),
        buffers: Some(2),
        credits: Some(4),
        ..Limits::NONE
    };
    let settings = [(None, false), (Some(Limits::NONE), true), (Some(few), true)];
    let mut all = Vec::new();
    for (limits, acknowledged) in settings {
        for order in [Order::Posted, Order::Seeded(3)] {
            let settings = Settings {
                limits: limits.clone(),
                acknowledged_ssend: acknowledged,
                ..Settings::new(THRESHOLD)
            };
            all.push(world(ranks).settings(settings).order(order));
        }
    }
    all
}

const LENGTHS: [u64; 6] = [0, 1, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, 1000];

/// `sendself`: every mode to oneself, with the receive posted before; a synchronous one is over
/// only then.
#[test]
fn sendself() {
    for length in LENGTHS {
        for world in worlds(2) {
            world.run_finished(move |world: Comm| async move {
                let me = world.rank();
                world.buffer_attach(world.buffer(length))?;
                for mode in [
                    SendMode::Standard,
                    SendMode::Synchronous,
                    SendMode::Ready,
                    SendMode::Buffered,
                ] {
                    let content = pattern(length, 1);
                    let mut receive = world.irecv(world.buffer(length), me, 2)?;
                    match mode {
                        SendMode::Standard => world.send(&content, me, 2).await?,
                        SendMode::Synchronous => world.ssend(&content, me, 2).await?,
                        SendMode::Ready => world.rsend(&content, me, 2).await?,
                        SendMode::Buffered => world.bsend(&content, me, 2).await?,
                    }
                    let got = receive.wait().await?;
                    assert_eq!(got.status.source, me);
                    assert_eq!(got.buffer.bytes(), content.bytes());
                }
                // Sent first, received then.
                let mut send = world.isend(pattern(length, 5), me, 3)?;
                let status = world.probe(me, ANY_TAG).await?;
                assert_eq!((status.tag, status.length), (3, length));
                let mut buffer = world.buffer(length);
                world.recv(&mut buffer, me, 3).await?;
                send.wait().await?;
                world.buffer_detach().await.map(drop)
            });
        }
    }
}

/// A synchronous send to oneself without a posted receive blocks, and so does a long standard one:
/// reported, not endless.
#[test]
fn sendself_without_a_receive_would_deadlock() {
    for (length, synchronous) in [(1, true), (THRESHOLD, false)] {
        for world in worlds(1) {
            let outcome = world.run(move |world| async move {
                let content = pattern(length, 0);
                if synchronous {
                    world.ssend(&content, 0, 0).await
                } else {
                    world.send(&content, 0, 0).await
                }
            });
            assert_eq!(outcome.blocked(0).1, [0]);
        }
    }
}

/// `pingping`, `sendrecv1` to `sendrecv3`: many lengths one way and back, with every kind of
/// receive.
#[test]
fn pingping() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            for length in LENGTHS {
                for round in 0..4 {
                    let mut buffer = world.buffer(length);
                    if world.rank() == 0 {
                        world.send(&pattern(length, round), 1, 9).await?;
                        continue;
                    }
                    match round {
                        0 => {
                            world.recv(&mut buffer, 0, 9).await?;
                        }
                        1 => {
                            let status = world.probe(ANY_SOURCE, ANY_TAG).await?;
                            assert_eq!((status.source, status.length), (0, length));
                            world.recv(&mut buffer, status.source, status.tag).await?;
                        }
                        2 => buffer = world.irecv(buffer, ANY_SOURCE, 9)?.wait().await?.buffer,
                        _ => {
                            let mut request = world.recv_init(buffer, 0, ANY_TAG);
                            request.start()?;
                            buffer = request.wait().await?.buffer;
                        }
                    }
                    assert_eq!(buffer.bytes(), pattern(length, round).bytes());
                }
            }
            Ok(())
        });
    }
}

/// `bsendpending`, `bsend1` to `bsend5`: buffered messages that wait; the buffer comes back when
/// all have left; too much is refused.
#[test]
fn bsendpending() {
    for world in worlds(4) {
        world.run_finished(|world: Comm| async move {
            let (rank, size, length) = (world.rank(), world.size(), 150);
            world.buffer_attach(world.buffer(length * 3))?;
            for other in (0..size).filter(|other| *other != rank) {
                world.bsend(&pattern(length, rank as u64), other, 1).await?;
            }
            let refused = world.bsend(&pattern(4 * length, 0), rank, 1).await;
            assert_eq!(
                refused.map_err(|error| error.class()),
                Err(ErrorClass::Buffer)
            );
            for other in (0..size).rev().filter(|other| *other != rank) {
                let mut buffer = world.buffer(length);
                world.recv(&mut buffer, other, 1).await?;
                assert_eq!(buffer.bytes(), pattern(length, other as u64).bytes());
            }
            assert_eq!(world.buffer_detach().await?.len(), 3 * length);
            Ok(())
        });
    }
}

/// `anyall`: receives from anybody with one tag, and sends to everybody, all at once; each message
/// arrives once.
#[test]
fn anyall() {
    for world in worlds(3) {
        world.run_finished(|world: Comm| async move {
            let (rank, size) = (world.rank(), world.size());
            let mut requests = Vec::new();
            for _ in 0..10 * size {
                requests.push(world.irecv(world.buffer(8), ANY_SOURCE, 7)?);
            }
            for round in 0..10 {
                for to in 0..size {
                    let number = (rank * 10 + round) as u64;
                    requests.push(world.isend(world.buffer_of(&[number]), to, 7)?);
                }
            }
            let mut got = Vec::new();
            for completion in waitall(&mut requests)
                .await?
                .into_iter()
                .take(10 * size)
                .flatten()
            {
                let number = completion.buffer.values::<u64>()?.expect("real")[0];
                assert_eq!(completion.status.source as u64, number / 10);
                got.push(number);
            }
            got.sort_unstable();
            let all: Vec<u64> = (0..10 * size as u64).collect();
            assert_eq!(got, all);
            Ok(())
        });
    }
}

/// `cancelrecv`, `cancelanysrc`: every receive without a message is cancelled, and the other
/// receives get their messages.
#[test]
fn cancelrecv() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            let other = 1 - world.rank();
            let mut receives = Vec::new();
            for tag in 0..4 {
                receives.push(world.irecv(world.buffer(4), other, tag)?);
            }
            receives.push(world.irecv(world.buffer(4), ANY_SOURCE, 9)?);
            receives[1].cancel().await;
            receives[3].cancel().await;
            receives[4].cancel().await;
            for tag in [0, 2] {
                world.send(&pattern(4, 0), other, tag).await?;
            }
            let cancelled: Vec<bool> = waitall(&mut receives)
                .await?
                .into_iter()
                .flatten()
                .map(|completion| completion.status.cancelled)
                .collect();
            assert_eq!(cancelled, [false, true, false, true, true]);
            Ok(())
        });
    }
}

/// `scancel`, `scancel2`, `pscancel`: sends in each mode are cancelled; either the message is
/// received, or the send reports its cancellation; the buffer is unchanged. Also buffered, ready
/// and persistent sends.
#[test]
fn scancel() {
    for length in [10, 200] {
        for world in worlds(2) {
            world.run_finished(move |world: Comm| async move {
                if world.rank() == 1 {
                    // What was cancelled, if anything, is told last.
                    let mut flag = world.buffer_of(&[0_u64]);
                    for tag in 0..4 {
                        world.recv(&mut flag, 0, 100 + tag).await?;
                        if flag.values::<u64>()? == Some(vec![0]) {
                            let mut buffer = world.buffer(length);
                            world.recv(&mut buffer, 0, tag).await?;
                            assert_eq!(buffer.bytes(), pattern(length, 0).bytes());
                        }
                    }
                    return Ok(());
                }
                world.buffer_attach(world.buffer(length))?;
                let modes = [
                    SendMode::Standard,
                    SendMode::Synchronous,
                    SendMode::Ready,
                    SendMode::Buffered,
                ];
                for (tag, mode) in (0..).zip(modes) {
                    let mut request = world.send_init(mode, pattern(length, 0), 1, tag);
                    request.start()?;
                    request.cancel().await;
                    let completion = request.wait().await?;
                    assert_eq!(completion.buffer.bytes(), pattern(length, 0).bytes());
                    let cancelled = completion.status.cancelled;
                    assert!(!(cancelled && mode == SendMode::Buffered), "it was over");
                    let flag = world.buffer_of(&[u64::from(cancelled)]);
                    world.send(&flag, 1, 100 + tag).await?;
                }
                world.buffer_detach().await.map(drop)
            });
        }
    }
}

/// `inactivereq`: a wait for an inactive persistent request or a test reports at once that no
/// message was received.
#[test]
fn inactivereq() -> Result<()> {
    world(1).run_finished(|world: Comm| async move {
        let mut requests = [
            world.recv_init(world.buffer(10), ANY_SOURCE, ANY_TAG),
            world.send_init(SendMode::Standard, world.buffer(10), 0, 10),
            world.send_init(SendMode::Synchronous, world.buffer(10), 0, 10),
        ];
        for request in &mut requests {
            assert!(!request.is_active() && !request.is_null());
        }
        assert!(waitany(&mut requests).await?.is_none());
        let all = waitall(&mut requests).await?;
        assert!(all.iter().all(Option::is_none));
        assert!(testall(&mut requests).await?.is_some());
        Ok(())
    });
    Ok(())
}

/// `eagerdt`: many messages of an indexed type, one after the other, without waiting for their
/// receives.
#[test]
fn eagerdt() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            let datatype = Datatype::indexed(&[(3, 0), (2, 5), (1, 9)], &Datatype::of::<u32>())?;
            let values: Vec<u32> = (0..10).collect();
            let mut requests = Vec::new();
            for tag in 0..30 {
                if world.rank() == 0 {
                    let buffer = world.buffer_of(&values);
                    requests.push(world.isend_view(&buffer, 1, &datatype, 1, tag)?);
                } else {
                    let buffer = world.buffer_of(&[100_u32; 10]);
                    let mut request = world.irecv_view(buffer, 1, &datatype, 0, tag)?;
                    let got = request.wait().await?.buffer.values::<u32>()?;
                    assert_eq!(got, Some(vec![0, 1, 2, 100, 100, 5, 6, 100, 100, 9]));
                }
            }
            waitall(&mut requests).await.map(drop)
        });
    }
}

/// `large_message`: more than 2^31 bytes, without the bytes.
#[test]
fn large_message() {
    let length = 3 << 30;
    let outcome = world(2).phantom().run(move |world: Comm| async move {
        let mut buffer = world.buffer(length);
        if world.rank() == 0 {
            return world.send(&buffer, 1, 0).await;
        }
        let status = world.recv(&mut buffer, 0, 0).await?;
        assert_eq!(status.length, length);
        Ok(())
    });
    outcome.finished();
}

/// `mprobe`: no other receive gets a probed message; a probe of the null process has a message at
/// once.
#[test]
fn mprobe() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            if world.rank() == 0 {
                let mut sends = [
                    world.isend(pattern(200, 1), 1, 5)?,
                    world.isend(pattern(8, 2), 1, 5)?,
                ];
                return waitall(&mut sends).await.map(drop);
            }
            let message = world.mprobe(ANY_SOURCE, ANY_TAG).await?;
            assert_eq!(message.status().length, 200);
            let mut second = world.buffer(8);
            assert_eq!(world.recv(&mut second, 0, 5).await?.length, 8);
            let first = message.recv(world.buffer(200)).await?.buffer;
            assert_eq!(first.bytes(), pattern(200, 1).bytes());
            Ok(())
        });
    }
}

/// `probenull`, `waitany-null`, `waittestnull`: the null process and null requests.
#[test]
fn nulls() {
    world(1).run_finished(|world: Comm| async move {
        let status = world.probe(PROC_NULL, ANY_TAG).await?;
        assert_eq!((status.source, status.length), (PROC_NULL, 0));
        world.send(&world.buffer(5), PROC_NULL, 0).await?;
        let mut requests = [world.irecv(world.buffer(5), PROC_NULL, 3)?];
        assert_eq!(requests[0].wait().await?.status.source, PROC_NULL);
        assert!(waitany(&mut requests).await?.is_none());
        assert_eq!(requests[0].wait().await.map(drop), Err(Error::Request));
        Ok(())
    });
}

/// `rqfreeb`, `rqstatus`: requests of sends are freed before they are over, and the messages come
/// all the same.
#[test]
fn rqfreeb() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            world.buffer_attach(world.buffer(200))?;
            if world.rank() == 0 {
                for (tag, mode) in (0..).zip([
                    SendMode::Standard,
                    SendMode::Synchronous,
                    SendMode::Buffered,
                ]) {
                    let mut request = world.send_init(mode, pattern(150, 0), 1, tag);
                    request.start()?;
                    request.free();
                }
            } else {
                for tag in (0..3).rev() {
                    let mut buffer = world.buffer(150);
                    world.recv(&mut buffer, 0, tag).await?;
                    assert_eq!(buffer.bytes(), pattern(150, 0).bytes());
                }
            }
            world.buffer_detach().await.map(drop)
        });
    }
}

/// `greq`-free `waitany`/`startall` programs (`persistent`, `persist`): many rounds of the same
/// requests.
#[test]
fn persistent_rounds() {
    for world in worlds(3) {
        world.run_finished(|world: Comm| async move {
            let (rank, size) = (world.rank(), world.size());
            let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
            let mut requests = [
                world.recv_init(world.buffer(120), left, 1),
                world.send_init(SendMode::Standard, pattern(120, rank as u64), right, 1),
            ];
            for _ in 0..5 {
                start_all(&mut requests)?;
                let mut all = waitall(&mut requests).await?;
                let got = all[0].take().expect("a receive").buffer;
                assert_eq!(got.bytes(), pattern(120, left as u64).bytes());
            }
            Ok(())
        });
    }
}

/// `errsum`-like: a message that is too long ends its receive as `MPI_ERR_TRUNCATE` after the
/// match, and the next message is whole.
#[test]
fn truncation_is_an_error_after_matching() {
    for length in [20, 300] {
        for world in worlds(2) {
            world.run_finished(move |world: Comm| async move {
                if world.rank() == 0 {
                    world.send(&pattern(length, 0), 1, 0).await?;
                    return world.send(&pattern(3, 1), 1, 0).await;
                }
                let mut short = world.buffer(length - 1);
                let error = world.recv(&mut short, 0, 0).await;
                assert_eq!(
                    error.map_err(|error| error.class()),
                    Err(ErrorClass::Truncate)
                );
                assert_eq!(world.recv(&mut short, 0, 0).await?.length, 3);
                Ok(())
            });
        }
    }
}
