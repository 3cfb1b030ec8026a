//! Requirements on every adapter, as test cases that run on any implementation of
//! [`Verbs`](crate::Verbs): on real adapters, on emulated ones and on simulated ones. Only with the
//! cargo feature `conformance`.
//!
//! A case is one program that both sides run; [`Side::is_first`] distinguishes the sides. A case
//! needs no clock, thread or socket: a case is a future that is polled repeatedly ([`run_pair`] for
//! two sides in one program, [`run_side`] for one, [`ConformanceCase::side_future`] in one that is
//! itself a future). The sides exchange other data through a [`SideChannel`].
//!
//! A case fails by panicking.
//!
//! Not covered: the loss, duplication and reordering of packets, which no interface of an adapter
//! can cause; and durations.

mod atomics;
mod connected;
mod data;
mod errors;
mod memory;
mod order;
mod side;
mod states;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

pub use side::{Deviations, InMemoryChannel, Side, SideChannel};

/// A side's part of a case, under way.
type Run<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A test case.
#[derive(Clone, Copy, Debug)]
pub struct ConformanceCase {
    /// Name of the case.
    pub name: &'static str,
    /// Actions of a side in the case.
    body: for<'a> fn(&'a Side<'a>) -> Run<'a>,
}

impl ConformanceCase {
    /// Returns the future of one side. The future has no waker and must be polled repeatedly.
    ///
    /// # Panics
    /// If the case fails, when the future is polled.
    pub fn side_future<'a>(&self, side: &'a Side<'a>) -> impl Future<Output = ()> + 'a {
        (self.body)(side)
    }
}

/// Lists functions as cases by their names.
macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        &[$($(ConformanceCase {
            name: concat!(stringify!($module), "::", stringify!($case)),
            body: |side| Box::pin($module::$case(side)),
        }),*),*]
    };
}

/// All cases.
pub const CASES: &[ConformanceCase] = cases! {
    data: sends_of_all_sizes writes_of_all_sizes reads_of_all_sizes scatter_and_gather immediate_data inline_data;
    order: messages_arrive_in_order completions_come_in_order only_signaled_requests_complete everything_completes_if_told_so
        a_fence_waits_for_reads full_queues_refuse notifications;
    atomics: fetch_and_add compare_and_swap two_connections_add unaligned_atomics_are_refused;
    errors: wrong_remote_keys missing_rights_of_memory missing_rights_of_the_queue_pair wrong_local_keys receives_that_are_too_short
        no_receive_posted a_late_receive the_error_state_flushes the_peer_is_gone;
    states: transitions_that_are_not_allowed posting_too_early a_queue_pair_is_used_again draining;
    memory: owned_memory_comes_back memory_that_is_only_read what_cannot_be_registered old_handles_are_refused what_is_in_use_stays;
};

/// Runs a case with both sides in this program. `advance` advances the time and is called whenever
/// both sides wait; `advance` panics when the case takes too long.
///
/// # Panics
/// If the case fails.
pub fn run_pair(
    case: &ConformanceCase,
    first: &Side<'_>,
    second: &Side<'_>,
    advance: &mut dyn FnMut(),
) {
    let (mut first, mut second) = ((case.body)(first), (case.body)(second));
    let mut context = Context::from_waker(Waker::noop());
    let (mut first_runs, mut second_runs) = (true, true);
    while first_runs || second_runs {
        first_runs = first_runs && first.as_mut().poll(&mut context).is_pending();
        second_runs = second_runs && second.as_mut().poll(&mut context).is_pending();
        advance();
    }
}

/// Runs one side of a case; the other one runs elsewhere.
///
/// # Panics
/// If the case fails.
pub fn run_side(case: &ConformanceCase, side: &Side<'_>, advance: &mut dyn FnMut()) {
    let mut run = (case.body)(side);
    let mut context = Context::from_waker(Waker::noop());
    while run.as_mut().poll(&mut context).is_pending() {
        advance();
    }
}

/// Lets the other side, and time, continue.
async fn wait_a_little() {
    let mut has_waited = false;
    let wait = std::future::poll_fn(|_| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        Poll::Pending
    });
    pin!(wait).await;
}
