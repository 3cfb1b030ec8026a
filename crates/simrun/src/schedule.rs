//! `--schedule FILE`: the order of a run's steps, for `check --replay FILE`.
//!
//! A model checker's stepper repeats the run, step by step, and then replays the schedule. The file
//! is written only if each step was possible, the program printed the same output, and the run
//! ended in the same way. Otherwise the first difference is reported.
//!
//! *Not modelled*: properties that a checker does not know: dates, failures of hosts and links from
//! a profile, limits of packets and credits, and connections. Programs that read the time may print
//! other times.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use explore::{End, ReplayResult};
use platform::Platform;
use run::{Lines, MessageProtocol, Options, Program, QueueNumbers, Recording, Run, Transcript};
use sim_core::{ActorId, Console, Observed, OperationResult, Outcome, Schedule, Stepper};

use crate::args::RunArgs;
use crate::check::{clock_warning, protocol_option, quoted};
use crate::entry::{RequestedRun, Start};
use crate::observation::STDOUT_TAKEN;
use crate::{package, status, summary};

/// The file, and the recording of the run for the file.
pub(crate) struct ScheduleFile {
    file: files::Output,
    recording: Recording,
}

impl ScheduleFile {
    /// Finds the file of `--schedule`, and refuses runs that a checker can never repeat.
    pub(crate) fn asked_for(args: &RunArgs, start: &Start) -> Result<Option<Self>, String> {
        let Some(path) = args.schedule.as_deref() else {
            return Ok(None);
        };
        let file = files::Output::new(path).map_err(|error| error.to_string())?;
        if file.is_stdout() {
            return Err(format!("--schedule {file}: {STDOUT_TAKEN}"));
        }
        if let Some(reason) = run::not_explorable(&start.platform) {
            return Err(format!("--schedule: {reason}"));
        }
        let recording = Recording::default();
        Ok(Some(Self { file, recording }))
    }

    /// Where the run is written down.
    pub(crate) const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Writes the schedule of a run, and prints how to replay the schedule.
    pub(crate) fn write_schedule(
        &self,
        job: &RequestedRun,
        program: &Rc<dyn Program>,
        run: &Run,
    ) -> Result<(), String> {
        let subject = &job.args.program.simulation;
        let has_timeouts = self.recording.steps.borrow().iter().any(is_timeout);
        let checked = Checked {
            platform: &job.start.platform,
            program,
            options: Options {
                ranks: Some(run.ranks),
                seed: subject.seed,
                mapping: job.start.options.mapping.clone(),
                protocol: program
                    .has_ranks()
                    .then(|| checker_protocol(&job.args, &job.start.platform)),
                ..Options::default()
            },
            has_timeouts,
        };
        let schedule = checked.schedule(&self.recording, &run.report.outcome);
        let schedule = schedule.map_err(|problem| {
            format!("--schedule: check cannot take this run again: {problem}")
        })?;
        let command = replay_command(job, &checked, &self.file);
        let text = format!("# {command}\n{schedule}\n");
        self.file.write(text).map_err(|error| error.to_string())?;
        if !job.args.output.quiet {
            let steps = summary::count(schedule.0.len() as u64, "step");
            status::print_note(format_args!(
                "the schedule has {steps}; replay with\n  {command}"
            ));
        }
        Ok(())
    }
}

/// The message protocol under which a checker sends as the run did.
fn checker_protocol(args: &RunArgs, platform: &Platform) -> MessageProtocol {
    let threshold = platform.protocol().eager_threshold.bytes();
    let asked = args.program.simulation.protocol;
    asked.unwrap_or(MessageProtocol::Threshold(threshold))
}

/// Returns true if a step is the end of a time limit.
fn is_timeout(step: &Observed) -> bool {
    matches!(step, Observed::Transition(event) if event.answer == OperationResult::Timeout)
}

/// The command that replays a schedule.
fn replay_command(job: &RequestedRun, checked: &Checked<'_>, file: &files::Output) -> String {
    let (start, _) = package::split_command_line(Some("check"));
    let start: Vec<String> = start
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    let ranks = checked.options.ranks.unwrap_or(1);
    let mut command = format!("{} -n {ranks}", start.join(" "));
    let simulation = &job.args.program.simulation;
    command.push_str(&simulation.as_check_options());
    command.push_str(&protocol_option(checked.options.protocol));
    if checked.has_timeouts {
        command.push_str(" --explore-timeouts");
    }
    let _ = write!(command, " --replay {}", quoted(&file.to_string()));
    if !job.args.arguments.is_empty() {
        command.push_str(" --");
    }
    for argument in &job.args.arguments {
        let _ = write!(command, " {}", quoted(&argument.to_string_lossy()));
    }
    command
}

