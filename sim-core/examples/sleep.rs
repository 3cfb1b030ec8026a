//! 30 000 actors that sleep random times below 1 s; the argument is the number of sleeps of each
//! actor. `cargo xtask instructions` counts the instructions of one sleep, where a cost that grows
//! with the number of timers shows.

use sim_core::{Outcome, Simulation, Span, Stream};

const ACTORS: u32 = 30_000;

fn main() {
    let argument = std::env::args()
        .nth(1)
        .expect("an argument: number of sleeps of each actor");
    let count: u64 = argument.parse().expect("a number");
    let mut simulation = Simulation::with_constant_model(1);
    for actor in 0..ACTORS {
        simulation.spawn_anonymous(0, move |me| async move {
            let mut stream = Stream::new(u64::from(actor), "sleep");
            for _ in 0..count {
                me.sleep(Span::from_secs(stream.uniform())).await;
            }
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}
