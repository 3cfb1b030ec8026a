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
/// [`RowError`] if the text is no such table, `machine` names no machine of the table, or a number
/// of ranks is missing.
pub fn read_rows(text: &str, machine: Option<&str>, size: JobSize) -> Result<ReadRows, RowError> {
    let has = |start: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with(start))
    };
    if has("# OSU ") {
        osu::read_output(text, size)
    } else if has("# Benchmarking ") {
        imb::read_output(text, size)
    } else if has("# nThread ") {
        nccl::read_output(text, size)
    } else {
        accuracy::read_rows(text, machine)
    }
}
