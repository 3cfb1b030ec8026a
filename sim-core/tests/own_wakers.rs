//! Tests that an operation wakes the waker with which the operation was polled, and that a
//! simulation that never runs frees its memory.

use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use sim_core::{Outcome, Simulation, Span};

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls `inner` only after a call of its own waker, as the combinators of other crates do.
struct Patient<F> {
    inner: F,
    count: Arc<Count>,
    seen: Option<u32>,
}

impl<F: Future + Unpin> Future for Patient<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<F::Output> {
        let woken = self.count.0.load(Ordering::Relaxed);
        if self.seen == Some(woken) {
            return Poll::Pending;
        }
        self.seen = Some(woken);
        let waker = Waker::from(Arc::clone(&self.count));
        Pin::new(&mut self.inner).poll(&mut Context::from_waker(&waker))
    }
}

#[test]
fn an_operation_wakes_the_waker_that_it_was_polled_with() {
    let mut simulation = Simulation::with_constant_model(1);
    let count = Arc::new(Count::default());
    let same = Arc::clone(&count);
    simulation.spawn_anonymous(0, |me| async move {
        for _ in 0..3 {
            Patient {
                inner: pin!(me.sleep(Span::from_secs(1.0))),
                count: Arc::clone(&same),
                seen: None,
            }
            .await;
        }
        assert_eq!(me.now().as_secs(), 3.0);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(count.0.load(Ordering::Relaxed), 3);
}

#[test]
fn a_simulation_that_never_runs_drops_its_actors() {
    let token = Rc::new(());
    let mut simulation = Simulation::with_constant_model(1);
    let (held, of_a_run) = (Rc::clone(&token), Rc::clone(&token));
    simulation.spawn_anonymous(0, |me| async move {
        me.yield_now().await;
        drop(held);
    });
    drop(simulation);
    assert_eq!(Rc::strong_count(&token), 2);

    let mut simulation = Simulation::with_constant_model(1);
    let mutex = simulation.new_mutex();
    simulation.spawn_anonymous(0, |_| async move {
        mutex.lock_async().await;
        std::future::pending::<()>().await;
        drop(of_a_run);
    });
    assert!(matches!(
        simulation.run().outcome,
        Outcome::ForeignFuture(_)
    ));
    assert_eq!(Rc::strong_count(&token), 1);
}
