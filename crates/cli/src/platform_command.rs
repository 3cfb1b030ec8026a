//! `simrun platform`: looking at platform files, and turning SimGrid's into ours.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use files::Output;
use platform::{LoadError, Override, Platform};

use simrun::args::Format;
use simrun::{load, status};

use crate::companion::TOOLS;
use crate::{platform_json, platform_list};

/// A kind of file that has a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FileKind {
    Platform,
    Study,
    Selector,
}

/// Actions on platform files.
#[derive(Subcommand)]
pub(crate) enum PlatformCommand {
    /// Check a platform file; print all errors, or a summary.
    #[command(after_help = "Example:\n  simrun platform check platforms/cluster.toml")]
    Check {
        /// The platform file: TOML, or SimGrid's XML.
        file: PathBuf,
    },
    /// Print zones, counts and parameters of a platform, or a route.
    #[command(
        after_help = "Example:\n  simrun platform show platforms/cluster.toml --route node-0 node-1"
    )]
    Show {
        /// The platform file: TOML, or SimGrid's XML.
        file: PathBuf,
        /// Print the links between two hosts, with bandwidth and latency.
        #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
        route: Option<Vec<String>>,
        /// Draw the topology into this file, SVG or PNG.
        #[arg(long, value_name = "FILE", conflicts_with = "route")]
        plot: Option<PathBuf>,
        /// Change the platform before it is shown, as for a run
        #[arg(long = "set", value_name = "PATH=VALUE")]
        changes: Vec<Override>,
        /// Output format
        #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text, conflicts_with = "plot")]
        format: Format,
    },
    /// List the platform files of a folder, with measured errors
    #[command(after_help = "Example:\n  simrun platform list platforms")]
    List {
        /// The folder
        #[arg(default_value = "platforms")]
        folder: PathBuf,
        /// Output format
        #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print the JSON Schema of a kind of file, for editors
    #[command(after_help = "Example:\n  simrun platform schema study > study.schema.json")]
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value_t = FileKind::Platform)]
        kind: FileKind,
    },
    /// Convert a SimGrid XML platform to TOML; list unsupported elements
    #[command(after_help = "Example:\n  simrun platform import cluster.xml --out cluster.toml")]
    Import {
        /// The XML file
        file: PathBuf,
        /// Output file [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// Runs a subcommand.
pub(crate) fn run_platform(command: &PlatformCommand) -> ExitCode {
    let done = match command {
        PlatformCommand::Check { file } => load(file, &[]).map(|platform| {
            let platform = Arc::new(platform);
            status::warn_all(&platform.unreachable());
            status::warn_all(&run::credit_loop_warnings(&platform));
            platform_summary(&platform)
        }),
        PlatformCommand::Show {
            file,
            route,
            plot,
            changes,
            format,
        } => load(file, changes).and_then(|platform| match (route.as_deref(), plot) {
            (Some([from, to]), _) => show_route(&platform, from, to, *format),
            (_, Some(path)) => {
                output_beside(path, file).and_then(|_| Err(show_plot(file, changes, path)))
            }
            _ => Ok(format.write_result(
                || format!("{}\n{}", platform.summary(), platform.outline()),
                || platform_json::describe_platform(&platform).to_string(),
            )),
        }),
        PlatformCommand::List { folder, format } => {
            Err(platform_list::list_platforms(folder, *format))
        }
        PlatformCommand::Schema { kind } => Ok(schema_text(*kind).to_owned()),
        PlatformCommand::Import { file, out } => import(file, out.as_deref()),
    };
    match done {
        Ok(text) => status::print(text.trim_end()),
        Err(code) => code,
    }
}

/// Returns the text of a schema.
const fn schema_text(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Platform => include_str!("../schemas/platform.schema.json"),
        FileKind::Study => include_str!("../schemas/study.schema.json"),
        FileKind::Selector => include_str!("../schemas/selector.schema.json"),
    }
}

fn platform_summary(platform: &Platform) -> String {
    platform.summary().to_string()
}

/// Draws the topology by the tools, which replace this process.
fn show_plot(file: &Path, changes: &[Override], plot: &Path) -> ExitCode {
    let mut arguments: Vec<OsString> =
        vec!["draw".into(), file.into(), "--out".into(), plot.into()];
    for change in changes {
        arguments.extend(["--set".into(), change.to_string().into()]);
    }
    TOOLS.hand_over(&arguments)
}

