//! Promise: the costs of collective operations under LogGOPS, as closed forms in L, o, g, G and the
//! number of ranks p = 2^q.
//!
//! A message of s bytes takes m(s) = 2 o + L + (s − 1) G, and the adapter does not send the next
//! message before gap(s) = g + (s − 1) G. The forms hold if o < g <= 2 o + L and O <= G, so that
//! the adapter and not the processor separates messages, and if (s − 1) O <= L for the messages
//! that two ranks exchange, so that each has copied its own message when the other message arrives.
//! Sums of halves are geometric: Σ m(n / 2^i) over i = 1 … q is q (2 o + L) + (n − n / p − q) G.

use std::sync::Arc;

use crate::common::{DONE, Notes, ranks};
use collectives::{Algorithm, named};
use mpi::{Collective, Selector, Settings, prelude::*};
use settings::{LogGopsParameters, MemorySettings, OverheadSection, OverheadTable};
use sim_core::Span;

const CROSSBAR: &str = r#"
version = 1
[clusters.n]
hosts = "n-[0-31]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

/// A call with an algorithm, and the parameters that its form needs.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Collective,
    algorithm: &'static str,
    /// The binary logarithm of the number of ranks.
    q: u32,
    /// Bytes of a contribution or of a block.
    bytes: u64,
    segment: u64,
    costs: LogGopsParameters,
    /// Messages from this length on are sent by rendezvous.
    threshold: u64,
    /// Seconds of a reduction for each byte.
    reduction: f64,
    /// Costs of reductions and of copies by the working set.
    reduce: &'static [OverheadSection],
    copy: &'static [OverheadSection],
    /// Costs of fresh buffers by the length of a region.
    first_touch: &'static [OverheadSection],
    registration: &'static [OverheadSection],
    /// Seconds to build a datatype.
    datatype_build: Option<f64>,
}

const COSTS: LogGopsParameters = LogGopsParameters {
    latency: 10e-6,
    overhead: 1e-6,
    gap: 3e-6,
    gap_per_byte: 5e-9,
    overhead_per_byte: 2e-9,
    loopback: None,
};

impl Case {
    const fn new(kind: Collective, algorithm: &'static str) -> Self {
        Self {
            kind,
            algorithm,
            q: 0,
            bytes: 0,
            segment: 0,
            costs: COSTS,
            threshold: u64::MAX,
            reduction: 0.0,
            reduce: &[],
            copy: &[],
            first_touch: &[],
            registration: &[],
            datatype_build: None,
        }
    }

    fn ranks(&self) -> f64 {
        f64::from(1_u32 << self.q)
    }

    fn q(&self) -> f64 {
        f64::from(self.q)
    }

    fn n(&self) -> f64 {
        self.bytes as f64
    }

    /// The time of `count` messages of together `bytes` bytes, one after the other.
    fn messages(&self, count: f64, bytes: f64) -> f64 {
        let LogGopsParameters {
            latency, overhead, ..
        } = self.costs;
        count * (2.0 * overhead + latency) + (bytes - count) * self.costs.gap_per_byte
    }

    /// The time of a message.
    fn message(&self, bytes: f64) -> f64 {
        self.messages(1.0, bytes)
    }

    /// The time between the beginnings of two messages at an adapter.
    fn gap(&self, bytes: f64) -> f64 {
        self.costs.gap + (bytes - 1.0) * self.costs.gap_per_byte
    }

    /// The date at which the last rank leaves the call.
    fn simulated(&self) -> f64 {
        let mut selector = Selector::ours().clone();
        selector
            .force(self.kind, self.algorithm, self.segment, 0)
            .expect("an algorithm");
        let settings = Settings {
            phantom: true,
            reduce_bandwidth: 1.0 / self.reduction,
            memory: Some(Arc::new(MemorySettings {
                reduce: OverheadTable::new(self.reduce.to_vec()),
                copy: OverheadTable::new(self.copy.to_vec()),
                first_touch: OverheadTable::new(self.first_touch.to_vec()),
                registration: OverheadTable::new(self.registration.to_vec()),
                datatype_build: self.datatype_build,
            })),
            collectives: Some(Arc::new(selector)),
            ..Settings::new(self.threshold)
        };
        let (kind, bytes) = (self.kind, self.bytes);
        let run = ranks(1 << self.q)
            .on_platform(CROSSBAR)
            .with_settings(settings)
            .with_costs(self.costs.map(|seconds| Span::from_secs(*seconds)))
            .run(move |world: Comm, notes: Notes| async move {
                perform(&world, kind, bytes).await?;
                notes.add(&world, "");
                DONE
            })
            .finished();
        let dates = run.notes.iter().map(|note| note.0);
        dates.fold(0.0, f64::max)
    }

