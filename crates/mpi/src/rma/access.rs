//! Accesses: calls that read and change the memory of another rank.
//!
//! A put or an accumulate returns at once; its data are at the target after the next
//! synchronisation. A call with a result waits for the result, as MPI's request-based form with a
//! wait. `target` is a rank of the window's communicator, `place` a displacement in units of the
//! target's window, or a [`TargetPlace`] with a datatype: then one message has the packed data and
//! a description of their places.
//!
//! *Not modelled*: the time to pack and unpack such data.

use observe::SourceLocation;
use std::future::Future;

use super::accumulate::code_of;
use super::error::WindowError;
use super::{RemoteWindow, RmaCall, Segment, SyncMode, TargetPlace, Window, bounds};
use crate::channel::Token;
use crate::exploration::is_explored;
use crate::protocol::engine::{AccessCall, ProtocolEngine, WindowCalls};
use crate::protocol::look::{Answers, Question, mix};
use crate::protocol::process::{PickedAnswer, repetition};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Error, Op, PROC_NULL, Request, Result, Scalar};

/// A read that may repeat the read before.
enum Repetition {
    /// The operation of a read with the same result.
    Over(Token),
    /// The read begins; the result that the read must not have.
    Begins(Option<Buffer>),
}

/// Arguments of an access.
struct Arguments {
    name: &'static str,
    call: RmaCall,
    target: usize,
    place: TargetPlace,
    /// Length in the window in bytes.
    length: u64,
    payload: Buffer,
    result: Buffer,
    element: u64,
}

impl Arguments {
    fn for_put(name: &'static str, origin: &Buffer, target: usize, place: TargetPlace) -> Self {
        Self {
            name,
            call: RmaCall::Put,
            target,
            place,
            length: origin.len(),
            payload: origin.clone(),
            result: Buffer::phantom(0),
            element: 1,
        }
    }

    fn for_get(name: &'static str, result: Buffer, target: usize, place: TargetPlace) -> Self {
        Self {
            name,
            call: RmaCall::Get,
            target,
            place,
            length: result.len(),
            payload: Buffer::phantom(0),
            result,
            element: 1,
        }
    }

    fn with_op(mut self, op: &Op) -> Result<Self> {
        let code = code_of(op)?;
        let (element, length) = (op.element_size(), self.length);
        if !length.is_multiple_of(element) {
            return Err(Error::Op { element, length });
        }
        self.call = match self.call {
            RmaCall::Get => RmaCall::GetAccumulate(code),
            _ => RmaCall::Accumulate(code),
        };
        self.element = element;
        Ok(self)
    }

    /// Returns a number that differs for different reads, as far as 64 bits allow.
    fn read_number(&self, context: u32, peer: u32, offset: u64) -> u64 {
        let call = u64::from(self.call.frame_code());
        let words = [context.into(), peer.into(), call, offset, self.length];
        let given = self.payload.bytes().unwrap_or_default().iter();
        let given = given.map(|&byte| u64::from(byte));
        words.into_iter().chain(given).fold(0, mix)
    }

    /// Returns the arguments with the data that are combined with the memory that is read.
    fn with_payload(mut self, origin: &Buffer) -> Result<Self> {
        let (length, expected) = (origin.len(), self.length);
        if length != expected {
            return Err(Error::of_window(WindowError::Length { length, expected }));
        }
        self.payload = origin.clone();
        Ok(self)
    }
}

impl Window {
    /// Returns the first byte of a put or a get at the adapter of the target; `None` if the access
    /// is a message. Only real buffers and windows have bytes.
    fn remote(&self, target: usize, offset: u64, call: &Arguments) -> Option<RemoteWindow> {
        let buffer = match call.call {
            RmaCall::Put => &call.payload,
            RmaCall::Get => &call.result,
            _ => return None,
        };
        let window = self.remote_window(target)?;
        let is_alike = buffer.is_phantom() == window.is_phantom && !buffer.is_empty();
        is_alike.then(|| RemoteWindow {
            address: window.address.wrapping_add(offset),
            ..window
        })
    }

    /// Returns the first byte of an access in the window of the target, and the places there if
    /// there are several.
    fn target_places(&self, arguments: &Arguments) -> Result<(u64, Vec<Segment>)> {
        let (target, length) = (arguments.target, arguments.length);
        let place = &arguments.place;
        let Some(expected) = place.data_length() else {
            let offset = self.locate_range(target, place.displacement, length)?;
            return Ok((offset, Vec::new()));
        };
        if length != expected {
            return Err(Error::of_window(WindowError::Length { length, expected }));
        }
        let first = self.locate_range(target, place.displacement, 0)?;
        let move_up = |&(offset, length): &Segment| (first.saturating_add(offset), length);
        let places: Vec<Segment> = place.pieces.iter().map(move_up).collect();
        let (start, end) = bounds(&places).unwrap_or((0, u64::MAX));
        self.check_range(target, start, end - start)?;
        match places[..] {
            [(offset, _)] => Ok((offset, Vec::new())),
            _ => Ok((start, places)),
        }
    }

