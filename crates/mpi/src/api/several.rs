//! Waiting for some of several requests, and asking about several, besides
//! [`waitall`](crate::waitall) and [`waitany`](crate::waitany) (MPI 4.1, section 3.7.5).
//!
//! The costs of completing requests are paid one by one, before the call returns.

use observe::SourceLocation;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::channel::{Channel, Token};
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::process::{Process, Question};
use crate::protocol::waiting::Waits;
use crate::{Completion, Error, Request, Result};

/// The requests that are over, by their positions.
pub type Completed = Vec<(usize, Result<Completion>)>;

/// A future that looks at requests until it knows the answer.
struct Several<'a, F> {
    process: Rc<Process>,
    requests: &'a mut [Request],
    waits: Waits,
    location: SourceLocation,
    attempt: F,
}

impl<'a, F> Several<'a, F> {
    /// `None` if no request is active.
    fn new(
        requests: &'a mut [Request],
        waits: Waits,
        location: SourceLocation,
        attempt: F,
    ) -> Option<Self> {
        let active = requests.iter().find(|request| request.is_active())?;
        Some(Self {
            process: Rc::clone(active.process()),
            requests,
            waits,
            location,
            attempt,
        })
    }
}

impl<T, F> Future for Several<'_, F>
where
    F: FnMut(&mut [Request], &Process, &mut ProtocolEngine, &dyn Channel) -> Option<T> + Unpin,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let process = Rc::clone(&this.process);
        process.poll_until(context, this.waits, this.location, |engine, channel| {
            (this.attempt)(this.requests, &process, engine, channel)
        })
    }
}

impl<F> Drop for Several<'_, F> {
    fn drop(&mut self) {
        self.process.forget(self.waits, self.location);
    }
}

fn is_over(request: &Request, engine: &ProtocolEngine) -> bool {
    request.token().is_some_and(|token| engine.is_done(token))
}

/// Pays for one of the requests that are over; false if all are paid.
fn pays(requests: &[Request], engine: &mut ProtocolEngine, channel: &dyn Channel) -> bool {
    if !engine.has_charges() {
        return false;
    }
    let tokens = requests.iter().filter_map(Request::token);
    let mut over = tokens.filter(|token| engine.is_done(*token) && engine.has_charge(*token));
    let owing = over.next();
    owing.is_some_and(|token| engine.pay(channel, token))
}

/// Completes all that are over.
fn complete_some(
    requests: &mut [Request],
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
) -> Completed {
    let mut done = Vec::new();
    for (position, request) in requests.iter_mut().enumerate() {
        if is_over(request, engine) {
            done.extend(
                request
                    .complete(engine, channel)
                    .map(|result| (position, result)),
            );
        }
    }
    done
}

