//! `simrun compare`: a program simulated and run for real, and how far apart that is. The
//! predictions are there before anything is measured.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use files::{Output, OutputError};
use real::{BOOTSTRAP_FILE, ProcessPlace, congestion_control};
use validation::{
    Comparison, ErrorLimit, Measurements, RoundTimes, SampleMetadata, add_run, common_factor,
    missed_limits, read, read_rounds, reference_times, rounds_as_csv, text_digest,
    write_comparison,
};

use simrun::args::{Format, SimulationArgs};
use simrun::compute_args::ComputeArgs;
use simrun::package::{self, Executable};
use simrun::transport_args::{self, Network, TransportArgs};
use simrun::{Size, status};

use crate::{command_line, statics};

/// Subjects of a comparison.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompareCommand {
    /// Package directory or executable; it must print times such as "round 3: 12.5 us"
    #[arg(value_name = "APP")]
    app: PathBuf,

    #[command(flatten)]
    simulation: SimulationArgs,

    #[command(flatten)]
    compute: ComputeArgs,

    /// Back end of the real runs
    #[arg(
        long,
        value_enum,
        value_name = "tcp|verbs",
        default_value_t,
        hide_possible_values = true
    )]
    backend: Network,

    /// Number of real runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Message sizes; each replaces {size} in the program arguments
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    sizes: Vec<Size>,

    #[command(flatten)]
    way: TransportArgs,

    /// Read measured times from this file instead of measuring
    #[arg(long, value_name = "FILE")]
    measured_times: Option<PathBuf>,

    /// Output directory for predictions, measured times and comparison
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Report directory: HTML page, JSON data, SVG and PNG pictures
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Draw predicted against measured: SVG or PNG
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,

    /// Maximum errors, for example median=5%,worst=15%; exit with status 1 if exceeded
    #[arg(
        long,
        value_name = "LIMITS",
        value_delimiter = ',',
        help_heading = "Limits"
    )]
    require: Vec<ErrorLimit>,

    /// Maximum error of any value, for example 10%; exit with status 1 if exceeded
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Limits")]
    max_error: Option<f64>,

    /// Output format
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,

    /// Arguments of the program
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS OF APP")]
    arguments: Vec<OsString>,
}

/// Facts of a comparison besides the options.
struct ComparisonPlan<'a> {
    command: &'a CompareCommand,
    platform: &'a Path,
    ranks: u32,
    /// The place of this process, where srun or mpirun has started it.
    place: Option<ProcessPlace>,
    program: Executable,
    /// Number of processes that have been started in this one's place.
    started: Cell<u32>,
}

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    let right = number.filter(|number| number.is_finite() && *number >= 0.0);
    right
        .map(|number| number / 100.0)
        .ok_or_else(|| "expected percent, such as 10%".to_owned())
}

/// Compares, writes what was asked for, and prints the table. In an allocation rank 0 does that;
/// the others only take part in the program's real runs.
pub(crate) fn run_command(command: &CompareCommand) -> ExitCode {
    for place in statics::of_package(&command.app) {
        status::warn(format_args!(
            "{place}: all simulated ranks share this static, real ranks do not"
        ));
    }
    let platform = match command.simulation.platform_file() {
        Ok(path) => path,
        Err(status) => return status,
    };
    let comparison = match plan(command, platform).and_then(|plan| match &plan.place {
        Some(place) if place.rank > 0 => measured(&plan).map(|_| None),
        _ => compared(&plan).map(Some),
    }) {
        Ok(Some(comparison)) => comparison,
        Ok(None) => return ExitCode::SUCCESS,
        Err(problem) => return status::refuse(problem),
    };
    let text = || comparison.as_text();
    let result = (command.format).write_result(text, || comparison.as_json());
    let printed = status::print(result.trim_end());
    let Some(errors) = comparison.errors(1.0) else {
        return status::failed("no times to compare: the program must print times");
    };
    if comparison.unpaired > 0 {
        return status::failed(format_args!(
            "{} on one side only, as the notes say: expected the same lines of both",
            text_of_quantities(comparison.unpaired)
        ));
    }
    if let Some(most) = command.max_error.filter(|most| errors.worst > *most) {
        return status::failed(format_args!(
            "maximum error {:.2} % exceeds the limit of {:.2} %",
            100.0 * errors.worst,
            100.0 * most
        ));
    }
    match missed_limits(&command.require, Some(&errors)) {
        Some(missed) => status::failed(missed),
        None => printed,
    }
}

fn text_of_quantities(number: usize) -> String {
    match number {
        1 => "1 quantity is".to_owned(),
        _ => format!("{number} quantities are"),
    }
}

