//! Sample sort (Frazer and McKellar, 1970; Shi and Schaeffer, 1992): every rank has a part of the
//! keys, and afterwards a range of them, in order.
//!
//! Each rank sorts its keys and contributes a regular sample of them. The root of a gather selects
//! splitters, which a broadcast distributes. An alltoall tells the ranks the lengths of the blocks
//! that an alltoall of blocks of different lengths then exchanges. The program verifies the order
//! of the keys between ranks, their number and their sum. Lengths depend on keys, so that phantom
//! buffers are refused.
//!
//! *Not modelled*: in a simulation sorting takes no time.

use std::error::Error;

use mpi::prelude::*;

/// Sorts random keys, which are distributed over all ranks
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of keys of each rank
    #[arg(long, value_name = "N", default_value_t = 1024)]
    keys: u32,

    /// Seed of the keys
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Returns the n-th number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn random_key(seed: u64, number: u64) -> u64 {
    let z = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the splitters between the ranges of the ranks, the same at all ranks.
async fn splitters(world: &Comm, sorted: &[u64]) -> Result<Vec<u64>> {
    let size = world.size();
    let sample = (0..size).map(|at| sorted.get(at * sorted.len() / size).copied());
    let sample: Vec<u64> = sample.map(|key| key.unwrap_or(u64::MAX)).collect();
    let samples = world.gather(world.buffer_of(&sample), 0).await?;
    let mut selected = world.buffer_of(&vec![0_u64; size - 1]);
    if let Some(mut samples) = samples.map_or(Ok(None), |all| all.values::<u64>())? {
        samples.sort_unstable();
        let picked = (1..size).map(|at| samples[at * size + size / 2 - 1]);
        selected = world.buffer_of(&picked.collect::<Vec<u64>>());
    }
    world.bcast(&mut selected, 0).await?;
    Ok(selected.values()?.unwrap_or_default())
}

/// Returns the keys of all ranks that are in the range of this one, in order.
async fn sort(world: &Comm, mut keys: Vec<u64>) -> Result<Vec<u64>> {
    keys.sort_unstable();
    let splitters = splitters(world, &keys).await?;
    let ends = splitters
        .iter()
        .map(|splitter| keys.partition_point(|key| key < splitter));
    let mut from = 0;
    let lengths = ends.chain([keys.len()]).map(|end| {
        let count = end - std::mem::replace(&mut from, end);
        8 * count as u64
    });
    let send: Vec<u64> = lengths.collect();
    let recv = world.alltoall(world.buffer_of(&send)).await?;
    let recv: Vec<u64> = recv.values()?.unwrap_or_default();
    let data = world.buffer_of(&keys);
    let received = world.alltoall_v(&data, send, recv).await?;
    let mut sorted: Vec<u64> = received.values()?.unwrap_or_default();
    sorted.sort_unstable();
    Ok(sorted)
}

/// Returns an operation's result over the values of all ranks.
async fn reduced(world: &Comm, value: u64, op: &Op) -> Result<u64> {
    let result = world.allreduce(world.buffer_of(&[value]), op).await?;
    Ok(result.values()?.map_or(0, |values| values[0]))
}

async fn samplesort(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    if world.buffer(0).is_phantom() {
        return Err("lengths of blocks depend on keys: sample sort needs --payload real".into());
    }
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let seed = random_key(args.seed, rank);
    let keys: Vec<u64> = (0..args.keys.into())
        .map(|at| random_key(seed, at))
        .collect();
    let sum = |keys: &[u64]| keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
    let before = sum(&keys);
    world.barrier().await?;
    let start = world.wtime();
    let sorted = sort(&world, keys).await?;
    let time = (world.wtime() - start) * 1e6;
    let largest = world.buffer_of(&[sorted.last().copied().unwrap_or(0)]);
    if let Some(below) = world.exscan(&largest, &Op::max::<u64>()).await? {
        let below = below.values::<u64>()?.unwrap_or_default();
        assert!(
            sorted.first().is_none_or(|first| *first >= below[0]),
            "a wrong order"
        );
    }
    let count = sorted.len() as u64;
    let total = reduced(&world, count, &Op::sum::<u64>()).await?;
    assert_eq!(total, size * u64::from(args.keys), "the number of keys");
    let difference = sum(&sorted).wrapping_sub(before);
    let difference = reduced(&world, difference, &Op::sum::<u64>()).await?;
    assert_eq!(difference, 0, "the sum of keys");
    let largest = reduced(&world, count, &Op::max::<u64>()).await?;
    if rank == 0 {
        world.println(format_args!(
            "{total} keys, at most {largest} at a rank: {time:.3} us"
        ));
    }
    Ok(())
}

simrun::main!(samplesort);
