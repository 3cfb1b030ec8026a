//! A platform of actor programs: two hosts and a link between them that can be turned off.
//!
//! *Not modelled*: contention. Each activity takes a constant time.

use std::rc::Rc;

use sim_core::{
    ActivityId, Change, Constant, Control, End, LinkState, Resource, Simulation, Span, StartError,
    Time, Work,
};

/// Returns a simulation on two hosts.
pub fn two_hosts() -> Simulation {
    let names = vec!["host-0".to_owned(), "host-1".to_owned()];
    let model = Wired {
        constant: Constant::new(Span::from_micros(1.0), 1e9),
        on: true,
        failed: Vec::new(),
    };
    Simulation::new(Box::new(model), Rc::new(names), 0)
}

struct Wired {
    constant: Constant,
    on: bool,
    failed: Vec<ActivityId>,
}

impl Resource for Wired {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        let crosses = matches!(work, Work::Transfer { from, to, .. } if from != to);
        if crosses && !self.on {
            self.failed.push(activity);
            return Ok(());
        }
        self.constant.start(activity, work, now)
    }

    fn cancel(&mut self, activity: ActivityId, now: Time) {
        let before = self.failed.len();
        self.failed.retain(|&failed| failed != activity);
        if self.failed.len() == before {
            self.constant.cancel(activity, now);
        }
    }

    fn suspend(&mut self, activity: ActivityId, now: Time) {
        self.constant.suspend(activity, now);
    }

    fn resume(&mut self, activity: ActivityId, now: Time) {
        self.constant.resume(activity, now);
    }

    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        self.constant.update(activity, change, now);
    }

    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        self.constant.remaining(activity, now)
    }

    fn next_date(&mut self, now: Time) -> Option<Time> {
        self.constant.next_date(now)
    }

    fn control(&mut self, control: Control, _: Time) -> Result<(), StartError> {
        if let Control::Link { on, .. } = control {
            self.on = on;
        }
        Ok(())
    }

    fn link_by_name(&self, name: &str) -> Option<u32> {
        (name == "wire").then_some(0)
    }

    fn link_state(&self, _: u32) -> Option<LinkState> {
        Some(LinkState {
            on: self.on,
            bandwidth: 1e9,
            latency: Span::from_micros(1.0),
        })
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        let failed = std::mem::take(&mut self.failed).into_iter();
        ended.extend(failed.map(|activity| (activity, End::Failed)));
        self.constant.advance(now, ended);
    }
}
