//! Tokens go round a ring: each rank receives a token from the rank below and passes it on to the
//! rank above.
//!
//! A round ends when a token has come to rank 0. With one token, the program shows latency for
//! small tokens and bandwidth for large ones: only one message is under way at any time, so no
//! message shares a link. With n evenly spaced tokens, a round is n times as short if n divides the
//! number of ranks.

use std::error::Error;

use mpi::prelude::*;
use simrun::Size;

/// Longest time between two ranks' begins in seconds.
const SKEW_MAX: f64 = 1e6;

/// A token is passed around a ring of ranks
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the token.
    #[arg(long, default_value = "1KiB")]
    size: Size,

    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,

    /// Number of tokens, at most one for each rank
    #[arg(long, value_name = "N", default_value_t = 1)]
    tokens: usize,

    /// Rank r begins r times this time later, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    skew: f64,
}

async fn ring(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    let (rank, size) = (world.rank(), world.size());
    let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
    if !(1..=size).contains(&args.tokens) {
        let tokens = args.tokens;
        return Err(format!("--tokens {tokens}: expected 1 to {size}, one for each rank").into());
    }
    if !(0.0..=SKEW_MAX).contains(&args.skew) {
        let skew = args.skew;
        return Err(format!("--skew {skew}: expected 0 to {SKEW_MAX} seconds").into());
    }
    if args.skew > 0.0 {
        world.sleep(args.skew * rank as f64).await;
    }
    let has_token = rank * args.tokens % size < args.tokens;
    let mut token = world.buffer(args.size.0);
    for round in 0..args.rounds {
        let start = world.wtime();
        if has_token {
            let mut sending = world.isend(token.clone(), above, 0)?;
            world.recv(&mut token, below, 0).await?;
            sending.wait().await?;
            if rank == 0 {
                let time = (world.wtime() - start) * 1e6;
                world.println(format_args!("round {round}: {time:.3} us"));
            }
        } else {
            world.recv(&mut token, below, 0).await?;
            world.send(&token, above, 0).await?;
        }
    }
    Ok(())
}

simrun::main!(ring);
