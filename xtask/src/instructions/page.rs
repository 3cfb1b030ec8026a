//! `results/instructions.md`: a table that people read, and the figures that are compared.

/// The page.
pub(super) const PATH: &str = "results/instructions.md";

/// The page, line by line.
pub(super) struct Page {
    lines: Vec<(String, Option<(String, PageRow)>)>,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageRow {
    /// The unit that the figure counts instructions for.
    pub(super) per: String,
    /// The figure to reach, as text.
    pub(super) goal: String,
    /// The last figure, if there is one.
    pub(super) stored: Option<u64>,
}

impl Page {
    /// Reads the page.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lines = (1..).zip(text.lines());
        let lines = lines.map(|(number, line)| Ok((line.to_owned(), parse_row(number, line)?)));
        Ok(Self {
            lines: lines.collect::<Result<_, String>>()?,
        })
    }

    /// Returns the row of a workload.
    pub(super) fn workload_row(&self, workload: &str) -> Result<&PageRow, String> {
        let mut rows = self.lines.iter().filter_map(|(_, row)| row.as_ref());
        let row = rows.find(|(name, _)| name == workload).map(|(_, row)| row);
        row.ok_or_else(|| format!("{PATH}: no row {workload:?}: expected one"))
    }

    /// Replaces the figure of a workload.
    pub(super) fn store_figure(&mut self, workload: &str, now: u64) {
        for (line, row) in &mut self.lines {
            if let Some((name, row)) = row
                && name == workload
            {
                row.stored = Some(now);
                *line = format!("| {name} | {} | {} | {} |", row.per, row.goal, spaced(now));
            }
        }
    }

    /// Returns the page as text.
    pub(super) fn page_text(&self) -> String {
        self.lines
            .iter()
            .map(|(line, _)| format!("{line}\n"))
            .collect()
    }
}

/// Reads a line as a row: workload, unit, goal, figure. The header line has no figure.
fn parse_row(number: usize, line: &str) -> Result<Option<(String, PageRow)>, String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let ["", name, per, goal, now, ""] = cells[..] else {
        return Ok(None);
    };
    if now == "now" || now.starts_with("---") {
        return Ok(None);
    }
    let digits: String = now.split_whitespace().collect();
    let stored = if digits == "-" {
        None
    } else {
        let stored = digits.parse();
        Some(stored.map_err(|_| format!("{PATH}:{number}: {now:?}: expected a number, or -"))?)
    };
    let (per, goal) = (per.to_owned(), goal.to_owned());
    Ok(Some((name.to_owned(), PageRow { per, goal, stored })))
}

/// Returns a number with spaces between thousands.
fn spaced(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Page\n\n| workload | per | goal | now |\n|---|---|---|---|\n\
                        | ring | message | ≤ 2 500 | 7 340 |\n| yield | yield | 150 | - |\n\nText.\n";

    #[test]
    fn figures_are_read_and_replaced() {
        let mut page = Page::parse(TEXT).unwrap();
        assert_eq!(page.workload_row("ring").unwrap().stored, Some(7340));
        assert_eq!(page.workload_row("yield").unwrap().stored, None);
        assert!(page.workload_row("workload").is_err());
        assert_eq!(page.page_text(), TEXT);
        page.store_figure("ring", 1_002_500);
        page.store_figure("yield", 99);
        let expected = TEXT
            .replace("7 340", "1 002 500")
            .replace("| - |", "| 99 |");
        assert_eq!(page.page_text(), expected);
    }

    #[test]
    fn a_figure_that_is_none_is_refused() {
        let error = Page::parse("| a | b | c | d |").err();
        let expected = "results/instructions.md:1: \"d\": expected a number, or -";
        assert_eq!(error.as_deref(), Some(expected));
    }
}
