//! `simrun fuzz --layer actors`, `--layer mpi`, `--layer mpi/check` and `--layer verbs`: random
//! programs, executed in ways that must agree; what differs is shrunk, shown and kept.
//!
//! With `--tcp` a rank program is also executed by processes, which are this executable again. Exit
//! status 0 if all executions agree, 1 if some differ, 2 for bad input, 3 if the time was over
//! before all programs were executed.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use simrun::args::Format;
use simrun::{ProgressLine, quoted, status};

use super::freedoms::{FreedomArgs, parse_family, run_families};
#[cfg(feature = "verbs")]
use super::verbs::find_adapter;
use super::{package, processes, shrinking_text};
use crate::actors::ActorLayer;
use crate::freedoms::Family;
use crate::ranks::{MpiLayer, RankProgram, program_source};
use crate::verbs::{VerbsLayer, VerbsProgram, c_source};
use crate::{
    Comparison, FuzzProgram, Layer, LayerFailure, LayerLimits, LayerReport, compare, layer_campaign,
};

/// The layer that random programs are made for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum LayerArg {
    #[default]
    Endpoint,
    Mpi,
    #[value(name = "mpi/check")]
    MpiCheck,
    Actors,
    Verbs,
}

/// Executions per program that the model checker may take, if no option says otherwise. \[choice\]
const MAX_EXECUTIONS: u64 = 1000;

/// Options of the layers other than that of endpoints.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Layers")]
pub(super) struct LayerArgs {
    /// Layer of the programs: endpoint (interactions over connections), mpi (rank programs, on
    /// several devices), mpi/check (rank programs under the model checker, and all outcomes that
    /// MPI permits), actors (actor programs, also by brute force) or verbs (work requests)
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        hide_possible_values = true,
        default_value_t
    )]
    layer: LayerArg,

    /// Executions per program of --layer actors, mpi and mpi/check under the model checker; a
    /// program with more is not compared with it [default: 1000, and no limit for mpi/check]
    #[arg(long, value_name = "N")]
    max_executions: Option<u64>,

    /// With --layer mpi/check: families of programs [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_family)]
    families: Vec<Family>,

    /// With --layer mpi/check: shrink and keep this many failures of each family and property, and
    /// count all others
    #[arg(long, value_name = "N")]
    examples: Option<u64>,

    /// With --layer mpi: execute each program over TCP, too, with a process per rank
    #[arg(long)]
    tcp: bool,

    /// With --replay: write a program that runs it, too: a package, C against MPI for --layer
    /// mpi/check, or C against libibverbs for --layer verbs, and for endpoints if the name ends
    /// with .c
    #[arg(long, value_name = "PATH", requires = "replay")]
    export: Option<PathBuf>,

    /// Of a process: that it is a rank.
    #[arg(long, hide = true)]
    as_rank: bool,
}

impl LayerArgs {
    /// Returns true if the layer is that of endpoints.
    pub(super) fn is_endpoint(&self) -> bool {
        self.layer == LayerArg::Endpoint
    }

    /// Returns the most executions of a program that is compared.
    fn max_executions(&self) -> u64 {
        self.max_executions.unwrap_or(MAX_EXECUTIONS)
    }

    /// Returns true if the layer is that of verbs.
    pub(super) fn is_verbs(&self) -> bool {
        self.layer == LayerArg::Verbs
    }

    /// Returns the place for a program.
    pub(super) fn export(&self) -> Option<&Path> {
        self.export.as_deref()
    }
}

/// Options that all layers have.
pub(super) struct CommonArgs<'a> {
    pub(super) tries: u64,
    pub(super) errors: u32,
    pub(super) seed: u64,
    pub(super) replay: Option<&'a Path>,
    pub(super) out: &'a Path,
    pub(super) format: Format,
    /// Real time after which to stop.
    pub(super) budget: Option<Duration>,
    /// The adapter of `--layer verbs`: of libibverbs, by name or the first one.
    pub(super) adapter: Option<Option<&'a str>>,
}

/// Runs a campaign over a layer, or replays a program of it; `None` for the layer of endpoints.
pub(super) fn run_layer(args: &LayerArgs, common: &CommonArgs<'_>) -> Option<ExitCode> {
    let ran = match args.layer {
        LayerArg::Endpoint | LayerArg::Actors | LayerArg::Verbs | LayerArg::MpiCheck
            if args.tcp =>
        {
            Err("--tcp: expected --layer mpi".to_owned())
        }
        LayerArg::Endpoint | LayerArg::Actors | LayerArg::Verbs | LayerArg::Mpi
            if !args.families.is_empty() || args.examples.is_some() =>
        {
            Err("--families, --examples: expected --layer mpi/check".to_owned())
        }
        LayerArg::Endpoint | LayerArg::Verbs if args.max_executions.is_some() => {
            Err("--max-executions: expected --layer actors, mpi or mpi/check".to_owned())
        }
        LayerArg::Endpoint => return None,
        LayerArg::Actors if args.export.is_some() => {
            Err("--export: expected --layer endpoint, mpi, mpi/check or verbs".to_owned())
        }
        LayerArg::Actors => {
            let layer = ActorLayer::new(args.max_executions());
            execute_layer(&layer, "actors", common, |_, _| Ok(()))
        }
        LayerArg::Verbs => verbs(args, common),
        LayerArg::Mpi if args.as_rank => match common.replay.map(read) {
            Some(Ok(program)) => return Some(processes::run_as_rank(&program)),
            Some(Err(error)) => Err(error),
            None => Err("--as-rank: expected --replay FILE".to_owned()),
        },
        LayerArg::Mpi => mpi(args, common),
        LayerArg::MpiCheck => {
            let freedoms = FreedomArgs {
                families: args.families.clone(),
                examples: args.examples,
                max_executions: args.max_executions,
                export: args.export.as_deref(),
            };
            run_families(&freedoms, common)
        }
    };
    Some(ran.unwrap_or_else(status::refuse))
}

