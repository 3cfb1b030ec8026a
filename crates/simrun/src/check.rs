//! `simrun check APP`: explores every distinguishable order of a program's steps for errors.
//!
//! The search is the crate `explore`; this module is its command line: options, progress, output
//! and exit status. Each finding is replayed once before the output, so every printed finding has
//! happened twice.

mod args;
mod json;
mod resume;
mod search;
mod slices;
mod text;
mod timeline;
mod words;

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use explore::{
    Critical, Deadline, End, Finding, FindingKind, FindingStep, ReceiveOrder, ReplayResult,
};
use platform::Platform;
use run::{Mapping, MessageProtocol, Output, Program, QueueNumbers, RunError};
use sim_core::{ActorId, Console, Level, LogLine, RunProgress, Schedule, Stepper, WaitGraph};

pub(crate) use self::args::protocol_option;
pub use self::args::{CheckArgs, EXIT_STATUS, quoted};
pub(crate) use self::text::clock_warning;
use crate::args::mapping;
use crate::guard::{self, Guard, Misdeed, Watched};
use crate::memory::{self, Estimate};
use crate::{entry, status};

/// Maximum number of steps that are executed to know up to where a correct run was possible.
const CRITICAL_BUDGET: u64 = 50_000;

/// Maximum number of steps that are executed to look for a shorter way to a finding.
const SHORTER_BUDGET: u64 = 100_000;

/// A finding, followed once more.
struct Found {
    finding: Finding,
    /// The actors that had not ended, and where they were.
    states: WaitGraph,
    /// Knowledge of shorter ways.
    schedule_kind: ScheduleKind,
    /// From where on no run was correct; `None` if that depends on waits.
    critical: Option<Critical>,
    /// The source location of the panic, if the program panicked, as `file:line:column`.
    place: Option<String>,
    /// The waits that MPI permits and without which the failure occurs, in words.
    conditions: Vec<String>,
    /// A command that reproduces the finding.
    command: String,
    /// Where the program has read the time on the way, which stands still.
    clock_reads: Vec<String>,
}

/// The way to a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScheduleKind {
    /// The given schedule, which is replayed.
    Given,
    /// The shortest that was found.
    ShortestFound,
    /// The shortest that there is.
    Shortest,
}

impl Found {
    /// Draws the way there.
    fn draw_timeline(&self, name: &str, path: &Path) -> Result<(), ExitCode> {
        let title = format!("{name}: {}", self.finding.kind.name());
        let (steps, fault) = (&self.finding.steps, (self.critical, Some(&self.finding)));
        let picture = timeline::build_timeline(title, steps, &self.states, fault);
        timeline::write_timeline(path, &picture)
    }

    /// Returns the mistake in one paragraph.
    fn problem_text(&self) -> String {
        let mut message = self.finding.message.trim_end().to_owned();
        if let Some(place) = &self.place
            && self.finding.kind.name() == "panic"
        {
            let _ = write!(message, " (at {place})");
        }
        if !self.conditions.is_empty() {
            let _ = write!(
                message,
                "\noccurs only if {}",
                self.conditions.join(" and ")
            );
        }
        message
    }
}

/// A rank receives in an order that is not determined.
struct Warning {
    order: ReceiveOrder,
    /// For both orders, the steps of a run with that order, and a command that replays the run.
    commands: Vec<(String, String)>,
}

impl Warning {
    /// Returns the part that is not determined, in one sentence.
    fn problem_text(&self) -> String {
        let ReceiveOrder {
            name,
            position,
            line,
            orders: [one, other],
            ..
        } = &self.order;
        format!(
            "nondeterministic receive order at {name}: wildcard receive {} at {line} matches {} or {}",
            position + 1,
            one.names[*position],
            other.names[*position],
        )
    }
}

/// The program's output, which is shown only while a schedule is replayed.
struct ReplayOutput {
    output: Output,
    is_open: Cell<bool>,
}

impl Console for ReplayOutput {
    fn print(&self, actor: ActorId, text: fmt::Arguments<'_>) {
        if self.is_open.get() {
            self.output.print(actor, text);
        }
    }

    fn wants(&self, level: Level, actor: ActorId) -> bool {
        self.is_open.get() && self.output.wants(level, actor)
    }

    fn log(&self, line: &LogLine<'_>) {
        self.output.log(line);
    }
}

