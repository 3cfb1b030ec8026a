//! The output of the Intel MPI Benchmarks (`IMB-MPI1`).
//!
//! *Decided here*: `t_max[usec]` counts, the time of the slowest rank; with `-sync off` the mean.
//! *Not read*: groups of processes that run at once (`-multi`). `--ranks` chooses one of several
//! numbers of processes.
//!
//! Source: the code of version 2021.11. The loop is: a call between two readings of the clock, and
//! a barrier, unless `-sync off` is given; a rank averages all times. Sizes are bytes of a
//! message of one rank; in reduce-scatter of versions before 2019, of all blocks.

use accuracy::{ReadRows, RowError};
use collectives::Collective;
use validation::{ElementType, LoopTiming};

use crate::rows::{
    Calls, JobSize, choose_element, find_wrong, parse_element, parse_numbers, takes_blocks,
};

/// Marks of samples without a time.
const OMITTED: [&str; 3] = ["time-out.", "out-of-mem.", "int-overflow."];

/// The head of the file and of the present table.
struct Reader {
    year: u32,
    element: ElementType,
    reduced: ElementType,
    is_synchronised: bool,
    benchmark: String,
    processes: Option<u32>,
    has_groups: bool,
    /// The columns of size and time, while lines of a table follow.
    columns: Option<(Option<usize>, usize)>,
}

/// Reads the tables.
pub(crate) fn read_output(text: &str, size: JobSize) -> Result<ReadRows, RowError> {
    let mut rows = ReadRows::default();
    let mut reader = Reader {
        year: u32::MAX,
        element: ElementType::Byte,
        reduced: ElementType::Float,
        is_synchronised: true,
        benchmark: String::new(),
        processes: None,
        has_groups: false,
        columns: None,
    };
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.starts_with("#bytes") || text.starts_with("#repetitions") {
            reader.read_columns(line, text)?;
        } else if let Some(comment) = text.strip_prefix('#') {
            reader.columns = None;
            reader.read_comment(line, comment.trim())?;
        } else if text.is_empty() {
            reader.columns = None;
        } else if let Some(columns) = reader.columns {
            match reader.find_calls(line, size)? {
                Ok(_) if OMITTED.iter().any(|mark| text.contains(mark)) => {
                    rows.skip_row("sample that IMB left out".to_owned());
                }
                Ok(calls) => {
                    let (bytes, us) = parse_numbers(line, text, columns)?;
                    calls.add_row(&mut rows, (line, bytes, us));
                }
                Err(reason) => rows.skip_row(reason),
            }
        }
    }
    Ok(rows)
}

impl Reader {
    fn read_comment(&mut self, line: u64, comment: &str) -> Result<(), RowError> {
        if let Some((_, version)) = comment.split_once("MPI Benchmarks ") {
            let year = version.split(|next: char| !next.is_ascii_digit()).next();
            let year = year.and_then(|year| year.parse().ok());
            self.year = year.unwrap_or(self.year);
            self.is_synchronised = true;
        } else if let Some(name) = comment.strip_prefix("Benchmarking ") {
            name.trim().clone_into(&mut self.benchmark);
            (self.processes, self.has_groups) = (None, false);
        } else if let Some(count) = comment.strip_prefix("#processes =") {
            let wrong = || find_wrong(line, comment, "\"#processes = N\"");
            self.processes = Some(count.trim().parse().map_err(|_| wrong())?);
        } else if comment.contains(" groups of ") {
            self.has_groups = true;
        } else if comment.starts_with("MPI_Datatype") {
            let (key, name) = comment.split_once(':').unwrap_or((comment, ""));
            let element = parse_element(line, name.trim())?;
            if key.contains("reductions") {
                self.reduced = element;
            } else {
                self.element = element;
            }
        }
        let mut words = comment.split_whitespace();
        if words.any(|word| word == "-sync") {
            self.is_synchronised = !matches!(words.next(), Some("off" | "0" | "disable" | "no"));
        }
        Ok(())
    }

    fn read_columns(&mut self, line: u64, head: &str) -> Result<(), RowError> {
        let names: Vec<&str> = head.split_whitespace().collect();
        let position = |wanted: &str| names.iter().position(|name| *name == wanted);
        let wanted = if self.is_synchronised {
            "t_max[usec]"
        } else {
            "t_avg[usec]"
        };
        let time = match (position(wanted), self.find_operation()) {
            (Some(time), _) => time,
            // The columns of another benchmark do not matter.
            (None, None) => 0,
            (None, Some(_)) => {
                return Err(find_wrong(line, &format!("columns {head:?}"), wanted));
            }
        };
        self.columns = Some((position("#bytes"), time));
        Ok(())
    }

    fn find_operation(&self) -> Option<Collective> {
        self.benchmark.to_lowercase().parse().ok()
    }

    /// Returns the calls of the present table, or the reason why they cannot be judged.
    fn find_calls(&self, line: u64, size: JobSize) -> Result<Result<Calls, String>, RowError> {
        let Some(operation) = self.find_operation() else {
            return Ok(Err(format!("benchmark {} of IMB", self.benchmark)));
        };
        let expected = "a line \"# #processes = N\" before the table";
        let ranks = self
            .processes
            .ok_or_else(|| find_wrong(line, &self.benchmark, expected))?;
        if self.has_groups {
            return Ok(Err("groups of processes that run at once".to_owned()));
        }
        if let Err(reason) = size.check_ranks(ranks) {
            return Ok(Err(reason));
        }
        let is_reduce_scatter = operation == Collective::ReduceScatter;
        let is_split = is_reduce_scatter && self.year < 2019;
        Ok(Ok(Calls {
            job: "imb",
            operation,
            element: choose_element(operation, [self.reduced, self.element]),
            timing: if self.is_synchronised {
                LoopTiming::Slowest
            } else {
                LoopTiming::MeanWithoutBarriers
            },
            ranks,
            ranks_per_node: size.ranks_per_node.unwrap_or(1),
            has_blocks: takes_blocks(operation) || (is_reduce_scatter && !is_split),
        }))
    }
}
