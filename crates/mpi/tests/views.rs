//! Promise: derived datatypes travel as their data only, cost the time of packing, and leave the
//! bytes between the data alone; numbers are received as they were sent.

use mpi::{OverheadSection, OverheadTable, Overheads, PartialElement, Settings, prelude::*};
use testing::ranks::{THRESHOLD, world};

/// A square matrix of numbers in rows.
fn matrix(side: u32) -> Buffer {
    Buffer::of(&(0..side * side).collect::<Vec<_>>())
}

fn column(side: u32) -> Datatype {
    Datatype::vector(side.into(), 1, side.into(), &Datatype::of::<u32>()).expect("short")
}

#[test]
fn a_column_becomes_a_row() {
    // 4 numbers are eager, 40 go by rendezvous.
    for side in [4, 40] {
        for blocking in [true, false] {
            world(2).run_finished(move |world: Comm| async move {
                let (one, number) = (column(side), Datatype::of::<u32>());
                if world.rank() == 0 {
                    let full = matrix(side);
                    if blocking {
                        return world.send_view(&full, 1, &one, 1, 5).await;
                    }
                    return world
                        .isend_view(&full, 1, &one, 1, 5)?
                        .wait()
                        .await
                        .map(drop);
                }
                let mut target = Buffer::of(&vec![u32::MAX; side as usize + 2]);
                let count = u64::from(side);
                let status = if blocking {
                    world
                        .recv_view(&mut target, count, &number, ANY_SOURCE, ANY_TAG)
                        .await?
                } else {
                    let mut request = world.irecv_view(target, count, &number, 0, 5)?;
                    let done = request.wait().await?;
                    target = done.buffer;
                    done.status
                };
                assert_eq!(
                    (status.source, status.tag, status.length),
                    (0, 5, 4 * count)
                );
                assert_eq!(
                    (status.count::<u32>(), status.count::<u64>()),
                    (Some(count), Some(count / 2))
                );
                let mut expected: Vec<u32> = (0..side).map(|row| row * side).collect();
                expected.extend([u32::MAX; 2]);
                assert_eq!(target.values()?, Some(expected));
                Ok(())
            });
        }
    }
}

#[test]
fn a_row_becomes_a_column_and_what_is_between_stays() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            return world.send(&Buffer::of(&[7_u32, 8, 9]), 1, 0).await;
        }
        // One number less than there is room for.
        let mut full = matrix(4);
        let status = world.recv_view(&mut full, 1, &column(4), 0, 0).await?;
        assert_eq!(status.length, 12);
        let expected = vec![7_u32, 1, 2, 3, 8, 5, 6, 7, 9, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(full.values()?, Some(expected));
        Ok(())
    });
}

#[test]
fn the_caller_may_change_the_buffer_once_the_send_has_begun() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 1 {
            world.sleep(1.0).await;
            let mut got = world.buffer(400);
            world.recv(&mut got, 0, 0).await?;
            let first = got.values::<u32>()?.expect("real")[1];
            assert_eq!(first, 100);
            return Ok(());
        }
        let mut full = matrix(100);
        let mut request = world.isend_view(&full, 1, &column(100), 1, 0)?;
        full.bytes_mut().expect("real").fill(0);
        request.wait().await.map(drop)
    });
}

#[test]
fn a_message_longer_than_the_items_is_truncated() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            for length in [20, 2 * THRESHOLD] {
                world.send(&world.buffer(length), 1, 0).await?;
            }
            return Ok(());
        }
        for length in [20, 2 * THRESHOLD] {
            let mut full = matrix(4);
            let error = world.recv_view(&mut full, 1, &column(4), 0, 0).await.err();
            let expected = Error::Truncated {
                source: 0,
                tag: 0,
                length,
                buffer: 16,
            };
            assert_eq!(error, Some(expected));
            assert_eq!(full.bytes(), matrix(4).bytes());
        }
        Ok(())
    });
}

