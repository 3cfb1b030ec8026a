//! The report of a study as one page of HTML: tables of its points, and curves.

use std::io::{self, Write};

use super::chart::Chart;
use super::tables::Table;
use super::{Values, write_page};

/// Content of the report of a study.
#[derive(Debug)]
pub struct StudyPage<'a> {
    /// Title of the page, such as the name of the study.
    pub title: &'a str,
    /// The most important sentence.
    pub headline: String,
    /// Numbers of points and runs.
    pub facts: String,
    /// The command that makes the study again.
    pub command: &'a str,
    /// Warnings, shown before all tables.
    pub warnings: Vec<String>,
    /// Tables above the curves.
    pub tables: Vec<Table<'a>>,
    /// Curves, in their order.
    pub charts: Vec<Chart>,
    /// Tables below the curves.
    pub later_tables: Vec<Table<'a>>,
}

/// Writes the report of a study as a page of HTML.
///
/// # Errors
/// Errors of writing.
pub fn write_study_report(out: impl Write, page: StudyPage<'_>) -> io::Result<()> {
    let pictures = page
        .charts
        .iter()
        .filter_map(|chart| chart.picture().transpose());
    let values = Values {
        title: page.title,
        headline: page.headline,
        facts: page.facts,
        command: page.command,
        warnings: page.warnings,
        pictures: pictures.collect::<io::Result<_>>()?,
        tables: page.tables,
        later_tables: page.later_tables,
        links: None,
    };
    write_page(out, &values)
}
