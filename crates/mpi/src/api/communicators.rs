//! New communicators from old ones: `dup`, `split`, `create`, and their end, `free`.
//!
//! All ranks of a communicator make a new one together, with real messages in the context of
//! collectives, so the call takes the time of these messages:
//!
//! * The *context*, which keeps the messages of different communicators apart, is chosen by rank 0
//!   and sent along a binomial tree of ceil(log2 n) levels. The context consists of the world rank
//!   of rank 0 and of a counter at that rank, so two communicators that have both not been freed
//!   never have the same context, even if different ranks make them at the same time.
//! * `split` first gathers the colours and keys along the same tree, 8 bytes per rank. Rank 0 sorts
//!   them and sends the groups down as one table of at least 8 bytes per rank. Ranks share the
//!   table if the channel hands over memory, as a simulated channel does: all groups of one `split`
//!   cost memory once, not once per rank.
//!
//! Where ranks wait least, as under a model checker, the context is not chosen: each rank derives
//! the same context from the old context and the number of calls there, without waiting for others.
//!
//! Real MPI libraries agree in other ways (MPICH with an allreduce of a bit mask, 256 bytes), so
//! their dates differ by a few message times. Under a selector of SMPI, see [SMPI](smpi).
//!
//! `free` is local: operations in progress on a freed communicator continue to their normal end.
//! Its context could be chosen again before their end, or before another rank frees it. This
//! happens only if no unused context is left; the context that was freed first is then chosen
//! first.

use channel::COLLECTIVE;
use observe::SourceLocation;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use crate::api::attributes::{copy_attributes, delete_properties};
use crate::api::create_group::create_group_at;
use crate::api::group::{Listed, Members, order_of, table, word};
use crate::api::intercomm::intercomm_create_at;
use crate::api::topology::split_by_host_at;
use crate::api::view::Unpack;
use crate::collectives::{CallPosition, GroupCall, GroupLog, Signature, compare_call};
use crate::exploration;
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::protocol::engine::waits_least;
use crate::protocol::look::mix;
use crate::{
    Buffer, CollectiveOperations, Comm, Comparison, Completion, Datatype, Error, Group, InterComm,
    Request, Result, Tag,
};
use smpi::{create_as_smpi, is_as_smpi, split_as_smpi};

/// The colour of a rank that takes no part in any group, in a record.
const UNDEFINED: u32 = u32::MAX;

/// Bytes of a record of `split`: colour and key.
const RECORD: usize = 8;

/// Tags in the context of collectives.
const UP: u32 = 100;
const DOWN: u32 = 101;

