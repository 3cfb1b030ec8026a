//! `simrun collectives`: the algorithms of collective operations, the selection of one for a call,
//! and a selection for a platform.

mod tune;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use collectives::{
    Algorithm, Call, Collective, Explanation, Facts, Nodes, Reason, Selector, aliases, named,
};
use platform::{Override, Platform, suggest_word};
use serde_json::json;
use simrun::{Size, load, status};

/// Actions on algorithms of collective operations.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum CollectivesCommand {
    /// List the algorithms, what they need, and the selectors
    #[command(after_help = "Example:\n  simrun collectives list allreduce")]
    List {
        /// Kind of operation, such as allreduce [default: all]
        #[arg(value_parser = kind)]
        kind: Option<Collective>,
        /// List the names of other libraries, too
        #[arg(long)]
        aliases: bool,
    },
    /// Print the algorithm of a call, its messages and its closed form
    #[command(after_help = "Example:\n  simrun collectives explain allreduce -n 8 --size 64KiB")]
    Explain(ExplainCommand),
    /// Simulate all algorithms of an operation, and write the fastest as a selector
    #[command(
        after_help = "Example:\n  simrun collectives tune allreduce -p platforms/cluster.toml -n 16"
    )]
    Tune(tune::TuneCommand),
}

/// A call.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainCommand {
    /// Kind of operation, such as allreduce
    #[arg(value_parser = kind)]
    kind: Collective,
    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    /// Number of consecutive ranks on each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: u32,
    /// Length of the contribution of a rank, or of one block
    #[arg(long, default_value = "8B")]
    size: Size,
    /// Length of an element
    #[arg(long, default_value = "8B")]
    element: Size,
    /// Root
    #[arg(long, default_value_t = 0)]
    root: u32,
    /// An operation that is not commutative
    #[arg(long)]
    ordered: bool,
    /// Name of a selector, or a file [default: that of the platform, else ours]
    #[arg(long, value_name = "NAME")]
    selector: Option<String>,
    /// Platform file, whose [collectives] select
    #[arg(short, long, value_name = "FILE")]
    platform: Option<PathBuf>,
    /// Change the platform, as for a run
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "platform")]
    changes: Vec<Override>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads a kind of operation.
pub(crate) fn kind(text: &str) -> Result<Collective, String> {
    text.parse().map_err(|()| {
        let all = Collective::ALL.map(Collective::name);
        format!("expected {}{}", all.join(", "), suggest_word(text, all))
    })
}

/// Runs a subcommand.
pub(crate) fn run_command(command: &CollectivesCommand) -> ExitCode {
    match command {
        CollectivesCommand::List { kind, aliases } => {
            status::print(list_algorithms(*kind, *aliases).trim_end())
        }
        CollectivesCommand::Explain(command) => match explain(command) {
            Ok(text) => status::print(text.trim_end()),
            Err(code) => code,
        },
        CollectivesCommand::Tune(command) => tune::run_command(command),
    }
}

fn list_algorithms(wanted: Option<Collective>, with_aliases: bool) -> String {
    let mut text = String::new();
    let kinds = Collective::ALL.into_iter();
    for kind in kinds.filter(|kind| wanted.is_none_or(|wanted| wanted == *kind)) {
        let _ = writeln!(text, "{kind}");
        for algorithm in named(kind) {
            let _ = writeln!(text, "  {:30}  {}", algorithm.name, algorithm.about);
            for note in notes(algorithm, kind) {
                let _ = writeln!(text, "  {:30}  {note}", "");
            }
        }
        if with_aliases {
            for alias in aliases::alias_names(kind) {
                let _ = writeln!(text, "  {alias}");
            }
        }
    }
    if wanted.is_none() {
        let names: Vec<&str> = Selector::names().collect();
        let _ = writeln!(text, "selectors\n  {}", names.join(", "));
    }
    text
}

/// Returns the restrictions of an algorithm in words.
fn notes(algorithm: &Algorithm, kind: Collective) -> Vec<String> {
    let mut notes = Vec::new();
    if algorithm.needs != collectives::Requirement::None {
        let needs = algorithm.needs.in_words();
        notes.push(match algorithm.fallback {
            "" => format!("needs {needs}"),
            other => format!("needs {needs}, otherwise {other}"),
        });
    }
    if kind.has_operation() && !algorithm.ordered {
        notes.push("needs a commutative operation".to_owned());
    }
    notes
}

