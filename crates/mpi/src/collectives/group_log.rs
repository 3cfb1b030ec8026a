//! The groups of which ranks make communicators, compared with each other.
//!
//! All members of a group give the same group (MPI 5.0, section 7.4.2). Ranks of groups without a
//! common member make communicators of their own.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// A group that a rank has given to make a communicator.
#[derive(Clone, Debug)]
pub(crate) struct GroupCall {
    /// The rank in the old communicator.
    pub(crate) rank: usize,
    /// The rank in the world.
    pub(crate) world_rank: u32,
    /// The members, as ranks in the world.
    pub(crate) members: Vec<u32>,
}

/// The calls so far.
#[derive(Default, Debug)]
pub(crate) struct GroupLog {
    /// By context of the new communicator: the calls of all ranks of the old one.
    creates: RefCell<BTreeMap<u32, Vec<GroupCall>>>,
    /// By context of the old communicator and tag: the calls of members alone.
    member_creates: RefCell<BTreeMap<(u32, u32), Vec<GroupCall>>>,
}

impl GroupCall {
    fn has_member(&self, world_rank: u32) -> bool {
        self.members.contains(&world_rank)
    }

    fn has_common_member(&self, other: &Self) -> bool {
        self.members.iter().any(|member| other.has_member(*member))
    }
}

impl GroupLog {
    /// Notes a call that all ranks of a communicator make, which makes a communicator with this
    /// context. Returns the call of another rank that should have given the same group.
    pub(crate) fn compare_create(&self, context: u32, call: GroupCall) -> Option<GroupCall> {
        let calls = &mut *self.creates.borrow_mut();
        let calls = calls.entry(context).or_default();
        let mut others = calls.iter().filter(|other| other.has_common_member(&call));
        let differing = others.find(|other| other.members != call.members).cloned();
        calls.push(call);
        differing
    }

    /// Notes a call that the members of the group make, on the communicator with this context and
    /// with this tag. Returns the call of another member that should have given the same group.
    pub(crate) fn compare_member_create(
        &self,
        (context, tag): (u32, u32),
        call: GroupCall,
    ) -> Option<GroupCall> {
        let calls = &mut *self.member_creates.borrow_mut();
        let calls = calls.entry((context, tag)).or_default();
        let list_calls = |caller: u32, member: u32| {
            let own = calls.iter().filter(move |one| one.world_rank == caller);
            own.filter(move |one| one.has_member(member))
        };
        let own = call.world_rank;
        // The calls of two ranks in which each has the other one meet in their orders.
        let mut met = call.members.iter().filter_map(|&member| {
            let earlier = list_calls(own, member).count();
            list_calls(member, own).nth(earlier)
        });
        let differing = met.find(|other| other.members != call.members).cloned();
        calls.push(call);
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupCall, GroupLog};

    fn make_call(rank: u32, members: &[u32]) -> GroupCall {
        GroupCall {
            rank: rank as usize,
            world_rank: rank,
            members: members.to_vec(),
        }
    }

    #[test]
    fn calls_of_members_meet_in_their_orders() {
        let log = GroupLog::default();
        let compare = |rank, members: &[u32]| {
            let other = log.compare_member_create((0, 1), make_call(rank, members));
            other.map(|other| other.rank)
        };
        assert_eq!(compare(0, &[0, 1]), None);
        assert_eq!(compare(0, &[0, 2]), None);
        assert_eq!(compare(1, &[1, 2]), None);
        assert_eq!(compare(1, &[0, 1]), None);
        // The groups of ranks 1 and 2 met in another order than the groups of ranks 0 and 2 do.
        assert_eq!(compare(2, &[0, 2]), None);
        assert_eq!(compare(2, &[1, 2]), None);
        assert_eq!(compare(0, &[0, 1, 2]), None);
        assert_eq!(compare(2, &[0, 2]), Some(0));
        assert_eq!(compare(1, &[0, 2, 1]), Some(0));
    }

    #[test]
    fn groups_without_a_common_member_may_differ() {
        let log = GroupLog::default();
        let compare = |rank, members: &[u32]| {
            let other = log.compare_create(2, make_call(rank, members));
            other.map(|other| other.rank)
        };
        assert_eq!(compare(0, &[0, 1]), None);
        assert_eq!(compare(2, &[2]), None);
        assert_eq!(compare(3, &[]), None);
        assert_eq!(compare(1, &[1]), Some(0));
    }
}
