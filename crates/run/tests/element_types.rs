//! Promise: different elements in a send and its receive are an error that names both lines, in a
//! plain run and under the model checker; bytes match all elements.

use crate::common::{explored, fails, on_ranks, plain, succeeds};
use mpi::prelude::*;
use sim_core::Outcome;

#[test]
fn both_lines_are_named() {
    let line = line!();
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            return world.send(&world.buffer_of(&[1_i32, 2]), 1, 0).await;
        }
        let mut buffer = world.buffer_of(&[0.0_f64]);
        world.recv(&mut buffer, 0, 0).await.map(drop)
    });
    let (send, receive) = (line + 3, line + 6);
    let text = format!(
        "element types differ: rank 1 receives f64 at crates/run/tests/element_types.rs:{receive} what \
         rank 0 sent as i32 at crates/run/tests/element_types.rs:{send}"
    );
    fails(2, &program, &[&text]);
}

/// Sends to rank 1 in a mode, with a length that is eager or goes by rendezvous.
async fn exchange(world: Comm, mode: SendMode, count: usize) -> Result<()> {
    if world.rank() == 0 {
        let mut request = world.send_init(mode, world.buffer_of(&vec![1_u64; count]), 1, 0);
        request.start()?;
        request.wait().await?;
        return Ok(());
    }
    let buffer = world.buffer_of(&vec![0_i64; count]);
    let mut request = world.recv_init(buffer, 0, 0);
    request.start()?;
    let error = request.wait().await.expect_err("other elements");
    assert_eq!(error.class(), ErrorClass::Type);
    let text = error.to_string();
    assert!(
        text.contains("receives i64") && text.contains("as u64"),
        "{text}"
    );
    Ok(())
}

#[test]
fn in_all_modes_and_protocols() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            world.buffer_attach(world.buffer(1 << 20))?;
        }
        for count in [1, 20_000] {
            exchange(world.clone(), SendMode::Standard, count).await?;
            exchange(world.clone(), SendMode::Synchronous, count).await?;
            exchange(world.clone(), SendMode::Buffered, count).await?;
        }
        Ok(())
    });
    succeeds(2, &program);
}

#[test]
fn views_have_the_types_of_their_items() {
    let program = on_ranks(|world: Comm| async move {
        let mut grid = Buffer::zeroed(64);
        if world.rank() == 0 {
            let column = Datatype::vector(2, 1, 4, &Datatype::of::<f64>())?;
            return world.send_view(&grid, 1, &column, 1, 0).await;
        }
        let row = Datatype::contiguous(4, &Datatype::of::<f32>())?;
        world.recv_view(&mut grid, 1, &row, 0, 0).await.map(drop)
    });
    fails(2, &program, &["receives f32", "sent as f64"]);
    let program = on_ranks(|world: Comm| async move {
        let number = Datatype::of::<f64>();
        if world.rank() == 0 {
            let column = Datatype::vector(2, 1, 4, &number)?;
            return world.send_view(&Buffer::zeroed(64), 1, &column, 1, 0).await;
        }
        let mut row = world.buffer_of(&[0.0_f64; 2]);
        world.recv(&mut row, 0, 0).await.map(drop)
    });
    succeeds(2, &program);
}

#[test]
fn parts_have_the_type_of_the_whole() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            let halo = world.buffer_of(&[1.0_f64, 2.0, 3.0]).slice(8, 16);
            return world.send(&halo, 1, 0).await;
        }
        let mut buffer = world.buffer_of(&[0_u32; 4]);
        world.recv(&mut buffer, 0, 0).await.map(drop)
    });
    fails(2, &program, &["receives u32", "sent as f64"]);
}

/// The order in which the messages arrive decides.
#[test]
fn in_an_interleaving_that_the_run_does_not_show() {
    let program = on_ranks(|world: Comm| async move {
        match world.rank() {
            0 => {
                let (mut float, mut integer) = (world.buffer_of(&[0.0]), world.buffer_of(&[0_u64]));
                world.recv(&mut float, ANY_SOURCE, 0).await?;
                world.recv(&mut integer, ANY_SOURCE, 0).await.map(drop)
            }
            1 => world.send(&world.buffer_of(&[1.0]), 0, 0).await,
            _ => {
                world.sleep(1.0).await;
                world.send(&world.buffer_of(&[1_u64]), 0, 0).await
            }
        }
    });
    assert_eq!(plain(3, &program).report.outcome, Outcome::Finished);
    let report = explored(3, &program);
    let message = &report.findings[0].message;
    assert!(
        message.contains("rank 0 receives f64") && message.contains("rank 2 sent as u64"),
        "{message}"
    );
}

#[test]
fn ranks_are_those_of_the_communicator() {
    let program = on_ranks(|world: Comm| async move {
        let colour = (world.rank() > 0).then_some(0);
        let Some(upper) = world.split(colour, 0).await? else {
            return Ok(());
        };
        if upper.rank() == 0 {
            return upper.send(&world.buffer_of(&[1_i8]), 1, 0).await;
        }
        upper
            .recv(&mut world.buffer_of(&[1_u16]), 0, 0)
            .await
            .map(drop)
    });
    fails(
        3,
        &program,
        &["rank 1 receives u16", "what rank 0 sent as i8"],
    );
}

/// Buffers without a type, packed data, structures and `u8` are bytes.
#[test]
fn bytes_fit_everything() {
    let program = on_ranks(|world: Comm| async move {
        let numbers = world.buffer_of(&[1.0_f64, 2.0]);
        let mixed =
            Datatype::structure(&[(1, 0, Datatype::of::<f64>()), (2, 8, Datatype::of::<i32>())])?;
        let packed = Datatype::of::<f64>().pack(2, &numbers)?;
        let bytes = Buffer::of(&[0_u8; 16]);
        if world.rank() == 0 {
            world.send(&numbers, 1, 0).await?;
            world.send(&numbers, 1, 0).await?;
            world.send(&world.buffer(16), 1, 0).await?;
            world.send(&packed, 1, 0).await?;
            world.send(&bytes, 1, 0).await?;
            return world.send_view(&numbers, 1, &mixed, 1, 0).await;
        }
        world.recv(&mut world.buffer(16), 0, 0).await?;
        world.recv(&mut bytes.clone(), 0, 0).await?;
        for _ in 0..4 {
            let mut integers = world.buffer_of(&[0_i32; 4]);
            world.recv(&mut integers, 0, 0).await?;
        }
        Ok(())
    });
    succeeds(2, &program);
}

/// The message is consumed, the buffer stays unchanged, and the next message is received.
#[test]
fn a_program_can_continue() {
    let program = on_ranks(|world: Comm| async move {
        if world.rank() == 0 {
            world.send(&world.buffer_of(&[1_i32]), 1, 0).await?;
            return world.send(&world.buffer_of(&[1.0_f32]), 1, 0).await;
        }
        let mut buffer = world.buffer_of(&[7.0_f32]);
        let error = world.recv(&mut buffer, 0, 0).await.expect_err("integers");
        assert!(matches!(error, Error::Elements(_)), "{error}");
        assert_eq!(buffer.values::<f32>()?, Some(vec![7.0]));
        world.recv(&mut buffer, 0, 0).await?;
        assert_eq!(buffer.values::<f32>()?, Some(vec![1.0]));
        Ok(())
    });
    succeeds(2, &program);
}
