//! Collective calls on derived datatypes: what a rank gives is packed, what it gets is unpacked.
//!
//! The algorithms move packed bytes, and selectors look at their number. Packing and unpacking take
//! the time that they take for messages ([`Settings::copy_bandwidth`](crate::Settings)).
//!
//! *Not modelled*: adapters that gather and scatter by themselves, and blocks of `alltoall_w` that
//! leave while others are packed. Libraries pack each block when its message leaves, so their first
//! messages leave earlier where packing takes time.

use observe::SourceLocation;
use std::future::Future;

use ::collectives::Collective;

use super::{Blocks, Invocation};
use crate::api::view::Unpack;
use crate::channel::Channel;
use crate::protocol::engine::ProtocolEngine;
use crate::{Buffer, Comm, Datatype, Error, Graph, Op, PROC_NULL, Request, Result};

/// Datatypes of a call that is started now and completed later.
#[derive(Clone, Default, Debug)]
pub(crate) struct Views {
    /// Number of items of the contribution, and their datatype; `None` if it is packed.
    pub(super) send: Option<(u64, Datatype)>,
    /// Place of the result, if there is one.
    pub(super) recv: Option<Unpack>,
}

/// A call of `MPI_Alltoallw` whose contribution is not packed yet.
struct AlltoallW {
    call: Invocation,
    send: Datatype,
    recv: Datatype,
}

impl AlltoallW {
    fn new(send: &[(u64, u64, Datatype)], recv: &[(u64, u64, Datatype)]) -> Result<Self> {
        let call = Invocation::new(Collective::Alltoallw, Buffer::phantom(0));
        Self::of(call, send, recv)
    }

    fn between_neighbors(
        graph: &Graph,
        send: &[(u64, u64, Datatype)],
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Self> {
        let call = graph.call("neighbor_alltoallw", Buffer::phantom(0));
        // The null process sends nothing, so nothing is unpacked.
        let mut recv = recv.to_vec();
        for (block, source) in recv.iter_mut().zip(graph.sources()) {
            if source == PROC_NULL {
                block.0 = 0;
            }
        }
        Self::of(call, send, &recv)
    }

    fn of(
        mut call: Invocation,
        send: &[(u64, u64, Datatype)],
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Self> {
        let lengths = |blocks: &[(u64, u64, Datatype)]| {
            Blocks::packed(blocks.iter().map(|(count, _, item)| count * item.size()))
        };
        let (send_type, recv_type) = (Datatype::structure(send)?, Datatype::structure(recv)?);
        (call.send, call.recv) = (Some(lengths(send)), Some(lengths(recv)));
        Ok(Self {
            call,
            send: send_type,
            recv: recv_type,
        })
    }

    /// Returns the call with its contribution, to be packed when it starts.
    fn with(self, buffer: Buffer, target: Buffer) -> Result<Invocation> {
        self.recv.packed_length(1, &target)?;
        let mut call = self.call;
        call.input = buffer;
        call.views = Some(Box::new(Views {
            send: Some((1, self.send)),
            recv: Some(Unpack::new(self.recv, 1, target)),
        }));
        Ok(call)
    }
}

pub(super) fn times(count: u64, size: usize) -> Result<u64> {
    count.checked_mul(size as u64).ok_or(Error::Type)
}

impl Comm {
    /// [`Comm::bcast`] of `count` items of a datatype.
    ///
    /// # Errors
    /// As [`Comm::bcast`], [`Datatype::pack`] and [`Datatype::unpack`].
    #[track_caller]
    pub fn bcast_view<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        count: u64,
        datatype: &Datatype,
        root: usize,
    ) -> impl Future<Output = Result<()>> + 'a {
        let (location, datatype) = (SourceLocation::caller(), datatype.clone());
        async move {
            let mut call = Invocation::new(Collective::Bcast, Buffer::phantom(0)).with_root(root);
            if self.rank() == root {
                let send = Some((buffer.clone(), count, datatype));
                return self.perform_view(call, send, None, location).await;
            }
            call.input = self.room(&datatype, count, buffer)?;
            let recv = Some((buffer, count, datatype));
            self.perform_view(call, None, recv, location).await
        }
    }