    #[track_caller]
    fn takes(&self, expected: f64) {
        let found = self.simulated();
        let difference = (found - expected).abs() / expected;
        assert!(difference <= 1e-12, "{self:?}: {found}, not {expected}");
    }

    /// Compares with a form for several numbers of ranks and bytes.
    #[track_caller]
    fn follows(self, form: fn(&Self) -> f64) {
        for q in 1..=4 {
            for bytes in [16, 256] {
                let case = Self { q, bytes, ..self };
                case.takes(form(&case));
            }
        }
    }
}

async fn perform(world: &Comm, kind: Collective, bytes: u64) -> Result<()> {
    let (size, op) = (world.size() as u64, Op::sum::<u8>());
    let mut buffer = world.buffer(bytes);
    match kind {
        Collective::Barrier => world.barrier().await?,
        Collective::Bcast => world.bcast(&mut buffer, 0).await?,
        Collective::Reduce => drop(world.reduce(&buffer, &op, 0).await?),
        Collective::Allreduce => drop(world.allreduce(&buffer, &op).await?),
        Collective::Gather => drop(world.gather(&buffer, 0).await?),
        Collective::Scatter => {
            let all = world.buffer(bytes * size);
            world.scatter(Some(&all), &mut buffer, 0).await?;
        }
        Collective::Allgather => drop(world.allgather(&buffer).await?),
        Collective::Alltoall => drop(world.alltoall(world.buffer(bytes * size)).await?),
        Collective::ReduceScatterBlock => {
            let all = world.buffer(bytes * size);
            drop(world.reduce_scatter_block(&all, &op).await?);
        }
        Collective::Scan => drop(world.scan(&buffer, &op).await?),
        other => panic!("{other}"),
    }
    Ok(())
}

#[test]
fn barriers() {
    let case = |algorithm| Case::new(Collective::Barrier, algorithm);
    // All messages arrive at rank 0 at o + L; it takes and then sends one every g.
    case("linear").follows(|c| 2.0 * (c.message(1.0) + (c.ranks() - 2.0) * c.gap(1.0)));
    // One message is under way at a time, twice round.
    case("double_ring").follows(|c| 2.0 * c.ranks() * c.message(1.0));
    // All ranks are alike, and each of the q rounds is one message.
    case("recursive_doubling").follows(|c| c.q() * c.message(1.0));
    case("dissemination").follows(|c| c.q() * c.message(1.0));
}

#[test]
fn broadcasts() {
    let case = |algorithm| Case::new(Collective::Bcast, algorithm);
    // The last of p − 1 messages begins p − 2 gaps after the first.
    case("linear").follows(|c| (c.ranks() - 2.0) * c.gap(c.n()) + c.message(c.n()));
    // Along the first children; a later child waits a gap, which is shorter than a message, and has
    // one level fewer below it.
    case("binomial").follows(|c| c.q() * c.message(c.n()));
    // Halves of halves reach rank p − 1 last, after q messages; the ring carries its block through
    // p − 1 ranks.
    case("scatter_ring_allgather").follows(|c| {
        let block = c.n() / c.ranks();
        c.messages(c.q(), c.n() - block) + (c.ranks() - 1.0) * c.message(block)
    });
    // The same scatter, then q exchanges of 1, 2, 4, … blocks with the rank that is last.
    case("scatter_recursive_doubling_allgather")
        .follows(|c| 2.0 * c.messages(c.q(), c.n() - c.n() / c.ranks()));
}

