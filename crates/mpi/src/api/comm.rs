//! Communicators: the calls that a program makes.
//!
//! Nonblocking calls (`isend`, `irecv`) act at once; blocking calls are futures that act at the
//! first poll. A blocking send keeps a share of the buffer, so no later write of the program can
//! change the message; a receive borrows its buffer until it is over.
//!
//! Ranks in arguments and results of calls are ranks of the communicator; reports of deadlocks and
//! warnings name the ranks of the world.

use observe::SourceLocation;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use channel::{AbortReason, COLLECTIVE, Element};

use crate::api::group::Members;
use crate::api::modes::start_buffered;
use crate::api::probe::{self, look_for, picked_sight};
use crate::channel::{Channel, Interest, Level, Token};
use crate::exploration;
use crate::protocol::engine::seen::ProbeScope;
use crate::protocol::engine::{ProtocolEngine, SendCall};
use crate::protocol::look::Question;
use crate::protocol::process::{Call, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{
    Buffer, Envelope, Error, PROC_NULL, Pattern, Request, Result, SendMode, Source, Status, TAG_UB,
    Tag, TypeSignature,
};

/// The context of a communicator's point-to-point messages; collectives use the next one.
const POINT_TO_POINT: u32 = 0;

/// A group of ranks that exchange messages.
///
/// ```no_run
/// # use mpi::prelude::*;
/// async fn hello(world: Comm) -> Result<()> {
///     let mut token = world.buffer(8);
///     if world.rank() == 0 {
///         world.send(&token, 1, 0).await?;
///     } else if world.rank() == 1 {
///         let status = world.recv(&mut token, mpi::ANY_SOURCE, mpi::ANY_TAG).await?;
///         world.println(format_args!("{} bytes from rank {}", status.length, status.source));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Comm {
    process: Rc<Process>,
    members: Members,
    rank: u32,
    context: u32,
}

impl Comm {
    pub(crate) fn new_world(process: Rc<Process>) -> Self {
        let (rank, size) = (process.channel().rank(), process.channel().size());
        Self {
            process,
            members: Members::all_ranks(size),
            rank,
            context: POINT_TO_POINT,
        }
    }

    /// Another communicator of this process.
    pub(crate) fn derived(
        &self,
        members: Members,
        rank: u32,
        context: u32,
        location: SourceLocation,
    ) -> Self {
        let process = Rc::clone(&self.process);
        process.contexts().open_context(context);
        process.properties().inherit(self.context, context);
        if exploration::is_explored(process.channel()) {
            process.contexts().note_made(context, location);
        }
        Self {
            process,
            members,
            rank,
            context,
        }
    }

    /// Other ranks in the same context, among which this one has a number.
    pub(crate) fn with_members(&self, members: Members, rank: u32) -> Self {
        Self {
            process: Rc::clone(&self.process),
            members,
            rank,
            context: self.context,
        }
    }

    /// The same ranks in the context of collectives.
    pub(crate) fn collective(&self) -> Result<Self> {
        self.check_context()?;
        let mut inner = self.clone();
        inner.context += COLLECTIVE;
        Ok(inner)
    }

    /// Returns the context in which collective calls are counted: the context of collectives, or
    /// the context of the intercommunicator if the ranks are the ranks of its groups.
    pub(crate) fn call_context(&self) -> Result<u32> {
        self.check_context()?;
        Ok(match self.members.first_group() {
            0 => self.context + COLLECTIVE,
            _ => self.context,
        })
    }

    pub(crate) const fn process(&self) -> &Rc<Process> {
        &self.process
    }

    pub(crate) const fn members(&self) -> &Members {
        &self.members
    }

    /// Returns numbers that identify the communicator: equal at all its ranks, and different from
    /// the numbers of every other communicator at the same time.
    #[must_use]
    pub fn identity(&self) -> (u32, u32) {
        (self.context(), self.members().world(0))
    }

    pub(crate) const fn context(&self) -> u32 {
        self.context
    }

    pub(crate) const fn rank_in_32_bits(&self) -> u32 {
        self.rank
    }

    /// The number that this rank has in the world.
    pub(crate) fn world_rank(&self) -> u32 {
        self.process.rank
    }

