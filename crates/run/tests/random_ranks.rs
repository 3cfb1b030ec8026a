//! Promise: of random rank programs, each reduction finds the classes and the ends that brute force
//! finds, `odpor` each class once.
//!
//! Every rank does a few calls that are drawn: sends that block or not, receives and probes with
//! and without wildcards, tests, waits for any. Many programs end in a deadlock, which is as good
//! an end as any.
//!
//! A run in simulated time is taken again step by step, with the same output and the same end.
//!
//! And where each send may be buffered or not, there is a deadlock exactly if there is one with
//! some of the sends synchronous.

use crate::common;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::common::{Observation, below, on_ranks, options, programs};
use explore::{End, Options, Reduction, Statistics, replay, replay_schedule, schedule_of_run};
use mpi::{Source, prelude::*};
use platform::Platform;
use run::{
    LogFilter, MessageProtocol, Output, QueueNumbers, Recording, Stream as Channel, Transcript,
    simulate_recorded, stepper,
};
use sim_core::{Console, Outcome, Stream};

/// More runs than these, and a program is left out: brute force would take too long.
const RUNS_MAX: u64 = 500;

/// A call.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send(usize),
    Isend(usize),
    Recv(Option<usize>),
    Irecv(Option<usize>),
    Iprobe(Option<usize>),
    Probe(Option<usize>),
    /// Of the receives begun with `Irecv`, the oldest one.
    Test,
    Wait,
    WaitAny,
}

type Program = Vec<Vec<Op>>;

fn program(stream: &mut Stream) -> Program {
    let ranks = 2 + below(stream, 2);
    let ops = |rank: usize, stream: &mut Stream| -> Vec<Op> {
        let count = 1 + below(stream, 4);
        (0..count).map(|_| op(rank, ranks, stream)).collect()
    };
    (0..ranks).map(|rank| ops(rank, stream)).collect()
}

fn op(rank: usize, ranks: usize, stream: &mut Stream) -> Op {
    let peer = (rank + 1 + below(stream, ranks - 1)) % ranks;
    let source = (below(stream, 2) == 0).then_some(peer);
    match below(stream, 12) {
        0..=2 => Op::Send(peer),
        3 | 4 => Op::Isend(peer),
        5 | 6 => Op::Recv(source),
        7 => Op::Irecv(source),
        8 => Op::Iprobe(source),
        9 => [Op::Probe(source), Op::WaitAny][below(stream, 2)],
        10 => Op::Test,
        _ => Op::Wait,
    }
}

/// Returns true if the send with this number, of all ranks, is synchronous.
fn is_synchronous(program: &Program, rank: usize, position: usize, synchronous: u32) -> bool {
    let sends = |ops: &[Op]| ops.iter().filter(|op| is_send(op)).count();
    let before: usize = program[..rank].iter().map(|ops| sends(ops)).sum();
    synchronous >> (before + sends(&program[rank][..position])) & 1 == 1
}

fn is_send(op: &Op) -> bool {
    matches!(op, Op::Send(_) | Op::Isend(_))
}

