//! `simrun fuzz`: random interactions over endpoints; failures are shrunk, shown and kept.
//!
//! Exit status 0 if no property was violated, 1 if a property was violated, 2 for bad input, 3 if
//! the time was over before all interactions were run.

mod backend;
mod freedoms;
mod layers;
mod options;
mod package;
mod position;
mod processes;
mod report;
#[cfg(feature = "verbs")]
mod verbs;
mod worker;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use simrun::{ProgressLine, status};

use layers::CommonArgs;

use crate::{
    CampaignEvent, CampaignSettings, Failure, Interaction, Outcome, Position, Shrinking, c_program,
    campaign, program_files, violation,
};
pub use options::FuzzCommand;
pub use worker::{WorkerCommand, run_worker};

/// Runs a campaign, or replays an interaction.
pub fn run_command(command: &FuzzCommand) -> ExitCode {
    let common = CommonArgs {
        tries: command.campaign.tries,
        errors: command.campaign.errors,
        seed: command.campaign.seed,
        replay: command.campaign.replay.as_deref(),
        out: &command.out,
        format: command.format,
        budget: command.campaign.budget,
        adapter: match command.layer_adapter() {
            Ok(adapter) => adapter,
            Err(error) => return status::refuse(error),
        },
    };
    if let Some(option) = command
        .of_endpoints()
        .filter(|_| !command.layers.is_endpoint())
    {
        return status::refuse(format_args!("{option}: expected --layer endpoint"));
    }
    if let Some(code) = layers::run_layer(&command.layers, &common) {
        return code;
    }
    let ran = match &command.campaign.replay {
        Some(file) => replay(file, command),
        None => run_campaign(command),
    };
    ran.unwrap_or_else(status::refuse)
}

fn replay(file: &Path, command: &FuzzCommand) -> Result<ExitCode, String> {
    let backend = backend::Backend::new(command)?;
    let text = files::read_text(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let interaction =
        Interaction::from_toml(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let steps = interaction.steps.len();
    let outcome = backend.run_interaction(&interaction)?;
    let violated = violation(&interaction, &outcome);
    let what = match &violated {
        None => "no property violated".to_owned(),
        Some((property, how)) => format!("{property}: {how}"),
    };
    if let Some(to) = command.layers.export() {
        export(to, &interaction, &backend, &outcome, &what)?;
    }
    let text = || match &violated {
        None => format!("{steps} steps: {what}"),
        Some(_) => {
            let observed = report::observations(&interaction, &outcome);
            format!("{steps} steps: {what}\n{observed}")
        }
    };
    let json = || report::replay_json(&interaction, &outcome, violated.as_ref());
    let printed = status::print(command.format.write_result(text, json));
    Ok(match violated {
        None => printed,
        Some(_) => ExitCode::from(status::FAILED),
    })
}

/// Writes an interaction as a program: C against libibverbs if the name ends so, else a package.
fn export(
    to: &Path,
    interaction: &Interaction,
    backend: &backend::Backend,
    outcome: &Outcome,
    what: &str,
) -> Result<(), String> {
    if to.extension().is_some_and(|extension| extension == "c") {
        let text = c_program(interaction, what);
        return files::write(to, text).map_err(|error| error.to_string());
    }
    let backend::Backend::Simulated(settings) = backend else {
        return Err(format!(
            "--export {}: expected a name that ends with .c, or --backend simulated",
            to.display()
        ));
    };
    let dependencies = [("endpoint", "simrun-endpoint", "endpoint")];
    let serde = "serde = { version = \"1\", features = [\"derive\"] }\n";
    let files = program_files(interaction, settings, outcome, what);
    package::write_package(to, &dependencies, serde, files)
}

fn lock_folder(folder: &Path) -> Result<files::FolderLock, String> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| format!("{}: {error}", folder.display()))?;
    files::FolderLock::exclusive(folder).map_err(|error| error.to_string())
}

