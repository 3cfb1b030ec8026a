//! The CSV format of simrun: samples into blocks.
//!
//! Fields are plain: quotes are not supported, spaces around fields are ignored.

use std::collections::BTreeMap;

use super::{LineError, parse_size, positive};
use crate::sample::{Block, Kernel, Set};

/// Names of columns.
const COLUMNS: [&str; 7] = [
    "kernel",
    "size_bytes",
    "session",
    "block",
    "sample",
    "set",
    "time_us",
];

/// The key of a block, as [`Block::sort_key`].
type Key = (u32, u32, Kernel, u64, Set);

/// The samples of a block: number in the block, seconds.
type Samples = Vec<(u32, f64)>;

pub(super) fn read(text: &str) -> Result<Vec<Block>, Vec<LineError>> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((number, head)) = lines.next() else {
        let expected = format!("a line that names the columns: {}", COLUMNS.join(","));
        return Err(vec![LineError::new(0, "it is empty", expected)]);
    };
    let columns = Columns::new(number, head)?;
    let mut blocks: BTreeMap<Key, Samples> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != columns.count {
            let problem = format!("{} fields", fields.len());
            let expected = format!("{}, as in the first line", columns.count);
            mistakes.push(LineError::new(number, problem, expected));
            continue;
        }
        let row = CsvLine {
            columns: &columns,
            fields: &fields,
            number,
        };
        if let Some((key, sample, time)) = row.read_row(&mut mistakes) {
            let samples = blocks.entry(key).or_default();
            let next = u32::try_from(samples.len()).unwrap_or(u32::MAX);
            samples.push((sample.unwrap_or(next), time));
        }
    }
    if blocks.is_empty() && mistakes.is_empty() {
        mistakes.push(LineError::new(0, "it has no samples", "a line per sample"));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(blocks.into_iter().map(build_block).collect())
}

fn build_block(((session, number, kernel, size, set), mut samples): (Key, Samples)) -> Block {
    // By number; equal ones by time, so that the order of lines means nothing.
    samples.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    Block {
        session,
        number,
        kernel,
        size,
        set,
        times_s: samples.into_iter().map(|(_, time)| time).collect(),
    }
}

/// Where the columns are.
struct Columns {
    places: [Option<usize>; COLUMNS.len()],
    count: usize,
}

impl Columns {
    fn new(number: usize, head: &str) -> Result<Self, Vec<LineError>> {
        let mut places = [None; COLUMNS.len()];
        let mut mistakes = Vec::new();
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        for (at, name) in names.iter().enumerate() {
            match COLUMNS.iter().position(|column| column == name) {
                Some(column) if places[column].is_none() => places[column] = Some(at),
                Some(_) => {
                    let problem = format!("duplicate column {name:?}");
                    mistakes.push(LineError::new(number, problem, "each column once"));
                }
                None => {
                    let problem = format!("the column {name:?} is unknown");
                    let expected = format!("some of {}", COLUMNS.join(", "));
                    mistakes.push(LineError::new(number, problem, expected));
                }
            }
        }
        let columns = Self {
            places,
            count: names.len(),
        };
        for name in ["size_bytes", "time_us"] {
            if columns.column_position(name).is_none() {
                let problem = format!("the column {name:?} is missing");
                let expected = "size_bytes and time_us among the columns";
                mistakes.push(LineError::new(number, problem, expected));
            }
        }
        if mistakes.is_empty() {
            Ok(columns)
        } else {
            Err(mistakes)
        }
    }

    fn column_position(&self, name: &str) -> Option<usize> {
        let column = COLUMNS.iter().position(|column| *column == name)?;
        self.places[column]
    }
}

/// One line.
struct CsvLine<'a> {
    columns: &'a Columns,
    fields: &'a [&'a str],
    number: usize,
}

