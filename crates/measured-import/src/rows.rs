//! Rows of collective operations from lines of numbers.
//!
//! *Decided here*: the ranks fill the nodes one after the other; loops of barriers have no second
//! barrier after each call.

use accuracy::{MeasuredRow, ReadRows, RowAlgorithm, RowError};
use collectives::Collective;
use validation::{ElementType, LoopTiming};

/// The size of the job of a benchmark, as far as the output does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct JobSize {
    pub(crate) ranks: Option<u32>,
    pub(crate) ranks_per_node: Option<u32>,
}

impl JobSize {
    /// Returns the size with these numbers, where they are known.
    pub const fn new(ranks: Option<u32>, ranks_per_node: Option<u32>) -> Self {
        Self {
            ranks,
            ranks_per_node,
        }
    }

    /// Fails for another number of ranks than the wanted one, with the reason.
    pub(crate) fn check_ranks(self, ranks: u32) -> Result<(), String> {
        match self.ranks {
            Some(wanted) if wanted != ranks => Err("another number of ranks than --ranks".into()),
            _ => Ok(()),
        }
    }
}

/// The calls of a table of a benchmark.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) job: &'static str,
    pub(crate) operation: Collective,
    pub(crate) element: ElementType,
    pub(crate) timing: LoopTiming,
    pub(crate) ranks: u32,
    pub(crate) ranks_per_node: u32,
    /// True if a size is the size of the block of one rank.
    pub(crate) has_blocks: bool,
}

impl Calls {
    /// Adds a row, or counts the row and the reason why no platform can be judged by the row.
    pub(crate) fn add_row(&self, rows: &mut ReadRows, (line, size, us): (u64, u64, f64)) {
        let on_node = self.ranks_per_node.min(self.ranks).max(1);
        let blocks = if self.has_blocks { self.ranks } else { 1 };
        let nodes = self.ranks / on_node;
        let row = MeasuredRow {
            line,
            job: self.job.to_owned(),
            nodes,
            sides: vec![nodes],
            ranks_per_node: on_node,
            operation: self.operation,
            label: "selected".to_owned(),
            algorithm: RowAlgorithm::Selected,
            timing: match self.operation {
                Collective::Barrier => LoopTiming::MeanWithoutBarriers,
                _ => self.timing,
            },
            element: self.element,
            bytes: size.saturating_mul(u64::from(blocks)),
            median_s: us * 1e-6,
            half_spread: None,
        };
        let fault = if self.ranks < 2 {
            Some("fewer than two ranks".to_owned())
        } else if !self.ranks.is_multiple_of(on_node) {
            let ranks = self.ranks;
            Some(format!("{ranks} ranks do not fill nodes of {on_node}"))
        } else if size == 0 && self.operation != Collective::Barrier {
            Some("no bytes".to_owned())
        } else {
            row.find_fault()
        };
        match fault {
            Some(reason) => rows.skip_row(reason),
            None => rows.rows.push(row),
        }
    }
}

/// Returns the error of a line: the value that was found, and the expected form.
pub(crate) fn find_wrong(line: u64, found: &str, expected: &str) -> RowError {
    let problem = format!("{found}: expected {expected}");
    RowError::Line { line, problem }
}

/// Returns the numbers in the columns of a size, which may be missing, and of a time in
/// microseconds.
pub(crate) fn parse_numbers(
    line: u64,
    text: &str,
    (size_at, time_at): (Option<usize>, usize),
) -> Result<(u64, f64), RowError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    let size = match size_at.map(field) {
        None => 0,
        Some(size) => size.parse().map_err(|_| {
            find_wrong(
                line,
                &format!("size {size:?}"),
                "a whole number of bytes, such as 4096",
            )
        })?,
    };
    let time = field(time_at);
    let us = time.parse().ok();
    let us = us.filter(|us: &f64| us.is_finite() && *us >= 0.0);
    let us = us.ok_or_else(|| {
        let found = format!("time {time:?} in column {}", time_at + 1);
        find_wrong(line, &found, "a number of microseconds, such as 12.5")
    })?;
    Ok((size, us))
}

/// Returns the type of elements with a name of MPI.
pub(crate) fn parse_element(line: u64, name: &str) -> Result<ElementType, RowError> {
    match name {
        "MPI_CHAR" | "MPI_BYTE" => Ok(ElementType::Byte),
        "MPI_INT" => Ok(ElementType::Int32),
        "MPI_FLOAT" => Ok(ElementType::Float),
        "MPI_DOUBLE" => Ok(ElementType::Double),
        _ => {
            let expected = "MPI_CHAR, MPI_BYTE, MPI_INT, MPI_FLOAT or MPI_DOUBLE";
            Err(find_wrong(line, &format!("data type {name:?}"), expected))
        }
    }
}

/// Returns true if the benchmarks of MPI count the bytes of the block of a rank.
pub(crate) const fn takes_blocks(operation: Collective) -> bool {
    use Collective::{Allreduce, Barrier, Bcast, Exscan, Reduce, ReduceScatter, Scan};
    !matches!(
        operation,
        Barrier | Bcast | Reduce | Allreduce | Scan | Exscan | ReduceScatter
    )
}

/// Returns the type of elements: of reductions, or of other operations.
pub(crate) const fn choose_element(
    operation: Collective,
    [reduced, other]: [ElementType; 2],
) -> ElementType {
    use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, ReduceScatterBlock, Scan};
    match operation {
        Allreduce | Exscan | Reduce | ReduceScatter | ReduceScatterBlock | Scan => reduced,
        _ => other,
    }
}
