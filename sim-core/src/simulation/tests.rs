//! A limit of simulated time where time stands still.

use super::*;
use crate::Span;

/// A run up to 1 s of an actor that continues for ever at the date 0, and of one that locks and
/// unlocks a mutex.
fn up_to_one_second(sleeps: bool) -> Report {
    let mut simulation = Simulation::with_constant_model(1);
    let mutex = simulation.new_mutex();
    simulation.set_until(Time::from_secs(1.0));
    simulation.spawn_anonymous(0, move |me| async move {
        loop {
            if sleeps {
                me.sleep(Span::ZERO).await;
            } else {
                mutex.lock().await;
                me.yield_now().await;
                mutex.unlock().await;
            }
        }
    });
    simulation.run()
}

#[test]
fn a_limit_of_time_holds_where_time_stands_still() {
    for sleeps in [false, true] {
        let report = up_to_one_second(sleeps);
        let Outcome::Limit(Limit::Standstill(polls)) = report.outcome else {
            panic!("{report:?}");
        };
        assert!(polls > STANDSTILL.0 && polls < 2 * STANDSTILL.0, "{polls}");
        assert_eq!(report.time, Time::ZERO);
    }
}
