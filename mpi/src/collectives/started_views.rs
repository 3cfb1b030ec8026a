//! Non-blocking and persistent collective calls on derived datatypes. Their requests own the
//! buffers; the completion has the one into which the result was unpacked, and at ranks without a
//! result the packed contribution is given up.
//!
//! Arguments are those of the calls that block: a buffer, a number of items, and their datatype.
//! The contribution is packed when the call starts.
//!
//! *Not modelled*: what [`views`](super::views) leaves out. The root of a broadcast unpacks its own
//! data, too, which takes the time of `copy_bandwidth` once more.

use ::collectives::Collective;
use observe::SourceLocation;

use super::Invocation;
use super::views::{Views, times};
use crate::api::view::Unpack;
use crate::{Buffer, Comm, Datatype, Error, Op, Request, Result};

/// A buffer, the number of items in it, and their datatype.
type Items<'a> = (Buffer, u64, &'a Datatype);

impl Comm {
    /// Returns a call whose contribution is packed when it starts.
    fn viewed(
        &self,
        mut call: Invocation,
        send: Option<Items<'_>>,
        recv: Option<Items<'_>>,
    ) -> Result<Invocation> {
        let mut views = Views::default();
        let mut result = None;
        if let Some((buffer, count, datatype)) = send {
            let length = datatype.packed_length(count, &buffer)?;
            let size = self.size() as u64;
            result = Some(match call.kind {
                Collective::Gather | Collective::Allgather => length.saturating_mul(size),
                Collective::Scatter => length / size,
                _ => length,
            });
            call.input = buffer;
            views.send = Some((count, datatype.clone()));
        }
        if let Some((target, count, datatype)) = recv {
            let length = datatype.packed_length(count, &target)?;
            if let Some(expected) = result.filter(|expected| *expected != length) {
                return Err(Error::Blocks { length, expected });
            }
            views.recv = Some(Unpack::new(datatype.clone(), count, target));
        }
        call.views = Some(Box::new(views));
        Ok(call)
    }

    fn bcast_of(&self, (buffer, count, datatype): Items<'_>, root: usize) -> Result<Invocation> {
        let mut call = Invocation::new(Collective::Bcast, Buffer::phantom(0)).with_root(root);
        let target = (buffer.clone(), count, datatype);
        if self.rank() == root {
            return self.viewed(call, Some((buffer, count, datatype)), Some(target));
        }
        call.input = self.room(datatype, count, &buffer)?;
        self.viewed(call, None, Some(target))
    }

    /// Returns the items of all ranks at the root, `None` at other ranks.
    fn at_root<'a>(&self, items: Option<Items<'a>>, root: usize) -> Result<Option<Items<'a>>> {
        match items.filter(|_| self.rank() == root) {
            Some(items) => self.of_all(items).map(Some),
            None if self.rank() == root => Err(Error::NoBuffer),
            None => Ok(None),
        }
    }

    /// Returns the items of all ranks.
    fn of_all<'a>(&self, (buffer, count, datatype): Items<'a>) -> Result<Items<'a>> {
        Ok((buffer, times(count, self.size())?, datatype))
    }

    fn gather_of(
        &self,
        send: Items<'_>,
        recv: Option<Items<'_>>,
        root: usize,
    ) -> Result<Invocation> {
        let call = Invocation::new(Collective::Gather, Buffer::phantom(0)).with_root(root);
        self.viewed(call, Some(send), self.at_root(recv, root)?)
    }

    fn scatter_of(
        &self,
        send: Option<Items<'_>>,
        recv: Items<'_>,
        root: usize,
    ) -> Result<Invocation> {
        let mut call = Invocation::new(Collective::Scatter, Buffer::phantom(0)).with_root(root);
        call.room = Some(self.room(recv.2, recv.1, &recv.0)?);
        self.viewed(call, self.at_root(send, root)?, Some(recv))
    }

    fn allgather_of(&self, send: Items<'_>, recv: Items<'_>) -> Result<Invocation> {
        let call = Invocation::new(Collective::Allgather, Buffer::phantom(0));
        self.viewed(call, Some(send), Some(self.of_all(recv)?))
    }

    fn alltoall_of(&self, send: Items<'_>, recv: Items<'_>) -> Result<Invocation> {
        let call = Invocation::new(Collective::Alltoall, Buffer::phantom(0));
        self.viewed(call, Some(self.of_all(send)?), Some(self.of_all(recv)?))
    }

    fn reduce_of(
        &self,
        send: Items<'_>,
        recv: Option<Buffer>,
        op: &Op,
        root: usize,
    ) -> Result<Invocation> {
        let call = Invocation::new(Collective::Reduce, Buffer::phantom(0)).with_op(op);
        let recv = recv.filter(|_| self.rank() == root);
        if recv.is_none() && self.rank() == root {
            return Err(Error::NoBuffer);
        }
        let recv = recv.map(|target| (target, send.1, send.2));
        self.viewed(call.with_root(root), Some(send), recv)
    }

    fn allreduce_of(&self, send: Items<'_>, recv: Buffer, op: &Op) -> Result<Invocation> {
        let call = Invocation::new(Collective::Allreduce, Buffer::phantom(0)).with_op(op);
        let recv = (recv, send.1, send.2);
        self.viewed(call, Some(send), Some(recv))
    }
}

impl Comm {
    /// Starts [`Comm::bcast_view`]: `MPI_Ibcast`.
    ///
    /// # Errors
    /// As [`Comm::bcast_view`].
    #[track_caller]
    pub fn ibcast_view(&self, buffer: Items<'_>, root: usize) -> Result<Request> {
        self.start_request(&self.bcast_of(buffer, root)?, SourceLocation::caller())
    }