/// Creates a program with arguments, on any thread.
pub(crate) type MakeProgram<'a> = &'a (dyn Fn() -> Rc<dyn Program> + Sync);

/// One program, ready to be searched as often as need be.
struct Subject<'a> {
    name: &'a str,
    make: MakeProgram<'a>,
    args: &'a CheckArgs,
    platform: Option<Arc<Platform>>,
    mapping: Mapping,
    protocol: Option<MessageProtocol>,
    guard: &'a Guard,
}

impl Subject<'_> {
    /// Returns the program as a stepper without simulated time, and the output of the program.
    fn build_stepper(&self) -> Result<(Stepper, Rc<ReplayOutput>), ExitCode> {
        let made = self.stepper_with(&QueueNumbers::default());
        made.map_err(status::refuse)
    }

    /// The same, with queues that have the same numbers wherever these are used.
    fn stepper_with(&self, numbers: &QueueNumbers) -> Result<(Stepper, Rc<ReplayOutput>), String> {
        let stream = self.args.output.format.program_stream();
        let mut output = Output::new(stream, false, self.args.output.log.clone());
        output.set_guard(Box::new(|write| {
            if !guard::is_child() {
                write();
            }
        }));
        let gate = Rc::new(ReplayOutput {
            output,
            is_open: Cell::new(false),
        });
        let (mut options, program) = (
            self.args.run_options(self.mapping.clone(), self.protocol),
            (self.make)(),
        );
        let progress = Arc::new(RunProgress::default());
        options.progress = Some(Arc::clone(&progress));
        self.guard.add_kernel(progress);
        let console = Some(Rc::clone(&gate) as Rc<dyn Console>);
        let platform = self.platform.as_ref();
        // A program may panic before its first step, and the search reports the panic.
        let stepper = run::without_panic_messages(|| {
            run::stepper(platform, program, &options, console, numbers)
        });
        let mut stepper = stepper.map_err(|error: RunError| error.to_string())?;
        if self.args.transfers_are_instant() {
            stepper.use_instant_transfers();
        }
        if self.args.explore_timeouts {
            stepper.allow_timeouts();
        }
        if self.args.max_faults > 0 {
            let allowed = stepper.allow_failures(self.args.max_faults, &self.args.fault_targets);
            allowed.map_err(|unknown| {
                let names = unknown.join(", ");
                format!("--fault-targets: there is no host and no link called {names}")
            })?;
        }
        Ok((stepper, gate))
    }

    /// A shorter way to a finding, followed in a program that has not been searched, as a replay
    /// will.
    ///
    /// `has_correct`: some execution may be correct.
    fn shorten_finding(
        &self,
        finding: &Finding,
        has_correct: bool,
        deadline: &Deadline,
    ) -> Result<Found, ExitCode> {
        let schedule_kind = (&finding.steps[..], &finding.replay);
        let shorter = self.alone(schedule_kind, |stepper, schedule| {
            let found = explore::replay_schedule(stepper, schedule).finding?;
            let shorter = explore::minimise(stepper, &found, deadline);
            Some(explore::shortest(
                stepper,
                &shorter,
                SHORTER_BUDGET,
                deadline,
            ))
        })?;
        let (shorter, schedule_kind) = match &shorter {
            Some(shorter) if shorter.is_proven => (&shorter.finding, ScheduleKind::Shortest),
            Some(shorter) => (&shorter.finding, ScheduleKind::ShortestFound),
            None => (finding, ScheduleKind::ShortestFound),
        };
        let again = self.show_again(shorter, Some((has_correct, deadline)))?;
        let is_same = |again: &Found| again.finding.kind.name() == finding.kind.name();
        let again = again.filter(is_same).map(|again| Found {
            schedule_kind,
            ..again
        });
        match again {
            Some(again) => Ok(again),
            None => Err(self.refuse_other_end(finding)?),
        }
    }

    /// Says that a schedule does not lead to the same finding again.
    fn refuse_other_end(&self, finding: &Finding) -> Result<ExitCode, ExitCode> {
        let (mut stepper, _) = self.build_stepper()?;
        let (repeats, _) =
            run::with_silent_panics(|| explore::repeats_schedule(&mut stepper, &finding.replay));
        let (cause, status) = if repeats {
            ("internal error", status::BUG)
        } else {
            ("the program is not deterministic", status::FAILED)
        };
        status::refuse(format_args!(
            "{cause}: replaying the same schedule gives a different {}: {}",
            finding.kind.name(),
            finding.replay
        ));
        Ok(ExitCode::from(status))
    }

    /// Follows a finding in a program that has not been searched; `explains` as in
    /// [`Subject::follow_schedule`].
    fn show_again(
        &self,
        finding: &Finding,
        explains: Option<(bool, &Deadline)>,
    ) -> Result<Option<Found>, ExitCode> {
        let schedule = self.alone((&finding.steps, &finding.replay), |_, schedule| {
            Some(schedule.clone())
        })?;
        match schedule {
            Some(schedule) => Ok(self.follow_schedule(&schedule, false, explains)?.1),
            None => Ok(None),
        }
    }

    /// Returns a warning, with commands that replay its two runs.
    fn warning(&self, order: &ReceiveOrder) -> Result<Warning, ExitCode> {
        let mut commands = Vec::new();
        for taken in &order.orders {
            let run = (&taken.steps[..], &taken.replay);
            let schedule = self.alone(run, |_, schedule| Some(schedule.clone()))?;
            let schedule = schedule.as_ref().unwrap_or(&taken.replay);
            let command = self.args.replay_command(self.name, schedule, self.protocol);
            commands.push((schedule.to_string(), command));
        }
        Ok(Warning {
            order: order.clone(),
            commands,
        })
    }

    /// Calls `f` with the schedule of such steps, in a program that is begun for the first time.
    fn alone<T>(
        &self,
        (steps, replay): (&[FindingStep], &Schedule),
        f: impl FnOnce(&mut Stepper, &Schedule) -> Option<T>,
    ) -> Result<Option<T>, ExitCode> {
        let (mut stepper, _) = self.build_stepper()?;
        let (result, _) = run::with_silent_panics(|| {
            let schedule = explore::schedule_alone(&mut stepper, steps, replay)?;
            f(&mut stepper, &schedule)
        });
        Ok(result)
    }

    /// Follows a schedule, with the program's output or without. `explains`: the critical
    /// transition is looked for until the deadline; true if some execution may be correct.
    fn follow_schedule(
        &self,
        schedule: &Schedule,
        shows_output: bool,
        explains: Option<(bool, &Deadline)>,
    ) -> Result<(ReplayResult, Option<Found>), ExitCode> {
        let (mut stepper, gate) = self.build_stepper()?;
        let (followed, place) =
            run::with_silent_panics(|| explore::replay_schedule(&mut stepper, schedule));
        if shows_output && followed.impossible.is_none() {
            gate.is_open.set(true);
            run::with_quiet_panics(|| explore::replay(&mut stepper, schedule));
            gate.is_open.set(false);
        }
        let found = followed.finding.clone().map(|finding| Found {
            states: match &finding.kind {
                FindingKind::ConditionalDeadlock(deadlock) => deadlock.graph.clone(),
                _ => stepper.wait_graph(),
            },
            clock_reads: stepper.clock_reads(),
            conditions: stepper.conditions_of_failure(),
            command: self
                .args
                .replay_command(self.name, &finding.replay, self.protocol),
            schedule_kind: ScheduleKind::Given,
            critical: match (&finding.kind, explains) {
                (FindingKind::ConditionalDeadlock(_), _) | (_, None) => None,
                (_, Some((true, deadline))) => Some(run::without_panic_messages(|| {
                    explore::critical(&mut stepper, &finding, CRITICAL_BUDGET, deadline)
                })),
                (_, Some((false, _))) => Some(Critical::Everything),
            },
            finding,
            place,
        });
        Ok((followed, found))
    }
}

