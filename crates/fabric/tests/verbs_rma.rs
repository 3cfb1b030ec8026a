//! Promise: over simulated adapters puts are RDMA WRITEs and gets are RDMA READs, which the message
//! layer of the target does not see; the dates are sums of the costs that the device names; and
//! windows hold the same bytes as over flows.
//!
//! Links of 1 GB/s (1000 ps a byte) and 1 µs, one switch of 100 ns.

use std::collections::BTreeMap;

use crate::common::{
    ADAPTER_COSTS as COSTS, DONE, Notes, Run, Runner, on_the_wire, ranks, takes, verbs_settings,
};
use fabric::{CaptureFilter, VerbsSettings};
use mpi::{Settings, prelude::*};
use rdma::Capture;

/// Latency of two links and a switch, in picoseconds.
const LATENCY: u64 = 2_100_000;

fn verbs(size: u32) -> Runner {
    let settings = VerbsSettings {
        capture: Some(CaptureFilter {
            host: None,
            qp_num: None,
            max_bytes: 1 << 30,
        }),
        ..verbs_settings(COSTS)
    };
    flows(size).with_verbs(settings)
}

fn flows(size: u32) -> Runner {
    ranks(size).with_settings(Settings::new(8192))
}

/// Number of packets by their opcodes. IBA 9.2, table 38; pcapng and ERF as `rdma::Capture` says.
fn opcodes(capture: Capture) -> BTreeMap<u8, usize> {
    const ENHANCED_PACKET: [u8; 4] = 6_u32.to_le_bytes();
    // After the header of the block, that of the record and the local route header.
    const OPCODE: usize = 28 + 16 + 8;
    let bytes = capture.into_bytes();
    let (mut at, mut counts) = (0, BTreeMap::new());
    while let Some(block) = bytes.get(at..).filter(|block| !block.is_empty()) {
        if block[..4] == ENHANCED_PACKET {
            *counts.entry(block[OPCODE]).or_default() += 1;
        }
        at += u32::from_le_bytes(*block[4..].first_chunk().expect("a length")) as usize;
    }
    counts
}

/// Opcodes of the first or the only packet.
const SENDS: [u8; 2] = [0x00, 0x04];
const WRITES: [u8; 2] = [0x06, 0x0A];
const WRITES_WITH_IMMEDIATE: [u8; 2] = [0x09, 0x0B];
const READ: u8 = 0x0C;

fn count(counts: &BTreeMap<u8, usize>, opcodes: &[u8]) -> usize {
    let counts = opcodes.iter().filter_map(|opcode| counts.get(opcode));
    counts.sum()
}

/// Rank 0 makes this many puts and gets of this length, and an accumulate.
fn accesses(length: u64, puts: u64, gets: u64) -> BTreeMap<u8, usize> {
    let run = verbs(2).run(move |world, _| async move {
        let window = world.window(world.buffer(length * 8), 1).await?;
        window.fence().await?;
        if world.rank() == 0 {
            for at in 0..puts {
                let data = Buffer::from(vec![7; usize::try_from(length).expect("few")]);
                window.put(&data, 1, at * length).await?;
            }
            for at in 4..4 + gets {
                window
                    .get(&mut world.buffer(length), 1, at * length)
                    .await?;
            }
            // So the fence asks the target in all runs.
            let one = world.buffer_of(&[1_u8]);
            window
                .accumulate(&one, 1, 7 * length, &Op::sum::<u8>())
                .await?;
        }
        window.fence().await?;
        DONE
    });
    opcodes(run.finished().capture.expect("packets are captured"))
}

#[test]
fn puts_are_writes_and_gets_are_reads() {
    for length in [8, 1000, 5000, 100_000] {
        let none = accesses(length, 0, 0);
        let puts = accesses(length, 3, 0);
        let gets = accesses(length, 0, 3);
        let both = accesses(length, 3, 2);
        assert_eq!(count(&none, &WRITES), 0);
        assert_eq!(count(&puts, &WRITES), 3, "{length} bytes");
        assert_eq!(count(&both, &WRITES), 3, "{length} bytes");
        assert_eq!(
            [&none, &puts, &gets, &both].map(|run| count(run, &[READ])),
            [0, 0, 3, 2]
        );
        for run in [&puts, &gets, &both] {
            // Nothing else is sent: no packet, no credit, no announcement.
            assert_eq!(count(run, &SENDS), count(&none, &SENDS), "{length} bytes");
            assert_eq!(count(run, &WRITES_WITH_IMMEDIATE), 0);
        }
    }
}

