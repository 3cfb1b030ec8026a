//! The report of a study as one page of HTML: tables of the points of the study, and curves.

use std::io;

use super::PageContent;
use super::chart::Chart;
use super::tables::Table;

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

impl<'a> StudyPage<'a> {
    /// Returns the content of the page, with the pictures.
    pub fn page_content(self) -> io::Result<PageContent<'a>> {
        let charts = self.charts.iter();
        let pictures = charts.filter_map(|chart| chart.picture().transpose());
        Ok(PageContent {
            title: self.title,
            headline: self.headline,
            facts: self.facts,
            command: self.command,
            warnings: self.warnings,
            pictures: pictures.collect::<io::Result<_>>()?,
            tables: self.tables,
            later_tables: self.later_tables,
            run: None,
        })
    }
}
