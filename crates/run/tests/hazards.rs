//! Promise (B5): programs that work only because messages are buffered finish in every order under
//! *eager* and end in a deadlock in every order under *rendezvous*.
//!
//! The twelve combinations of the family *buffering hazard* of the MPI Bugs Initiative: a blocking
//! or a non-blocking send, a blocking or a non-blocking receive, head to head or around a
//! collective call. Written from that description.

use crate::common::{checked, on_ranks, options};
use explore::{Reduction, Report, Verdict, check};
use mpi::prelude::*;
use run::{MessageProtocol, explorable};

/// Operations that the messages are mixed with.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// Both ranks send and then receive.
    Nothing,
    /// Rank 0 sends before the collective call, rank 1 receives after it.
    Barrier,
    /// The same with a broadcast from rank 0.
    Broadcast,
}

async fn send(world: &Comm, blocks: bool, to: usize, tag: u32) -> Result<()> {
    let message = world.buffer(8);
    if blocks {
        world.send(&message, to, tag).await?;
    } else {
        let mut request = world.isend(message, to, tag)?;
        request.wait().await?;
    }
    Ok(())
}

async fn receive(world: &Comm, blocks: bool, from: usize, tag: u32) -> Result<()> {
    let mut message = world.buffer(8);
    if blocks {
        world.recv(&mut message, from, tag).await?;
    } else {
        let mut request = world.irecv(message, from, tag)?;
        request.wait().await?;
    }
    Ok(())
}

async fn hazard(
    world: Comm,
    between: Between,
    send_blocks: bool,
    receive_blocks: bool,
) -> Result<()> {
    let partner = world.rank() ^ 1;
    match (between, world.rank()) {
        (Between::Nothing, _) => {
            send(&world, send_blocks, partner, 0).await?;
            receive(&world, receive_blocks, partner, 0).await
        }
        (_, 0) => {
            send(&world, send_blocks, partner, 0).await?;
            together(&world, between).await
        }
        _ => {
            together(&world, between).await?;
            receive(&world, receive_blocks, partner, 0).await
        }
    }
}

/// The collective call. A broadcast to one rank is a message.
async fn together(world: &Comm, between: Between) -> Result<()> {
    match (between, world.rank()) {
        (Between::Barrier, _) => world.barrier().await,
        (_, 0) => send(world, true, 1, 1).await,
        _ => receive(world, true, 0, 1).await,
    }
}

fn search(
    mode: Option<MessageProtocol>,
    reduction: Reduction,
    case: (Between, bool, bool),
) -> Report {
    let (between, send_blocks, receive_blocks) = case;
    let program = move |world| hazard(world, between, send_blocks, receive_blocks);
    check(explorable(on_ranks(program), 2, mode), &options(reduction))
}

/// Rank 2 receives from rank 0 first only if the message of rank 0 to rank 1 is buffered, and can
/// then continue only if the message of rank 1 is buffered, too.
async fn one_of_two(world: Comm) -> Result<()> {
    let mut message = world.buffer(8);
    match world.rank() {
        0 => {
            world.send(&message, 1, 0).await?;
            world.send(&message, 2, 1).await?;
        }
        1 => {
            world.send(&message, 2, 2).await?;
            world.recv(&mut message, 0, 0).await?;
            world.send(&message, 2, 3).await?;
        }
        _ => {
            let first = world.recv(&mut message, ANY_SOURCE, ANY_TAG).await?;
            let order = if first.source == 0 {
                [(1, 3), (1, 2)]
            } else {
                [(0, 1), (1, 3)]
            };
            for (source, tag) in order {
                world.recv(&mut message, source, tag).await?;
            }
        }
    }
    Ok(())
}

#[test]
fn some_sends_buffered_and_others_not_is_a_hazard_of_its_own() {
    let search = |mode| checked(3, mode, &on_ranks(one_of_two));
    assert_eq!(search(Some(MessageProtocol::Eager)).verdict, Verdict::Ok);
    assert_eq!(
        search(Some(MessageProtocol::Rendezvous)).verdict,
        Verdict::Ok
    );
    let mixed = search(None);
    assert_eq!(mixed.verdict, Verdict::Found);
    let finding = &mixed.findings[0];
    assert_eq!(finding.kind.name(), "deadlock");
    let message = &finding.message;
    assert!(
        message.contains("is not buffered and the send of rank"),
        "{message}"
    );
}

#[test]
fn buffering_hazards_are_deadlocks_without_buffers_only() {
    let mut cases = 0;
    for between in [Between::Nothing, Between::Barrier, Between::Broadcast] {
        for send_blocks in [true, false] {
            for receive_blocks in [true, false] {
                let case = (between, send_blocks, receive_blocks);
                for reduction in [Reduction::None, Reduction::Odpor] {
                    let eager = search(Some(MessageProtocol::Eager), reduction, case);
                    assert_eq!(eager.verdict, Verdict::Ok, "{case:?} {eager:?}");
                    let rendezvous = search(Some(MessageProtocol::Rendezvous), reduction, case);
                    assert_eq!(rendezvous.verdict, Verdict::Found, "{case:?}");
                    assert_eq!(rendezvous.findings[0].kind.name(), "deadlock");
                    assert_eq!(rendezvous.statistics.finished, 0, "{case:?}");
                    let either = search(None, reduction, case);
                    assert_eq!(either.findings[0].kind.name(), "deadlock");
                    assert_eq!(either.statistics.finished, 0, "{case:?}");
                }
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 12);
}
