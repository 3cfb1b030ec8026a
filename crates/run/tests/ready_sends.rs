//! Promise: a ready send is a finding unless messages order the posting of its receive before the
//! send, no matter which comes first in the explored runs.

use crate::common::{checked, on_ranks};
use explore::{Report, Verdict};
use mpi::prelude::*;
use run::MessageProtocol;

/// The order between the receive at rank 1 and the ready send of rank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// The receive is the first call of rank 1.
    Nothing,
    /// Rank 1 sends to rank 0 before it posts the receive.
    MessageBefore,
    /// Rank 1 sends to rank 0 after rank 1 has posted the receive.
    Message,
    /// The same by way of rank 2.
    Relay,
    /// Both enter a barrier, rank 1 after it has posted the receive.
    Barrier,
    /// Rank 1 posts a receive of a synchronous send after the other one.
    Synchronous,
    /// The same with a standard send; a standard send need not wait for its receive.
    Standard,
    /// Rank 0 tests whether the message of rank 1 is there, and sends in any case.
    Test,
}

const READY: u32 = 1;
const OTHER: u32 = 2;

/// Calls of rank 0 before its ready send.
async fn before(world: &Comm, order: Order) -> Result<()> {
    let mut message = world.buffer(8);
    match order {
        Order::Nothing => {}
        Order::Message | Order::MessageBefore => {
            world.recv(&mut message, 1, OTHER).await?;
        }
        Order::Relay => drop(world.recv(&mut message, 2, OTHER).await?),
        Order::Barrier => world.barrier().await?,
        Order::Synchronous => world.ssend(&message, 1, OTHER).await?,
        Order::Standard => world.send(&message, 1, OTHER).await?,
        Order::Test => {
            let mut request = world.irecv(message, 1, OTHER)?;
            if request.test().await?.is_none() {
                world.rsend(&world.buffer(8), 1, READY).await?;
                request.wait().await?;
                return Ok(());
            }
        }
    }
    world.rsend(&world.buffer(8), 1, READY).await
}

async fn program(world: Comm, order: Order) -> Result<()> {
    let mut message = world.buffer(8);
    match world.rank() {
        0 => before(&world, order).await?,
        1 => {
            if order == Order::MessageBefore {
                world.send(&message, 0, OTHER).await?;
            }
            let mut ready = world.irecv(world.buffer(8), 0, READY)?;
            match order {
                Order::Nothing | Order::MessageBefore => {}
                Order::Message | Order::Test => world.send(&message, 0, OTHER).await?,
                Order::Relay => world.send(&message, 2, OTHER).await?,
                Order::Barrier => world.barrier().await?,
                Order::Synchronous | Order::Standard => {
                    world.recv(&mut message, 0, OTHER).await?;
                }
            }
            ready.wait().await?;
        }
        _ if order == Order::Relay => {
            world.recv(&mut message, 1, OTHER).await?;
            world.send(&message, 0, OTHER).await?;
        }
        _ if order == Order::Barrier => world.barrier().await?,
        _ => {}
    }
    Ok(())
}

fn report(order: Order, mode: impl Into<Option<MessageProtocol>>) -> Report {
    checked(3, mode, &on_ranks(move |world| program(world, order)))
}

#[test]
fn what_orders_the_receive_before_the_send_is_right() {
    for order in [
        Order::Message,
        Order::Relay,
        Order::Barrier,
        Order::Synchronous,
    ] {
        for mode in [
            Some(MessageProtocol::Eager),
            Some(MessageProtocol::Rendezvous),
            None,
        ] {
            let report = report(order, mode);
            assert_eq!(report.verdict, Verdict::Ok, "{order:?} {mode:?} {report:?}");
        }
    }
}

#[test]
fn a_receive_that_nothing_orders_before_the_send_is_a_finding_with_both_lines() {
    for order in [
        Order::Nothing,
        Order::MessageBefore,
        Order::Standard,
        Order::Test,
    ] {
        let report = report(order, MessageProtocol::Eager);
        assert_eq!(report.verdict, Verdict::Found, "{order:?} {report:?}");
        let message = &report.findings[0].message;
        let at = |text: &str| {
            let lines = include_str!("ready_sends.rs")
                .split_inclusive('\n')
                .zip(1..);
            let mut found = lines.filter(|(line, _)| line.contains(text));
            found
                .next()
                .map(|(_, line)| format!("crates/run/tests/ready_sends.rs:{line}"))
        };
        let send = if order == Order::Test {
            "                world.rsend("
        } else {
            "    world.rsend(&world.buffer(8), 1, READY).await\n"
        };
        let (send, receive) = (at(send), at("let mut ready = world.irecv("));
        let expected = format!(
            "ready send without a posted receive: a message from rank 0 with tag 1; nothing orders \
             the receive at {} before the send at {}",
            receive.expect("it is there"),
            send.expect("it is there")
        );
        assert_eq!(*message, expected, "{order:?}");
    }
}