#[test]
fn mistakes_are_refused_before_anything_is_sent() {
    let outcome = world(1).run_finished(|world: Comm| async move {
        let (mut small, wide) = (matrix(2), column(4));
        let error = Error::View {
            needed: 52,
            length: 16,
        };
        assert_eq!(world.send_view(&small, 1, &wide, 0, 0).await, Err(error));
        assert_eq!(
            world.recv_view(&mut small, 1, &wide, 0, 0).await.err(),
            Some(error)
        );
        assert_eq!(world.isend_view(&small, 1, &wide, 0, 0).err(), Some(error));
        assert_eq!(world.irecv_view(small, 1, &wide, 0, 0).err(), Some(error));
        assert_eq!(error.class(), ErrorClass::Buffer);
        assert_eq!(
            error.to_string(),
            "buffer of 16 bytes: the datatype needs 52 bytes"
        );
        let odd = Buffer::zeroed(7).values::<u16>();
        assert_eq!(odd, Err(PartialElement { length: 7, size: 2 }));
        Ok(())
    });
    assert!(outcome.transcript.is_empty());
}

/// 1 byte per second.
fn slow() -> Settings {
    Settings {
        copy_bandwidth: 1.0,
        ..Settings::new(THRESHOLD)
    }
}

#[test]
fn packing_and_unpacking_take_time() {
    for phantom in [false, true] {
        let program = |world: Comm| async move {
            let (one, mut full) = (column(4), world.buffer_of(&[0_u32; 16]));
            if world.rank() == 0 {
                world.send_view(&full, 1, &one, 1, 0).await?;
                assert_eq!(world.wtime(), 16.0);
                // The message leaves at 32, and the rank continues then.
                let mut request = world.isend_view(&full, 1, &one, 1, 1)?;
                assert_eq!(world.wtime(), 32.0);
                request.wait().await?;
                // Dense data cost nothing but in views.
                world.send(&full, 1, 2).await?;
                assert_eq!(world.wtime(), 32.0);
                return Ok(());
            }
            world.recv_view(&mut full, 1, &one, 0, 0).await?;
            assert_eq!(world.wtime(), 32.0);
            let mut request = world.irecv_view(world.buffer(64), 1, &one, 0, 1)?;
            world.recv(&mut full, 0, 2).await?;
            assert_eq!(world.wtime(), 32.0);
            request.wait().await?;
            assert_eq!(world.wtime(), 48.0);
            Ok(())
        };
        let settings = Settings { phantom, ..slow() };
        world(2).settings(settings).run(program).finished();
    }
}

#[test]
fn buffered_messages_are_copied_and_other_costs_are_added() {
    let program = |world: Comm| async move {
        if world.rank() == 0 {
            world.buffer_attach(world.buffer(10))?;
            world.bsend(&world.buffer(10), 1, 0).await?;
            assert_eq!(world.wtime(), 10.0 + 5.0);
            world
                .send_view(&world.buffer(3), 3, &Datatype::bytes(1), 1, 1)
                .await?;
            assert_eq!(world.wtime(), 15.0 + 3.0 + 5.0);
            return world.buffer_detach().await.map(drop);
        }
        let mut requests = [
            world.irecv(world.buffer(10), 0, 0)?,
            world.irecv(world.buffer(3), 0, 1)?,
        ];
        waitall(&mut requests).await.map(drop)
    };
    let settings = Settings {
        overheads: Overheads {
            os: OverheadTable::new(vec![OverheadSection {
                above: 0,
                time: 5.0,
                per_byte: 0.0,
            }]),
            ..Overheads::NONE
        },
        ..slow()
    };
    world(2).settings(settings).run(program).finished();
}

#[test]
fn numbers_come_out_as_they_went_in() {
    let floats = [0.5, -1e300, f64::MIN_POSITIVE];
    assert_eq!(Buffer::of(&floats).values(), Ok(Some(floats.to_vec())));
    assert_eq!(
        Buffer::of(&[-2_i16, 3]).bytes(),
        Some(&[0xFE, 0xFF, 3, 0][..])
    );
    assert_eq!(Buffer::phantom(8).values::<u64>(), Ok(None));
    assert_eq!(Buffer::of::<u64>(&[]).values::<u64>(), Ok(Some(Vec::new())));
}
