//! Promise: the simulated adapter meets all requirements: every case for adapters holds for two
//! ranks on it, without any deviation.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use crate::common::{ADAPTER_COSTS, DONE, ranks, verbs_settings};
use mpi::{Settings, prelude::*};
use rdma::conformance::{CASES, ConformanceCase, InMemoryChannel, Side};
use sim_core::Outcome;

/// Simulated time between two polls of a case, in seconds.
const PAUSE: f64 = 1e-6;

/// Limit of the simulated time of a case, in seconds, far above the need of any case. The longest
/// case exhausts its retries.
const LIMIT: f64 = 100.0;

/// Polls a side until the side has ended; simulated time passes between the polls.
async fn drive(world: &Comm, case: &ConformanceCase, side: &Side<'_>) {
    let mut run = pin!(case.side_future(side));
    let mut context = Context::from_waker(Waker::noop());
    while run.as_mut().poll(&mut context).is_pending() {
        assert!(world.wtime() < LIMIT, "{} has no end", case.name);
        world.sleep(PAUSE).await;
    }
}

#[test]
fn all_cases_hold_on_simulated_adapters() {
    for case in CASES {
        let (one, two) = InMemoryChannel::pair();
        let channels = Rc::new([one, two]);
        let run = ranks(2)
            .with_settings(Settings::new(1024))
            .with_verbs(verbs_settings(ADAPTER_COSTS))
            .run(move |world, notes| {
                let channels = Rc::clone(&channels);
                async move {
                    let adapter = world.adapter().expect("an adapter");
                    let channel = &channels[world.rank()];
                    let side = Side::new(&*adapter, channel, world.rank() == 0);
                    drive(&world, case, &side).await;
                    notes.add(&world, case.name);
                    DONE
                }
            });
        let outcome = &run.report.outcome;
        assert_eq!(*outcome, Outcome::Finished, "{}", case.name);
        assert_eq!(run.notes.len(), 2, "{}", case.name);
    }
}