    /// The number of this rank, from 0.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of ranks.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.members.count() as usize
    }

    /// The time in seconds since the start.
    #[must_use]
    #[track_caller]
    pub fn wtime(&self) -> f64 {
        self.process.read_clock(SourceLocation::caller())
    }

    /// The name of the host on which the rank runs: `MPI_Get_processor_name`.
    #[must_use]
    pub fn host_name(&self) -> String {
        self.process.channel().host_name()
    }

    /// A buffer of `length` bytes, real and zero or phantom as the run wants.
    #[must_use]
    pub fn buffer(&self, length: u64) -> Buffer {
        if self.process.channel().settings().phantom {
            Buffer::phantom(length)
        } else {
            Buffer::zeroed(length)
        }
    }

    /// A buffer with these bytes, or a phantom of their length if the run wants.
    #[must_use]
    pub fn buffer_from(&self, bytes: &[u8]) -> Buffer {
        if self.process.channel().settings().phantom {
            Buffer::phantom(bytes.len() as u64)
        } else {
            Buffer::from(bytes.to_vec())
        }
    }

    fn check_context(&self) -> Result<()> {
        if self.process.is_freed(self.context) {
            return Err(Error::Comm {
                context: self.context,
            });
        }
        Ok(())
    }

    /// The world rank of a rank.
    pub(crate) fn peer(&self, rank: usize) -> Result<u32> {
        let size = self.size();
        let world = self.members.find_world(rank);
        world.ok_or(Error::Rank { rank, size })
    }

    /// Returns the status with its source, if any, as a rank of this communicator.
    pub(super) fn status_in_group(&self, status: Status) -> Status {
        self.members.status_in_group(status)
    }

    pub(crate) fn envelope(&self, tag: u32) -> Result<Envelope> {
        self.check_context()?;
        let is_own = self.context & COLLECTIVE != 0;
        if tag > TAG_UB && !is_own {
            return Err(Error::Tag(tag));
        }
        Ok(Envelope::new(self.context, self.process.rank, tag))
    }

    /// Returns true if messages of the program can have this tag.
    #[inline]
    fn may_have_tag(&self, tag: u32) -> bool {
        (tag <= TAG_UB || self.context & COLLECTIVE != 0) && !self.process.is_freed(self.context)
    }

    /// Returns the pattern of valid arguments; `None` for other arguments and the null process.
    #[inline(always)]
    fn find_pattern(&self, source: Source, tag: Tag) -> Option<Pattern> {
        let source = match source {
            Source::Rank(rank) => Some(self.members.find_world(rank)?),
            Source::Any => None,
        };
        let (tag, checked) = match tag {
            Tag::Is(tag) => (Some(tag), tag),
            Tag::Any => (None, 0),
        };
        self.may_have_tag(checked).then_some(Pattern {
            context: self.context,
            source,
            tag,
        })
    }

    /// Returns the pattern that a receive or a probe accepts; `None` for the null process.
    #[inline]
    pub(crate) fn pattern_or_null(&self, source: Source, tag: Tag) -> Result<Option<Pattern>> {
        match self.find_pattern(source, tag) {
            Some(pattern) => Ok(Some(pattern)),
            None => self.raised(self.null_or_error(source, tag)),
        }
    }

    /// Finds the mistake in arguments without a pattern; `None` for the null process.
    #[cold]
    fn null_or_error(&self, source: Source, tag: Tag) -> Result<Option<Pattern>> {
        match source {
            Source::Rank(PROC_NULL) | Source::Any => {}
            Source::Rank(rank) => _ = self.peer(rank)?,
        }
        if let Tag::Is(tag) = tag {
            self.envelope(tag)?;
        }
        self.check_context()?;
        Ok(None)
    }

    /// Sends a message if its send is over at once, and takes the buffer; returns false if the
    /// message was not sent.
    #[inline]
    fn send_at_once(
        &self,
        mode: SendMode,
        (buffer, destination, tag): &mut (Buffer, usize, u32),
        location: SourceLocation,
    ) -> bool {
        let settings = self.process.channel().settings();
        if mode != SendMode::Standard || settings.tells_eager_sends || !self.may_have_tag(*tag) {
            return false;
        }
        let Some(peer) = self.members.find_world(*destination) else {
            return false;
        };
        let mut envelope = Envelope::new(self.context, self.process.rank, *tag);
        envelope.signature = self.signature(buffer, location);
        self.process.with_engine(|engine, channel| {
            let to = (settings, peer, envelope);
            engine.send_at_once(channel, to, (buffer, location))
        })
    }

    /// Returns the signature of a message.
    #[inline]
    pub(crate) fn signature(&self, buffer: &Buffer, location: SourceLocation) -> TypeSignature {
        let element = buffer.element();
        if element.is_bytes() {
            return TypeSignature::NONE;
        }
        self.typed_signature(element, location)
    }

    #[inline(never)]
    fn typed_signature(&self, element: Element, location: SourceLocation) -> TypeSignature {
        let log = self.process.call_log();
        log.map_or(TypeSignature::NONE, |log| log.signature(element, location))
    }

    fn start_send(
        &self,
        buffer: Buffer,
        destination: usize,
        tag: u32,
        call: (SendMode, bool, SourceLocation),
    ) -> Result<Token> {
        self.raised(self.try_start_send(buffer, destination, tag, call))
    }

    fn try_start_send(
        &self,
        buffer: Buffer,
        destination: usize,
        tag: u32,
        (mode, blocks, location): (SendMode, bool, SourceLocation),
    ) -> Result<Token> {
        let mut envelope = self.envelope(tag)?;
        envelope.ready = mode == SendMode::Ready;
        envelope.signature = self.signature(&buffer, location);
        if destination == PROC_NULL {
            return Ok(self
                .process
                .with_engine(|engine, _| engine.requests.insert_null(buffer, location)));
        }
        let peer = self.peer(destination)?;
        let call = SendCall {
            blocks,
            synchronous: mode == SendMode::Synchronous,
            exchanges: false,
            location,
        };
        if mode == SendMode::Buffered {
            return start_buffered(self, buffer, peer, envelope, call);
        }
        Ok(self
            .process
            .with_engine(|engine, channel| engine.send(channel, peer, envelope, buffer, call)))
    }

    pub(crate) fn isend_at(
        &self,
        buffer: Buffer,
        destination: usize,
        tag: u32,
        location: SourceLocation,
    ) -> Result<Request> {
        self.isend_in(SendMode::Standard, buffer, destination, tag, location)
    }

    pub(crate) fn isend_in(
        &self,
        mode: SendMode,
        buffer: Buffer,
        destination: usize,
        tag: u32,
        location: SourceLocation,
    ) -> Result<Request> {
        let token = self.start_send(buffer, destination, tag, (mode, false, location))?;
        Ok(Request::new(self, token))
    }

    pub(crate) fn send_in(
        &self,
        mode: SendMode,
        buffer: &Buffer,
        destination: usize,
        tag: u32,
        location: SourceLocation,
    ) -> Send<'_> {
        Send {
            comm: self,
            message: Some((buffer.clone(), destination, tag)),
            mode,
            token: None,
            location,
        }
    }

    pub(crate) fn irecv_at(
        &self,
        buffer: Buffer,
        source: Source,
        tag: Tag,
        location: SourceLocation,
    ) -> Result<Request> {
        self.irecv_and((buffer, false), source, tag, location)
    }

    /// Starts a receive; `unpacks` if the received data are unpacked.
    pub(crate) fn irecv_and(
        &self,
        (buffer, unpacks): (Buffer, bool),
        source: Source,
        tag: Tag,
        location: SourceLocation,
    ) -> Result<Request> {
        let Some(pattern) = self.pattern_or_null(source, tag)? else {
            let token = self
                .process
                .with_engine(|engine, _| engine.requests.insert_null(buffer, location));
            return Ok(Request::new(self, token));
        };
        let token = self.process.with_engine(|engine, channel| {
            engine.receive(channel, pattern, (buffer, unpacks), location)
        });
        Ok(Request::new(self, token))
    }

    /// Starts a send: `MPI_Isend`.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range.
    #[track_caller]
    pub fn isend(&self, buffer: Buffer, destination: usize, tag: u32) -> Result<Request> {
        self.isend_at(buffer, destination, tag, SourceLocation::caller())
    }

    /// Starts a receive of at most the length of `buffer`: `MPI_Irecv`.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range.
    #[track_caller]
    pub fn irecv(
        &self,
        buffer: Buffer,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request> {
        self.irecv_at(buffer, source.into(), tag.into(), SourceLocation::caller())
    }

    /// Sends a message: `MPI_Send`. The send is over when the buffer can be reused: at once for an
    /// eager message, after the data have left for a rendezvous message.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range.
    #[track_caller]
    pub fn send(&self, buffer: &Buffer, destination: usize, tag: u32) -> Send<'_> {
        let location = SourceLocation::caller();
        self.send_in(SendMode::Standard, buffer, destination, tag, location)
    }

    /// Receives a message of at most the length of `buffer`: `MPI_Recv`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the message is longer; [`Error::Rank`] or [`Error::Tag`] for
    /// arguments out of range.
    #[track_caller]
    pub fn recv<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Recv<'a> {
        self.recv_at(buffer, source.into(), tag.into(), SourceLocation::caller())
    }

    pub(crate) fn recv_at<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        source: Source,
        tag: Tag,
        location: SourceLocation,
    ) -> Recv<'a> {
        Recv {
            comm: self,
            buffer,
            pattern: self.pattern_or_null(source, tag),
            token: None,
            location,
        }
    }

    /// Sends one message and receives another at the same time: `MPI_Sendrecv`.
    ///
    /// # Errors
    /// As [`Comm::send`] and [`Comm::recv`].
    #[track_caller]
    pub fn sendrecv<'a>(
        &'a self,
        send: &Buffer,
        destination: usize,
        send_tag: u32,
        recv: &'a mut Buffer,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status>> + 'a {
        let send = (send.clone(), destination, send_tag);
        let accepted = (source.into(), recv_tag.into());
        self.sendrecv_at(send, recv, accepted, SourceLocation::caller())
    }

    async fn sendrecv_at(
        &self,
        (message, destination, send_tag): (Buffer, usize, u32),
        recv: &mut Buffer,
        (source, recv_tag): (Source, Tag),
        location: SourceLocation,
    ) -> Result<Status> {
        // Nothing is sent if the receive is refused, and both are over when the call is, also after
        // an error.
        let pattern = Ok(self.pattern_or_null(source, recv_tag)?);
        let mut sending = self.isend_at(message, destination, send_tag, location)?;
        let receiving = Recv {
            comm: self,
            buffer: recv,
            pattern,
            token: None,
            location,
        };
        let received = receiving.await;
        sending.wait_in("sendrecv, for its send", location).await?;
        received
    }

    /// Sends a message and receives another into the same buffer: `MPI_Sendrecv_replace`.
    ///
    /// # Errors
    /// As [`Comm::sendrecv`].
    #[track_caller]
    pub fn sendrecv_replace<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        destination: usize,
        send_tag: u32,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status>> + 'a {
        // The message keeps its own share of the bytes.
        let message = (buffer.clone(), destination, send_tag);
        let accepted = (source.into(), recv_tag.into());
        self.sendrecv_at(message, buffer, accepted, SourceLocation::caller())
    }

    /// Waits until a message can be received, without receiving the message: `MPI_Probe`.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range.
    #[track_caller]
    pub fn probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status>> + '_ {
        let location = SourceLocation::caller();
        let pattern = self.pattern_or_null(source.into(), tag.into());
        async move {
            let Some(pattern) = pattern? else {
                return Ok(Status::PROC_NULL);
            };
            let picked = look_for(self, pattern, true, location).await;
            let (picked, _yes) = picked_sight(picked);
            Ok(probe::wait_for_message(self, pattern, picked, location).await)
        }
    }

    /// Returns the status of the message that a receive would get, if any: `MPI_Iprobe`. The first
    /// failed probe returns at once; a repetition without another operation or event in between
    /// waits for the next event of this rank.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range.
    #[track_caller]
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Option<Status>>> + '_ {
        let location = SourceLocation::caller();
        let pattern = self.pattern_or_null(source.into(), tag.into());
        async move {
            let Some(pattern) = pattern? else {
                return Ok(Some(Status::PROC_NULL));
            };
            match look_for(self, pattern, false, location).await {
                PickedAnswer::No => return Ok(None),
                PickedAnswer::Yes(picked, _yes) => {
                    let status = probe::wait_for_message(self, pattern, picked, location).await;
                    return Ok(Some(status));
                }
                PickedAnswer::Unpicked => {}
            }
            let scope = ProbeScope::from_pattern(pattern);
            let attempt = move |process: &Process, engine: &mut ProtocolEngine| match scope.probe(
                engine,
                process.channel(),
                location,
            ) {
                Some(status) => {
                    process.record_success();
                    process.note_answer((location, Question::Probe(pattern)), 1);
                    Some(Some(status))
                }
                None => process
                    .may_answer_false(
                        engine.requests.count_changes(),
                        (location, Question::Probe(pattern)),
                    )
                    .then_some(None),
            };
            let found = Call::new(&self.process, location, Waits::Iprobe(pattern), attempt).await;
            if let Some(status) = &found {
                self.process.note_source(&pattern, status.source, location);
            }
            Ok(found.map(|status| self.status_in_group(status)))
        }
    }

    /// Prints a line of the program's own output, such as `world.println(format_args!("{x}"))`.
    pub fn println(&self, text: fmt::Arguments<'_>) {
        self.process.channel().print(text);
    }

    /// Writes a line to the log with the time, the rank and its host. The text is not formatted if
    /// the level is filtered out.
    pub fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.process.channel().log(level, text);
    }

    /// Notes objects that the program has made and never freed, in words: datatypes, for example,
    /// which are no objects of this crate. A model checker that looks for leaks reports them.
    pub fn note_unfreed(&self, what: String) {
        self.process.note_unfreed(what);
    }

    /// Ends the whole run: `MPI_Abort`. Does not return.
    pub async fn abort(&self, code: i32) -> ! {
        self.process.channel().abort(AbortReason::Program(code));
        let park = |context: &mut Context<'_>| {
            self.process
                .channel()
                .park(Some(context.waker()), Interest::All);
            Poll::Pending
        };
        std::future::poll_fn(park).await
    }
}

