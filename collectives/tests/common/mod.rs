//! Executes a schedule of all ranks in memory, with real data.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test file uses a part of the harness"
)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use collectives::{Algorithm, Area, Call, Operand, Part, Slot, Steps};

/// An operation on elements: `inout = incoming · inout`.
pub type Reduce = fn(incoming: &[u8], inout: &mut [u8]);

/// Composition of two affine maps modulo 65521, each an element of 8 bytes: associative, and not
/// commutative.
pub fn compose(incoming: &[u8], inout: &mut [u8]) {
    const PRIME: u64 = 65_521;
    let word = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..].first_chunk::<4>().expect("whole elements");
        u64::from(u32::from_le_bytes(*bytes))
    };
    assert_eq!(incoming.len(), inout.len(), "operands have equal lengths");
    for (incoming, inout) in incoming.chunks_exact(8).zip(inout.chunks_exact_mut(8)) {
        let (a, b, c, d) = (
            word(incoming, 0),
            word(incoming, 4),
            word(inout, 0),
            word(inout, 4),
        );
        let (factor, sum) = (a * c % PRIME, (b * c + d) % PRIME);
        inout[..4].copy_from_slice(&u32::try_from(factor).unwrap().to_le_bytes());
        inout[4..].copy_from_slice(&u32::try_from(sum).unwrap().to_le_bytes());
    }
}

/// Sum of bytes: commutative, and with elements of one byte.
pub fn add(incoming: &[u8], inout: &mut [u8]) {
    assert_eq!(incoming.len(), inout.len(), "operands have equal lengths");
    for (incoming, inout) in incoming.iter().zip(inout) {
        *inout = inout.wrapping_add(*incoming);
    }
}

/// When a send is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// At once.
    Eager,
    /// When the receive is posted.
    Rendezvous,
}

#[derive(Debug)]
struct Send {
    bytes: Vec<u8>,
    is_over: Over,
}

#[derive(Debug)]
struct Receive {
    part: Part,
    is_over: Over,
}

/// True if a request is over.
type Over = Rc<Cell<bool>>;

#[derive(Default, Debug)]
struct Rank {
    areas: [Vec<u8>; 3],
    round: u32,
    done: u32,
    /// Requests that have not been waited for, by slot.
    pending: [VecDeque<Over>; 4],
}

/// All ranks of one collective operation.
pub struct Job {
    algorithm: &'static Algorithm,
    calls: Vec<Call>,
    ranks: Vec<Rank>,
    protocol: Protocol,
    reduce: Reduce,
    /// By source and destination.
    sends: Vec<VecDeque<Send>>,
    receives: Vec<VecDeque<Receive>>,
}

impl Job {
    /// A job in which each rank has this contribution (`Send`) and room for the result (`Recv`).
    pub fn new(
        algorithm: &'static Algorithm,
        calls: Vec<Call>,
        buffers: Vec<(Vec<u8>, Vec<u8>)>,
        protocol: Protocol,
    ) -> Self {
        let size = calls.len();
        let ranks = calls.iter().zip(buffers).map(|(call, (send, recv))| Rank {
            areas: [
                send,
                recv,
                vec![0xee; usize::try_from((algorithm.temp)(call)).unwrap()],
            ],
            ..Rank::default()
        });
        Self {
            algorithm,
            ranks: ranks.collect(),
            calls,
            protocol,
            reduce: compose,
            sends: (0..size * size).map(|_| VecDeque::new()).collect(),
            receives: (0..size * size).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Sets the operation, which is [`compose`] otherwise.
    pub fn reducing(mut self, reduce: Reduce) -> Self {
        self.reduce = reduce;
        self
    }

    /// Executes all; the areas `Recv`.
    ///
    /// # Panics
    /// If ranks wait for each other, a message is not received, or lengths differ.
    pub fn run(mut self) -> Vec<Vec<u8>> {
        let name = self.algorithm.name;
        loop {
            let mut moved = false;
            for rank in 0..self.calls.len() {
                moved |= self.advance(rank);
            }
            if !moved {
                break;
            }
        }
        for (rank, call) in self.ranks.iter().zip(&self.calls) {
            let rounds = (self.algorithm.rounds)(call);
            assert_eq!(
                rank.round, rounds,
                "{name}: rank {} waits in {call:?}",
                call.rank
            );
        }
        let left = self.sends.iter().filter(|queue| !queue.is_empty()).count();
        assert_eq!(left, 0, "{name}: messages that are not received");
        self.ranks
            .into_iter()
            .map(|rank| rank.areas[1].clone())
            .collect()
    }

    fn advance(&mut self, rank: usize) -> bool {
        let (algorithm, call) = (self.algorithm, self.calls[rank].clone());
        let rounds = (algorithm.rounds)(&call);
        let mut moved = false;
        while self.ranks[rank].round < rounds {
            let (round, done) = (self.ranks[rank].round, self.ranks[rank].done);
            let mut runner = Runner {
                job: self,
                rank,
                position: 0,
                blocked: false,
            };
            (algorithm.round)(&call, round, &mut runner);
            let blocked = runner.blocked;
            if blocked {
                return moved || self.ranks[rank].done > done;
            }
            moved = true;
            if round + 1 == rounds {
                assert!(
                    self.ranks[rank].pending.iter().all(VecDeque::is_empty),
                    "{}: requests that are not waited for",
                    algorithm.name
                );
            }
            let rank = &mut self.ranks[rank];
            (rank.round, rank.done) = (round + 1, 0);
        }
        moved
    }

    fn deliver(&mut self, source: usize, destination: usize) {
        let queue = source * self.calls.len() + destination;
        while let (Some(_), Some(_)) = (self.sends[queue].front(), self.receives[queue].front()) {
            let send = self.sends[queue].pop_front().unwrap();
            let receive = self.receives[queue].pop_front().unwrap();
            let (algorithm, round) = (self.algorithm.name, self.ranks[destination].round);
            assert_eq!(
                send.bytes.len() as u64,
                receive.part.length,
                "{algorithm}: from {source} to {destination} in round {round}"
            );
            send.is_over.set(true);
            receive.is_over.set(true);
            let target = &mut self.ranks[destination];
            bytes_mut(&mut target.areas, receive.part).copy_from_slice(&send.bytes);
        }
    }
}

fn range(part: Part) -> std::ops::Range<usize> {
    let start = usize::try_from(part.offset).unwrap();
    start..start + usize::try_from(part.length).unwrap()
}

fn index(area: Area) -> usize {
    match area {
        Area::Send => 0,
        Area::Recv => 1,
        Area::Temp => 2,
    }
}

fn bytes(areas: &[Vec<u8>; 3], part: Part) -> &[u8] {
    if part.length == 0 {
        return &[];
    }
    &areas[index(part.area)][range(part)]
}

fn bytes_mut(areas: &mut [Vec<u8>; 3], part: Part) -> &mut [u8] {
    if part.length == 0 {
        return &mut [];
    }
    assert_ne!(part.area, Area::Send, "the contribution is only read");
    &mut areas[index(part.area)][range(part)]
}

struct Runner<'a> {
    job: &'a mut Job,
    rank: usize,
    position: u32,
    blocked: bool,
}

impl Runner<'_> {
    fn begins(&mut self) -> bool {
        if self.blocked {
            return false;
        }
        self.position += 1;
        let rank = &mut self.job.ranks[self.rank];
        if self.position <= rank.done {
            return false;
        }
        rank.done = self.position;
        true
    }
}

