//! Leader election in a ring, after Chang and Roberts (1979), for the model checker: `-n` nodes.
//!
//! Each node sends its number to the next one. A node passes on what is greater than its own number
//! and swallows what is smaller; who gets its own number back is the leader, and says so to
//! everybody, once round.
//!
//! Each mailbox has one sender and one receiver, so nothing depends on who is faster. Known
//! answers: 1 order, and with `--twins`, where the two greatest numbers are equal, two leaders in
//! each of the 2 orders in which they are counted.

use sim_core::{ActivityError, Actor, Mailbox};

/// Leader election in a ring (Chang and Roberts 1979)
#[derive(clap::Parser, Clone)]
struct Args {
    /// Let two nodes have the same greatest number: a mistake
    #[arg(long)]
    twins: bool,
}

/// Said by a leader instead of a number.
const ELECTED: u64 = u64::MAX;

async fn node(
    own: u64,
    inbox: Mailbox,
    next: Mailbox,
    leaders: Mailbox,
) -> Result<(), ActivityError> {
    next.put_detached(own, 8.0).await;
    loop {
        let number = inbox.get().await?.word().unwrap_or(ELECTED);
        if number == ELECTED {
            next.put_detached(ELECTED, 8.0).await;
            return Ok(());
        }
        if number == own {
            leaders.put_detached(own, 8.0).await;
            next.put_detached(ELECTED, 8.0).await;
            // It comes back, or another leader's does.
            while inbox.get().await?.word() != Some(ELECTED) {}
            return Ok(());
        }
        if number > own {
            next.put_detached(number, 8.0).await;
        }
    }
}

async fn leader_election(me: Actor, args: Args) -> Result<(), String> {
    let count = me.count();
    let inboxes: Vec<Mailbox> = (0..count).map(|_| me.new_mailbox()).collect();
    let leaders = me.new_mailbox();
    let mut nodes = Vec::new();
    for number in 0..count {
        let own = if args.twins && number == 0 {
            count - 1
        } else {
            number
        };
        let next = &inboxes[((number + 1) % count) as usize];
        let (inbox, next, leaders) = (
            inboxes[number as usize].clone(),
            next.clone(),
            leaders.clone(),
        );
        let program = move |_| node(u64::from(own), inbox, next, leaders);
        let name = format!("node-{number}");
        nodes.push(me.spawn(&name, me.host(), program).await);
    }
    for node in nodes {
        node.join().await;
    }
    let mut elected = 0;
    while leaders.probe().await {
        leaders.get().await.map_err(|error| error.to_string())?;
        elected += 1;
    }
    match elected {
        1 => Ok(()),
        _ => Err(format!("{elected} leaders: expected 1")),
    }
}

simrun::main!(leader_election);
