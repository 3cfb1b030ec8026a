//! Send modes (MPI 4.1, section 3.4): when a send is over, besides the standard mode.
//!
//! * *Synchronous*: when a receive has matched the message. The message goes by rendezvous at every
//!   length.
//! * *Ready*: the program promises that the receive is posted. MPI then allows sending as in the
//!   standard mode, and so does this crate. If
//!   [`Settings::strict_ready_send`](crate::Settings::strict_ready_send) is set, a receive that was
//!   not posted before such a message fails with [`Error::NotReady`]; under a model checker also a
//!   receive that does not happen before the send.
//! * *Buffered*: at once, after the time of the copy (`copy_bandwidth`). The message takes room in
//!   the attached buffer of the program until it has left, and is refused if the room does not
//!   suffice.
//!
//! *Not modelled*: without that setting a ready send without a receive is not recognised as an
//! error. A buffered message takes room of its own length only; other libraries want
//! `MPI_BSEND_OVERHEAD` bytes more.

use observe::SourceLocation;
use std::future::Future;

use crate::channel::{Channel, Token};
use crate::exploration::choose;
use crate::protocol::engine::{ProtocolEngine, SendCall, Status};
use crate::protocol::process::{Call, Process};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Comm, Envelope, Error, PROC_NULL, Request, Result};

/// When a send is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// When the buffer of the send can be used again.
    Standard,
    /// When a receive has matched the message.
    Synchronous,
    /// As in the standard mode; the receive must have been posted.
    Ready,
    /// At once; the message waits in the attached buffer.
    Buffered,
}

impl Status {
    /// Status of an operation with the null process: no source, a tag that no message has, no
    /// bytes.
    pub const PROC_NULL: Self = Self {
        source: PROC_NULL,
        tag: u32::MAX,
        length: 0,
        cancelled: false,
    };
}

/// The attached buffer of a program, and the messages in the buffer.
#[derive(Debug)]
pub(crate) struct AttachedBuffer {
    buffer: Buffer,
    free: u64,
    /// Sends that are not known to be over, and their lengths.
    messages: Vec<(Token, u64)>,
    /// Notes of sends that have left, under a model checker: another library could wait for the
    /// receives when the buffer is emptied.
    left: Vec<u32>,
}

impl AttachedBuffer {
    /// Frees the room of messages that have left.
    pub(crate) fn free_completed(&mut self, engine: &mut ProtocolEngine) {
        let free = &mut self.free;
        self.messages.retain(|&(token, length)| {
            let done = engine.requests.is_done(token);
            if done {
                let (result, _) = engine.requests.take_result(token);
                debug_assert!(result.is_ok(), "sends do not fail");
                *free += length;
            }
            !done
        });
    }
}

/// Sends in other modes than the standard mode, and the buffers of buffered sends.
pub trait SendModes: AsRef<Comm> {
    /// Sends a message and waits until a receive has matched the message: `MPI_Ssend`.
    ///
    /// # Errors
    /// As [`Comm::send`].
    #[track_caller]
    fn ssend(&self, buffer: &Buffer, destination: usize, tag: u32) -> crate::Send<'_> {
        let (mode, location) = (SendMode::Synchronous, SourceLocation::caller());
        self.as_ref()
            .send_in(mode, buffer, destination, tag, location)
    }

    /// Sends a message for which a receive is posted: `MPI_Rsend`.
    ///
    /// # Errors
    /// As [`Comm::send`].
    #[track_caller]
    fn rsend(&self, buffer: &Buffer, destination: usize, tag: u32) -> crate::Send<'_> {
        let (mode, location) = (SendMode::Ready, SourceLocation::caller());
        self.as_ref()
            .send_in(mode, buffer, destination, tag, location)
    }

    /// Sends a message by way of the attached buffer: `MPI_Bsend`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if there is no room; as [`Comm::send`].
    #[track_caller]
    fn bsend(&self, buffer: &Buffer, destination: usize, tag: u32) -> crate::Send<'_> {
        let (mode, location) = (SendMode::Buffered, SourceLocation::caller());
        self.as_ref()
            .send_in(mode, buffer, destination, tag, location)
    }

    /// Starts a synchronous send: `MPI_Issend`.
    ///
    /// # Errors
    /// As [`Comm::isend`].
    #[track_caller]
    fn issend(&self, buffer: Buffer, destination: usize, tag: u32) -> Result<Request> {
        let (mode, location) = (SendMode::Synchronous, SourceLocation::caller());
        self.as_ref()
            .isend_in(mode, buffer, destination, tag, location)
    }

    /// Starts a ready send: `MPI_Irsend`.
    ///
    /// # Errors
    /// As [`Comm::isend`].
    #[track_caller]
    fn irsend(&self, buffer: Buffer, destination: usize, tag: u32) -> Result<Request> {
        let (mode, location) = (SendMode::Ready, SourceLocation::caller());
        self.as_ref()
            .isend_in(mode, buffer, destination, tag, location)
    }

    /// Starts a buffered send: `MPI_Ibsend`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if there is no room; as [`Comm::isend`].
    #[track_caller]
    fn ibsend(&self, buffer: Buffer, destination: usize, tag: u32) -> Result<Request> {
        let (mode, location) = (SendMode::Buffered, SourceLocation::caller());
        self.as_ref()
            .isend_in(mode, buffer, destination, tag, location)
    }

    /// Attaches a buffer for buffered sends of the rank, whatever the communicator:
    /// `MPI_Buffer_attach`.
    ///
    /// # Errors
    /// [`Error::BufferAttached`] if there is one already.
    fn buffer_attach(&self, buffer: Buffer) -> Result<()> {
        attach_as(self.as_ref(), None, buffer)
    }

    /// Attaches a buffer for buffered sends on this communicator, which take no other:
    /// `MPI_Comm_attach_buffer`.
    ///
    /// # Errors
    /// [`Error::BufferAttached`] if there is one already.
    fn attach_buffer(&self, buffer: Buffer) -> Result<()> {
        let comm = self.as_ref();
        attach_as(comm, Some(comm.context()), buffer)
    }

    /// Waits until all buffered messages of the rank have left and returns the buffer of the rank:
    /// `MPI_Buffer_detach`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if no buffer is attached.
    #[track_caller]
    fn buffer_detach(&self) -> impl Future<Output = Result<Buffer>> + '_ {
        empty_buffer(
            self.as_ref(),
            "buffer_detach",
            None,
            SourceLocation::caller(),
        )
    }

    /// Waits until all messages in the buffer of this communicator have left and returns the
    /// buffer: `MPI_Comm_detach_buffer`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if no buffer is attached.
    #[track_caller]
    fn detach_buffer(&self) -> impl Future<Output = Result<Buffer>> + '_ {
        let comm = self.as_ref();
        let own = Some(comm.context());
        empty_buffer(comm, "detach_buffer", own, SourceLocation::caller())
    }

    /// Waits until all messages in the buffer of the rank have left: `MPI_Buffer_flush`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if none is attached.
    #[track_caller]
    fn buffer_flush(&self) -> impl Future<Output = Result<()>> + '_ {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        async move {
            let emptied = empty_buffer(comm, "buffer_flush", None, location).await?;
            attach_as(comm, None, emptied)
        }
    }

    /// Waits until all messages in the buffer of this communicator have left:
    /// `MPI_Comm_flush_buffer`.
    ///
    /// # Errors
    /// [`Error::BufferFull`] if none is attached.
    #[track_caller]
    fn flush_buffer(&self) -> impl Future<Output = Result<()>> + '_ {
        let comm = self.as_ref();
        let (location, own) = (SourceLocation::caller(), Some(comm.context()));
        async move {
            let emptied = empty_buffer(comm, "flush_buffer", own, location).await?;
            attach_as(comm, own, emptied)
        }
    }
}