async fn play(world: Comm, program: Rc<Program>, synchronous: u32) -> Result<()> {
    let from = |source: Option<usize>| source.map_or(ANY_SOURCE, Source::Rank);
    let mut message = world.buffer(8);
    let mut receives: Vec<Request> = Vec::new();
    let mut sends: Vec<Request> = Vec::new();
    for (position, op) in program[world.rank()].iter().enumerate() {
        let waits = is_synchronous(&program, world.rank(), position, synchronous);
        match *op {
            Op::Send(to) if waits => world.ssend(&message, to, 0).await?,
            Op::Isend(to) if waits => sends.push(world.issend(message.clone(), to, 0)?),
            Op::Send(to) => world.send(&message, to, 0).await?,
            Op::Isend(to) => sends.push(world.isend(message.clone(), to, 0)?),
            Op::Recv(source) => {
                let status = world.recv(&mut message, from(source), ANY_TAG).await?;
                world.println(format_args!("from {}", status.source));
            }
            Op::Irecv(source) => {
                receives.push(world.irecv(world.buffer(8), from(source), ANY_TAG)?);
            }
            Op::Iprobe(source) => {
                let seen = world.iprobe(from(source), ANY_TAG).await?;
                world.println(format_args!("sees {:?}", seen.map(|status| status.source)));
            }
            Op::Probe(source) => drop(world.probe(from(source), ANY_TAG).await?),
            Op::Test => {
                if let Some(request) = receives.first_mut()
                    && request.test().await?.is_some()
                {
                    drop(receives.remove(0));
                    world.println(format_args!("has it"));
                }
            }
            Op::Wait if !receives.is_empty() => drop(receives.remove(0).wait().await?),
            Op::WaitAny if !receives.is_empty() => {
                let first = waitany(&mut receives).await?;
                world.println(format_args!("first is {:?}", first.map(|first| first.0)));
                receives.clear();
            }
            Op::Wait | Op::WaitAny => {}
        }
    }
    for send in &mut sends {
        send.wait().await?;
    }
    Ok(())
}

fn search(
    program: &Rc<Program>,
    mode: Option<MessageProtocol>,
    reduction: Reduction,
    synchronous: u32,
) -> (Observation<End>, Statistics) {
    let ranks = u32::try_from(program.len()).expect("few");
    let program = Rc::clone(program);
    let program = on_ranks(move |world| play(world, Rc::clone(&program), synchronous));
    let options = Options {
        executions_max: RUNS_MAX,
        ..options(reduction)
    };
    // A message that is never received hides the deadlock of its send.
    let end = |run: &explore::Run<'_>| match run.end {
        End::Leftovers if run.stepper.optional_waits().deadlock().is_some() => {
            Some(End::ConditionalDeadlock)
        }
        end => Some(end),
    };
    let (seen, statistics, broken) = common::search_with((ranks, mode, &program), &options, end);
    assert_eq!(broken, None);
    (seen, statistics)
}

#[test]
fn reductions_find_what_brute_force_finds() {
    let programs = programs(300);
    let mut ends = BTreeSet::new();
    let (mut judged, mut with_choice) = (0, 0);
    for number in 0..programs {
        let mut stream = Stream::new(number, "rank programs");
        let program = Rc::new(program(&mut stream));
        for mode in [
            Some(MessageProtocol::Eager),
            Some(MessageProtocol::Rendezvous),
            None,
        ] {
            let (judge, statistics) = search(&program, mode, Reduction::Sleep, 0);
            if !statistics.bounds.is_empty() {
                continue;
            }
            judged += 1;
            with_choice += u32::from(judge.classes.len() > 1);
            ends.extend(judge.values.iter().copied());
            for reduction in [Reduction::Sdpor, Reduction::Odpor] {
                let (seen, statistics) = search(&program, mode, reduction, 0);
                let what = || format!("{number}, {mode:?}, {reduction:?}: {program:?}");
                assert_eq!(seen.values, judge.values, "{}", what());
                assert!(
                    seen.classes == judge.classes,
                    "{} of {} classes: {}",
                    seen.classes.len(),
                    judge.classes.len(),
                    what()
                );
                if reduction == Reduction::Odpor {
                    let counts = (statistics.executions, statistics.sleep_set_blocked);
                    assert_eq!(counts, (judge.classes.len() as u64, 0), "{}", what());
                }
            }
        }
    }
    assert!(
        judged > programs,
        "{judged} of {programs} programs, three times"
    );
    assert!(u64::from(with_choice) > programs / 4, "{with_choice}");
    assert!(ends.len() >= 3, "{ends:?}");
}

