//! Persistent requests (MPI 4.1, section 3.9): stored arguments of a call that is made repeatedly.
//!
//! The request keeps a share of the buffer. The received data are in the completion and, until the
//! next start of the request, in [`Request::buffer_mut`]; both share the bytes until one of them is
//! written to.
//!
//! *Not modelled*: the lower cost of a start in comparison with a new call.

use ::collectives::Collective;
use observe::SourceLocation;

use crate::api::partitioned::Partitions;
use crate::collectives::Invocation;
use crate::exploration::{self, is_explored};
use crate::protocol::engine::OperationState;
use crate::protocol::engine::partitions::{self, PartitionPlace};
use crate::{
    Buffer, Comm, Error, PROC_NULL, Pattern, Request, Result, SendMode, Source, Status, Tag,
};

/// The arguments.
#[derive(Debug)]
pub(crate) struct Persistent {
    comm: Comm,
    buffer: Buffer,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Send {
        mode: SendMode,
        destination: usize,
        tag: u32,
    },
    Receive {
        source: Source,
        tag: Tag,
    },
    PartitionedSend {
        destination: usize,
        partitions: Partitions,
    },
    PartitionedReceive {
        source: Source,
        partitions: Partitions,
    },
    /// A collective; the buffer is the contribution.
    Collective(Box<Invocation>),
}

impl Persistent {
    /// Returns an inactive request.
    fn request(comm: &Comm, buffer: Buffer, what: What) -> Request {
        let comm = comm.clone();
        Request::inactive(Self { comm, buffer, what })
    }

    pub(crate) fn collective_init(
        comm: &Comm,
        mut call: Invocation,
        location: SourceLocation,
    ) -> Request {
        let buffer = call.input.take();
        // A freed communicator is an error of the start.
        if let Ok(context) = comm.call_context() {
            let number = comm.process().count_persistent(context);
            call.persistent = Some(number);
            let (first, ranks) = (comm.members().world(0), comm.members().count());
            let place = (context, first, number.initial_position());
            let noted = ("init of a persistent collective", place, ranks);
            exploration::note_collective(comm.process().channel(), noted, location);
        }
        Self::request(comm, buffer, What::Collective(Box::new(call)))
    }

    pub(crate) const fn comm(&self) -> &Comm {
        &self.comm
    }

    pub(crate) const fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// The operation is over and has given the buffer back.
    pub(crate) fn keep_buffer(&mut self, buffer: &Buffer) {
        // A contribution stays as it is; the completion has the result.
        let is_contribution = match &self.what {
            What::Collective(call) => call.kind != Collective::Bcast || call.views.is_some(),
            _ => false,
        };
        if !is_contribution {
            self.buffer.clone_from(buffer);
        }
    }

    /// Returns a status with the tag that the program gave.
    pub(crate) fn status_with_tag(&self, status: Status) -> Status {
        let tag = match &self.what {
            What::PartitionedReceive { partitions, .. } if status.tag == partitions.message_tag => {
                partitions.tag
            }
            _ => status.tag,
        };
        Status { tag, ..status }
    }

    /// Returns the partitions of a receive.
    pub(crate) const fn received_partitions(&self) -> Option<&Partitions> {
        match &self.what {
            What::PartitionedReceive { partitions, .. } => Some(partitions),
            _ => None,
        }
    }

    /// Returns true if the message has partitions.
    pub(crate) const fn is_partitioned(&self) -> bool {
        matches!(
            self.what,
            What::PartitionedSend { .. } | What::PartitionedReceive { .. }
        )
    }

    /// Number of partitions of a started send that are not ready.
    pub(crate) fn partitions_left(&self) -> usize {
        match &self.what {
            What::PartitionedSend { partitions, .. } => partitions.unready_count(),
            _ => 0,
        }
    }

    /// Notes that a partition of a send is ready. Returns true if all are.
    pub(crate) fn ready(&mut self, partition: usize) -> Result<bool> {
        match &mut self.what {
            What::PartitionedSend { partitions, .. } => partitions.make_ready(partition),
            _ => Err(Error::Request),
        }
    }

    /// Notes that a partition of a receive is known to have arrived. Returns true if all are.
    pub(crate) fn note_arrived(&mut self, partition: usize) -> bool {
        match &mut self.what {
            What::PartitionedReceive { partitions, .. } => partitions.note_arrived(partition),
            _ => false,
        }
    }

    /// Returns the messages with a partition of a receive that arrives from another rank.
    pub(crate) fn awaited_partition(&self, partition: usize) -> Option<(Pattern, PartitionPlace)> {
        let What::PartitionedReceive { source, partitions } = &self.what else {
            return None;
        };
        partitions.awaited_from(&self.comm, *source, partition)
    }

    fn partitions_to_send(&self) -> Result<(&usize, &Partitions)> {
        match &self.what {
            What::PartitionedSend {
                destination,
                partitions,
            } => Ok((destination, partitions)),
            _ => Err(Error::Request),
        }
    }

