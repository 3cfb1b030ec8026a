//! Promise: a rank that repeats a question waits until the answer could be another: no order is
//! lost, every loop that can end does, and a loop that cannot end is a livelock or a deadlock.
//!
//! Random programs of ranks that loop over probes, tests and `testany` until this many answers were
//! yes, and of ranks that send to these ranks. There are two references. The first runs every
//! interleaving and uses no dependency relation. The second has no loops that wait: a rank asks in
//! as many rounds as could matter, acts before each round, so that every question is a new one, and
//! then gives up. Runs in which a rank has given up too soon do not count: when all other ranks
//! have said that they send no more, the rank asks a last time. This answer may still be no, so for
//! loops that never end, the second reference only shows that there may be such loops.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::common::{Observation, below, checked, on_ranks, options, programs, search_with};
use explore::{End, Options, Reduction, Statistics, Verdict};
use mpi::{ANY_SOURCE, Comm, Completion, Request, Result, Source, testany, waitall};
use run::MessageProtocol;
use sim_core::Stream;

/// More runs than these, and a program is left out.
const RUNS_MAX: u64 = 2_000;
/// The tag of messages that are never sent.
const NEVER: u32 = 97;
/// The tag of the last message of a rank to each that may give up.
const BELL: u32 = 98;

/// A receive or a probe: source and tag.
#[derive(Clone, Copy, PartialEq, Debug)]
struct From(Option<usize>, u32);

