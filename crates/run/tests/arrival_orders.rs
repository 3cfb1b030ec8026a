//! Promise: deliveries to a rank that never asks for the order of arrivals are not distinguished,
//! and no result is lost by this.
//!
//! Random rank programs mix receives by name and from any source, tags, probes, tests, waits for
//! any, futures that wait in two places, sends of four modes, blocking and not. The reference runs
//! every interleaving and uses no dependency relation. The test compares the results of each call
//! at each rank. The reductions must find the same results, `odpor` without running a class twice.

use crate::common;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crate::common::{Observation, below, on_ranks, programs, search_with};
use explore::{End, Options, Reduction, SeededDefect, Statistics};
use mpi::{Source, Tag, prelude::*};
use run::MessageProtocol;
use sim_core::Stream;

/// More runs than these, and a program is left out.
const RUNS_MAX: u64 = 1_000;

/// A receive: source and tag.
#[derive(Clone, Copy, Debug)]
struct From(Option<usize>, Option<u32>);

/// Send mode of a message.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Standard,
    Synchronous,
    Ready,
    Buffered,
}

/// A call.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send(usize, u32, Mode),
    Isend(usize, u32, Mode),
    Recv(From),
    Irecv(From),
    Iprobe(From),
    Probe(From),
    Test,
    Wait,
    WaitAny,
    WaitAll,
    /// Gives the oldest receive up.
    Drop,
    /// Waits for two messages at once, and answers each message when it arrives.
    Both(From, From),
    /// Waits for the first of two.
    Either(From, From),
}

type Program = Vec<Vec<Op>>;

/// Messages that are sent and received in any order, and a few calls in between. Some ranks ask
/// only by name.
fn program(number: u64) -> Program {
    let stream = &mut Stream::new(number, "arrival orders");
    let ranks = 2 + below(stream, 3);
    let by_name: Vec<bool> = (0..ranks).map(|_| below(stream, 3) > 0).collect();
    let mut program: Program = vec![Vec::new(); ranks];
    for _ in 0..2 + below(stream, 4) {
        let from = below(stream, ranks);
        let to = (from + 1 + below(stream, ranks - 1)) % ranks;
        let tag = u32::from(below(stream, 3) == 0);
        let mode = [
            Mode::Standard,
            Mode::Standard,
            Mode::Synchronous,
            Mode::Buffered,
            Mode::Ready,
        ][below(stream, 5)];
        let send = [Op::Send, Op::Isend][below(stream, 2)](to, tag, mode);
        put(&mut program[from], send, stream);
        if below(stream, 8) > 0 {
            let source = (by_name[to] || below(stream, 2) == 0).then_some(from);
            let tag = (below(stream, 2) == 0).then_some(tag);
            let receive = [Op::Recv, Op::Irecv][below(stream, 2)](From(source, tag));
            put(&mut program[to], receive, stream);
        }
    }
    for rank in 0..ranks {
        for _ in 0..below(stream, 3) {
            let op = question(by_name[rank], ranks, rank, stream);
            put(&mut program[rank], op, stream);
        }
    }
    program
}

fn put(ops: &mut Vec<Op>, op: Op, stream: &mut Stream) {
    let place = below(stream, ops.len() + 1);
    ops.insert(place, op);
}

fn question(by_name: bool, ranks: usize, rank: usize, stream: &mut Stream) -> Op {
    let mut from = || {
        let peer = (rank + 1 + below(stream, ranks - 1)) % ranks;
        let is_named = by_name || below(stream, 2) == 0;
        From(
            is_named.then_some(peer),
            (below(stream, 2) == 0).then_some(0),
        )
    };
    let (first, second) = (from(), from());
    if by_name && below(stream, 6) > 0 {
        return [Op::Wait, Op::WaitAll, Op::Probe(first)][below(stream, 3)];
    }
    match below(stream, 9) {
        0 => Op::Iprobe(first),
        1 => Op::Probe(first),
        2 => Op::Test,
        3 => Op::WaitAny,
        4 => Op::WaitAll,
        5 => Op::Drop,
        6 => Op::Both(first, second),
        7 => Op::Either(first, second),
        _ => Op::Wait,
    }
}

thread_local! {
    /// Results of each rank in the present run.
    static TOLD: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
}

fn tell(world: &Comm, what: u64) {
    TOLD.with_borrow_mut(|told| told[world.rank()].push(what));
}

fn tell_message(world: &Comm, source: usize, buffer: &Buffer) {
    let byte = buffer.bytes().map_or(0, |bytes| bytes[0]);
    tell(world, 1000 + source as u64 * 100 + u64::from(byte));
}

