//! `simrun fuzz --layer mpi/check`: a campaign for each family, and a table of all of them.
//!
//! Failures are shrunk, and written as C programs that `simrun check` can take. Exit status as of
//! the other layers.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use simrun::{ProgressLine, quoted, status};

use super::layers::{CommonArgs, keep_failure, read, replay};
use super::shrinking_text;
use crate::freedoms::{Effort, Family, FreedomLayer, FreedomProgram, c_program};
use crate::{Comparison, FuzzProgram, LayerLimits, LayerReport, compare, layer_campaign};

/// Comparisons that shrinking a failure may take: each explores a program three times. \[choice\]
const SHRINK_BUDGET: u32 = 1_000;

/// Failures of each family and property that are shrunk, if no option says otherwise. \[choice\]
const EXAMPLES: u64 = 1;

/// Properties, and the heads of their columns.
const COLUMNS: [(&str, &str); 7] = [
    ("outcomes-are-found", "missed"),
    ("outcomes-are-legal", "impossible"),
    ("deadlocks-are-found", "deadlock missed"),
    ("deadlocks-are-legal", "false deadlock"),
    ("is-deterministic", "replay differs"),
    ("calls-succeed", "call fails"),
    ("no-panic", "panic"),
];

/// Reads the name of a family.
pub(super) fn parse_family(text: &str) -> Result<Family, String> {
    let found = Family::ALL.iter().find(|family| family.as_str() == text);
    let names: Vec<&str> = Family::ALL.iter().map(|family| family.as_str()).collect();
    let expected = || format!("expected one of {}", names.join(", "));
    found.copied().ok_or_else(expected)
}

/// The campaign of a family.
struct FamilyReport {
    family: Family,
    report: LayerReport<FreedomProgram>,
    efforts: Vec<Effort>,
}

/// Options of the layer.
pub(super) struct FreedomArgs<'a> {
    /// The families; none for all families.
    pub(super) families: Vec<Family>,
    /// Failures of each family and property that are shrunk.
    pub(super) examples: Option<u64>,
    /// Executions with each protocol.
    pub(super) max_executions: Option<u64>,
    /// The place for a program in C.
    pub(super) export: Option<&'a Path>,
}

impl FreedomArgs<'_> {
    fn make_layer(&self, family: Family) -> FreedomLayer {
        let mut layer = FreedomLayer::new(&[family]);
        layer.options.executions_max = self.max_executions.unwrap_or(u64::MAX);
        layer
    }
}

/// Runs the campaigns, or replays a program.
pub(super) fn run_families(
    args: &FreedomArgs<'_>,
    common: &CommonArgs<'_>,
) -> Result<ExitCode, String> {
    if let Some(file) = common.replay {
        let layer = args.make_layer(Family::Mixtures);
        if let Some(to) = args.export {
            let program = read(file)?;
            write_c(&layer, &program, to)?;
        }
        return replay(&layer, file, common.format);
    }
    let families = match &args.families[..] {
        [] => &Family::ALL[..],
        families => families,
    };
    let mut line = ProgressLine::new();
    let mut reports = Vec::new();
    for (number, &family) in (0_u64..).zip(families) {
        let count = families.len() as u64;
        let limits = LayerLimits {
            seed: common.seed,
            tries: common.tries / count + u64::from(number < common.tries % count),
            errors: args.examples.map_or(common.errors, |_| u32::MAX),
            examples: args.examples.unwrap_or(EXAMPLES),
            shrink_budget: SHRINK_BUDGET,
        };
        reports.push(run_family(
            (family, args.make_layer(family)),
            &limits,
            common,
            &mut line,
        ));
    }
    drop(line);
    let kept: Vec<_> =
        (reports.iter().map(|one| keep_all(one, common.out))).collect::<Result<_, _>>()?;
    let printed = status::print(common.format.write_result(
        || table_text(&reports, &kept, common),
        || table_json(&reports, &kept, common),
    ));
    let failures: u64 = reports.iter().map(|one| one.report.failure_count()).sum();
    let tries: u64 = reports.iter().map(|one| one.report.tries).sum();
    Ok(if failures > 0 {
        ExitCode::from(status::FAILED)
    } else if tries < common.tries {
        ExitCode::from(status::LIMIT)
    } else {
        printed
    })
}

