//! The event queue against others in the hold model: take the earliest date, add one a random time
//! later.
//!
//! Figures and the choice are in `docs/decisions/0002-event-queue.md`. All queues keep ties in the
//! order of insertion: the key is the bits of the date and a serial number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasherDefault, Hasher};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use priority_queue::PriorityQueue;
use sim_core::Time;
use sim_core::bench_support::Queue;

/// A date and what it is for, first in, first out among equals.
trait Hold {
    fn push(&mut self, date: Time, target: u64);
    fn pop(&mut self) -> Option<(Time, u64)>;
}

impl Hold for Queue {
    fn push(&mut self, date: Time, target: u64) {
        Self::push(self, date, target);
    }

    fn pop(&mut self) -> Option<(Time, u64)> {
        Self::pop(self)
    }
}

#[derive(Default)]
struct Binary {
    heap: BinaryHeap<Reverse<(u64, u64, u64)>>,
    pushed: u64,
}

impl Hold for Binary {
    fn push(&mut self, date: Time, target: u64) {
        self.pushed += 1;
        self.heap
            .push(Reverse((date.to_bits(), self.pushed, target)));
    }

    fn pop(&mut self) -> Option<(Time, u64)> {
        let Reverse((date, _, target)) = self.heap.pop()?;
        Some((Time::from_bits(date), target))
    }
}

/// A heap of four children on a key of 128 bits: the date, the serial number.
#[derive(Default)]
struct FourAry {
    heap: Vec<(u128, u64)>,
    pushed: u64,
}

impl Hold for FourAry {
    fn push(&mut self, date: Time, target: u64) {
        self.pushed += 1;
        let entry = (
            u128::from(date.to_bits()) << 64 | u128::from(self.pushed),
            target,
        );
        let mut place = self.heap.len();
        self.heap.push(entry);
        while place > 0 {
            let parent = (place - 1) / 4;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    fn pop(&mut self) -> Option<(Time, u64)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some(opened(last));
        };
        let (mut place, len) = (0, self.heap.len());
        loop {
            let children = 4 * place + 1..(4 * place + 5).min(len);
            let Some(least) = children.min_by_key(|&child| self.heap[child].0) else {
                break;
            };
            if self.heap[least].0 >= last.0 {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = last;
        Some(opened(first))
    }
}

fn opened((key, target): (u128, u64)) -> (Time, u64) {
    (Time::from_bits((key >> 64) as u64), target)
}

/// Spreads serial numbers; the crate's own choice would be seeded by the system.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed here")
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

type Priorities = PriorityQueue<u64, Reverse<(u64, u64)>, BuildHasherDefault<Spread>>;

/// The crate `priority-queue`: the item is the serial number.
#[derive(Default)]
struct Changeable {
    queue: Priorities,
    pushed: u64,
}

impl Hold for Changeable {
    fn push(&mut self, date: Time, target: u64) {
        self.pushed += 1;
        self.queue
            .push(self.pushed, Reverse((date.to_bits(), target)));
    }

    fn pop(&mut self) -> Option<(Time, u64)> {
        let (_, Reverse((date, target))) = self.queue.pop()?;
        Some((Time::from_bits(date), target))
    }
}

/// A small generator; each draw is a fraction of a second.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        f64::from(u32::try_from(self.0 >> 32).expect("32 bits")) / 4_294_967_296.0
    }
}

fn hold(criterion: &mut Criterion, name: &str, make: fn() -> Box<dyn Hold>) {
    let mut group = criterion.benchmark_group("hold");
    group.sample_size(10);
    for entries in [1000, 100_000, 1_000_000] {
        let (mut queue, mut draws) = (make(), Draws(88_172_645_463_325_252));
        for target in 0..entries {
            queue.push(Time::from_secs(draws.next()), target);
        }
        group.bench_function(BenchmarkId::new(name, entries), |bench| {
            bench.iter(|| {
                let (date, target) = queue.pop().expect("the hold model keeps its entries");
                queue.push(Time::from_secs(date.as_secs() + draws.next()), target);
            });
        });
    }
    group.finish();
}

fn queues(criterion: &mut Criterion) {
    hold(criterion, "radix heap (ours)", || Box::new(Queue::new()));
    hold(criterion, "std BinaryHeap", || Box::new(Binary::default()));
    hold(criterion, "4-ary heap, 128-bit key", || {
        Box::new(FourAry::default())
    });
    hold(criterion, "priority-queue", || {
        Box::new(Changeable::default())
    });
}

criterion_group!(queue, queues);
criterion_main!(queue);
