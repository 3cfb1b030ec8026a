//! The table of a study as text for a terminal: constants above the table, three digits, one unit
//! for each column, and at most [`WIDTH_MAX`] characters in a line.
//!
//! *Left out* without `--columns`: columns that do not fit, of which the last line tells the
//! number. Parameters stay, and keep all their digits.

use std::fmt::Write as _;

use report::three_digits;

use super::views::TEXTS;

/// Characters in a line at most.
const WIDTH_MAX: usize = 100;

/// Columns that are left out in this order until the lines are short enough: identifiers of runs,
/// then parts of a distribution.
const LEFT_OUT: [&str; 11] = [
    "key", "revision", "digest", "_q90", "_median", "_min", "_max", "_n", "_low", "_high", "_note",
];

/// A column: a name, and a cell for each row.
#[derive(Clone, PartialEq, Debug)]
struct Column {
    name: String,
    is_parameter: bool,
    cells: Vec<String>,
}

/// Returns the text of rows, of which the first has the names of the columns and the first columns
/// are parameters. `all`: no column is left out.
pub(super) fn write_text(rows: &[Vec<String>], parameters: usize, all: bool) -> String {
    let Some((header, rows)) = rows.split_first() else {
        return String::new();
    };
    let column = |(at, name): (usize, &String)| Column {
        name: name.clone(),
        is_parameter: at < parameters,
        cells: rows.iter().map(|row| row[at].clone()).collect(),
    };
    let columns: Vec<Column> = header.iter().enumerate().map(column).collect();
    let mut text = String::new();
    let mut shown = Vec::new();
    for column in &columns {
        let first = column.cells.first().map_or("", String::as_str);
        let is_constant = rows.len() > 1 && column.cells.iter().all(|cell| cell == first);
        if is_constant && (column.is_parameter || column.name.ends_with("_note")) {
            if !first.is_empty() {
                let _ = writeln!(text, "{} = {first}", column.name);
            }
        } else if all || column.is_parameter || has_content(column, &columns) {
            shown.push(column.rounded());
        }
    }
    let mut hidden = Vec::new();
    let mut endings = LEFT_OUT.iter();
    while !all && width_of(&shown) > WIDTH_MAX {
        if let Some(ending) = endings.next() {
            let is_hidden = |it: &mut Column| !it.is_parameter && it.name.ends_with(ending);
            hidden.extend(shown.extract_if(.., is_hidden));
        } else {
            hidden.extend(shown.pop());
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text += &align_columns(&shown, rows.len());
    if !hidden.is_empty() {
        let names = hidden.len();
        let _ = writeln!(text, "\n{names} more columns: --columns or --csv");
    }
    text
}

/// Returns true for a column that has a cell, and is no part of a distribution of single values.
fn has_content(column: &Column, all: &[Column]) -> bool {
    let is_single = column.name.rsplit_once('_').is_some_and(|(measure, part)| {
        let counts = all
            .iter()
            .find(|other| other.name == format!("{measure}_n"));
        let has_one = counts.is_some_and(|counts| counts.cells.iter().all(|cell| cell == "1"));
        has_one && !matches!(part, "mean" | "note")
    });
    !is_single && column.cells.iter().any(|cell| !cell.is_empty())
}

impl Column {
    /// Returns the column with three digits for each number, and times in a unit that suits the
    /// greatest one. Parameters and texts stay.
    fn rounded(&self) -> Self {
        if self.is_parameter || TEXTS.contains(&self.name.as_str()) {
            return self.clone();
        }
        let fractions = |cell: &String| cell.parse().ok().filter(|_| cell.contains(['.', 'e']));
        let numbers: Vec<Option<f64>> = self.cells.iter().map(fractions).collect();
        let most = numbers
            .iter()
            .flatten()
            .fold(0.0, |most, it| f64::max(most, it.abs()));
        let (scale, unit) = time_unit(most);
        let single = self.name.strip_suffix("_s").unwrap_or_default();
        let parts = self.name.split_once("_s_");
        let parts = parts.map(|(start, end)| (start, format!("_{end}")));
        let (start, end) = parts.unwrap_or_else(|| (single, String::new()));
        let (name, scale) = match start {
            start if start.is_empty() || start.ends_with("_per") => (self.name.clone(), 1.0),
            start => (format!("{start}_{unit}{end}"), scale),
        };
        let cells = self.cells.iter().zip(numbers);
        let cells = cells.map(|(cell, number)| match number {
            Some(number) => three_digits(number * scale),
            None => cell.clone(),
        });
        Self {
            name,
            is_parameter: false,
            cells: cells.collect(),
        }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.name]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// Returns the unit that suits a greatest time in seconds, and the number of units in a second.
pub(super) fn time_unit(most: f64) -> (f64, &'static str) {
    match most {
        most if most >= 1.0 || most == 0.0 => (1.0, "s"),
        most if most >= 1e-3 => (1e3, "ms"),
        most if most >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    }
}

fn width_of(columns: &[Column]) -> usize {
    columns
        .iter()
        .map(|column| column.width() + 2)
        .sum::<usize>()
        .saturating_sub(2)
}

/// Returns lines with columns that are aligned to the right.
fn align_columns(columns: &[Column], rows: usize) -> String {
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells = columns
            .iter()
            .map(|it| format!("{:>1$}", cell(it), it.width()));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let header = line(&|column| column.name.clone());
    let rows = (0..rows).map(|row| line(&|column| column.cells[row].clone()));
    std::iter::once(header).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: &[&str]) -> Vec<Vec<String>> {
        let cells = |line: &&str| line.split(',').map(str::to_owned).collect();
        lines.iter().map(cells).collect()
    }

    #[test]
    fn constants_stand_above_and_columns_have_one_unit() {
        let rows = table(&[
            "ranks,size,time_s_n,time_s_mean,time_s_low,time_s_note",
            "8,1024,1,0.000012345,,deterministic",
            "8,1048576,1,0.0012345,,deterministic",
        ]);
        let text = "ranks = 8\ntime_s_note = deterministic\n\n   size  time_ms_mean\n   \
                    1024        0.0123\n1048576          1.23\n";
        assert_eq!(write_text(&rows, 2, false), text);
    }

    #[test]
    fn lines_are_short_unless_all_columns_are_wanted() {
        let names: Vec<String> = (0..12).map(|at| format!("long_name_{at}_us_q90")).collect();
        let rows = table(&[&names.join(","), &["1.5"; 12].join(",")]);
        let text = write_text(&rows, 0, false);
        assert!(text.lines().all(|line| line.len() <= WIDTH_MAX), "{text}");
        assert!(
            text.ends_with("12 more columns: --columns or --csv\n"),
            "{text}"
        );
        assert!(write_text(&rows, 0, true).contains("long_name_11_us_q90"));
    }

    #[test]
    fn parameters_and_texts_stay_and_rates_are_no_times() {
        let rows = table(&["size_n,digest,ops_per_s", "1,12e570,0.5"]);
        let text = "size_n  digest  ops_per_s\n     1  12e570      0.500\n";
        assert_eq!(write_text(&rows, 1, false), text);
    }
}