/// Segments follow each other at the distance of a gap, if the gap is longer than the time for
/// which the processor receives and sends a segment: g >= 2 o + (S − 1) O.
#[test]
fn a_pipelined_broadcast() {
    for (segment, bytes) in [(16, 256), (64, 256), (256, 256)] {
        for q in 1..=4 {
            let case = Case {
                segment,
                bytes,
                q,
                ..Case::new(Collective::Bcast, "pipeline")
            };
            let (count, segment) = ((bytes / segment) as f64, segment as f64);
            // The last segment leaves the root k − 1 gaps after the first, and has p − 1 hops.
            let hops = (case.ranks() - 1.0) * case.message(segment);
            case.takes((count - 1.0) * case.gap(segment) + hops);
        }
    }
}

#[test]
fn reductions_to_a_root() {
    let case = |algorithm| Case::new(Collective::Reduce, algorithm);
    // All messages arrive at o + L, and one is received every g + (n − 1) G.
    case("linear").follows(|c| c.message(c.n()) + (c.ranks() - 2.0) * c.gap(c.n()));
    // The child of 2^i ranks sends at T(i); T(i + 1) = T(i) + m(n).
    case("binomial").follows(|c| c.q() * c.message(c.n()));
    // Halves of halves are exchanged, then gathered in the reverse order of lengths.
    case("rabenseifner").follows(|c| 2.0 * c.messages(c.q(), c.n() - c.n() / c.ranks()));
}

#[test]
fn reductions_to_all() {
    let case = |algorithm| Case::new(Collective::Allreduce, algorithm);
    // All ranks are alike: q exchanges of everything.
    case("recursive_doubling").follows(|c| c.q() * c.message(c.n()));
    // q exchanges of n / 2, n / 4, …, and the same in reverse.
    case("rabenseifner").follows(|c| 2.0 * c.messages(c.q(), c.n() - c.n() / c.ranks()));
    // p − 1 steps of a block to reduce, and p − 1 to gather.
    case("ring").follows(|c| 2.0 * (c.ranks() - 1.0) * c.message(c.n() / c.ranks()));
}

#[test]
fn gathers_and_scatters() {
    let case = |algorithm| Case::new(Collective::Gather, algorithm);
    // All messages arrive at o + L, and one is received every g + (n − 1) G, posted or not.
    let linear = |c: &Case| c.message(c.n()) + (c.ranks() - 2.0) * c.gap(c.n());
    case("linear").follows(linear);
    case("linear_nb").follows(linear);
    // The child of 2^i ranks sends as many blocks at T(i); T(i + 1) = T(i) + m(2^i n).
    let binomial = |c: &Case| c.messages(c.q(), (c.ranks() - 1.0) * c.n());
    case("binomial").follows(binomial);

    let case = |algorithm| Case::new(Collective::Scatter, algorithm);
    // The last of p − 1 messages begins p − 2 gaps after the first.
    case("linear").follows(linear);
    case("linear_nb").follows(linear);
    // Along the first children, which have the largest subtrees: p / 2, p / 4, … blocks.
    case("binomial_halving").follows(binomial);
    // The largest subtree is served last, at each of the q levels: T(j + 1) = T(j) + m(2^j n) + the
    // gaps of j messages of 1, 2, 4, … blocks.
    case("binomial").follows(|c| {
        let level = |j: u32| {
            let blocks = f64::from(1_u32 << j);
            let gaps = f64::from(j) * c.costs.gap
                + ((blocks - 1.0) * c.n() - f64::from(j)) * c.costs.gap_per_byte;
            gaps + c.message(blocks * c.n())
        };
        (0..c.q).map(level).sum()
    });
}

#[test]
fn gathers_to_all() {
    let case = |algorithm| Case::new(Collective::Allgather, algorithm);
    // All ranks are alike: p − 1 exchanges of a block.
    case("ring").follows(|c| (c.ranks() - 1.0) * c.message(c.n()));
    // q exchanges of 1, 2, 4, … blocks.
    let doubling = |c: &Case| c.messages(c.q(), (c.ranks() - 1.0) * c.n());
    case("recursive_doubling").follows(doubling);
    case("bruck").follows(doubling);
}

