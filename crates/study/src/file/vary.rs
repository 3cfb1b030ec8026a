//! The tables `[vary]` and `[optimise]` of an optimisation.

use super::axes::{self, Axis};
use super::section::{DiagnosticList, Section, text};
use crate::measure::Measure;
use crate::optimisation::{Variable, VariableRange};
use crate::point::Assignment;
use crate::range;

/// Number of points that are spread for each parameter, if none is stated. \[choice\]
const START_PER_VARIABLE: usize = 2;

/// The table `[optimise]`.
pub(super) struct Settings {
    pub(super) column: String,
    pub(super) maximises: bool,
    pub(super) runs: usize,
    pub(super) start: usize,
    pub(super) seed: u64,
}

/// Reads the parameters of `[vary]`; `None` without the table. Each is an axis too, for checks of
/// names.
pub(super) fn variables(
    file: &Section<'_>,
    mistakes: &mut DiagnosticList,
) -> Option<(Vec<Variable>, Vec<Axis>)> {
    let section = file.section("vary", mistakes);
    let has_settings = file.get("optimise").is_some();
    let Some(section) = section else {
        if has_settings && file.get("vary").is_none() {
            let problem = "[optimise] without [vary]".to_owned();
            let expected = "ranges of parameters, such as size = \"1KiB..1MiB *2\"";
            mistakes.add(file.place.clone(), problem, expected);
        }
        return None;
    };
    if !has_settings {
        let problem = "[vary] without [optimise]".to_owned();
        mistakes.add(
            section.place.clone(),
            problem,
            "[optimise] with minimise and runs",
        );
    }
    for key in ["grid", "zip", "points"] {
        if let Some(value) = file.get(key) {
            let problem = format!("{key} beside [vary]");
            mistakes.add(value.span(), problem, "all parameters in [vary]");
        }
    }
    let (mut variables, mut axes) = (Vec::new(), Vec::new());
    for (name, value) in section.table {
        let key = name.get_ref().to_string();
        let continuous = value.get_ref().as_str().and_then(range::continuous);
        let found = match continuous {
            Some(Ok(range)) => Some(VariableRange::Continuous(range)),
            Some(Err((problem, expected))) => {
                mistakes.add(value.span(), problem, &expected);
                None
            }
            None => axes::read_values(value, &key, mistakes).map(VariableRange::Steps),
        };
        let Some(range) = found else { continue };
        let step = |at: f64| Assignment::new(vec![(key.clone(), range.value_at(at))]);
        axes.push(Axis {
            names: vec![(key.clone(), name.span())],
            steps: vec![step(0.0), step(1.0)],
        });
        variables.push(Variable { name: key, range });
    }
    if section.table.is_empty() {
        mistakes.add(section.place, "[vary] is empty".to_owned(), "a parameter");
    }
    axes::check_names(&axes, mistakes);
    Some((variables, axes))
}

/// Reads `[optimise]`.
pub(super) fn read_settings(
    file: &Section<'_>,
    measures: &[Measure],
    variables: usize,
    mistakes: &mut DiagnosticList,
) -> Option<Settings> {
    let section = file.section("optimise", mistakes)?;
    section.check_keys(&["minimise", "maximise", "runs", "start", "seed"], mistakes);
    let goals: Vec<_> = ["minimise", "maximise"]
        .into_iter()
        .filter_map(|key| Some((key, section.get(key)?)))
        .collect();
    let place = section.place.clone();
    let column = if let [(key, value)] = goals.as_slice() {
        let name = text(value, key, mistakes)?;
        let measure = measures.iter().find(|it| it.name == name);
        if measure.is_none() {
            let known: Vec<&str> = measures.iter().map(|it| it.name.as_str()).collect();
            let problem = format!("there is no measure {name:?}");
            let expected = format!("one of the measures {}", known.join(", "));
            mistakes.add(value.span(), problem, &expected);
        }
        measure.map(Measure::column)
    } else {
        let problem = format!("[optimise] has {} goals", goals.len());
        mistakes.add(place.clone(), problem, "minimise or maximise, one of them");
        None
    };
    section.required("runs", "the number of runs at most, such as 60", mistakes);
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let runs = section.whole_number("runs", 1, mistakes).map(number);
    let start = section.whole_number("start", 1, mistakes).map(number);
    let seed = section
        .get("seed")
        .and_then(|_| section.whole_number("seed", 0, mistakes));
    let runs = runs?;
    if let Some(start) = start.filter(|start| *start > runs) {
        let problem = format!("start = {start} with runs = {runs}");
        mistakes.add(place, problem, "a start within the budget");
    }
    Some(Settings {
        column: column?,
        maximises: goals.first()?.0 == "maximise",
        runs,
        start: start
            .unwrap_or((START_PER_VARIABLE * variables).max(4))
            .min(runs),
        seed: seed.unwrap_or(0),
    })
}
