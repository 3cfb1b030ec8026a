//! Promise: ranks that only let time pass for ever are a livelock, by a bound; ranks that do so for
//! a while and then continue are no livelock.

use crate::common::{on_ranks, options};
use explore::{FindingKind, Options, Reduction, Verdict, check, replay_schedule};
use mpi::prelude::*;
use run::{MessageProtocol, explorable};
use sim_core::Stepper;

/// Rank 0 sleeps, as often as `sleeps` says or for ever, and then sends to rank 1.
fn program(sleeps: Option<u32>) -> Stepper {
    let program = on_ranks(move |world: Comm| async move {
        if world.rank() == 0 {
            let mut left = sleeps;
            while left != Some(0) {
                world.sleep(0.0).await;
                left = left.map(|left| left - 1);
            }
            world.send(&Buffer::zeroed(8), 1, 0).await?;
        } else {
            world.recv(&mut Buffer::zeroed(8), 0_usize, 0).await?;
        }
        Ok(())
    });
    explorable(program, 2, MessageProtocol::Eager)
}

#[test]
fn a_rank_that_sleeps_for_ever_is_a_livelock() {
    for reduction in [Reduction::Odpor, Reduction::None] {
        let report = check(program(None), &options(reduction));
        assert_eq!(report.verdict, Verdict::Found);
        assert!(!report.is_exhaustive());
        let finding = &report.findings[0];
        let FindingKind::Spinning(graph) = &finding.kind else {
            panic!("{}", finding.message);
        };
        assert_eq!(graph.blocked[0].waits_in, "sleep");
        assert!(
            finding.message.contains("idle_ranks.rs:"),
            "{}",
            finding.message
        );
        let is_named = finding
            .message
            .contains("rank 0 does nothing but yields, sleeps");
        assert!(is_named, "{}", finding.message);
        let again = replay_schedule(&mut program(None), &finding.replay).finding;
        assert_eq!(
            again.map(|again| again.message),
            Some(finding.message.clone())
        );
    }
}

#[test]
fn a_rank_that_sleeps_for_a_while_is_none() {
    let report = check(program(Some(500)), &Options::default());
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert!(report.is_exhaustive());
}