impl CsvLine<'_> {
    /// Returns the value of a column: `default` without that column, `None` if the value is wrong.
    fn value<T>(
        &self,
        name: &str,
        default: Option<T>,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
        mistakes: &mut Vec<LineError>,
    ) -> Option<T> {
        let Some(place) = self.columns.column_position(name) else {
            return default;
        };
        let text = self.fields[place];
        let value = parse(text);
        if value.is_none() {
            let problem = format!("{name} is {text:?}");
            mistakes.push(LineError::new(self.number, problem, expected));
        }
        value
    }

    fn read_row(&self, mistakes: &mut Vec<LineError>) -> Option<(Key, Option<u32>, f64)> {
        let kernels: Vec<String> = Kernel::all_names().collect();
        let sets: Vec<&str> = Set::all_names().collect();
        let whole = |text: &str| text.parse().ok();
        let kernel = self.value(
            "kernel",
            Some(Kernel::PingPong),
            |text| text.parse().ok(),
            &format!("one of {}", kernels.join(", ")),
            mistakes,
        );
        let bytes = self.value(
            "size_bytes",
            None,
            parse_size,
            "a whole number of bytes, such as 4096",
            mistakes,
        );
        let number = "a whole number, such as 3";
        let session = self.value("session", Some(1), whole, number, mistakes);
        let block = self.value("block", Some(1), whole, number, mistakes);
        let wrapped = |text: &str| whole(text).map(Some);
        let sample = self.value("sample", Some(None), wrapped, number, mistakes);
        let set = self.value(
            "set",
            Some(Set::Training),
            |text| text.parse().ok(),
            &format!("one of {}", sets.join(", ")),
            mistakes,
        );
        let may_be_free = kernel.is_some_and(Kernel::may_be_free);
        let free = |text: &str| text.parse().ok().filter(|time| may_be_free && *time == 0.0);
        let time = self.value(
            "time_us",
            None,
            |text| positive(text).or_else(|| free(text)),
            "a number of microseconds above 0, such as 1.25",
            mistakes,
        );
        let key = (session?, block?, kernel?, bytes?, set?);
        Some((key, sample?, time? / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_blocks_in_any_order_of_lines_and_columns() {
        let text = "# made by hand\ntime_us, kernel,size_bytes,session,block,sample,set\n\
                    3,pp,8,1,2,0,train\n2,pp,8,1,1,1,train\n1,pp,8,1,1,0,train\n9,os,64,2,1,0,reference\n";
        let blocks = read(text).unwrap();
        let expected = [
            ((1, 1, Kernel::PingPong, 8, Set::Training), vec![1e-6, 2e-6]),
            ((1, 2, Kernel::PingPong, 8, Set::Training), vec![3e-6]),
            ((2, 1, Kernel::Send, 64, Set::Reference), vec![9e-6]),
        ];
        let found: Vec<_> = blocks
            .iter()
            .map(|block| (block.sort_key(), block.times_s.clone()))
            .collect();
        for ((key, times), (found, seconds)) in expected.iter().zip(&found) {
            assert_eq!(key, found);
            let near = |pair: (&f64, &f64)| (pair.0 - pair.1).abs() < 1e-18;
            assert!(times.iter().zip(seconds).all(near));
        }
        let mut lines: Vec<&str> = text.lines().skip(2).collect();
        lines.reverse();
        let head: Vec<&str> = text.lines().take(2).collect();
        let back = format!("{}\n{}\n", head.join("\n"), lines.join("\n"));
        assert_eq!(read(&back).unwrap(), blocks);
    }

    #[test]
    fn two_columns_are_enough() {
        let blocks = read("size_bytes,time_us\n8,1.5\n8,1.6\n16,2\n").unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].times_s.len(), 2);
    }

    #[test]
    fn all_mistakes_at_once() {
        let mistakes = read("size,time_us,time_us\n").unwrap_err();
        let problems: Vec<&str> = mistakes.iter().map(|one| one.problem.as_str()).collect();
        assert_eq!(
            problems,
            [
                "the column \"size\" is unknown",
                "duplicate column \"time_us\"",
                "the column \"size_bytes\" is missing",
            ]
        );
        let text = "kernel,size_bytes,set,time_us\npong,1.5,test,nan\npp,8,train,0\npp,8,train\n";
        let mistakes = read(text).unwrap_err();
        let found: Vec<(usize, &str)> = mistakes
            .iter()
            .map(|one| (one.line, one.problem.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "kernel is \"pong\""),
                (2, "size_bytes is \"1.5\""),
                (2, "set is \"test\""),
                (2, "time_us is \"nan\""),
                (3, "time_us is \"0\""),
                (4, "3 fields"),
            ]
        );
        assert_eq!(read("").unwrap_err()[0].problem, "it is empty");
        assert_eq!(
            read("size_bytes,time_us\n").unwrap_err()[0].problem,
            "it has no samples"
        );
    }
}
