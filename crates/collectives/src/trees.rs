//! Trees along which data are broadcast, gathered and reduced.
//!
//! Ranks are relative to the root, which is rank 0; only [`Tree::InOrderBinary`] has its root at
//! the last rank. Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
//! Communication Operations in MPICH", 2005 (binomial trees); J. Pjesivac-Grbovic et al.,
//! "Performance Analysis of MPI Collective Operations", 2007 (chains, K-ary and in-order trees).

mod double;

pub use double::DoubleTree;

/// A shape of tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tree {
    /// Binomial: the parent has the lowest set bit cleared; the largest subtree is served first.
    Halving,
    /// Binomial: the parent has the highest set bit cleared; children in ascending order.
    Doubling,
    /// As [`Tree::Halving`], with the smallest subtree served first: each subtree is a range of
    /// ranks.
    InOrder,
    /// The k-nomial tree of this radix: [`Tree::Halving`] in digits to the base of the radix.
    Knomial(u32),
    /// Complete tree in which each rank of a level has this number of children, at distances that
    /// are multiples of the width of the level.
    Levels(u32),
    /// Binary heap: the children of v are 2v + 1 and 2v + 2.
    Heap,
    /// This number of chains that begin at the root.
    Chains(u32),
    /// Binary tree that combines operands in the order of the ranks; the root is the last rank.
    InOrderBinary,
}

impl Tree {
    /// Returns the parent of a rank among `size`; `None` for the root.
    #[must_use]
    pub fn parent(self, rank: u32, size: u32) -> Option<u32> {
        if rank == 0 && self != Self::InOrderBinary {
            return None;
        }
        Some(match self {
            Self::Halving | Self::InOrder => rank & (rank - 1),
            Self::Doubling => rank - (1 << rank.ilog2()),
            Self::Knomial(radix) => {
                let unit = lowest_digit(rank, radix, size);
                rank - rank % unit.saturating_mul(radix)
            }
            Self::Levels(children) => {
                let (start, width) = level(rank, children);
                let above = width / children;
                start - above + (rank - start) % above
            }
            Self::Heap => (rank - 1) / 2,
            Self::Chains(chains) => {
                let (first, _) = chain(rank, chains, size);
                if first == rank { 0 } else { rank - 1 }
            }
            Self::InOrderBinary => return in_order(rank, size).parent,
        })
    }

    /// Returns a child of a rank by its position in the order in which children are served, from 0;
    /// `None` if the rank has no more children.
    #[must_use]
    pub fn child(self, rank: u32, size: u32, position: u32) -> Option<u32> {
        let child = match self {
            Self::Halving => {
                let mut unit = if rank == 0 {
                    size.next_power_of_two() / 2
                } else {
                    (rank & rank.wrapping_neg()) / 2
                };
                // Subtrees behind the last rank are left out.
                while unit > 0 && rank + unit >= size {
                    unit /= 2;
                }
                unit = unit.checked_shr(position).unwrap_or(0);
                (unit > 0).then(|| rank + unit)
            }
            Self::Doubling => {
                let first = if rank == 0 { 0 } else { rank.ilog2() + 1 };
                let unit = 1_u64.checked_shl(first + position)?;
                u32::try_from(u64::from(rank) + unit).ok()
            }
            Self::InOrder => {
                let unit = 1_u32.checked_shl(position)?;
                (rank == 0 || unit < (rank & rank.wrapping_neg()))
                    .then(|| rank.checked_add(unit))?
            }
            Self::Knomial(radix) => return knomial_child(rank, size, radix, position),
            Self::Levels(children) => {
                let (_, width) = level(rank, children);
                let distance = u64::from(width) * u64::from(position + 1);
                let child = u64::from(rank) + distance;
                (position < children).then(|| u32::try_from(child).ok())?
            }
            Self::Heap => (position < 2).then(|| 2 * rank + 1 + position),
            Self::Chains(chains) => {
                if rank == 0 {
                    return (position < chains.min(size - 1))
                        .then(|| chain_head(position, chains, size));
                }
                let (first, length) = chain(rank, chains, size);
                (position == 0 && rank + 1 < first + length).then(|| rank + 1)
            }
            Self::InOrderBinary => {
                let children = in_order(rank, size).children;
                let mut children = children.into_iter().flatten();
                children.nth(position as usize)
            }
        };
        child.filter(|child| *child < size)
    }

    /// Returns the children of a rank in the order in which they are served.
    pub fn children(self, rank: u32, size: u32) -> impl Iterator<Item = u32> {
        (0..).map_while(move |position| self.child(rank, size, position))
    }

    /// Returns the number of ranks in the subtree of `rank`, for trees in which each subtree is a
    /// range of ranks: [`Tree::Halving`] and [`Tree::InOrder`].
    #[must_use]
    pub const fn subtree(rank: u32, size: u32) -> u32 {
        if rank == 0 {
            return size;
        }
        let width = rank & rank.wrapping_neg();
        if rank + width > size {
            size - rank
        } else {
            width
        }
    }
}

/// Returns the value of the lowest digit of `rank` that is not 0; at least `size` for 0.
fn lowest_digit(rank: u32, radix: u32, size: u32) -> u32 {
    let mut unit = 1_u32;
    while unit < size && rank.is_multiple_of(unit.saturating_mul(radix)) {
        unit = unit.saturating_mul(radix);
    }
    unit
}

