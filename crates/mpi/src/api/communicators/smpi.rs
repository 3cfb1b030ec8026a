//! Communicators with the messages of SMPI, if the selector is a selector of SMPI: the dates are
//! then the dates of SMPI.
//!
//! The first rank of a new communicator broadcasts its number, 4 bytes, among the members, by the
//! algorithm that the selector selects. `split` first gathers colours and keys at rank 0, 8 bytes
//! from each rank, all received at once; rank 0 sends each other rank with a colour its group, as a
//! pointer of 8 bytes. Ranks outside of the group of `create` send no message.
//!
//! *Not modelled*: `MPI_Comm_split_type` takes no time in SMPI, where ranks of a host see each
//! other; here this call is a `split`. A reordered grid is a `split`, too; SMPI does not reorder.
//!
//! Source: SimGrid 4.1, `src/smpi/mpi/smpi_comm.cpp` (the constructor, `split`) and
//! `smpi_topo.cpp`.

use ::collectives::Selector;

use super::{
    DOWN, Exchange, RECORD, SharedCall, UNDEFINED, UP, choose_context, groups_table,
    members_of_own_group,
};
use crate::api::group::{Members, table, word};
use crate::collectives::broadcast_uncounted;
use crate::exploration;
use crate::{Buffer, Comm, CommunicatorManagement, Group, Result, Tag};

/// Length of a pointer in bytes.
const POINTER: u64 = 8;

/// The first tag of the broadcasts of numbers, relative to the tags of collectives: behind the tags
/// of edges. `create_group` derives its tag from the tag of the call.
const NUMBERS: u32 = (1 << 30) - (1 << 25);

/// Number of tags for `create_group`.
const GROUP_TAGS: u32 = 1 << 23;

/// Returns true if new communicators are made as SMPI makes them. Where packets are more than
/// messages handed over, or ranks are compared, they are not.
pub(in crate::api) fn is_as_smpi(comm: &Comm) -> bool {
    let channel = comm.process().channel();
    let settings = channel.settings();
    let selector = settings.collectives.as_deref();
    selector.is_some_and(Selector::has_smpi_communicators)
        && settings.is_pulled()
        && !exploration::is_explored(channel)
}

/// Makes a communicator of `members`, with a number from the first rank; `None` at other ranks.
/// `tag` is the tag of a call that only the members make.
pub(in crate::api) async fn create_as_smpi(
    comm: &Comm,
    members: Members,
    tag: Option<u32>,
    step: SharedCall,
) -> Result<Option<Comm>> {
    let Some(rank) = members.rank_of(comm.world_rank()) else {
        return Ok(None);
    };
    let context = match rank {
        0 => choose_context(comm)?,
        _ => 0,
    };
    let tag = tag.map_or(NUMBERS, |tag| NUMBERS + 1 + tag % GROUP_TAGS);
    let among = comm.with_members(members.clone(), rank);
    let call = (step.name, step.location);
    let number = broadcast_uncounted(&among, table([context]), tag, call);
    let (number, knows_nodes) = number.await?;
    let new = comm.derived(members, rank, word(&number, 0), step.location);
    if knows_nodes {
        comm.process().note_node_setup(new.call_context()?);
    }
    Ok(Some(new))
}

/// A communicator of the first ranks of this one.
pub(in crate::api) async fn first_ranks_as_smpi(
    comm: &Comm,
    ranks: usize,
    step: SharedCall,
) -> Result<Option<Comm>> {
    Exchange::begin(comm, step)?;
    let all: Vec<usize> = (0..ranks).collect();
    let group: Group = comm.group().incl(&all)?;
    (create_as_smpi(comm, group.members().clone(), None, step)).await
}

/// Groups the ranks by colour.
pub(super) async fn split_as_smpi(
    comm: &Comm,
    record: Vec<u8>,
    step: SharedCall,
) -> Result<Option<Comm>> {
    let inner = comm.collective()?;
    let exchange = Exchange::new(&inner, step);
    let colour = word(&Buffer::from(record.clone()), 0);
    let groups = if comm.rank() == 0 {
        let records = receive_records(&inner, record, step).await?;
        // Each group gets its number from its first rank.
        let groups = groups_table(comm, &records, 0);
        send_groups(&inner, &records, &groups, step).await?;
        groups
    } else {
        let record = Buffer::from(record);
        exchange.hand_over(record, 0, UP).await?;
        if colour == UNDEFINED {
            return Ok(None);
        }
        exchange.take_over(0, DOWN).await?
    };
    match members_of_own_group(comm, &groups) {
        None => Ok(None),
        Some(members) => create_as_smpi(comm, members, None, step).await,
    }
}

/// Receives the records of all other ranks. Returns all in the order of the ranks.
async fn receive_records(comm: &Comm, mut records: Vec<u8>, step: SharedCall) -> Result<Vec<u8>> {
    let receive =
        |rank: usize| comm.irecv_at(Buffer::unbounded(), rank.into(), Tag::Is(UP), step.location);
    let receives: Result<Vec<_>> = (1..comm.size()).map(receive).collect();
    for mut receiving in receives? {
        let done = receiving.wait_in(step.name, step.location).await?;
        records.extend_from_slice(done.buffer.bytes().expect("records are real"));
    }
    Ok(records)
}

/// Sends each other rank with a colour the table of groups: in the order of the first ranks of
/// the groups, and of the keys in each of them.
async fn send_groups(comm: &Comm, records: &[u8], groups: &Buffer, step: SharedCall) -> Result<()> {
    let records = records.chunks_exact(RECORD).map(|record| {
        let at = |from: usize| *record[from..].first_chunk::<4>().expect("whole records");
        (u32::from_le_bytes(at(0)), i32::from_le_bytes(at(4)))
    });
    let mut first = std::collections::BTreeMap::new();
    let mut ranks = Vec::new();
    for (rank, (colour, key)) in records.enumerate() {
        if colour != UNDEFINED {
            ranks.push((*first.entry(colour).or_insert(rank), key, rank));
        }
    }
    ranks.sort_unstable();
    let pointer = groups.clone().into_pointer(POINTER);
    for group in ranks.chunk_by(|a, b| a.0 == b.0) {
        let others = group.iter().filter(|(_, _, rank)| *rank != 0);
        let send = |&(_, _, rank): &_| comm.isend_at(pointer.clone(), rank, DOWN, step.location);
        let sends: Result<Vec<_>> = others.map(send).collect();
        for mut sending in sends? {
            sending.wait_in(step.name, step.location).await?;
        }
    }
    Ok(())
}
