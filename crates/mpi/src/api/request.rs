//! Requests: handles of operations in progress, and the ways to wait for them.
//!
//! A request owns the buffer of its operation until the operation is over; waiting gives the buffer
//! back. Dropping a request means `MPI_Request_free`: the operation continues to the end, and a
//! receive takes a message. A model checker reports requests that are dropped without a call of
//! [`Request::free`], and dropped receives that have got their messages.
//!
//! A persistent request keeps a share of its buffer. Completing a persistent request makes it
//! inactive, and the program can start it again.

use observe::SourceLocation;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::api::group::Members;
use crate::api::partitioned::Partitions;
use crate::api::persistent::Persistent;
use crate::api::view::Unpack;
use crate::channel::{Channel, Token};
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::engine::partitions::PartitionPlace;
use crate::protocol::engine::seen::will_meet_seen;
use crate::protocol::look::{Answers, Question};
use crate::protocol::process::{AwaitedYes, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Comm, Error, Pattern, Result, Status, exploration};

/// The result of a completed operation: the status of the message, and the buffer.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Source, tag and length of the message.
    pub status: Status,
    /// The buffer that was given to the operation, filled by a receive.
    pub buffer: Buffer,
}

/// An operation in progress.
#[must_use = "dropping a request means not to wait for it"]
pub struct Request {
    process: Rc<Process>,
    /// The ranks among which the source of a message is told.
    members: Members,
    /// The context of the communicator of the request.
    context: u32,
    token: Option<Token>,
    /// Parameters with which a persistent request starts again.
    persistent: Option<Box<Persistent>>,
    /// Unpacking of the received data.
    unpack: Option<Box<Unpack>>,
}

impl Request {
    pub(crate) fn new(comm: &Comm, token: Token) -> Self {
        Self {
            process: Rc::clone(comm.process()),
            members: comm.members().clone(),
            context: comm.context(),
            token: Some(token),
            persistent: None,
            unpack: None,
        }
    }

    /// A request that is started later.
    pub(crate) fn inactive(persistent: Persistent) -> Self {
        let comm = persistent.comm();
        Self {
            process: Rc::clone(comm.process()),
            members: comm.members().clone(),
            context: comm.context(),
            token: None,
            persistent: Some(Box::new(persistent)),
            unpack: None,
        }
    }

    /// Returns the request with an unpack step for the received data.
    pub(crate) fn unpacking(mut self, unpack: Unpack) -> Self {
        self.unpack = Some(Box::new(unpack));
        self
    }

    pub(crate) const fn process(&self) -> &Rc<Process> {
        &self.process
    }

    pub(crate) const fn token(&self) -> Option<Token> {
        self.token
    }

    /// Takes the completion of an operation that is over and paid.
    pub(crate) fn complete(
        &mut self,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
    ) -> Option<Result<Completion>> {
        let (result, mut buffer) = engine.requests.take_result(self.token.take()?);
        if let (Some(unpack), &Ok(status)) = (self.unpack.take(), &result) {
            match unpack.finish_unpack(&buffer, status, engine, channel) {
                Ok(target) => buffer = target,
                Err(error) => {
                    self.process.raise_later(self.context, error);
                    return Some(Err(error));
                }
            }
        }
        let mut status = self.members.translate_result(result);
        if let Some(persistent) = &mut self.persistent {
            persistent.keep_buffer(&buffer);
            status = status.map(|status| persistent.status_with_tag(status));
        }
        if let Err(error) = &status {
            self.process.raise_later(self.context, *error);
        }
        Some(status.map(|status| Completion { status, buffer }))
    }

