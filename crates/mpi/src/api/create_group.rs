//! A communicator made by its members alone: `MPI_Comm_create_group`.
//!
//! The members agree on a context along a binomial tree of the group, as for `dup`. Their messages
//! have the tag of the call in the context of collectives of the communicator, with a bit that no
//! other message has.
//!
//! *Not compared* between ranks except for the groups: the call has no position among the calls of
//! the communicator, because its other ranks do not make it.

use observe::SourceLocation;

use crate::api::communicators::smpi::{create_as_smpi, is_as_smpi};
use crate::api::communicators::{Exchange, SharedCall, compare_group};
use crate::api::group::Members;
use crate::{Comm, CommunicatorManagement, Error, Group, Result, TAG_UB, exploration};

/// A bit that tags of programs do not have.
const TAGGED: u32 = 1 << 31;

/// Returns the tag of the messages of a call with this tag.
///
/// # Errors
/// [`Error::Tag`] if the tag is too large.
pub(super) const fn tagged(tag: u32) -> Result<u32> {
    if tag > TAG_UB {
        return Err(Error::Tag(tag));
    }
    Ok(TAGGED | tag)
}

/// Makes a communicator of a group, as [`Comm::create_group`].
pub(super) async fn create_group_at(
    comm: &Comm,
    group: Group,
    tag: u32,
    location: SourceLocation,
) -> Result<Option<Comm>> {
    if !group.is_within(&comm.group()) {
        return Err(Error::Group {
            members: group.size(),
            size: comm.size(),
        });
    }
    let step = SharedCall {
        down: tagged(tag)?,
        ..SharedCall::new("create_group", location)
    };
    let members = group.members().clone();
    let Some(rank) = members.rank_of(comm.world_rank()) else {
        return Ok(None);
    };
    if is_as_smpi(comm) {
        return create_as_smpi(comm, members, Some(tag), step).await;
    }
    let place = (comm.context(), tag);
    compare_group(comm, &group, |log, call| {
        log.compare_member_create(place, call)
    })?;
    let number = note_members(comm, &members, step);
    let among = comm.with_members(members.clone(), rank);
    let context = Exchange::new(&among, step).agree_on_context(number).await?;
    Ok(Some(comm.derived(members, rank, context, location)))
}

/// Notes the call for a model checker, and returns a number of the members and the tag. Calls with
/// the same number follow each other.
fn note_members(comm: &Comm, members: &Members, step: SharedCall) -> u32 {
    let channel = comm.process().channel();
    if !exploration::is_explored(channel) {
        return 0;
    }
    let mix = |number: u32, word: u32| (number.rotate_left(9) ^ word).wrapping_mul(0x9e37_79b1);
    let all = (0..members.count()).map(|rank| members.world(rank));
    let number = all.fold(mix(comm.context(), step.down), mix);
    // No communicator has such a context.
    let place = (TAGGED | number, members.world(0));
    let count = comm.process().count_persistent(place.0).request;
    let call = (step.name, (place.0, place.1, count), members.count());
    exploration::note_collective(channel, call, step.location);
    place.0
}