/// The contexts that one rank knows about.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// Number of contexts that this rank has given out as rank 0 of a communicator.
    given: u32,
    /// Numbers of calls that have derived a context, by a number of the communicator and the call.
    derived: BTreeMap<u64, u32>,
    /// Contexts of communicators that have been freed at this rank, with the order of the frees.
    freed: BTreeMap<u32, u64>,
    frees: u64,
    /// For each context that is not freed: the kind of object in words, and the line that made the
    /// object; only under a model checker.
    made: BTreeMap<u32, (&'static str, SourceLocation)>,
    /// The latest call that makes a communicator.
    latest: Option<(&'static str, CallPosition)>,
}

impl Contexts {
    /// A context that no other communicator has: bit 0 is for collectives, the upper bits name this
    /// rank, the ones between count. Number 0 of rank 0 is the world. A number is used again only
    /// when all have been.
    fn choose(&mut self, me: u32, size: u32) -> Result<u32> {
        let rank_bits = count_rank_bits(size);
        let count_bits = u32::BITS - 1 - rank_bits;
        let prefix = u32::try_from(u64::from(me) << (u32::BITS - rank_bits)).unwrap_or(0);
        if self.given < (u32::MAX >> (rank_bits + 1)) {
            self.given += 1;
            return Ok(prefix | self.given << 1);
        }
        let last = u32::try_from(u64::from(prefix) + (1_u64 << (count_bits + 1)) - 1);
        let own = self.freed.range(prefix..=last.unwrap_or(u32::MAX));
        // Other ranks may free the latest ones later.
        let again = own.min_by_key(|(_, order)| **order);
        let again = again.map(|(context, _)| *context);
        let again = again.ok_or(Error::Contexts { given: self.given })?;
        self.freed.remove(&again);
        Ok(again)
    }

    /// Returns a context that all ranks of a communicator derive in the same call, without
    /// messages. The highest bit of the count is one, which [`Contexts::choose`] reaches after more
    /// communicators than an explored program has.
    ///
    /// Of two communicators with ranks in common, these ranks know both, and refuse a context that
    /// is there already.
    fn derive_context(&mut self, call: u64, size: u32) -> Result<u32> {
        let count = self.derived.entry(call).or_default();
        let number = mix(call, u64::from(*count));
        *count += 1;
        let high = u32::try_from(number >> u32::BITS).unwrap_or_default();
        let context = (high | 1 << (u32::BITS - 1 - count_rank_bits(size))) & !COLLECTIVE;
        match self.made.contains_key(&context) || self.freed.contains_key(&context) {
            true => Err(Error::Contexts { given: self.given }),
            false => Ok(context),
        }
    }

    /// A communicator with this context is there from now on.
    pub(crate) fn open_context(&mut self, context: u32) {
        self.freed.remove(&context);
    }

    /// A communicator with this context is given up.
    pub(crate) fn free_context(&mut self, context: u32) {
        self.freed.insert(context, self.frees);
        self.frees += 1;
        self.made.remove(&context);
    }

    /// Notes where a communicator was made.
    pub(crate) fn note_made(&mut self, context: u32, location: SourceLocation) {
        self.made.insert(context, ("a communicator", location));
    }

    /// Notes that a communicator that was made is the one of a window.
    pub(crate) fn note_window(&mut self, context: u32) {
        if let Some((object, _)) = self.made.get_mut(&context) {
            *object = "a window";
        }
    }

    /// The communicators and windows that were never freed, in words.
    pub(crate) fn unfreed(&self) -> Vec<String> {
        let made = self.made.iter();
        made.map(|(context, (object, at))| {
            format!("{object} (context {context}) was never freed, made at {at}")
        })
        .collect()
    }

    /// Returns the position of the latest call, if the call has this name.
    pub(crate) fn latest(&self, name: &str) -> Option<CallPosition> {
        self.latest
            .filter(|(latest, _)| *latest == name)
            .map(|(_, place)| place)
    }

    #[inline(never)]
    pub(crate) fn is_freed(&self, context: u32) -> bool {
        !self.freed.is_empty() && self.freed.contains_key(&context)
    }
}

/// Returns the number of bits of a context that name a rank.
const fn count_rank_bits(size: u32) -> u32 {
    u32::BITS - (size - 1).leading_zeros()
}

/// A call that all ranks make.
#[derive(Clone, Copy)]
pub(crate) struct SharedCall {
    pub(crate) name: &'static str,
    pub(crate) location: SourceLocation,
    /// Tag of messages down the tree.
    pub(crate) down: u32,
}

impl SharedCall {
    pub(crate) const fn new(name: &'static str, location: SourceLocation) -> Self {
        Self {
            name,
            location,
            down: DOWN,
        }
    }
}

/// A call that all ranks of a communicator make, and the messages of the call.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    comm: &'a Comm,
    step: SharedCall,
}

impl<'a> Exchange<'a> {
    pub(crate) const fn new(comm: &'a Comm, step: SharedCall) -> Self {
        Self { comm, step }
    }

    /// Begins a call that all ranks make.
    pub(crate) fn begin(comm: &'a Comm, step: SharedCall) -> Result<Self> {
        let context = comm.call_context()?;
        let signature = (
            || Signature::from_name(step.name, step.location),
            step.location,
        );
        let number = comm.process().count_call(context, false);
        let place = comm.raised(compare_call(comm, context, number, signature, None))?;
        comm.process().contexts().latest = Some((step.name, place));
        // The library may synchronise the ranks first.
        if !ProtocolDefects::default().has(ProtocolDefect::ConstructorsNeverWait) {
            let place = (place.context, place.first, place.number);
            let call = (step.name, place, comm.members().count());
            exploration::note_collective(comm.process().channel(), call, step.location);
        }
        Ok(Self::new(comm, step))
    }