    /// Returns true if no operation is left to wait for: `MPI_REQUEST_NULL`. A persistent request
    /// is never null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.token.is_none() && self.persistent.is_none()
    }

    /// Returns true if an operation is in progress, or over and not waited for.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.token.is_some()
    }

    /// Starts a persistent request: `MPI_Start`.
    ///
    /// # Errors
    /// [`Error::Active`] if the request is active, [`Error::Request`] if it is not persistent; as
    /// the call that the request repeats.
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        self.start_at(SourceLocation::caller())
    }

    pub(crate) fn start_at(&mut self, location: SourceLocation) -> Result<()> {
        let persistent = self.persistent.as_mut().ok_or(Error::Request)?;
        if self.token.is_some() {
            return Err(Error::Active);
        }
        let mut started = persistent.start_request(location)?;
        self.token = started.token.take();
        self.unpack = started.unpack.take();
        Ok(())
    }

    /// Returns the buffer of a persistent request between starts; `None` while the operation has
    /// the buffer, for a partitioned send from the time when all partitions are ready.
    #[must_use]
    pub fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        let is_active = self.token.is_some();
        let all = self.persistent.as_mut();
        let own = all.filter(|own| !is_active || own.partitions_left() > 0);
        own.map(|persistent| persistent.buffer_mut())
    }

    /// Returns true for a persistent request of a message with partitions.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.persistent
            .as_ref()
            .is_some_and(|persistent| persistent.is_partitioned())
    }

    /// Number of partitions of an active partitioned send that are not ready.
    #[must_use]
    pub fn partitions_left(&self) -> usize {
        let active = self.persistent.as_ref().filter(|_| self.is_active());
        active.map_or(0, |persistent| persistent.partitions_left())
    }

    /// Returns the operation and the arguments of a persistent request that is active.
    pub(crate) fn active_parts(&mut self) -> Option<(Token, &mut Persistent)> {
        Some((self.token?, self.persistent.as_deref_mut()?))
    }

    /// Returns the messages with a partition of a receive that arrives from another rank.
    pub(crate) fn awaited_partition(&self, partition: usize) -> Option<(Pattern, PartitionPlace)> {
        self.persistent.as_ref()?.awaited_partition(partition)
    }

    pub(crate) fn received_partitions(&self) -> Option<&Partitions> {
        self.persistent.as_ref()?.received_partitions()
    }

    /// Sends the message after all its partitions are ready, as the operation of this request.
    pub(crate) fn send_partitions(&mut self, location: SourceLocation) -> Result<()> {
        let (waiting, persistent) = self.active_parts().ok_or(Error::Request)?;
        let mut started = persistent.send_partitions(location)?;
        self.token = started.token.take();
        (self.process).with_engine(|engine, _| engine.requests.operations.remove(waiting));
        Ok(())
    }

    /// Cancels a receive that no message has matched, or a send that waits for its receive:
    /// `MPI_Cancel`. The request must still be completed; [`Status::cancelled`] then tells which of
    /// the two came first. The cancel of an announced message asks the receiver, which takes as
    /// long as two control messages; the receiver must still be running. An eager send that is
    /// over, or a receive that a message has matched, continues to its normal end. Under a model
    /// checker the call waits until an answer is picked.
    #[track_caller]
    pub fn cancel(&mut self) -> impl Future<Output = ()> + '_ {
        self.cancel_at(SourceLocation::caller())
    }

    async fn cancel_at(&mut self, location: SourceLocation) {
        let Some(token) = self.token else {
            return;
        };
        let (question, waits) = (Question::Cancel(token), Waits::Call("cancel"));
        let (is_picked, is_posted) = (self.process).with_engine(|engine, _| {
            (
                engine.requests.may_lose_cancel(token),
                engine.requests.operations.is_posted(token),
            )
        });
        let picked = if is_picked {
            let answers = move |engine: &ProtocolEngine| Answers {
                yes: 1,
                only_yes: !is_posted || will_meet_seen(engine, token),
                sees_arrivals: true,
                ..Answers::default()
            };
            self.process
                .ask_question(question, waits, location, answers)
                .await
        } else {
            (self.process)
                .with_engine(|engine, channel| note_cancelled(engine, channel, token, location));
            let answer = u32::from(!is_posted);
            self.process.note_answer((location, question), answer);
            PickedAnswer::Unpicked
        };
        self.process.with_engine(|engine, channel| match picked {
            PickedAnswer::Yes(..) => engine.requests.lose_cancel(token),
            PickedAnswer::No | PickedAnswer::Unpicked => engine.cancel(channel, token),
        });
    }

    /// Gives the request up: `MPI_Request_free`. The operation continues to the end.
    pub fn free(mut self) {
        if let Some(token) = self.token.take() {
            self.process.release_result(token);
        }
    }

    /// [`Request::free`] of a request with a result that is still of use.
    pub fn into_freed(self) -> FreedRequest {
        if let Some(token) = self.token {
            self.process.keep_data(token);
        }
        FreedRequest(self)
    }

    /// Waits for the end of the operation. Completing the request makes the request null.
    ///
    /// # Errors
    /// [`Error::Truncated`] for a receive; [`Error::Request`] if the request is null.
    #[track_caller]
    pub fn wait(&mut self) -> Wait<'_> {
        Wait {
            request: self,
            location: SourceLocation::caller(),
            call: None,
        }
    }

    /// [`Request::wait`] in a call at this line.
    pub(crate) const fn wait_at(&mut self, location: SourceLocation) -> Wait<'_> {
        Wait {
            request: self,
            location,
            call: None,
        }
    }

    /// [`Request::wait`] as a part of a call of this name.
    pub(crate) fn wait_in(&mut self, call: &'static str, location: SourceLocation) -> Wait<'_> {
        Wait {
            request: self,
            location,
            call: Some(call),
        }
    }

    fn waits(&self, call: Option<&'static str>) -> Option<Waits> {
        let token = self.token?;
        Some(call.map_or(Waits::Operation(token), |name| Waits::Named(name, token)))
    }

    /// Polls a wait for the end of the operation, as a part of a call of this name.
    pub(crate) fn poll_wait(
        &mut self,
        context: &mut Context<'_>,
        call: Option<&'static str>,
        location: SourceLocation,
    ) -> Poll<Result<Completion>> {
        let Some(waits) = self.waits(call) else {
            return Poll::Ready(Err(Error::Request));
        };
        let process = Rc::clone(&self.process);
        process.poll_until(context, waits, location, |engine, channel| {
            self.take_completion(engine, channel)
        })
    }

    /// A wait that may have been pending is gone.
    pub(crate) fn forget_wait(&self, call: Option<&'static str>, location: SourceLocation) {
        if let Some(waits) = self.waits(call) {
            self.process.forget(waits, location);
        }
    }

    /// Returns the completion if the operation is over. The first *no* comes at once; a repeated
    /// test without an event at this rank in between waits for the next event of the rank.
    ///
    /// # Errors
    /// As [`Request::wait`].
    #[track_caller]
    pub fn test(&mut self) -> impl Future<Output = Result<Option<Completion>>> + '_ {
        self.test_completion(SourceLocation::caller(), false)
    }

    /// Returns the completion if the operation is over; the request stays as it is:
    /// `MPI_Request_get_status`. Repeated calls behave as for [`Request::test`].
    ///
    /// # Errors
    /// As [`Request::wait`].
    #[track_caller]
    pub fn peek(&mut self) -> impl Future<Output = Result<Option<Completion>>> + '_ {
        self.peek_at(SourceLocation::caller())
    }

    /// [`Request::peek`] in a call at this line.
    pub(crate) async fn peek_at(&mut self, location: SourceLocation) -> Result<Option<Completion>> {
        self.test_completion(location, true).await
    }

    /// Asks whether the operation is over. The request stays if `is_kept`.
    pub(crate) async fn test_completion(
        &mut self,
        location: SourceLocation,
        is_kept: bool,
    ) -> Result<Option<Completion>> {
        let token = self.token.ok_or(Error::Request)?;
        let answers = move |engine: &ProtocolEngine| Answers {
            yes: 1,
            only_yes: engine.requests.rare.is_told(token),
            is_ready: engine.requests.is_done(token),
            ..Answers::default()
        };
        let look = (self.process).ask_question(
            Question::Test(token),
            Waits::Test(token),
            location,
            answers,
        );
        let (waits, _yes) = match look.await {
            PickedAnswer::No => return Ok(None),
            PickedAnswer::Unpicked => (Waits::Test(token), None),
            PickedAnswer::Yes(_, yes) => (Waits::Operation(token), Some(yes)),
        };
        Test {
            request: self,
            waits,
            location,
            is_kept,
        }
        .await
    }

    /// Returns the completion of an operation that is over.
    fn completion(&self, engine: &ProtocolEngine) -> Option<Result<Completion>> {
        let Some(token) = self.token else {
            return Some(Err(Error::Request));
        };
        let (result, buffer) = engine.requests.operations.result(token)?;
        let status = self.members.translate_result(result);
        let buffer = buffer.clone();
        Some(status.map(|status| Completion { status, buffer }))
    }

    fn take_completion(
        &mut self,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
    ) -> Option<Result<Completion>> {
        let Some(token) = self.token else {
            return Some(Err(Error::Request));
        };
        if !engine.requests.is_done(token) || engine.pay_charge(channel, token) {
            return None;
        }
        self.complete(engine, channel)
    }
}

