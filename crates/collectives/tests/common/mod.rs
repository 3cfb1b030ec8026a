//! Executes a schedule of all ranks in memory, with real data.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test file uses a part of the harness"
)]

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use collectives::{Algorithm, Area, Block, Call, Collective, Operand, Part, Slot, Steps};

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

/// Mixes the bits of a number.
pub fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The contribution of a rank: different bytes for each rank and position.
fn pattern(rank: u32, length: u64) -> Vec<u8> {
    let byte = |at: u64| mixed(u64::from(rank) << 40 | at).to_le_bytes()[0];
    (0..length).map(byte).collect()
}

/// Reduces the contributions of consecutive ranks.
fn reduced(ranks: Range<u32>, bytes: u64, reduce: Reduce) -> Vec<u8> {
    let mut ranks = ranks.rev();
    let mut all = pattern(ranks.next().unwrap(), bytes);
    for rank in ranks {
        reduce(&pattern(rank, bytes), &mut all);
    }
    all
}

/// Returns memory with bytes that no operation writes.
fn room(length: u64) -> Vec<u8> {
    vec![0xaa; usize::try_from(length).unwrap()]
}

fn end(blocks: &[Block]) -> u64 {
    let ends = blocks.iter().map(|block| block.offset + block.length);
    ends.max().unwrap_or(0)
}

fn place(block: Block) -> Range<usize> {
    let start = usize::try_from(block.offset).unwrap();
    start..start + usize::try_from(block.length).unwrap()
}

/// The areas `Send` and `Recv` of a rank before a call, and `Recv` after the call if the operation
/// defines it.
type Areas = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// The areas of a rank that receives blocks of others: the own contribution, the places of the
/// blocks, and the blocks.
fn gathered(send: Vec<u8>, blocks: &[Block], from: impl Fn(u32) -> Vec<u8>) -> Areas {
    let before = room(end(blocks));
    let mut after = before.clone();
    for (rank, block) in (0..).zip(blocks) {
        after[place(*block)].copy_from_slice(&from(rank));
    }
    (send, before, Some(after))
}

/// Returns the areas of all ranks before a call, and the expected results of the operation.
fn areas(calls: &[Call], reduce: Reduce) -> Vec<Areas> {
    let kind = calls[0].collective;
    match kind {
        _ if kind.has_operation() => areas_of_reduction(calls, reduce),
        _ if kind.has_root() => areas_with_root(calls),
        _ => areas_of_exchange(calls),
    }
}

fn sent(call: &Call) -> Vec<Block> {
    (0..call.size).map(|rank| call.send_block(rank)).collect()
}

fn received(call: &Call) -> Vec<Block> {
    (0..call.size).map(|rank| call.recv_block(rank)).collect()
}

fn areas_of_reduction(calls: &[Call], reduce: Reduce) -> Vec<Areas> {
    let first = &calls[0];
    let (size, bytes) = (first.size, first.bytes);
    let all = |length| reduced(0..size, length, reduce);
    match first.collective {
        Collective::Reduce | Collective::Allreduce => {
            let (result, is_reduce) = (all(bytes), first.collective == Collective::Reduce);
            let defined = |call: &Call| !is_reduce || call.is_root();
            let after = |call: &Call| defined(call).then(|| result.clone());
            let areas = |call: &Call| (Vec::new(), pattern(call.rank, bytes), after(call));
            calls.iter().map(areas).collect()
        }
        Collective::Scan => {
            let after = |rank| Some(reduced(0..rank + 1, bytes, reduce));
            let areas = |rank| (Vec::new(), pattern(rank, bytes), after(rank));
            (0..size).map(areas).collect()
        }
        Collective::Exscan => {
            let after = |rank| match rank {
                0 => room(bytes),
                rank => reduced(0..rank, bytes, reduce),
            };
            let areas = |rank| (pattern(rank, bytes), room(bytes), Some(after(rank)));
            (0..size).map(areas).collect()
        }
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            let blocks = sent(first);
            let bytes = end(&blocks);
            let result = all(bytes);
            let areas = |(rank, block): (u32, &Block)| {
                let after = result[place(*block)].to_vec();
                (pattern(rank, bytes), room(block.length), Some(after))
            };
            (0..).zip(&blocks).map(areas).collect()
        }
        other => panic!("{other} reduces nothing"),
    }
}

fn areas_with_root(calls: &[Call]) -> Vec<Areas> {
    let (bytes, root) = (calls[0].bytes, &calls[calls[0].root as usize]);
    match calls[0].collective {
        Collective::Bcast => {
            let data = pattern(99, bytes);
            let before = |call: &Call| {
                if call.is_root() {
                    data.clone()
                } else {
                    room(bytes)
                }
            };
            let areas = |call| (Vec::new(), before(call), Some(data.clone()));
            calls.iter().map(areas).collect()
        }
        Collective::Gather | Collective::Gatherv => {
            let blocks = received(root);
            let own = |rank: u32| pattern(rank, blocks[rank as usize].length);
            let areas = |call: &Call| match call.is_root() {
                true => gathered(own(call.rank), &blocks, own),
                false => (own(call.rank), Vec::new(), None),
            };
            calls.iter().map(areas).collect()
        }
        Collective::Scatter | Collective::Scatterv => {
            let blocks = sent(root);
            let data = pattern(99, end(&blocks));
            let before = |call: &Call| {
                if call.is_root() {
                    data.clone()
                } else {
                    Vec::new()
                }
            };
            let areas = |call: &Call| {
                let block = blocks[call.rank as usize];
                let after = data[place(block)].to_vec();
                (before(call), room(block.length), Some(after))
            };
            calls.iter().map(areas).collect()
        }
        other => panic!("{other} has no root"),
    }
}

