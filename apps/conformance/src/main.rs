//! One body of tests for every device between ranks: the same cases are run simulated and on each
//! real back end.
//!
//! Each case asserts by itself what MPI promises, and no more: nothing depends on time or on who is
//! faster. All cases but that of collectives need at least 2 ranks; what a case has to say is
//! printed, and is the same everywhere. Run it with `--protocol threshold=SIZE`, and tell the same
//! size after `--`.
//!
//! Not covered: what differs between devices on purpose, as times, limits and lost ranks.

mod basics;
mod between;
mod collectives;
mod communicators;
mod modes;
mod one_sided;
mod random;
mod requests;

use mpi::prelude::*;
use simrun::Size;

/// Self-checking tests of the message layer.
#[derive(clap::Parser, Clone)]
struct Args {
    /// Test case [default: all]
    #[arg(long, value_enum)]
    case: Option<Case>,

    /// Eager threshold in bytes
    #[arg(long, default_value = "16KiB")]
    threshold: Size,

    /// Seed of the random messages.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of random messages.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    messages: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Case {
    /// Sources, tags and wildcards; the order of messages.
    Matching,
    /// Lengths around the threshold, and long messages, in both directions at once.
    Thresholds,
    /// Messages that are longer than the buffer.
    Truncation,
    /// Probes, also matched ones.
    Probes,
    /// Standard, synchronous, ready and buffered sends.
    Modes,
    /// Sends and receives that are taken back.
    Cancel,
    /// Several requests at once, persistent ones, combined calls.
    Requests,
    /// Messages of different communicators never meet.
    Communicators,
    /// A rank leaves a barrier when all have entered it.
    Barrier,
    /// Collective calls of all kinds and their data.
    Collectives,
    /// Messages and collectives between two groups, and communicators of a group alone.
    Intercommunicators,
    /// Exchanges between the neighbours of a ring.
    Neighbors,
    /// Collective calls on derived datatypes and in place.
    Views,
    /// Windows: accesses and their synchronisation.
    OneSided,
    /// Thousands of random messages.
    Random,
}

const ALL: [Case; 15] = [
    Case::Matching,
    Case::Thresholds,
    Case::Truncation,
    Case::Probes,
    Case::Modes,
    Case::Cancel,
    Case::Requests,
    Case::Communicators,
    Case::Barrier,
    Case::Collectives,
    Case::Intercommunicators,
    Case::Neighbors,
    Case::Views,
    Case::OneSided,
    Case::Random,
];

async fn conformance(world: Comm, args: Args) -> Result<()> {
    let works_alone = args.case == Some(Case::Collectives);
    let is_enough = world.size() >= 2 || works_alone;
    assert!(is_enough, "these tests need at least 2 ranks");
    let threshold = args.threshold.0;
    for case in ALL {
        if args.case.is_some_and(|only| only != case) {
            continue;
        }
        match case {
            Case::Matching => basics::matching(&world).await?,
            Case::Thresholds => basics::thresholds(&world, threshold).await?,
            Case::Truncation => basics::truncation(&world, threshold).await?,
            Case::Probes => basics::probes(&world, threshold).await?,
            Case::Modes => modes::modes(&world, threshold).await?,
            Case::Cancel => modes::test_cancel(&world, threshold).await?,
            Case::Requests => requests::requests(&world, threshold).await?,
            Case::Communicators => communicators::communicators(&world).await?,
            Case::Barrier => communicators::test_barrier(&world).await?,
            Case::Collectives => collectives::collectives(&world, threshold).await?,
            Case::Intercommunicators => between::intercommunicators(&world, threshold).await?,
            Case::Neighbors => between::neighbors(&world, threshold).await?,
            Case::Views => between::views(&world, threshold).await?,
            Case::OneSided => one_sided::one_sided(&world, threshold).await?,
            Case::Random => {
                random::test_random(&world, threshold, args.seed, args.messages).await?;
            }
        }
        world.barrier().await?;
        if world.rank() == 0 {
            let name = format!("{case:?}").to_lowercase();
            world.println(format_args!("{name}: passed"));
        }
    }
    Ok(())
}

/// A message whose bytes depend on `number` and on their places.
fn message(world: &Comm, number: u64, length: u64) -> Buffer {
    let mut buffer = world.buffer(length);
    if let Some(bytes) = buffer.bytes_mut() {
        for (place, byte) in (0_u64..).zip(bytes) {
            *byte = byte_at(number, place);
        }
    }
    buffer
}

const fn byte_at(number: u64, place: u64) -> u8 {
    (number
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(place.wrapping_mul(31))
        >> 3) as u8
}

/// Asserts that the first `length` bytes of a buffer are those of the message.
#[track_caller]
fn check(buffer: &Buffer, number: u64, length: u64) {
    let Some(bytes) = buffer.bytes() else { return };
    let length = usize::try_from(length).expect("a real buffer fits into memory");
    let wrong = (0_u64..).zip(&bytes[..length]);
    let wrong = wrong
        .clone()
        .find(|&(place, &byte)| byte != byte_at(number, place));
    assert!(wrong.is_none(), "message {number}: wrong byte {wrong:?}");
}

simrun::main!(conformance);