/// Notes the bound of the checker: a send with its message under way is never cancelled.
fn note_cancelled(
    engine: &ProtocolEngine,
    channel: &dyn Channel,
    token: Token,
    location: SourceLocation,
) {
    let record = engine.requests.rare.causality();
    if record.is_none_or(|record| record.number_of_receive(token) == 0) {
        let bound = "a send is cancelled only if its message waits at the sender";
        exploration::note_bound(channel, &format!("{bound} ({location})"));
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            self.process.forget_request(token);
        }
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Request({:?})", self.token)
    }
}

/// An operation that continues to the end after `MPI_Request_free`.
#[derive(Debug)]
pub struct FreedRequest(Request);

impl FreedRequest {
    /// Returns true if the operation continues, or the result has not been taken.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.0.is_active()
    }

    /// Takes the result if the operation has ended. A model checker does not take this for a wait.
    pub fn take_result(&mut self) -> Option<Result<Completion>> {
        let process = Rc::clone(&self.0.process);
        let token = self.0.token?;
        process.take_freed(token, |engine, channel| self.0.complete(engine, channel))
    }
}

impl Drop for FreedRequest {
    fn drop(&mut self) {
        if let Some(token) = self.0.token.take() {
            self.0.process.release_result(token);
        }
    }
}

/// The future of [`Request::wait`].
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
pub struct Wait<'a> {
    request: &'a mut Request,
    location: SourceLocation,
    call: Option<&'static str>,
}

