//! Parameters and their values: `[grid]`, `[zip]` and `[[points]]`.
//!
//! An axis is a list of assignments of the same parameters. Each entry of `[grid]` is one, the
//! table `[zip]` is one, and all tables `[[points]]` together are one.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::section::{DiagnosticList, Section, integer};
use crate::point::Assignment;
use crate::range;
use crate::table::RUN_COLUMNS;
use crate::template::is_name;
use crate::value::Value;

/// Parameters that vary together.
pub(super) struct Axis {
    /// The parameters, each with the place in the file.
    pub(super) names: Vec<(String, Range<usize>)>,
    /// One assignment of all of them for each step.
    pub(super) steps: Vec<Assignment>,
}

impl Axis {
    pub(super) fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }
}

/// Reads all axes, in the order of the points.
pub(super) fn read_axes(file: &Section<'_>, mistakes: &mut DiagnosticList) -> Vec<Axis> {
    let mut axes = Vec::new();
    if let Some(grid) = file.section("grid", mistakes) {
        for (name, value) in grid.table {
            axes.extend(axis(name, value, mistakes));
        }
    }
    if let Some(zip) = file.section("zip", mistakes) {
        axes.extend(zipped(&zip, mistakes));
    }
    axes.extend(read_point_list(file, mistakes));
    check_names(&axes, mistakes);
    axes
}

pub(super) fn check_names(axes: &[Axis], mistakes: &mut DiagnosticList) {
    let mut known: Vec<&str> = Vec::new();
    for (name, place) in axes.iter().flat_map(|axis| &axis.names) {
        if !is_name(name) {
            let problem = format!("{name:?} is no name of a parameter");
            mistakes.add(place.clone(), problem, "letters, digits and underscores");
        } else if RUN_COLUMNS.contains(&name.as_str()) {
            let problem = format!("{name:?} is a column of every table");
            mistakes.add(place.clone(), problem, "another name");
        } else if known.contains(&name.as_str()) {
            let problem = format!("parameter {name:?} has values in two places");
            mistakes.add(
                place.clone(),
                problem,
                "one of [grid], [zip] and [[points]]",
            );
        }
        known.push(name);
    }
}

/// Reads one parameter and the values as an axis.
fn axis(
    name: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    mistakes: &mut DiagnosticList,
) -> Option<Axis> {
    let key = name.get_ref().to_string();
    let steps = read_values(value, &key, mistakes)?;
    let step = |value| Assignment::new(vec![(key.clone(), value)]);
    Some(Axis {
        steps: steps.into_iter().map(step).collect(),
        names: vec![(key.clone(), name.span())],
    })
}

fn zipped(zip: &Section<'_>, mistakes: &mut DiagnosticList) -> Option<Axis> {
    let single = zip.table.iter();
    let axes: Vec<Axis> = single
        .filter_map(|(name, value)| axis(name, value, mistakes))
        .collect();
    let mut axes = axes.into_iter();
    let mut whole = axes.next()?;
    for axis in axes {
        if axis.steps.len() != whole.steps.len() {
            let (first, other) = (&whole.names[0].0, &axis.names[0]);
            let (have, want) = (axis.steps.len(), whole.steps.len());
            let problem = format!("{} has {have} values in [zip]", other.0);
            mistakes.add(other.1.clone(), problem, &format!("{want}, as {first} has"));
        }
        let pairs = whole.steps.iter().zip(&axis.steps);
        whole.steps = pairs.map(|(left, right)| left.extended(right)).collect();
        whole.names.extend(axis.names);
    }
    Some(whole)
}

fn read_point_list(file: &Section<'_>, mistakes: &mut DiagnosticList) -> Option<Axis> {
    let value = file.get("points")?;
    let tables = value.get_ref().as_array().map(|array| {
        let tables = array
            .iter()
            .map(|it| it.get_ref().as_table().map(|table| (table, it.span())));
        tables.collect::<Option<Vec<_>>>()
    });
    let Some(Some(tables)) = tables else {
        mistakes.add(
            value.span(),
            "points is no list of tables".to_owned(),
            "[[points]]",
        );
        return None;
    };
    let (first, _) = tables.first()?;
    let names: Vec<_> = first
        .keys()
        .map(|key| (key.get_ref().to_string(), key.span()))
        .collect();
    let steps = tables
        .iter()
        .filter_map(|(table, place)| read_assignment(table, place, &names, mistakes))
        .collect();
    Some(Axis { names, steps })
}

/// Reads one table of `[[points]]`, which has the names of the first one.
fn read_assignment(
    table: &DeTable<'_>,
    place: &Range<usize>,
    names: &[(String, Range<usize>)],
    mistakes: &mut DiagnosticList,
) -> Option<Assignment> {
    for key in table.keys() {
        if !names.iter().any(|(name, _)| name == key.get_ref()) {
            let problem = format!("the first of [[points]] has no {:?}", key.get_ref());
            mistakes.add(key.span(), problem, "the same parameters in all of them");
        }
    }
    let mut values = Vec::new();
    for (name, _) in names {
        let Some(found) = table.get(name.as_str()) else {
            let problem = format!("this one of [[points]] has no {name:?}");
            mistakes.add(place.clone(), problem, "the same parameters in all of them");
            return None;
        };
        values.push((name.clone(), read_value(found, name, mistakes)?));
    }
    Some(Assignment::new(values))
}

/// Reads a list of values, a range or one value.
pub(super) fn read_values(
    found: &Spanned<DeValue<'_>>,
    key: &str,
    mistakes: &mut DiagnosticList,
) -> Option<Vec<Value>> {
    let place = found.span();
    let values = match found.get_ref() {
        DeValue::Array(array) => {
            let values = array.iter().map(|it| read_value(it, key, mistakes));
            // All of them, so that all mistakes are found.
            let values: Vec<Option<Value>> = values.collect();
            values.into_iter().collect::<Option<Vec<_>>>()?
        }
        DeValue::String(text) if range::is_range(text) => match range::range_values(text) {
            Ok(values) => values,
            Err((problem, expected)) => {
                mistakes.add(place, problem, &expected);
                return None;
            }
        },
        _ => vec![read_value(found, key, mistakes)?],
    };
    if values.is_empty() {
        mistakes.add(place, format!("{key} has no values"), "at least one");
        return None;
    }
    Some(values)
}

/// Reads a text, a number or a truth value.
pub(super) fn read_value(
    found: &Spanned<DeValue<'_>>,
    key: &str,
    mistakes: &mut DiagnosticList,
) -> Option<Value> {
    let value = match found.get_ref() {
        DeValue::String(text) => Some(Value::Text(text.to_string())),
        DeValue::Boolean(value) => Some(Value::Boolean(*value)),
        DeValue::Integer(_) => integer(found).map(Value::Whole),
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok();
            number
                .filter(|number: &f64| number.is_finite())
                .map(Value::Real)
        }
        DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_) => None,
    };
    if value.is_none() {
        let problem = format!("{key} has {} as a value", found.get_ref().type_str());
        mistakes.add(
            found.span(),
            problem,
            "a text, a finite number, true or false",
        );
    }
    value
}
