//! Two actors that yield to each other; the argument is the number of yields of each actor. `cargo
//! xtask instructions` counts the instructions of one `yield`.

use sim_core::{Outcome, Simulation};

fn main() {
    let argument = std::env::args()
        .nth(1)
        .expect("an argument: number of yields of each actor");
    let count: u64 = argument.parse().expect("a number");
    let mut simulation = Simulation::with_constant_model(1);
    for _ in 0..2 {
        simulation.spawn_anonymous(0, move |me| async move {
            for _ in 0..count {
                me.yield_now().await;
            }
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}
