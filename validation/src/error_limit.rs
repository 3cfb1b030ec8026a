//! Largest accepted errors, as `--require median=5%,p90=12%,worst=20%` says.
//!
//! *Not decided here*: which errors are summarised.

use crate::error_summary::ErrorSummary;

/// The largest accepted median, 90th percentile or worst of errors.
#[derive(Clone, Debug)]
pub struct ErrorLimit {
    name: String,
    most: f64,
}

impl std::str::FromStr for ErrorLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected median, p90 or worst and percent, such as median=5%".to_owned();
        let (name, value) = text.split_once('=').ok_or_else(expected)?;
        let percent = value.strip_suffix('%').ok_or_else(expected)?;
        let number: Option<f64> = percent.parse().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        if !["median", "p90", "worst"].contains(&name) {
            return Err(expected());
        }
        Ok(Self {
            name: name.to_owned(),
            most: number.ok_or_else(expected)? / 100.0,
        })
    }
}

impl ErrorLimit {
    /// Returns the excess in words, if the errors are larger.
    fn find_excess(&self, errors: Option<&ErrorSummary>) -> Option<String> {
        let Some(errors) = errors else {
            return Some(format!(
                "{} was required, but there are no predictions",
                self.name
            ));
        };
        let found = match self.name.as_str() {
            "median" => errors.median,
            "p90" => errors.p90,
            _ => errors.worst,
        };
        (found > self.most).then(|| {
            format!(
                "{} error {:.2} % exceeds the limit of {:.2} %",
                self.name,
                100.0 * found,
                100.0 * self.most
            )
        })
    }
}

/// Returns the excess over each limit in words, line by line; `None` if there is no excess.
pub fn missed_limits(limits: &[ErrorLimit], errors: Option<&ErrorSummary>) -> Option<String> {
    let missed = limits.iter().filter_map(|limit| limit.find_excess(errors));
    let missed: Vec<String> = missed.collect();
    (!missed.is_empty()).then(|| missed.join("\n"))
}
