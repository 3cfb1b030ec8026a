//! Ping-pong: ranks 0 and 1 send a message to and fro, for each of several sizes; rank 0 prints half the round trip.
//!
//! The other ranks, if there are any, do nothing.

use std::error::Error;

use mpi::Comm;
use simrun::Size;

/// Ranks 0 and 1 send messages to and fro; prints half the round trip for each size.
#[derive(clap::Parser, Clone)]
struct Args {
    /// The sizes, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,8,64,512,4KiB,32KiB,256KiB,2MiB"
    )]
    sizes: Vec<Size>,

    /// Round trips per size.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
}

async fn pingpong(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    if world.size() < 2 {
        return Err("ping-pong needs at least 2 ranks, but there is only 1".into());
    }
    if world.rank() == 0 {
        world.println(format_args!("{:>10} {:>20}", "size", "half round trip"));
    }
    for size in args.sizes {
        let mut message = world.buffer(size.0);
        let start = world.wtime();
        for _ in 0..args.repetitions {
            match world.rank() {
                0 => {
                    world.send(&message, 1, 0).await?;
                    world.recv(&mut message, 1, 0).await?;
                }
                1 => {
                    world.recv(&mut message, 0, 0).await?;
                    world.send(&message, 0, 0).await?;
                }
                _ => {}
            }
        }
        if world.rank() == 0 {
            let half = (world.wtime() - start) / f64::from(args.repetitions) / 2.0;
            let (size, half) = (size.to_string(), half * 1e6);
            world.println(format_args!("{size:>10} {half:>17.3} us"));
        }
    }
    Ok(())
}

simrun::main!(pingpong);