/// The time of a frame that the adapter takes inline, alone.
fn frame(bytes: u64) -> u64 {
    let ends = COSTS.doorbell + COSTS.tx_packet + COSTS.rx_packet + 64 * bytes + COSTS.completion;
    ends + on_the_wire(bytes) + LATENCY
}

/// Times of a put with a flush and of a get, in picoseconds.
fn times(length: u64) -> [f64; 2] {
    let run = verbs(2).run(move |world, notes| async move {
        let window = world.window(world.buffer(length), 1).await?;
        if world.rank() == 0 {
            window.lock(1, true).await?;
            world.sleep(1e-3 - world.wtime()).await;
            let data = Buffer::from(vec![7; usize::try_from(length).expect("few")]);
            let start = world.wtime();
            window.put(&data, 1, 0).await?;
            window.flush(1).await?;
            let put = (world.wtime() - start) * 1e12;
            let mut got = world.buffer(length);
            let start = world.wtime();
            window.get(&mut got, 1, 0).await?;
            let get = (world.wtime() - start) * 1e12;
            assert_eq!(got.bytes(), data.bytes());
            window.unlock(1).await?;
            notes.add(&world, format!("{put:.0} {get:.0}"));
        }
        window.free().await?;
        DONE
    });
    let run = run.finished();
    let mut times = run.notes[0].2.split(' ').map(|time| time.parse());
    [(); 2].map(|()| times.next().expect("two").expect("a number"))
}

/// Length of the frame of a request or an answer without data: the prefix, three numbers, and the
/// credit of the frame before in the other direction.
const CONTROL: u64 = 16 + 24 + 20;

/// Length of the header of a request for remote memory, and of an answer. IBA 9.3.
const RETH: u64 = 16;
const AETH: u64 = 4;

/// The request to flush follows the write on the link, and the answer comes back.
#[test]
fn a_flushed_put_takes_a_passage_each_way() {
    for length in [1, 8, 100, 220] {
        let write = on_the_wire(RETH + length);
        takes(times(length)[0], write + frame(CONTROL) + frame(CONTROL));
    }
}

/// A request to the adapter of the target, which reads memory and answers.
#[test]
fn a_get_takes_the_time_of_two_adapters() {
    for length in [1, 8, 1000, 1024] {
        let request = COSTS.doorbell + COSTS.tx_packet + on_the_wire(RETH) + LATENCY;
        let read = COSTS.rx_packet + COSTS.dma_read + 64 * length + COSTS.tx_packet;
        let answer = on_the_wire(AETH + length) + LATENCY + COSTS.rx_packet + 64 * length;
        let expected = request + read + answer + COSTS.completion;
        takes(times(length)[1], expected);
    }
}

/// Numbers that a seed determines. Numerical Recipes, 7.1.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        let constants = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(constants.0).wrapping_add(constants.1);
        (self.0 >> 33) % below
    }

    fn bytes(&mut self, length: u64) -> Buffer {
        let bytes = (0..length).map(|_| u8::try_from(self.below(256)).expect("a byte"));
        Buffer::from(bytes.collect::<Vec<u8>>())
    }
}

/// Length of the parts of a window, each of which one rank changes in an epoch.
const PARTS: [u64; 6] = [8, 24, 256, 1000, 9000, 40_000];

/// Accesses of a rank to a part of the window of another: a put, sums, or a get.
async fn access(
    window: &Window,
    draws: &mut Draws,
    (target, offset, length): (usize, u64, u64),
    got: &mut Vec<Buffer>,
) -> Result<()> {
    let from = draws.below(length / 8) * 8;
    let length = 8 * (1 + draws.below((length - from) / 8));
    let place = offset + from;
    match draws.below(5) {
        0 | 1 => window.put(&draws.bytes(length), target, place).await?,
        2 => {
            let data = draws.bytes(length);
            let sum = Op::sum::<u64>();
            window.accumulate(&data, target, place, &sum).await?;
            window.accumulate(&data, target, place, &sum).await?;
        }
        3 => {
            let mut buffer = Buffer::zeroed(length);
            window.get(&mut buffer, target, place).await?;
            got.push(buffer);
        }
        _ => {
            let request = window.rget(Buffer::zeroed(length), target, place).await?;
            window.put(&draws.bytes(length), target, place).await?;
            let mut request = request;
            got.push(request.wait().await?.buffer);
        }
    }
    Ok(())
}

