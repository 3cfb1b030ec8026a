//! Ping-pong: ranks 0 and 1 send a message to and fro, for each of several sizes; rank 0 prints
//! half the round trip: its mean, its minimum and its median.
//!
//! In a simulation the three are equal, unless something else uses the network. In a real run the
//! mean also has what has nothing to do with the network: the first round connects the two ranks,
//! and other programs take the processor; so compare minima or medians there.
//!
//! The other ranks, if there are any, do nothing.

use std::error::Error;

use mpi::Comm;
use simrun::Size;

/// Ping-pong between ranks 0 and 1; prints half the round-trip time per size (mean, minimum,
/// median)
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
        world.println(format_args!(
            "{:>10} {:>20} {:>17} {:>17}",
            "size", "half round trip", "minimum", "median"
        ));
    }
    for size in args.sizes {
        let mut message = world.buffer(size.0);
        let start = world.wtime();
        let mut before = start;
        let mut halves = Vec::with_capacity(args.repetitions as usize);
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
            let now = world.wtime();
            halves.push((now - before) / 2.0);
            before = now;
        }
        if world.rank() == 0 {
            let mean = (before - start) / f64::from(args.repetitions) / 2.0;
            halves.sort_by(f64::total_cmp);
            let [mean, least, median] = [mean, halves[0], median(&halves)].map(|time| time * 1e6);
            let size = size.to_string();
            world.println(format_args!(
                "{size:>10} {mean:>17.3} us {least:>14.3} us {median:>14.3} us"
            ));
        }
    }
    Ok(())
}

/// The middle of times that are sorted, of which there is one at least.
fn median(sorted: &[f64]) -> f64 {
    let (below, above) = ((sorted.len() - 1) / 2, sorted.len() / 2);
    f64::midpoint(sorted[below], sorted[above])
}

simrun::main!(pingpong);

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(&[1.0, 2.0, 9.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[1.0, 2.0, 4.0, 9.0]) - 3.0).abs() < 1e-12);
        assert!((median(&[5.0]) - 5.0).abs() < 1e-12);
    }
}