fn run_family(
    (family, layer): (Family, FreedomLayer),
    limits: &LayerLimits,
    common: &CommonArgs<'_>,
    line: &mut ProgressLine,
) -> FamilyReport {
    let mut measured = 0;
    let report = layer_campaign(&layer, limits, &mut |progress| {
        match progress.shrinking {
            // Efforts of smaller programs do not count.
            Some(_) => layer.efforts.borrow_mut().truncate(measured),
            None => measured = layer.efforts.borrow().len(),
        }
        line.show(|| match progress.shrinking {
            Some(shrinking) => shrinking_text(shrinking, "operations"),
            None => format!(
                "{}: {} programs, {} failures",
                family.as_str(),
                progress.tries,
                progress.failures
            ),
        });
        match common.budget {
            Some(budget) if line.elapsed() >= budget => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    FamilyReport {
        family,
        report,
        efforts: layer.efforts.into_inner(),
    }
}

/// Writes a program in C, with the difference that the program shows.
fn write_c(layer: &FreedomLayer, program: &FreedomProgram, file: &Path) -> Result<(), String> {
    let difference = match compare(layer, program) {
        Comparison::Different {
            property,
            description,
        } => format!("{property}: {description}"),
        Comparison::Same | Comparison::TooLarge => "no difference".to_owned(),
    };
    files::write(file, c_program(program, &difference)).map_err(|error| error.to_string())
}

/// Writes the failures of a family; returns the files of the shrunk programs in C.
fn keep_all(one: &FamilyReport, out: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = out.join(one.family.as_str());
    let mut kept = Vec::new();
    for failure in &one.report.failures {
        let file = keep_failure(&folder, failure)?.with_extension("c");
        let how = format!("{}: {}", failure.property, failure.description);
        let text = c_program(&failure.shrunk.program, &how);
        files::write(&file, text).map_err(|error| error.to_string())?;
        kept.push(file);
    }
    Ok(kept)
}

/// The files of the failures of each family are `kept`.
fn table_text(reports: &[FamilyReport], kept: &[Vec<PathBuf>], common: &CommonArgs<'_>) -> String {
    let mut text = String::new();
    for (one, files) in reports.iter().zip(kept) {
        for (failure, file) in one.report.failures.iter().zip(files) {
            let (before, after) = (
                failure.original.operations(),
                failure.shrunk.program.operations(),
            );
            let ranks = failure.shrunk.program.ranks.len();
            let _ = writeln!(
                text,
                "{}: {}: {}\n  shrunk from {before} to {after} operations in {} comparisons: \
                 {ranks} ranks, {}",
                one.family.as_str(),
                failure.property,
                failure.description,
                failure.comparisons,
                quoted(&file.to_string_lossy())
            );
        }
    }
    let _ = write!(
        text,
        "{:20}{:>9}{:>11}{:>9}",
        "family", "programs", "incomplete", "bounded"
    );
    for (_, head) in COLUMNS {
        let _ = write!(text, "{head:>16}");
    }
    for (_, head) in RATIOS {
        let _ = write!(text, "{head:>15}");
    }
    text.push('\n');
    for one in reports {
        let (report, name) = (&one.report, one.family.as_str());
        let _ = write!(
            text,
            "{name:20}{:>9}{:>11}{:>9}",
            report.tries,
            report.too_large,
            count_bounded(&one.efforts)
        );
        for (property, _) in COLUMNS {
            let count = report.counts.get(property).copied().unwrap_or(0);
            let _ = write!(text, "{count:>16}");
        }
        for (ratio, _) in RATIOS {
            let [median, most] = median_and_most(&one.efforts, ratio);
            let _ = write!(text, "{:>15}", format!("{median:.1} {most:.1}"));
        }
        text.push('\n');
    }
    let tries: u64 = reports.iter().map(|one| one.report.tries).sum();
    let failures: u64 = reports.iter().map(|one| one.report.failure_count()).sum();
    let incomplete: u32 = reports.iter().map(|one| one.report.too_large).sum();
    let _ = write!(
        text,
        "{tries} programs, {incomplete} with too many executions, seed {}: {failures} failures",
        common.seed
    );
    text
}

fn table_json(reports: &[FamilyReport], kept: &[Vec<PathBuf>], common: &CommonArgs<'_>) -> String {
    let mut families = Vec::new();
    for (one, files) in reports.iter().zip(kept) {
        families.push(json!({
            "family": one.family.as_str(),
            "tries": one.report.tries,
            "too_large": one.report.too_large,
            "bounded": count_bounded(&one.efforts),
            "failures": one.report.counts,
            "outcomes": median_and_most(&one.efforts, RATIOS[0].0),
            "executions_per_outcome": median_and_most(&one.efforts, RATIOS[1].0),
            "digest": one.report.digest.to_string(),
            "files": files,
        }));
    }
    let value = json!({ "seed": common.seed, "families": families });
    format!("{value:#}")
}

/// Returns the number of programs with outcomes beyond a bound.
fn count_bounded(efforts: &[Effort]) -> usize {
    efforts.iter().filter(|effort| effort.bounded > 0).count()
}

/// A ratio of an effort.
type Ratio = fn(&Effort) -> (u64, u64);

/// Ratios of efforts, and the heads of their columns.
const RATIOS: [(Ratio, &str); 2] = [
    (|effort| (effort.outcomes, 1), "outcomes"),
    (
        |effort| (effort.executions, effort.outcomes.max(1)),
        "effort",
    ),
];

/// Returns the median and the 90th percentile of a ratio.
fn median_and_most(efforts: &[Effort], ratio: Ratio) -> [f64; 2] {
    #[expect(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
    let value = |effort: &Effort| {
        let (above, below) = ratio(effort);
        above as f64 / below as f64
    };
    let mut values: Vec<f64> = efforts.iter().map(value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| {
        let place = values.len() * percent / 100;
        values.get(place).copied().unwrap_or(0.0)
    };
    [at(50), at(90)]
}
