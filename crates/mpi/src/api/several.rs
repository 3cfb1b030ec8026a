//! Waiting for some of several requests, and asking about several, besides
//! [`waitall`](crate::waitall) and [`waitany`](crate::waitany) (MPI 4.1, section 3.7.5).
//!
//! The costs of completing requests are paid one by one, before the call returns.

use observe::SourceLocation;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::api::request::{PickedOne, active, answer_several, pick_one, small};
use crate::channel::{Channel, Token};
use crate::exploration;
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::look::{
    Answers, Question, count_subsets, leaves_out_subsets, number_of_subset, subset,
};
use crate::protocol::process::{AwaitedYes, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{Completion, Error, Request, Result};

/// The requests that are over, by their positions.
pub type Completed = Vec<(usize, Result<Completion>)>;

/// A future that looks at requests until the answer is known.
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
    let token = request.token();
    token.is_some_and(|token| engine.requests.is_done(token))
}

/// Pays for one of the requests that are over; false if all are paid.
fn pays(requests: &[Request], engine: &mut ProtocolEngine, channel: &dyn Channel) -> bool {
    let table = &engine.requests;
    if !table.operations.has_charges() {
        return false;
    }
    let tokens = requests.iter().filter_map(Request::token);
    let mut over = tokens.filter(|token| table.is_done(*token));
    let owing = over.find(|token| table.operations.has_charge(*token));
    owing.is_some_and(|token| engine.pay_charge(channel, token))
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
    (name, location): (&'static str, SourceLocation),
    requests: &[Request],
    process: &Process,
    engine: &ProtocolEngine,
) -> bool {
    if !requests.iter().any(Request::is_active) {
        return true;
    }
    process.may_answer_false(
        engine.requests.count_changes(),
        (location, Question::about(name, requests)),
    )
}

/// The pick of a model checker among subsets of several requests.
enum PickedSome {
    Unpicked,
    No,
    /// These requests, for all of which the call waits.
    Yes(Vec<usize>, AwaitedYes),
}

/// Lets a model checker pick a subset of the active requests, or *no* unless the call `waits`;
/// `None` if none is active.
async fn pick_some(
    requests: &[Request],
    (name, waits_for_one): (&'static str, bool),
    waits: Waits,
    location: SourceLocation,
) -> Option<PickedSome> {
    let (positions, tokens): (Vec<usize>, Vec<Token>) = active(requests).into_iter().unzip();
    let process = Rc::clone(requests.get(*positions.first()?)?.process());
    let subsets = count_subsets(tokens.len());
    let all = tokens.clone();
    let answers = answer_several(subsets, tokens, waits_for_one);
    let question = Question::about(name, requests);
    let picked = match process
        .ask_question(question, waits, location, answers)
        .await
    {
        PickedAnswer::Unpicked => PickedSome::Unpicked,
        PickedAnswer::No => PickedSome::No,
        PickedAnswer::Yes(number, yes) => {
            if leaves_out_subsets(positions.len()) {
                exploration::note_bound(
                    process.channel(),
                    &format!(
                        "{name}: single requests and all of them, no other subsets ({location})"
                    ),
                );
            }
            let mut picked = subset(&positions, number);
            // The program knows that these are complete.
            process.with_engine(|engine, _| {
                let told = positions.iter().zip(&all);
                let told = told.filter(|(_, token)| engine.requests.rare.is_told(**token));
                picked.extend(told.map(|(position, _)| *position));
            });
            picked.sort_unstable();
            picked.dedup();
            PickedSome::Yes(picked, yes)
        }
    };
    Some(picked)
}

/// Waits for all of these requests; their positions and results.
async fn wait_for(
    requests: &mut [Request],
    positions: Vec<usize>,
    location: SourceLocation,
) -> Completed {
    let mut done = Vec::new();
    for position in positions {
        done.push((position, requests[position].wait_at(location).await));
    }
    done
}

/// Records which of the requests are over, where no model checker picks them.
fn note_some(
    (name, location): (&'static str, SourceLocation),
    requests: &[Request],
    process: &Process,
    engine: &ProtocolEngine,
) {
    let active = active(requests);
    let over = active
        .iter()
        .map(|(_, token)| engine.requests.is_done(*token));
    if let Some(number) = number_of_subset(&over.collect::<Vec<bool>>()) {
        process.note_answer((location, Question::about(name, requests)), number + 1);
    }
}

/// Waits until at least one request is over and completes all that are: `MPI_Waitsome`. Their
/// positions and results; `None` if no request is active.
#[track_caller]
pub fn waitsome(requests: &mut [Request]) -> impl Future<Output = Option<Completed>> + '_ {
    let location = SourceLocation::caller();
    async move {
        let call = ("waitsome", true);
        match pick_some(requests, call, Waits::Several(call.0), location).await? {
            PickedSome::Yes(positions, _yes) => {
                return Some(wait_for(requests, positions, location).await);
            }
            PickedSome::No | PickedSome::Unpicked => {}
        }
        let mut looked = None;
        let attempt = move |requests: &mut [Request],
                            process: &Process,
                            engine: &mut ProtocolEngine,
                            channel: &dyn Channel| {
            // Nothing to look for before another operation has ended.
            if looked == Some(engine.requests.count_ended()) {
                return None;
            }
            if pays(requests, engine, channel) {
                return None;
            }
            looked = Some(engine.requests.count_ended());
            note_some(("waitsome", location), requests, process, engine);
            let done = complete_some(requests, engine, channel);
            (!done.is_empty()).then_some(done)
        };
        Some(Several::new(requests, Waits::Several("waitsome"), location, attempt)?.await)
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
    async move {
        let (call, waits) = (("testsome", false), Waits::Tests("testsome"));
        let picked = pick_some(requests, call, waits, location).await;
        match picked.ok_or(Error::Request)? {
            PickedSome::Yes(positions, _yes) => {
                return Ok(wait_for(requests, positions, location).await);
            }
            PickedSome::No => return Ok(Vec::new()),
            PickedSome::Unpicked => {}
        }
        let attempt = |requests: &mut [Request],
                       process: &Process,
                       engine: &mut ProtocolEngine,
                       channel: &dyn Channel| {
            if pays(requests, engine, channel) {
                return None;
            }
            note_some(("testsome", location), requests, process, engine);
            let done = complete_some(requests, engine, channel);
            (!done.is_empty()
                || may_answer_false(("testsome", location), requests, process, engine))
            .then_some(done)
        };
        let waiting = Several::new(requests, waits, location, attempt);
        Ok(waiting.ok_or(Error::Request)?.await)
    }
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
    let testing = testany_result(requests);
    async move {
        let over = testing.await?;
        over.map(|(position, result)| Ok((position, result?)))
            .transpose()
    }
}

/// Completes one request as [`testany`], and returns the position with the result of the request.
///
/// # Errors
/// [`Error::Request`] if no request is active.
#[track_caller]
pub fn testany_result(
    requests: &mut [Request],
) -> impl Future<Output = Result<Option<(usize, Result<Completion>)>>> + '_ {
    let location = SourceLocation::caller();
    async move {
        let (call, waits) = (("testany", false), Waits::Tests("testany"));
        match pick_one(requests, call, waits, location)
            .await
            .ok_or(Error::Request)?
        {
            PickedOne::Yes(position, _yes) => {
                let result = requests[position].wait_at(location).await;
                return Ok(Some((position, result)));
            }
            PickedOne::No => return Ok(None),
            PickedOne::Unpicked => {}
        }
        let mut chosen = None;
        let attempt = move |requests: &mut [Request],
                            process: &Process,
                            engine: &mut ProtocolEngine,
                            channel: &dyn Channel| {
            chosen =
                chosen.or_else(|| requests.iter().position(|request| is_over(request, engine)));
            let Some(position) = chosen else {
                return may_answer_false(("testany", location), requests, process, engine)
                    .then_some(None);
            };
            if pays(&requests[position..=position], engine, channel) {
                return None;
            }
            let before = requests[..position].iter();
            let number = small(before.filter(|request| request.is_active()).count());
            process.note_answer((location, Question::about("testany", requests)), number + 1);
            let result = requests[position].complete(engine, channel)?;
            Some(Some((position, result)))
        };
        let waiting = Several::new(requests, waits, location, attempt);
        Ok(waiting.ok_or(Error::Request)?.await)
    }
}

/// Completes all requests if all are over: `MPI_Testall`. Returns the completions in the order of
/// the requests, `None` for a request that was not active; `None` if any request is not over.
/// Repeated calls behave as for [`Request::test`].
///
/// # Errors
/// The first error in the order of the requests; all of them are over then.
#[track_caller]
pub fn testall(
    requests: &mut [Request],
) -> impl Future<Output = Result<Option<Vec<Option<Completion>>>>> + '_ {
    let results = testall_results(requests);
    async move {
        let all = results
            .await
            .map(|all| all.into_iter().map(Option::transpose).collect());
        all.transpose()
    }
}

/// Completes all requests as [`testall`], and returns the result of each request.
#[track_caller]
pub fn testall_results(
    requests: &mut [Request],
) -> impl Future<Output = Option<Vec<Option<Result<Completion>>>>> + '_ {
    let location = SourceLocation::caller();
    async move {
        let (count, name, waits) = (requests.len(), "testall", Waits::Tests("testall"));
        let (positions, tokens): (Vec<usize>, Vec<Token>) = active(requests).into_iter().unzip();
        let Some(first) = positions.first() else {
            return Some(std::iter::repeat_with(|| None).take(count).collect());
        };
        let process = Rc::clone(requests[*first].process());
        let answers = move |engine: &ProtocolEngine| Answers {
            yes: 1,
            only_yes: tokens
                .iter()
                .all(|token| engine.requests.rare.is_told(*token)),
            is_ready: tokens.iter().all(|token| engine.requests.is_done(*token)),
            ..Answers::default()
        };
        match process
            .ask_question(Question::about(name, requests), waits, location, answers)
            .await
        {
            PickedAnswer::No => return None,
            PickedAnswer::Yes(_, _yes) => {
                let mut all: Vec<Option<Result<Completion>>> = Vec::new();
                all.resize_with(count, || None);
                for (position, result) in wait_for(requests, positions, location).await {
                    all[position] = Some(result);
                }
                return Some(all);
            }
            PickedAnswer::Unpicked => {}
        }
        let attempt = |requests: &mut [Request],
                       process: &Process,
                       engine: &mut ProtocolEngine,
                       channel: &dyn Channel| {
            let open = |request: &Request| request.is_active() && !is_over(request, engine);
            if requests.iter().any(open) {
                return may_answer_false((name, location), requests, process, engine)
                    .then_some(None);
            }
            if pays(requests, engine, channel) {
                return None;
            }
            process.note_answer((location, Question::about(name, requests)), 1);
            let finish = |request: &mut Request| request.complete(engine, channel);
            Some(Some(requests.iter_mut().map(finish).collect()))
        };
        Several::new(requests, waits, location, attempt)?.await
    }
}