/// Returns the selector of a name or a file.
pub(crate) fn selector(name: &str) -> Result<Selector, ExitCode> {
    if let Some(selector) = Selector::built_in(name) {
        return Ok(selector.clone());
    }
    if Path::new(name).extension().is_none_or(|end| end != "toml") {
        let all: Vec<&str> = Selector::names().collect();
        return Err(status::refuse(format_args!(
            "unknown selector {name:?}: expected {}, or a file that ends with .toml{}",
            all.join(", "),
            suggest_word(name, all.iter().copied())
        )));
    }
    let text = files::read_text(Path::new(name))
        .map_err(|error| status::refuse(format_args!("{name}: cannot read it: {error}")))?;
    Selector::parse(&text).map_err(|error| status::refuse(format_args!("{name}: {error}")))
}

fn explain(command: &ExplainCommand) -> Result<String, ExitCode> {
    let platform: Option<Platform> = match &command.platform {
        Some(file) => Some(load(file, &command.changes)?),
        None => None,
    };
    let selector = match (&command.selector, &platform) {
        (Some(name), _) => selector(name)?,
        (None, Some(platform)) => platform.collectives().to_selector(),
        (None, None) => Selector::ours().clone(),
    };
    if command.root >= command.ranks {
        let (root, ranks) = (command.root, command.ranks - 1);
        return Err(status::refuse(format_args!(
            "--root {root}: expected 0 to {ranks}"
        )));
    }
    let mut call = Call::new(command.kind, 0, command.ranks, command.size.0);
    call.root = command.root;
    call.commutative = !command.ordered;
    call.element = command.element.0.clamp(1, command.size.0.max(1));
    if command.kind.has_operation() && !call.bytes.is_multiple_of(call.element) {
        return Err(status::refuse(format_args!(
            "--size {}: expected a whole number of elements of {}",
            command.size, command.element
        )));
    }
    if command.ranks_per_node > 1 && call.size > 1 {
        call.nodes = Some(Nodes::blocks(call.size, command.ranks_per_node));
    }
    let facts = Facts::from_nodes(call.nodes.as_ref());
    let found = collectives::explain(&selector, &call, facts)
        .map_err(|error| status::refuse(format_args!("{}: {error}", command.kind)))?;
    Ok(if command.json {
        as_json(command, &selector, &found)
    } else {
        as_text(command, &selector, &found)
    })
}

/// Returns the reason of a choice, and the selector that has the rows of another.
fn reason(selector: &Selector, found: &Explanation) -> String {
    match &found.reason {
        Reason::Row { selector: base, .. } if base != selector.name() => {
            format!("{}, which has rows of {}", selector.name(), found.reason)
        }
        reason => reason.to_string(),
    }
}

fn as_json(command: &ExplainCommand, selector: &Selector, found: &Explanation) -> String {
    let parts = found.parts.iter().map(|(_, name)| *name);
    let levels = found.levels.iter().map(|(group, kind, name)| {
        json!({ "ranks": group.name(), "collective": kind.name(), "algorithm": name })
    });
    let counts = found.counts.as_ref();
    let value = json!({
        "collective": command.kind.name(),
        "ranks": command.ranks,
        "bytes": command.size.0,
        "selector": selector.name(),
        "reason": reason(selector, found),
        "name": found.name,
        "algorithm": found.algorithm.name,
        "parts": parts.collect::<Vec<&str>>(),
        "levels": levels.collect::<Vec<serde_json::Value>>(),
        "segment": (found.segment > 0).then_some(found.segment),
        "radix": (found.radix > 0).then_some(found.radix),
        "time": found.time,
        "messages": counts.map(|counts| counts.messages),
        "message_bytes": counts.map(|counts| counts.bytes),
        "busiest_rank_bytes": counts.map(|counts| counts.sent_max),
        "rounds": counts.map(|counts| counts.rounds),
    });
    format!("{value:#}")
}

fn as_text(command: &ExplainCommand, selector: &Selector, found: &Explanation) -> String {
    let mut text = format!(
        "{} of {} on {} ranks\n",
        command.kind, command.size, command.ranks
    );
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:10}  {value}");
    };
    line("selected", reason(selector, found));
    line(
        "algorithm",
        format!("{}: {}", found.algorithm.name, found.algorithm.about),
    );
    for (kind, name) in &found.parts {
        line("part", format!("{kind} by {name}"));
    }
    for (group, kind, name) in &found.levels {
        line("level", format!("{kind} {} by {name}", group.name()));
    }
    if found.segment > 0 && found.segment < u64::MAX {
        line("segment", Size(found.segment).to_string());
    }
    if found.radix > 0 {
        line("radix", found.radix.to_string());
    }
    if let Some(counts) = &found.counts {
        line(
            "messages",
            format!(
                "{} in at most {} rounds, {}; the busiest rank sends {}",
                counts.messages,
                counts.rounds,
                Size(counts.bytes),
                Size(counts.sent_max)
            ),
        );
    }
    line("time", format!("{} without contention", found.time));
    text
}