fn areas_of_exchange(calls: &[Call]) -> Vec<Areas> {
    let first = &calls[0];
    let size = first.size;
    match first.collective {
        Collective::Barrier => calls.iter().map(|_| Areas::default()).collect(),
        Collective::Allgather | Collective::Allgatherv => {
            let blocks = received(first);
            let own = |rank: u32| pattern(rank, blocks[rank as usize].length);
            let areas = |rank| gathered(own(rank), &blocks, own);
            (0..size).map(areas).collect()
        }
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
            let data = |call: &Call| pattern(call.rank, end(&sent(call)));
            let data: Vec<Vec<u8>> = calls.iter().map(data).collect();
            let areas = |call: &Call| {
                let from = |source: u32| {
                    let block = calls[source as usize].send_block(call.rank);
                    data[source as usize][place(block)].to_vec()
                };
                gathered(data[call.rank as usize].clone(), &received(call), from)
            };
            calls.iter().map(areas).collect()
        }
        other => panic!("{other} has a root or an operation"),
    }
}

/// Executes calls of all ranks with eager and with rendezvous sends, and compares the results with
/// the expected results.
#[track_caller]
pub fn check(algorithm: &'static Algorithm, calls: &[Call], reduce: Reduce) {
    let all = areas(calls, reduce);
    let (kind, name) = (calls[0].collective, algorithm.name);
    for protocol in [Protocol::Eager, Protocol::Rendezvous] {
        let before = all
            .iter()
            .map(|(send, recv, _)| (send.clone(), recv.clone()));
        let job = Job::new(algorithm, calls.to_vec(), before.collect(), protocol);
        let found = job.reducing(reduce).run();
        for ((call, found), (_, _, expected)) in calls.iter().zip(found).zip(&all) {
            assert!(
                expected.as_ref().is_none_or(|expected| *expected == found),
                "{kind} by {name}, {protocol:?}: {call:?}"
            );
        }
    }
}

/// Returns true if an algorithm can execute the calls of all ranks.
pub fn suits(algorithm: &Algorithm, calls: &[Call]) -> bool {
    calls.iter().all(|call| algorithm.suits(call))
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

#[derive(Clone, Default, Debug)]
struct Lane {
    round: u32,
    done: u32,
    /// Requests that have not been waited for, by slot.
    pending: [VecDeque<Over>; 4],
}

#[derive(Default, Debug)]
struct Rank {
    areas: [Vec<u8>; 3],
    lanes: Vec<Lane>,
}

/// All ranks of one collective operation.
pub struct Job {
    algorithm: &'static Algorithm,
    calls: Vec<Call>,
    ranks: Vec<Rank>,
    protocol: Protocol,
    reduce: Reduce,
    /// By edge, source and destination.
    sends: BTreeMap<Queue, VecDeque<Send>>,
    receives: BTreeMap<Queue, VecDeque<Receive>>,
}

type Queue = (u32, usize, usize);

impl Job {
    /// A job in which each rank has this contribution (`Send`) and room for the result (`Recv`).
    pub fn new(
        algorithm: &'static Algorithm,
        calls: Vec<Call>,
        buffers: Vec<(Vec<u8>, Vec<u8>)>,
        protocol: Protocol,
    ) -> Self {
        let ranks = calls.iter().zip(buffers).map(|(call, (send, recv))| Rank {
            areas: [
                send,
                recv,
                vec![0xee; usize::try_from((algorithm.temp)(call)).unwrap()],
            ],
            lanes: vec![Lane::default(); (algorithm.lanes)(call) as usize],
        });
        Self {
            algorithm,
            ranks: ranks.collect(),
            calls,
            protocol,
            reduce: compose,
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
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
                for lane in 0..self.ranks[rank].lanes.len() {
                    moved |= self.advance(rank, lane);
                }
            }
            if !moved {
                break;
            }
        }
        for (rank, call) in self.ranks.iter().zip(&self.calls) {
            let rounds = (self.algorithm.rounds)(call);
            for lane in &rank.lanes {
                assert_eq!(
                    lane.round, rounds,
                    "{name}: rank {} waits in {call:?}",
                    call.rank
                );
            }
        }
        let left = self.sends.values().map(VecDeque::len).sum::<usize>();
        assert_eq!(left, 0, "{name}: messages that are not received");
        self.ranks
            .into_iter()
            .map(|rank| rank.areas[1].clone())
            .collect()
    }

    fn advance(&mut self, rank: usize, lane: usize) -> bool {
        let (algorithm, call) = (self.algorithm, self.calls[rank].clone());
        let rounds = (algorithm.rounds)(&call);
        let mut moved = false;
        while self.ranks[rank].lanes[lane].round < rounds {
            let Lane { round, done, .. } = self.ranks[rank].lanes[lane];
            let mut runner = Runner {
                job: self,
                rank,
                lane,
                edge: 0,
                position: 0,
                blocked: false,
            };
            (algorithm.round)(&call, round, &mut runner);
            let blocked = runner.blocked;
            let lane = &mut self.ranks[rank].lanes[lane];
            if blocked {
                return moved || lane.done > done;
            }
            moved = true;
            if round + 1 == rounds {
                assert!(
                    lane.pending.iter().all(VecDeque::is_empty),
                    "{}: requests that are not waited for",
                    algorithm.name
                );
            }
            (lane.round, lane.done) = (round + 1, 0);
        }
        moved
    }

    fn deliver(&mut self, queue: Queue) {
        let (_, source, destination) = queue;
        let sends = self.sends.entry(queue).or_default();
        let receives = self.receives.entry(queue).or_default();
        while let (Some(_), Some(_)) = (sends.front(), receives.front()) {
            let send = sends.pop_front().unwrap();
            let receive = receives.pop_front().unwrap();
            assert_eq!(
                send.bytes.len() as u64,
                receive.part.length,
                "{}: from {source} to {destination}",
                self.algorithm.name
            );
            send.is_over.set(true);
            receive.is_over.set(true);
            let target = &mut self.ranks[destination];
            bytes_mut(&mut target.areas, receive.part).copy_from_slice(&send.bytes);
        }
    }
}