    /// Starts an access.
    async fn access(
        &self,
        arguments: Result<Arguments>,
        location: SourceLocation,
    ) -> Result<Request> {
        let arguments = arguments?;
        let (target, process) = (arguments.target, self.comm().process());
        if target == PROC_NULL {
            return Ok(Request::new(
                self.comm(),
                process.with_engine(|engine, _| {
                    engine.requests.insert_null(arguments.result, location)
                }),
            ));
        }
        let peer = self.comm().peer(target)?;
        let mode = self.epochs().borrow().mode(self.number(), target)?;
        let (offset, places) = self.target_places(&arguments)?;
        let is_repeatable = arguments.call.is_answered()
            && mode == SyncMode::Lock
            && places.is_empty()
            && is_explored(process.channel());
        let number = arguments.read_number(self.comm().context(), peer, offset);
        let at = is_repeatable.then_some((location, Question::Read(number)));
        let begun = process.begun();
        let before = match at {
            None => None,
            Some(at) => match ask_repetition(self, (arguments.name, peer), at).await {
                Repetition::Over(token) => return Ok(Request::new(self.comm(), token)),
                Repetition::Begins(before) => before,
            },
        };
        self.lock_first(target, location).await?;
        process.wait_until_idle(arguments.name, location).await;
        let fences = {
            let mut epochs = self.epochs().borrow_mut();
            epochs.touched.insert(target);
            epochs.fences
        };
        let remote = match places[..] {
            [] => self.remote(target, offset, &arguments),
            _ => None,
        };
        let access = AccessCall {
            name: arguments.name,
            context: self.comm().context(),
            peer,
            call: arguments.call,
            offset,
            places,
            payload: arguments.payload,
            remote,
            result: arguments.result,
            element: arguments.element,
            mode,
            fences,
            before,
            location,
        };
        let token = process.with_engine(|engine, channel| {
            let mut calls = WindowCalls::new(engine, channel, access.context);
            match access.call.is_answered() {
                true if is_repeatable => calls.read_repeatedly(access),
                true => calls.read_remote(access),
                false => calls.write_remote(access),
            }
        });
        if let Some(at) = at {
            repetition::note_read(process, begun, at, (token, true));
        }
        Ok(Request::new(self.comm(), token))
    }

    async fn write_now(
        &self,
        arguments: Result<Arguments>,
        location: SourceLocation,
    ) -> Result<()> {
        self.access(arguments, location).await?.free();
        Ok(())
    }

    async fn read_now(
        &self,
        arguments: Result<Arguments>,
        location: SourceLocation,
    ) -> Result<Buffer> {
        let mut request = self.access(arguments, location).await?;
        Ok(request.wait_at(location).await?.buffer)
    }

