//! Promise: a loop over several questions (tests, probes, attempts to lock) waits until an answer
//! may change: the loop ends, no order is lost, and a loop that can never continue is a livelock.
//!
//! The test draws random programs of one or two such loops and of actors that let the loops
//! continue, or do not. The reference search runs every interleaving and uses no dependency
//! relation. The test compares the answers that the loops got in their last round.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::{
    End, Observer, Options, Reduction, Run, Statistics, TraceId, Verdict, check, explore,
};
use sim_core::{Activity, Actor, Mailbox, Mutex, Stepper, Stream};

/// Programs with more runs than this are left out.
const RUNS_MAX: u64 = 2_000;

/// A question, about one of two objects.
#[derive(Clone, Copy, Debug)]
enum Question {
    Test(usize),
    Probe(usize),
    TryLock(usize),
}

/// Behaviour of an actor.
#[derive(Clone, Debug)]
enum Role {
    /// Asks all of these, round by round, until this number of them was answered with yes.
    Loop(Vec<Question>, usize),
    /// Sends to a mailbox.
    Send(usize),
    /// Holds a mutex for a while.
    Hold(usize),
}

fn below(stream: &mut Stream, limit: usize) -> usize {
    usize::try_from(stream.below(limit as u64)).expect("below a small limit")
}

fn program(number: u64) -> Vec<Role> {
    let stream = &mut Stream::new(number, "busy loops");
    let mut roles = Vec::new();
    for _ in 0..1 + below(stream, 2) {
        let question = |stream: &mut Stream| {
            let object = below(stream, 2);
            [
                Question::Test(object),
                Question::Probe(object),
                Question::TryLock(object),
            ][below(stream, 3)]
        };
        let questions: Vec<Question> = (0..2 + below(stream, 2))
            .map(|_| question(stream))
            .collect();
        roles.push(Role::Loop(questions, 1 + below(stream, 2)));
    }
    for _ in 0..1 + below(stream, 2) {
        let object = below(stream, 2);
        roles.push([Role::Send(object), Role::Hold(object)][below(stream, 2)].clone());
    }
    roles
}

thread_local! {
    /// By actor: the questions answered with yes in the present run, by position.
    static TOLD: RefCell<Vec<Vec<usize>>> = const { RefCell::new(Vec::new()) };
}

async fn ask(
    me: usize,
    questions: Vec<Question>,
    wanted: usize,
    mailboxes: [Mailbox; 2],
    mutexes: [Mutex; 2],
) {
    let mut works: [Option<Activity>; 2] = [None, None];
    for question in &questions {
        if let Question::Test(mailbox) = *question
            && works[mailbox].is_none()
        {
            works[mailbox] = Some(mailboxes[mailbox].get_async().await);
        }
    }
    let mut told = Vec::new();
    while told.len() < wanted {
        for (position, question) in questions.iter().enumerate() {
            if told.contains(&position) {
                continue;
            }
            let yes = match *question {
                Question::Test(mailbox) => match &works[mailbox] {
                    Some(work) => work.test().await,
                    None => false,
                },
                Question::Probe(mailbox) => mailboxes[mailbox].probe().await,
                Question::TryLock(mutex) => {
                    let yes = mutexes[mutex].try_lock().await;
                    if yes {
                        mutexes[mutex].unlock().await;
                    }
                    yes
                }
            };
            if yes {
                told.push(position);
                TOLD.with_borrow_mut(|all| all[me].push(position));
            }
            if told.len() == wanted {
                break;
            }
        }
    }
    // Nothing is dropped before its end.
    for work in works.into_iter().flatten() {
        work.wait().await.ok();
    }
}

fn stepper(roles: &[Role]) -> Stepper {
    let roles = roles.to_vec();
    Stepper::on_one_host(move |simulation| {
        TOLD.with_borrow_mut(|told| *told = vec![Vec::new(); roles.len()]);
        let mailboxes = [(); 2].map(|()| simulation.new_mailbox());
        let mutexes = [(); 2].map(|()| simulation.new_mutex());
        for (me, role) in roles.iter().enumerate() {
            let (mailboxes, mutexes) = (mailboxes.clone(), mutexes.clone());
            let role = role.clone();
            simulation.spawn_anonymous(0, move |_: Actor| async move {
                match role {
                    Role::Loop(questions, wanted) => {
                        ask(me, questions, wanted, mailboxes, mutexes).await;
                    }
                    Role::Send(to) => mailboxes[to].put_detached(1, 1.0).await,
                    Role::Hold(mutex) => {
                        mutexes[mutex].lock().await;
                        mutexes[mutex].unlock().await;
                    }
                }
            });
        }
    })
}

type Outcome = (Vec<Vec<usize>>, End);

#[derive(Default)]
struct Observation(BTreeSet<TraceId>, BTreeSet<Outcome>);

impl Observer for Observation {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.0.insert(run.path.trace_id());
        self.1.insert((TOLD.with_borrow(Clone::clone), run.end));
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn search(roles: &[Role], reduction: Reduction) -> (Observation, Statistics) {
    let options = Options {
        reduction,
        executions_max: RUNS_MAX,
        depth_max: 200,
        ..Options::default()
    };
    let mut seen = Observation::default();
    let (statistics, broken) = explore(&mut stepper(roles), &options, &mut seen);
    assert_eq!(broken, None, "{reduction:?}: {roles:?}");
    assert_eq!(statistics.cut, 0, "every loop ends: {roles:?}");
    (seen, statistics)
}

#[test]
fn loops_over_several_questions_lose_no_order() {
    let programs = std::env::var_os("EXPLORE_PROGRAMS").map_or(150, |number| {
        number.to_string_lossy().parse().expect("a number")
    });
    let (mut judged, mut ends) = (0, BTreeSet::new());
    for number in 0..programs {
        let roles = program(number);
        let (judge, statistics) = search(&roles, Reduction::None);
        if !statistics.bounds.is_empty() {
            continue;
        }
        judged += 1;
        ends.extend(judge.1.iter().map(|(_, end)| *end));
        let (traces, _) = search(&roles, Reduction::Sleep);
        for reduction in [Reduction::Sleep, Reduction::Sdpor, Reduction::Odpor] {
            let (seen, statistics) = search(&roles, reduction);
            assert_eq!(seen.1, judge.1, "{number} {reduction:?}: {roles:?}");
            assert!(
                seen.0 == traces.0,
                "{number} {reduction:?}: {} of {}: {roles:?}",
                seen.0.len(),
                traces.0.len()
            );
            if reduction == Reduction::Odpor {
                let counts = (statistics.executions, statistics.sleep_set_blocked);
                assert_eq!(counts, (seen.0.len() as u64, 0), "{number}: {roles:?}");
            }
        }
    }
    assert!(judged > programs / 2, "{judged}");
    assert!(
        ends.contains(&End::Livelock) && ends.contains(&End::Finished),
        "{ends:?}"
    );
}

#[test]
fn a_loop_over_two_tests_goes_on_when_either_is_over_and_is_a_livelock_if_none_ever_is() {
    for (senders, verdict, kind) in [
        (vec![0], Verdict::Ok, None),
        (vec![1], Verdict::Ok, None),
        (vec![], Verdict::Found, Some("livelock")),
    ] {
        let mut roles = vec![Role::Loop(vec![Question::Probe(0), Question::Probe(1)], 1)];
        roles.extend(senders.into_iter().map(Role::Send));
        let report = check(stepper(&roles), &Options::default());
        assert_eq!(report.verdict, verdict, "{report:?}");
        let found = report.findings.first().map(|finding| finding.kind.name());
        assert_eq!(found, kind);
    }
}