/// Returns true if the answer to a test may be no.
fn may_answer_false(
    name: &'static str,
    requests: &[Request],
    process: &Process,
    engine: &ProtocolEngine,
) -> bool {
    let mut tokens = requests.iter().filter_map(Request::token).peekable();
    if tokens.peek().is_none() {
        return true;
    }
    // The same call about others is another question. If two lists make the same number, the second
    // one waits too soon.
    let mix = |number: u64, token: Token| {
        (number.rotate_left(23) ^ u64::from(token)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let all = Question::Several(name, tokens.fold(0, mix));
    process.may_answer_false(engine.changes(), all)
}

/// Waits until at least one request is over and completes all that are: `MPI_Waitsome`. Their
/// positions and results; `None` if no request is active.
#[track_caller]
pub fn waitsome(requests: &mut [Request]) -> impl Future<Output = Option<Completed>> + '_ {
    let location = SourceLocation::caller();
    let mut looked = None;
    let attempt = move |requests: &mut [Request],
                        _: &Process,
                        engine: &mut ProtocolEngine,
                        channel: &dyn Channel| {
        // Nothing to look for before another operation has ended.
        if looked == Some(engine.ended()) {
            return None;
        }
        if pays(requests, engine, channel) {
            return None;
        }
        looked = Some(engine.ended());
        let done = complete_some(requests, engine, channel);
        (!done.is_empty()).then_some(done)
    };
    let waiting = Several::new(requests, Waits::Several("waitsome"), location, attempt);
    async move {
        match waiting {
            Some(waiting) => Some(waiting.await),
            None => None,
        }
    }
}

/// Completes all requests that are over: `MPI_Testsome`. Their positions and results, none if none
/// is over. Asking again and again is as with [`Request::test`].
///
/// # Errors
/// [`Error::Request`] if no request is active.
#[track_caller]
pub fn testsome(requests: &mut [Request]) -> impl Future<Output = Result<Completed>> + '_ {
    let location = SourceLocation::caller();
    let attempt = |requests: &mut [Request],
                   process: &Process,
                   engine: &mut ProtocolEngine,
                   channel: &dyn Channel| {
        if pays(requests, engine, channel) {
            return None;
        }
        let done = complete_some(requests, engine, channel);
        (!done.is_empty() || may_answer_false("testsome", requests, process, engine))
            .then_some(done)
    };
    let waiting = Several::new(requests, Waits::Tests("testsome"), location, attempt);
    async move { Ok(waiting.ok_or(Error::Request)?.await) }
}

/// Completes one of the requests that are over, the one with the lowest position: `MPI_Testany`.
/// `None` if none is over. Asking again and again is as with [`Request::test`].
///
/// # Errors
/// As [`Request::wait`], of the request that is over; [`Error::Request`] if no request is active.
#[track_caller]
pub fn testany(
    requests: &mut [Request],
) -> impl Future<Output = Result<Option<(usize, Completion)>>> + '_ {
    let location = SourceLocation::caller();
    let mut chosen = None;
    let attempt = move |requests: &mut [Request],
                        process: &Process,
                        engine: &mut ProtocolEngine,
                        channel: &dyn Channel| {
        chosen = chosen.or_else(|| requests.iter().position(|request| is_over(request, engine)));
        let Some(position) = chosen else {
            return may_answer_false("testany", requests, process, engine).then_some(Ok(None));
        };
        if pays(&requests[position..=position], engine, channel) {
            return None;
        }
        let result = requests[position].complete(engine, channel)?;
        Some(result.map(|completion| Some((position, completion))))
    };
    let waiting = Several::new(requests, Waits::Tests("testany"), location, attempt);
    async move { waiting.ok_or(Error::Request)?.await }
}

/// Completes all requests if all are over: `MPI_Testall`. The completions in their order, `None`
/// for those that were not active; `None` if any is not over. Asking again and again is as with
/// [`Request::test`].
///
/// # Errors
/// The first error in the order of the requests; all of them are over then.
#[track_caller]
pub fn testall(
    requests: &mut [Request],
) -> impl Future<Output = Result<Option<Vec<Option<Completion>>>>> + '_ {
    let location = SourceLocation::caller();
    let count = requests.len();
    let attempt = |requests: &mut [Request],
                   process: &Process,
                   engine: &mut ProtocolEngine,
                   channel: &dyn Channel| {
        let open = |request: &Request| request.is_active() && !is_over(request, engine);
        if requests.iter().any(open) {
            return may_answer_false("testall", requests, process, engine).then_some(Ok(None));
        }
        if pays(requests, engine, channel) {
            return None;
        }
        let finish = |request: &mut Request| request.complete(engine, channel);
        let all: Vec<Option<Result<Completion>>> = requests.iter_mut().map(finish).collect();
        let all: Result<Vec<Option<Completion>>> = all.into_iter().map(Option::transpose).collect();
        Some(all.map(Some))
    };
    let waiting = Several::new(requests, Waits::Tests("testall"), location, attempt);
    async move {
        match waiting {
            Some(waiting) => waiting.await,
            None => Ok(Some(std::iter::repeat_with(|| None).take(count).collect())),
        }
    }
}