impl AsRef<Self> for Comm {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size, context) = (self.rank(), self.size(), self.context);
        write!(f, "Comm(rank {rank} of {size}, context {context})")
    }
}

/// The future of [`Comm::send`]. A message is still sent if its future is dropped before the end.
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
pub struct Send<'a> {
    comm: &'a Comm,
    message: Option<(Buffer, usize, u32)>,
    mode: SendMode,
    token: Option<Token>,
    location: SourceLocation,
}

impl Future for Send<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        if let Some(message) = &mut this.message
            && this.comm.send_at_once(this.mode, message, this.location)
        {
            this.message = None;
            return Poll::Ready(Ok(()));
        }
        this.poll_request(context)
    }
}

impl Send<'_> {
    /// Polls a send that takes time, or that is an operation for another reason.
    #[inline(never)]
    fn poll_request(&mut self, context: &Context<'_>) -> Poll<Result<()>> {
        let this = self;
        let begins = this.message.is_some();
        if let Some((buffer, destination, tag)) = this.message.take() {
            let call = (this.mode, true, this.location);
            match this.comm.start_send(buffer, destination, tag, call) {
                Ok(token) => this.token = Some(token),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Some(token) = this.token else {
            return Poll::Ready(Err(Error::Request));
        };
        let wait = (Waits::Operation(token), this.location, begins);
        let over = |engine: &mut ProtocolEngine, _: &dyn Channel| {
            let requests = &mut engine.requests;
            (requests.is_done(token)).then(|| requests.take_result(token).0.map(drop))
        };
        let result = this.comm.process.poll_operation(context, wait, over);
        if result.is_ready() {
            this.token = None;
        }
        let comm = this.comm;
        let translate = |result: Result<()>| {
            comm.raised(result.map_err(|error| comm.members.translate_error(error)))
        };
        result.map(translate)
    }
}

impl Drop for Send<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            let process = &self.comm.process;
            process.forget(Waits::Operation(token), self.location);
            process.release_result(token);
        }
    }
}