#[test]
fn exchanges_of_all_with_all() {
    let case = |algorithm| Case::new(Collective::Alltoall, algorithm);
    // All ranks are alike: p − 1 exchanges of a block.
    case("pairwise").follows(|c| (c.ranks() - 1.0) * c.message(c.n()));
    // q exchanges of half of the blocks.
    case("bruck").follows(|c| c.q() * c.message(c.ranks() * c.n() / 2.0));
    // With a latency so long that all sends have begun when the first message arrives: the last one
    // arrives p − 2 gaps later, and finds the processor free.
    let far = Case {
        costs: LogGopsParameters {
            latency: 1e-3,
            ..COSTS
        },
        ..case("linear")
    };
    far.follows(|c| (c.ranks() - 2.0) * c.gap(c.n()) + c.message(c.n()));
}

#[test]
fn reductions_with_scattered_results() {
    let case = |algorithm| Case::new(Collective::ReduceScatterBlock, algorithm);
    // q exchanges of p / 2, p / 4, …, 1 blocks.
    case("recursive_halving").follows(|c| c.messages(c.q(), (c.ranks() - 1.0) * c.n()));
    // p − 1 exchanges of a block.
    case("pairwise").follows(|c| (c.ranks() - 1.0) * c.message(c.n()));
}

#[test]
fn scans() {
    let case = |algorithm| Case::new(Collective::Scan, algorithm);
    // One message is under way at a time, through all ranks.
    case("chain").follows(|c| (c.ranks() - 1.0) * c.message(c.n()));
    // All ranks are alike: q exchanges.
    case("recursive_doubling").follows(|c| c.q() * c.message(c.n()));
}

/// A reduction of n bytes takes n γ, after the message and before the next one is sent.
#[test]
fn time_of_the_operation() {
    let case = |kind, algorithm| Case {
        reduction: 1e-9,
        ..Case::new(kind, algorithm)
    };
    let all = |c: &Case| c.q() * (c.message(c.n()) + c.n() * c.reduction);
    case(Collective::Allreduce, "recursive_doubling").follows(all);
    case(Collective::Reduce, "binomial").follows(all);
    case(Collective::Scan, "chain")
        .follows(|c| (c.ranks() - 1.0) * (c.message(c.n()) + c.n() * c.reduction));
    // The reductions of halves of halves have n − n / p bytes in all.
    let halves = |c: &Case| {
        let bytes = c.n() - c.n() / c.ranks();
        2.0 * c.messages(c.q(), bytes) + bytes * c.reduction
    };
    case(Collective::Reduce, "rabenseifner").follows(halves);
    case(Collective::Allreduce, "rabenseifner").follows(halves);
    case(Collective::Allreduce, "ring").follows(|c| {
        let block = c.n() / c.ranks();
        (c.ranks() - 1.0) * (2.0 * c.message(block) + block * c.reduction)
    });
}

const fn section(above: u64, time: f64, per_byte: f64) -> OverheadSection {
    OverheadSection {
        above,
        time,
        per_byte,
    }
}

/// A reduction of n bytes has a working set of 3 n bytes, and an allgather one of p n bytes.
#[test]
fn time_of_memory_by_the_working_set() {
    const STEPS: &[OverheadSection] = &[section(0, 1e-7, 1e-9), section(300, 2e-7, 3e-9)];
    fn cost(bytes: f64, working_set: f64) -> f64 {
        let part = ((working_set - 300.0) / 300.0).clamp(0.0, 1.0);
        1e-7 + part * 1e-7 + bytes * (1e-9 + part * 2e-9)
    }
    let case = Case {
        reduce: STEPS,
        ..Case::new(Collective::Allreduce, "recursive_doubling")
    };
    case.follows(|c| c.q() * (c.message(c.n()) + cost(c.n(), 3.0 * c.n())));
    // The own block is copied before the first message.
    let case = Case {
        copy: STEPS,
        ..Case::new(Collective::Allgather, "ring")
    };
    case.follows(|c| cost(c.n(), c.ranks() * c.n()) + (c.ranks() - 1.0) * c.message(c.n()));
}

/// Each of the q steps of Bruck's algorithm builds a datatype; other algorithms build none.
#[test]
fn time_of_datatypes() {
    let case = |algorithm| Case {
        datatype_build: Some(4e-6),
        ..Case::new(Collective::Alltoall, algorithm)
    };
    case("bruck").follows(|c| c.q() * (4e-6 + c.message(c.ranks() * c.n() / 2.0)));
    case("pairwise").follows(|c| (c.ranks() - 1.0) * c.message(c.n()));
}

