//! In an untimed run time stands still; a program that reads the time gets one warning.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use sim_core::{ActorId, Clock, Console, Level, LogLine, Outcome, Simulation, Span};

#[derive(Default)]
struct Lines(RefCell<Vec<String>>);

impl Console for Lines {
    fn print(&self, _: ActorId, _: fmt::Arguments<'_>) {}
    fn wants(&self, level: Level, _: ActorId) -> bool {
        level <= Level::Warn
    }
    fn log(&self, line: &LogLine<'_>) {
        self.0
            .borrow_mut()
            .push(format!("{:?}: {}", line.level, line.text));
    }
}

fn warnings(clock: Clock) -> Vec<String> {
    let lines = Rc::new(Lines::default());
    let mut simulation = Simulation::with_constant_model(1);
    simulation.set_clock(clock);
    simulation.set_console(lines.clone());
    for _ in 0..2 {
        simulation.spawn_anonymous(0, move |me| async move {
            me.sleep(Span::from_secs(1.0)).await;
            let expected = if clock == Clock::Timed { 1.0 } else { 0.0 };
            assert_eq!(
                (me.now().as_secs(), me.now().as_secs()),
                (expected, expected)
            );
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    lines.0.take()
}

#[test]
fn the_time_of_an_untimed_run_is_0_with_a_warning() {
    let expected = "Warn: the program reads the clock, which is always 0 in this untimed run";
    assert_eq!(warnings(Clock::Untimed), [expected]);
    assert!(warnings(Clock::Timed).is_empty());
}
