//! A platform of actor programs: two hosts and a link between them that can be turned off.
//!
//! *Not modelled*: contention. Each activity takes a constant time.

use std::rc::Rc;

use sim_core::{
    ActivityId, Change, Constant, Control, Controllable, End, LinkState, Resource, Simulation,
    Span, StartError, Time, Work,
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

    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
        self.constant.set_suspended(activity, suspended, now);
    }

    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        self.constant.update(activity, change, now);
    }

    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        self.constant.remaining(activity, now)
    }

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        self.constant.next_event(now, horizon)
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        let failed = std::mem::take(&mut self.failed).into_iter();
        ended.extend(failed.map(|activity| (activity, End::Failed)));
        self.constant.advance(now, ended)
    }

    fn as_controllable(&mut self) -> Option<&mut dyn Controllable> {
        Some(self)
    }
}

impl Controllable for Wired {
    fn control(&mut self, control: Control, _: Time) -> Result<(), StartError> {
        match control {
            Control::Host { .. } => return Err(control.refusal_error()),
            Control::Link { on, .. } => self.on = on,
            _ => {}
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
}
