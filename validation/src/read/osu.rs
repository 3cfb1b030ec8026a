//! Output of the OSU micro-benchmarks: latencies, or bandwidths as the time per message.
//!
//! The first column is the size, the second the value; the head of the table names the unit. Lines
//! before the title of the benchmark, such as lines of a launcher, are skipped; so are further
//! columns.

use super::{LineError, finish_table, parse_size, positive};
use crate::point::bytes;
use crate::sample::BenchmarkTable;

#[derive(Clone, Copy)]
enum Unit {
    Microseconds,
    MegabytesPerSecond,
}

pub(super) fn read(text: &str) -> Result<BenchmarkTable, Vec<LineError>> {
    let mut benchmark = String::new();
    let mut unit = None;
    let (mut rows, mut mistakes) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let comment = comment.trim();
            if comment.starts_with("OSU ") && !benchmark.is_empty() {
                let problem = format!("a second benchmark begins, {comment:?}");
                mistakes.push(LineError::new(number, problem, "one benchmark per file"));
                break;
            }
            if comment.starts_with("OSU ") {
                comment.clone_into(&mut benchmark);
            } else if comment.starts_with("Size") {
                unit = unit_of(comment);
                if unit.is_none() {
                    let problem = format!("the columns are {comment:?}");
                    let expected = "Size, then a latency in (us) or a bandwidth in MB/s";
                    mistakes.push(LineError::new(number, problem, expected));
                    break;
                }
            }
        } else if let Some(unit) = unit
            && !line.is_empty()
        {
            match parse_row(line, unit) {
                Ok(Some((size, time))) => rows.push((number, size, time)),
                Ok(None) => {}
                Err((problem, expected)) => {
                    mistakes.push(LineError::new(number, problem, expected));
                }
            }
        }
    }
    if unit.is_none() && mistakes.is_empty() {
        let problem = "no line names the columns";
        mistakes.push(LineError::new(
            0,
            problem,
            "\"# Size   Latency (us)\" or the like",
        ));
    }
    Ok(BenchmarkTable {
        benchmark,
        rows: finish_table(rows, mistakes)?,
    })
}

fn unit_of(columns: &str) -> Option<Unit> {
    if columns.contains("(us)") {
        Some(Unit::Microseconds)
    } else if columns.contains("MB/s") {
        Some(Unit::MegabytesPerSecond)
    } else {
        None
    }
}

/// Parses a row into size and seconds; `None` for 0 bytes of a bandwidth table.
fn parse_row(line: &str, unit: Unit) -> Result<Option<(u64, f64)>, (String, &'static str)> {
    let mut fields = line.split_whitespace();
    let first = fields.next().unwrap_or_default();
    let Some(size) = parse_size(first) else {
        let problem = format!("the size is {first:?}");
        return Err((problem, "a whole number of bytes, such as 4096"));
    };
    if size == 0 && matches!(unit, Unit::MegabytesPerSecond) {
        return Ok(None);
    }
    let second = fields.next().unwrap_or_default();
    let Some(value) = positive(second) else {
        let problem = format!("the value for {size} B is {second:?}");
        return Err((problem, "a number above 0, such as 1.25"));
    };
    Ok(Some(match unit {
        Unit::Microseconds => (size, value / 1e6),
        Unit::MegabytesPerSecond => (size, bytes(size) / (value * 1e6)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_and_bandwidths() {
        let latency = "mpirun says hello\n# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n0    1.27\n1   1.25\n";
        let table = read(latency).unwrap();
        assert_eq!(table.benchmark, "OSU MPI Latency Test v5.6.3");
        assert_eq!(table.rows, [(0, 1.27 / 1e6), (1, 1.25 / 1e6)]);
        let newer = "# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n8   1.5\n";
        assert_eq!(read(newer).unwrap().rows, [(8, 1.5e-6)]);
        let rate = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.3\n# [ pairs: 1 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n4000   2000.0   500000\n";
        assert_eq!(read(rate).unwrap().rows, [(4000, 2e-6)]);
    }

    #[test]
    fn all_mistakes_with_their_lines() {
        let bad = "# OSU MPI Latency Test v5\n# Size Latency (us)\n8 x\n8\nk 1.0\n16 1.0\n16 2.0\n";
        let mistakes = read(bad).unwrap_err();
        let lines: Vec<usize> = mistakes.iter().map(|diagnostic| diagnostic.line).collect();
        assert_eq!(lines, [3, 4, 5, 7]);
        assert_eq!(mistakes[0].problem, "the value for 8 B is \"x\"");
        assert_eq!(mistakes[3].problem, "duplicate size 16 (first in line 6)");
        assert_eq!(
            read("# OSU MPI Latency Test v5\n1 2\n").unwrap_err().len(),
            1
        );
        let other = "# OSU MPI Init Test v5\n# Size Bananas\n1 2\n";
        assert_eq!(read(other).unwrap_err()[0].line, 2);
    }
}