/// Searches, or replays the schedule of `--replay`; the exit status is the verdict.
pub(crate) fn run_check(name: &str, make: MakeProgram<'_>, args: &CheckArgs) -> ExitCode {
    if args.never_ends() {
        return status::refuse(
            "--strategy: a random search needs a limit, for example --max-executions 1000",
        );
    }
    if let Some(problem) = args.contradiction() {
        return status::refuse(problem);
    }
    let simulation = &args.simulation;
    let platform = simulation
        .platform
        .as_ref()
        .map(|_| simulation.load_platform());
    let platform = match platform.transpose() {
        Ok(platform) => platform.map(Arc::new),
        Err(code) => return code,
    };
    let mapping = match mapping(&simulation.map) {
        Ok(mapping) => mapping,
        Err(error) => return status::refuse(error),
    };
    // Its name was judged before the inputs were known.
    if let Some(Err(problem)) = args.timeline.as_deref().map(files::Output::new) {
        return status::refuse(problem);
    }
    let stop = match &args.replay {
        // A replay does not look at it: signals end the process.
        Some(_) => Arc::default(),
        None => match entry::watch_signals() {
            Ok(stop) => stop,
            Err(error) => {
                return status::refuse(format_args!("cannot watch for Ctrl-C: {error}"));
            }
        },
    };
    let counts = Arc::new(explore::SearchProgress::default());
    let has_ranks = make().has_ranks();
    let ranks = has_ranks.then(|| args.rank_count());
    if let Some(Estimate::TooLarge(text)) = ranks.map(memory::estimate) {
        return status::limited(format_args!("out of memory: {text}"));
    }
    let guard = start_guard(args, has_ranks, &platform, &stop, &counts);
    let subject = Subject {
        name,
        make,
        args,
        platform,
        mapping,
        protocol: simulation.protocol,
        guard: &guard,
    };
    let done = match &args.replay {
        Some(schedule) => replay(&subject, schedule),
        None => search::search(&subject, stop, counts),
    };
    done.unwrap_or_else(|code| code)
}