/// Epochs of random accesses. In each, a part of each window belongs to one rank.
async fn random_program(world: Comm, seed: u64, notes: Notes) -> Result<()> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let mut common = Draws(seed);
    let mut own = Draws(seed * 1000 + rank);
    let window = world.window(own.bytes(PARTS.iter().sum()), 1).await?;
    let mut got = Vec::new();
    window.fence().await?;
    for _ in 0..5 {
        let by_locks = common.below(2) == 0;
        for target in 0..world.size() {
            let mut offset = 0;
            for length in PARTS {
                if common.below(size) == rank {
                    if by_locks {
                        window.lock(target, common.0 & 1 << 40 != 0).await?;
                    }
                    let place = (target, offset, length);
                    access(&window, &mut own, place, &mut got).await?;
                    if by_locks {
                        window.unlock(target).await?;
                    }
                }
                offset += length;
            }
        }
        window.fence().await?;
    }
    got.push(window.free().await?);
    let bytes = got.iter().flat_map(|buffer| buffer.bytes().expect("real"));
    // FNV-1a, which depends on the order.
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = bytes.fold(0xCBF2_9CE4_8422_2325, fold);
    notes.add(&world, format!("{rank} {hash:x} {}", got.len()));
    Ok(())
}

fn notes(run: &Run) -> Vec<&str> {
    let mut notes: Vec<&str> = run.notes.iter().map(|note| &*note.2).collect();
    notes.sort_unstable();
    notes
}

#[test]
fn windows_hold_the_same_bytes_as_over_flows() {
    for seed in 1..=8 {
        let program = move |world: Comm, notes: Notes| random_program(world, seed, notes);
        let over_flows = flows(4).run(program).finished();
        let over_verbs = verbs(4).run(program).finished();
        assert_eq!(notes(&over_flows), notes(&over_verbs), "seed {seed}");
        assert_eq!(over_verbs.notes.len(), 4);
        assert!(over_verbs.leftovers.iter().all(Vec::is_empty));
    }
}

/// Puts of two ranks to the same bytes are found when they are called.
#[test]
fn conflicts_are_found() {
    let run = verbs(3).run(|world, notes| async move {
        let window = world.window(world.buffer(16), 1).await?;
        window.fence().await?;
        if world.rank() > 0 {
            window.put(&Buffer::from(vec![1; 8]), 0, 4).await?;
        }
        let Err(error) = window.fence().await else {
            return DONE;
        };
        notes.add(&world, error);
        Err(error)
    });
    let (_, _, text) = &run.notes[0];
    assert!(
        text.starts_with(
            "conflicting accesses to bytes 4 to 11 of the window of rank 0: put of rank "
        ),
        "{text}"
    );
}

/// A flush orders the accesses of two ranks.
#[test]
fn ordered_accesses_are_no_conflict() {
    let run = verbs(3).run(|world, _| async move {
        let window = world.window(world.buffer(16), 1).await?;
        let mut token = world.buffer(1);
        window.lock_all().await?;
        if world.rank() == 1 {
            window.put(&Buffer::from(vec![1; 8]), 0, 4).await?;
            window.flush(0).await?;
            world.send(&token, 2, 0).await?;
        } else if world.rank() == 2 {
            world.recv(&mut token, 1, 0).await?;
            window.put(&Buffer::from(vec![2; 8]), 0, 4).await?;
        }
        window.unlock_all().await?;
        world.barrier().await?;
        if world.rank() == 0 {
            let seen = window.read(4, 8).await?;
            assert_eq!(seen.bytes(), Some(&[2; 8][..]));
        }
        window.free().await?;
        DONE
    });
    run.finished();
}