    /// Sends a partition alone.
    pub(crate) fn post_partition(&self, partition: usize, location: SourceLocation) -> Result<()> {
        let (destination, partitions) = self.partitions_to_send()?;
        if *destination == PROC_NULL {
            return Ok(());
        }
        let inner = self.comm.collective()?;
        let to = (
            inner.peer(*destination)?,
            inner.envelope(partitions.partition_tag())?,
        );
        let data = (partitions.place_of(partition), &self.buffer);
        self.comm.process().with_engine(|engine, channel| {
            partitions::post_partition(engine, channel, to, data, location);
        });
        Ok(())
    }

    /// Sends the message after all its partitions are ready.
    pub(crate) fn send_partitions(&self, location: SourceLocation) -> Result<Request> {
        let (destination, partitions) = self.partitions_to_send()?;
        let (inner, buffer) = (self.comm.collective()?, self.buffer.clone());
        inner.isend_at(buffer, *destination, partitions.message_tag, location)
    }

    pub(crate) fn start_request(&mut self, location: SourceLocation) -> Result<Request> {
        let buffer = self.buffer.clone();
        match &mut self.what {
            What::PartitionedSend { partitions, .. } => {
                partitions.start_round();
                let count = partitions.count;
                if count == 0 {
                    return self.send_partitions(location);
                }
                let token = self.comm.process().with_engine(|engine, _| {
                    // The operation ends when all are ready, and a send follows.
                    let state = OperationState::Partitions { left: count };
                    engine.requests.insert(state, location)
                });
                Ok(Request::new(&self.comm, token))
            }
            What::PartitionedReceive { source, partitions } => {
                partitions.start_round();
                let length = buffer.len();
                self.buffer = Buffer::phantom(length);
                let process = self.comm.process();
                if is_explored(process.channel())
                    && let Some((pattern, place)) = partitions.awaited_from(&self.comm, *source, 0)
                {
                    let round = place.round;
                    process.with_engine(|engine, _| {
                        partitions::drop_partitions(engine, &pattern, round);
                    });
                }
                let tag = Tag::Is(partitions.message_tag);
                self.comm
                    .collective()?
                    .irecv_at(buffer, *source, tag, location)
            }
            &mut What::Send {
                mode,
                destination,
                tag,
            } => self.comm.isend_in(mode, buffer, destination, tag, location),
            What::Collective(call) => {
                call.input = buffer;
                let started = call.start_request(&self.comm, location);
                call.input = Buffer::phantom(0);
                if let Some(number) = &mut call.persistent {
                    number.start = number.start.wrapping_add(1);
                }
                started
            }
            &mut What::Receive { source, tag } => {
                // The operation's share is the only one, so that writing to it copies nothing.
                let length = buffer.len();
                self.buffer = Buffer::phantom(length);
                self.comm.irecv_at(buffer, source, tag, location)
            }
        }
    }
}

/// Requests of calls that the program starts repeatedly.
pub trait PersistentRequests: AsRef<Comm> {
    /// A send in any mode that [`Request::start`] starts: `MPI_Send_init`, `MPI_Ssend_init`,
    /// `MPI_Rsend_init`, `MPI_Bsend_init`.
    #[must_use = "it has to be started"]
    fn send_init(&self, mode: SendMode, buffer: Buffer, destination: usize, tag: u32) -> Request {
        let what = What::Send {
            mode,
            destination,
            tag,
        };
        Persistent::request(self.as_ref(), buffer, what)
    }

    /// A receive that [`Request::start`] starts: `MPI_Recv_init`.
    #[must_use = "it has to be started"]
    fn recv_init(&self, buffer: Buffer, source: impl Into<Source>, tag: impl Into<Tag>) -> Request {
        let (source, tag) = (source.into(), tag.into());
        Persistent::request(self.as_ref(), buffer, What::Receive { source, tag })
    }

    /// A send in partitions of equal lengths that [`Request::start`] starts: `MPI_Psend_init`.
    /// After each start the program fills [`Request::buffer_mut`] and calls [`Request::pready`] for
    /// each partition.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Tag`] for arguments out of range, [`Error::Comm`] if the
    /// communicator has been freed.
    fn psend_init(
        &self,
        buffer: Buffer,
        partitions: u32,
        destination: usize,
        tag: u32,
    ) -> Result<Request> {
        let comm = self.as_ref();
        let partitions = Partitions::new(comm, partitions, (destination, tag), true)?;
        let what = What::PartitionedSend {
            destination,
            partitions,
        };
        Ok(Persistent::request(comm, buffer, what))
    }

    /// A receive in partitions of equal lengths that [`Request::start`] starts: `MPI_Precv_init`.
    ///
    /// # Errors
    /// As [`Comm::psend_init`].
    fn precv_init(
        &self,
        buffer: Buffer,
        partitions: u32,
        source: usize,
        tag: u32,
    ) -> Result<Request> {
        let comm = self.as_ref();
        let partitions = Partitions::new(comm, partitions, (source, tag), false)?;
        let source = Source::Rank(source);
        let what = What::PartitionedReceive { source, partitions };
        Ok(Persistent::request(comm, buffer, what))
    }
}

impl PersistentRequests for Comm {}

/// Starts persistent requests in their order: `MPI_Startall`.
///
/// # Errors
/// As [`Request::start`], of the first request that is refused; later requests are not started.
#[track_caller]
pub fn start_all(requests: &mut [Request]) -> Result<()> {
    let location = SourceLocation::caller();
    requests
        .iter_mut()
        .try_for_each(|request| request.start_at(location))
}
