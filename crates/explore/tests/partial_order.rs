//! Promise: the clocks and races of long runs equal the clocks and races that follow from the
//! definition, pair by pair.

use explore::{Played, Player};
use sim_core::{Stepper, Stream};

/// Rounds of each actor.
const ROUNDS: usize = 12;

/// Actors that share two mutexes, in pairs that overlap, and that are alone between.
fn neighbours(actors: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutexes: Vec<_> = (0..actors).map(|_| simulation.new_mutex()).collect();
        for actor in 0..actors {
            let (own, next) = (
                mutexes[actor].clone(),
                mutexes[(actor + 1) % actors].clone(),
            );
            simulation.spawn_anonymous(0, move |me| async move {
                for round in 0..ROUNDS {
                    let mutex = if round % 3 == 0 { &next } else { &own };
                    mutex.lock().await;
                    me.yield_now().await;
                    mutex.unlock().await;
                }
            });
        }
    })
}

/// Executes a run of random steps.
fn random_run(player: &mut Player, stream: &mut Stream) {
    player.restart();
    loop {
        let enabled_steps = player.enabled_steps();
        if enabled_steps.is_empty() {
            return;
        }
        let drawn = stream.below(enabled_steps.len() as u64);
        let enabled_step = enabled_steps[usize::try_from(drawn).expect("few steps")];
        assert!(matches!(
            player.take_step(enabled_step.actor, enabled_step.choice),
            Played::Event(_)
        ));
    }
}

/// Compares with the transitive closure of the pairs that depend on each other.
fn check(player: &Player) {
    let path = player.path();
    let events = path.events();
    let mut before = vec![vec![false; events.len()]; events.len()];
    for second in 0..events.len() {
        let mut races = Vec::new();
        for first in (0..second).rev() {
            let chained = (first + 1..second).any(|k| before[first][k] && before[k][second]);
            let direct = player.depend(&events[first], &events[second]);
            if direct && !chained && events[first].actor != events[second].actor {
                races.push(u32::try_from(first).expect("short"));
            }
            before[first][second] = direct || chained;
            assert_eq!(path.happens_before(first, second), before[first][second]);
        }
        assert_eq!(path.races(second), races, "of event {second}");
    }
}

#[test]
fn long_runs_have_the_clocks_of_the_definition() {
    for actors in [2, 3, 5] {
        let mut player = Player::new(neighbours(actors));
        let mut stream = Stream::new(actors as u64, "partial order");
        for _ in 0..5 {
            random_run(&mut player, &mut stream);
            assert!(player.path().len() > 64 + actors * 4);
            check(&player);
        }
    }
}
