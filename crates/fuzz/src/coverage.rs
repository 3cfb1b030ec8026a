//! Coverage: pairs of a command and the stage of the connection when the command begins.

use endpoint::ConnectionStage;

use crate::command::Command;

/// Number of pairs.
const PAIRS: usize = Command::NAMES.len() * ConnectionStage::ALL.len();

/// Pairs of command and stage that have occurred.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Coverage([u64; PAIRS.div_ceil(64)]);

impl Coverage {
    /// Notes a pair.
    pub(crate) fn insert(&mut self, command: &Command, stage: ConnectionStage) {
        let place = command.name_index() * ConnectionStage::ALL.len() + stage as usize;
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Adds the pairs of another; returns the number of new ones.
    pub fn merge_pairs(&mut self, other: &Self) -> u32 {
        let before = self.len();
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        self.len() - before
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers that represent the coverage in a file.
    pub fn encoded_words(&self) -> Vec<u64> {
        self.0.to_vec()
    }

    /// Returns the coverage that these numbers represent; `None` if they are not
    /// [`Self::encoded_words`].
    pub fn from_words(words: &[u64]) -> Option<Self> {
        words.try_into().ok().map(Self)
    }

    /// Returns the pairs as text, such as `send in Open`.
    pub fn pairs(&self) -> impl Iterator<Item = String> {
        let all = (0..PAIRS).filter(|place| self.0[place / 64] >> (place % 64) & 1 == 1);
        all.map(|place| {
            let command = Command::NAMES[place / ConnectionStage::ALL.len()];
            format!(
                "{command} in {:?}",
                ConnectionStage::ALL[place % ConnectionStage::ALL.len()]
            )
        })
    }
}
