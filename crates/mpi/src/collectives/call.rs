//! A collective call: awaited, started, or made a persistent request.
//!
//! An awaited call waits until the part of the rank is over. If ranks exchange their nodes first,
//! only awaited calls do so.
//!
//! *Derived datatypes.* The contribution is packed and the result is unpacked
//! ([`CollectiveCall::packing`], [`CollectiveCall::unpacking`]). The algorithms move packed bytes,
//! and selectors look at the number of these bytes. Packing and unpacking take the same time as for
//! messages ([`Settings::copy_bandwidth`](crate::Settings)).
//!
//! *Not modelled*: adapters that gather and scatter by themselves, and blocks of `alltoall_w` that
//! leave while others are packed. Libraries pack each block when its message leaves, so their first
//! messages leave earlier where packing takes time. The root of a started broadcast unpacks its own
//! data, too.

use observe::SourceLocation;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::collectives::Collective;

use super::{Blocks, Invocation, start_prepared};
use crate::api::persistent::Persistent;
use crate::api::view::{Unpack, pack_at, room_for};
use crate::protocol::engine::PreparedCall;
use crate::{Buffer, Comm, Datatype, Error, Request, Result};

/// The datatypes of a call.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    /// Number of items of the contribution, and the datatype; `None` if the contribution is packed.
    pub(super) send: Option<(u64, Datatype)>,
    /// Number of items of the result, and the datatype; `None` if the result stays packed.
    pub(super) recv: Option<(u64, Datatype)>,
    /// The buffer into which the result is unpacked.
    pub(super) target: Buffer,
}

/// The use of a buffer of the program that gets the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TargetUse {
    /// The contribution at the root, or at all ranks.
    Input,
    /// Room of the length of the result.
    Room,
    /// The result only.
    Result,
}

/// A collective call that has not been made yet. The program awaits the call, starts it with
/// [`CollectiveCall::start`], or makes a persistent request with [`CollectiveCall::init`].
#[must_use = "a call does nothing until it is awaited or started"]
pub struct CollectiveCall<'a, O = Buffer> {
    ranks: &'a Comm,
    progress: CallState<'a>,
    target: Option<(&'a mut Buffer, TargetUse)>,
    /// Returns the output for the result, and false if the rank gets none.
    output: fn(Buffer, bool) -> O,
    location: SourceLocation,
}

/// Steps of a call, with the result, and false if the rank gets none.
type Steps<'a> = Pin<Box<dyn Future<Output = Result<(Buffer, bool)>> + 'a>>;

enum CallState<'a> {
    Called(Result<Invocation>),
    Waiting(CallWait),
    /// A call with steps before or after it. In a box, because most runs do not need the room.
    InSteps(Steps<'a>),
    Over,
}

/// The wait for the end of a call.
struct CallWait {
    request: Request,
    has_result: bool,
    name: &'static str,
    location: SourceLocation,
}

impl Drop for CallWait {
    fn drop(&mut self) {
        self.request.forget_wait(Some(self.name), self.location);
    }
}

impl<O> fmt::Debug for CollectiveCall<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CollectiveCall(at {})", self.location)
    }
}

impl<'a> CollectiveCall<'a> {
    /// Returns a call of all ranks.
    #[track_caller]
    pub(super) fn from_invocation(ranks: &'a Comm, call: Invocation) -> Self {
        Self::new(ranks, Ok(call), SourceLocation::caller())
    }

    /// Returns a call; an error in the arguments is the error of the call.
    #[track_caller]
    pub(super) fn of_checked(ranks: &'a Comm, call: Result<Invocation>) -> Self {
        Self::new(ranks, call, SourceLocation::caller())
    }

    pub(super) const fn new(
        ranks: &'a Comm,
        call: Result<Invocation>,
        location: SourceLocation,
    ) -> Self {
        Self {
            ranks,
            progress: CallState::Called(call),
            target: None,
            output: |result, _| result,
            location,
        }
    }
}

impl<'a, O> CollectiveCall<'a, O> {
    /// Starts the call: `MPI_Ibcast` and so on. The completion has the result. The call takes the
    /// buffer of a broadcast, the room of a scatter, and a buffer to be reduced in place.
    ///
    /// # Errors
    /// As the call.
    pub fn start(mut self) -> Result<Request> {
        let call = self.invocation()?;
        call.start_request(self.ranks, self.location)
    }

    /// Returns a request of the call that [`Request::start`] starts: `MPI_Bcast_init` and so on.
    ///
    /// # Errors
    /// As the call, for its arguments.
    pub fn init(mut self) -> Result<Request> {
        let call = self.invocation()?;
        Ok(Persistent::collective_init(self.ranks, call, self.location))
    }

