//! Promise: actors that from some step on only yield or sleep are a livelock, by a bound. Possible
//! steps of other actors are explored before. A loop that ends is no livelock.

use explore::{Deadline, minimise, replay_schedule, shortest};
use explore::{FindingKind, Options, Reduction, Report, SPINNING_STEPS, Verdict, check};
use sim_core::{Actor, Schedule, Span, Stepper};

/// Enough for two actors that spin, and less than the default depth of a search.
const DEPTH: usize = 4 * SPINNING_STEPS;

async fn idle(me: &Actor, yields: bool) {
    if yields {
        me.yield_now().await;
    } else {
        me.sleep(Span::ZERO).await;
    }
}

/// One actor spins, the other gets a message that a third one sends, and ends.
fn one_spins(yields: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mailbox = simulation.new_mailbox();
        let from = mailbox.clone();
        simulation.spawn("spinner", 0, move |me| async move {
            loop {
                idle(&me, yields).await;
            }
        });
        simulation.spawn("sender", 0, move |_| async move {
            mailbox.put(1, 8.0).await.expect("it is received");
        });
        simulation.spawn("receiver", 0, move |_| async move {
            from.get().await.expect("it is sent");
        });
    })
}

fn two_spin() -> Stepper {
    Stepper::on_one_host(|simulation| {
        for yields in [true, false] {
            simulation.spawn_anonymous(0, move |me| async move {
                loop {
                    idle(&me, yields).await;
                }
            });
        }
    })
}

/// An actor idles so often, and then fails if `fails`.
fn idles(times: usize, fails: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        simulation.spawn("idler", 0, move |me| async move {
            for _ in 0..times {
                me.yield_now().await;
            }
            assert!(!fails, "after its loop");
        });
    })
}

fn explored(stepper: Stepper, reduction: Reduction) -> Report {
    let options = Options {
        reduction,
        depth_max: DEPTH,
        findings_max: 1,
        goes_on: false,
        ..Options::default()
    };
    check(stepper, &options)
}

const REDUCTIONS: [Reduction; 4] = [
    Reduction::Odpor,
    Reduction::Sdpor,
    Reduction::Sleep,
    Reduction::None,
];

#[test]
fn an_actor_that_spins_is_a_livelock() {
    for yields in [true, false] {
        for reduction in REDUCTIONS {
            let report = explored(one_spins(yields), reduction);
            assert_eq!(report.verdict, Verdict::Found, "{reduction:?}");
            assert!(!report.is_exhaustive());
            let finding = &report.findings[0];
            assert_eq!(finding.kind.name(), "livelock");
            let FindingKind::Spinning(graph) = &finding.kind else {
                panic!("{}", finding.message);
            };
            // The others have ended, so what they could do was seen.
            let [spinner] = &graph.blocked[..] else {
                panic!("{graph}");
            };
            let call = if yields { "a yield" } else { "a sleep" };
            assert_eq!(spinner.waits_in, call);
            assert!(spinner.location.contains("spinning.rs:"), "{graph}");
            let text = &finding.message;
            assert!(text.contains("spinner does nothing but"), "{text}");
            assert!(text.contains("found by a bound, not proven"), "{text}");
        }
    }
}

#[test]
fn two_that_spin_get_their_turns() {
    for reduction in REDUCTIONS {
        let report = explored(two_spin(), reduction);
        let finding = &report.findings[0];
        assert!(matches!(finding.kind, FindingKind::Spinning(_)));
        let text = &finding.message;
        assert!(text.contains("actor-1, actor-2 do nothing"), "{text}");
        let bound = SPINNING_STEPS;
        assert_eq!(finding.replay.to_string(), format!("1*{bound};2*{bound}"));
    }
}

#[test]
fn a_livelock_by_a_bound_is_minimised_and_followed() {
    let mut stepper = one_spins(true);
    let report = explored(one_spins(true), Reduction::Odpor);
    let finding = minimise(&mut stepper, &report.findings[0], &Deadline::default());
    let shortest = shortest(&mut stepper, &finding, 100_000, &Deadline::default());
    let schedule = &shortest.finding.replay;
    assert!(schedule.0.len() < SPINNING_STEPS + 10, "{schedule}");
    let written = schedule.to_string();
    assert!(written.len() < 40, "{written}");
    let read: Schedule = written.parse().expect("it was written so");
    let again = replay_schedule(&mut one_spins(true), &read).finding;
    let again = again.expect("the same happens again");
    assert_eq!(again.message, report.findings[0].message);
    // One step less is not enough.
    let less = Schedule(read.0[..read.0.len() - 1].to_vec());
    assert!(
        replay_schedule(&mut one_spins(true), &less)
            .finding
            .is_none()
    );
}

#[test]
fn a_loop_that_ends_is_none() {
    for times in [500, 3 * SPINNING_STEPS] {
        let report = explored(idles(times, false), Reduction::Odpor);
        assert_eq!(report.verdict, Verdict::Ok, "{times}: {report:?}");
        assert!(report.is_exhaustive());
        let report = explored(idles(times, true), Reduction::Odpor);
        assert_eq!(report.findings[0].kind.name(), "panic");
    }
    // Where the greatest depth cuts it before, nothing is known.
    let short = Options {
        depth_max: SPINNING_STEPS - 1,
        ..Options::default()
    };
    let report = check(idles(usize::MAX, false), &short);
    assert_eq!(report.verdict, Verdict::Bounded);
}