/// The links of a route, one per line, and their sum; or as JSON.
fn show_route(
    platform: &Platform,
    from: &str,
    to: &str,
    format: Format,
) -> Result<String, ExitCode> {
    let host = |name: &str| {
        platform.host_by_name(name).ok_or_else(|| {
            let near = platform.nearest_host(name);
            let help = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            status::refuse(format_args!("unknown host {name:?}{help}"))
        })
    };
    let route = platform
        .route(host(from)?, host(to)?)
        .map_err(status::refuse)?;
    let links: Vec<platform::LinkInfo> = route
        .hops
        .iter()
        .map(|hop| platform::LinkInfo {
            // Over the air it is that of the station.
            bandwidth: hop.bandwidth,
            ..platform.link(hop.link)
        })
        .collect();
    let json = || platform_json::describe_route(&route, &links).to_string();
    Ok(format.write_result(|| route_table(&route, &links), json))
}

/// Returns the links of a route, a line for each, and their sum.
fn route_table(route: &platform::Route, links: &[platform::LinkInfo]) -> String {
    let width = links.iter().map(|link| link.name.chars().count()).max();
    let width = width.unwrap_or_default().max("total".len());
    let mut text = String::new();
    for link in links {
        let sharing = platform_json::sharing(link.sharing);
        let _ = writeln!(
            text,
            "{:width$}  {:>12}  {:>10}  {sharing}",
            link.name,
            bandwidth(link.bandwidth),
            latency(link.latency.as_secs()),
        );
    }
    let least = links
        .iter()
        .map(|link| link.bandwidth)
        .fold(f64::INFINITY, f64::min);
    let sum: f64 = links.iter().map(|link| link.latency.as_secs()).sum();
    if route.latency_s > sum * (1.0 + 1e-9) {
        let distance = latency(route.latency_s - sum);
        let _ = writeln!(text, "{:width$}  {:>12}  {distance:>10}", "(distance)", "");
    }
    let count = match links.len() {
        1 => "1 link".to_owned(),
        count => format!("{count} links"),
    };
    let _ = writeln!(
        text,
        "{:width$}  {:>12}  {:>10}  {count}",
        "total",
        bandwidth(least),
        latency(route.latency_s)
    );
    text
}

fn bandwidth(bytes_per_s: f64) -> String {
    scaled(
        bytes_per_s,
        &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")],
        "B/s",
    )
}

fn latency(seconds: f64) -> String {
    scaled(seconds * 1e9, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")], "ns")
}

/// A number with the first unit that it reaches, with at most six digits after the point.
fn scaled(value: f64, units: &[(f64, &str)], base: &str) -> String {
    let reached = units.iter().find(|(size, _)| value >= *size);
    let (size, unit) = reached.copied().unwrap_or((1.0, base));
    let text = format!("{:.6}", value / size);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// Where output called `out` goes, which is not the input `file`.
fn output_beside(out: &Path, file: &Path) -> Result<Output, ExitCode> {
    files::add_input(file);
    Output::new(out).map_err(status::refuse)
}

fn import(file: &Path, out: Option<&Path>) -> Result<String, ExitCode> {
    let refuse = |error: LoadError| status::refuse_with(&error.report(status::has_colours()));
    let output = out.map(|out| output_beside(out, file)).transpose()?;
    let imported = simgrid_import::import_file(file).map_err(refuse)?;
    status::warn_all(&imported.notes);
    // What was made must be a platform: routes to unknown names are found here.
    let name = format!("{} as TOML", file.display());
    Platform::parse(&name, &imported.toml).map_err(refuse)?;
    let Some(output) = output.filter(|output| !output.is_stdout()) else {
        return Ok(imported.toml);
    };
    output.write(&imported.toml).map_err(status::refuse)?;
    let notes = match imported.notes.len() {
        0 => "everything is carried over".to_owned(),
        1 => "1 element is not supported".to_owned(),
        count => format!("{count} elements are not supported"),
    };
    Ok(format!("made {output}: {notes}"))
}