    /// Writes `origin` to the memory of `target`: `MPI_Put`.
    ///
    /// # Errors
    /// [`WindowError::NoEpoch`] outside of an epoch, [`WindowError::Range`] if the access does not
    /// lie within the window, [`Error::Rank`] for a rank out of range.
    #[track_caller]
    pub fn put<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
    ) -> impl Future<Output = Result<()>> + 'a {
        let arguments = Arguments::for_put("put", origin, target, place.into());
        self.write_now(Ok(arguments), SourceLocation::caller())
    }

    /// Starts a [`Window::put`]; the request is over when `origin` can be used again: `MPI_Rput`.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[track_caller]
    pub fn rput<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
    ) -> impl Future<Output = Result<Request>> + 'a {
        let arguments = Arguments::for_put("put", origin, target, place.into());
        self.access(Ok(arguments), SourceLocation::caller())
    }

    /// Reads as many bytes of the memory of `target` as `buffer` has, and waits for them:
    /// `MPI_Get`.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[track_caller]
    pub fn get<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
    ) -> impl Future<Output = Result<()>> + 'a {
        let (location, place) = (SourceLocation::caller(), place.into());
        async move {
            let result = buffer.clone();
            let arguments = Arguments::for_get("get", result, target, place);
            *buffer = self.read_now(Ok(arguments), location).await?;
            Ok(())
        }
    }

    /// [`Window::get`] that does not wait: `MPI_Rget`. The completion has the buffer.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[track_caller]
    pub fn rget(
        &self,
        buffer: Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
    ) -> impl Future<Output = Result<Request>> + '_ {
        let arguments = Arguments::for_get("get", buffer, target, place.into());
        self.access(Ok(arguments), SourceLocation::caller())
    }

    /// Combines `origin` with the memory of `target`, element by element: `MPI_Accumulate`.
    ///
    /// # Errors
    /// As [`Window::put`]; [`WindowError::UserOp`] for an operation of the program, [`Error::Op`]
    /// if `origin` is not a whole number of elements of the operation.
    #[track_caller]
    pub fn accumulate<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
        op: &Op,
    ) -> impl Future<Output = Result<()>> + 'a {
        let arguments = Arguments::for_put("accumulate", origin, target, place.into()).with_op(op);
        self.write_now(arguments, SourceLocation::caller())
    }

    /// Starts a [`Window::accumulate`]; the request is over when `origin` can be used again:
    /// `MPI_Raccumulate`.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    #[track_caller]
    pub fn raccumulate<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
        op: &Op,
    ) -> impl Future<Output = Result<Request>> + 'a {
        let arguments = Arguments::for_put("accumulate", origin, target, place.into()).with_op(op);
        self.access(arguments, SourceLocation::caller())
    }

    /// Combines `origin` with the memory of `target` and returns the content of the memory before:
    /// `MPI_Get_accumulate`.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    #[track_caller]
    pub fn get_accumulate<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + 'a {
        let arguments = combined("get_accumulate", origin, (target, place.into()), op);
        self.read_now(arguments, SourceLocation::caller())
    }

    /// Starts a [`Window::get_accumulate`]: `MPI_Rget_accumulate`. The completion has the content
    /// of the memory before.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    #[track_caller]
    pub fn rget_accumulate<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
        op: &Op,
    ) -> impl Future<Output = Result<Request>> + 'a {
        let arguments = combined("get_accumulate", origin, (target, place.into()), op);
        self.access(arguments, SourceLocation::caller())
    }

    /// [`Window::get_accumulate`] of one element: `MPI_Fetch_and_op`.
    ///
    /// # Errors
    /// As [`Window::accumulate`]; [`WindowError::Length`] if `origin` is not one element.
    #[track_caller]
    pub fn fetch_and_op<'a>(
        &'a self,
        origin: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
        op: &Op,
    ) -> impl Future<Output = Result<Buffer>> + 'a {
        let (length, expected) = (origin.len(), op.element_size());
        let arguments = if length == expected {
            combined("fetch_and_op", origin, (target, place.into()), op)
        } else {
            Err(Error::of_window(WindowError::Length { length, expected }))
        };
        self.read_now(arguments, SourceLocation::caller())
    }

    /// Writes `origin` to the memory of `target` if the content equals `compare`, and returns the
    /// content before: `MPI_Compare_and_swap`. `origin` and `compare` are one integer each.
    ///
    /// # Errors
    /// As [`Window::put`]; [`WindowError::Length`] if `origin` and `compare` are not one `T`.
    #[track_caller]
    pub fn compare_and_swap<'a, T: Scalar>(
        &'a self,
        origin: &Buffer,
        compare: &Buffer,
        target: usize,
        place: impl Into<TargetPlace>,
    ) -> impl Future<Output = Result<Buffer>> + 'a {
        let given = [origin.len(), compare.len()];
        let wrong = given.into_iter().find(|&length| length != T::SIZE);
        let both = join_buffers(compare, origin);
        let result = origin.of_kind(T::SIZE);
        let arguments = Arguments {
            call: RmaCall::CompareAndSwap,
            payload: both,
            element: 2 * T::SIZE,
            ..Arguments::for_get("compare_and_swap", result, target, place.into())
        };
        let arguments = match wrong {
            Some(length) => Err(Error::of_window(WindowError::Length {
                length,
                expected: T::SIZE,
            })),
            None => Ok(arguments),
        };
        self.read_now(arguments, SourceLocation::caller())
    }
}

/// Asks whether a read has the result of the read that this read repeats.
async fn ask_repetition(
    window: &Window,
    (name, peer): (&'static str, u32),
    at: (SourceLocation, Question),
) -> Repetition {
    let (location, question) = at;
    let (process, context) = (window.comm().process(), window.comm().context());
    let Some(result) = repetition::known_result(process, at) else {
        return Repetition::Begins(None);
    };
    let begun = process.begun();
    let answers = |_: &ProtocolEngine| Answers {
        yes: 1,
        ..Answers::default()
    };
    let waits = Waits::Read(name, peer);
    let asked = process.ask_question(question, waits, location, answers);
    if !matches!(asked.await, PickedAnswer::No) {
        return Repetition::Begins(Some(result));
    }
    let token = process.with_engine(|engine, channel| {
        WindowCalls::new(engine, channel, context).repeat_read(peer, result, location)
    });
    repetition::note_read(process, begun, at, (token, false));
    Repetition::Over(token)
}

fn combined(
    name: &'static str,
    origin: &Buffer,
    (target, place): (usize, TargetPlace),
    op: &Op,
) -> Result<Arguments> {
    let result = origin.of_kind(origin.len());
    let arguments = Arguments::for_get(name, result, target, place);
    arguments.with_op(op)?.with_payload(origin)
}

/// One buffer behind the other; a phantom of phantoms.
fn join_buffers(first: &Buffer, second: &Buffer) -> Buffer {
    let mut both = first.of_kind(first.len().saturating_add(second.len()));
    both.write_part(0, first);
    both.write_part(first.len(), second);
    both
}