fn mpi(args: &LayerArgs, common: &CommonArgs<'_>) -> Result<ExitCode, String> {
    let mut layer = MpiLayer::new(args.max_executions())?;
    if args.tcp {
        layer.devices.push(processes::device()?);
    }
    if let (Some(file), Some(folder)) = (common.replay, &args.export) {
        export(&read(file)?, folder)?;
    }
    execute_layer(&layer, "mpi", common, export)
}

fn verbs(args: &LayerArgs, common: &CommonArgs<'_>) -> Result<ExitCode, String> {
    if let (Some(file), Some(to)) = (common.replay, &args.export) {
        export_c(&read(file)?, to)?;
    }
    let mut layer = VerbsLayer::default();
    if let Some(device) = common.adapter {
        layer.adapter = Some(find_adapter(device)?);
    }
    execute_layer(&layer, "verbs", common, |program, app| {
        export_c(program, &app.with_extension("c"))
    })
}

/// Writes a program of work requests in C.
fn export_c(program: &VerbsProgram, file: &Path) -> Result<(), String> {
    let text = c_source(program)?;
    files::write(file, text).map_err(|error| error.to_string())
}

#[cfg(not(feature = "verbs"))]
fn find_adapter(_device: Option<&str>) -> Result<crate::verbs::VerbsAdapter, String> {
    Err(super::backend::WITHOUT_VERBS.to_owned())
}

/// Writes what a layer has besides the text of a shrunk program, into a folder.
type Extra<P> = fn(&P, &Path) -> Result<(), String>;

