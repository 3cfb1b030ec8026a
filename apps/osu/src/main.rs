//! Measurements of the OSU micro-benchmarks, with a table in their format: one line per size.
//!
//! `latency` is half the round trip between ranks 0 and 1, `bandwidth` that of a window of messages
//! in flight and an answer. Of a collective the table has the mean over ranks and calls, with a
//! barrier after each call. Sizes are those of a message, or of a block of an alltoall.
//!
//! *Not modelled*: data are not verified.

mod measure;

use std::error::Error;

use mpi::prelude::*;
use simrun::Size;

/// Latency, bandwidth and collectives in the format of the OSU micro-benchmarks
#[derive(clap::Parser, Clone)]
struct Args {
    /// Measurement
    #[arg(long, value_enum, default_value_t = Test::Latency)]
    test: Test,

    /// Smallest size
    #[arg(long, default_value = "1B")]
    min: Size,

    /// Largest size; sizes are doubled up to it
    #[arg(long, default_value = "1MiB")]
    max: Size,

    /// Number of iterations per size
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,

    /// Number of iterations before those
    #[arg(long, value_name = "N", default_value_t = 10)]
    warmup: u32,
}

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, clap::ValueEnum)]
enum Test {
    Latency,
    Bandwidth,
    Allreduce,
    Alltoall,
    Bcast,
}

async fn osu(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    let ranks = world.size();
    if ranks < 2 {
        return Err("these tests need at least 2 ranks, but there is only 1".into());
    }
    if world.rank() == 0 {
        let title = match args.test {
            Test::Latency => "Latency (us)",
            Test::Bandwidth => "Bandwidth (MB/s)",
            _ => "Avg Latency(us)",
        };
        let name = format!("{:?}", args.test).to_lowercase();
        world.println(format_args!("# OSU-format {name} (simrun)"));
        world.println(format_args!("{:<10}{title:>20}", "# Size"));
    }
    let element = if args.test == Test::Allreduce { 4 } else { 1 };
    let mut size = args.min.0.next_multiple_of(element).max(element);
    while size <= args.max.0 {
        let seconds = measure::mean_iteration_time(&world, &args, size).await?;
        // Times are real data in a phantom run, too.
        let (own, add) = (Buffer::of(&[seconds]), Op::sum::<f64>());
        if let Some(sum) = world.reduce(&own, &add, 0).await? {
            let sum = sum.values::<f64>()?.unwrap_or_default()[0];
            let value = match args.test {
                Test::Latency => seconds / 2.0 * 1e6,
                Test::Bandwidth => size as f64 * f64::from(measure::WINDOW) / seconds / 1e6,
                _ => sum / ranks as f64 * 1e6,
            };
            world.println(format_args!("{size:<10}{value:>20.2}"));
        }
        size = size.saturating_mul(2);
    }
    Ok(())
}

simrun::main!(osu);