impl SendModes for Comm {}

/// Starts a buffered send: a standard send, for which only the attached buffer waits, and an
/// operation that is over.
pub(crate) fn start_buffered(
    comm: &Comm,
    buffer: Buffer,
    peer: u32,
    envelope: Envelope,
    call: SendCall,
) -> Result<Token> {
    let length = buffer.len();
    let mut attached = comm.process().attached();
    let own = Some(comm.context());
    let key = own.filter(|_| attached.contains_key(&own));
    let Some(attached) = attached.get_mut(&key) else {
        return Err(Error::BufferFull {
            length,
            free: 0,
            attached: None,
        });
    };
    comm.process().with_engine(|engine, channel: &dyn Channel| {
        attached.free_completed(engine);
        if length > attached.free {
            return Err(Error::BufferFull {
                length,
                free: attached.free,
                attached: Some(attached.buffer.len()),
            });
        }
        engine.processor.charge_copy(channel, length);
        let send = engine.send(channel, peer, envelope, buffer.clone(), call);
        if engine.requests.is_done(send) {
            engine
                .requests
                .note_cause(|record| attached.left.extend(record.note_attached(channel, send)));
            return Ok(send);
        }
        // Whether there is room for the next one depends on what has arrived.
        choose(channel);
        attached.free -= length;
        attached.messages.push((send, length));
        let status = Status {
            source: envelope.source as usize,
            tag: envelope.tag,
            length,
            cancelled: false,
        };
        Ok(engine.requests.insert_ended(status, buffer, call.location))
    })
}

/// Attaches a buffer for the sends with this key.
fn attach_as(comm: &Comm, key: Option<u32>, buffer: Buffer) -> Result<()> {
    let mut all = comm.process().attached();
    if let Some(attached) = all.get(&key) {
        let length = attached.buffer.len();
        return Err(Error::BufferAttached { length });
    }
    let attached = AttachedBuffer {
        free: buffer.len(),
        buffer,
        messages: Vec::new(),
        left: Vec::new(),
    };
    all.insert(key, attached);
    Ok(())
}

/// Waits until all messages in a buffer have left, and takes the buffer.
fn empty_buffer(
    comm: &Comm,
    name: &'static str,
    key: Option<u32>,
    location: SourceLocation,
) -> impl Future<Output = Result<Buffer>> {
    let attempt = move |process: &Process, engine: &mut ProtocolEngine| {
        let mut all = process.attached();
        let Some(attached) = all.get_mut(&key) else {
            return Some(Err(Error::BufferFull {
                length: 0,
                free: 0,
                attached: None,
            }));
        };
        attached.free_completed(engine);
        if !attached.messages.is_empty() {
            return None;
        }
        let emptied = all.remove(&key)?;
        engine
            .requests
            .note_cause(|record| record.note_emptied(&emptied.left));
        Some(Ok(emptied.buffer))
    };
    Call::new(comm.process(), location, Waits::Several(name), attempt)
}
