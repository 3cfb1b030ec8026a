//! Blocks of different lengths in a buffer, one for each rank: counts and displacements.

use std::rc::Rc;

use ::collectives::Block;

/// The blocks of all ranks in a buffer, in bytes.
///
/// ```
/// use mpi::Blocks;
///
/// // One behind the other, and with displacements.
/// let packed = Blocks::from([8, 0, 16]);
/// let spread = Blocks::placed([(0, 8), (100, 0), (200, 16)]);
/// assert_eq!(packed.block(2), (8, 16));
/// assert_eq!(spread.block(2), (200, 16));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks(Rc<[Block]>);

impl Blocks {
    /// Blocks with these displacements and lengths. They should not overlap where data are
    /// received.
    #[must_use]
    pub fn placed(blocks: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let block = |(offset, length)| Block { offset, length };
        Self(blocks.into_iter().map(block).collect())
    }

    /// Blocks of these lengths, one behind the other.
    #[must_use]
    pub fn packed(lengths: impl IntoIterator<Item = u64>) -> Self {
        let mut offset = 0;
        let block = |length| {
            let block = Block { offset, length };
            offset += length;
            block
        };
        Self(lengths.into_iter().map(block).collect())
    }

    /// The displacement and the length of the block of a rank.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block(&self, rank: usize) -> (u64, u64) {
        let block = self.0[rank];
        (block.offset, block.length)
    }

    /// Returns the length of all blocks if they have one length and are one behind the other.
    pub(crate) fn equal_length(&self) -> Option<u64> {
        let length = self.0.first()?.length;
        let is_equal =
            |(rank, block): (u64, &Block)| block.length == length && block.offset == rank * length;
        (0..).zip(&*self.0).all(is_equal).then_some(length)
    }

    /// Returns the end of the last block.
    pub(crate) fn end_offset(&self) -> u64 {
        let ends = self.0.iter().map(|block| block.offset + block.length);
        ends.max().unwrap_or(0)
    }

    pub(crate) fn listed(&self) -> &[Block] {
        &self.0
    }
}

impl<const N: usize> From<[u64; N]> for Blocks {
    fn from(lengths: [u64; N]) -> Self {
        Self::packed(lengths)
    }
}

impl From<Vec<u64>> for Blocks {
    fn from(lengths: Vec<u64>) -> Self {
        Self::packed(lengths)
    }
}

impl From<&[u64]> for Blocks {
    fn from(lengths: &[u64]) -> Self {
        Self::packed(lengths.iter().copied())
    }
}
