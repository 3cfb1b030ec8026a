//! The output of nccl-tests, in the form with columns.
//!
//! *Decided here*: the time out of place counts; the nodes are the different names of hosts, and
//! the ranks fill the nodes one after the other, in any order of the names. `--ranks` chooses one
//! of several numbers of ranks. *Not read*: times of the processor (`-C 1`), and times in place.
//!
//! Source: the code at commit a0b82b2. The loop has calls without barriers; the time is the mean
//! over calls and processes. Sizes are the bytes of all blocks.

use std::collections::BTreeSet;

use accuracy::{ReadRows, RowError};
use collectives::Collective;
use validation::{ElementType, LoopTiming};

use crate::rows::{Calls, JobSize, find_wrong, parse_numbers};

/// Lines behind a table; old versions print the first one only.
const ENDS: [&str; 2] = ["Avg bus bandwidth", "Collective test concluded:"];

/// The columns of a table.
struct Columns {
    size: Option<usize>,
    element: Option<usize>,
    time: usize,
}

/// Reads the tables.
pub(crate) fn read_output(text: &str, size: JobSize) -> Result<ReadRows, RowError> {
    let (mut rows, mut program, mut columns) = (ReadRows::default(), None, None);
    let (mut ranks, mut hosts) = (0, BTreeSet::new());
    for (line, text) in (1..).zip(text.lines()) {
        let comment = text.trim().strip_prefix('#').map(str::trim);
        let Some(comment) = comment else {
            let is_row = text
                .trim()
                .starts_with(|first: char| first.is_ascii_digit());
            if let (Some(columns), true) = (&columns, is_row) {
                let operation = find_operation(line, program)?;
                let calls = operation.and_then(|it| find_calls(it, (ranks, hosts.len()), size));
                match calls {
                    Ok(mut calls) => add_row(&mut calls, columns, (line, text), &mut rows)?,
                    Err(reason) => rows.skip_row(reason),
                }
            }
            continue;
        };
        if comment.starts_with("nThread ") {
            (ranks, columns) = (0, None);
            hosts.clear();
        } else if let Some(name) = comment.strip_prefix("Collective test starting:") {
            program = Some(name.trim());
        } else if ENDS.iter().any(|end| comment.starts_with(end)) {
            (program, columns) = (None, None);
        } else if comment.starts_with("Rank ") {
            let host = comment.split_once(" on ").map(|(_, rest)| rest);
            let host = host.and_then(|rest| rest.split_whitespace().next());
            let expected = "\"# Rank N Group N Pid N on HOST device N\"";
            hosts.insert(host.ok_or_else(|| find_wrong(line, comment, expected))?);
            ranks += 1;
        } else if comment.starts_with("size ") {
            columns = Some(find_columns(line, comment)?);
        }
    }
    Ok(rows)
}

fn find_columns(line: u64, head: &str) -> Result<Columns, RowError> {
    let names: Vec<&str> = head.split_whitespace().collect();
    let position = |wanted: &str| names.iter().position(|name| *name == wanted);
    let time = position("time");
    let wrong = || find_wrong(line, &format!("columns {head:?}"), "a column \"time\"");
    Ok(Columns {
        size: position("size"),
        element: position("type"),
        time: time.ok_or_else(wrong)?,
    })
}

/// Returns the operation of a program, or the reason why the rows cannot be judged.
fn find_operation(
    line: u64,
    program: Option<&str>,
) -> Result<Result<Collective, String>, RowError> {
    let expected =
        "a line such as \"# Collective test starting: all_reduce_perf\" before the table";
    let name = program.ok_or_else(|| find_wrong(line, "no name of a program", expected))?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let operation = match name.split_once("_perf").map_or(name, |(start, _)| start) {
        "all_gather" => Some(Collective::Allgather),
        "all_reduce" => Some(Collective::Allreduce),
        "broadcast" => Some(Collective::Bcast),
        "reduce_scatter" => Some(Collective::ReduceScatterBlock),
        start => start.parse().ok(),
    };
    Ok(operation.ok_or_else(|| format!("benchmark {name} of nccl-tests")))
}

/// Returns the calls of a table, or the reason why the rows cannot be judged.
fn find_calls(
    operation: Collective,
    (ranks, hosts): (u32, usize),
    size: JobSize,
) -> Result<Calls, String> {
    size.check_ranks(ranks)?;
    let hosts = u32::try_from(hosts).unwrap_or(ranks).max(1);
    let even = ranks.is_multiple_of(hosts).then_some(ranks / hosts);
    let on_node = size.ranks_per_node.or(even);
    Ok(Calls {
        job: "nccl-tests",
        operation,
        element: ElementType::Byte,
        timing: LoopTiming::MeanWithoutBarriers,
        ranks,
        ranks_per_node: on_node
            .ok_or_else(|| format!("{ranks} ranks do not fill {hosts} hosts evenly"))?,
        has_blocks: false,
    })
}

fn add_row(
    calls: &mut Calls,
    columns: &Columns,
    (line, text): (u64, &str),
    rows: &mut ReadRows,
) -> Result<(), RowError> {
    let name = columns
        .element
        .and_then(|at| text.split_whitespace().nth(at));
    let name = name.unwrap_or_default();
    calls.element = match name {
        "int8" | "uint8" => ElementType::Byte,
        "uint32" => ElementType::Int32,
        _ => match ElementType::from_name(name) {
            Some(element) => element,
            None => {
                rows.skip_row(format!("unknown type {name}"));
                return Ok(());
            }
        },
    };
    let (size, us) = parse_numbers(line, text, (columns.size, columns.time))?;
    calls.add_row(rows, (line, size, us));
    Ok(())
}