fn execute_layer<L: Layer>(
    layer: &L,
    name: &str,
    common: &CommonArgs<'_>,
    extra: Extra<L::Program>,
) -> Result<ExitCode, String> {
    if let Some(file) = common.replay {
        return replay(layer, file, common.format);
    }
    let limits = LayerLimits {
        seed: common.seed,
        tries: common.tries,
        errors: common.errors,
        examples: u64::MAX,
        shrink_budget: if common.adapter.is_some() {
            ADAPTER_SHRINK_BUDGET
        } else {
            SHRINK_BUDGET
        },
    };
    let mut line = ProgressLine::new();
    let report = layer_campaign(layer, &limits, &mut |progress| {
        line.show(|| match progress.shrinking {
            Some(shrinking) => shrinking_text(shrinking, "operations"),
            None => format!(
                "{} programs, {} failures",
                progress.tries, progress.failures
            ),
        });
        match common.budget {
            Some(budget) if line.elapsed() >= budget => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    drop(line);
    let mut kept = Vec::new();
    for failure in &report.failures {
        kept.push(keep_failure(common.out, failure)?);
        let app = format!("{}-app", failure.attempt);
        extra(&failure.shrunk.program, &common.out.join(app))?;
    }
    let text = common.format.write_result(
        || text_report(name, &report, &kept, common.seed),
        || json(&report, &kept, common.seed),
    );
    let printed = status::print(text);
    Ok(if !report.failures.is_empty() {
        ExitCode::from(status::FAILED)
    } else if report.tries < common.tries {
        ExitCode::from(status::LIMIT)
    } else {
        printed
    })
}

/// Comparisons that shrinking a failure may take.
const SHRINK_BUDGET: u32 = 20_000;

/// The same on an adapter of this machine: each takes milliseconds, or 3 s if it is blocked.
const ADAPTER_SHRINK_BUDGET: u32 = 100;

pub(super) fn read<P: FuzzProgram>(file: &Path) -> Result<P, String> {
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = files::read_text(file).map_err(|error| place(&error))?;
    P::from_toml(&text).map_err(|error| place(&error))
}

pub(super) fn replay<L: Layer>(layer: &L, file: &Path, format: Format) -> Result<ExitCode, String> {
    let program: L::Program = read(file)?;
    let operations = program.operations();
    let compared = compare(layer, &program);
    let text = || match &compared {
        Comparison::Same => format!("{operations} operations: all executions agree"),
        Comparison::TooLarge => format!(
            "{operations} operations: not compared with the model checker: more executions than \
             --max-executions"
        ),
        Comparison::Different {
            property,
            description,
        } => format!("{operations} operations: {property}: {description}"),
    };
    let json = || replay_json(operations, &compared);
    let printed = status::print(format.write_result(text, json));
    Ok(match compared {
        Comparison::Same | Comparison::TooLarge => printed,
        Comparison::Different { .. } => ExitCode::from(status::FAILED),
    })
}

fn replay_json(operations: usize, compared: &Comparison) -> String {
    let description = match compared {
        Comparison::Different { description, .. } => Some(description),
        Comparison::Same | Comparison::TooLarge => None,
    };
    let value = json!({
        "operations": operations,
        "too_large": *compared == Comparison::TooLarge,
        "property": compared.property(),
        "description": description,
    });
    format!("{value:#}")
}

/// Writes a failure as it was generated and shrunk; returns the file of the shrunk one.
pub(super) fn keep_failure<P: FuzzProgram>(
    folder: &Path,
    failure: &LayerFailure<P>,
) -> Result<PathBuf, String> {
    let name = |kind: &str| folder.join(format!("{}-{kind}.toml", failure.attempt));
    let head = format!(
        "# {}: {}\n",
        failure.property,
        failure.description.replace('\n', " ")
    );
    for (kind, program) in [
        ("original", &failure.original),
        ("shrunk", &failure.shrunk.program),
    ] {
        let text = format!("{head}{}", program.to_toml());
        files::write(&name(kind), text).map_err(|error| error.to_string())?;
    }
    Ok(name("shrunk"))
}

/// Writes a rank program as a package that depends on the checkout of this executable.
fn export(program: &RankProgram, folder: &Path) -> Result<(), String> {
    let dependencies = [("mpi", "simrun-mpi", "mpi"), ("simrun", "simrun", "simrun")];
    let source = ("src/main.rs", program_source(program));
    package::write_package(folder, &dependencies, "", vec![source])
}

fn text_report<P: FuzzProgram>(
    layer: &str,
    report: &LayerReport<P>,
    kept: &[PathBuf],
    seed: u64,
) -> String {
    let mut text = String::new();
    for (failure, file) in report.failures.iter().zip(kept) {
        let (before, after) = (
            failure.original.operations(),
            failure.shrunk.program.operations(),
        );
        let _ = writeln!(
            text,
            "{}: {}\n  shrunk from {before} to {after} operations in {} comparisons; run it again with\n  \
             simrun fuzz --layer {layer} --replay {}",
            failure.property,
            failure.description,
            failure.comparisons,
            quoted(&file.to_string_lossy())
        );
    }
    let count = report.failures.len();
    let _ = write!(
        text,
        "{} programs, {} operations, {} with too many executions, seed {seed}: {count} failures",
        report.tries, report.operations, report.too_large
    );
    text
}

fn json<P: FuzzProgram>(report: &LayerReport<P>, kept: &[PathBuf], seed: u64) -> String {
    let failures = report.failures.iter().zip(kept).map(|(failure, file)| {
        json!({
            "attempt": failure.attempt,
            "property": failure.property,
            "description": failure.description,
            "operations_before": failure.original.operations(),
            "operations_after": failure.shrunk.program.operations(),
            "shrink_runs": failure.comparisons,
            "file": file,
        })
    });
    let value = json!({
        "tries": report.tries,
        "operations": report.operations,
        "too_large": report.too_large,
        "seed": seed,
        "digest": report.digest.to_string(),
        "failures": failures.collect::<Vec<_>>(),
    });
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choices;
    use crate::ranks::RankOp;
    use sim_core::Digest;

    /// A layer in which each program with a synchronous send differs.
    struct Refusing(MpiLayer);

    impl Layer for Refusing {
        type Program = RankProgram;

        fn generate(&self, choices: &mut Choices<'_>) -> RankProgram {
            self.0.generate(choices)
        }

        fn compare_executions(&self, program: &RankProgram, _: &mut Digest) -> Comparison {
            let mut ops = program.ranks.iter().flatten();
            if ops.all(|op| !matches!(op, RankOp::Ssend(_) | RankOp::Issend(_))) {
                return Comparison::Same;
            }
            Comparison::Different {
                property: "is-standard",
                description: "a synchronous send".to_owned(),
            }
        }
    }

    #[test]
    fn failures_are_kept_as_text_and_as_packages() {
        let folder = std::env::temp_dir().join(format!("fuzz-layers-{}", std::process::id()));
        let layer = Refusing(MpiLayer::new(0).unwrap());
        let common = CommonArgs {
            tries: 10,
            errors: 1,
            seed: 0,
            replay: None,
            out: &folder,
            format: Format::Text,
            budget: None,
            adapter: None,
        };
        let code = execute_layer(&layer, "mpi", &common, export).unwrap();
        assert_eq!(code, ExitCode::from(status::FAILED));
        let shrunk = folder.join("0-shrunk.toml");
        let program: RankProgram = read(&shrunk).unwrap();
        assert_eq!(program.operations(), 2, "{program:?}");
        assert_eq!(
            replay(&layer, &shrunk, Format::Text),
            Ok(ExitCode::from(status::FAILED))
        );
        let main = std::fs::read_to_string(folder.join("0-app/src/main.rs")).unwrap();
        assert!(main.contains("world.ssend(&world.buffer(0), "), "{main}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
