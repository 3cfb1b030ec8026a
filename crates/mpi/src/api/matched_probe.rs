//! Matched probes (MPI 4.1, section 3.8.2): the probe takes the message, so that no other receive
//! can get the message between the probe and its receive.

use observe::SourceLocation;
use std::fmt;
use std::future::Future;

use crate::api::probe::{look_for, picked_sight};
use crate::matching::UnexpectedMessage;
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::engine::seen::ProbeScope;
use crate::protocol::look::Question;
use crate::protocol::process::{Call, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Comm, Completion, Pattern, Request, Result, Source, Status, Tag};

/// A message that a matched probe has taken. One that is dropped without being received waits again
/// for a receive, behind the messages that have arrived by then.
#[must_use = "a message that is dropped waits for another receive"]
pub struct Message {
    comm: Comm,
    status: Status,
    /// `None` for the null process, and after the message has been received.
    content: Option<UnexpectedMessage>,
}

impl Message {
    fn new(comm: &Comm, content: Option<UnexpectedMessage>) -> Self {
        let status = content.as_ref().map_or(Status::PROC_NULL, |content| {
            comm.members().status_in_group(content.probe_status())
        });
        Self {
            comm: comm.clone(),
            status,
            content,
        }
    }

    /// Source, tag and length.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.status
    }

    fn start_receive(mut self, buffer: Buffer, location: SourceLocation) -> Request {
        let content = self.content.take();
        let process = self.comm.process();
        let token = process.with_engine(|engine, channel| match content {
            Some(content) => engine.receive_extracted(channel, content, buffer, location),
            None => engine.requests.insert_null(buffer, location),
        });
        Request::new(&self.comm, token)
    }

    /// Starts to receive the message: `MPI_Imrecv`.
    #[track_caller]
    pub fn irecv(self, buffer: Buffer) -> Request {
        self.start_receive(buffer, SourceLocation::caller())
    }

    /// Receives the message: `MPI_Mrecv`.
    ///
    /// # Errors
    /// [`Error::Truncated`](crate::Error::Truncated) if the message is longer than the buffer.
    #[track_caller]
    pub fn recv(self, buffer: Buffer) -> impl Future<Output = Result<Completion>> {
        let location = SourceLocation::caller();
        async move {
            let mut request = self.start_receive(buffer, location);
            request.wait_in("mrecv", location).await
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(content) = self.content.take() {
            self.comm.process().give_back(content);
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?})", self.status)
    }
}

impl Comm {
    /// Waits for a message and takes the message out of the matching: `MPI_Mprobe`.
    ///
    /// # Errors
    /// As [`Comm::probe`].
    #[track_caller]
    pub fn mprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Message>> + '_ {
        let location = SourceLocation::caller();
        let pattern = self.pattern_or_null(source.into(), tag.into());
        async move {
            let Some(pattern) = pattern? else {
                return Ok(Message::new(self, None));
            };
            let picked = look_for(self, pattern, true, location).await;
            let (picked, _yes) = picked_sight(picked);
            Ok(wait_to_take(self, (pattern, picked), location).await)
        }
    }

    /// Takes a message if there is one: `MPI_Improbe`. Asking again and again is as with
    /// [`Comm::iprobe`].
    ///
    /// # Errors
    /// As [`Comm::probe`].
    #[track_caller]
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Option<Message>>> + '_ {
        let location = SourceLocation::caller();
        let pattern = self.pattern_or_null(source.into(), tag.into());
        async move {
            let Some(pattern) = pattern? else {
                return Ok(Some(Message::new(self, None)));
            };
            match look_for(self, pattern, false, location).await {
                PickedAnswer::No => return Ok(None),
                PickedAnswer::Yes(picked, _yes) => {
                    return Ok(Some(wait_to_take(self, (pattern, picked), location).await));
                }
                PickedAnswer::Unpicked => {}
            }
            let attempt = move |process: &Process, engine: &mut ProtocolEngine| {
                try_extract(process, engine, (pattern, location))
            };
            let waits = Waits::Iprobe(pattern);
            let content = Call::new(self.process(), location, waits, attempt).await;
            if let Some(content) = &content {
                let source = content.envelope.source as usize;
                self.process().note_source(&pattern, source, location);
            }
            Ok(content.map(|content| Message::new(self, Some(content))))
        }
    }
}

/// Waits for a message and takes it, after the answer *yes* with this number has been picked.
async fn wait_to_take(
    comm: &Comm,
    (pattern, picked): (Pattern, u32),
    location: SourceLocation,
) -> Message {
    let scope =
        (comm.process()).with_engine(|engine, _| ProbeScope::from_answer(engine, &pattern, picked));
    let attempt = move |process: &Process, engine: &mut ProtocolEngine| {
        scope.extract(engine, process.channel(), location)
    };
    let waits = Waits::Probe(pattern);
    let content = Call::new(comm.process(), location, waits, attempt).await;
    let source = content.envelope.source as usize;
    comm.process().note_source(&pattern, source, location);
    Message::new(comm, Some(content))
}

fn try_extract(
    process: &Process,
    engine: &mut ProtocolEngine,
    (pattern, location): (Pattern, SourceLocation),
) -> Option<Option<UnexpectedMessage>> {
    let scope = ProbeScope::from_pattern(pattern);
    if let Some(content) = scope.extract(engine, process.channel(), location) {
        process.record_success();
        process.note_answer((location, Question::Probe(pattern)), 1);
        return Some(Some(content));
    }
    process
        .may_answer_false(
            engine.requests.count_changes(),
            (location, Question::Probe(pattern)),
        )
        .then_some(None)
}