impl Future for Wait<'_> {
    type Output = Result<Completion>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Completion>> {
        let this = self.get_mut();
        this.request.poll_wait(context, this.call, this.location)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.request.forget_wait(self.call, self.location);
    }
}

/// A test of an operation, or a wait for the operation after the answer *yes* was picked.
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
struct Test<'a> {
    request: &'a mut Request,
    waits: Waits,
    location: SourceLocation,
    /// True if the request stays when its operation is over.
    is_kept: bool,
}

impl Test<'_> {
    fn try_complete(
        &mut self,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
    ) -> Option<Result<Completion>> {
        match self.is_kept {
            true => self.request.completion(engine),
            false => self.request.take_completion(engine, channel),
        }
    }
}

impl Future for Test<'_> {
    type Output = Result<Option<Completion>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(token) = this.request.token else {
            return Poll::Ready(Err(Error::Request));
        };
        let process = Rc::clone(&this.request.process);
        let is_test = matches!(this.waits, Waits::Test(_));
        process.poll_until(context, this.waits, this.location, |engine, channel| {
            if this.is_kept && engine.requests.is_done(token) {
                engine.requests.note_cause(|record| record.note_told(token));
            }
            let at = (this.location, Question::Test(token));
            match this.try_complete(engine, channel) {
                Some(result) => {
                    process.note_answer(at, 1);
                    Some(result.map(Some))
                }
                // It is done, and taking it costs something first.
                None if !is_test || (!this.is_kept && engine.requests.is_done(token)) => None,
                None => process
                    .may_answer_false(engine.requests.count_changes(), at)
                    .then_some(Ok(None)),
            }
        })
    }
}