impl Steps for Runner<'_> {
    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        if !self.begins() {
            return;
        }
        assert_ne!(peer as usize, self.rank, "a message to oneself is a copy");
        let is_over = Rc::new(Cell::new(self.job.protocol == Protocol::Eager));
        let rank = &mut self.job.ranks[self.rank];
        rank.pending[usize::from(slot)].push_back(Rc::clone(&is_over));
        let send = Send {
            bytes: bytes(&rank.areas, part).to_vec(),
            is_over,
        };
        let queue = self.rank * self.job.calls.len() + peer as usize;
        self.job.sends[queue].push_back(send);
        self.job.deliver(self.rank, peer as usize);
    }

    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part) {
        if !self.begins() {
            return;
        }
        assert_ne!(peer as usize, self.rank, "a message to oneself is a copy");
        let is_over = Over::default();
        let pending = &mut self.job.ranks[self.rank].pending[usize::from(slot)];
        pending.push_back(Rc::clone(&is_over));
        let queue = peer as usize * self.job.calls.len() + self.rank;
        self.job.receives[queue].push_back(Receive { part, is_over });
        self.job.deliver(peer as usize, self.rank);
    }

    fn send(&mut self, peer: u32, part: Part) {
        self.isend_in(3, peer, part);
        self.wait(3);
    }

    fn wait(&mut self, slot: Slot) {
        if self.blocked {
            return;
        }
        self.position += 1;
        let rank = &mut self.job.ranks[self.rank];
        if self.position <= rank.done {
            return;
        }
        let pending = &mut rank.pending[usize::from(slot)];
        if pending.iter().all(|is_over| is_over.get()) {
            pending.clear();
            rank.done = self.position;
        } else {
            self.blocked = true;
        }
    }

    fn wait_first(&mut self, slot: Slot) {
        if self.blocked {
            return;
        }
        self.position += 1;
        let rank = &mut self.job.ranks[self.rank];
        if self.position <= rank.done {
            return;
        }
        let pending = &mut rank.pending[usize::from(slot)];
        if pending.front().is_some_and(|is_over| is_over.get()) {
            pending.pop_front();
            rank.done = self.position;
        } else {
            self.blocked = true;
        }
    }

    fn copy(&mut self, from: Part, to: Part) {
        if self.begins() {
            let areas = &mut self.job.ranks[self.rank].areas;
            let copied = bytes(areas, from).to_vec();
            bytes_mut(areas, to).copy_from_slice(&copied);
        }
    }

    fn reduce(&mut self, from: Part, into: Part, operand: Operand) {
        if !self.begins() {
            return;
        }
        let reduce = self.job.reduce;
        let areas = &mut self.job.ranks[self.rank].areas;
        let mut other = bytes(areas, from).to_vec();
        let target = bytes_mut(areas, into);
        match operand {
            Operand::Left => reduce(&other, target),
            Operand::Right => {
                reduce(target, &mut other);
                target.copy_from_slice(&other);
            }
        }
    }
}
