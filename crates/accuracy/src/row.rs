//! A row of a table of measurements, whatever benchmark has made the table.
//!
//! *Decided here*: the shortest time that is judged.

use std::collections::BTreeMap;
use std::fmt;

use collectives::Collective;
use validation::{ElementType, LoopTiming};

use crate::pico;

/// Shorter times are left out: tables have rows of 0.0 µs.
const SHORTEST_S: f64 = 0.5e-6;

/// A measured time of a collective operation.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredRow {
    /// The line of the table, from 1.
    pub line: u64,
    /// The job: rows of one job have the same hosts.
    pub job: String,
    /// Number of nodes.
    pub nodes: u32,
    /// The sides of the box of nodes in a torus; elsewhere only the number of nodes.
    pub sides: Vec<u32>,
    /// Number of ranks on each node.
    pub ranks_per_node: u32,
    /// The operation.
    pub operation: Collective,
    /// The name of the algorithm in the table.
    pub label: String,
    /// The algorithm.
    pub algorithm: RowAlgorithm,
    /// The barriers of the benchmark's loop, and the time of an iteration.
    pub timing: LoopTiming,
    /// The type of the elements.
    pub element: ElementType,
    /// Size of the call in bytes: of a buffer with the data of all ranks, where ranks have
    /// different data, and else of a message.
    pub bytes: u64,
    /// The median, or mean, of the times of all iterations, in seconds.
    pub median_s: f64,
    /// Half the distance of the quartiles of the iterations, divided by the median.
    pub half_spread: Option<f64>,
}

/// The algorithm of a measured call, as far as a table tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowAlgorithm {
    /// The algorithm that was forced.
    Forced {
        /// The name in `collectives.OPERATION`.
        name: &'static str,
        /// The name, in `collectives.barrier`, of the barrier between two calls.
        barrier: &'static str,
    },
    /// The library has chosen, and the row is no more than a choice.
    Chosen,
    /// The library has chosen, and the selector of the platform chooses in the simulation.
    Selected,
}

impl RowAlgorithm {
    /// Returns the name in `collectives.OPERATION` of an algorithm that was forced.
    pub const fn forced_name(self) -> Option<&'static str> {
        match self {
            Self::Forced { name, .. } => Some(name),
            Self::Chosen | Self::Selected => None,
        }
    }
}

impl MeasuredRow {
    /// Returns the number of ranks.
    pub const fn rank_count(&self) -> u32 {
        self.nodes.saturating_mul(self.ranks_per_node)
    }

    /// Returns true if the name of the job begins with one of `names`, or `names` is empty.
    pub fn is_of_jobs(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| self.job.starts_with(name))
    }

    /// Returns the reason why the row cannot be judged.
    pub fn find_fault(&self) -> Option<String> {
        if self.median_s < SHORTEST_S {
            return Some("shorter than 0.5 us".to_owned());
        }
        let elements = self.bytes / self.element.byte_count();
        (divides_data(self.operation) && elements < u64::from(self.rank_count()))
            .then(|| "fewer elements than ranks".to_owned())
    }
}

/// Returns true if the ranks have different data; the size of a row is then the size of all data.
pub(crate) const fn divides_data(operation: Collective) -> bool {
    use Collective::{Allreduce, Barrier, Bcast, Exscan, Reduce, Scan};
    !matches!(
        operation,
        Bcast | Reduce | Allreduce | Scan | Exscan | Barrier
    )
}

/// The rows of a table.
#[derive(Clone, Default, Debug)]
pub struct ReadRows {
    /// The rows that can be judged, and the choices of libraries.
    pub rows: Vec<MeasuredRow>,
    /// The numbers of other rows, by the reason.
    pub skipped: BTreeMap<String, usize>,
}

impl ReadRows {
    /// Counts a row that cannot be judged, and the reason.
    pub fn skip_row(&mut self, reason: String) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Keeps the rows to which `fault_of` finds no fault.
    pub fn keep_faultless(&mut self, fault_of: impl Fn(&MeasuredRow) -> Option<String>) {
        for row in std::mem::take(&mut self.rows) {
            match fault_of(&row) {
                Some(reason) => self.skip_row(reason),
                None => self.rows.push(row),
            }
        }
    }
}

/// A mistake in a table of measurements, or a row that cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowError {
    /// The first line is not the header of a known table.
    Header,
    /// A line is no row, or cannot be simulated.
    Line {
        /// The line, from 1.
        line: u64,
        /// The mistake.
        problem: String,
    },
    /// The table has rows of several machines, or none of the wanted one.
    Machine {
        /// The machines of the table.
        known: Vec<String>,
    },
    /// The kind of table does not use an option.
    Unused {
        /// The option.
        option: &'static str,
        /// The origin of the table.
        table: &'static str,
    },
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => write!(
                f,
                "line 1: unknown table: expected the columns {}, or the output of osu_* \
                 collectives, IMB-MPI1 or nccl-tests",
                pico::COLUMNS
            ),
            Self::Line { line, problem } => write!(f, "line {line}: {problem}"),
            Self::Machine { known } => {
                write!(f, "expected --machine with one of {}", known.join(", "))
            }
            Self::Unused { option, table } => {
                write!(f, "{option} has no effect on a table of {table}")
            }
        }
    }
}

impl std::error::Error for RowError {}

/// Reads the flat table of PICO, which [`RowError::Header`] describes.
///
/// # Errors
/// [`RowError`] if the text is no such table, or `machine` names no machine of the table.
pub fn read_rows(text: &str, machine: Option<&str>) -> Result<ReadRows, RowError> {
    pico::read_table(text, machine)
}