fn run_campaign(command: &FuzzCommand) -> Result<ExitCode, String> {
    let backend = backend::Backend::new(command)?;
    let settings = CampaignSettings {
        generator: command.generator_settings()?,
        seed: command.campaign.seed,
        tries: (!command.campaign.endless).then_some(command.campaign.tries),
        errors: command.campaign.errors,
        shrink_budget: backend.shrink_budget(),
        jobs: usize::from(command.campaign.jobs),
        grows: command.campaign.endless,
    };
    let identity = position::campaign_identity(&settings, &backend);
    // Two campaigns in one folder would replace the position of each other.
    let endless = command.campaign.endless;
    let lock = endless.then(|| lock_folder(&command.out)).transpose()?;
    let begin = if endless {
        position::read_position(&command.out, &identity)?
    } else {
        Position::default()
    };
    let mut watch = Watch::new(command, (&identity, &backend), begin.tries);
    let run = |interaction: &Interaction| backend.run_interaction(interaction);
    let found = campaign(&settings, &run, begin, |event| match event {
        CampaignEvent::Batch(position, failures) => watch.observe_progress(position, failures),
        CampaignEvent::Shrinking(shrinking) => {
            watch.progress.show(|| shrinking_text(shrinking, "steps"));
            ControlFlow::Continue(())
        }
    })?;
    let Watch {
        kept,
        problem,
        is_over,
        progress,
        ..
    } = watch;
    drop((progress, lock));
    if let Some(problem) = problem {
        return Err(problem);
    }
    if let Some(file) = &command.junit {
        let text = report::junit(&found, command.campaign.seed);
        files::write(file, text).map_err(|error| error.to_string())?;
    }
    let text = command.format.write_result(
        || report::text_report(&found, &kept, command.campaign.seed),
        || report::json(&found, &kept, command.campaign.seed),
    );
    let printed = status::print(text);
    let has_more = settings
        .tries
        .is_some_and(|tries| found.position.tries < tries);
    Ok(if !found.failures.is_empty() {
        ExitCode::from(status::FAILED)
    } else if is_over && has_more {
        ExitCode::from(status::LIMIT)
    } else {
        printed
    })
}

/// Supervision of a campaign: keeps failures and the position, shows progress, watches the time.
struct Watch<'a> {
    command: &'a FuzzCommand,
    identity: &'a str,
    backend: &'a backend::Backend,
    /// Interactions before the begin.
    before: u64,
    progress: ProgressLine,
    failures: usize,
    /// Files of the shrunk failures.
    kept: Vec<PathBuf>,
    problem: Option<String>,
    /// The time is over.
    is_over: bool,
}

impl<'a> Watch<'a> {
    fn new(
        command: &'a FuzzCommand,
        (identity, backend): (&'a str, &'a backend::Backend),
        before: u64,
    ) -> Self {
        Self {
            command,
            identity,
            backend,
            before,
            progress: ProgressLine::new(),
            failures: 0,
            kept: Vec::new(),
            problem: None,
            is_over: false,
        }
    }

    fn observe_progress(&mut self, position: &Position, failures: &[Failure]) -> ControlFlow<()> {
        self.failures += failures.len();
        for failure in failures {
            match keep_failure(&self.command.out, failure, self.backend) {
                Ok(file) => self.kept.push(file),
                Err(problem) => self.problem = Some(problem),
            }
        }
        if self.command.campaign.endless
            && let Err(problem) =
                position::write_position(&self.command.out, self.identity, position)
        {
            self.problem = Some(problem);
        }
        self.show_progress(position);
        let budget = self.command.campaign.budget;
        self.is_over = budget.is_some_and(|budget| self.progress.elapsed() >= budget);
        if self.is_over || self.problem.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn show_progress(&mut self, position: &Position) {
        let seconds = self.progress.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate to be shown")]
        let rate = (position.tries - self.before) as f64 / seconds;
        let failures = self.failures;
        self.progress.show(|| {
            format!(
                "{} interactions, {rate:.0} per second, {} pairs of command and stage, {failures} failures",
                position.tries,
                position.pairs().len(),
            )
        });
    }
}

/// Returns the text of the progress of shrinking; `unit` names the steps or operations.
fn shrinking_text(shrinking: Shrinking, unit: &str) -> String {
    let Shrinking { runs, operations } = shrinking;
    format!("shrinking a failure: {operations} {unit} after {runs} runs")
}

/// Writes a failure before and after shrinking, and a program that reproduces it; returns the file
/// of the shrunk interaction.
fn keep_failure(
    folder: &Path,
    failure: &Failure,
    backend: &backend::Backend,
) -> Result<PathBuf, String> {
    let name = |kind: &str| folder.join(format!("{}-{kind}", failure.attempt));
    let head = format!(
        "# {}: {}\n",
        failure.property,
        failure.description.replace('\n', " ")
    );
    let write =
        |name: &Path, text: String| files::write(name, text).map_err(|error| error.to_string());
    for (kind, interaction) in [
        ("original.toml", &failure.original),
        ("shrunk.toml", &failure.shrunk),
    ] {
        write(&name(kind), format!("{head}{}", interaction.to_toml()))?;
    }
    let observed = report::observations(&failure.shrunk, &failure.outcome);
    write(&name("shrunk.txt"), format!("{head}{observed}\n"))?;
    let what = format!("{}: {}", failure.property, failure.description);
    let to = name(match backend {
        backend::Backend::Simulated(_) => "program",
        backend::Backend::Processes(..) => "shrunk.c",
    });
    export(&to, &failure.shrunk, backend, &failure.outcome, &what)?;
    Ok(name("shrunk.toml"))
}
