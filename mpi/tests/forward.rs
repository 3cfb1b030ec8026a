//! Promise: a forwarded message arrives whole at both, whatever the placement of its parts, the
//! limits, the order of delivery, and how its receive and its send are met (M-1). Dates are in
//! `fabric/tests/protocols.rs`.

use std::rc::Rc;

use mpi::{
    ANY_SOURCE, ANY_TAG, ErrorClass, ForwardBuffering, Limits, PROC_NULL, Settings, TransportMode,
};
use testing::ranks::exchange::{FEW, relay, slow};
use testing::ranks::{Order, THRESHOLD, pattern, world};

const PLACEMENTS: [ForwardBuffering; 5] = [
    ForwardBuffering::Receiver,
    ForwardBuffering::Sender,
    ForwardBuffering::Segment(20),
    ForwardBuffering::Segment(60),
    ForwardBuffering::Temporary,
];

#[test]
fn m1_every_byte_goes_through_a_chain() {
    let one = Limits {
        packet: Some(7),
        credits: Some(1),
        buffers: Some(1),
        reserved: 0,
        ..Limits::NONE
    };
    let all = [
        Settings::new(THRESHOLD),
        slow(Limits::NONE),
        slow(FEW),
        Settings {
            variant: TransportMode::Stream,
            ..slow(FEW)
        },
        Settings {
            limits: Some(one),
            ..Settings::new(THRESHOLD)
        },
    ];
    for settings in all {
        for placement in PLACEMENTS {
            for seed in 1..6 {
                let program = move |world: mpi::Comm| async move {
                    for length in [0, 1, 20, 99, 100, 140, 333] {
                        relay(world.clone(), length, placement, 3).await?;
                    }
                    Ok(())
                };
                let world = world(4)
                    .settings(settings.clone())
                    .order(Order::Seeded(seed));
                let outcome = world.run(program).finished();
                if let (Some(limits), TransportMode::Packet) = (&settings.limits, settings.variant)
                {
                    outcome.settled(limits);
                }
            }
        }
    }
}

/// A destination that does not receive holds the source up, as far as the segment buffer says.
#[test]
fn m1_a_segment_buffer_is_bounded() {
    let limits = Limits {
        packet: Some(10),
        credits: Some(2),
        ..Limits::NONE
    };
    let sent = |placement| {
        let at = Rc::new(std::cell::Cell::new(0.0));
        let seen = Rc::clone(&at);
        let program = move |world: mpi::Comm| {
            let at = Rc::clone(&at);
            async move {
                match world.rank() {
                    0 => {
                        world.send(&pattern(200, 0), 1, 0).await?;
                        at.set(world.wtime());
                    }
                    1 => {
                        let buffer = world.buffer(200);
                        let mut forward = world.forward(buffer, (0, 0), (2, 0), placement)?;
                        forward.wait().await?;
                    }
                    _ => {
                        world.sleep(5.0).await;
                        world.recv(&mut world.buffer(200), 1, 0).await?;
                    }
                }
                Ok(())
            }
        };
        world(3).limits(limits.clone()).run(program).finished();
        seen.get()
    };
    assert_eq!(sent(ForwardBuffering::Receiver), 0.0);
    assert_eq!(sent(ForwardBuffering::Segment(40)), 5.0);
}

#[test]
fn m1_what_cannot_be_forwarded() {
    for limits in [None, Some(FEW)] {
        let settings = Settings {
            limits,
            ..Settings::new(THRESHOLD)
        };
        let program = |world: mpi::Comm| async move {
            let buffer = |length| world.buffer(length);
            match world.rank() {
                0 => {
                    world.send(&pattern(150, 0), 1, 1).await?;
                    world.send(&pattern(5, 0), 1, 2).await
                }
                1 => {
                    // Too long: an error, and nothing is sent on.
                    let to = (2, 0);
                    let mut forward =
                        world.forward(buffer(9), (0, 1), to, ForwardBuffering::Receiver)?;
                    let error = forward
                        .wait()
                        .await
                        .map(drop)
                        .map_err(|error| error.class());
                    assert_eq!(error, Err(ErrorClass::Truncate));
                    // Cancelled before it came.
                    let mut forward =
                        world.forward(buffer(9), (2, 7), to, ForwardBuffering::Receiver)?;
                    forward.cancel();
                    assert!(forward.wait().await?.status.cancelled);
                    // To nobody: a receive. From nobody: nothing.
                    let nobody = (PROC_NULL, 0);
                    let from = (ANY_SOURCE, ANY_TAG);
                    let mut forward =
                        world.forward(buffer(9), from, nobody, ForwardBuffering::Receiver)?;
                    assert_eq!(forward.wait().await?.status.length, 5);
                    let mut forward =
                        world.forward(buffer(9), nobody, to, ForwardBuffering::Receiver)?;
                    assert_eq!(forward.wait().await?.status.source, PROC_NULL);
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        world(3).settings(settings).run(program).finished();
    }
}