/// Builds the program, if need be, and finds out where this process is.
fn plan<'a>(command: &'a CompareCommand, platform: &'a Path) -> Result<ComparisonPlan<'a>, String> {
    let names_size = |argument: &OsString| argument.to_string_lossy().contains("{size}");
    if !command.sizes.is_empty() && !command.arguments.iter().any(names_size) {
        return Err(
            "--sizes without {size} in the program's arguments: every size would be the same run; \
             expected them to name it, such as -- --size {size}"
                .to_owned(),
        );
    }
    check_outputs(command, platform).map_err(|error| error.to_string())?;
    let place = match &command.measured_times {
        Some(_) => None,
        None => transport_args::placed(command.simulation.ranks)?,
    };
    let ranks = command
        .simulation
        .ranks
        .or(place.as_ref().map(|place| place.size));
    let ranks = ranks.ok_or("no number of ranks: expected -n N, such as -n 2")?;
    if command.measured_times.is_none() {
        command.way.check_options(command.backend)?;
        if place.is_none() {
            command.way.tcp.check_here()?;
        }
    }
    let features: &[&str] = match command.backend {
        Network::Verbs if command.measured_times.is_none() => &["simrun/verbs"],
        _ => &[],
    };
    let quiet = command.format.is_for_programs();
    let program =
        package::executable(&command.app, quiet, features).map_err(|error| error.to_string())?;
    if program.is_compiled() && command.measured_times.is_none() {
        return Err(format!(
            "{}: a compiled MPI program: expected --measured-times FILE, of runs with mpiexec",
            command.app.display()
        ));
    }
    Ok(ComparisonPlan {
        command,
        platform,
        ranks,
        place,
        program,
        started: Cell::new(0),
    })
}

/// The files in the folder of `--out`.
const KEPT: [&str; 3] = ["predictions.csv", "measured.csv", "comparison.json"];

/// Refuses outputs that are no files, or that are inputs.
fn check_outputs(command: &CompareCommand, platform: &Path) -> Result<(), OutputError> {
    let kept = command.out.iter();
    let kept = kept.flat_map(|folder| KEPT.map(|name| folder.join(name)));
    files::add_input(platform);
    files::add_input(&command.app);
    if let Some(times) = &command.measured_times {
        files::add_input(times);
    }
    for path in kept.chain(command.plot.clone()) {
        Output::new(&path)?;
    }
    Ok(())
}

fn compared(plan: &ComparisonPlan<'_>) -> Result<Comparison, String> {
    let command = plan.command;
    let platform = text_of(plan.platform)?;
    let metadata = SampleMetadata::from_text(&platform);
    let predicted = predicted(plan)?;
    let predictions = rounds_as_csv(&predicted);
    write_output(command, KEPT[0], &predictions)?;
    let (measured, now) = match &command.measured_times {
        Some(path) => {
            let text = text_of(path)?;
            let rounds = read_rounds(&path.display().to_string(), &text);
            (
                rounds.map_err(|error| error.to_string())?,
                references_of(&SampleMetadata::from_text(&text)),
            )
        }
        None => measured(plan)?,
    };
    let factor = common_factor(&references_of(&metadata), &now);
    let mut comparison = Comparison::new(
        &predicted,
        &measured,
        factor,
        metadata.number_value("band_90"),
    );
    comparison.notes.push(format!(
        "digests: predictions {}, platform {}",
        text_digest(&predictions),
        text_digest(&platform)
    ));
    if command.measured_times.is_none() {
        comparison.notes.extend(other_way(plan, &metadata));
    }
    let head = references_as_comment(&now);
    write_output(command, KEPT[1], &(head + &rounds_as_csv(&measured)))?;
    write_output(command, KEPT[2], &(comparison.as_json() + "\n"))?;
    for path in command
        .plot
        .iter()
        .filter(|_| !comparison.figures.is_empty())
    {
        report::plot_scatter(&comparison.picture(), path).map_err(|error| error.to_string())?;
    }
    if let Some(folder) = &command.report {
        write_comparison(&comparison, &platform, &command_line(), folder)
            .map_err(|error| error.to_string())?;
    }
    Ok(comparison)
}

/// Returns the differences from the calibration, so that it may not hold: how ranks wait, how many
/// there are, and over what they talk.
fn other_way(plan: &ComparisonPlan<'_>, metadata: &SampleMetadata) -> Vec<String> {
    let mut notes = Vec::new();
    let mut compare = |key: &str, ours: &str, option: &str| {
        if let Some(theirs) = metadata.text(key)
            && theirs != ours
        {
            notes.push(format!(
                "{key} differs: calibrated with {theirs}, running with {ours} ({option}); predictions may be invalid"
            ));
        }
    };
    compare("wait", plan.command.way.wait_name(), "--wait");
    compare("backend", plan.command.backend.name(), "--backend");
    if plan.command.backend == Network::Tcp
        && let Ok(Some(ours)) = congestion_control(plan.command.way.tcp.tcp_congestion.as_deref())
    {
        compare("congestion_control", &ours, "--tcp-congestion");
    }
    compare("ranks", &plan.ranks.to_string(), "-n");
    notes
}

fn text_of(path: &Path) -> Result<String, String> {
    files::read_text(path).map_err(|error| format!("{}: cannot read it: {error}", path.display()))
}

fn write_output(command: &CompareCommand, name: &str, text: &str) -> Result<(), String> {
    let Some(folder) = &command.out else {
        return Ok(());
    };
    files::write(&folder.join(name), text).map_err(|error| error.to_string())
}

