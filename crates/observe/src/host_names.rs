//! The hosts of the ranks of a run: names that are read once take their bytes, and no more.

/// Number of ranks up to which a log need not name all hosts: readers have state for each rank, and
/// a damaged number must not take memory for ranks that never were. \[choice\]
pub(crate) const UNNAMED_MAX: u32 = 4096;

/// The names of the hosts of ranks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HostNames {
    /// The names, one behind the other.
    names: String,
    /// The end of each in them.
    ends: Vec<usize>,
    /// The number of the name for each rank; [`u32::MAX`] if the host is not known.
    ranks: Vec<u32>,
}

impl HostNames {
    /// Adds a name; the first has the number 0.
    pub(crate) fn add_name(&mut self, name: &str) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
    }

    /// Sets the host of a rank by the number of its name. Returns false without a change if the
    /// number has no name, or if the rank is neither small nor directly after a rank with a host.
    pub(crate) fn place_rank(&mut self, rank: u32, host: u32) -> bool {
        let index = rank as usize;
        let reachable = self.ranks.len().max(UNNAMED_MAX as usize);
        if index > reachable || host as usize >= self.ends.len() {
            return false;
        }
        if index >= self.ranks.len() {
            self.ranks.resize(index + 1, u32::MAX);
        }
        self.ranks[index] = host;
        true
    }

    /// Returns the number of ranks with a host.
    pub(crate) const fn placed_ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the number of the host of a rank in the log, if the host is known.
    pub fn host_number(&self, rank: u32) -> Option<u32> {
        let number = self.ranks.get(rank as usize).copied();
        number.filter(|&number| number != u32::MAX)
    }

    /// Returns the name of the host of a rank; empty if the host is not known.
    pub fn host_name(&self, rank: u32) -> &str {
        let number = self
            .host_number(rank)
            .map_or(usize::MAX, |number| number as usize);
        let Some(&end) = self.ends.get(number) else {
            return "";
        };
        let before = number.checked_sub(1);
        let begin = before.map_or(0, |before| self.ends[before]);
        &self.names[begin..end]
    }
}
