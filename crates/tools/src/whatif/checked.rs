//! The greatest derivatives along the critical path of a run, checked by further runs.
//!
//! A derivative belongs to one link or host. The derivative is checked if the platform file can
//! change that link or host alone; both directions of a declared link change together. Where the
//! network has no links, parameters of the network replace them.

use std::collections::BTreeMap;
use std::process::ExitCode;

use platform::{Override, Platform};
use report::analysis::Sensitivity;
use report::html::{Cell, Table};
use toml::Table as TomlTable;

use super::prediction::Prediction;
use super::{Effects, Parameter, SMALL, collect_parameters, elasticities, quoted, side_by_side};

/// Number of derivatives at most.
const CHECKED: usize = 10;

/// A derivative of the time of a run by a link or host.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Derivative {
    /// Name, such as "latency of link-1".
    name: String,
    /// Relative change of the time for a relative change of the parameter.
    predicted: f64,
    /// The relative change from runs with a smaller and a larger parameter, if the platform has a
    /// parameter for the link or host alone.
    elasticities: Option<[f64; 2]>,
}

/// Returns the greatest derivatives of a run, and simulates to check them. `table`: the platform as
/// a file; `base`: the time of the run in seconds.
pub(super) fn derivatives(
    prediction: &Prediction<'_>,
    table: &TomlTable,
    base: f64,
    simulate: &(dyn Fn(&[String]) -> Result<f64, ExitCode> + Sync),
) -> Result<Vec<Derivative>, ExitCode> {
    let mut declared = BTreeMap::new();
    collect_parameters(table, &mut Vec::new(), &mut declared);
    let (all, platform) = prediction.derivatives();
    let all = (all.iter()).filter(|one| one.of != "the network" && one.seconds != 0.0);
    let (mut found, mut runs) = (Vec::new(), Vec::new());
    for one in all.take(CHECKED) {
        let parameter = parameter(platform, one, declared.keys());
        let changes = [1.0 - SMALL, 1.0 + SMALL];
        runs.extend((parameter.iter()).flat_map(|own| changes.map(|by| vec![own.scaled(by)])));
        found.push(Derivative {
            name: one.name(),
            predicted: prediction.elasticity_of(one),
            elasticities: parameter.map(|_| [0.0; 2]),
        });
    }
    let times = side_by_side(&runs, simulate)?;
    let varied = found.iter_mut().filter_map(|one| one.elasticities.as_mut());
    for (own, times) in varied.zip(times.chunks(2)) {
        *own = elasticities(base, times);
    }
    Ok(found)
}

/// Returns the parameter of the platform for the link or host of a derivative alone, if any.
fn parameter<'a>(
    platform: &Platform,
    of: &Sensitivity,
    mut declared: impl Iterator<Item = &'a Vec<String>>,
) -> Option<Parameter> {
    let kind = match of.parameter {
        "latency" | "bandwidth" => "links",
        "speed" => "hosts",
        _ => return None,
    };
    let own = [kind, &of.of, of.parameter].map(str::to_owned);
    // One of a zone has the path of the zone before; those of clusters are not declared.
    let path = declared.find(|path| path.ends_with(&own));
    let path = path.map_or(&own[..], |path| path);
    let parts: Vec<String> = path.iter().map(|part| quoted(part)).collect();
    let parameter = Parameter {
        path: parts.join("."),
        bytes: None,
    };
    let change: Override = parameter.scaled(1.0 + SMALL).parse().ok()?;
    let is_known = platform
        .clone()
        .with_overrides("the platform", &[change])
        .is_ok();
    is_known.then_some(parameter)
}

/// Returns the table of the greatest derivatives, along the critical path and from runs.
pub(super) fn derivative_table(all: &Effects) -> Table<'static> {
    let by_runs =
        (all.derivatives.iter()).map(|one| (one.name.as_str(), one.predicted, one.elasticities));
    let of_network = (all.effects.iter())
        .filter(|effect| effect.path.starts_with("network."))
        .filter_map(|effect| {
            let predicted = effect.predicted.filter(|part| *part != 0.0)?;
            Some((effect.path.as_str(), predicted, Some(effect.elasticities)))
        });
    let mut known: Vec<_> = by_runs.chain(of_network).collect();
    known.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let percent = |part: f64| Cell::number(part, format!("{part:+.4} %"));
    let rows = known.into_iter().take(CHECKED);
    let rows = rows.map(|(name, predicted, measured)| {
        let measured = match measured {
            Some(both) => both.map(percent),
            None => ["–", "–"].map(Cell::from),
        };
        let [less, more] = measured;
        vec![Cell::from(name), percent(predicted), less, more]
    });
    Table {
        id: "checked",
        title: "Parameters that matter, checked by runs",
        note: "Change of the time of the run if the parameter is 1 % greater: along the critical path, and by runs with 1 % less and 1 % more. Where they differ, 1 % moves the path or a bottleneck (two links with the same bandwidth on a route are both one), or transfers share links. –: the platform has no parameter for it alone.".to_owned(),
        columns: vec!["parameter", "critical path", "by 1 % less", "by 1 % more"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}