    /// A context for a new communicator, the same at all ranks. Calls that some ranks make have a
    /// number, which is not 0.
    pub(crate) async fn agree_on_context(self, number: u32) -> Result<u32> {
        if waits_least(self.comm.process().channel()) {
            return derive_context(self.comm, number);
        }
        let chosen = match self.comm.rank() {
            0 => Some(table([choose_context(self.comm)?])),
            _ => None,
        };
        let told = self.broadcast_record(chosen, 0).await?;
        Ok(word(&told, 0))
    }

    /// Brings the records of all ranks together at rank 0, in the order of the ranks.
    async fn gather_records(self, mut records: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let comm = self.comm.collective()?;
        let inner = Exchange::new(&comm, self.step);
        let (rank, size) = (comm.rank(), comm.size());
        let mut distance = 1;
        while distance < size {
            if rank & distance != 0 {
                let buffer = Buffer::from(records);
                inner.hand_over(buffer, rank - distance, UP).await?;
                return Ok(None);
            }
            if rank + distance < size {
                let more = inner.take_over(rank + distance, UP).await?;
                records.extend_from_slice(more.bytes().expect("records are real"));
            }
            distance *= 2;
        }
        Ok(Some(records))
    }

    /// Sends the record of the root to all ranks.
    pub(crate) async fn broadcast_record(self, own: Option<Buffer>, root: usize) -> Result<Buffer> {
        let comm = self.comm.collective()?;
        let inner = Exchange::new(&comm, self.step);
        let size = comm.size();
        let rank = (comm.rank() + size - root) % size;
        let absolute = |relative: usize| (relative + root) % size;
        // What the rank is below: the lowest bit of its number, or the height of the tree.
        let mut distance = 1;
        while distance < size && rank & distance == 0 {
            distance *= 2;
        }
        let content = match own {
            Some(content) => content,
            None => {
                let above = absolute(rank - distance);
                inner.take_over(above, self.step.down).await?
            }
        };
        distance /= 2;
        while distance > 0 {
            if rank + distance < size {
                let (copy, below) = (content.clone(), absolute(rank + distance));
                inner.hand_over(copy, below, self.step.down).await?;
            }
            distance /= 2;
        }
        Ok(content)
    }

    /// Waits for the end of a message.
    async fn complete_message(self, mut message: Request) -> Result<Completion> {
        let SharedCall { name, location, .. } = self.step;
        message.wait_in(name, location).await
    }

    /// Sends a message to a rank, and waits for the end of the send.
    async fn hand_over(self, content: Buffer, to: usize, tag: u32) -> Result<()> {
        let sending = self.comm.isend_at(content, to, tag, self.step.location)?;
        self.complete_message(sending).await.map(drop)
    }

    /// Receives a message of any length from a rank.
    async fn take_over(self, from: usize, tag: u32) -> Result<Buffer> {
        let (buffer, location) = (Buffer::unbounded(), self.step.location);
        let receiving = (self.comm).irecv_at(buffer, from.into(), Tag::Is(tag), location)?;
        Ok(self.complete_message(receiving).await?.buffer)
    }

    /// Sends a message to a rank and receives a message of any length from this rank.
    pub(crate) async fn swap_content(self, content: Buffer, with: usize) -> Result<Buffer> {
        let SharedCall { location, down, .. } = self.step;
        let sending = self.comm.isend_at(content, with, down, location)?;
        let found = self.take_over(with, down).await?;
        self.complete_message(sending).await?;
        Ok(found)
    }
}