    /// [`Comm::gather`] of items of a datatype: `send` is a buffer, the number of items, and their
    /// datatype. The root gives room for the items of all ranks, the number of items of one rank,
    /// and their datatype.
    ///
    /// # Errors
    /// As [`Comm::gather`], [`Datatype::pack`] and [`Datatype::unpack`];
    /// [`Error::NoBuffer`] if the root gives no room.
    #[track_caller]
    pub fn gather_view<'a>(
        &'a self,
        send: (&Buffer, u64, &Datatype),
        recv: Option<(&'a mut Buffer, u64, &Datatype)>,
        root: usize,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let send = Some((send.0.clone(), send.1, send.2.clone()));
        let recv = recv.map(|(buffer, count, datatype)| (buffer, count, datatype.clone()));
        async move {
            let call = Invocation::new(Collective::Gather, Buffer::phantom(0)).with_root(root);
            let recv = match recv.filter(|_| self.rank() == root) {
                Some((buffer, count, datatype)) => {
                    Some((buffer, times(count, self.size())?, datatype))
                }
                None if self.rank() == root => return Err(Error::NoBuffer),
                None => None,
            };
            self.perform_view(call, send, recv, location).await
        }
    }

    /// [`Comm::scatter`] of items of a datatype: the root gives a buffer with the items of all
    /// ranks, the number of items of one rank, and their datatype; `recv` is room for the items of
    /// this rank, their number, and their datatype.
    ///
    /// # Errors
    /// As [`Comm::scatter`], [`Datatype::pack`] and [`Datatype::unpack`].
    #[track_caller]
    pub fn scatter_view<'a>(
        &'a self,
        send: Option<(&Buffer, u64, &Datatype)>,
        recv: (&'a mut Buffer, u64, &Datatype),
        root: usize,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let send = send.map(|(buffer, count, datatype)| (buffer.clone(), count, datatype.clone()));
        let recv = (recv.0, recv.1, recv.2.clone());
        async move {
            let room = self.room(&recv.2, recv.1, recv.0)?;
            let send = match send.filter(|_| self.rank() == root) {
                Some((buffer, count, datatype)) => {
                    Some((buffer, times(count, self.size())?, datatype))
                }
                None if self.rank() == root => return Err(Error::NoBuffer),
                None => None,
            };
            let mut call = Invocation::new(Collective::Scatter, Buffer::phantom(0)).with_root(root);
            call.room = Some(room);
            self.perform_view(call, send, Some(recv), location).await
        }
    }

    /// [`Comm::allgather`] of items of a datatype: `send` is a buffer, the number of items, and
    /// their datatype; `recv` is room for the items of all ranks, the number of items of one rank,
    /// and their datatype.
    ///
    /// # Errors
    /// As [`Comm::allgather`], [`Datatype::pack`] and [`Datatype::unpack`].
    #[track_caller]
    pub fn allgather_view<'a>(
        &'a self,
        send: (&Buffer, u64, &Datatype),
        recv: (&'a mut Buffer, u64, &Datatype),
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let send = Some((send.0.clone(), send.1, send.2.clone()));
        let (buffer, count, datatype) = (recv.0, recv.1, recv.2.clone());
        async move {
            let call = Invocation::new(Collective::Allgather, Buffer::phantom(0));
            let recv = Some((buffer, times(count, self.size())?, datatype));
            self.perform_view(call, send, recv, location).await
        }
    }

    /// [`Comm::alltoall`] of items of a datatype: both `send` and `recv` are a buffer for the items
    /// of all ranks, the number of items of one rank, and their datatype.
    ///
    /// # Errors
    /// As [`Comm::alltoall`], [`Datatype::pack`] and [`Datatype::unpack`].
    #[track_caller]
    pub fn alltoall_view<'a>(
        &'a self,
        send: (&Buffer, u64, &Datatype),
        recv: (&'a mut Buffer, u64, &Datatype),
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let (given, each, send_type) = (send.0.clone(), send.1, send.2.clone());
        let (buffer, count, datatype) = (recv.0, recv.1, recv.2.clone());
        async move {
            let call = Invocation::new(Collective::Alltoall, Buffer::phantom(0));
            let send = Some((given, times(each, self.size())?, send_type));
            let recv = Some((buffer, times(count, self.size())?, datatype));
            self.perform_view(call, send, recv, location).await
        }
    }

