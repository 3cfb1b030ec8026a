//! Messages described by derived datatypes: packed when they are sent, unpacked when they have
//! come.
//!
//! Packing and unpacking take time at the rank, `copy_bandwidth` bytes of data per second
//! ([`Settings`](crate::Settings)); by default the platform charges no time. Dense data are copied
//! like other data. A nonblocking call returns at once, but the message leaves after the packing.
//! The call that completes a request unpacks the received data, and the next action of the rank
//! happens after that. A message that came before its receive is unpacked directly from the
//! unexpected message, without another copy.
//!
//! *Not modelled*: adapters that gather and scatter by themselves, pieces that leave while others
//! are packed, and the lower speed of copies of small pieces.

use observe::SourceLocation;
use std::future::Future;

use crate::channel::Channel;
use crate::protocol::engine::ProtocolEngine;
use crate::{Buffer, Comm, Datatype, Request, Result, SendMode, Source, Status, Tag};

/// Where a message goes that has been received in one piece.
#[derive(Clone, Debug)]
pub(crate) struct Unpack {
    datatype: Datatype,
    count: u64,
    target: Buffer,
}

impl Unpack {
    pub(crate) const fn new(datatype: Datatype, count: u64, target: Buffer) -> Self {
        Self {
            datatype,
            count,
            target,
        }
    }

    /// Unpacks the received data into the target buffer.
    pub(crate) fn finish_unpack(
        mut self,
        packed: &Buffer,
        status: Status,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
    ) -> Result<Buffer> {
        if !status.cancelled {
            let (count, length) = (self.count, status.length);
            self.datatype
                .unpack_some(count, packed, length, &mut self.target)?;
            engine.processor.charge_copy(channel, length);
        }
        Ok(self.target)
    }
}

/// Messages of items of a derived datatype.
pub trait DatatypeMessages: AsRef<Comm> {
    /// Sends `count` items of a datatype: `MPI_Send`.
    ///
    /// # Errors
    /// As [`Comm::send`] and [`Datatype::pack`].
    #[track_caller]
    fn send_view(
        &self,
        buffer: &Buffer,
        count: u64,
        datatype: &Datatype,
        destination: usize,
        tag: u32,
    ) -> impl Future<Output = Result<()>> + '_ {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let (buffer, datatype) = (buffer.clone(), datatype.clone());
        async move {
            comm.process().wait_until_idle("send", location).await;
            let packed = pack_at(comm, &buffer, &datatype, count)?;
            drop(buffer);
            let mode = SendMode::Standard;
            comm.send_in(mode, &packed, destination, tag, location)
                .await
        }
    }

    /// Receives at most `count` items of a datatype: `MPI_Recv`. The bytes between the data stay as
    /// they are.
    ///
    /// # Errors
    /// As [`Comm::recv`] and [`Datatype::unpack`].
    #[track_caller]
    fn recv_view<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        count: u64,
        datatype: &Datatype,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status>> + 'a {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let (source, tag, datatype) = (source.into(), tag.into(), datatype.clone());
        async move {
            let room = room_for(&datatype, count, buffer)?;
            let mut request = comm.irecv_and((room, true), source, tag, location)?;
            let done = request.wait_in("recv", location).await?;
            let length = done.status.length;
            datatype.unpack_some(count, &done.buffer, length, buffer)?;
            comm.process()
                .with_engine(|engine, channel| engine.processor.charge_copy(channel, length));
            comm.process().wait_until_idle("recv", location).await;
            Ok(done.status)
        }
    }

    /// Starts to send `count` items of a datatype: `MPI_Isend`.
    ///
    /// # Errors
    /// As [`Comm::isend`] and [`Datatype::pack`].
    #[track_caller]
    fn isend_view(
        &self,
        buffer: &Buffer,
        count: u64,
        datatype: &Datatype,
        destination: usize,
        tag: u32,
    ) -> Result<Request> {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let packed = pack_at(comm, buffer, datatype, count)?;
        comm.isend_at(packed, destination, tag, location)
    }

    /// Starts to receive at most `count` items of a datatype: `MPI_Irecv`. The completion has the
    /// buffer with the data in their places.
    ///
    /// # Errors
    /// As [`Comm::irecv`] and [`Datatype::unpack`].
    #[track_caller]
    fn irecv_view(
        &self,
        buffer: Buffer,
        count: u64,
        datatype: &Datatype,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request> {
        let location = SourceLocation::caller();
        let room = room_for(datatype, count, &buffer)?;
        let request = self
            .as_ref()
            .irecv_and((room, true), source.into(), tag.into(), location)?;
        Ok(request.unpacking(Unpack::new(datatype.clone(), count, buffer)))
    }
}

impl DatatypeMessages for Comm {}

/// Returns a buffer for the message, whatever the run wants: real if the target is.
pub(crate) fn room_for(datatype: &Datatype, count: u64, target: &Buffer) -> Result<Buffer> {
    let length = datatype.packed_length(count, target)?;
    let room = target.of_kind(length);
    Ok(room.with_element(datatype.element_type()))
}

/// Packs items, which takes time at the rank.
pub(crate) fn pack_at(comm: &Comm, data: &Buffer, item: &Datatype, count: u64) -> Result<Buffer> {
    let packed = item.pack(count, data)?;
    comm.process()
        .with_engine(|engine, channel| engine.processor.charge_copy(channel, packed.len()));
    Ok(packed.with_element(item.element_type()))
}