/// Calls that make, compare and free communicators.
pub trait CommunicatorManagement: AsRef<Comm> + Sized {
    /// Duplicates the communicator with a new context: `MPI_Comm_dup`. All ranks call it.
    ///
    /// # Errors
    /// [`Error::Comm`] if the communicator has been freed, [`Error::Contexts`] if rank 0 has made
    /// too many communicators.
    #[track_caller]
    fn dup(&self) -> impl Future<Output = Result<Comm>> + '_ {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        async move {
            let new = dup_at(comm, location).await?;
            copy_attributes(comm, &new);
            Ok(new)
        }
    }

    /// Starts [`Comm::dup`]: `MPI_Comm_idup`. All ranks call it. [`Comm::duplicated`] makes the
    /// communicator from the completion. Attributes are not copied.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    #[track_caller]
    fn idup(&self) -> Result<Request> {
        let comm = self.as_ref();
        if waits_least(comm.process().channel()) {
            // A call without data, and so without a wait; the completion has the context.
            let context = table([derive_context(comm, 0)?]);
            let request = comm.bcast(&mut Buffer::from(Vec::new()), 0).start()?;
            return Ok(request.unpacking(Unpack::new(Datatype::bytes(1), 0, context)));
        }
        let context = if comm.rank() == 0 {
            choose_context(comm)?
        } else {
            0
        };
        comm.bcast(&mut table([context]), 0).start()
    }

    /// Returns the communicator that [`Comm::idup`] has made.
    #[track_caller]
    #[must_use]
    fn duplicated(&self, completion: &Completion) -> Comm {
        let comm = self.as_ref();
        let (members, rank) = (comm.members().clone(), comm.rank_in_32_bits());
        let context = word(&completion.buffer, 0);
        comm.derived(members, rank, context, SourceLocation::caller())
    }

    /// Groups the ranks by colour: `MPI_Comm_split`. All ranks call it; ranks with the same colour
    /// get a communicator in which the ranks are ordered by key, and by old rank where keys are
    /// equal. A rank without a colour (`MPI_UNDEFINED`) gets no communicator.
    ///
    /// # Errors
    /// [`Error::Colour`] for a colour above 2^31 - 1; as [`Comm::dup`].
    #[track_caller]
    fn split(
        &self,
        colour: Option<u32>,
        key: i32,
    ) -> impl Future<Output = Result<Option<Comm>>> + '_ {
        split_at(self.as_ref(), colour, key, SourceLocation::caller())
    }

    /// Groups the ranks by their hosts: `MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`. All
    /// ranks call it; the ranks of one host are ordered by key, and by old rank where keys are
    /// equal.
    ///
    /// # Errors
    /// As [`Comm::split`].
    #[track_caller]
    fn split_by_host(&self, key: i32) -> impl Future<Output = Result<Comm>> + '_ {
        split_by_host_at(self.as_ref(), key, SourceLocation::caller())
    }

    /// Makes a communicator of some of the ranks: `MPI_Comm_create`. All ranks of this communicator
    /// call it with the same group; ranks outside of the group get no communicator.
    ///
    /// # Errors
    /// [`Error::Group`] if a member of the group is not a rank of this communicator; as
    /// [`Comm::dup`].
    #[track_caller]
    fn create(&self, group: &Group) -> impl Future<Output = Result<Option<Comm>>> + '_ {
        let comm = self.as_ref();
        let step = SharedCall::new("create of a communicator", SourceLocation::caller());
        let group = group.clone();
        async move {
            if !group.is_within(&comm.group()) {
                return Err(Error::Group {
                    members: group.size(),
                    size: comm.size(),
                });
            }
            let exchange = Exchange::begin(comm, step)?;
            let members = group.members().clone();
            if is_as_smpi(comm) {
                return create_as_smpi(comm, members, None, step).await;
            }
            let context = exchange.agree_on_context(0).await?;
            compare_group(comm, &group, |log, call| log.compare_create(context, call))?;
            let rank = members.rank_of(comm.world_rank());
            Ok(rank.map(|rank| comm.derived(members, rank, context, step.location)))
        }
    }

    /// Makes a communicator of some of the ranks: `MPI_Comm_create_group`. The members of the group
    /// call it with the same group and tag; other ranks need not call it and get no communicator.
    ///
    /// # Errors
    /// [`Error::Group`] if a member of the group is not a rank of this communicator; [`Error::Tag`]
    /// if the tag is too large; as [`Comm::dup`].
    #[track_caller]
    fn create_group(
        &self,
        group: &Group,
        tag: u32,
    ) -> impl Future<Output = Result<Option<Comm>>> + use<'_, Self> {
        create_group_at(self.as_ref(), group.clone(), tag, SourceLocation::caller())
    }

    /// Makes an intercommunicator between the ranks of this communicator and of another one:
    /// `MPI_Intercomm_create`. All ranks of both call it. The leaders are ranks of `peer`, in which
    /// the other group's leader is `remote_leader`; other ranks may give any communicator and rank.
    ///
    /// # Errors
    /// [`Error::Rank`] if a leader is out of range, [`Error::Tag`] if the tag is too large,
    /// [`Error::Overlap`] if the groups have a common member; as [`Comm::dup`].
    #[track_caller]
    fn intercomm_create(
        &self,
        local_leader: usize,
        peer: &Comm,
        remote_leader: usize,
        tag: u32,
    ) -> impl Future<Output = Result<InterComm>> + use<'_, Self> {
        let (remote, location) = ((peer.clone(), remote_leader), SourceLocation::caller());
        intercomm_create_at(self.as_ref(), local_leader, remote, tag, location)
    }

    /// Frees the communicator: `MPI_Comm_free`. All ranks call it, and no rank waits for another:
    /// operations in progress continue to their normal end. Other handles of the communicator are
    /// refused afterwards. A communicator that is dropped without `free` only keeps its context.
    ///
    /// # Errors
    /// [`Error::Comm`] if the communicator has been freed already, or is the world.
    #[track_caller]
    fn free(self) -> Result<()> {
        let step = SharedCall::new("free of a communicator", SourceLocation::caller());
        free_at(self.as_ref(), step)
    }

    /// The ranks as a group: `MPI_Comm_group`.
    #[must_use]
    fn group(&self) -> Group {
        let comm = self.as_ref();
        Group::new(comm.members().clone(), comm.world_rank())
    }

    /// Compares two communicators: `MPI_Comm_compare`.
    #[must_use]
    fn compare(&self, other: &Comm) -> Comparison {
        let comm = self.as_ref();
        match comm.group().compare(&other.group()) {
            Comparison::Identical if comm.context() != other.context() => Comparison::Congruent,
            comparison => comparison,
        }
    }
}

