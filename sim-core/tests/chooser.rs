//! Tests that the chooser and the clock are independent options of one kernel.

use crate::program;
use proptest::prelude::*;
use sim_core::{
    Actor, Choice, Chooser, Clock, EnabledTransition, HostId, Outcome, Replay, Report, Schedule,
    Simulation, Span, Time, Transition,
};

/// Runs with a chooser and keeps the schedule.
fn chosen(mut simulation: Simulation, chooser: impl Chooser + 'static) -> Report {
    simulation.set_chooser(Box::new(chooser));
    simulation.record_schedule();
    simulation.run()
}

/// Runs a plain simulation and records the schedule.
fn plain(mut simulation: Simulation) -> Report {
    simulation.record_schedule();
    simulation.run()
}

fn replay(report: &Report) -> Replay {
    Replay::new(report.schedule.clone().expect("it was recorded"))
}

/// Takes the last branch of the candidate that became runnable last.
struct Last;

impl Chooser for Last {
    fn choose(&mut self, candidates: &[EnabledTransition]) -> Option<Choice> {
        let last = candidates.last().expect("never empty");
        Some(Choice {
            actor: last.actor,
            branch: last.branches - 1,
        })
    }
}

proptest! {
    #![proptest_config(program::cases(600))]

    /// A replayed plain run is the same run, for any outcome.
    #[test]
    fn a_plain_run_replays_with_the_same_digest(programs in program::programs()) {
        for clock in [Clock::Timed, Clock::Untimed] {
            let build = || {
                let mut simulation = program::simulation(&programs);
                simulation.set_clock(clock);
                simulation
            };
            let first = plain(build());
            prop_assert!(!matches!(first.outcome, Outcome::Failed(_)), "{:?}", first.outcome);
            prop_assert_eq!(&first, &chosen(build(), replay(&first)));
        }
    }

    /// So is a run that a chooser made.
    #[test]
    fn a_chosen_run_replays_with_the_same_digest(programs in program::programs()) {
        for clock in [Clock::Timed, Clock::Untimed] {
            let build = || {
                let mut simulation = program::simulation(&programs);
                simulation.set_clock(clock);
                simulation
            };
            let first = chosen(build(), Last);
            prop_assert!(!matches!(first.outcome, Outcome::Failed(_)), "{:?}", first.outcome);
            prop_assert_eq!(&first, &chosen(build(), replay(&first)));
        }
    }
}

fn two_puts() -> Simulation {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    for word in [1, 2] {
        let mailbox = mailbox.clone();
        simulation.spawn_anonymous(0, move |_| async move { mailbox.put(word, 1.0).await });
    }
    simulation.spawn("receiver", 0, |_| async move {
        let first = mailbox.get().await.expect("put").word();
        mailbox.get().await.expect("put");
        first
            .filter(|&word| word == 1)
            .map(drop)
            .ok_or("the second put came first")
    });
    simulation
}

#[test]
fn another_choice_is_another_order() {
    let (first, last) = (plain(two_puts()), chosen(two_puts(), Last));
    assert_eq!(first.outcome, Outcome::Finished);
    let Outcome::Failed(failure) = &last.outcome else {
        panic!("{:?}", last.outcome)
    };
    assert_eq!(failure.message, "the second put came first");
    assert_ne!(first.digest, last.digest);
}

#[test]
fn a_schedule_can_be_written_down_and_read_back() {
    let first = plain(two_puts());
    // Both sends; the receive; at 1 µs the first put and the get are over, and the second get; at 2
    // µs its ends.
    let text = first.schedule.as_ref().unwrap().to_string();
    assert_eq!(text, "1;2;3;1;3;3;2;3");
    let schedule: Schedule = text.parse().unwrap();
    assert_eq!(
        chosen(two_puts(), Replay::new(schedule)).digest,
        first.digest
    );
}

#[test]
fn an_impossible_step_stops_the_replay() {
    // The third actor, whose get is posted first, cannot continue to wait: nothing has been put.
    for text in ["3;3", "9", "1/1", ""] {
        let schedule: Schedule = text.parse().unwrap();
        let report = chosen(two_puts(), Replay::new(schedule));
        assert_eq!(report.outcome, Outcome::Stopped, "{text}");
    }
}

#[test]
#[should_panic(expected = "which is not possible")]
fn a_chooser_that_picks_what_is_not_possible_is_broken() {
    struct Broken;
    impl Chooser for Broken {
        fn choose(&mut self, _: &[EnabledTransition]) -> Option<Choice> {
            let actor = sim_core::ActorId::from_number(1);
            Some(Choice { actor, branch: 7 })
        }
    }
    let _ = chosen(two_puts(), Broken);
}

