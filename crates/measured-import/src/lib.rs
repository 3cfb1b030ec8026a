//! Measured times from the text output of benchmarks.
//!
//! * [`read_rows`]: collective operations of the OSU micro-benchmarks, the Intel MPI Benchmarks and
//!   nccl-tests, or the flat table of PICO, as rows for `simrun validate`.
//! * [`convert_samples`]: SimGrid's calibration of messages, as samples for `simrun calibrate`.
//!
//! *Decided here*: the time of each benchmark that counts, and the loop around the calls. The
//! library of the machine has chosen the algorithms, so the selector of the platform chooses in the
//! simulation. *Not read*: nonblocking and persistent operations, and calls on device memory of
//! MPI, which are counted by the reason.

mod imb;
mod nccl;
mod osu;
mod rows;
mod simgrid;

use accuracy::{ReadRows, RowError};

pub use rows::JobSize;
pub use simgrid::convert_samples;

/// Reads the rows of a table, of the kind that the text shows.
///
/// `machine` chooses one of several machines of a table of PICO. `size` has the numbers that the
/// output of a benchmark lacks.
///
/// # Errors
/// [`RowError`] if the text is no such table or has the output of several suites of benchmarks,
/// `machine` names no machine of the table, a number of ranks is missing, or the table does not
/// use `machine` or `size`.
pub fn read_rows(text: &str, machine: Option<&str>, size: JobSize) -> Result<ReadRows, RowError> {
    type Reader = fn(&str, JobSize) -> Result<ReadRows, RowError>;
    const SUITES: [(&str, Reader); 3] = [
        ("# OSU ", osu::read_output),
        ("# Benchmarking ", imb::read_output),
        ("# nThread ", nccl::read_output),
    ];
    let suites = SUITES.iter().filter_map(|(start, read)| {
        let mut lines = (1..).zip(text.lines().map(str::trim_start));
        Some((lines.find(|(_, line)| line.starts_with(start))?, read))
    });
    let mut suites: Vec<_> = suites.collect();
    suites.sort_by_key(|((line, _), _)| *line);
    let unused = |option, table| Err(RowError::Unused { option, table });
    match suites[..] {
        [] => match (
            accuracy::read_rows(text, machine)?,
            size.ranks,
            size.ranks_per_node,
        ) {
            (rows, None, None) => Ok(rows),
            (_, Some(_), _) => unused("--ranks", "PICO"),
            (_, None, Some(_)) => unused("--ppn", "PICO"),
        },
        [_] if machine.is_some() => unused("--machine", "a benchmark"),
        [(_, read)] => read(text, size),
        [((first, _), _), ((line, head), _), ..] => {
            let expected = format!("only the suite of benchmarks of line {first}");
            Err(rows::find_wrong(line, &format!("{head:?}"), &expected))
        }
    }
}
