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

/// Returns the sides X ≤ Y of a mesh of `size` ranks, where one of them is the divisor that is next
/// to √`size` from above, between ⌊√`size`⌋ and `size` / 2; `None` for primes above 3.
#[must_use]
pub fn mesh(size: u32) -> Option<[u32; 2]> {
    if size == 1 {
        return Some([1, 1]);
    }
    let side = (size.isqrt()..=size / 2).find(|side| size.is_multiple_of(*side))?;
    Some([side.min(size / side), side.max(size / side)])
}

/// Returns the sides X, X, Z of a mesh of `size` ranks, where X is at least ⌊∛`size`⌋ and X²
/// divides `size`; `None` if there is no such number.
#[must_use]
pub fn square_mesh(size: u32) -> Option<[u32; 3]> {
    let above = |side: u32| u64::from(side).pow(3) > u64::from(size);
    let first = (1..).find(|side| above(side + 1))?;
    let mut sides = (first..).take_while(|side| side * side <= size);
    let side = sides.find(|side| size.is_multiple_of(side * side))?;
    Some([side, side, size / (side * side)])
}

/// Returns the number of ranks from 0 to `size` - 1 in which bit `bit` is set.
#[must_use]
pub const fn with_bit(size: u32, bit: u32) -> u32 {
    let (half, rest) = (size / (2 * bit) * bit, size % (2 * bit));
    if rest > bit { half + rest - bit } else { half }
}

/// Returns `rank` with the lowest `bits` bits in reverse order; all other bits are 0.
#[must_use]
pub const fn mirror(rank: u32, bits: u32) -> u32 {
    if bits == 0 {
        0
    } else {
        rank.reverse_bits() >> (u32::BITS - bits)
    }
}

/// A step in which ranks get the data that a missing partner would have sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    /// To this rank.
    Send(u32),
    /// From this rank.
    Receive(u32),
}

/// Returns the steps of `rank` after a round of recursive doubling at distance `mask`, if the
/// subtree of the partners is incomplete: the ranks that have got data pass them on along
/// descending distances.
///
/// Source: MPICH, `MPIR_Allgather_intra_recursive_doubling`.
pub fn fill_steps(rank: u32, size: u32, mask: u32) -> impl Iterator<Item = Fill> {
    let root = rank & !(mask - 1);
    let other = root ^ mask;
    let complete = other + mask <= size;
    // The ranks below this distance from the root have got data.
    let having = size.saturating_sub(root + mask);
    let first = if complete { 0 } else { mask / 2 };
    let distances = std::iter::successors(Some(first), |distance| Some(distance / 2));
    let distances = distances.take_while(|distance| *distance > 0);
    distances.filter_map(move |distance| {
        let peer = rank ^ distance;
        let bound = (rank & !(2 * distance - 1)) + having;
        if peer > rank && rank < bound && peer >= bound {
            Some(Fill::Send(peer))
        } else if peer < rank && peer < bound && rank >= bound {
            Some(Fill::Receive(peer))
        } else {
            None
        }
    })
}

/// Ranks that take part in rounds for a power of two, if the number of ranks is no power of two.
///
/// Other ranks hand their operands to a partner before, and get the result from this partner after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// Of the first 2·rem ranks the even ones sit out; the partner is the next rank. The order of
    /// operands is kept. MPICH and Open MPI: allreduce, `reduce_scatter`.
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
    /// The number among the ranks that take part; `None` if this rank sits out.
    pub core: Option<u32>,
    /// The rank that sits out for this rank, or that takes part for it; `None` without a partner.
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

    /// Returns the rank with the number `core` among the ranks that take part.
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
        let sides = [1, 2, 3, 4, 6, 7, 12].map(mesh);
        let expected = [[1, 1], [1, 2], [1, 3], [2, 2], [2, 3], [0, 0], [3, 4]];
        let expected = expected.map(|sides| (sides != [0, 0]).then_some(sides));
        assert_eq!(sides, expected);
        assert_eq!(
            [3, 7, 8, 16, 64].map(square_mesh).map(Option::unwrap),
            [[1, 1, 3], [1, 1, 7], [2, 2, 2], [2, 2, 4], [4, 4, 4]]
        );
        assert_eq!(square_mesh(11), None);
    }

    #[test]
    fn numbers_with_a_bit() {
        for size in 1..100 {
            for bit in [1, 2, 4, 8, 64, 128] {
                let counted = (0..size).filter(|rank| rank & bit != 0).count();
                assert_eq!(with_bit(size, bit) as usize, counted, "{size} {bit}");
            }
        }
    }

    #[test]
    fn all_get_what_a_missing_partner_would_have_sent() {
        for size in 1..200_u32 {
            let mut mask = 1;
            while mask < size {
                let mut has: Vec<bool> = (0..size).map(|rank| rank ^ mask < size).collect();
                // The order of steps of one rank is that of descending distances.
                let mut distance = mask / 2;
                while distance > 0 {
                    for rank in 0..size {
                        let steps = fill_steps(rank, size, mask);
                        let mut sends = steps.filter_map(|step| match step {
                            Fill::Send(peer) if peer ^ rank == distance => Some(peer),
                            _ => None,
                        });
                        if let Some(peer) = sends.next() {
                            assert!(has[rank as usize] && !has[peer as usize]);
                            has[peer as usize] = true;
                            assert!(
                                fill_steps(peer, size, mask)
                                    .any(|step| step == Fill::Receive(rank))
                            );
                        }
                    }
                    distance /= 2;
                }
                let first = (size - 1) & !(2 * mask - 1);
                if size - first <= mask {
                    // There are no partners.
                    has[first as usize..].fill(true);
                }
                assert!(
                    has[first as usize..].iter().all(|has| *has),
                    "{size} {mask}"
                );
                mask *= 2;
            }
        }
    }
}
