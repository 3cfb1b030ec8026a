//! Neighbours that both send first and receive then: the classical program that works only because
//! of buffering.
//!
//! Below the eager threshold every send is over at once, and the program finishes. From the
//! threshold on, each send waits for a receive that its neighbour only posts after its own send: a
//! deadlock.

use mpi::{Comm, Result};
use simrun::Size;

/// Pairs of ranks send, then receive: deadlocks unless sends are buffered
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the messages.
    #[arg(long, default_value = "1KiB")]
    size: Size,
}

async fn two_senders(world: Comm, args: Args) -> Result<()> {
    let partner = world.rank() ^ 1;
    if partner < world.size() {
        let message = world.buffer(args.size.0);
        let mut answer = message.clone();
        world.send(&message, partner, 0).await?;
        world.recv(&mut answer, partner, 0).await?;
    }
    Ok(())
}

simrun::main!(two_senders);
