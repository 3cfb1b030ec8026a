//! Promise: the dependency relation is correct. From random reachable states of random programs,
//! two steps that are called independent lead to the same state in both orders, and neither enables
//! or disables the other. Only steps that end or stop actors disable a step of another actor.

use std::collections::{BTreeMap, BTreeSet};

use explore::{Event, Played, Player};
use fuzz::actors::{self, Family};
use sim_core::{Executed, StepKind, Stream};

/// Pairs of kinds: how often they were dependent, and how often the order made a difference then.
type Cells = BTreeMap<(StepKind, StepKind), (u64, u64)>;

/// Returns the outcome of two steps, one after the other: their events and everything that can be
/// observed afterwards.
fn outcome(
    player: &mut Player,
    prefix: &[Event],
    pair: [&Event; 2],
) -> Option<([Event; 2], String)> {
    player.restart();
    let mut events = Vec::new();
    for step in prefix.iter().chain(pair) {
        match player.take_step(step.actor, step.choice) {
            Played::Event(event) => events.push(event),
            Played::Impossible | Played::Learnt => return None,
        }
    }
    let [.., first, second] = events[..] else {
        unreachable!("two steps were played")
    };
    let enabled_steps: BTreeSet<String> = player
        .enabled_steps()
        .iter()
        .map(|enabled_step| format!("{enabled_step:?}"))
        .collect();
    Some((
        [first, second],
        format!("{:?} {enabled_steps:?}", player.state_fingerprint()),
    ))
}

/// Returns true if a step is enabled after another one.
fn follows(player: &mut Player, prefix: &[Event], first: &Event, second: &Event) -> Option<bool> {
    player.restart();
    for step in prefix.iter().chain([first]) {
        if player.take_step(step.actor, step.choice) == Played::Learnt {
            return None;
        }
    }
    Some(
        player
            .enabled_steps()
            .iter()
            .any(|enabled_step| enabled_step.is_same_step(second)),
    )
}

/// A random state: the steps that lead there.
fn state(player: &mut Player, stream: &mut Stream) -> Option<Vec<Event>> {
    player.restart();
    let mut prefix = Vec::new();
    for _ in 0..stream.below(18) {
        let enabled_steps = player.enabled_steps();
        if enabled_steps.is_empty() {
            break;
        }
        let index = usize::try_from(stream.below(enabled_steps.len() as u64)).expect("few");
        match player.take_step(enabled_steps[index].actor, enabled_steps[index].choice) {
            Played::Event(event) => prefix.push(event),
            Played::Impossible | Played::Learnt => return None,
        }
    }
    Some(prefix)
}

fn look_at_pairs(player: &mut Player, prefix: &[Event], cells: &mut Cells) -> Option<()> {
    let enabled_steps = player.enabled_steps();
    for (position, first) in enabled_steps.iter().enumerate() {
        for second in &enabled_steps[position + 1..] {
            if first.actor == second.actor {
                continue;
            }
            look_at_pair(player, prefix, first, second, cells)?;
        }
    }
    Some(())
}

fn look_at_pair(
    player: &mut Player,
    prefix: &[Event],
    first: &Event,
    second: &Event,
    cells: &mut Cells,
) -> Option<()> {
    for (one, other) in [(first, second), (second, first)] {
        let stays = follows(player, prefix, one, other)?;
        let stops = matches!(
            one.kind,
            StepKind::Kill | StepKind::Suspend | StepKind::SwitchHost
        );
        // What fails on its way must still be there.
        let catches =
            matches!(other.kind, StepKind::SwitchHost | StepKind::Control) && other.choice > 0;
        assert!(
            stays || stops || catches,
            "{one:?} disables {other:?} after {prefix:?}"
        );
        if !stays {
            assert!(player.depend(one, other));
            return Some(());
        }
    }
    let ([a, b], forwards) = outcome(player, prefix, [first, second])?;
    let ([b_first, a_then], backwards) = outcome(player, prefix, [second, first])?;
    let differs = forwards != backwards;
    // What a step does besides is known when it has been taken.
    let independent = !player.depend(&a, &b) && !player.depend(&a_then, &b_first);
    if independent {
        assert!(
            !differs,
            "{a:?} and {b:?} after {prefix:?}:\n{forwards}\n{backwards}"
        );
        for (one, other) in [(&a, &a_then), (&b, &b_first)] {
            assert_eq!(
                (one.kind, one.object, one.detail),
                (other.kind, other.object, other.detail)
            );
        }
    } else if (a.effects | b.effects) & (Executed::HIDDEN | Executed::ALLOCATES) == 0 {
        let cell = (a.kind.min(b.kind), a.kind.max(b.kind));
        let (dependent, different) = cells.entry(cell).or_default();
        *dependent += 1;
        *different += u64::from(differs);
    }
    Some(())
}

/// Returns true if one step enables the other, or if only the owner of one mutex can take either
/// step; also for pairs that only devices have (`tests/devices.rs`).
fn never_both_possible(one: StepKind, other: StepKind) -> bool {
    use StepKind::{
        AsyncReceive, AsyncSend, BarrierAsyncLock, BarrierWait, Choose, CondvarAsyncLock, Deliver,
        Device, MutexUnlock, MutexWait, TestAnyEnded, TestEnded, Wait, WaitAny,
    };
    matches!(
        (one, other),
        (
            AsyncSend | AsyncReceive,
            Wait | WaitAny | TestEnded | TestAnyEnded
        ) | (MutexWait, MutexUnlock)
            | (MutexWait | MutexUnlock, CondvarAsyncLock)
            | (BarrierAsyncLock, BarrierWait)
            | (Device | Deliver, Device | Deliver | Choose)
    )
}

fn programs() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test may ask how much to do")]
    let value = std::env::var("EXPLORE_PROGRAMS");
    let asked: u64 = value.map_or(0, |text| text.parse().expect("a number"));
    // Fewer do not show every pair of kinds.
    asked.max(1_000)
}

#[test]
fn independent_steps_commute_and_dependent_ones_sometimes_do_not() {
    let mut cells = Cells::new();
    for number in 0..programs() {
        for family in Family::ALL {
            let program = actors::program(family, number + 100_000);
            let mut stream = Stream::new(number, "states");
            let mut player = Player::new(actors::stepper(&program));
            for _ in 0..6 {
                // What is learnt on the way changes what depends on what: the state is looked at
                // another time.
                if let Some(prefix) = state(&mut player, &mut stream) {
                    let _ = look_at_pairs(&mut player, &prefix, &mut cells);
                }
            }
        }
    }
    // Each pair of kinds of which the order matters was seen to matter, but for those that commute
    // in all that could be observed: two probes, and waits of different actors that ask for one
    // mutex again.
    let conservative: Vec<_> = cells
        .iter()
        .filter(|(_, (dependent, different))| *dependent > 20 && *different == 0)
        .map(|(cell, _)| *cell)
        .filter(|(one, other)| !explore::independence::is_conservative(*one, *other))
        .collect();
    assert!(
        conservative.is_empty(),
        "dependent and never seen to differ: {conservative:?}"
    );
    let seen: Vec<_> = cells.keys().collect();
    let unseen: Vec<_> = explore::independence::dependent_pairs()
        .filter(|pair| !seen.contains(&pair))
        .filter(|&(one, other)| !never_both_possible(one, other))
        .collect();
    assert!(unseen.is_empty(), "never seen: {unseen:?}");
}