    /// The contribution is this number of items of a datatype. The blocks of all ranks together are
    /// one contribution.
    pub fn packing(mut self, count: u64, datatype: &Datatype) -> Self {
        if let CallState::Called(Ok(call)) = &mut self.progress {
            let is_scattered = matches!(call.kind, Collective::Scatter | Collective::Scatterv);
            if !is_scattered || self.ranks.rank() == call.root {
                call.views_mut().send = Some((count, datatype.clone()));
            }
        }
        self
    }

    /// The program gives `MPI_IN_PLACE` to this call, or a buffer for the contribution and one for
    /// the result. Ranks are compared in this argument where all ranks give the same.
    pub fn with_in_place_argument(mut self, is_in_place: bool) -> Self {
        if let CallState::Called(Ok(call)) = &mut self.progress {
            call.has_in_place_argument = is_in_place;
        }
        self
    }

    /// The rank expects a block of this length from each neighbour, or else of the length of the
    /// blocks that the rank sends.
    pub fn with_block_of_neighbors(mut self, length: u64) -> Self {
        if let CallState::Called(Ok(call)) = &mut self.progress
            && let Some(neighbors) = &call.neighbors
        {
            let blocks = neighbors.sources.iter().map(|_| length);
            call.recv = Some(Blocks::packed(blocks));
        }
        self
    }

    /// Puts the result into this buffer, which stays as it is at ranks without a result.
    pub fn into_place(self, target: &'a mut Buffer) -> CollectiveCall<'a, ()> {
        self.with_target(target, TargetUse::Result)
    }

    /// Returns the call with its result as a value at ranks that have a result. The call takes the
    /// same buffer as [`CollectiveCall::start`].
    pub fn by_value(mut self) -> CollectiveCall<'a, Option<Buffer>> {
        self.progress = CallState::Called(self.invocation());
        self.target = None;
        self.with_output(|result, has_result| has_result.then_some(result))
    }

    pub(super) fn with_output<P>(self, output: fn(Buffer, bool) -> P) -> CollectiveCall<'a, P> {
        CollectiveCall {
            ranks: self.ranks,
            progress: self.progress,
            target: self.target,
            output,
            location: self.location,
        }
    }

    pub(super) fn with_target(
        mut self,
        target: &'a mut Buffer,
        target_use: TargetUse,
    ) -> CollectiveCall<'a, ()> {
        self.target = Some((target, target_use));
        self.with_output(|_, _| ())
    }

    /// Returns the invocation, with the buffer that the call takes from the program.
    fn invocation(&mut self) -> Result<Invocation> {
        let progress = std::mem::replace(&mut self.progress, CallState::Over);
        let CallState::Called(call) = progress else {
            return Err(Error::Request);
        };
        let mut call = call?;
        let Some((target, target_use)) = &mut self.target else {
            return Ok(call);
        };
        if let Some(views) = &mut call.views
            && let Some((count, datatype)) = &views.recv
        {
            let is_root = call.kind == Collective::Bcast && self.ranks.rank() == call.root;
            match target_use {
                TargetUse::Input if is_root => {
                    views.send.clone_from(&views.recv);
                    call.input = target.clone();
                }
                TargetUse::Input => call.input = room_for(datatype, *count, target)?,
                TargetUse::Room => call.room = Some(room_for(datatype, *count, target)?),
                TargetUse::Result => drop(datatype.packed_length(*count, target)?),
            }
            views.target = target.clone();
            return Ok(call);
        }
        match target_use {
            TargetUse::Input => call.input = taken(target),
            TargetUse::Room => call.room = Some(taken(target)),
            TargetUse::Result => {}
        }
        Ok(call)
    }

    /// Makes the call, or returns the steps that come before it.
    fn begin_call(&mut self) -> Result<CallState<'a>> {
        let (ranks, location) = (self.ranks, self.location);
        let mut call = self.invocation()?;
        if let Some(views) = call.views.take() {
            let steps = perform_view(ranks, call, *views, location);
            return Ok(CallState::InSteps(Box::pin(steps)));
        }
        let call = ranks.raised(call.prepare_call(ranks, false, location))?;
        if call.asks_nodes {
            let steps = perform_prepared(ranks, Box::new(call));
            return Ok(CallState::InSteps(Box::pin(steps)));
        }
        let (name, has_result) = (call.name, call.has_result);
        let request = Request::new(ranks, start_prepared(ranks, call));
        Ok(CallState::Waiting(CallWait {
            request,
            has_result,
            name,
            location,
        }))
    }
}

