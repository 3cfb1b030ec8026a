//! Intercommunicators (MPI 5.0, section 7.6): messages between two groups without a common member.
//!
//! Both groups have one context. A rank names the ranks of the other group in point-to-point calls.
//! Collective calls are calls of the ranks of both groups. The ranks of the *lower* group come
//! first; its rank 0 is lower in the world.
//!
//! Leaders exchange the members of their groups in the context of collectives of the peer
//! communicator, and send them along a binomial tree. The leader with the lower rank in the world
//! chooses the context.
//!
//! *Not modelled*: libraries also make an intracommunicator of each group, which takes a few
//! message times more.

use observe::SourceLocation;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use crate::api::communicators::{Exchange, SharedCall, choose_context, free_at};
use crate::api::create_group::tagged;
use crate::api::group::{Listed, Members, order_of, table, word};
use crate::collectives::{allgather_real, in_32_bits};
use crate::{
    Buffer, Comm, CommunicatorManagement, Completion, Error, Group, Recv, Request, Result, Send,
    SendModes, Source, Status, Tag,
};

/// Tag of messages between the groups in calls of all ranks.
const BETWEEN: u32 = 300;

/// Words of a table of members before them: the context, and whether an order follows.
const HEAD: usize = 2;

/// A communicator between two groups.
///
/// ```no_run
/// # use mpi::prelude::*;
/// # async fn example(world: Comm) -> Result<()> {
/// // The lower and the upper half of the ranks.
/// let middle = world.size() / 2;
/// let is_upper = world.rank() >= middle;
/// let half = world.split(Some(is_upper.into()), 0).await?.expect("a colour");
/// let other = if is_upper { 0 } else { middle };
/// let between = half.intercomm_create(0, &world, other, 7).await?;
/// if is_upper {
///     between.send(&world.buffer(8), 0, 0).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct InterComm {
    /// The group of the caller.
    local: Comm,
    /// The other group, with the rank that the caller has in its own group.
    remote: Comm,
    /// Both groups.
    both: Comm,
}

/// Returns a table of a context and of members.
fn members_table(context: u32, members: &Members) -> Buffer {
    let ranks: Vec<u32> = members.iter().collect();
    let order = order_of(&ranks);
    let head = [context, order.is_some().into()];
    let words = head.into_iter().chain(ranks);
    table(words.chain(order.into_iter().flatten()))
}

/// Returns the members of a table.
fn members_from_table(table: &Buffer) -> Members {
    let has_order = word(table, 1) == 1;
    let words = usize::try_from(table.len() / 4).expect("tables fit into memory") - HEAD;
    let count = if has_order { words / 2 } else { words };
    let listed = Listed {
        table: table.clone(),
        members: HEAD,
        order: has_order.then_some(HEAD + count),
        count: in_32_bits(count),
        nodes: std::cell::OnceCell::new(),
    };
    Members::Listed(Rc::new(listed)).without_table()
}

/// Returns the ranks of a group with records of a colour, ordered by their keys.
fn chosen(records: &[u8], colour: i32, group: &Group) -> Result<Group> {
    let words = records.as_chunks::<4>().0;
    let words: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
    let numbered = words.as_chunks::<2>().0.iter().enumerate();
    let same = numbered.filter(|(_, [other, _])| *other == colour);
    let mut ranks: Vec<(i32, usize)> = same.map(|(rank, [_, key])| (*key, rank)).collect();
    ranks.sort_unstable();
    let ranks: Vec<usize> = ranks.into_iter().map(|(_, rank)| rank).collect();
    group.incl(&ranks)
}