#[test]
fn a_deadlock_is_found_if_some_way_to_buffer_sends_has_one() {
    let looks = |op: &Op| matches!(op, Op::Iprobe(_) | Op::Test | Op::WaitAny);
    let (mut judged, mut only_without) = (0, 0);
    for number in 0..400 {
        let program = Rc::new(program(&mut Stream::new(number, "mixed sends")));
        let all = || program.iter().flatten();
        let sends = all().filter(|op| is_send(op)).count();
        // A message that comes in two parts may be seen otherwise than one that comes whole.
        if all().any(looks) || !(2..=5).contains(&sends) {
            continue;
        }
        let deadlocks = |mode: Option<MessageProtocol>, synchronous: u32| {
            let (seen, statistics) = search(&program, mode, Reduction::Odpor, synchronous);
            let is_whole = statistics.bounds.is_empty();
            let has = |end| seen.values.contains(&end);
            is_whole.then(|| has(End::Deadlock) || has(End::ConditionalDeadlock))
        };
        let ways: Option<Vec<bool>> = (0..1 << sends)
            .map(|synchronous| deadlocks(Some(MessageProtocol::Eager), synchronous))
            .collect();
        let (Some(ways), Some(either)) = (ways, deadlocks(None, 0)) else {
            continue;
        };
        judged += 1;
        assert_eq!(either, ways.contains(&true), "{number}: {program:?}");
        only_without += u32::from(either && !ways[0]);
    }
    assert!(judged > 50 && only_without > 5, "{judged} {only_without}");
}

#[test]
fn a_simulated_run_is_taken_again() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/cluster.toml");
    let platform = Arc::new(Platform::load(path).expect("a platform"));
    let output = Rc::new(Output::new(Channel::Nowhere, false, LogFilter::default()));
    let (mut deadlocks, mut refused) = (0, 0);
    for number in 0..300 {
        let drawn = Rc::new(program(&mut Stream::new(number, "rank programs")));
        let ranks = u32::try_from(drawn.len()).expect("few");
        for mode in [MessageProtocol::Eager, MessageProtocol::Rendezvous] {
            let options = run::Options {
                ranks: Some(ranks),
                protocol: Some(mode),
                ..run::Options::default()
            };
            let moved = Rc::clone(&drawn);
            let start = move |world| play(world, Rc::clone(&moved), 0);
            let program = on_ranks(start);
            let recording = Recording::default();
            let run = simulate_recorded(&platform, &*program, &options, &output, &recording);
            let outcome = run.expect("it fits").report.outcome;
            let transcript = Rc::new(Transcript::default());
            let console = Some(Rc::clone(&transcript) as Rc<dyn Console>);
            let numbers = QueueNumbers::default();
            let stepper = stepper(Some(&platform), program, &options, console, &numbers);
            let mut stepper = stepper.expect("it fits");
            let Ok(schedule) = schedule_of_run(&mut stepper, &recording.steps.borrow()) else {
                refused += 1;
                continue;
            };
            let end = replay_schedule(&mut stepper, &schedule).end;
            drop(transcript.take_lines());
            assert_eq!(replay(&mut stepper, &schedule), schedule.0.len());
            let what = || format!("{number} {mode:?} {schedule}: {drawn:?}");
            assert_eq!(
                transcript.take_lines(),
                recording.lines.take(),
                "{}",
                what()
            );
            match outcome {
                Outcome::Finished => {
                    assert!(
                        matches!(end, Some(End::Finished | End::Leftovers)),
                        "{}",
                        what()
                    );
                }
                // A question that is repeated waits in a run, and is answered no under check.
                Outcome::Deadlock(graph)
                    if (graph.blocked.iter()).any(|one| one.waits_in.contains("polling")) => {}
                Outcome::Deadlock(_) => {
                    deadlocks += 1;
                    assert_eq!(end, Some(End::Deadlock), "{}", what());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(deadlocks > 50, "{deadlocks} deadlocks");
    // Of 600: a receive that its rank gives up has met a message that came before the rank
    // continued.
    assert!(refused < 20, "{refused} refused");
}