    /// [`Comm::bcast_view`] that [`Request::start`] starts: `MPI_Bcast_init`.
    ///
    /// # Errors
    /// As [`Comm::bcast_view`], for the lengths of the buffers.
    pub fn bcast_view_init(&self, buffer: Items<'_>, root: usize) -> Result<Request> {
        Ok(self.collective_init(self.bcast_of(buffer, root)?))
    }

    /// Starts [`Comm::gather_view`]: `MPI_Igather`.
    ///
    /// # Errors
    /// As [`Comm::gather_view`].
    #[track_caller]
    pub fn igather_view(
        &self,
        send: Items<'_>,
        recv: Option<Items<'_>>,
        root: usize,
    ) -> Result<Request> {
        self.start_request(&self.gather_of(send, recv, root)?, SourceLocation::caller())
    }

    /// [`Comm::gather_view`] that [`Request::start`] starts: `MPI_Gather_init`.
    ///
    /// # Errors
    /// As [`Comm::gather_view`], for the lengths of the buffers.
    pub fn gather_view_init(
        &self,
        send: Items<'_>,
        recv: Option<Items<'_>>,
        root: usize,
    ) -> Result<Request> {
        Ok(self.collective_init(self.gather_of(send, recv, root)?))
    }

    /// Starts [`Comm::scatter_view`]: `MPI_Iscatter`.
    ///
    /// # Errors
    /// As [`Comm::scatter_view`].
    #[track_caller]
    pub fn iscatter_view(
        &self,
        send: Option<Items<'_>>,
        recv: Items<'_>,
        root: usize,
    ) -> Result<Request> {
        self.start_request(
            &self.scatter_of(send, recv, root)?,
            SourceLocation::caller(),
        )
    }

    /// [`Comm::scatter_view`] that [`Request::start`] starts: `MPI_Scatter_init`.
    ///
    /// # Errors
    /// As [`Comm::scatter_view`], for the lengths of the buffers.
    pub fn scatter_view_init(
        &self,
        send: Option<Items<'_>>,
        recv: Items<'_>,
        root: usize,
    ) -> Result<Request> {
        Ok(self.collective_init(self.scatter_of(send, recv, root)?))
    }

    /// Starts [`Comm::allgather_view`]: `MPI_Iallgather`.
    ///
    /// # Errors
    /// As [`Comm::allgather_view`].
    #[track_caller]
    pub fn iallgather_view(&self, send: Items<'_>, recv: Items<'_>) -> Result<Request> {
        self.start_request(&self.allgather_of(send, recv)?, SourceLocation::caller())
    }

    /// [`Comm::allgather_view`] that [`Request::start`] starts: `MPI_Allgather_init`.
    ///
    /// # Errors
    /// As [`Comm::allgather_view`], for the lengths of the buffers.
    pub fn allgather_view_init(&self, send: Items<'_>, recv: Items<'_>) -> Result<Request> {
        Ok(self.collective_init(self.allgather_of(send, recv)?))
    }

    /// Starts [`Comm::alltoall_view`]: `MPI_Ialltoall`.
    ///
    /// # Errors
    /// As [`Comm::alltoall_view`].
    #[track_caller]
    pub fn ialltoall_view(&self, send: Items<'_>, recv: Items<'_>) -> Result<Request> {
        self.start_request(&self.alltoall_of(send, recv)?, SourceLocation::caller())
    }

    /// [`Comm::alltoall_view`] that [`Request::start`] starts: `MPI_Alltoall_init`.
    ///
    /// # Errors
    /// As [`Comm::alltoall_view`], for the lengths of the buffers.
    pub fn alltoall_view_init(&self, send: Items<'_>, recv: Items<'_>) -> Result<Request> {
        Ok(self.collective_init(self.alltoall_of(send, recv)?))
    }

    /// Starts [`Comm::reduce_view`]: `MPI_Ireduce`.
    ///
    /// # Errors
    /// As [`Comm::reduce_view`].
    #[track_caller]
    pub fn ireduce_view(
        &self,
        send: Items<'_>,
        recv: Option<Buffer>,
        op: &Op,
        root: usize,
    ) -> Result<Request> {
        self.start_request(
            &self.reduce_of(send, recv, op, root)?,
            SourceLocation::caller(),
        )
    }

    /// [`Comm::reduce_view`] that [`Request::start`] starts: `MPI_Reduce_init`.
    ///
    /// # Errors
    /// As [`Comm::reduce_view`], for the lengths of the buffers.
    pub fn reduce_view_init(
        &self,
        send: Items<'_>,
        recv: Option<Buffer>,
        op: &Op,
        root: usize,
    ) -> Result<Request> {
        Ok(self.collective_init(self.reduce_of(send, recv, op, root)?))
    }

    /// Starts [`Comm::allreduce_view`]: `MPI_Iallreduce`.
    ///
    /// # Errors
    /// As [`Comm::allreduce_view`].
    #[track_caller]
    pub fn iallreduce_view(&self, send: Items<'_>, recv: Buffer, op: &Op) -> Result<Request> {
        self.start_request(
            &self.allreduce_of(send, recv, op)?,
            SourceLocation::caller(),
        )
    }

    /// [`Comm::allreduce_view`] that [`Request::start`] starts: `MPI_Allreduce_init`.
    ///
    /// # Errors
    /// As [`Comm::allreduce_view`], for the lengths of the buffers.
    pub fn allreduce_view_init(&self, send: Items<'_>, recv: Buffer, op: &Op) -> Result<Request> {
        Ok(self.collective_init(self.allreduce_of(send, recv, op)?))
    }
}
