//! Reports of a campaign: for people, as JSON, as JUnit XML, and the observations of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use simrun::quoted;

use crate::{CampaignReport, Command, Failure, Interaction, Outcome, PROPERTIES, Response};

/// Returns the report for people.
pub(super) fn text_report(report: &CampaignReport, kept: &[PathBuf], seed: u64) -> String {
    let mut text = String::new();
    for (failure, file) in report.failures.iter().zip(kept) {
        let (before, after) = (failure.original.steps.len(), failure.shrunk.steps.len());
        let _ = writeln!(
            text,
            "{}: {}\n  shrunk from {before} to {after} steps in {} runs; run it again with\n  simrun fuzz --replay {}",
            failure.property,
            failure.description,
            failure.runs,
            quoted(&file.to_string_lossy())
        );
    }
    let position = &report.position;
    let _ = write!(
        text,
        "{} interactions, {} steps, {} pairs of command and stage, seed {seed}: {} failures",
        position.tries,
        position.steps,
        position.pairs().len(),
        report.failures.len()
    );
    text
}

/// Returns the report as JSON.
pub(super) fn json(report: &CampaignReport, kept: &[PathBuf], seed: u64) -> String {
    let failures = report.failures.iter().zip(kept).map(|(failure, file)| {
        serde_json::json!({
            "attempt": failure.attempt,
            "property": failure.property,
            "description": failure.description,
            "steps_before": failure.original.steps.len(),
            "steps_after": failure.shrunk.steps.len(),
            "shrink_runs": failure.runs,
            "file": file,
        })
    });
    let coverage: Vec<String> = report.position.pairs().pairs().collect();
    let value = serde_json::json!({
        "tries": report.position.tries,
        "steps": report.position.steps,
        "seed": seed,
        "digest": format!("{:016x}", report.position.digest),
        "coverage": coverage,
        "failures": failures.collect::<Vec<_>>(),
    });
    format!("{value:#}")
}

/// Returns the result of one run as JSON.
pub(super) fn replay_json(
    interaction: &Interaction,
    outcome: &Outcome,
    violated: Option<&(&'static str, String)>,
) -> String {
    let lines = |responses: &Vec<Response>| responses.iter().map(Response::line).collect();
    let observed: Vec<Vec<String>> = outcome.responses.iter().map(lines).collect();
    let value = serde_json::json!({
        "steps": interaction.steps.len(),
        "blocked": outcome.blocked.as_ref().map(|blocked| blocked.step),
        "property": violated.map(|(property, _)| property),
        "description": violated.map(|(_, description)| description),
        "observations": observed,
    });
    format!("{value:#}")
}

/// Returns the report as JUnit XML: each property is a test case.
pub(super) fn junit(report: &CampaignReport, seed: u64) -> String {
    let mut failures: BTreeMap<&str, Vec<&Failure>> = BTreeMap::new();
    for failure in &report.failures {
        failures.entry(failure.property).or_default().push(failure);
    }
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"simrun fuzz, seed {seed}\" tests=\"{}\" failures=\"{}\">\n",
        PROPERTIES.len(),
        failures.len()
    );
    for property in PROPERTIES {
        let _ = writeln!(text, "  <testcase name=\"{}\">", property.name);
        for failure in failures.get(property.name).into_iter().flatten() {
            let message = escaped(&failure.description);
            let _ = writeln!(
                text,
                "    <failure message=\"interaction {}: {message}\"/>",
                failure.attempt
            );
        }
        text.push_str("  </testcase>\n");
    }
    text + "</testsuite>\n"
}

/// Returns a text in the form of an attribute of XML 1.0.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '"' => "&quot;".to_owned(),
        letter if letter.is_control() => " ".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Returns the steps of a run and the observations of each worker.
pub(super) fn observations(interaction: &Interaction, outcome: &Outcome) -> String {
    let mut text = String::new();
    let blocked = outcome.blocked.as_ref().map(|blocked| blocked.step);
    for (number, step) in interaction.steps.iter().enumerate() {
        let commands = step.commands.iter();
        let commands =
            commands.map(|one| format!("{}: {}", one.worker, command_text(&one.command)));
        let commands: Vec<String> = commands.collect();
        let mark = if blocked == Some(number) {
            " (blocked)"
        } else {
            ""
        };
        let _ = writeln!(text, "  step {number}{mark}: {}", commands.join(" | "));
    }
    for (worker, responses) in outcome.responses.iter().enumerate() {
        let _ = writeln!(text, "  worker {worker} observed");
        for response in responses {
            let _ = writeln!(text, "    {}", response.line());
        }
    }
    text.trim_end().to_owned()
}

/// Returns the text of a command, on one line.
fn command_text(command: &Command) -> String {
    let value = serde_json::to_value(command).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| *name != "command");
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let name = Command::NAMES[command.name_index()];
    format!("{name} {}", fields.join(", "))
}