/// Makes an intercommunicator, as [`Comm::intercomm_create`].
pub(super) async fn intercomm_create_at(
    comm: &Comm,
    local_leader: usize,
    (peer, remote_leader): (Comm, usize),
    tag: u32,
    location: SourceLocation,
) -> Result<InterComm> {
    let step = SharedCall {
        down: tagged(tag)?,
        ..SharedCall::new("create of an intercommunicator", location)
    };
    comm.peer(local_leader)?;
    let exchange = Exchange::begin(comm, step)?;
    let remote = if comm.rank() == local_leader {
        Some(exchange_members(comm, &peer, remote_leader, step).await?)
    } else {
        None
    };
    let remote = exchange.broadcast_record(remote, local_leader).await?;
    let (context, members) = (word(&remote, 0), members_from_table(&remote));
    let common = members.iter().find_map(|rank| comm.members().rank_of(rank));
    if let Some(rank) = common {
        let rank = rank as usize;
        return Err(Error::Overlap { rank });
    }
    Ok(InterComm::new(comm, members, context, location))
}

/// Exchanges the members of the groups between their leaders. Returns a table of the chosen
/// context and of the members of the other group.
async fn exchange_members(
    comm: &Comm,
    peer: &Comm,
    leader: usize,
    step: SharedCall,
) -> Result<Buffer> {
    let chooses = comm.world_rank() < peer.peer(leader)?;
    let context = if chooses { choose_context(comm)? } else { 0 };
    let own = members_table(context, comm.members());
    let peer = peer.collective()?;
    let mut found = Exchange::new(&peer, step).swap_content(own, leader).await?;
    if chooses && let Some(bytes) = found.bytes_mut() {
        bytes[..4].copy_from_slice(&context.to_le_bytes());
    }
    Ok(found)
}

impl InterComm {
    fn new(local: &Comm, remote: Members, context: u32, location: SourceLocation) -> Self {
        let (members, rank) = (local.members().clone(), local.rank_in_32_bits());
        let local = local.derived(members, rank, context, location);
        let is_low = local.members().world(0) < remote.world(0);
        let mut groups = [local.members().clone(), remote.clone()];
        let mut before = 0;
        if !is_low {
            groups.swap(0, 1);
            before = remote.count();
        }
        let both = local.with_members(Members::Two(Rc::new(groups)), before + rank);
        let remote = local.with_members(remote, rank);
        Self {
            local,
            remote,
            both,
        }
    }

    /// Returns the group of the caller, in the context of the intercommunicator: messages in this
    /// group could match messages of the other group.
    #[must_use]
    pub const fn local(&self) -> &Comm {
        &self.local
    }

    /// Returns the other group as destinations and sources of messages; the rank in this
    /// communicator is the rank of the caller in its own group.
    #[must_use]
    pub const fn remote(&self) -> &Comm {
        &self.remote
    }

    /// The ranks of both groups.
    pub(crate) const fn both(&self) -> &Comm {
        &self.both
    }

    /// Returns the position of rank 0 of the other group among the ranks of both groups.
    pub(crate) fn first_remote(&self) -> usize {
        if self.is_low() { self.size() } else { 0 }
    }

