//! Output of the Intel MPI Benchmarks: the table of `PingPong`, column `t[usec]`.
//!
//! Other benchmarks in the same file are skipped; without a `PingPong` table the error names the
//! benchmarks. A second `PingPong` table (other process counts) is a mistake.

use super::{LineError, finish_table, parse_size, positive};
use crate::sample::BenchmarkTable;

pub(super) fn read_table(text: &str) -> Result<BenchmarkTable, Vec<LineError>> {
    let (mut rows, mut mistakes) = (Vec::new(), Vec::new());
    let mut others: Vec<&str> = Vec::new();
    let mut is_ours = false;
    // The place of `t[usec]` among the columns of the current table.
    let mut column = None;
    let mut begun = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("# Benchmarking") {
            let name = name.trim();
            is_ours = name == "PingPong";
            column = None;
            if !is_ours {
                others.push(name);
            } else if begun > 0 {
                let problem = format!("PingPong begins again, after line {begun}");
                mistakes.push(LineError::new(number, problem, "one PingPong per file"));
                break;
            } else {
                begun = number;
            }
        } else if is_ours && line.starts_with("#bytes") {
            column = line.split_whitespace().position(|name| name == "t[usec]");
            if column.is_none() {
                let problem = format!("the columns are {line:?}");
                mistakes.push(LineError::new(number, problem, "a column t[usec]"));
            }
        } else if let Some(column) = column
            && line.starts_with(|first: char| !first.is_ascii_punctuation())
        {
            match parse_row(line, column) {
                Ok((size, time)) => rows.push((number, size, time)),
                Err((problem, expected)) => {
                    mistakes.push(LineError::new(number, problem, expected));
                }
            }
        }
    }
    if begun == 0 {
        let problem = format!(
            "it has {}",
            if others.is_empty() {
                "no benchmark".to_owned()
            } else {
                others.join(", ")
            }
        );
        mistakes.push(LineError::new(0, problem, "the benchmark PingPong"));
    }
    Ok(BenchmarkTable {
        benchmark: "IMB-MPI1 PingPong".to_owned(),
        rows: finish_table(rows, mistakes)?,
    })
}

fn parse_row(line: &str, column: usize) -> Result<(u64, f64), (String, &'static str)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let Some(size) = parse_size(fields[0]) else {
        let problem = format!("the size is {:?}", fields[0]);
        return Err((problem, "a whole number of bytes, such as 4096"));
    };
    let text = fields.get(column).copied().unwrap_or_default();
    let time = positive(text).ok_or_else(|| {
        let problem = format!("t[usec] for {size} B is {text:?}");
        (problem, "a number above 0, such as 1.25")
    })?;
    Ok((size, time / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#    Intel(R) MPI Benchmarks 2018
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.59         0.00
           64         1000         1.57        38.99

#---------------------------------------------------
# Benchmarking Sendrecv
# #processes = 2
       #bytes #repetitions  t_min[usec]  t_max[usec]
            0         1000         2.00         3.00
";

    #[test]
    fn the_pingpong_of_a_file() {
        let table = read_table(TEXT).unwrap();
        assert_eq!(table.rows, [(0, 1.59 / 1e6), (64, 1.57 / 1e6)]);
    }

    #[test]
    fn mistakes_name_line_and_value() {
        let mistakes = read_table(&TEXT.replace("1.57 ", "-1 ")).unwrap_err();
        assert_eq!((mistakes[0].line, mistakes.len()), (7, 1));
        assert_eq!(mistakes[0].problem, "t[usec] for 64 B is \"-1\"");
        let mistakes = read_table(&TEXT.replace("PingPong", "Bcast")).unwrap_err();
        assert_eq!(mistakes[0].problem, "it has Bcast, Sendrecv");
    }
}