/// The program with the options of a checker.
struct Checked<'a> {
    platform: &'a Arc<Platform>,
    program: &'a Rc<dyn Program>,
    options: Options,
    has_timeouts: bool,
}

impl Checked<'_> {
    fn build_stepper(&self) -> Result<(Stepper, Rc<Transcript>), String> {
        let transcript = Rc::new(Transcript::default());
        let console = Some(Rc::clone(&transcript) as Rc<dyn Console>);
        let (program, numbers) = (Rc::clone(self.program), QueueNumbers::default());
        let stepper = run::stepper(
            Some(self.platform),
            program,
            &self.options,
            console,
            &numbers,
        );
        let mut stepper = stepper.map_err(|error| error.to_string())?;
        if self.has_timeouts {
            stepper.allow_timeouts();
        }
        Ok((stepper, transcript))
    }

    /// The schedule of a recorded run, or why there is none.
    fn schedule(&self, recording: &Recording, outcome: &Outcome) -> Result<Schedule, String> {
        let (retraced, _) = run::with_silent_panics(|| -> Result<_, String> {
            let (mut stepper, transcript) = self.build_stepper()?;
            let schedule = schedule_of_run(&mut stepper, &transcript, recording, outcome);
            let reads = stepper.clock_reads();
            schedule.map_err(|problem| match reads.is_empty() {
                true => problem,
                false => format!("{problem}; {}", clock_warning(&reads)),
            })
        });
        retraced
    }
}

/// Returns the schedule of a recorded run; a replay checks the schedule.
fn schedule_of_run(
    stepper: &mut Stepper,
    transcript: &Transcript,
    recording: &Recording,
    outcome: &Outcome,
) -> Result<Schedule, String> {
    let steps = recording.steps.borrow();
    let schedule = explore::schedule_of_run(stepper, &steps).map_err(|not| {
        let (step, all) = (not.position + 1, steps.len());
        format!("step {step} of {all}: {}", not.problem)
    })?;
    check_end(outcome, &explore::replay_schedule(stepper, &schedule))?;
    drop(transcript.take_lines());
    explore::replay(stepper, &schedule);
    // Programs that read the time may print it.
    if stepper.clock_reads().is_empty() {
        let name = |actor: ActorId| stepper.name_of(actor.number() - 1);
        check_lines(&recording.lines.borrow(), &transcript.take_lines(), name)?;
    }
    Ok(schedule)
}

/// Makes sure that a replay ends as the run did.
fn check_end(outcome: &Outcome, followed: &ReplayResult) -> Result<(), String> {
    let expected = match outcome {
        Outcome::Finished => "finished",
        Outcome::Deadlock(_) => "deadlocked",
        Outcome::Failed(_) | Outcome::ForeignFuture(_) | Outcome::BadInput(_) => "failed",
        Outcome::Limit(_) | Outcome::Interrupted | Outcome::Stopped => return Ok(()),
    };
    let found = match followed.end {
        Some(End::Finished | End::Leftovers | End::ConditionalDeadlock | End::Undecided) => {
            "finished"
        }
        Some(End::Deadlock | End::Livelock | End::Spinning) => "deadlocked",
        Some(End::Failed) => "failed",
        _ => "continues",
    };
    if expected == found {
        return Ok(());
    }
    let steps = followed.steps.len();
    let why = followed.finding.as_ref();
    let why = why.map_or(String::new(), |finding| format!(": {}", finding.message));
    Err(format!(
        "the run {expected}, but under check it {found} after {steps} steps{why}"
    ))
}

/// Makes sure that the program has printed the same.
fn check_lines(
    run: &Lines,
    replay: &Lines,
    name: impl Fn(ActorId) -> String,
) -> Result<(), String> {
    let nothing = Vec::new();
    for (&actor, replayed) in replay {
        let printed = run.get(&actor).unwrap_or(&nothing);
        if printed != replayed {
            return Err(other_line(&name(actor), printed, replayed));
        }
    }
    let silent = run.iter().find(|(actor, _)| !replay.contains_key(actor));
    silent.map_or(Ok(()), |(&actor, printed)| {
        Err(other_line(&name(actor), printed, &nothing))
    })
}

/// The first line of an actor that differs, in words.
fn other_line(name: &str, run: &[String], replay: &[String]) -> String {
    let longest = run.len().max(replay.len());
    let differs = |&line: &usize| run.get(line) != replay.get(line);
    let line = (0..longest).find(differs).unwrap_or(0);
    let text = |lines: &[String]| match lines.get(line) {
        Some(text) => format!("\"{text}\""),
        None => "nothing".to_owned(),
    };
    format!(
        "line {} of {name} is {} in the run, and {} under check",
        line + 1,
        text(run),
        text(replay)
    )
}
