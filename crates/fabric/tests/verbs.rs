//! Promise: the dates of messages over simulated adapters are sums of the costs that the device
//! names, to the picosecond; and programs behave as on other devices.
//!
//! Links of 1 GB/s (1000 ps a byte) and 1 µs, one switch of 100 ns.

use crate::common;
use crate::common::{ADAPTER_COSTS as COSTS, DONE, Run, on_the_wire, ranks, takes, verbs_settings};
use fabric::AdapterCosts;
use models::packet::LinkFaults;
use mpi::channel::{Packet, PacketHeader};
use mpi::{Envelope, Settings, TypeSignature, prelude::*};
use sim_core::Outcome;

/// The bytes of the frame that carries an eager message of `bytes` bytes.
fn frame(bytes: usize) -> u64 {
    let envelope = Envelope {
        context: 0,
        source: 0,
        tag: 5,
        ready: false,
        signature: TypeSignature::NONE,
    };
    let packet = Packet {
        header: PacketHeader::Eager { envelope },
        payload: Buffer::from(vec![0; bytes]),
        notify: None,
        returned: None,
    };
    (mpi_verbs::wire::encode(&packet).bytes().len() + bytes) as u64
}

/// Rank 0 sends to rank 1 at 1 ms, after a message that connects them, and at 2 ms again.
async fn send_twice(world: Comm, bytes: usize) -> Result<f64> {
    let mut arrived = 0.0;
    for date in [0.0, 1e-3, 2e-3] {
        if world.rank() == 0 {
            world.sleep(date - world.wtime()).await;
            world.send(&Buffer::from(vec![7; bytes]), 1, 5).await?;
        } else {
            let mut buffer = world.buffer(bytes as u64);
            world.recv(&mut buffer, 0, 5).await?;
            assert_eq!(buffer.bytes(), Some(&*vec![7; bytes]));
            arrived = world.wtime() - date;
        }
    }
    Ok(arrived)
}

/// Returns the time from the call of the sender to the end of the receive, in picoseconds.
fn one_way(costs: AdapterCosts, bytes: usize) -> f64 {
    let run = ranks(2)
        .with_settings(Settings::new(8192))
        .with_verbs(verbs_settings(costs))
        .run(move |world, notes| async move {
            let arrived = send_twice(world.clone(), bytes).await?;
            if world.rank() == 1 {
                notes.add(&world, format!("{:.0}", arrived * 1e12));
            }
            DONE
        })
        .finished();
    run.notes[0].2.parse().expect("a number")
}

/// Returns the time of a single packet over two links and a switch, with a frame in memory.
fn closed_form(payload: u64, is_inline: bool) -> u64 {
    let read = if is_inline {
        0
    } else {
        COSTS.dma_read + 64 * payload
    };
    let network = on_the_wire(payload) + 2 * 1_000_000 + 100_000;
    COSTS.doorbell
        + read
        + COSTS.tx_packet
        + network
        + COSTS.rx_packet
        + 64 * payload
        + COSTS.completion
}

#[test]
fn a_message_inline() {
    for bytes in [0, 1, 100] {
        takes(one_way(COSTS, bytes), closed_form(frame(bytes), true));
    }
}

#[test]
fn a_message_in_one_packet() {
    for bytes in [300, 500, 900] {
        takes(one_way(COSTS, bytes), closed_form(frame(bytes), false));
    }
}

/// Packets after the first one follow at the rate of the link: the last of n full packets comes n −
/// 1 packet times after the first packet, and the rest after the last one.
#[test]
fn a_message_in_several_packets() {
    for bytes in [2000, 4000, 8000] {
        let frame = frame(bytes);
        let (full, rest) = (frame / 1024, frame % 1024);
        let first = COSTS.doorbell + COSTS.dma_read + 64 * 1024 + COSTS.tx_packet;
        let wire = full * on_the_wire(1024) + on_the_wire(rest) + 2 * 1_000_000 + 100_000;
        let last = COSTS.rx_packet + 64 * rest + COSTS.completion;
        takes(one_way(COSTS, bytes), first + wire + last);
    }
}

#[test]
fn each_cost_counts_for_itself() {
    let free = AdapterCosts {
        doorbell: 0,
        dma_read: 0,
        tx_packet: 0,
        rx_packet: 0,
        atomic: 0,
        completion: 0,
        pcie_per_byte: 0.0,
    };
    let network = on_the_wire(frame(500)) + 2 * 1_000_000 + 100_000;
    takes(one_way(free, 500), network);
    let with = |change: fn(&mut AdapterCosts)| {
        let mut costs = free;
        change(&mut costs);
        costs
    };
    for (costs, cost) in [
        (with(|costs| costs.doorbell = 7000), 7000),
        (with(|costs| costs.dma_read = 7000), 7000),
        (with(|costs| costs.tx_packet = 7000), 7000),
        (with(|costs| costs.rx_packet = 7000), 7000),
        (with(|costs| costs.completion = 7000), 7000),
        (
            with(|costs| costs.pcie_per_byte = 10.0),
            2 * 10 * frame(500),
        ),
    ] {
        takes(one_way(costs, 500), network + cost);
    }
}

