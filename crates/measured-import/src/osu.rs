//! The output of the collective benchmarks of OSU, one or several after another.
//!
//! *Decided here*: the largest time of all ranks counts if the output has one (`-f`), and else the
//! mean. A table ends at an empty line; before the next head, lines are not read. Versions before 7
//! do not print the type: `MPI_FLOAT` in reductions, and else `MPI_CHAR`.
//!
//! Source: the code of version 7.4. The loop is: a call between two readings of the clock, and a
//! barrier; a rank averages all times, and the columns are the mean, the least and the largest
//! of these averages. Sizes are bytes of a message of one rank, of all blocks in reduce-scatter.

use accuracy::{ReadRows, RowError};
use collectives::Collective;
use validation::{ElementType, LoopTiming};

use crate::rows::{
    Calls, JobSize, choose_element, find_wrong, parse_element, parse_numbers, takes_blocks,
};

/// The columns of a table.
#[derive(Clone, Copy)]
struct Columns {
    size: Option<usize>,
    time: usize,
    timing: LoopTiming,
}

/// Types of reductions and of other operations where the output tells no type.
const UNTOLD: [ElementType; 2] = [ElementType::Float, ElementType::Byte];

/// Reads the tables.
pub(crate) fn read_output(text: &str, size: JobSize) -> Result<ReadRows, RowError> {
    let (mut rows, mut title, mut columns) = (ReadRows::default(), "", None);
    let mut element = None;
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#').map(str::trim) {
            if comment.starts_with("OSU ") {
                (title, columns, element) = (comment, None, None);
            } else if let Some(name) = comment.strip_prefix("Datatype:") {
                element = Some(parse_element(line, name.trim().trim_end_matches('.'))?);
            } else if comment.starts_with("Size") || comment.starts_with("Avg") {
                columns = Some(match find_operation(title) {
                    Ok(operation) => Ok((operation, find_columns(line, comment)?)),
                    Err(reason) => Err(reason),
                });
            }
        } else if text.is_empty() {
            columns = None;
        } else if let Some(Err(reason)) = &columns {
            rows.skip_row(reason.clone());
        } else if let Some(Ok((operation, columns))) = columns.clone() {
            let expected = "the number of ranks, which the output lacks, as --ranks N";
            let calls = Calls {
                job: "osu",
                operation,
                element: element.unwrap_or_else(|| choose_element(operation, UNTOLD)),
                timing: columns.timing,
                ranks: size
                    .ranks
                    .ok_or_else(|| find_wrong(line, title, expected))?,
                ranks_per_node: size.ranks_per_node.unwrap_or(1),
                has_blocks: takes_blocks(operation) && operation != Collective::ReduceScatterBlock,
            };
            let (size, us) = parse_numbers(line, text, (columns.size, columns.time))?;
            calls.add_row(&mut rows, (line, size, us));
        }
    }
    Ok(rows)
}

/// Returns the operation of a benchmark, or the reason why the rows cannot be judged.
fn find_operation(title: &str) -> Result<Collective, String> {
    let name = title.strip_prefix("OSU MPI ");
    let name = name.and_then(|rest| rest.split_once(" Latency Test"));
    let operation = match name.map_or("", |(name, _)| name) {
        "All-to-All Personalized Exchange" => Some(Collective::Alltoall),
        "All-to-Allv Personalized Exchange" => Some(Collective::Alltoallv),
        "All-to-Allw Personalized Exchange" => Some(Collective::Alltoallw),
        "Broadcast" => Some(Collective::Bcast),
        name => name.to_lowercase().parse().ok(),
    };
    operation.ok_or_else(|| format!("benchmark {title}"))
}

/// Finds the columns of a head; a name has one space at most.
fn find_columns(line: u64, head: &str) -> Result<Columns, RowError> {
    let names = head.split("  ").map(str::trim);
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let position = |wanted: &str| names.iter().position(|name| *name == wanted);
    let times = [
        ("Max Latency(us)", LoopTiming::Slowest),
        ("Avg Latency(us)", LoopTiming::Mean),
    ];
    let mut times = times.into_iter();
    let found = times.find_map(|(name, timing)| Some((position(name)?, timing)));
    let (time, timing) = found
        .ok_or_else(|| find_wrong(line, &format!("columns {head:?}"), "\"Avg Latency(us)\""))?;
    Ok(Columns {
        size: position("Size"),
        time,
        timing,
    })
}
