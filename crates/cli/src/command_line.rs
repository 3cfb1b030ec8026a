//! The command line of `simrun` itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::error::ErrorKind;
use clap::{Args as _, CommandFactory, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use simrun::args::{EXIT_STATUS, RunArgs};
use simrun::transport_args::Network;
use simrun::{
    CHECK_EXIT_STATUS, CheckArgs, REAL_EXIT_STATUS, RealArgs, VERSION, drawing, is_help_short,
    package, prepare_help, quoted, status,
};

use crate::companion::{TOOLS, are_for_tools};
use crate::conformance::{self, ConformanceCommand};
use crate::graph::{self, GraphCommand};
use crate::help_pages;
use crate::new::{self, NewCommand};
use crate::platform_command::{self, PlatformCommand};
use crate::rerun::{self, RerunCommand};

const USAGE: &str = "simrun [OPTIONS] APP [ARGUMENTS OF APP]\n       simrun COMMAND";
const ABOUT_APP: &str = "\
APP is the folder of a package, such as apps/ring, which is built first, or a built program.
APP can also be an MPI program in C or C++ that simrun cc or mpicc_abi has compiled.
simrun APP without a command means simrun run APP; simrun APP --help shows also the arguments of APP.";

const ABOUT_CHECK: &str = "\
APP is the folder of a package, such as apps/philosophers, which is built first, or a built program.
simrun check APP --help shows also the arguments of APP.";

const CHECK_EXAMPLES: &str = "\
Examples:
  simrun check apps/allreduce -n 4
  simrun check apps/allreduce -n 4 --collectives algorithm
  simrun check apps/allreduce -n 4 --reductions any

";

const RUN_EXAMPLES: &str = "\
Examples:
  simrun run -p platforms/cluster.toml -n 8 apps/ring
  simrun run -p platforms/cluster.toml --set 'clusters.*.latency*=2' apps/ring
  simrun run -p platforms/cluster.toml apps/ring -- --size 1MiB
  simrun run -p platforms/cluster.toml --analyse apps/ring

";

const REAL_EXAMPLES: &str = "\
Examples:
  simrun real -n 4 apps/ring
  simrun real -n 2 --hosts hosts.txt apps/pingpong

";

const ABOUT_REAL: &str = "\
APP is the folder of a package, such as apps/ring, which is built first, or a built program.
simrun real APP --help shows also the arguments of APP.";

/// Simulates message-passing programs on modelled machines
#[derive(Parser)]
#[command(name = "simrun", version = VERSION, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(override_usage = USAGE, before_help = ABOUT_APP, after_help = format!("{RUN_EXAMPLES}{EXIT_STATUS}"))]
#[command(help_template = "{about}\n\nUsage: {usage}\n\n{before-help}{all-args}{after-help}")]
struct Cli {
    #[command(subcommand)]
    command: Option<Sub>,

    #[command(flatten)]
    run: RunCommand,
}

#[derive(clap::Args)]
struct RunCommand {
    /// The folder of a package, or a built program
    #[arg(value_name = "APP", hide = true)]
    app: Option<PathBuf>,

    #[command(flatten)]
    options: RunArgs,
}

#[derive(clap::Args)]
struct CheckCommand {
    /// The folder of a package, or a built program
    #[arg(value_name = "APP", hide = true)]
    app: Option<PathBuf>,

    #[command(flatten)]
    options: CheckArgs,
}

#[derive(clap::Args)]
struct RealCommand {
    /// The folder of a package, or a built program
    #[arg(value_name = "APP", hide = true)]
    app: Option<PathBuf>,

    #[command(flatten)]
    options: RealArgs,
}

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct CompilerCommand {
    /// Arguments of the compiler; --show prints its command instead
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

/// The commands by subject, in the order of the help.
const SUBJECTS: [(&str, &str); 6] = [
    ("Programs", "run, check, real, rerun, new"),
    ("Compilers", "cc, cxx, wrappers"),
    (
        "Platforms",
        "platform, collectives, measure, calibrate, validate, compare",
    ),
    ("Observation", "analyse, trace, whatif, draw, graph"),
    ("Campaigns", "study, optimise, fuzz, conformance"),
    ("Help", "completions, man, help"),
];

/// Returns the command line with the form of help that the arguments ask for.
fn command_line(arguments: &[OsString]) -> clap::Command {
    let command = prepare_help(Cli::command(), arguments);
    let is_short = is_help_short(arguments);
    let about = |name| command.find_subcommand(name)?.get_about();
    let mut text = String::new();
    for (subject, names) in SUBJECTS {
        if is_short {
            text += &format!("{:15}{names}\n", format!("{subject}:"));
            continue;
        }
        text += &format!("\n\n{subject}:");
        for name in names.split(", ") {
            let about = about(name).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Print the help of a command".to_owned());
            text += &format!("\n  {name:11}  {about}");
        }
    }
    let about_app = if is_short { "" } else { ABOUT_APP };
    let command = command.before_help(format!("{about_app}{}", text.trim_end()));
    command.mut_subcommands(|one| one.hide(true))
}

/// Action on a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Run,
    Check,
    /// True if it needs to be built with verbs.
    Real(bool),
}

#[derive(Subcommand)]
enum Sub {
    /// Simulate a program on a platform (default command)
    #[command(override_usage = "simrun [run] [OPTIONS] APP [ARGUMENTS OF APP]")]
    #[command(before_help = ABOUT_APP, after_help = format!("{RUN_EXAMPLES}{EXIT_STATUS}"))]
    #[command(help_template = "{about}\n\nUsage: {usage}\n\n{before-help}{all-args}{after-help}")]
    Run(Box<RunCommand>),
    /// Model-check a program: explore its interleavings and report errors
    #[command(override_usage = "simrun check [OPTIONS] APP [ARGUMENTS OF APP]")]
    #[command(before_help = ABOUT_CHECK, after_help = format!("{CHECK_EXAMPLES}{CHECK_EXIT_STATUS}"))]
    #[command(help_template = "{about}\n\nUsage: {usage}\n\n{before-help}{all-args}{after-help}")]
    Check(Box<CheckCommand>),
    /// Run a program on a real network
    #[command(override_usage = "simrun real [OPTIONS] APP [ARGUMENTS OF APP]")]
    #[command(before_help = ABOUT_REAL, after_help = format!("{REAL_EXAMPLES}{REAL_EXIT_STATUS}"))]
    #[command(help_template = "{about}\n\nUsage: {usage}\n\n{before-help}{all-args}{after-help}")]
    Real(Box<RealCommand>),
    /// Inspect, check and import platform files
    #[command(subcommand)]
    Platform(PlatformCommand),
    /// Test an InfiniBand adapter, packet by packet
    #[command(after_help = "Example:\n  simrun conformance --case C09-060")]
    Conformance(ConformanceCommand),
    /// Print a protocol state machine as a graph
    #[command(after_help = "Example:\n  simrun graph send --format svg")]
    Graph(GraphCommand),
    /// Analyse the event log of a run: where the time is spent, and why
    Analyse,
    /// Fit a network model to measurements and write a platform file
    Calibrate,
    /// Measure a network for `calibrate`
    Measure,
    /// Judge a platform by published times of collective operations
    Validate,
    /// Compare the simulation of a program with real runs
    Compare,
    /// List, explain and tune algorithms of collective operations
    Collectives,
    /// Draw a figure or a platform as SVG or PNG
    Draw,
    /// Run random interactions over endpoints, and shrink what fails
    Fuzz,
    /// Search the best point of a parameter space within a number of runs
    Optimise,
    /// Run a program at all points of a parameter space
    Study,
    /// Vary each parameter of a platform, and print its effect on the time of a program
    Whatif,
    /// Make timelines of runs from their event logs
    Trace,
    /// Compile an MPI program in C for simrun run and simrun check
    #[command(after_help = "Example: simrun cc -O2 -g -o ring apps/c/ring.c")]
    Cc(CompilerCommand),
    /// Compile an MPI program in C++ for simrun run and simrun check
    #[command(after_help = "Example: simrun cxx -O2 -g -o solver solver.cc")]
    Cxx(CompilerCommand),
    /// Make links mpicc, mpicxx, mpic++, mpirun and mpiexec to simrun, and print their folder
    #[command(after_help = "Example: PATH=$(simrun wrappers):$PATH make")]
    Wrappers,
    /// Make a recorded run again, and compare
    #[command(after_help = "Example:\n  simrun rerun DIR")]
    Rerun(RerunCommand),
    /// Create a new package
    #[command(after_help = "Example:\n  simrun new my-program")]
    New(NewCommand),
    /// Print a script that completes the command line in a shell
    #[command(
        after_help = "Example:\n  simrun completions bash > ~/.local/share/bash-completion/completions/simrun"
    )]
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the man pages of all commands
    #[command(after_help = "Example:\n  simrun man /usr/local/share/man/man1")]
    Man {
        /// The folder that they go to, such as /usr/local/share/man/man1
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// `simrun`, with the arguments of the process.
pub(crate) fn simrun() -> ExitCode {
    package::declare_simrun();
    let mut arguments = std::env::args_os();
    match arguments.next().and_then(package::wrapped_command) {
        Some("run") => act_on(launcher_arguments(arguments.collect())),
        Some(command) => {
            let all: Vec<OsString> = std::iter::once(command.into()).chain(arguments).collect();
            act_on_compiled(&all)
        }
        None => act_on(arguments.collect()),
    }
}

/// The platform of programs that are started by `mpirun` or `mpiexec` without a platform.
const PLATFORM: &str = "SIMRUN_PLATFORM";

/// Returns the arguments of `simrun run` for arguments of `mpirun` or `mpiexec`: `-np` is `-n`, and
/// the platform may come from the environment.
fn launcher_arguments(mut arguments: Vec<OsString>) -> Vec<OsString> {
    for at in 0..arguments.len() {
        // Behind the program are its own arguments.
        if arguments[at] == "-np" && first_plain(&arguments[..at], Mode::Run).is_none() {
            arguments[at] = "-n".into();
        }
    }
    let program = first_plain(&arguments, Mode::Run).unwrap_or(arguments.len());
    if program < arguments.len() {
        arguments.insert(program + 1, "--".into());
    }
    let names_platform = |word: &OsString| {
        let word = word.to_string_lossy();
        word.starts_with("--platform") || word.starts_with("-p")
    };
    if !arguments[..program].iter().any(names_platform)
        && let Some(file) = std::env::var_os(PLATFORM).filter(|file| !file.is_empty())
    {
        arguments.splice(..0, ["--platform".into(), file]);
    }
    arguments.insert(0, "run".into());
    arguments
}

/// Acts on the arguments of `simrun`.
fn act_on(mut arguments: Vec<OsString>) -> ExitCode {
    // As in `simrun -q run APP`: options may stand before the command.
    if let Some(at) = first_plain(&arguments, Mode::Run)
        && is_command(&arguments[at])
    {
        arguments[..=at].rotate_right(1);
    }
    if are_for_tools(&arguments) {
        return TOOLS.hand_over(&arguments);
    }
    let first = arguments.first().and_then(|first| first.to_str());
    let is_compiler = matches!(first, Some("cc" | "cxx"));
    if is_compiler && arguments[1..] == ["-h"] {
        // Compilers have no such option; with --help they print their own help.
        arguments = vec!["help".into(), arguments.swap_remove(0)];
    } else if is_compiler || first == Some(package::AS_PROGRAM) {
        return act_on_compiled(&arguments);
    }
    let program_name = OsString::from("simrun");
    let found = command_line(&arguments)
        .try_get_matches_from(std::iter::once(&program_name).chain(&arguments))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match found {
        Ok(cli) => cli,
        Err(error) => return answer_mistake(&error, &arguments),
    };
    match cli.command {
        Some(Sub::Run(run)) => start_run(&run, &arguments[1..]),
        Some(Sub::Check(check)) => {
            let quiet = check.options.output.quiet;
            refuse_missing(check.options.simulation.platform.as_deref()).unwrap_or_else(|| {
                start_app(check.app.as_deref(), Mode::Check, quiet, &arguments[1..])
            })
        }
        Some(Sub::Real(real)) => {
            let quiet = real.options.output.quiet;
            let mode = Mode::Real(real.options.backend == Network::Verbs);
            start_app(real.app.as_deref(), mode, quiet, &arguments[1..])
        }
        Some(Sub::Platform(command)) => platform_command::run_platform(&command),
        Some(Sub::Conformance(command)) => conformance::run_conformance(&command),
        Some(Sub::Graph(command)) => graph::print_graph(&command),
        Some(
            Sub::Analyse
            | Sub::Whatif
            | Sub::Calibrate
            | Sub::Collectives
            | Sub::Measure
            | Sub::Validate
            | Sub::Compare
            | Sub::Draw
            | Sub::Fuzz
            | Sub::Optimise
            | Sub::Study
            | Sub::Trace,
        ) => TOOLS.hand_over(&arguments),
        Some(Sub::Cc(_) | Sub::Cxx(_) | Sub::Wrappers) => act_on_compiled(&arguments),
        Some(Sub::Rerun(command)) => rerun::rerun_record(&command),
        Some(Sub::New(command)) => new::new(&command),
        Some(Sub::Completions { shell }) => help_pages::completions(shell, Cli::command()),
        Some(Sub::Man { folder }) => help_pages::man(&folder, Cli::command()),
        None => start_run(&cli.run, &arguments),
    }
}

/// Answers arguments that are none of `simrun`, or that ask for help.
fn answer_mistake(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let named = match arguments.first().and_then(|first| first.to_str()) {
        Some("run") => Some(Mode::Run),
        Some("check") => Some(Mode::Check),
        Some("real") => Some(Mode::Real(false)),
        _ => None,
    };
    let rest = &arguments[usize::from(named.is_some())..];
    let mode = named.unwrap_or(Mode::Run);
    let app = first_plain(rest, mode).map(|at| &rest[at]);
    if let Some(app) = app.filter(|app| named.is_some() || !is_command(app)) {
        let app = Path::new(app);
        if error.kind() == ErrorKind::DisplayHelp {
            // The program's help has the options of the run, and its own arguments.
            return hand_over(app, mode, false, rest);
        }
        if named.is_none() && !suggest_command(app).is_empty() {
            // The options are not judged: they are for another command.
            return hand_over(app, mode, false, &[]);
        }
    }
    status::show_usage_error(error)
}

/// Compiles MPI programs, or acts as a compiled one.
fn act_on_compiled(arguments: &[OsString]) -> ExitCode {
    #[cfg(feature = "compiled")]
    return cmpi::command::act_on(arguments);
    #[cfg(not(feature = "compiled"))]
    crate::companion::COMPILED.hand_over(arguments)
}

fn is_command(argument: &OsStr) -> bool {
    argument == "help" || Cli::command().find_subcommand(argument).is_some()
}

fn start_run(run: &RunCommand, arguments: &[OsString]) -> ExitCode {
    let (app, quiet) = (run.app.as_deref(), run.options.output.quiet);
    refuse_missing(run.options.program.simulation.platform.as_deref())
        .unwrap_or_else(|| start_app(app, Mode::Run, quiet, arguments))
}

/// Refuses a platform file that does not exist, before a program is built for a minute.
fn refuse_missing(platform: Option<&Path>) -> Option<ExitCode> {
    let missing = platform.filter(|file| !file.exists())?;
    platform::read_text(missing).err().map(status::refuse)
}

fn start_app(app: Option<&Path>, mode: Mode, quiet: bool, arguments: &[OsString]) -> ExitCode {
    // After -- there are arguments of the program only.
    match app.filter(|_| first_plain(arguments, mode).is_some()) {
        Some(app) => hand_over(app, mode, quiet, arguments),
        None => status::refuse(
            "missing APP: expected a package directory, for example apps/ring, or an executable",
        ),
    }
}

/// Replaces this process by the program, which has said who it is, so that signals and statuses are
/// the program's own.
fn hand_over(app: &Path, mode: Mode, quiet: bool, arguments: &[OsString]) -> ExitCode {
    let features: &[&str] = match mode {
        Mode::Real(true) => &["simrun/verbs"],
        _ => &[],
    };
    let mut own: Vec<OsString> = match mode {
        Mode::Run => Vec::new(),
        Mode::Check => vec!["check".into(), "--called-as".into(), called_as(app).into()],
        Mode::Real(_) => vec!["real".into()],
    };
    own.extend(without_app(arguments, mode));
    if package::may_be_compiled(app) {
        own.splice(..0, [package::AS_PROGRAM.into(), app.into()]);
        return act_on_compiled(&own);
    }
    let program = match package::find_program(app, quiet, features) {
        Ok(program) => program,
        Err(error) => return status::refuse(format_args!("{error}{}", suggest_command(app))),
    };
    let mut command = Command::new(&program);
    command.envs(package::simrun().map(|simrun| (drawing::COMMAND, simrun)));
    let error = command.args(own).exec();
    status::refuse(format_args!(
        "{}: cannot start it: {error}: expected a program that is built with simrun",
        app.display()
    ))
}

/// Returns the end of a message about an APP that is missing: the command of a similar name.
fn suggest_command(app: &Path) -> String {
    let is_missing = |path: &Path| !path.exists();
    let command = Cli::command();
    let known = command.get_subcommands().map(clap::Command::get_name);
    match app.to_str() {
        Some(word) if is_missing(app) && is_missing(&Path::new("apps").join(app)) => {
            platform::suggest_word(word, known.chain(["help"]))
        }
        _ => String::new(),
    }
}

/// Returns the beginning of a command that checks the program.
pub(crate) fn called_as(app: &Path) -> String {
    let simrun = std::env::args().next().unwrap_or_default();
    let called = [&simrun, "check", &app.to_string_lossy()].map(quoted);
    called.join(" ")
}

/// The arguments but for APP.
fn without_app(arguments: &[OsString], mode: Mode) -> Vec<OsString> {
    let mut rest = arguments.to_vec();
    if let Some(at) = first_plain(arguments, mode) {
        rest.remove(at);
    }
    rest
}

/// Where the first argument stands that is neither an option of a run nor an option's value: a
/// command, or APP.
fn first_plain(arguments: &[OsString], mode: Mode) -> Option<usize> {
    let command = match mode {
        Mode::Run => RunArgs::augment_args(clap::Command::new("run")),
        Mode::Check => CheckArgs::augment_args(clap::Command::new("check")),
        Mode::Real(_) => RealArgs::augment_args(clap::Command::new("real")),
    };
    let takes_value = |is_it: &dyn Fn(&clap::Arg) -> bool| {
        let option = command.get_arguments().find(|option| is_it(option));
        // A value that has to follow = is no argument of its own.
        option.is_some_and(|option| {
            option.get_action().takes_values() && !option.is_require_equals_set()
        })
    };
    let mut at = 0;
    while at < arguments.len() {
        let text = arguments[at].as_encoded_bytes();
        let value_follows = match text {
            b"--" => return None,
            [b'-', b'-', name @ ..] => takes_value(&|option| {
                let aliases = option.get_all_aliases().unwrap_or_default();
                let mut names = option.get_long().into_iter().chain(aliases);
                names.any(|known| known.as_bytes() == name)
            }),
            [b'-', flags @ ..] if !flags.is_empty() => {
                let is_value = |&flag: &u8| {
                    takes_value(&|option| option.get_short() == Some(char::from(flag)))
                };
                flags.iter().position(is_value) == Some(flags.len() - 1)
            }
            _ => return Some(at),
        };
        at += 1 + usize::from(value_follows);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_is_found_wherever_it_stands() {
        let check_in = |mode: Mode, line: &str, expected: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let rest = without_app(&arguments, mode);
            let rest: Vec<&str> = rest
                .iter()
                .map(|argument| argument.to_str().unwrap())
                .collect();
            assert_eq!(rest.join(" "), expected, "{line}");
        };
        let check = |line: &str, expected: &str| check_in(Mode::Run, line, expected);
        check_in(Mode::Check, "--replay 1;2 ring -n 3", "--replay 1;2 -n 3");
        check_in(Mode::Check, "--stop-at-first ring", "--stop-at-first");
        check("--platform p.toml ring", "--platform p.toml");
        check("--platform=p.toml ring", "--platform=p.toml");
        check("ring --platform p.toml", "--platform p.toml");
        check("--platform ring ring -n 3", "--platform ring -n 3");
        check("ring --platform ring", "--platform ring");
        check("-q ring -- ring --size 1", "-q -- ring --size 1");
        check("-qn 3 ring", "-qn 3");
        check("-n3 ring", "-n3");
        check("-vp p.toml ring", "-vp p.toml");
        check("-n ring -- ring", "-n ring -- ring");
        check("-q -- ring", "-q -- ring");
        check("--analyse ring", "--analyse");
        check("--analyse=ring app", "--analyse=ring");
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