impl CommunicatorManagement for Comm {}

/// Duplicates a communicator without the attributes.
pub(crate) async fn dup_at(comm: &Comm, location: SourceLocation) -> Result<Comm> {
    let step = SharedCall::new("dup of a communicator", location);
    let exchange = Exchange::begin(comm, step)?;
    if is_as_smpi(comm) {
        let new = create_as_smpi(comm, comm.members().clone(), None, step);
        return Ok(new.await?.expect("all ranks are members"));
    }
    let context = exchange.agree_on_context(0).await?;
    let rank = comm.rank_in_32_bits();
    Ok(comm.derived(comm.members().clone(), rank, context, step.location))
}

/// [`Comm::split`] with a colour at every rank.
pub(crate) async fn split_into(
    comm: &Comm,
    colour: u32,
    key: i32,
    location: SourceLocation,
) -> Result<Comm> {
    let group = split_at(comm, Some(colour), key, location).await?;
    Ok(group.expect("a rank with a colour gets a communicator"))
}

/// Groups the ranks by colour, as [`Comm::split`].
pub(crate) async fn split_at(
    comm: &Comm,
    colour: Option<u32>,
    key: i32,
    location: SourceLocation,
) -> Result<Option<Comm>> {
    let step = SharedCall::new("split of a communicator", location);
    let colour = match colour {
        Some(colour) if i32::try_from(colour).is_err() => {
            return Err(Error::Colour(colour));
        }
        Some(colour) => colour,
        None => UNDEFINED,
    };
    let exchange = Exchange::begin(comm, step)?;
    let mut record = colour.to_le_bytes().to_vec();
    record.extend(key.to_le_bytes());
    if is_as_smpi(comm) {
        return split_as_smpi(comm, record, step).await;
    }
    let records = exchange.gather_records(record).await?;
    let groups = match records {
        Some(records) => Some(groups_table(comm, &records, choose_context(comm)?)),
        None => None,
    };
    let groups = exchange.broadcast_record(groups, 0).await?;
    Ok(own_group(comm, &groups, step))
}

/// Frees a communicator, as [`Comm::free`].
pub(crate) fn free_at(comm: &Comm, step: SharedCall) -> Result<()> {
    if comm.context() == 0 {
        return Err(Error::Comm { context: 0 });
    }
    Exchange::begin(comm, step)?;
    forget_communicator(comm);
    Ok(())
}

/// Forgets a communicator at this rank.
pub(crate) fn forget_communicator(comm: &Comm) {
    comm.process().contexts().free_context(comm.context());
    delete_properties(comm);
}

/// Returns a context that this rank chooses as rank 0.
pub(crate) fn choose_context(comm: &Comm) -> Result<u32> {
    let size = comm.process().channel().size();
    let mut contexts = comm.process().contexts();
    contexts.choose(comm.world_rank(), size)
}