/// Reference blocks as `# references: 64=4.5 65536=23` says them, in bytes and microseconds.
fn references_of(metadata: &SampleMetadata) -> Vec<(u64, f64)> {
    let pair = |word: &str| {
        let (size, time) = word.split_once('=')?;
        Some((size.parse().ok()?, time.parse::<f64>().ok()? / 1e6))
    };
    let text = metadata.text("references").unwrap_or_default();
    text.split(' ').filter_map(pair).collect()
}

fn references_as_comment(references: &[(u64, f64)]) -> String {
    if references.is_empty() {
        return String::new();
    }
    let mut text = String::from("# references:");
    for (size, time) in references {
        let _ = write!(text, " {size}={}", 1e6 * time);
    }
    text + "\n"
}

impl CompareCommand {
    /// Each case: its name, and the program's arguments.
    fn cases(&self) -> Vec<(String, Vec<OsString>)> {
        if self.sizes.is_empty() {
            return vec![("as given".to_owned(), self.arguments.clone())];
        }
        let case = |size: &Size| {
            let filled = self.arguments.iter().map(|argument| {
                let text = argument.to_string_lossy();
                OsString::from(text.replace("{size}", &size.0.to_string()))
            });
            (size.to_string(), filled.collect())
        };
        self.sizes.iter().map(case).collect()
    }
}

/// Returns the simulated times of all cases.
fn predicted(plan: &ComparisonPlan<'_>) -> Result<Vec<RoundTimes>, String> {
    let command = plan.command;
    let mut all = Vec::new();
    for (case, arguments) in command.cases() {
        let mut simulation = plan.program.program_command();
        simulation.args(command.simulation.platform_arguments());
        simulation.args(command.simulation.as_arguments());
        simulation.args(command.compute.given());
        simulation.args([
            "-q",
            "--payload",
            "phantom",
            "-n",
            &plan.ranks.to_string(),
            "--",
        ]);
        add_run(&mut all, &case, &output(simulation.args(arguments))?);
    }
    if all.is_empty() {
        return Err(
            "the program printed no times: expected lines such as \"round 3: 12.5 us\"".to_owned(),
        );
    }
    Ok(all)
}

/// Times of all cases, and the reference blocks before and after.
type Measured = (Vec<RoundTimes>, Vec<(u64, f64)>);

/// Runs all cases for real, again and again, with the reference blocks before and after.
fn measured(plan: &ComparisonPlan<'_>) -> Result<Measured, String> {
    let command = plan.command;
    let mut blocks = references(plan, 1)?;
    let mut all = Vec::new();
    for _ in 0..command.runs {
        for (case, arguments) in command.cases() {
            let mut real = plan.child_command(plan.program.file());
            // Each line printed at once would wake this process, which would take a rank's core.
            real.args(["real", "--prefix-rank=false", "--output", "at-end", "-q"]);
            let protocol = command.simulation.protocol;
            real.args(command.way.for_real(command.backend, protocol));
            if plan.place.is_none() {
                real.args(["-n", &plan.ranks.to_string()]);
            }
            real.arg("--").args(arguments);
            add_run(&mut all, &case, &output(&mut real)?);
        }
    }
    blocks.extend(references(plan, 2)?);
    Ok((all, reference_times(&blocks)))
}

impl ComparisonPlan<'_> {
    /// A process that takes this one's place in the allocation, if there is one. Each meets its
    /// like where nobody else does: a rank may have started its next process while the run before
    /// is still ending elsewhere. All ranks start the same ones in the same order.
    fn child_command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(place) = &self.place {
            let number = self.started.get() + 1;
            self.started.set(number);
            let mut path = place.bootstrap_path().into_os_string();
            path.push(format!(".{number}"));
            command.env(BOOTSTRAP_FILE, path);
        }
        command
    }
}

/// The calibration's reference blocks, now.
fn references(plan: &ComparisonPlan<'_>, number: u32) -> Result<Vec<validation::Block>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("references.csv");
    let simrun = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut measure = plan.child_command(&simrun);
    measure.arg("measure");
    if plan.place.is_none() {
        measure.args(["-n", &plan.ranks.max(2).to_string()]);
    }
    measure.args(["--kernels", "pp", "--effort", "quick", "--time-limit", "2"]);
    measure.args(["--sizes", "8", "--held-out", "0", "--max-size", "64KiB"]);
    measure.args(plan.command.way.for_measure(plan.command.backend));
    output(measure.arg("--out").arg(&path))?;
    if plan.place.as_ref().is_some_and(|place| place.rank > 0) {
        return Ok(Vec::new());
    }
    let text = text_of(&path)?;
    match read(&path.display().to_string(), &text).map_err(|error| error.to_string())? {
        Measurements::Samples(mut blocks) => {
            for block in &mut blocks {
                block.session = number;
            }
            Ok(blocks)
        }
        Measurements::Table(_) => Ok(Vec::new()),
    }
}

/// Returns the output of a process; its errors go where ours go.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{name}: cannot start it: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{name}: exited with {}", output.status))
    }
}
