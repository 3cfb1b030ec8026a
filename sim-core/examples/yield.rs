//! Two actors that let each other go first, each as often as the argument says.
//! `cargo xtask instructions` counts what one `yield` costs.

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
