//! Thousands of random messages, drawn from a seed in the same way by every rank, so each rank
//! knows the messages to receive.
//!
//! Messages are sent in batches. In a batch every rank posts a receive for each message to this
//! rank, in the order of the list, by source and by tag or any tag; so by the rules of MPI the n-th
//! message of a sender matches the n-th receive from that sender, whatever the route and protocol.
//! The ranks print a transcript of all received messages, which must be the same on every device.

use mpi::{Tag, prelude::*};

use crate::{check, message};

const BATCH: u32 = 200;

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn next_below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A message of the list.
struct Sent {
    from: usize,
    to: usize,
    tag: u32,
    length: u64,
    any_tag: bool,
    mode: u64,
    late: bool,
}

impl Sent {
    fn draw_message(random: &mut SplitMix, size: usize, threshold: u64) -> Self {
        let mut rank = || usize::try_from(random.next_below(size as u64)).expect("few ranks");
        let (from, to) = (rank(), rank());
        let length = match random.next_below(10) {
            0 => 0,
            1..=5 => random.next_below(200),
            6 | 7 => (threshold + random.next_below(5)).saturating_sub(2),
            8 => threshold + random.next_below(50_000),
            _ => random.next_below(threshold + 1),
        };
        Self {
            from,
            to,
            tag: u32::try_from(random.next_below(3)).expect("small"),
            length,
            any_tag: random.next_below(3) == 0,
            mode: random.next_below(4),
            late: random.next_below(4) == 0,
        }
    }

    fn start_send(&self, world: &Comm, number: u64) -> Result<Request> {
        let buffer = message(world, number, self.length);
        match self.mode {
            0 => world.issend(buffer, self.to, self.tag),
            1 => world.irsend(buffer, self.to, self.tag),
            _ => world.isend(buffer, self.to, self.tag),
        }
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
fn hash_bytes(transcript: &mut u64, bytes: &[u8]) {
    for &byte in bytes {
        *transcript = (*transcript ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

pub(crate) async fn test_random(world: &Comm, threshold: u64, seed: u64, count: u32) -> Result<()> {
    let mut random = SplitMix(seed);
    let (rank, size) = (world.rank(), world.size());
    let mut transcript = 0xcbf2_9ce4_8422_2325;
    let (mut number, mut got) = (0, 0_u64);
    while number < count {
        let batch = BATCH.min(count - number);
        let list: Vec<Sent> = (0..batch)
            .map(|_| Sent::draw_message(&mut random, size, threshold))
            .collect();
        let mut requests = Vec::new();
        let mut expected = Vec::new();
        // Some receives are posted before the sends are begun, the others after them.
        let posts = |requests: &mut Vec<Request>, sent: &Sent| {
            let tag = if sent.any_tag {
                ANY_TAG
            } else {
                Tag::Is(sent.tag)
            };
            let receive = world.irecv(world.buffer(sent.length), sent.from, tag)?;
            requests.push(receive);
            Ok::<_, Error>(())
        };
        let mine = |sent: &&Sent| sent.to == rank;
        let early = list.iter().position(|sent| sent.late).unwrap_or(0);
        for sent in list[..early].iter().filter(mine) {
            posts(&mut requests, sent)?;
        }
        let mut sends = Vec::new();
        for (place, sent) in (0_u64..).zip(&list) {
            if sent.from == rank {
                sends.push(sent.start_send(world, u64::from(number) + place)?);
            }
        }
        for sent in list[early..].iter().filter(mine) {
            posts(&mut requests, sent)?;
        }
        let places = (0_u64..).zip(&list).filter(|(_, sent)| sent.to == rank);
        expected.extend(places.map(|(place, sent)| (u64::from(number) + place, sent)));
        let done = waitall(&mut requests).await?;
        assert_eq!(done.len(), expected.len());
        for (done, (number, sent)) in done.into_iter().zip(expected) {
            let done = done.expect("each receive was active");
            let status = done.status;
            let found = (status.source, status.tag, status.length);
            assert_eq!(
                found,
                (sent.from, sent.tag, sent.length),
                "message {number}"
            );
            check(&done.buffer, number, sent.length);
            hash_bytes(&mut transcript, &number.to_le_bytes());
            hash_bytes(&mut transcript, &status.length.to_le_bytes());
            hash_bytes(&mut transcript, &status.tag.to_le_bytes());
            got += 1;
        }
        waitall(&mut sends).await?;
        number += batch;
    }
    world.println(format_args!(
        "rank {rank} got {got} messages, transcript {transcript:016x}"
    ));
    Ok(())
}