/// Returns the table that rank 0 makes of the records: a table of the context, the number of
/// groups, where each begins and the last ends, whether orders follow, the group of each rank,
/// the members of all groups, and if needed their orders.
fn groups_table(comm: &Comm, records: &[u8], context: u32) -> Buffer {
    let mut ranks: Vec<(u32, i32, u32)> = Vec::new();
    for (rank, record) in (0..).zip(records.chunks_exact(RECORD)) {
        let at = |from: usize| *record[from..].first_chunk::<4>().expect("whole records");
        let (colour, key) = (u32::from_le_bytes(at(0)), i32::from_le_bytes(at(4)));
        if colour != UNDEFINED {
            ranks.push((colour, key, rank));
        }
    }
    ranks.sort_unstable();
    let (mut starts, mut members, mut orders) = (Vec::new(), Vec::new(), Vec::new());
    let mut group_of = vec![UNDEFINED; records.len() / RECORD];
    let mut sorted = true;
    for group in ranks.chunk_by(|a, b| a.0 == b.0) {
        let start = members.len();
        for &(_, _, rank) in group {
            group_of[rank as usize] = in_32_bits(starts.len());
            members.push(comm.members().world(rank));
        }
        starts.push(in_32_bits(start));
        let order = order_of(&members[start..]);
        sorted &= order.is_none();
        orders.extend(order.unwrap_or_else(|| (0..).take(group.len()).collect()));
    }
    let head = [context, in_32_bits(starts.len()), sorted.into()];
    starts.push(in_32_bits(members.len()));
    if sorted {
        orders.clear();
    }
    table([&head[..], &starts, &group_of, &members, &orders].concat())
}

/// The communicator that a table of groups has for this rank.
fn own_group(comm: &Comm, groups: &Buffer, step: SharedCall) -> Option<Comm> {
    let members = members_of_own_group(comm, groups)?;
    let rank = members.rank_of(comm.world_rank())?;
    Some(comm.derived(members, rank, word(groups, 0), step.location))
}

/// Returns the members of the group that a table of groups has for this rank.
fn members_of_own_group(comm: &Comm, groups: &Buffer) -> Option<Members> {
    let [count, sorted] = [1, 2].map(|at| word(groups, at));
    let starts = 3;
    let group_of = starts + count as usize + 1;
    let all = group_of + comm.size();
    let group = word(groups, group_of + comm.rank());
    if group == UNDEFINED {
        return None;
    }
    let start = |group: u32| word(groups, starts + group as usize);
    let (from, to, in_all) = (start(group), start(group + 1), start(count));
    let members = all + from as usize;
    let listed = Listed {
        table: groups.clone(),
        members,
        order: (sorted == 0).then_some(members + in_all as usize),
        count: to - from,
        nodes: std::cell::OnceCell::new(),
    };
    Some(Members::Listed(Rc::new(listed)).without_table())
}

/// Compares the group of a new communicator with the groups of the other ranks, under a model
/// checker. `compare` returns a call of another rank that should have given the same group.
pub(crate) fn compare_group(
    comm: &Comm,
    group: &Group,
    compare: impl FnOnce(&GroupLog, GroupCall) -> Option<GroupCall>,
) -> Result<()> {
    let process = comm.process();
    let log = process.call_log();
    let Some(log) = log.filter(|_| exploration::is_explored(process.channel())) else {
        return Ok(());
    };
    let call = GroupCall {
        rank: comm.rank(),
        world_rank: comm.world_rank(),
        members: group.members().iter().collect(),
    };
    compare(log.group_log(), call).map_or(Ok(()), |other| {
        Err(Error::GroupsDiffer {
            members: group.size(),
            expected: other.members.len(),
            rank: other.rank,
        })
    })
}

/// Returns the context that all ranks derive in this call, which has a number as in
/// [`Exchange::agree_on_context`].
fn derive_context(comm: &Comm, number: u32) -> Result<u32> {
    // A group of an intercommunicator has the context of both.
    let among = comm.members().first_group();
    let call = [comm.context(), among, number].into_iter().map(u64::from);
    let process = comm.process();
    let size = process.channel().size();
    process.contexts().derive_context(call.fold(0, mix), size)
}

fn in_32_bits(count: usize) -> u32 {
    u32::try_from(count).expect("ranks are counted in 32 bits")
}

pub(crate) mod smpi;
#[cfg(test)]
mod tests;