fn knomial_child(rank: u32, size: u32, radix: u32, position: u32) -> Option<u32> {
    let below = lowest_digit(rank, radix, size);
    let mut unit = 1_u32;
    while u64::from(unit) * u64::from(radix) < u64::from(size.min(below)) {
        unit *= radix;
    }
    if below <= 1 || size <= 1 {
        return None;
    }
    let mut left = position;
    loop {
        // Digits of this level whose subtrees begin below `size`.
        let room = (size - 1 - rank) / unit;
        let here = room.min(radix - 1);
        if left < here {
            return Some(rank + (left + 1) * unit);
        }
        left -= here;
        if unit == 1 {
            return None;
        }
        unit /= radix;
    }
}

/// Returns the first rank of the level of `rank`, and the number of ranks of a whole level.
fn level(rank: u32, children: u32) -> (u32, u32) {
    let (mut start, mut width) = (0_u32, 1_u32);
    while rank >= start.saturating_add(width) {
        start += width;
        width = width.saturating_mul(children);
    }
    (start, width)
}

/// Returns the number of longer chains, and the length of the longer ones.
fn chain_lengths(chains: u32, size: u32) -> (u32, u32) {
    let ranks = size - 1;
    let chains = chains.clamp(1, ranks.max(1));
    match ranks % chains {
        0 => (chains, ranks / chains),
        longer => (longer, ranks / chains + 1),
    }
}

fn chain_head(number: u32, chains: u32, size: u32) -> u32 {
    let (longer, length) = chain_lengths(chains, size);
    if number < longer {
        1 + number * length
    } else {
        1 + longer * length + (number - longer) * (length - 1)
    }
}

/// Returns the first rank and the length of the chain of `rank`, which is not 0.
fn chain(rank: u32, chains: u32, size: u32) -> (u32, u32) {
    let (longer, length) = chain_lengths(chains, size);
    let in_longer = longer * length;
    if rank <= in_longer {
        (rank - (rank - 1) % length, length)
    } else {
        let shorter = length - 1;
        (rank - (rank - 1 - in_longer) % shorter, shorter)
    }
}

struct TreeNode {
    parent: Option<u32>,
    /// The child with the higher ranks, then that with the lower ones.
    children: [Option<u32>; 2],
}

/// Descends from the root, which is the last rank: the lower half of the ranks is the right
/// subtree, the others are the left one.
fn in_order(rank: u32, size: u32) -> TreeNode {
    let (mut first, mut count, mut parent) = (0, size, None);
    loop {
        let root = first + count - 1;
        let right = count / 2;
        let left = (count > 1).then(|| root - 1);
        let lower = (count > 2).then(|| first + right - 1);
        if rank == root {
            return TreeNode {
                parent,
                children: [left, lower],
            };
        }
        parent = Some(root);
        // Two ranks have a left child only.
        if lower.is_some_and(|lower| rank <= lower) {
            count = right;
        } else if lower.is_some() {
            (first, count) = (first + right, count - right - 1);
        } else {
            count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREES: [Tree; 13] = [
        Tree::Halving,
        Tree::Doubling,
        Tree::InOrder,
        Tree::Knomial(2),
        Tree::Knomial(3),
        Tree::Knomial(4),
        Tree::Levels(2),
        Tree::Levels(4),
        Tree::Heap,
        Tree::Chains(1),
        Tree::Chains(4),
        Tree::Chains(100),
        Tree::InOrderBinary,
    ];

    #[test]
    fn children_invert_parents() {
        for tree in TREES {
            for size in 1..=300 {
                let root = if tree == Tree::InOrderBinary {
                    size - 1
                } else {
                    0
                };
                let mut seen = vec![false; size as usize];
                for rank in 0..size {
                    assert_eq!(
                        tree.parent(rank, size).is_none(),
                        rank == root,
                        "{tree:?} {size}"
                    );
                    for child in tree.children(rank, size) {
                        assert_eq!(
                            tree.parent(child, size),
                            Some(rank),
                            "{tree:?} {size} {child}"
                        );
                        assert!(!seen[child as usize], "{tree:?} of {size}: {child} twice");
                        seen[child as usize] = true;
                    }
                }
                let found = seen.iter().filter(|seen| **seen).count();
                assert_eq!(found, size as usize - 1, "{tree:?} of {size}");
            }
        }
    }

    #[test]
    fn subtrees_of_binomial_trees_are_ranges() {
        fn count(rank: u32, size: u32) -> u32 {
            let below = |child| {
                assert!(child > rank);
                count(child, size)
            };
            1 + Tree::InOrder.children(rank, size).map(below).sum::<u32>()
        }
        for size in 1..=200 {
            for rank in 0..size {
                assert_eq!(
                    Tree::subtree(rank, size),
                    count(rank, size),
                    "{rank} of {size}"
                );
            }
        }
    }

    #[test]
    fn the_in_order_tree_combines_neighbours() {
        // Ranks of a subtree in the order in which a reduction combines them: the right subtree,
        // the left subtree, the root.
        fn order(rank: u32, size: u32, found: &mut Vec<u32>) {
            let children: Vec<u32> = Tree::InOrderBinary.children(rank, size).collect();
            for child in children.into_iter().rev() {
                order(child, size, found);
            }
            found.push(rank);
        }
        for size in 1..=100 {
            let mut found = Vec::new();
            order(size - 1, size, &mut found);
            assert_eq!(found, (0..size).collect::<Vec<u32>>());
        }
    }
}