/// Sums up the messages of all ranks to all ranks, short and long, also on one host.
async fn exchange(world: Comm) -> Result<u64> {
    let (rank, size) = (world.rank(), world.size());
    let mut sum = 0;
    for bytes in [8_usize, 5000, 200_000] {
        for step in 1..size {
            let (to, from) = ((rank + step) % size, (rank + size - step) % size);
            let own = Buffer::from(vec![u8::try_from(rank + 1).expect("few"); bytes]);
            let mut sending = world.isend(own, to, 1)?;
            let mut buffer = world.buffer(bytes as u64);
            world.recv(&mut buffer, from, 1).await?;
            sending.wait().await?;
            sum += buffer
                .bytes()
                .into_iter()
                .flatten()
                .map(|byte| u64::from(*byte))
                .sum::<u64>();
        }
    }
    Ok(sum)
}

fn sums(run: &Run) -> Vec<&str> {
    let mut notes: Vec<(usize, &str)> = run.notes.iter().map(|note| (note.1, &*note.2)).collect();
    notes.sort_unstable();
    notes.into_iter().map(|note| note.1).collect()
}

#[test]
fn ranks_exchange_the_same_bytes_as_over_flows() {
    let runner = ranks(6)
        .on_hosts(&[0, 1, 1, 2, 3, 3])
        .with_settings(Settings::new(8192));
    let program = |world: Comm, notes: common::Notes| async move {
        let sum = exchange(world.clone()).await?;
        notes.add(&world, sum);
        DONE
    };
    let flows = runner.run(program).finished();
    let packets = runner
        .clone()
        .with_verbs(verbs_settings(COSTS))
        .run(program)
        .finished();
    assert_eq!(sums(&flows), sums(&packets));
    assert!(packets.leftovers.iter().all(Vec::is_empty));
    let again = runner.with_verbs(verbs_settings(COSTS)).run(program);
    assert_eq!(again.report.digest, packets.report.digest);
}

#[test]
fn a_receive_without_a_send_is_a_deadlock_at_its_date() {
    let run = ranks(2)
        .with_settings(Settings::new(8192))
        .with_verbs(verbs_settings(COSTS))
        .run(|world, _| async move {
            if world.rank() == 1 {
                world.send(&Buffer::from(vec![0; 8]), 0, 1).await?;
            }
            let mut buffer = world.buffer(8);
            world.recv(&mut buffer, 1 - world.rank(), 1).await?;
            if world.rank() == 0 {
                world.recv(&mut buffer, 1, 1).await?;
            }
            DONE
        });
    assert_eq!(run.deadlock().blocked.len(), 2);
    assert!(run.report.time.as_secs() < 1e-5, "{:?}", run.report.time);
    assert_ne!(run.report.outcome, Outcome::Finished);
}

/// The written data are in memory and the notice is inline: neither overtakes the other, so no
/// packet is sent again, which would take 1.07 s.
#[test]
fn a_rendezvous_takes_three_passages() {
    let run = ranks(2)
        .with_settings(Settings::new(0))
        .with_verbs(verbs_settings(COSTS))
        .run(|world, notes| async move {
            let end = send_twice(world.clone(), 1000).await?;
            if world.rank() == 1 {
                notes.add(&world, end < 3.0 * 4e-6);
            }
            DONE
        })
        .finished();
    assert_eq!(run.notes[0].2, "true");
}

#[test]
fn a_rank_sends_to_itself_by_rendezvous() {
    let run = ranks(1)
        .with_settings(Settings::new(0))
        .with_verbs(verbs_settings(COSTS))
        .run(|world, _| async move {
            let mut sending = world.isend(Buffer::from(vec![3; 77]), 0, 1)?;
            let mut buffer = world.buffer(77);
            world.recv(&mut buffer, 0, 1).await?;
            sending.wait().await?;
            assert_eq!(buffer.bytes(), Some(&[3; 77][..]));
            DONE
        });
    run.finished();
}

/// The place of a packet is free when all copies of the packet have arrived or are lost; the device
/// checks that no place is occupied when no packet is in flight.
#[test]
fn lost_and_doubled_packets_keep_no_place() {
    const MESSAGES: u32 = 500;
    let faults = LinkFaults {
        loss: 0.05,
        duplication: 0.2,
        ..LinkFaults::default()
    };
    let mut settings = verbs_settings(COSTS);
    settings.network.faults = faults;
    let run = ranks(2)
        .with_settings(Settings::new(8192))
        .with_verbs(settings)
        .run(move |world, notes| async move {
            let mut sum = 0;
            for number in 0..MESSAGES {
                if world.rank() == 0 {
                    world
                        .send(&Buffer::from(number.to_le_bytes().to_vec()), 1, 5)
                        .await?;
                    world.sleep(1e-4).await;
                } else {
                    let mut buffer = world.buffer(4);
                    world.recv(&mut buffer, 0, 5).await?;
                    let bytes = buffer.bytes().and_then(|bytes| bytes.try_into().ok());
                    sum += u32::from_le_bytes(bytes.expect("4 bytes"));
                }
            }
            if world.rank() == 1 {
                notes.add(&world, sum);
            }
            DONE
        })
        .finished();
    let sum = MESSAGES * (MESSAGES - 1) / 2;
    assert_eq!(sums(&run), [sum.to_string()]);
}