#[test]
fn draws_are_branches() {
    fn draws() -> Simulation {
        let mut simulation = Simulation::with_constant_model(1);
        simulation.spawn_anonymous(0, |me| async move {
            let draws = [me.random(3).await, me.random(2).await];
            if draws == [2, 1] {
                Err("the last of all")
            } else {
                Ok(())
            }
        });
        simulation
    }
    struct Watch;
    impl Chooser for Watch {
        fn choose(&mut self, candidates: &[EnabledTransition]) -> Option<Choice> {
            let [only] = candidates else {
                panic!("one actor")
            };
            let Transition::Random { limit } = only.transition else {
                panic!("{only:?}")
            };
            assert_eq!(only.branches, limit);
            Last.choose(candidates)
        }
    }
    let last = chosen(draws(), Watch);
    assert!(matches!(last.outcome, Outcome::Failed(_)));
    assert_eq!(last.schedule.unwrap().to_string(), "1/2;1/1");
    // What a plain run drew is in its schedule.
    let first = plain(draws());
    assert_eq!(chosen(draws(), replay(&first)).digest, first.digest);
}

#[test]
fn the_members_of_a_wait_any_that_are_over_are_branches() {
    fn race() -> Simulation {
        let mut simulation = Simulation::with_constant_model(1);
        simulation.spawn_anonymous(0, |me| async move {
            let works = [2e9, 1e9, 1e9].map(|flops| me.start_execution(flops));
            me.sleep(Span::from_secs(1.5)).await;
            let [a, b, c] = &works;
            me.wait_any(&[a, b, c]).await;
        });
        simulation
    }
    assert_eq!(plain(race()).schedule.unwrap().to_string(), "1;1");
    assert_eq!(chosen(race(), Last).schedule.unwrap().to_string(), "1;1/1");
}

#[test]
fn untimed_neither_sleeping_nor_computing_does_anything() {
    fn program(sleep: f64) -> Report {
        let mut simulation = Simulation::with_constant_model(2);
        simulation.set_clock(Clock::Untimed);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        simulation.spawn_anonymous(0, move |me| async move {
            me.sleep(Span::from_secs(sleep)).await;
            me.execute(sleep * 1e9).await.unwrap();
            mailbox.put(1, 1.0).await.unwrap();
            assert_eq!(me.now(), Time::ZERO);
        });
        simulation.spawn_anonymous(1, move |_| async move {
            // No timeout expires.
            same.get_timeout(Span::ZERO).await.map(drop)
        });
        simulation.run()
    }
    let (short, long) = (program(1.0), program(100.0));
    assert_eq!(short.outcome, Outcome::Finished);
    assert_eq!(short.time, Time::ZERO);
    // Dates are left out of the digest.
    assert_eq!(short.digest, long.digest);
}

#[test]
fn timed_the_choice_is_among_what_is_runnable_at_one_date() {
    fn sleepers() -> Simulation {
        let mut simulation = Simulation::with_constant_model(1);
        for delay in [1.0, 2.0] {
            simulation.spawn_anonymous(0, move |me| async move {
                me.sleep(Span::from_secs(delay)).await;
                assert_eq!(me.now(), Time::from_secs(delay));
            });
        }
        simulation
    }
    // The last candidate at 1 s is the only one.
    let report = chosen(sleepers(), Last);
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.digest, plain(sleepers()).digest);
}

#[test]
fn what_stops_an_actor_stops_it_under_a_chooser_too() {
    fn program() -> Simulation {
        let mut simulation = Simulation::with_constant_model(1);
        simulation.spawn("kills itself", 0, |me| async move {
            me.kill().await;
            panic!("it continued");
        });
        let suspended = simulation.spawn("suspends itself", 0, |me| async move {
            me.suspend().await;
            assert_eq!(me.now(), Time::from_secs(1.0));
        });
        simulation.spawn("resumes", 0, |me| async move {
            let victim = me
                .spawn("victim", HostId(0), |me: Actor| async move {
                    me.sleep(Span::from_secs(9.0)).await;
                })
                .await;
            me.sleep(Span::from_secs(1.0)).await;
            victim.kill().await;
            assert!(victim.has_ended());
            suspended.resume().await;
        });
        simulation
    }
    assert_eq!(plain(program()).outcome, Outcome::Finished);
    let last = chosen(program(), Last);
    assert_eq!(last.outcome, Outcome::Finished, "{last:?}");
    assert_eq!(last.time, Time::from_secs(1.0));
}

#[test]
fn a_chosen_run_of_an_actor_with_several_operations_replays() {
    fn program() -> Simulation {
        let mut simulation = Simulation::with_constant_model(1);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        simulation.spawn_anonymous(0, |me| async move {
            let puts = futures::future::join(mailbox.put(1, 1.0), mailbox.put(2, 1.0));
            let (puts, draw) = futures::future::join(puts, me.random(3)).await;
            puts.0.unwrap();
            puts.1.unwrap();
            assert!(draw < 3);
        });
        simulation.spawn_anonymous(0, |_| async move {
            same.get().await.unwrap();
            same.get().await.map(drop)
        });
        simulation
    }
    assert_eq!(plain(program()).outcome, Outcome::Finished);
    let last = chosen(program(), Last);
    assert_eq!(last.outcome, Outcome::Finished);
    assert_eq!(chosen(program(), replay(&last)), last);
}