impl Drop for Test<'_> {
    fn drop(&mut self) {
        self.request.process.forget(self.waits, self.location);
    }
}

/// Waits for the end of all requests that are not null; the completions in their order, `None` for
/// null requests.
///
/// # Errors
/// The first error in the order of the requests; all of them are over then.
#[track_caller]
pub fn waitall(requests: &mut [Request]) -> WaitAll<'_> {
    WaitAll {
        requests,
        over: 0,
        location: SourceLocation::caller(),
    }
}

/// Waits as [`waitall`], and returns the result of each request.
#[track_caller]
pub fn waitall_results(
    requests: &mut [Request],
) -> impl Future<Output = Vec<Option<Result<Completion>>>> + '_ {
    let mut waiting = waitall(requests);
    std::future::poll_fn(move |context| waiting.poll_results(context))
}

/// The future of [`waitall`].
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
pub struct WaitAll<'a> {
    requests: &'a mut [Request],
    /// Number of leading requests that are known to be complete, so that all polls together look at
    /// each once.
    over: usize,
    location: SourceLocation,
}

impl WaitAll<'_> {
    fn poll_results(&mut self, context: &Context<'_>) -> Poll<Vec<Option<Result<Completion>>>> {
        let Some(first) = self.requests.first() else {
            return Poll::Ready(Vec::new());
        };
        let process = Rc::clone(&first.process);
        process.poll_until(context, Waits::All, self.location, |engine, channel| {
            // Paid one by one, as they come.
            let rest = self.requests[self.over..].iter();
            if engine.requests.operations.has_charges() {
                let mut done = rest
                    .clone()
                    .filter_map(|request| request.token)
                    .filter(|token| engine.requests.is_done(*token));
                let owing = done.find(|token| engine.requests.operations.has_charge(*token));
                if owing.is_some_and(|token| engine.pay_charge(channel, token)) {
                    return None;
                }
            }
            let is_over = |request: &&Request| match request.token {
                Some(token) => engine.requests.is_done(token),
                None => true,
            };
            self.over += rest.take_while(is_over).count();
            if self.over < self.requests.len() {
                return None;
            }
            let finish = |request: &mut Request| request.complete(engine, channel);
            Some(self.requests.iter_mut().map(finish).collect())
        })
    }
}

impl Future for WaitAll<'_> {
    type Output = Result<Vec<Option<Completion>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let results = self.get_mut().poll_results(context);
        results.map(|all| all.into_iter().map(Option::transpose).collect())
    }
}

impl Drop for WaitAll<'_> {
    fn drop(&mut self) {
        if let Some(first) = self.requests.first() {
            first.process.forget(Waits::All, self.location);
        }
    }
}

/// Waits until any request that is not null is over. Returns the position and completion of the
/// first such request by position; `None` if all requests are null.
///
/// # Errors
/// As [`Request::wait`], of the request that is over.
#[track_caller]
pub fn waitany(
    requests: &mut [Request],
) -> impl Future<Output = Result<Option<(usize, Completion)>>> + '_ {
    let waiting = waitany_result(requests);
    async move {
        let over = waiting.await;
        over.map(|(position, result)| Ok((position, result?)))
            .transpose()
    }
}

/// Waits as [`waitany`], and returns the position with the result of the request that is over.
#[track_caller]
pub fn waitany_result(
    requests: &mut [Request],
) -> impl Future<Output = Option<(usize, Result<Completion>)>> + '_ {
    let location = SourceLocation::caller();
    async move {
        match pick_one(requests, ("waitany", true), Waits::Any, location).await? {
            PickedOne::Yes(position, _yes) => {
                let result = requests[position].wait_at(location).await;
                Some((position, result))
            }
            PickedOne::No | PickedOne::Unpicked => {
                let waiting = WaitAny {
                    requests,
                    looked: None,
                    chosen: None,
                    location,
                };
                waiting.await
            }
        }
    }
}

