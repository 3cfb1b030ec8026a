//! Promise: a group is the list of its members in every representation, and each set operation is
//! the set operation of MPI.

use proptest::prelude::*;

use super::*;

fn world(size: u32) -> Group {
    Group::new(Members::all_ranks(size), 0)
}

fn members(group: &Group) -> Vec<u32> {
    group.members.iter().collect()
}

#[test]
fn ranks_in_equal_steps_have_no_table() {
    let world = world(100);
    let row = world.incl(&(20..30).collect::<Vec<_>>()).unwrap();
    let column = world
        .incl(&(3..100).step_by(10).collect::<Vec<_>>())
        .unwrap();
    let half = world.excl(&(50..100).collect::<Vec<_>>()).unwrap();
    for group in [
        &world,
        &row,
        &column,
        &half,
        &world.incl(&[7]).unwrap(),
        &world.incl(&[]).unwrap(),
    ] {
        assert!(matches!(group.members, Members::Steps { .. }), "{group:?}");
    }
    let backwards = world.incl(&[3, 2, 1]).unwrap();
    assert!(matches!(backwards.members, Members::Listed(_)));
}

/// Finding a member checks the rank as the list of members does.
#[test]
fn a_member_is_found_in_each_representation() {
    let world = Members::all_ranks(9);
    let column = Members::Steps {
        first: 1,
        stride: 3,
        count: 4,
    };
    let listed = Members::from_world_ranks(&[5, 2, 8]);
    let two = Members::Two(Rc::new([column.clone(), listed.clone()]));
    for members in [&world, &column, &listed, &two] {
        let all: Vec<u32> = members.iter().collect();
        for rank in (0..20).chain([u32::MAX as usize, 1 << 32, usize::MAX]) {
            assert_eq!(members.find_world(rank), all.get(rank).copied(), "{rank}");
        }
    }
}

#[test]
fn what_is_not_in_the_group_is_refused() {
    let group = world(4);
    let missing = Error::Rank { rank: 4, size: 4 };
    assert_eq!(group.incl(&[0, 4]).err(), Some(missing));
    assert_eq!(group.excl(&[4]).err(), Some(missing));
    assert_eq!(group.translate_ranks(&[4], &group).err(), Some(missing));
    let twice = Error::RankTwice { rank: 1 };
    assert_eq!(group.incl(&[1, 2, 1]).err(), Some(twice));
}

#[test]
fn groups_compare() {
    let world = world(6);
    let some = world.incl(&[4, 2]).unwrap();
    assert_eq!(
        some.compare(&world.incl(&[4, 2]).unwrap()),
        Comparison::Identical
    );
    assert_eq!(
        some.compare(&world.incl(&[2, 4]).unwrap()),
        Comparison::Similar
    );
    assert_eq!(
        some.compare(&world.incl(&[2, 5]).unwrap()),
        Comparison::Unequal
    );
    assert_eq!(some.compare(&world), Comparison::Unequal);
}

proptest! {
    /// The reference is a vector of world ranks.
    #[test]
    fn operations_are_those_of_lists(
        a in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
        b in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
        (first, second) in (0..12_usize, 0..12_usize),
        out in 0..12_usize,
    ) {
        let world = world(12);
        let (a, b) = (&a[..first], &b[..second]);
        let (left, right) = (world.incl(a).unwrap(), world.incl(b).unwrap());
        let list = |ranks: &mut dyn Iterator<Item = &usize>| -> Vec<u32> { ranks.map(|&rank| rank as u32).collect() };
        prop_assert_eq!(members(&left), list(&mut a.iter()));
        prop_assert_eq!(
            members(&left.union(&right)),
            list(&mut a.iter().chain(b.iter().filter(|rank| !a.contains(rank))))
        );
        prop_assert_eq!(members(&left.intersection(&right)), list(&mut a.iter().filter(|rank| b.contains(rank))));
        prop_assert_eq!(members(&left.difference(&right)), list(&mut a.iter().filter(|rank| !b.contains(rank))));
        let all: Vec<usize> = (0..a.len()).collect();
        let expected: Vec<Option<usize>> = a.iter().map(|rank| b.iter().position(|other| other == rank)).collect();
        prop_assert_eq!(left.translate_ranks(&all, &right).unwrap(), expected);
        if out < a.len() {
            let expected = list(&mut a.iter().enumerate().filter(|(rank, _)| *rank != out).map(|(_, world)| world));
            prop_assert_eq!(members(&left.excl(&[out]).unwrap()), expected);
        }
        prop_assert_eq!(left.is_within(&right), a.iter().all(|rank| b.contains(rank)));
        prop_assert_eq!(left.rank(), a.iter().position(|&rank| rank == 0));
    }
}
