//! The page of two runs side by side: the differences by class of time, region, call and link.
//!
//! *Not compared*: ranks one by one, since both runs may have other numbers of ranks.

use std::path::Path;

use minijinja::context;

use super::render;
use crate::STYLE;
use crate::analysis::AnalysisReport;
use crate::network::NetworkReport;

/// The name of a run, such as the name of an event log, and the analyses of the run.
pub type ComparedRun<'a> = (&'a str, &'a AnalysisReport, &'a NetworkReport);

/// Writes the page of two runs to a file.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_comparison(runs: [ComparedRun<'_>; 2], path: &Path) -> Result<(), String> {
    let [first, second] =
        runs.map(|(name, analysis, network)| context! { name, analysis, network });
    let values = context! { style => STYLE, first, second };
    let template = ("comparison.html", include_str!("comparison.html"));
    let page = render(template, values).map_err(|error| error.to_string())?;
    files::write(path, page.into_bytes()).map_err(|error| error.to_string())
}