/// The pick of a model checker among several requests.
pub(crate) enum PickedOne {
    Unpicked,
    No,
    /// The request at this position, for which the call waits.
    Yes(usize, AwaitedYes),
}

/// The answers to a question about several operations, with this number of *yes*.
pub(crate) fn answer_several(
    yes: u32,
    tokens: Vec<Token>,
    waits_for_one: bool,
) -> impl Fn(&ProtocolEngine) -> Answers + Unpin {
    move |engine| Answers {
        yes,
        only_yes: waits_for_one
            || tokens
                .iter()
                .any(|token| engine.requests.rare.is_told(*token)),
        is_ready: tokens.iter().any(|token| engine.requests.is_done(*token)),
        one_of: tokens.iter().copied().filter(|_| waits_for_one).collect(),
        sees_arrivals: false,
    }
}

/// Lets a model checker pick one of the active requests, or *no* unless the call `waits`; `None` if
/// none is active.
pub(crate) async fn pick_one(
    requests: &[Request],
    (name, waits_for_one): (&'static str, bool),
    waits: Waits,
    location: SourceLocation,
) -> Option<PickedOne> {
    let active: Vec<(usize, Token)> = active(requests);
    let process = Rc::clone(requests.get(active.first()?.0)?.process());
    let tokens: Vec<Token> = active.iter().map(|(_, token)| *token).collect();
    let answers = answer_several(small(tokens.len()), tokens, waits_for_one);
    let question = Question::about(name, requests);
    Some(
        match process
            .ask_question(question, waits, location, answers)
            .await
        {
            PickedAnswer::Unpicked => PickedOne::Unpicked,
            PickedAnswer::No => PickedOne::No,
            PickedAnswer::Yes(number, yes) => PickedOne::Yes(active[number as usize].0, yes),
        },
    )
}

/// The positions and operations of the active requests.
pub(crate) fn active(requests: &[Request]) -> Vec<(usize, Token)> {
    let all = requests.iter().enumerate();
    all.filter_map(|(position, request)| Some((position, request.token?)))
        .collect()
}

/// The future of [`waitany_result`].
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
struct WaitAny<'a> {
    requests: &'a mut [Request],
    /// Number of operations that had ended when the requests were last tested.
    looked: Option<u64>,
    /// The position of the request that is over, while the cost of its completion is paid.
    chosen: Option<usize>,
    location: SourceLocation,
}

impl Future for WaitAny<'_> {
    type Output = Option<(usize, Result<Completion>)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(first) = this.requests.iter().find(|request| request.is_active()) else {
            return Poll::Ready(None);
        };
        let process = Rc::clone(&first.process);
        process.poll_until(context, Waits::Any, this.location, |engine, channel| {
            if this.looked == Some(engine.requests.count_ended()) {
                return None;
            }
            this.looked = Some(engine.requests.count_ended());
            let done = |request: &Request| {
                request
                    .token
                    .is_some_and(|token| engine.requests.is_done(token))
            };
            let position = match this.chosen {
                Some(position) => position,
                None => this.requests.iter().position(done)?,
            };
            this.chosen = Some(position);
            if let Some(token) = this.requests[position].token
                && engine.pay_charge(channel, token)
            {
                this.looked = None;
                return None;
            }
            let before = this.requests[..position].iter();
            let number = before.filter(|request| request.is_active()).count();
            let question = Question::about("waitany", this.requests);
            process.note_answer((this.location, question), small(number) + 1);
            let result = this.requests[position].complete(engine, channel)?;
            Some(Some((position, result)))
        })
    }
}

impl Drop for WaitAny<'_> {
    fn drop(&mut self) {
        if let Some(first) = self.requests.first() {
            first.process.forget(Waits::Any, self.location);
        }
    }
}

/// Returns a number of requests in 32 bits.
pub(crate) fn small(number: usize) -> u32 {
    u32::try_from(number).expect("requests are counted in 32 bits")
}