    /// The rank of the caller in its group: `MPI_Comm_rank`.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.local.rank()
    }

    /// Number of ranks of the caller's group: `MPI_Comm_size`.
    #[must_use]
    pub fn size(&self) -> usize {
        self.local.size()
    }

    /// Number of ranks of the other group: `MPI_Comm_remote_size`.
    #[must_use]
    pub fn remote_size(&self) -> usize {
        self.remote.size()
    }

    /// The caller's group: `MPI_Comm_group`.
    #[must_use]
    pub fn group(&self) -> Group {
        self.local.group()
    }

    /// The other group: `MPI_Comm_remote_group`.
    #[must_use]
    pub fn remote_group(&self) -> Group {
        self.remote.group()
    }

    /// [`Comm::send`] to a rank of the other group.
    ///
    /// # Errors
    /// As [`Comm::send`].
    #[track_caller]
    pub fn send(&self, buffer: &Buffer, destination: usize, tag: u32) -> Send<'_> {
        self.remote.send(buffer, destination, tag)
    }

    /// [`Comm::recv`] of a message from the other group.
    ///
    /// # Errors
    /// As [`Comm::recv`].
    #[track_caller]
    pub fn recv<'a>(
        &'a self,
        buffer: &'a mut Buffer,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Recv<'a> {
        self.remote.recv(buffer, source, tag)
    }

    /// [`Comm::ssend`] to a rank of the other group.
    ///
    /// # Errors
    /// As [`Comm::ssend`].
    #[track_caller]
    pub fn ssend(&self, buffer: &Buffer, destination: usize, tag: u32) -> Send<'_> {
        self.remote.ssend(buffer, destination, tag)
    }

    /// [`Comm::isend`] to a rank of the other group.
    ///
    /// # Errors
    /// As [`Comm::isend`].
    #[track_caller]
    pub fn isend(&self, buffer: Buffer, destination: usize, tag: u32) -> Result<Request> {
        self.remote.isend(buffer, destination, tag)
    }

    /// [`Comm::irecv`] of a message from the other group.
    ///
    /// # Errors
    /// As [`Comm::irecv`].
    #[track_caller]
    pub fn irecv(
        &self,
        buffer: Buffer,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request> {
        self.remote.irecv(buffer, source, tag)
    }

    /// [`Comm::sendrecv`] with ranks of the other group.
    ///
    /// # Errors
    /// As [`Comm::sendrecv`].
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
        let recv_tag = recv_tag.into();
        (self.remote).sendrecv(send, destination, send_tag, recv, source, recv_tag)
    }

    /// [`Comm::probe`] for a message from the other group.
    ///
    /// # Errors
    /// As [`Comm::probe`].
    #[track_caller]
    pub fn probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status>> + '_ {
        self.remote.probe(source, tag)
    }

    /// [`Comm::iprobe`] for a message from the other group.
    ///
    /// # Errors
    /// As [`Comm::iprobe`].
    #[track_caller]
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Option<Status>>> + '_ {
        self.remote.iprobe(source, tag)
    }

    /// Duplicates the intercommunicator: `MPI_Comm_dup`. All ranks of both groups call it.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<Self>> + '_ {
        let step = SharedCall::new("dup of an intercommunicator", SourceLocation::caller());
        async move {
            let exchange = Exchange::begin(&self.both, step)?;
            let context = exchange.agree_on_context(0).await?;
            let remote = self.remote.members().clone();
            Ok(Self::new(&self.local, remote, context, step.location))
        }
    }

    /// Starts [`InterComm::dup`]: `MPI_Comm_idup`. [`InterComm::duplicated`] makes the
    /// intercommunicator of the completion.
    ///
    /// # Errors
    /// As [`InterComm::dup`].
    #[track_caller]
    pub fn idup(&self) -> Result<Request> {
        self.both.idup()
    }

    /// Returns the intercommunicator that [`InterComm::idup`] has made.
    #[track_caller]
    #[must_use]
    pub fn duplicated(&self, completion: &Completion) -> Self {
        let (remote, context) = (self.remote.members().clone(), word(&completion.buffer, 0));
        Self::new(&self.local, remote, context, SourceLocation::caller())
    }

    /// Merges the ranks of both groups into one communicator: `MPI_Intercomm_merge`. All ranks call
    /// it, with one `high` per group. A group with false comes before a group with true; of two
    /// equal ones, the group with the lower rank 0 in the world comes first.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    #[track_caller]
    pub fn merge(&self, high: bool) -> impl Future<Output = Result<Comm>> + '_ {
        let step = SharedCall::new("merge of an intercommunicator", SourceLocation::caller());
        async move {
            let (context, other) = self.agree_on_order(high, step).await?;
            let is_first = match (high, other) {
                (false, true) => true,
                (true, false) => false,
                _ => self.is_low(),
            };
            let (mut first, mut second) = (self.group(), self.remote_group());
            if !is_first {
                std::mem::swap(&mut first, &mut second);
            }
            let members = first.union(&second).members().clone();
            // The ranks of a group keep their order.
            let before = if is_first { 0 } else { self.remote_size() };
            let rank = in_32_bits(before + self.rank());
            let location = step.location;
            Ok(self.local.derived(members, rank, context, location))
        }
    }

    /// Makes an intercommunicator of the ranks of both groups with the same colour, ordered by key
    /// and then by old rank: `MPI_Comm_split`. All ranks of both groups call it. A rank without a
    /// colour, or with a colour that no rank of the other group gives, gets no intercommunicator.
    ///
    /// # Errors
    /// [`Error::Colour`] for a colour above 2^31 - 1; as [`Comm::dup`].
    #[track_caller]
    pub fn split(
        &self,
        colour: Option<u32>,
        key: i32,
    ) -> impl Future<Output = Result<Option<Self>>> + '_ {
        let step = SharedCall::new("split of an intercommunicator", SourceLocation::caller());
        async move {
            let number = match colour {
                Some(colour) => i32::try_from(colour).map_err(|_| Error::Colour(colour))?,
                None => -1,
            };
            let own = table([number.cast_unsigned(), key.cast_unsigned()]);
            let records = own.bytes().unwrap_or_default().to_vec();
            let exchange = Exchange::begin(&self.both, step)?;
            let all = allgather_real(&self.both, &records, step.location).await?;
            let context = exchange.agree_on_context(0).await?;
            let first = records.len() * self.both.members().first_group() as usize;
            let (mut here, mut there) = all.split_at(first);
            if !self.is_low() {
                std::mem::swap(&mut here, &mut there);
            }
            let here = chosen(here, number, &self.group())?;
            let there = chosen(there, number, &self.remote_group())?;
            let rank = here.rank().filter(|_| number >= 0 && there.size() > 0);
            Ok(rank.map(|rank| {
                let local = (self.local).with_members(here.members().clone(), in_32_bits(rank));
                Self::new(&local, there.members().clone(), context, step.location)
            }))
        }
    }

    /// Makes an intercommunicator of some ranks of both groups: `MPI_Comm_create`. All ranks of
    /// both groups call it, with the same subgroup in each group. Ranks outside of the subgroups
    /// get no intercommunicator, and no rank gets one if a subgroup is empty.
    ///
    /// # Errors
    /// As [`InterComm::split`].
    #[track_caller]
    pub fn create(&self, group: &Group) -> impl Future<Output = Result<Option<Self>>> + '_ {
        let rank = group.rank();
        let key = rank.and_then(|rank| i32::try_from(rank).ok());
        self.split(rank.map(|_| 0), key.unwrap_or_default())
    }

    /// Frees the intercommunicator, as [`Comm::free`]: `MPI_Comm_free`. All ranks call it.
    ///
    /// # Errors
    /// [`Error::Comm`] if the intercommunicator has been freed already.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        let location = SourceLocation::caller();
        let step = SharedCall::new("free of an intercommunicator", location);
        free_at(&self.both, step)
    }

    /// Returns true in the group with the lower rank 0 in the world.
    fn is_low(&self) -> bool {
        self.local.members().world(0) < self.remote.members().world(0)
    }

    /// Returns a new context, the same at all ranks of both groups, and `own` of the other group.
    async fn agree_on_order(&self, own: bool, step: SharedCall) -> Result<(u32, bool)> {
        let exchange = Exchange::begin(&self.both, step)?;
        let mut chosen = None;
        if self.rank() == 0 {
            let leaders = self.remote.collective()?;
            let meeting = SharedCall {
                down: BETWEEN,
                ..step
            };
            let meeting = Exchange::new(&leaders, meeting);
            let other = meeting.swap_content(table([own.into()]), 0).await?;
            if self.is_low() {
                let context = choose_context(&self.local)?;
                chosen = Some(table([context, own.into(), word(&other, 0)]));
            }
        }
        let chosen = exchange.broadcast_record(chosen, 0).await?;
        let other = if self.is_low() { 2 } else { 1 };
        Ok((word(&chosen, 0), word(&chosen, other) == 1))
    }
}

impl fmt::Debug for InterComm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size, remote) = (self.rank(), self.size(), self.remote_size());
        let context = self.local.context();
        write!(
            f,
            "InterComm(rank {rank} of {size}, {remote} remote, context {context})"
        )
    }
}
