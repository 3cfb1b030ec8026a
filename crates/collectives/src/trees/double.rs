//! Two binary trees over the same ranks with different leaves: each carries half of the data.
//!
//! In the first tree odd ranks are leaves. The second tree is the first tree with mirrored ranks if
//! the number of ranks is even, otherwise with ranks shifted by one. If the number is even, no rank
//! has children in both trees.
//!
//! Sources: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan", Parallel Computing 35(12), 2009; NCCL 2.30, `src/graph/trees.cc`.

/// One of two trees with different leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoubleTree {
    /// The root is rank 0.
    First,
    /// The root is the last rank if the number of ranks is even, otherwise rank 1.
    Second,
}

impl DoubleTree {
    /// Both trees.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// Returns the parent of a rank among `size`; `None` for the root.
    #[must_use]
    pub fn parent(self, rank: u32, size: u32) -> Option<u32> {
        let number = self.first_tree_number(rank, size);
        let bit = lowest_bit(number)?;
        let above = bit.checked_mul(2).map(|higher| number ^ bit | higher);
        let parent = above.filter(|above| *above < size).unwrap_or(number ^ bit);
        Some(self.rank(parent, size))
    }

    /// Returns the children of a rank among `size`, at most two.
    pub fn children(self, rank: u32, size: u32) -> impl Iterator<Item = u32> {
        let number = self.first_tree_number(rank, size);
        let distance = match lowest_bit(number) {
            Some(bit) => bit / 2,
            None => size.next_power_of_two() / 2,
        };
        // The upper subtree is cut off behind the last rank.
        let halves = std::iter::successors(Some(distance), |distance| Some(distance / 2));
        let mut halves = halves.take_while(|distance| *distance > 0);
        let upper = halves.find_map(|distance| {
            let child = number.checked_add(distance)?;
            (child < size).then_some(child)
        });
        let lower = (number > 0 && distance > 0).then(|| number - distance);
        let children = [lower, upper].into_iter().flatten();
        children.map(move |child| self.rank(child, size))
    }

    /// Returns the number in the first tree of the rank that has the place of `rank` in this one.
    const fn first_tree_number(self, rank: u32, size: u32) -> u32 {
        match self {
            Self::First => rank,
            Self::Second if size.is_multiple_of(2) => size - 1 - rank,
            Self::Second if rank == 0 => size - 1,
            Self::Second => rank - 1,
        }
    }

    /// Returns the rank that has a number in this tree.
    const fn rank(self, number: u32, size: u32) -> u32 {
        match self {
            Self::First => number,
            Self::Second if size.is_multiple_of(2) => size - 1 - number,
            Self::Second if number + 1 == size => 0,
            Self::Second => number + 1,
        }
    }
}

/// Returns the lowest bit that is set; `None` for 0.
const fn lowest_bit(number: u32) -> Option<u32> {
    match number {
        0 => None,
        number => Some(number & number.wrapping_neg()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_invert_parents_and_depths_are_logarithmic() {
        for tree in DoubleTree::BOTH {
            for size in 1..=300 {
                let mut seen = vec![false; size as usize];
                for rank in 0..size {
                    for child in tree.children(rank, size) {
                        assert_eq!(tree.parent(child, size), Some(rank), "{tree:?} of {size}");
                        assert!(!seen[child as usize], "{tree:?} of {size}: {child} twice");
                        seen[child as usize] = true;
                    }
                    let above = |rank: &u32| tree.parent(*rank, size);
                    let path = std::iter::successors(Some(rank), above);
                    let limit = size.next_power_of_two().ilog2() as usize + 1;
                    assert!(path.take(limit + 1).count() <= limit, "{tree:?} of {size}");
                }
                let roots = (0..size).filter(|rank| tree.parent(*rank, size).is_none());
                assert_eq!(roots.count(), 1, "{tree:?} of {size}");
                let found = seen.iter().filter(|seen| **seen).count();
                assert_eq!(found, size as usize - 1, "{tree:?} of {size}");
            }
        }
    }

    #[test]
    fn ranks_of_an_even_number_are_inner_nodes_of_one_tree() {
        for size in (2..=300).step_by(2) {
            for rank in 0..size {
                let trees = DoubleTree::BOTH.into_iter();
                let inner = trees.filter(|tree| tree.children(rank, size).count() > 0);
                assert!(inner.count() <= 1, "{rank} of {size}");
            }
        }
    }

    #[test]
    fn trees_of_six_ranks() {
        // By hand: 0 - 4 - (2 - (1, 3), 5), and its mirror.
        let edges = |tree: DoubleTree| (0..6).map(move |rank| tree.parent(rank, 6));
        let first = [None, Some(2), Some(4), Some(2), Some(0), Some(4)];
        assert!(edges(DoubleTree::First).eq(first));
        let second = [Some(1), Some(5), Some(3), Some(1), Some(3), None];
        assert!(edges(DoubleTree::Second).eq(second));
    }
}