impl CollectiveCall<'_, ()> {
    /// The buffer that the call fills has this number of items of a datatype. The bytes between the
    /// data stay as they are. The root of a broadcast packs them.
    pub fn unpacking(mut self, count: u64, datatype: &Datatype) -> Self {
        if let CallState::Called(Ok(call)) = &mut self.progress {
            call.views_mut().recv = Some((count, datatype.clone()));
        }
        self
    }
}

/// Takes a buffer out of its place and leaves a phantom of the same length there.
fn taken(buffer: &mut Buffer) -> Buffer {
    let length = buffer.len();
    std::mem::replace(buffer, Buffer::phantom(length))
}

impl<O> Future for CollectiveCall<'_, O> {
    type Output = Result<O>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<O>> {
        let this = self.get_mut();
        if matches!(this.progress, CallState::Called(_)) {
            this.progress = this.begin_call()?;
        }
        let done = match &mut this.progress {
            CallState::Waiting(wait) => {
                let request = &mut wait.request;
                let done = ready!(request.poll_wait(context, Some(wait.name), wait.location));
                done.map(|done| (done.buffer, wait.has_result))
            }
            CallState::InSteps(steps) => ready!(steps.as_mut().poll(context)),
            CallState::Called(_) | CallState::Over => Err(Error::Request),
        };
        this.progress = CallState::Over;
        let (mut result, has_result) = done?;
        if let Some((target, _)) = this.target.take()
            && has_result
        {
            *target = result.take();
        }
        Poll::Ready(Ok((this.output)(result, has_result)))
    }
}

impl Invocation {
    /// Starts a collective that the program waits for later.
    pub(crate) fn start_request(&self, comm: &Comm, location: SourceLocation) -> Result<Request> {
        let packed = match self.views.as_deref().and_then(|views| views.send.as_ref()) {
            Some((count, datatype)) => Some(Self {
                input: pack_at(comm, &self.input, datatype, *count)?,
                views: None,
                ..self.clone()
            }),
            None => None,
        };
        let given = packed.as_ref().unwrap_or(self);
        let call = comm.raised(given.prepare_call(comm, true, location))?;
        let unpack = match self.views.as_deref() {
            Some(Views {
                recv: Some((count, datatype)),
                target,
                ..
            }) if call.has_result => {
                fits(datatype.packed_length(*count, target)?, call.recv.len())?;
                Some(Unpack::new(datatype.clone(), *count, target.clone()))
            }
            _ => None,
        };
        if !call.is_independent {
            // The rank may send before its schedule has received what it has learnt by then.
            crate::exploration::choose(comm.process().channel());
        }
        let request = Request::new(comm, start_prepared(comm, call));
        Ok(match unpack {
            Some(unpack) => request.unpacking(unpack),
            None => request,
        })
    }
}

/// Performs a collective when the ranks have found out their nodes.
async fn perform_prepared(comm: &Comm, call: Box<PreparedCall>) -> Result<(Buffer, bool)> {
    let (name, location, has_result) = (call.name, call.location, call.has_result);
    let perform = async |call| {
        let token = start_prepared(comm, call);
        let done = Request::new(comm, token).wait_in(name, location).await?;
        Ok::<_, Error>(done.buffer)
    };
    if comm.process().note_node_setup(call.context) {
        perform(call.node_setup()).await?;
    }
    Ok((perform(*call).await?, has_result))
}

/// Packs the contribution, performs the call, and unpacks the result. Returns the buffer into
/// which the result was unpacked, or the packed result.
async fn perform_view(
    comm: &Comm,
    mut call: Invocation,
    mut views: Views,
    location: SourceLocation,
) -> Result<(Buffer, bool)> {
    let name = call.name;
    if let Some((count, datatype)) = &views.send {
        comm.process().wait_until_idle(name, location).await;
        call.input = pack_at(comm, &call.input, datatype, *count)?;
    }
    let is_own = call.kind == Collective::Bcast && comm.rank() == call.root;
    let call = CollectiveCall::new(comm, Ok(call), location).by_value();
    let (Some(result), Some((count, datatype))) = (call.await?, views.recv) else {
        return Ok((views.target, false));
    };
    if is_own {
        return Ok((views.target, true));
    }
    let room = datatype.packed_length(count, &views.target)?;
    fits(room, result.len())?;
    datatype.unpack(count, &result, &mut views.target)?;
    comm.process()
        .with_engine(|engine, channel| engine.processor.charge_copy(channel, room));
    comm.process().wait_until_idle(name, location).await;
    Ok((views.target, true))
}

fn fits(length: u64, expected: u64) -> Result<()> {
    match length == expected {
        true => Ok(()),
        false => Err(Error::Blocks { length, expected }),
    }
}