/// A region of fresh memory is written for the first time and registered once, before the data of a
/// rendezvous.
#[test]
fn time_of_fresh_memory() {
    const TOUCH: &[OverheadSection] = &[section(0, 1e-7, 2e-9)];
    const REGISTRATION: &[OverheadSection] = &[section(0, 2e-6, 3e-9)];
    fn touch(bytes: f64) -> f64 {
        1e-7 + bytes * 2e-9
    }
    fn registration(bytes: f64) -> f64 {
        2e-6 + bytes * 3e-9
    }
    fn rendezvous(case: &Case, bytes: f64) -> f64 {
        2.0 * case.message(1.0) + case.message(bytes)
    }
    let case = |kind, algorithm, q, bytes| Case {
        q,
        bytes,
        segment: u64::MAX,
        threshold: 16,
        first_touch: TOUCH,
        registration: REGISTRATION,
        ..Case::new(kind, algorithm)
    };
    // Each rank of the chain but the last one receives into one of two buffers.
    let chain = case(Collective::Reduce, "pipeline", 3, 200_000);
    let n = chain.n();
    chain.takes(7.0 * (rendezvous(&chain, n) + touch(n) + registration(n)));
    // Not above the threshold, memory stays with the program.
    let short = case(Collective::Reduce, "pipeline", 3, 128 << 10);
    short.takes(7.0 * rendezvous(&short, short.n()));
    // Rank 2 copies its block, receives one, and sends both, of which one is registered.
    let tree = case(Collective::Gather, "binomial", 2, 32 << 20);
    let n = tree.n();
    let received = touch(n) + touch(n) + registration(n) + tree.message(1.0) + tree.message(n);
    tree.takes(received + registration(n) + rendezvous(&tree, 2.0 * n));
}

/// A message by rendezvous takes 4 o + 2 L more, for two control messages.
#[test]
fn messages_by_rendezvous() {
    let case = |kind, algorithm| Case {
        threshold: 16,
        ..Case::new(kind, algorithm)
    };
    let all = |c: &Case| c.q() * (2.0 * c.message(1.0) + c.message(c.n()));
    case(Collective::Bcast, "binomial").follows(all);
    case(Collective::Reduce, "binomial").follows(all);
    case(Collective::Allreduce, "recursive_doubling").follows(all);
    case(Collective::Scan, "recursive_doubling").follows(all);
}

/// Values of the letters of a form.
type Letters<'a> = &'a dyn Fn(char) -> f64;

/// Evaluates the form of an algorithm, such as "2 (k + L) (α + S β) with k segments": factors
/// follow each other, and words begin with "with".
fn evaluate(form: &str, letters: Letters<'_>) -> f64 {
    let form = form.split(" with ").next().expect("a form");
    let form: Vec<char> = form.replace(", and", " +").chars().collect();
    let mut rest: Vec<char> = form.into_iter().filter(|c| *c != ' ').rev().collect();
    let value = sum(&mut rest, letters);
    assert!(rest.is_empty(), "{rest:?} behind the form");
    value
}

/// Takes a sum from a form in reverse.
fn sum(rest: &mut Vec<char>, letters: Letters<'_>) -> f64 {
    let mut value = product(rest, letters);
    while let Some(sign) = rest.pop_if(|c| matches!(c, '+' | '−')) {
        let next = product(rest, letters);
        value += if sign == '+' { next } else { -next };
    }
    value
}

fn product(rest: &mut Vec<char>, letters: Letters<'_>) -> f64 {
    let mut value = factor(rest, letters);
    while let Some(next) = rest.last().filter(|c| !matches!(c, '+' | '−' | ')')) {
        if *next == '/' {
            rest.pop();
            value /= factor(rest, letters);
        } else {
            value *= factor(rest, letters);
        }
    }
    value
}

fn factor(rest: &mut Vec<char>, letters: Letters<'_>) -> f64 {
    match rest.pop().expect("a factor") {
        '(' => {
            let value = sum(rest, letters);
            assert_eq!(rest.pop(), Some(')'), "the end of a bracket");
            value
        }
        digit if digit.is_ascii_digit() => f64::from(digit.to_digit(10).expect("a digit")),
        letter => letters(letter),
    }
}

