//! Promise: a model without activities is not called at the dates of others, and this changes
//! neither dates nor digests.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use platform::{HostNames, Platform};
use sim_core::{
    ActivityId, Change, Digest, End, Outcome, Resource, Simulation, Span, StartError, Time, Work,
};

const PLATFORM: &str = r#"
version = 1
[hosts.a]
speed = "1Gf"
"#;

/// A model that counts questions about events, and may deny to be idle.
struct Counted {
    inner: Box<dyn Resource>,
    questions: Rc<Cell<u32>>,
    is_honest: bool,
}

impl Counted {
    fn count(&self) {
        self.questions.set(self.questions.get() + 1);
    }
}

impl Resource for Counted {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        self.inner.start(activity, work, now)
    }
    fn cancel(&mut self, activity: ActivityId, now: Time) {
        self.inner.cancel(activity, now);
    }
    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
        self.inner.set_suspended(activity, suspended, now);
    }
    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        self.inner.update(activity, change, now);
    }
    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        self.inner.remaining(activity, now)
    }
    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        self.count();
        self.inner.next_event(now, horizon)
    }
    fn is_idle(&self) -> bool {
        self.is_honest && self.inner.is_idle()
    }
    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        self.count();
        self.inner.advance(now, ended)
    }
}

/// Sleeps for 1000 times 1 ms, computes for 1 s, and sleeps as before; the end, the digest and the
/// number of questions.
fn sleep_and_compute(is_honest: bool) -> (Time, Digest, u32) {
    let platform = Platform::parse("p.toml", PLATFORM).unwrap_or_else(|error| panic!("{error}"));
    let platform = Arc::new(platform);
    let questions = Rc::new(Cell::new(0));
    let model = Counted {
        inner: models::model(Arc::clone(&platform)),
        questions: Rc::clone(&questions),
        is_honest,
    };
    let mut simulation = Simulation::new(Box::new(model), Rc::new(HostNames(platform)), 0);
    simulation.spawn("actor", 0, |me| async move {
        for flops in [1e9, 0.0] {
            for _ in 0..1000 {
                me.sleep(Span::from_secs(1e-3)).await;
            }
            me.execute(flops).await.expect("the host stays on");
        }
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    (report.time, report.digest, questions.get())
}

#[test]
fn sleeping_actors_do_not_ask_the_model() {
    let (end, digest, questions) = sleep_and_compute(true);
    let (same_end, same_digest, all_questions) = sleep_and_compute(false);
    assert!((end.as_secs() - 3.0).abs() < 1e-12, "{end}");
    assert_eq!((end, digest), (same_end, same_digest));
    // Two for each date, of which only those of the computations have activities.
    assert!(questions <= 10, "{questions} questions");
    assert!(all_questions >= 4000, "{all_questions} questions");
}