/// Begins to watch a search or a replay.
fn start_guard(
    args: &CheckArgs,
    has_ranks: bool,
    platform: &Option<Arc<Platform>>,
    stop: &Arc<AtomicBool>,
    counts: &Arc<explore::SearchProgress>,
) -> Guard {
    let (platform, counts) = (platform.clone(), Arc::clone(counts));
    Guard::new(Watched {
        has_ranks,
        host_name: Box::new(move |host| match &platform {
            Some(platform) => platform.host_name(host).into_owned(),
            None => format!("host-{}", host.0),
        }),
        stop: Arc::clone(stop),
        max_time: args.max_seconds(),
        max_busy: None,
        is_timed: false,
        conclude: Box::new(move |stopped| {
            let mut stderr = guard::unlocked(&io::stderr());
            let (executions, transitions) = (counts.executions(), counts.transitions());
            // The process ends with its status in any case.
            let _ = writeln!(
                stderr,
                "{}\nno verdict after {executions} executions, {transitions} transitions",
                stopped.sentence()
            );
            stopped.cause.exit_status()
        }),
    })
}

/// Fails if the program forked or closed standard output; called before any output.
fn refuse_misdeeds(guard: &Guard) -> Result<(), ExitCode> {
    match guard.end_watch() {
        None => Ok(()),
        Some(Misdeed::Forked(failure)) => Err(status::failed(failure)),
        Some(Misdeed::Stdout) => Err(status::failed(guard::CLOSED)),
    }
}

/// Replays a schedule with the program's output, and shows the end.
fn replay(subject: &Subject<'_>, schedule: &Schedule) -> Result<ExitCode, ExitCode> {
    let args = subject.args;
    let deadline = Deadline::new(args.explain_seconds(), None);
    let (followed, found) = subject.follow_schedule(schedule, true, Some((true, &deadline)))?;
    refuse_misdeeds(subject.guard)?;
    if let Some(position) = followed.impossible {
        return Err(status::refuse(text::impossible(
            schedule, position, &followed,
        )));
    }
    let text = args.output.format.write_result(
        || text::of_replay(subject.name, &followed, found.as_ref()),
        || json::of_replay(subject.name, &followed, found.as_ref()),
    );
    print_text(&text)?;
    if let Some(path) = &args.timeline {
        match &found {
            Some(found) => found.draw_timeline(subject.name, path)?,
            None => {
                let title = format!("{}: a replay", subject.name);
                let none = WaitGraph::default();
                let picture = timeline::build_timeline(title, &followed.steps, &none, (None, None));
                timeline::write_timeline(path, &picture)?;
            }
        }
    }
    Ok(ExitCode::from(match followed.end {
        Some(End::Finished) => 0,
        Some(_) => status::FAILED,
        None => status::LIMIT,
    }))
}

/// Prints to standard output; a reader that has gone away is no failure.
fn print_text(text: &str) -> Result<(), ExitCode> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
    match written {
        Ok(()) => Ok(()),
        Err(problem) => status::output_failed(&problem).map_or(Ok(()), Err),
    }
}