/// Length of a segment in the comparison with the forms of [`Algorithm::time`].
const SEGMENT: u64 = 10_000;

/// Costs for the comparison with the forms, where α = 2 o + L and β = G.
///
/// α is short against the time of a segment, and the conditions of [`a_pipelined_broadcast`] hold,
/// except for the double tree: its ranks receive and send all the time, and the processor, which
/// also receives, would be free for a send only when the adapter is busy.
fn costs_for_segments(algorithm: &Algorithm) -> LogGopsParameters {
    LogGopsParameters {
        latency: 2e-6,
        gap: match algorithm.name {
            "double_tree" => 1e-6,
            _ => 2.5e-6,
        },
        overhead_per_byte: 0.0,
        ..COSTS
    }
}

/// Compares the time of a call in `count` segments with the printed form of the algorithm.
fn takes_the_printed_time(case: Case, algorithm: &Algorithm, count: u64) {
    let parts = match algorithm.name {
        // A segment of each half, and one of each block.
        "double_tree" => 2,
        "segmented_ring" => 1 << case.q,
        _ => 1,
    };
    let case = Case {
        bytes: count * SEGMENT * parts,
        segment: SEGMENT,
        costs: costs_for_segments(algorithm),
        ..case
    };
    let letters = |letter| match letter {
        'k' => count as f64,
        'S' => SEGMENT as f64,
        'n' => case.n(),
        'p' => case.ranks(),
        'L' => case.q(),
        'F' => 4.0,
        // Three of each digit to the base 4.
        'D' => f64::from(3 * (case.q / 2) + case.q % 2),
        'α' => 2.0 * case.costs.overhead + case.costs.latency,
        'β' => case.costs.gap_per_byte,
        'γ' => case.reduction,
        other => panic!("{other} in {}", algorithm.time),
    };
    let expected = evaluate(algorithm.time, &letters);
    let found = case.simulated();
    assert!(
        (found / expected - 1.0).abs() <= 0.2,
        "{case:?}: {found}, and {expected} by {}",
        algorithm.time
    );
}

/// Calls in one segment, a few and many segments take the time that `simrun collectives explain`
/// prints, within a fifth. The forms neglect that a latency passes while the previous segment is in
/// transit, and that the gap differs from this latency.
#[test]
fn segments_take_the_time_that_is_printed() {
    let mut compared = 0;
    for kind in Collective::ALL {
        for algorithm in named(kind).filter(|one| one.time.contains(" k ")) {
            // Shorter messages go along one chain.
            let first = u64::from(algorithm.time.contains("k > 1")) + 1;
            for count in [first, 8, 512] {
                for (q, reduction) in [(3, 0.0), (3, 2.5e-9), (4, 0.0)] {
                    let case = Case {
                        q,
                        reduction,
                        ..Case::new(kind, algorithm.name)
                    };
                    takes_the_printed_time(case, algorithm, count);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 19 * 9, "{compared} comparisons");
}

/// Both trees use the cables in both directions all the time: 64 MiB cross each cable twice in
/// 10.7 ms, whatever the depth of the trees.
#[test]
fn the_double_tree_does_not_pay_its_depth_for_each_segment() {
    let mut selector = Selector::ours().clone();
    let forced = selector.force(Collective::Allreduce, "double_tree", 0, 0);
    forced.expect("an algorithm");
    let settings = Settings {
        phantom: true,
        collectives: Some(Arc::new(selector)),
        ..Settings::new(64 << 10)
    };
    let time = |size| {
        let run = ranks(size)
            .on_platform(include_str!("../../../platforms/cluster.toml"))
            .with_settings(settings.clone())
            .run(move |world: Comm, notes: Notes| async move {
                perform(&world, Collective::Allreduce, 64 << 20).await?;
                notes.add(&world, "");
                DONE
            })
            .finished();
        run.notes.iter().map(|note| note.0).fold(0.0, f64::max)
    };
    let times = [4, 8, 16, 32, 64].map(time);
    let least = times.into_iter().fold(f64::INFINITY, f64::min);
    let most = times.into_iter().fold(0.0, f64::max);
    assert!(most <= 13.5e-3 && most <= 1.12 * least, "{times:?}");
}