fn range(part: Part) -> Range<usize> {
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
    lane: usize,
    edge: u32,
    position: u32,
    blocked: bool,
}

impl Runner<'_> {
    fn lane_mut(&mut self) -> &mut Lane {
        &mut self.job.ranks[self.rank].lanes[self.lane]
    }

    fn begins(&mut self) -> bool {
        self.passes(|_| true)
    }

    /// Returns true if the current step was not complete before and completes now by `is_over`.
    fn passes(&mut self, is_over: impl FnOnce(&mut Lane) -> bool) -> bool {
        if self.blocked {
            return false;
        }
        self.position += 1;
        let position = self.position;
        let lane = self.lane_mut();
        if position <= lane.done {
            return false;
        }
        if is_over(lane) {
            lane.done = position;
            return true;
        }
        self.blocked = true;
        false
    }

    fn start_send(&mut self, slot: Slot, peer: u32, part: Part, is_over: bool) {
        if !self.begins() {
            return;
        }
        assert_ne!(peer as usize, self.rank, "a message to oneself is a copy");
        let is_over = Rc::new(Cell::new(is_over));
        self.lane_mut().pending[usize::from(slot)].push_back(Rc::clone(&is_over));
        let send = Send {
            bytes: bytes(&self.job.ranks[self.rank].areas, part).to_vec(),
            is_over,
        };
        let queue = (self.edge, self.rank, peer as usize);
        self.job.sends.entry(queue).or_default().push_back(send);
        self.job.deliver(queue);
    }
}

impl Steps for Runner<'_> {
    fn lane(&self) -> u32 {
        u32::try_from(self.lane).unwrap()
    }

    fn set_edge(&mut self, edge: u32) {
        self.edge = edge;
    }

    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        let is_over = self.job.protocol == Protocol::Eager;
        self.start_send(slot, peer, part, is_over);
    }

    fn issend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.start_send(slot, peer, part, false);
    }

    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part) {
        if !self.begins() {
            return;
        }
        assert_ne!(peer as usize, self.rank, "a message to oneself is a copy");
        let is_over = Over::default();
        self.lane_mut().pending[usize::from(slot)].push_back(Rc::clone(&is_over));
        let queue = (self.edge, peer as usize, self.rank);
        let receives = self.job.receives.entry(queue).or_default();
        receives.push_back(Receive { part, is_over });
        self.job.deliver(queue);
    }

    fn send(&mut self, peer: u32, part: Part) {
        self.isend_in(3, peer, part);
        self.wait(3);
    }

    fn wait(&mut self, slot: Slot) {
        self.passes(|lane| {
            let pending = &mut lane.pending[usize::from(slot)];
            let is_over = pending.iter().all(|is_over| is_over.get());
            if is_over {
                pending.clear();
            }
            is_over
        });
    }

    fn wait_first(&mut self, slot: Slot) {
        self.passes(|lane| {
            let pending = &mut lane.pending[usize::from(slot)];
            let is_over = pending.front().is_some_and(|is_over| is_over.get());
            if is_over {
                pending.pop_front();
            }
            is_over
        });
    }

    fn window(&mut self, slot: Slot, size: u32) {
        self.passes(|lane| {
            let pending = lane.pending[usize::from(slot)].iter();
            pending.filter(|is_over| !is_over.get()).count() < size as usize
        });
    }

    fn join(&mut self) {
        let lanes = self.job.ranks[self.rank].lanes.iter();
        let first = lanes.map(|lane| lane.round).min().unwrap_or(0);
        self.passes(|lane| first >= lane.round);
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