/// The future of [`Comm::recv`]. Dropping the future before its end withdraws the receive; a
/// message that has matched the receive is then lost.
#[must_use = "an operation does nothing until it is awaited"]
#[derive(Debug)]
pub struct Recv<'a> {
    comm: &'a Comm,
    buffer: &'a mut Buffer,
    pattern: Result<Option<Pattern>>,
    token: Option<Token>,
    location: SourceLocation,
}

impl Future for Recv<'_> {
    type Output = Result<Status>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Status>> {
        let this = self.get_mut();
        let (comm, buffer, location) = (this.comm, &mut *this.buffer, this.location);
        let (token, begins) = match this.token {
            Some(token) => (token, false),
            None => {
                let pattern = match &this.pattern {
                    Ok(Some(pattern)) => *pattern,
                    Ok(None) => return Poll::Ready(Ok(Status::PROC_NULL)),
                    Err(error) => return Poll::Ready(Err(*error)),
                };
                let room = buffer.take();
                let begin = |engine: &mut ProtocolEngine, channel: &dyn Channel| {
                    engine.receive(channel, pattern, (room, false), location)
                };
                let (token, parks) = comm.process.begin_or_park(context, location, begin);
                this.token = Some(token);
                if parks {
                    return Poll::Pending;
                }
                (token, true)
            }
        };
        let wait = (Waits::Operation(token), location, begins);
        let mut done = Poll::Pending;
        // The result is long: the attempt writes the returned value.
        let over = |engine: &mut ProtocolEngine, channel: &dyn Channel| {
            let result = engine.take_received(channel, token, buffer)?;
            done = Poll::Ready(comm.members.translate_result(result));
            Some(())
        };
        if comm.process.poll_operation(context, wait, over).is_ready() {
            this.token = None;
            // A second poll after the end would be a new receive; futures must not be polled again.
            this.pattern = Err(Error::Request);
        }
        if let Poll::Ready(Err(error)) = done {
            comm.process.raise(comm.context, error);
        }
        done
    }
}

impl Drop for Recv<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            let process = &self.comm.process;
            process.forget(Waits::Operation(token), self.location);
            *self.buffer = process.cancel_receive(token);
        }
    }
}