    /// [`Comm::reduce`] of `count` items of a datatype, whose data are elements of the operation.
    /// The root gives room for the result, `count` items, too.
    ///
    /// # Errors
    /// As [`Comm::reduce`], [`Datatype::pack`] and [`Datatype::unpack`]; [`Error::NoBuffer`] if the
    /// root gives no room.
    #[track_caller]
    pub fn reduce_view<'a>(
        &'a self,
        send: (&Buffer, u64, &Datatype),
        recv: Option<&'a mut Buffer>,
        op: &Op,
        root: usize,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let (buffer, count, datatype) = (send.0.clone(), send.1, send.2.clone());
        let call = Invocation::new(Collective::Reduce, Buffer::phantom(0));
        let call = call.with_op(op).with_root(root);
        async move {
            let recv = recv.filter(|_| self.rank() == root);
            if recv.is_none() && self.rank() == root {
                return Err(Error::NoBuffer);
            }
            let recv = recv.map(|target| (target, count, datatype.clone()));
            let send = Some((buffer, count, datatype));
            self.perform_view(call, send, recv, location).await
        }
    }

    /// [`Comm::allreduce`] of `count` items of a datatype, whose data are elements of the
    /// operation. `recv` has room for `count` items, too.
    ///
    /// # Errors
    /// As [`Comm::allreduce`], [`Datatype::pack`] and [`Datatype::unpack`].
    #[track_caller]
    pub fn allreduce_view<'a>(
        &'a self,
        send: (&Buffer, u64, &Datatype),
        recv: &'a mut Buffer,
        op: &Op,
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let location = SourceLocation::caller();
        let (buffer, count, datatype) = (send.0.clone(), send.1, send.2.clone());
        let call = Invocation::new(Collective::Allreduce, Buffer::phantom(0)).with_op(op);
        async move {
            let recv = Some((recv, count, datatype.clone()));
            let send = Some((buffer, count, datatype));
            self.perform_view(call, send, recv, location).await
        }
    }

    /// Sends items of a datatype to each rank and receives items of each rank: `MPI_Alltoallw`.
    /// `send` has for each rank the number of items, their displacement in bytes in `buffer`, and
    /// their datatype; `recv` has the same for `target`. The bytes between the data stay as they
    /// are.
    ///
    /// # Errors
    /// As [`Comm::alltoall_v`], [`Datatype::structure`], [`Datatype::pack`] and
    /// [`Datatype::unpack`].
    #[track_caller]
    pub fn alltoall_w<'a>(
        &'a self,
        buffer: &Buffer,
        send: &[(u64, u64, Datatype)],
        target: &'a mut Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let (location, buffer) = (SourceLocation::caller(), buffer.clone());
        let call = AlltoallW::new(send, recv);
        async move {
            let AlltoallW { call, send, recv } = call?;
            let (send, recv) = (Some((buffer, 1, send)), Some((target, 1, recv)));
            self.perform_view(call, send, recv, location).await
        }
    }

    /// Starts an exchange of items of datatypes: `MPI_Ialltoallw`. The completion has `target` with
    /// the data in their places.
    ///
    /// # Errors
    /// As [`Comm::alltoall_w`].
    #[track_caller]
    pub fn ialltoall_w(
        &self,
        buffer: Buffer,
        send: &[(u64, u64, Datatype)],
        target: Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Request> {
        let call = AlltoallW::new(send, recv)?.with(buffer, target)?;
        self.start_request(&call, SourceLocation::caller())
    }

    /// An exchange of items of datatypes that [`Request::start`] starts: `MPI_Alltoallw_init`.
    ///
    /// # Errors
    /// As [`Datatype::structure`] and [`Datatype::unpack`].
    pub fn alltoall_w_init(
        &self,
        buffer: Buffer,
        send: &[(u64, u64, Datatype)],
        target: Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Request> {
        let call = AlltoallW::new(send, recv)?.with(buffer, target)?;
        Ok(self.collective_init(call))
    }

    /// Packs the contribution, performs the call, and unpacks the result.
    async fn perform_view(
        &self,
        mut call: Invocation,
        send: Option<(Buffer, u64, Datatype)>,
        recv: Option<(&mut Buffer, u64, Datatype)>,
        location: SourceLocation,
    ) -> Result<()> {
        let name = call.name;
        let room = match &recv {
            Some((target, count, datatype)) => datatype.packed_length(*count, target)?,
            None => 0,
        };
        if let Some((buffer, count, datatype)) = send {
            self.process().wait_until_idle(name, location).await;
            call.input = self.pack(&buffer, &datatype, count)?;
        }
        let result = self.perform(call, location).await?;
        let Some((target, count, datatype)) = recv else {
            return Ok(());
        };
        if result.len() != room {
            return Err(Error::Blocks {
                length: room,
                expected: result.len(),
            });
        }
        datatype.unpack(count, &result, target)?;
        let copy = |engine: &mut ProtocolEngine, channel: &dyn Channel| engine.copy(channel, room);
        self.process().with_engine(copy);
        self.process().wait_until_idle(name, location).await;
        Ok(())
    }

    /// Starts a call whose contribution is not packed.
    pub(super) fn start_view(
        &self,
        invocation: &Invocation,
        views: &Views,
        location: SourceLocation,
    ) -> Result<Request> {
        let input = match &views.send {
            Some((count, datatype)) => self.pack(&invocation.input, datatype, *count)?,
            None => invocation.input.clone(),
        };
        let packed = Invocation {
            input,
            views: None,
            ..invocation.clone()
        };
        let request = self.start_request(&packed, location)?;
        Ok(match &views.recv {
            Some(recv) => request.unpacking(recv.clone()),
            None => request,
        })
    }
}

impl Graph {
    /// Sends items of a datatype to each destination and receives items of each source:
    /// `MPI_Neighbor_alltoallw`. Arguments are those of [`Comm::alltoall_w`], with a member for
    /// each neighbour. Where the source is the null process, `target` stays as it is.
    ///
    /// # Errors
    /// As [`Comm::alltoall_w`] and [`Graph::neighbor_alltoall_v`].
    #[track_caller]
    pub fn neighbor_alltoall_w<'a>(
        &'a self,
        buffer: &Buffer,
        send: &[(u64, u64, Datatype)],
        target: &'a mut Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> impl Future<Output = Result<()>> + use<'a> {
        let (location, buffer) = (SourceLocation::caller(), buffer.clone());
        let call = AlltoallW::between_neighbors(self, send, recv);
        async move {
            let AlltoallW { call, send, recv } = call?;
            let (send, recv) = (Some((buffer, 1, send)), Some((target, 1, recv)));
            self.comm().perform_view(call, send, recv, location).await
        }
    }

    /// Starts [`Graph::neighbor_alltoall_w`]: `MPI_Ineighbor_alltoallw`. The completion has
    /// `target` with the data in their places.
    ///
    /// # Errors
    /// As [`Graph::neighbor_alltoall_w`].
    #[track_caller]
    pub fn ineighbor_alltoall_w(
        &self,
        buffer: Buffer,
        send: &[(u64, u64, Datatype)],
        target: Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Request> {
        let call = AlltoallW::between_neighbors(self, send, recv)?;
        let call = call.with(buffer, target)?;
        self.comm().start_request(&call, SourceLocation::caller())
    }

    /// [`Graph::neighbor_alltoall_w`] that [`Request::start`] starts:
    /// `MPI_Neighbor_alltoallw_init`.
    ///
    /// # Errors
    /// As [`Comm::alltoall_w_init`].
    pub fn neighbor_alltoall_w_init(
        &self,
        buffer: Buffer,
        send: &[(u64, u64, Datatype)],
        target: Buffer,
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Request> {
        let call = AlltoallW::between_neighbors(self, send, recv)?;
        Ok(self.comm().collective_init(call.with(buffer, target)?))
    }
}
