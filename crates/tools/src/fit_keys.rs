//! `simrun calibrate --platform FILE --fit KEY`: fits keys of a platform to measured ping-pongs, by
//! simulation, and writes the platform with the fitted values.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use files::Output;
use validation::{ErrorSummary, KeyFit, Prediction, fit_keys, missed_limits};

use simrun::{load, status};

use crate::calibrate::CalibrateCommand;
use crate::command_line;

/// Fits the keys, writes the platform, and prints factors and errors.
pub(crate) fn run_fit(command: &CalibrateCommand, path: &Path, output: &Output) -> ExitCode {
    let platform = match load(path, &command.changes) {
        Ok(platform) => platform,
        Err(code) => return code,
    };
    let measurements = match command.read_measurements() {
        Ok((_, measurements)) => measurements,
        Err(error) => return status::refuse(error),
    };
    let found = match fit_keys(&platform, &command.fit, &measurements) {
        Ok(found) => found,
        Err(error) => return status::refuse(format_args!("{}: {error}", path.display())),
    };
    let toml = format!(
        "# Fitted by: {}\n{}",
        command_line(),
        found.platform.to_toml()
    );
    if let Err(error) = output.write(&toml) {
        return status::refuse(error);
    }
    let text = (command.format).write_result(|| summary_text(&found), || json(&found));
    let printed = status::print_beside(output, text.trim_end());
    let errors = ErrorSummary::new(&found.held_out);
    match missed_limits(&command.require, errors.as_ref()) {
        Some(missed) => status::failed(missed),
        None => printed,
    }
}

fn summary_text(found: &KeyFit) -> String {
    let mut text = String::new();
    for factor in &found.factors {
        let _ = writeln!(text, "{factor}");
    }
    for (name, predictions) in [("fitted", &found.training), ("held-out", &found.held_out)] {
        if let Some(errors) = ErrorSummary::new(predictions) {
            let _ = writeln!(
                text,
                "{} {name} sizes: median error {:.1} %, p90 {:.1} %, worst {:.1} % at {} B",
                errors.count,
                100.0 * errors.median,
                100.0 * errors.p90,
                100.0 * errors.worst,
                errors.worst_at
            );
        }
    }
    let _ = writeln!(
        text,
        "{:>12} {:>14} {:>14} {:>10}",
        "size (B)", "measured (us)", "simulated (us)", "error"
    );
    let mut rows: Vec<(&Prediction, &str)> = found.training.iter().map(|one| (one, "")).collect();
    rows.extend(found.held_out.iter().map(|one| (one, "  held out")));
    rows.sort_by_key(|(one, _)| one.size);
    for (one, set) in rows {
        let _ = writeln!(
            text,
            "{:>12} {:>14.3} {:>14.3} {:>8.1} %{set}",
            one.size,
            1e6 * one.measured_s,
            1e6 * one.predicted_s,
            100.0 * one.error()
        );
    }
    text
}

fn json(found: &KeyFit) -> String {
    let factors = found
        .factors
        .iter()
        .map(|one| (one.key.clone(), one.factor.into()));
    let factors = serde_json::Value::Object(factors.collect());
    let rows = |predictions: &[Prediction]| -> Vec<serde_json::Value> {
        let row = |one: &Prediction| {
            serde_json::json!({
                "size_bytes": one.size,
                "measured_s": one.measured_s,
                "simulated_s": one.predicted_s,
            })
        };
        predictions.iter().map(row).collect()
    };
    let median = ErrorSummary::new(&found.held_out).map(|errors| errors.median);
    let value = serde_json::json!({
        "factors": factors,
        "median_error_held_out": median,
        "fitted": rows(&found.training),
        "held_out": rows(&found.held_out),
    });
    format!("{value:#}")
}