impl From {
    fn source(self) -> Source {
        self.0.map_or(ANY_SOURCE, Source::Rank)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Question {
    /// For a message, which is received then.
    Iprobe(From),
    /// For one of the receives.
    Test(usize),
    /// For any of them.
    TestAny,
}

#[derive(Clone, Debug)]
enum Op {
    Send(usize, u32),
    Irecv(From),
    /// Asks all of these, round by round, until this many answers were yes.
    Loop(Vec<Question>, usize),
}

type Program = Vec<Vec<Op>>;

/// Rank 0 and perhaps rank 1 loop; the others send to them.
fn program(number: u64) -> Program {
    let stream = &mut Stream::new(number, "busy ranks");
    let ranks = 2 + below(stream, 2);
    let loopers = 1 + below(stream, 2);
    let tag = |stream: &mut Stream| u32::from(below(stream, 3) == 0);
    (0..ranks)
        .map(|rank| {
            let peer = |stream: &mut Stream| (rank + 1 + below(stream, ranks - 1)) % ranks;
            let from = |stream: &mut Stream| {
                let source = (below(stream, 2) == 0).then(|| peer(stream));
                From(source, tag(stream))
            };
            if rank >= loopers {
                let send = |stream: &mut Stream| Op::Send(below(stream, loopers), tag(stream));
                return (0..1 + below(stream, 2)).map(|_| send(stream)).collect();
            }
            let mut ops = Vec::new();
            if below(stream, 4) == 0 {
                ops.push(Op::Send(peer(stream), tag(stream)));
            }
            let receives = below(stream, 3);
            ops.extend((0..receives).map(|_| Op::Irecv(from(stream))));
            let mut questions = Vec::new();
            for _ in 0..1 + below(stream, 3) {
                let question = match below(stream, 4) {
                    0 if receives > 0 => Question::TestAny,
                    1 | 2 if receives > 0 => Question::Test(below(stream, receives)),
                    _ => Question::Iprobe(from(stream)),
                };
                if !questions.contains(&question) {
                    questions.push(question);
                }
            }
            ops.push(Op::Loop(questions, 1 + below(stream, 2)));
            if below(stream, 2) == 0 {
                ops.push(Op::Send(peer(stream), tag(stream)));
            }
            ops
        })
        .collect()
}

thread_local! {
    /// Results of each rank in the present run.
    static TOLD: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
    /// True if a rank has given up too soon in the present run.
    static PREMATURE: RefCell<bool> = const { RefCell::new(false) };
}

/// A rank has executed all its calls.
const OVER: u64 = 70;

fn tell(world: &Comm, what: u64) {
    TOLD.with_borrow_mut(|told| told[world.rank()].push(what));
}

fn tell_completion(world: &Comm, done: &Completion) {
    let byte = done.buffer.bytes().map_or(0, |bytes| bytes[0]);
    tell(
        world,
        1000 + done.status.source as u64 * 100 + u64::from(byte),
    );
}

/// Returns the answer; `None` if there is no question left. `takes`: a message that is there is
/// received.
async fn ask(
    world: &Comm,
    question: Question,
    receives: &mut [Request],
    takes: bool,
) -> Result<Option<bool>> {
    match question {
        Question::Iprobe(from) => {
            let Some(found) = world.iprobe(from.source(), from.1).await? else {
                return Ok(Some(false));
            };
            if takes {
                let receive = world.irecv(world.buffer(8), found.source, found.tag);
                let done = receive?.wait().await?;
                tell(world, 20);
                tell_completion(world, &done);
            }
            Ok(Some(true))
        }
        Question::Test(number) => {
            if !receives[number].is_active() {
                return Ok(None);
            }
            let done = receives[number].test().await?;
            if let Some(done) = &done {
                tell(world, 30 + number as u64);
                tell_completion(world, done);
            }
            Ok(Some(done.is_some()))
        }
        Question::TestAny => {
            if !receives.iter().any(Request::is_active) {
                return Ok(None);
            }
            let done = testany(receives).await?;
            if let Some((number, done)) = &done {
                tell(world, 40 + *number as u64);
                tell_completion(world, done);
            }
            Ok(Some(done.is_some()))
        }
    }
}

/// Asks until this many answers were yes, or no question is left. Returns false if it gave up
/// before. `gives_up`: the rank asks only as many rounds as can give a new result.
async fn ask_in_rounds(
    world: &Comm,
    (questions, wanted): (&[Question], usize),
    receives: &mut [Request],
    gives_up: bool,
) -> Result<bool> {
    let mut yes = 0;
    // Between two rounds with a yes one without can be left out: what arrives in it may as well
    // arrive after it.
    let rounds = if gives_up { wanted + 1 } else { usize::MAX };
    for _ in 0..rounds {
        if gives_up {
            let other = (world.rank() + 1) % world.size();
            drop(world.irecv(world.buffer(8), other, NEVER)?);
        }
        let mut asked = false;
        for &question in questions {
            let answer = ask(world, question, receives, true).await?;
            asked |= answer.is_some();
            yes += usize::from(answer == Some(true));
            if yes == wanted {
                return Ok(true);
            }
        }
        if !asked {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The loopers of a program.
fn loopers(program: &Program) -> impl Iterator<Item = usize> {
    let loops = |ops: &Vec<Op>| ops.iter().any(|op| matches!(op, Op::Loop(..)));
    (0..program.len()).filter(move |&rank| loops(&program[rank]))
}

/// Tells all ranks that loop that no more messages come.
async fn ring(world: &Comm, program: &Program) -> Result<()> {
    for to in loopers(program).filter(|&to| to != world.rank()) {
        world.send(&world.buffer(1), to, BELL).await?;
    }
    Ok(())
}

/// After a loop was given up: whether that was too soon.
async fn listen(
    world: &Comm,
    program: &Program,
    questions: &[Question],
    receives: &mut [Request],
) -> Result<()> {
    ring(world, program).await?;
    for other in (0..world.size()).filter(|&other| other != world.rank()) {
        world.probe(other, BELL).await?;
    }
    let other = (world.rank() + 1) % world.size();
    drop(world.irecv(world.buffer(8), other, NEVER)?);
    let mut answers = BTreeSet::new();
    for &question in questions {
        answers.insert(ask(world, question, receives, false).await?);
    }
    // It could continue, or there is nothing left to ask.
    if answers.contains(&Some(true)) || !answers.contains(&Some(false)) {
        PREMATURE.set(true);
    }
    Ok(())
}

async fn play(world: Comm, program: Rc<Program>, gives_up: bool) -> Result<()> {
    let rank = world.rank();
    TOLD.with_borrow_mut(|told| {
        told.resize(program.len(), Vec::new());
        told[rank].clear();
    });
    PREMATURE.set(false);
    let mut receives: Vec<Request> = Vec::new();
    for (number, op) in program[rank].iter().enumerate() {
        match op {
            Op::Send(to, tag) => {
                let mut message = world.buffer(8);
                if let Some(bytes) = message.bytes_mut() {
                    bytes[0] = u8::try_from(number).expect("few calls");
                }
                world.send(&message, *to, *tag).await?;
            }
            Op::Irecv(from) => {
                receives.push(world.irecv(world.buffer(8), from.source(), from.1)?);
            }
            Op::Loop(questions, wanted) => {
                let loops = (&questions[..], *wanted);
                if !ask_in_rounds(&world, loops, &mut receives, gives_up).await? {
                    return listen(&world, &program, questions, &mut receives).await;
                }
            }
        }
    }
    tell(&world, OVER);
    if gives_up {
        ring(&world, &program).await?;
    }
    Ok(())
}

/// Results of each rank.
type Told = Vec<Vec<u64>>;

/// The results of runs in which no rank has given up too soon, and how these ended.
fn search(
    program: &Rc<Program>,
    gives_up: bool,
    reduction: Reduction,
) -> (Observation<(Told, End)>, Statistics) {
    let ranks = u32::try_from(program.len()).expect("few");
    let same = Rc::clone(program);
    let start = on_ranks(move |world| play(world, Rc::clone(&same), gives_up));
    let options = Options {
        executions_max: if gives_up { 20 * RUNS_MAX } else { RUNS_MAX },
        ..options(reduction)
    };
    let eager = (ranks, MessageProtocol::Eager, &start);
    let (seen, statistics, broken) = search_with(eager, &options, |run| {
        assert!(run.stepper.failures().is_empty());
        let is_premature = PREMATURE.with_borrow(|premature| *premature);
        (!is_premature).then(|| (TOLD.with_borrow(Clone::clone), run.end))
    });
    assert_eq!(broken, None, "{reduction:?}: {program:?}");
    (seen, statistics)
}

fn told(seen: &Observation<(Told, End)>) -> BTreeSet<&Told> {
    seen.values.iter().map(|(told, _)| told).collect()
}

fn is_over(told: &[u64]) -> bool {
    told.last() == Some(&OVER)
}

#[test]
fn loops_of_ranks_lose_no_order() {
    let programs = programs(120);
    let (mut judged, mut without_loops, mut with_several) = (0_u64, 0_u64, 0_u64);
    let mut ends = BTreeSet::new();
    for number in 0..programs {
        let program = Rc::new(program(number));
        let (judge, statistics) = search(&program, false, Reduction::None);
        if !statistics.bounds.is_empty() {
            continue;
        }
        judged += 1;
        with_several += u64::from(told(&judge).len() > 1);
        ends.extend(judge.values.iter().map(|(_, end)| *end));
        for (told, end) in &judge.values {
            let is_stuck = matches!(end, End::Deadlock | End::Livelock);
            let all = told.iter().all(|told| is_over(told));
            assert_eq!(is_stuck, !all, "{number}: {told:?}, {end:?}, {program:?}");
        }
        let mut counts = BTreeSet::new();
        for reduction in [Reduction::Sleep, Reduction::Sdpor, Reduction::Odpor] {
            let (seen, statistics) = search(&program, false, reduction);
            assert_eq!(
                seen.values, judge.values,
                "{number} {reduction:?}: {program:?}"
            );
            counts.insert(seen.classes.len());
            if reduction == Reduction::Odpor {
                let runs = (statistics.executions, statistics.sleep_set_blocked);
                assert_eq!(runs, (seen.classes.len() as u64, 0), "{number}");
            }
        }
        assert_eq!(counts.len(), 1, "{number}: {counts:?}, {program:?}");
        let (unrolled, statistics) = search(&program, true, Reduction::Odpor);
        if statistics.bounds.is_empty() {
            without_loops += 1;
            let ended = |seen: &BTreeSet<&Told>| -> BTreeSet<Told> {
                let all = seen
                    .iter()
                    .filter(|told| told.iter().all(|told| is_over(told)));
                all.map(|told| (*told).clone()).collect()
            };
            let (unrolled, judge) = (told(&unrolled), told(&judge));
            assert_eq!(ended(&unrolled), ended(&judge), "{number}: {program:?}");
            assert!(judge.is_subset(&unrolled), "{number}: {program:?}");
        }
    }
    assert!(
        judged > programs / 2 && without_loops > programs / 2,
        "{judged} {without_loops}"
    );
    assert!(with_several > programs / 10, "{with_several}");
    assert!(
        ends.contains(&End::Deadlock) && ends.contains(&End::Finished),
        "{ends:?}"
    );
}

/// Rank 1 answers only when rank 0 has asked about one receive, and about that and another.
async fn asks_about_one_and_both(world: Comm) -> Result<()> {
    let mut buffer = world.buffer(8);
    if world.rank() == 1 {
        world.recv(&mut buffer, 0, 0).await?;
        for tag in 0..2 {
            world.send(&buffer, 0, tag).await?;
        }
        return Ok(());
    }
    let receive = |tag: u32| world.irecv(world.buffer(8), 1, tag);
    let mut receives = [receive(0)?, receive(1)?];
    assert!(testany(&mut receives[..1]).await?.is_none());
    assert!(testany(&mut receives).await?.is_none());
    world.send(&buffer, 1, 0).await?;
    waitall(&mut receives).await.map(drop)
}

#[test]
fn the_same_call_about_others_is_another_question() {
    let program = on_ranks(asks_about_one_and_both);
    let report = checked(2, MessageProtocol::Eager, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
}

/// The loop continues without the end of an operation.
#[test]
fn a_loop_over_testany_and_a_probe_goes_on_when_a_message_comes() {
    let questions = vec![Question::TestAny, Question::Iprobe(From(None, 1))];
    let from_one = Op::Irecv(From(Some(1), 0));
    let program = vec![vec![from_one, Op::Loop(questions, 1)], vec![Op::Send(0, 1)]];
    let (seen, _) = search(&Rc::new(program), false, Reduction::Odpor);
    assert_eq!(
        told(&seen),
        BTreeSet::from([&vec![vec![20, 1100, OVER], vec![OVER]]])
    );
}
