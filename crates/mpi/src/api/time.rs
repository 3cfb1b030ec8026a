//! Calls in which time passes: computation, sleep, and waits for an adapter.
//!
//! *Not modelled* here: the time of a computation, which the device decides.

use observe::SourceLocation;
use std::future::Future;
use std::rc::Rc;

use rdma::Verbs;

use crate::channel::{Channel, Token};
use crate::protocol::engine::OperationState;
use crate::protocol::waiting::Waits;
use crate::{Comm, Request};

/// Computation and sleep.
pub trait TimeControl: AsRef<Comm> {
    /// Sleeps for this many seconds; messages continue to arrive.
    ///
    /// # Panics
    /// If `seconds` is negative or not a number.
    #[track_caller]
    fn sleep(&self, seconds: f64) -> impl Future<Output = ()> + '_ {
        assert!(
            seconds >= 0.0,
            "a duration must be at least 0 s, not {seconds}"
        );
        let call = ("sleep", SourceLocation::caller());
        elapse(self.as_ref(), call, move |channel, token| {
            channel.timer(seconds, token);
        })
    }

    /// Computes this many flop on the rank's host; messages continue to arrive.
    ///
    /// # Panics
    /// If `flops` is negative or not finite.
    #[track_caller]
    fn compute(&self, flops: f64) -> impl Future<Output = ()> + '_ {
        assert!(
            flops >= 0.0 && flops.is_finite(),
            "an amount of flop must be finite and at least 0, not {flops}"
        );
        let call = ("compute", SourceLocation::caller());
        elapse(self.as_ref(), call, move |channel, token| {
            channel.compute(flops, token);
        })
    }

    /// Computes for this many seconds, whatever the speed of the rank's host and the number of
    /// ranks on its processors; messages continue to arrive. Use this call to replay measured times
    /// of a computation.
    ///
    /// # Panics
    /// If `seconds` is negative or not a number.
    #[track_caller]
    fn compute_for(&self, seconds: f64) -> impl Future<Output = ()> + '_ {
        assert!(
            seconds >= 0.0,
            "a duration must be at least 0 s, not {seconds}"
        );
        let call = ("compute", SourceLocation::caller());
        elapse(self.as_ref(), call, move |channel, token| {
            channel.timer(seconds, token);
        })
    }
}

impl TimeControl for Comm {}

impl Comm {
    /// Returns the rank's adapter, for programs that use queue pairs themselves; `None` without an
    /// adapter. `device = "verbs"` in the platform file or `--backend verbs` gives one.
    ///
    /// The message layer uses the same adapter, with separate queue pairs and completion queues;
    /// the program gets no events of these objects.
    #[must_use]
    pub fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        self.process().channel().adapter()
    }

    /// Waits until a completion or a packet may have arrived at the [adapter](Self::adapter).
    ///
    /// Loops that poll a completion queue or memory await this event: in a simulation the adapter
    /// does not change before. On real adapters the call returns at once, and the loop spins.
    #[track_caller]
    pub fn adapter_event(&self) -> impl Future<Output = ()> + '_ {
        let call = ("adapter_event", SourceLocation::caller());
        elapse(self, call, |channel, token| channel.watch_adapter(token))
    }
}

/// Waits for the end of an operation that only takes time.
async fn elapse(
    comm: &Comm,
    (name, location): (&'static str, SourceLocation),
    start: impl FnOnce(&dyn Channel, Token),
) {
    let begun = comm.process().begun();
    comm.process().wait_until_idle(name, location).await;
    let token = comm.process().with_engine(|engine, _| {
        let requests = &mut engine.requests;
        let token = requests.insert(OperationState::Elapsing, location);
        // Now, since a device may let the time pass before it returns.
        requests.observe_wait(Waits::Named(name, token), false, location);
        token
    });
    start(comm.process().channel(), token);
    let mut request = Request::new(comm, token);
    let _ = request.wait_in(name, location).await;
    comm.process().forget_begun(begun);
}
