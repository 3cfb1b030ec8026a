//! Back ends of `simrun fuzz`: simulated endpoints, or processes.

use std::path::PathBuf;

use super::options::{BackendKind, FuzzCommand};
use crate::{Interaction, Outcome, RunSettings, run, run_processes};

/// Mistake of an adapter's name without an adapter of libibverbs.
pub(super) const WITHOUT_ADAPTER: &str = "--device: expected with --backend verbs only";

/// Mistake of an adapter without libibverbs.
pub(super) const WITHOUT_VERBS: &str =
    "--backend verbs: expected simrun built with --features verbs (docs/verbs.md)";

/// A back end.
#[derive(Debug)]
pub(super) enum Backend {
    /// Simulated endpoints.
    Simulated(Box<RunSettings>),
    /// Processes: this executable, with these arguments.
    Processes(PathBuf, Vec<String>),
}

impl Backend {
    /// Returns the back end that the options name.
    pub(super) fn new(command: &FuzzCommand) -> Result<Self, String> {
        let arguments = match command.backend {
            BackendKind::Simulated if command.device.is_some() => {
                return Err(WITHOUT_ADAPTER.to_owned());
            }
            BackendKind::Simulated => {
                return Ok(Self::Simulated(Box::new(command.run_settings())));
            }
            BackendKind::Verbs if !cfg!(feature = "verbs") => {
                return Err(WITHOUT_VERBS.to_owned());
            }
            BackendKind::Tcp | BackendKind::Verbs => command.worker_arguments()?,
        };
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self::Processes(program, arguments))
    }

    /// Runs an interaction.
    pub(super) fn run_interaction(&self, interaction: &Interaction) -> Result<Outcome, String> {
        match self {
            Self::Simulated(settings) => run(interaction, settings),
            Self::Processes(..) if interaction.faults.is_faulty() => {
                Err("faults: expected none: the network of processes is real".to_owned())
            }
            Self::Processes(program, arguments) => run_processes(interaction, || {
                let mut process = std::process::Command::new(program);
                process.arg("fuzz-worker").args(arguments);
                process
            }),
        }
    }

    /// Returns the number of runs that shrinking a failure may take.
    pub(super) const fn shrink_budget(&self) -> u32 {
        match self {
            Self::Simulated(_) => 20_000,
            // Each takes milliseconds, or 2 s if a step is blocked.
            Self::Processes(..) => 200,
        }
    }
}
