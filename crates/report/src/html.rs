//! The report of a run as one page of HTML, `report.html`.
//!
//! The page needs no other file and no network, has at most 5 MB, and its tables are readable
//! without its script. Colours differ in lightness. For large runs, the page has the most important
//! parts only; the CSV files of `simrun analyse` have all parts.

mod chart;
mod comparison;
mod overview;
mod picture;
mod pictures;
mod study;
mod tables;
mod topology;

use std::io::{self, Write};
use std::path::Path;

use minijinja::{Environment, Value, context};
use serde::Serialize;

use crate::STYLE;
use crate::analysis::AnalysisReport;
use crate::network::NetworkReport;
use platform::Platform;

pub use chart::{Chart, ChartCurve, ChartPoint};
pub use comparison::{ComparedRun, write_comparison};
pub use overview::TimelineOverview;
pub use study::StudyPage;
pub use tables::{Cell, Table};

use picture::Picture;

/// The template. Its name ends in `.html`, so that minijinja escapes the values.
const TEMPLATE: (&str, &str) = ("page.html", include_str!("html/page.html"));

/// The analyses of a run.
type RunReports<'a> = (&'a AnalysisReport, &'a NetworkReport);

/// Content of the report of a run.
#[derive(Debug)]
pub struct ReportPage<'a> {
    /// Title of the page, such as the name of the program.
    pub title: &'a str,
    /// The command that makes the same run again.
    pub command: &'a str,
    /// Times of the ranks, wait states, critical path.
    pub analysis: &'a AnalysisReport,
    /// Links and messages.
    pub network: &'a NetworkReport,
    /// The timeline, after [`TimelineOverview::finish_overview`].
    pub timeline: Option<&'a TimelineOverview>,
    /// The platform of the run, if the platform is known.
    pub platform: Option<&'a Platform>,
    /// Warnings and notes about the run, shown before all tables.
    pub notes: Vec<String>,
    /// Derivatives that runs have checked, if there are some.
    pub checked: Option<Table<'a>>,
}

/// The content of a page: the values of the template, which are also written to `report.json`.
#[derive(Debug, Serialize)]
pub struct PageContent<'a> {
    title: &'a str,
    headline: String,
    facts: String,
    command: &'a str,
    warnings: Vec<String>,
    tables: Vec<Table<'a>>,
    pictures: Vec<Picture>,
    /// Tables below the pictures.
    later_tables: Vec<Table<'a>>,
    /// The run, from which the template takes sums and further tables; written to `analysis.json`
    /// and `network.json`.
    #[serde(skip)]
    run: Option<RunReports<'a>>,
}

/// Returns the text of a template with values. The name of the template ends in `.html`.
fn render((name, text): (&str, &str), values: Value) -> io::Result<String> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    (environment.add_template(name, text)).map_err(io::Error::other)?;
    let template = environment.get_template(name).map_err(io::Error::other)?;
    template.render(values).map_err(io::Error::other)
}

impl PageContent<'_> {
    /// Writes the page as HTML.
    pub fn write_html(&self, mut out: impl Write) -> io::Result<()> {
        let (analysis, network) = self.run.unzip();
        let content = Value::from_serialize(self);
        let values = context! { style => STYLE, analysis, network, ..content };
        let page = render(TEMPLATE, values)?;
        out.write_all(page.as_bytes())
    }

    /// Writes the page to a file, and the content of the page to a JSON file beside the page.
    pub fn write_files(&self, path: &Path) -> Result<(), String> {
        let write = |path: &Path, content: io::Result<Vec<u8>>| {
            let content = content.map_err(|error| format!("{}: {error}", path.display()))?;
            files::write(path, content).map_err(|error| error.to_string())
        };
        let mut page = Vec::new();
        write(path, self.write_html(&mut page).map(|()| page))?;
        let json = serde_json::to_vec_pretty(self).map(|json| [&*json, b"\n"].concat());
        write(&path.with_extension("json"), json.map_err(io::Error::from))
    }
}

impl<'a> ReportPage<'a> {
    /// Returns the content of the page, with the pictures.
    pub fn page_content(self) -> io::Result<PageContent<'a>> {
        let (analysis, network) = (self.analysis, self.network);
        let text = analysis.to_string();
        let pictures = [
            self.timeline.map_or(Ok(None), pictures::timeline)?,
            (self.platform).map_or(Ok(None), |platform| {
                topology::topology_picture(platform, network)
            })?,
            pictures::utilisation_picture(network)?,
            pictures::matrix(network, analysis.ranks)?,
            pictures::sizes(network)?,
        ];
        let mut tables = vec![
            tables::rank_table(analysis),
            tables::waits(analysis),
            tables::regions(analysis),
        ];
        tables.extend(self.checked);
        tables.retain(|table| !table.rows.is_empty());
        Ok(PageContent {
            title: self.title,
            headline: text.lines().next().unwrap_or_default().to_owned(),
            facts: facts(analysis),
            command: self.command,
            warnings: warnings(analysis, self.notes),
            tables,
            pictures: pictures.into_iter().flatten().collect(),
            later_tables: Vec::new(),
            run: Some((analysis, network)),
        })
    }
}

/// Returns a sentence about the size of the run and the efficiencies of the run.
fn facts(analysis: &AnalysisReport) -> String {
    let end = crate::analysis::seconds(analysis.end_s);
    let ranks = match analysis.ranks {
        1 => "1 rank".to_owned(),
        ranks => format!("{ranks} ranks"),
    };
    let all = analysis.efficiencies;
    match (all.parallel, all.load_balance, all.communication) {
        (Some(parallel), Some(balance), Some(communication)) => format!(
            "{ranks}, {end}. Parallel efficiency {parallel:.2} = load balance {balance:.2} × communication {communication:.2}."
        ),
        _ => format!("{ranks}, {end}."),
    }
}

fn warnings(analysis: &AnalysisReport, notes: Vec<String>) -> Vec<String> {
    let mut warnings = Vec::new();
    if !analysis.whole {
        let end = crate::analysis::seconds(analysis.end_s);
        warnings.push(format!("log truncated at {end}"));
    }
    let blocked = analysis.blocked_ranks();
    if blocked > 0 {
        let ranks = analysis.ranks;
        let are = if blocked == 1 { "is" } else { "are" };
        warnings.push(format!(
            "At least {blocked} of {ranks} ranks {are} blocked at the end: a deadlock, or a run that was stopped."
        ));
    }
    warnings.extend(notes);
    warnings
}
