//! The table `[measure]`.

use regex::Regex;

use super::axes::Axis;
use super::section::{DiagnosticList, Section, text};
use crate::measure::{Measure, MeasureSource};
use crate::table::RUN_COLUMNS;
use crate::template::is_name;

/// The smallest number of batches: fewer means have no interval.
const BATCHES_MIN: u64 = 3;

/// Reads the measures; without the table, the simulated time.
pub(super) fn read_measures(
    file: &Section<'_>,
    axes: &[Axis],
    mistakes: &mut DiagnosticList,
) -> Vec<Measure> {
    let Some(section) = file.section("measure", mistakes) else {
        return vec![Measure {
            name: "time".to_owned(),
            source: MeasureSource::Json("simulated_s".to_owned()),
            unit: Some("s".to_owned()),
            batches: None,
        }];
    };
    let mut measures: Vec<Measure> = Vec::new();
    for (key, value) in section.table {
        let name = key.get_ref().as_ref();
        if !is_name(name) {
            let problem = format!("{name:?} is no name of a measure");
            mistakes.add(key.span(), problem, "letters, digits and underscores");
        }
        let Some(table) = value.get_ref().as_table() else {
            let problem = format!("measure {name} has no source");
            mistakes.add(
                value.span(),
                problem,
                "a table, such as { json = \"simulated_s\" }",
            );
            continue;
        };
        let entry = Section::new(&format!("measure {name}"), table, value.span());
        let Some(measure) = read_measure(name, &entry, mistakes) else {
            continue;
        };
        let column = measure.column();
        let parameters = axes.iter().flat_map(Axis::parameter_names);
        if parameters.chain(RUN_COLUMNS).any(|it| it == column)
            || measures.iter().any(|it| it.column() == column)
        {
            let problem = format!("two columns of the table are called {column}");
            mistakes.add(key.span(), problem, "another name");
        }
        measures.push(measure);
    }
    if section.table.is_empty() {
        mistakes.add(section.place, "[measure] is empty".to_owned(), "a measure");
    }
    measures
}

fn read_measure(name: &str, entry: &Section<'_>, mistakes: &mut DiagnosticList) -> Option<Measure> {
    entry.check_keys(&["json", "analysis", "line", "unit", "batches"], mistakes);
    let unit = entry
        .get("unit")
        .and_then(|value| text(value, "unit", mistakes));
    if let Some(bad) = unit.filter(|unit| !is_name(unit)) {
        let problem = format!("unit {bad:?} cannot end the name of a column");
        mistakes.add(entry.place.clone(), problem, "letters, such as \"us\"");
    }
    let found: Vec<_> = ["json", "analysis", "line"]
        .into_iter()
        .filter_map(|key| Some((key, entry.get(key)?)))
        .collect();
    let [(key, value)] = found.as_slice() else {
        let problem = format!("measure {name} has {} sources", found.len());
        mistakes.add(
            entry.place.clone(),
            problem,
            "one of json, analysis and line",
        );
        return None;
    };
    let batches = entry.whole_number("batches", BATCHES_MIN, mistakes);
    if *key != "line"
        && let Some(batches) = entry.get("batches")
    {
        let problem = format!("batches of measure {name}, which is one number of a run");
        mistakes.add(
            batches.span(),
            problem,
            "a line that a run prints many times",
        );
    }
    let from = text(value, key, mistakes)?;
    let source = match *key {
        "json" => MeasureSource::Json(from.to_owned()),
        "analysis" => MeasureSource::Analysis(from.to_owned()),
        _ => match Regex::new(from) {
            Ok(pattern) if pattern.captures_len() == 2 => MeasureSource::Line(pattern),
            Ok(pattern) => {
                let groups = pattern.captures_len() - 1;
                let problem = format!("the pattern has {groups} groups");
                mistakes.add(value.span(), problem, "one group, around the number");
                return None;
            }
            Err(error) => {
                // The last line of the message is the reason.
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().to_owned();
                let problem = format!("the pattern is malformed: {reason}");
                mistakes.add(value.span(), problem, "a regular expression");
                return None;
            }
        },
    };
    Some(Measure {
        name: name.to_owned(),
        source,
        unit: unit.map(str::to_owned),
        batches: batches.and_then(|batches| usize::try_from(batches).ok()),
    })
}
