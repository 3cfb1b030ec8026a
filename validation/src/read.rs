//! Measurements from text: the CSV of simrun, and what the OSU and Intel MPI benchmarks print.
//!
//! **CSV**, one sample per line. The first line names the columns, in any order; lines that begin
//! with `#` and empty lines are skipped.
//!
//! | column | content | default |
//! |---|---|---|
//! | `size_bytes` | bytes of payload, a whole number | required |
//! | `time_us` | microseconds, above 0; half a round trip for ping-pongs | required |
//! | `kernel` | `pp`, `ppi`, `prttN`, `dprttN`, `os`, `ois`, `or`, `late`, `incastN`, `outcastN`,
//! `bidir`, `copy`, `reduce`: see [`Kernel`] | `pp` |
//! | `session` | the start of the processes, counted from 0 | 1 |
//! | `block` | the number of the block in the session, in the order of time | one block per size |
//! | `sample` | the number of the sample in its block, in the order of time | the order of the
//! lines |
//! | `set` | `train`, `validate` or `reference` | `train` |
//!
//! **OSU** (`osu_latency`, `osu_bw`, `osu_bibw`, `osu_mbw_mr`) and **IMB** (`PingPong`): one value
//! per size. Bandwidths become the time per message, size / bandwidth; the line for 0 bytes of a
//! bandwidth table has no time and is skipped.
//!
//! One error lists all mistakes, each with its line, the value found and the value expected.

mod csv;
mod imb;
mod osu;

use std::fmt;

use crate::sample::Measurements;

/// Number of mistakes are shown; further ones are counted.
const SHOWN_MAX: usize = 20;

/// One mistake in a file of measurements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineError {
    /// The line, counted from 1; 0 if the mistake concerns the whole file.
    pub line: usize,
    /// The problem, with the value found.
    pub problem: String,
    /// Expected form.
    pub expected: String,
}

impl LineError {
    pub(crate) fn new(
        line: usize,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            line,
            problem: problem.into(),
            expected: expected.into(),
        }
    }
}

/// Why a file gives no measurements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The file.
    pub file: String,
    /// Mistakes by line; never empty.
    pub mistakes: Vec<LineError>,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.mistakes.iter().take(SHOWN_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:", self.file)?;
            if diagnostic.line > 0 {
                write!(f, "{}:", diagnostic.line)?;
            }
            write!(
                f,
                " {}: expected {}",
                diagnostic.problem, diagnostic.expected
            )?;
        }
        match self.mistakes.len() {
            count if count > SHOWN_MAX => {
                write!(f, "\n{count} errors, first {SHOWN_MAX} shown")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads measurements from the text of a file; `file` is the name in messages.
///
/// ```
/// use validation::{Measurements, read};
///
/// let text = "# OSU MPI Latency Test v5.6.3\n# Size  Latency (us)\n8  1.25\n16  1.26\n";
/// let Measurements::Table(table) = read("osu.txt", text)? else {
///     panic!("a table");
/// };
/// assert_eq!(table.rows[0].0, 8);
///
/// let mistakes = read("m.csv", "size_bytes,time_us\n8,fast\n-1,2.0\n").unwrap_err();
/// assert_eq!(
///     mistakes.to_string(),
///     "m.csv:2: time_us is \"fast\": expected a number of microseconds above 0, such as 1.25\n\
///      m.csv:3: size_bytes is \"-1\": expected a whole number of bytes, such as 4096",
/// );
/// # Ok::<(), validation::ReadError>(())
/// ```
pub fn read(file: &str, text: &str) -> Result<Measurements, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_imb = text.contains("#repetitions") || text.contains("# Benchmarking");
    let read = if text.contains("# OSU ") {
        osu::read(text).map(Measurements::Table)
    } else if is_imb {
        imb::read_table(text).map(Measurements::Table)
    } else {
        csv::read(text).map(Measurements::Samples)
    };
    read.map_err(|mistakes| ReadError {
        file: file.to_owned(),
        mistakes,
    })
}

/// Parses a whole number of bytes up to 2^53, which a floating-point number represents exactly.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    text.parse().ok().filter(|size: &u64| *size <= 1 << 53)
}

/// A number above 0 that is a number.
pub(crate) fn positive(text: &str) -> Option<f64> {
    let number = text.parse().ok();
    number.filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// Finishes a table of either kind: returns the rows by size, or the mistakes.
pub(crate) fn finish_table(
    mut rows: Vec<(usize, u64, f64)>,
    mut mistakes: Vec<LineError>,
) -> Result<Vec<(u64, f64)>, Vec<LineError>> {
    rows.sort_by_key(|(line, size, _)| (*size, *line));
    for two in rows.windows(2).filter(|two| two[0].1 == two[1].1) {
        let problem = format!("duplicate size {} (first in line {})", two[1].1, two[0].0);
        mistakes.push(LineError::new(two[1].0, problem, "each size once"));
    }
    if rows.is_empty() && mistakes.is_empty() {
        mistakes.push(LineError::new(0, "no values", "a line per size"));
    }
    if mistakes.is_empty() {
        return Ok(rows
            .into_iter()
            .map(|(_, size, time)| (size, time))
            .collect());
    }
    mistakes.sort_by_key(|diagnostic| diagnostic.line);
    Err(mistakes)
}
