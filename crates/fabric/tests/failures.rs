//! Promise: a host or a link that goes off under a message or a computation ends the run as a
//! rank's failure.

use std::rc::Rc;

use crate::common::process::processes;
use fabric::{Fabric, Flow};
use mpi::{Settings, prelude::*};
use sim_core::{ActivityId, Change, End, Outcome, Resource, Simulation, StartError, Time, Work};

/// A resource on which every activity fails one second after its start.
#[derive(Default)]
struct Doomed(Vec<(Time, ActivityId)>);

impl Resource for Doomed {
    fn start(&mut self, activity: ActivityId, _: &Work, now: Time) -> Result<(), StartError> {
        self.0
            .push((now + sim_core::Span::from_secs(1.0), activity));
        Ok(())
    }
    fn cancel(&mut self, activity: ActivityId, _: Time) {
        self.0.retain(|entry| entry.1 != activity);
    }
    fn set_suspended(&mut self, _: ActivityId, _: bool, _: Time) {}
    fn update(&mut self, _: ActivityId, _: Change, _: Time) {}
    fn remaining(&mut self, _: ActivityId, _: Time) -> f64 {
        0.0
    }
    fn next_event(&mut self, _: Time, _: Time) -> Option<Time> {
        self.0.iter().map(|entry| entry.0).min()
    }
    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        ended.extend(
            self.0
                .extract_if(.., |entry| entry.0 <= now)
                .map(|entry| (entry.1, End::Failed)),
        );
        false
    }
}

fn outcome<Fut: Future<Output = Result<()>> + 'static>(program: fn(Comm) -> Fut) -> String {
    let names: Vec<String> = vec!["a".into(), "b".into()];
    let mut simulation = Simulation::new(Box::new(Doomed::default()), Rc::new(names), 0);
    simulation.set_default_name(|actor| format!("rank {}", actor.number() - 1));
    let flow = Flow::new(simulation.port(), 2, Settings::new(10));
    let processes = processes(&(flow as Rc<dyn Fabric>), 2);
    for (host, process) in (0..).zip(&processes) {
        let program = program(process.world());
        simulation.spawn_anonymous(host, |_| program);
    }
    match simulation.run().outcome {
        Outcome::Failed(failure) => failure.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_whose_way_goes_off() {
    for length in [1, 10] {
        let failure = match length {
            1 => outcome(|world| exchange(world, 1)),
            _ => outcome(|world| exchange(world, 10)),
        };
        let expected = "rank 0 on host a failed at 1 s: message to rank 1 failed: \
                        host or link failure on the route";
        assert_eq!(failure, expected);
    }
}

async fn exchange(world: Comm, length: u64) -> Result<()> {
    let mut buffer = world.buffer(length);
    if world.rank() == 0 {
        world.send(&buffer, 1, 0).await
    } else {
        world.recv(&mut buffer, 0, 0).await.map(drop)
    }
}

#[test]
fn a_computation_whose_host_goes_off() {
    let failure = outcome(|world| async move {
        world.compute(1.0).await;
        Ok(())
    });
    assert_eq!(
        failure,
        "rank 0 on host a failed at 1 s: computation failed: host failure"
    );
}
