//! Partners of a rank in the rounds of an algorithm, and numbers of ranks that are no power of two.

/// Returns ⌈log2 `size`⌉; 0 for one rank.
#[must_use]
pub const fn log2_ceil(size: u32) -> u32 {
    if size <= 1 {
        0
    } else {
        u32::BITS - (size - 1).leading_zeros()
    }
}

/// Returns the largest power of two that is not above `size`, which is at least 1.
#[must_use]
pub const fn power_of_two_below(size: u32) -> u32 {
    1 << size.ilog2()
}

/// Returns the smallest divisor of `size` that is at least ⌊√`size`⌋ and above 1; `size` itself if
/// it is prime.
#[must_use]
pub const fn divisor(size: u32) -> u32 {
    let mut found = size.isqrt();
    if found < 2 {
        found = 2;
    }
    while found < size && !size.is_multiple_of(found) {
        found += 1;
    }
    if found > size { size } else { found }
}

/// Returns `size` as the product of three numbers above 1, of which the last is the smallest
/// divisor that is at least the cube root and leaves a number that is not prime; `None` if there is
/// no such product.
#[must_use]
pub fn three_factors(size: u32) -> Option<[u32; 3]> {
    let is_cube_root = |side: &u32| u64::from(*side).pow(3) >= u64::from(size);
    let first = (2..=size).find(is_cube_root)?;
    let mut sides = (first..size).filter(|side| size.is_multiple_of(*side));
    sides.find_map(|side| {
        let rest = size / side;
        let other = divisor(rest);
        (other < rest).then(|| [rest / other, other, side])
    })
}

/// Ranks that take part in rounds for a power of two, when the number of ranks is none.
///
/// The others hand their operands to a partner before, and get the result from it afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// Of the first 2·rem ranks the even ones sit out; their partner is the next rank. It keeps the
    /// order of operands. MPICH and Open MPI: allreduce, `reduce_scatter`.
    Even,
    /// Of the first 2·rem ranks the odd ones sit out; their partner is the rank before. MPICH:
    /// reduce by Rabenseifner's algorithm.
    Odd,
    /// The ranks from the power of two on sit out. Open MPI: barrier.
    High,
}

/// The role of a rank in a fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Folded {
    /// The number among those that take part; `None` if the rank sits out.
    pub core: Option<u32>,
    /// The rank that sits out for this one, or that takes part for it; `None` if there is none.
    pub partner: Option<u32>,
}

impl Fold {
    /// Returns the role of `rank` among `size` ranks.
    #[must_use]
    pub const fn role(self, rank: u32, size: u32) -> Folded {
        let rest = size - power_of_two_below(size);
        match self {
            Self::Even if rank < 2 * rest => {
                if rank.is_multiple_of(2) {
                    Folded {
                        core: None,
                        partner: Some(rank + 1),
                    }
                } else {
                    Folded {
                        core: Some(rank / 2),
                        partner: Some(rank - 1),
                    }
                }
            }
            Self::Odd if rank < 2 * rest => {
                if rank.is_multiple_of(2) {
                    Folded {
                        core: Some(rank / 2),
                        partner: Some(rank + 1),
                    }
                } else {
                    Folded {
                        core: None,
                        partner: Some(rank - 1),
                    }
                }
            }
            Self::Even | Self::Odd => Folded {
                core: Some(rank - rest),
                partner: None,
            },
            Self::High => {
                let power = power_of_two_below(size);
                if rank >= power {
                    Folded {
                        core: None,
                        partner: Some(rank - power),
                    }
                } else if rank < rest {
                    Folded {
                        core: Some(rank),
                        partner: Some(rank + power),
                    }
                } else {
                    Folded {
                        core: Some(rank),
                        partner: None,
                    }
                }
            }
        }
    }

    /// Returns the rank that has the number `core` among those that take part.
    #[must_use]
    pub const fn rank(self, core: u32, size: u32) -> u32 {
        let rest = size - power_of_two_below(size);
        match self {
            Self::Even if core < rest => 2 * core + 1,
            Self::Odd if core < rest => 2 * core,
            Self::Even | Self::Odd => core + rest,
            Self::High => core,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_those_that_take_part_are_a_permutation() {
        for size in 1..=300 {
            for fold in [Fold::Even, Fold::Odd, Fold::High] {
                let mut found = Vec::new();
                for rank in 0..size {
                    let role = fold.role(rank, size);
                    if let Some(core) = role.core {
                        assert_eq!(fold.rank(core, size), rank, "{fold:?} of {size}");
                        found.push(core);
                    }
                    if let Some(partner) = role.partner {
                        let other = fold.role(partner, size);
                        assert_eq!(other.partner, Some(rank), "{fold:?} of {size}");
                        assert_ne!(other.core.is_some(), role.core.is_some());
                    }
                }
                found.sort_unstable();
                let power = power_of_two_below(size);
                assert_eq!(found, (0..power).collect::<Vec<u32>>());
            }
        }
    }

    #[test]
    fn factors_of_meshes() {
        assert_eq!([3, 7, 8, 16, 64].map(divisor), [3, 7, 2, 4, 8]);
        assert_eq!(three_factors(8), Some([2, 2, 2]));
        assert_eq!(three_factors(7), None);
    }
}