fn pattern(From(source, tag): From) -> (Source, Tag) {
    (
        source.map_or(ANY_SOURCE, Source::Rank),
        tag.map_or(ANY_TAG, Tag::Is),
    )
}

async fn receive(world: &Comm, from: From) -> Result<()> {
    let (source, tag) = pattern(from);
    let mut buffer = world.buffer(8);
    if let Some(status) = unless_ready(world, world.recv(&mut buffer, source, tag).await)? {
        tell_message(world, status.source, &buffer);
    }
    Ok(())
}

/// A receive may meet the message of a ready send that could start before it.
fn unless_ready<T>(world: &Comm, result: Result<T>) -> Result<Option<T>> {
    if let Err(Error::NotReady { source, .. }) = result {
        tell(world, 90 + source as u64);
        return Ok(None);
    }
    result.map(Some)
}

/// Waits for both futures at once, as `join!` does.
async fn both<F: Future, G: Future>(first: F, second: G) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let mut over = (false, false);
    poll_fn(move |context| {
        over.0 = over.0 || first.as_mut().poll(context).is_ready();
        over.1 = over.1 || second.as_mut().poll(context).is_ready();
        if over == (true, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Waits for the first of two futures, as `select!` does. Returns 1 or 2.
async fn either<F: Future, G: Future>(first: F, second: G) -> u64 {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(move |context| {
        if first.as_mut().poll(context).is_ready() {
            return Poll::Ready(1);
        }
        second.as_mut().poll(context).map(|_| 2)
    })
    .await
}

async fn probe(world: &Comm, op: Op) -> Result<()> {
    match op {
        Op::Iprobe(from) => {
            let (source, tag) = pattern(from);
            let found = world.iprobe(source, tag).await?;
            tell(world, found.map_or(20, |found| 21 + found.source as u64));
        }
        Op::Probe(from) => {
            let (source, tag) = pattern(from);
            let found = world.probe(source, tag).await?;
            tell(world, 31 + found.source as u64);
        }
        _ => {}
    }
    Ok(())
}

/// Calls about the receives that have been started.
async fn complete(world: &Comm, op: Op, receives: &mut Vec<Request>) -> Result<()> {
    match op {
        Op::Test if !receives.is_empty() => {
            let tested = unless_ready(world, receives[0].test().await)?;
            let Some(tested) = tested else {
                drop(receives.remove(0));
                return Ok(());
            };
            tell(world, 40 + u64::from(tested.is_some()));
            if let Some(done) = tested {
                tell_message(world, done.status.source, &done.buffer);
                drop(receives.remove(0));
            }
        }
        Op::Wait if !receives.is_empty() => {
            let done = receives.remove(0).wait().await;
            if let Some(done) = unless_ready(world, done)? {
                tell_message(world, done.status.source, &done.buffer);
            }
        }
        Op::WaitAny if !receives.is_empty() => {
            if let Some((position, done)) = unless_ready(world, waitany(receives).await)?.flatten()
            {
                tell(world, 50 + position as u64);
                tell_message(world, done.status.source, &done.buffer);
                drop(receives.remove(position));
            }
        }
        Op::WaitAll => {
            let all = unless_ready(world, waitall(receives).await)?;
            for done in all.into_iter().flatten().flatten() {
                tell_message(world, done.status.source, &done.buffer);
            }
            receives.clear();
        }
        Op::Drop if !receives.is_empty() => drop(receives.remove(0)),
        _ => {}
    }
    Ok(())
}

async fn play(world: Comm, program: Rc<Program>) -> Result<()> {
    let rank = world.rank();
    TOLD.with_borrow_mut(|told| {
        told.resize(program.len(), Vec::new());
        told[rank].clear();
    });
    world.buffer_attach(world.buffer(20))?;
    let mut receives: Vec<Request> = Vec::new();
    let mut sends: Vec<Request> = Vec::new();
    for (number, op) in program[rank].iter().enumerate() {
        let mut message = world.buffer(8);
        if let Some(bytes) = message.bytes_mut() {
            bytes[0] = u8::try_from(number).expect("few calls");
        }
        match *op {
            Op::Send(to, tag, mode) => match mode {
                Mode::Standard => world.send(&message, to, tag).await?,
                Mode::Synchronous => world.ssend(&message, to, tag).await?,
                Mode::Ready => world.rsend(&message, to, tag).await?,
                Mode::Buffered => {
                    let sent = world.bsend(&message, to, tag).await;
                    tell(&world, 10 + u64::from(sent.is_ok()));
                }
            },
            Op::Isend(to, tag, mode) => sends.push(match mode {
                Mode::Synchronous => world.issend(message, to, tag)?,
                Mode::Ready => world.irsend(message, to, tag)?,
                _ => world.isend(message, to, tag)?,
            }),
            Op::Recv(from) => receive(&world, from).await?,
            Op::Irecv(from) => {
                let (source, tag) = pattern(from);
                receives.push(world.irecv(world.buffer(8), source, tag)?);
            }
            Op::Iprobe(_) | Op::Probe(_) => probe(&world, *op).await?,
            Op::Test | Op::Wait | Op::WaitAny | Op::WaitAll | Op::Drop => {
                complete(&world, *op, &mut receives).await?;
            }
            Op::Both(one, other) => {
                both(receive(&world, one), receive(&world, other)).await;
            }
            Op::Either(one, other) => {
                let first = either(receive(&world, one), receive(&world, other)).await;
                tell(&world, 60 + first);
            }
        }
    }
    for send in &mut sends {
        send.wait().await?;
    }
    tell(&world, 70);
    Ok(())
}

/// Results of each rank, and how the run ended.
type Outcome = (Vec<Vec<u64>>, End);

fn search(
    program: &Rc<Program>,
    mode: MessageProtocol,
    options: &Options,
) -> (Observation<Outcome>, Statistics, Option<String>) {
    let ranks = u32::try_from(program.len()).expect("few");
    let program = Rc::clone(program);
    let program = on_ranks(move |world| play(world, Rc::clone(&program)));
    search_with((ranks, mode, &program), options, |run| {
        Some((TOLD.with_borrow(Clone::clone), run.end))
    })
}

fn options(reduction: Reduction) -> Options {
    Options {
        executions_max: RUNS_MAX,
        ..common::options(reduction)
    }
}

/// Returns the results of the reference; `None` if the reference needs too many runs.
fn judge(program: &Rc<Program>, mode: MessageProtocol) -> Option<BTreeSet<Outcome>> {
    let (judge, statistics, broken) = search(program, mode, &options(Reduction::None));
    assert_eq!(broken, None, "{program:?}");
    statistics.bounds.is_empty().then_some(judge.values)
}

/// Checks that a search finds the results of the reference. Returns the number of classes.
fn is_right(
    program: &Rc<Program>,
    mode: MessageProtocol,
    judge: &BTreeSet<Outcome>,
    options: &Options,
) -> Option<usize> {
    let (seen, statistics, broken) = search(program, mode, options);
    let is_optimal = options.reduction != Reduction::Odpor
        || (statistics.executions == seen.classes.len() as u64
            && statistics.sleep_set_blocked == 0);
    (broken.is_none() && seen.values == *judge && is_optimal).then_some(seen.classes.len())
}

#[test]
fn nothing_is_lost_that_a_rank_could_be_told() {
    let (mut judged, mut with_several, mut fewer) = (0, 0, 0);
    for number in 0..programs(200) {
        let program = Rc::new(program(number));
        for mode in [MessageProtocol::Eager, MessageProtocol::Rendezvous] {
            let Some(judge) = judge(&program, mode) else {
                continue;
            };
            judged += 1;
            with_several += u32::from(judge.len() > 1);
            let mut counts = Vec::new();
            for reduction in [Reduction::Sleep, Reduction::Sdpor, Reduction::Odpor] {
                let right = is_right(&program, mode, &judge, &options(reduction));
                let traces = right.unwrap_or_else(|| {
                    panic!("{number}, {mode:?}, {reduction:?}: {program:?}");
                });
                counts.push(traces);
            }
            assert!(
                counts.iter().all(|&count| count == counts[0]),
                "{number}, {mode:?}: {counts:?}, {program:?}"
            );
            fewer += u32::from(counts[0] == 1);
        }
    }
    assert!(judged > programs(200), "{judged}");
    assert!(with_several > 30 && fewer > 100, "{with_several} {fewer}");
}

#[test]
fn mistakes_in_it_are_noticed() {
    for defect in [SeededDefect::NobodyChooses, SeededDefect::LatestCause] {
        let is_noticed = |number: u64| {
            let program = Rc::new(program(number));
            [MessageProtocol::Eager, MessageProtocol::Rendezvous]
                .into_iter()
                .any(|mode| {
                    let mistaken = Options {
                        defect: Some(defect),
                        ..options(Reduction::Odpor)
                    };
                    judge(&program, mode)
                        .is_some_and(|judge| is_right(&program, mode, &judge, &mistaken).is_none())
                })
        };
        assert!((0..2_000).any(is_noticed), "{defect:?} is not noticed");
    }
}
