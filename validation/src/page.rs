//! Pages of HTML without external resources, from templates and the figures that are also JSON.

use std::path::PathBuf;

use minijinja::{AutoEscape, Environment, Error};
use report::{PlotError, three_digits};
use serde_json::Value;

/// Template of the page of a calibration.
pub(crate) const CALIBRATION: &str = concat!(
    include_str!("page/head.html"),
    include_str!("page/calibration.html"),
    include_str!("page/tail.html")
);

/// Template of the page of a comparison.
pub(crate) const COMPARISON: &str = concat!(
    include_str!("page/head.html"),
    include_str!("page/comparison.html"),
    include_str!("page/tail.html")
);

/// Returns the page of a template with these values, which are escaped.
pub(crate) fn render(template: &str, values: &Value) -> Result<String, PlotError> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_global("style", report::STYLE);
    environment.add_filter("fixed", |value: f64, digits: usize| {
        format!("{value:.digits$}")
    });
    environment.add_filter("three_digits", three_digits);
    environment.add_filter("signed", |value: f64, digits: usize| {
        format!("{value:+.digits$}")
    });
    let failed = |error: Error| PlotError::Failed(PathBuf::from("index.html"), error.to_string());
    environment.render_str(template, values).map_err(failed)
}
