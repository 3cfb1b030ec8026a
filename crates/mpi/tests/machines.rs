//! Promise: every transition of the tables is needed. The traffic of this file takes all of them; a
//! transition that is not taken would be superfluous, or an untested case.

use std::rc::Rc;

use mpi::{Limits, PostingCost, Settings, machine};
use testing::ranks::exchange::{FEW, WAYS, everything, slow};
use testing::ranks::{Order, Outcome, world};

/// Returns limits from no limit at all to very few resources.
fn all_limits() -> Vec<Limits> {
    let few = |buffers, credits, reserved| Limits {
        buffers,
        credits,
        reserved,
        ..FEW
    };
    let mut all = vec![
        Limits::NONE,
        FEW,
        few(None, Some(6), 2),
        few(Some(1), Some(3), 1),
        few(Some(1), None, 2),
        few(Some(2), Some(8), 2),
        few(Some(6), Some(20), 4),
        Limits {
            packet: Some(60),
            ..Limits::NONE
        },
    ];
    for limits in all.clone() {
        for (unexpected, direct, batch) in
            [(None, false, 1), (Some(0), true, 2), (Some(60), false, 3)]
        {
            all.push(Limits {
                unexpected,
                direct,
                batch,
                ..limits.clone()
            });
        }
    }
    all
}

fn busy(limits: &Limits, seed: u64) -> Outcome {
    let lengths = Rc::new(vec![150, 90, 5, 70, 250, 30, 5]);
    let when = WAYS[usize::try_from(seed).expect("small") % 4];
    let slow = slow(limits.clone());
    let mut settings = Settings {
        acknowledged_ssend: seed.is_multiple_of(2),
        ..slow
    };
    if !seed.is_multiple_of(3) {
        (settings.copy_bandwidth, settings.posting) = (f64::INFINITY, PostingCost::default());
    }
    let world = world(3).settings(settings).order(Order::Seeded(seed));
    let program = move |world| everything(world, Rc::clone(&lengths), when);
    world.run(program).finished().settled(limits)
}

/// E1.
#[test]
fn e1_every_transition_is_taken() {
    let machines = machine::all_machines();
    let mut taken: Vec<Vec<u64>> = machines
        .iter()
        .map(|machine| vec![0; machine.transitions.len()])
        .collect();
    for limits in &all_limits() {
        for seed in 1..13 {
            let outcome = busy(limits, seed);
            for report in outcome.flow.iter().flatten() {
                let found = [
                    &report.taken.send,
                    &report.taken.receive,
                    &report.taken.credits,
                ];
                for (sum, found) in taken.iter_mut().zip(found) {
                    for (sum, found) in sum.iter_mut().zip(found) {
                        *sum += found;
                    }
                }
            }
        }
    }
    let mut never = Vec::new();
    for (machine, taken) in machines.iter().zip(&taken) {
        for (transition, count) in machine.transitions.iter().zip(taken) {
            if *count == 0 {
                let (from, label) = (&transition.from, transition.label());
                never.push(format!("{}: {from}: {label}", machine.name));
            }
        }
    }
    assert!(never.is_empty(), "never taken:\n  {}", never.join("\n  "));
}
