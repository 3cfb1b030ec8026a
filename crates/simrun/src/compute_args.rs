//! Options of the time that a compiled MPI program computes between its calls.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use platform::units::Duration;

/// Source of the time between two calls of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ComputeMode {
    /// No time passes.
    #[default]
    None,
    /// Basic blocks that the program counts, times flop of a block.
    Blocks,
    /// Processor time on this machine.
    Host,
}

/// Options of compiled MPI programs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Compiled MPI programs")]
pub struct ComputeArgs {
    /// Time between calls of MPI: none, blocks (counted, for programs of simrun cc
    /// --coverage-blocks) or host (processor time on this machine, not repeatable)
    /// [default: none]
    #[arg(
        long,
        value_name = "none|blocks|host",
        value_enum,
        hide_possible_values = true
    )]
    pub compute: Option<ComputeMode>,

    /// Work of a basic block in flop, for --compute blocks
    #[arg(long, value_name = "FLOP")]
    pub flops_per_block: Option<f64>,

    /// Speed of this machine in flop/s, for --compute host
    /// [default: that of the simulated hosts]
    #[arg(long, value_name = "FLOP/S")]
    pub host_speed: Option<f64>,

    /// Write the times of --compute host to FILE
    #[arg(long, value_name = "FILE")]
    pub record_compute: Option<PathBuf>,

    /// Use the times of FILE instead of measuring them: repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "record_compute")]
    pub replay_compute: Option<PathBuf>,

    /// End a rank that computes for this processor time without a call of MPI
    /// [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub watchdog: Option<Duration>,

    /// Write a script for gdb to FILE: where the symbols of the program are, for each of
    /// the first 64 ranks
    #[arg(long, value_name = "FILE")]
    pub gdb: Option<PathBuf>,

    /// Time of each call of MPI and of each reading of a clock [default: none]
    #[arg(long, value_name = "TIME")]
    pub call_cost: Option<Duration>,
}

impl ComputeArgs {
    /// Returns the name of the source of the time between calls.
    pub(crate) const fn name(&self) -> &'static str {
        match self.compute {
            _ if self.replay_compute.is_some() => "replay",
            None | Some(ComputeMode::None) => "none",
            Some(ComputeMode::Blocks) => "blocks",
            Some(ComputeMode::Host) => "host",
        }
    }

    /// Returns the options that are given, with their values.
    pub fn given(&self) -> Vec<String> {
        let name = match self.compute {
            Some(ComputeMode::None) => Some("none"),
            Some(ComputeMode::Blocks) => Some("blocks"),
            Some(ComputeMode::Host) => Some("host"),
            None => None,
        };
        let path = |path: &PathBuf| path.display().to_string();
        [
            ("compute", name.map(str::to_owned)),
            (
                "flops-per-block",
                self.flops_per_block.map(|it| it.to_string()),
            ),
            ("host-speed", self.host_speed.map(|it| it.to_string())),
            ("record-compute", self.record_compute.as_ref().map(path)),
            ("replay-compute", self.replay_compute.as_ref().map(path)),
            ("watchdog", self.watchdog.as_ref().map(ToString::to_string)),
            ("gdb", self.gdb.as_ref().map(path)),
            (
                "call-cost",
                self.call_cost.as_ref().map(|it| it.to_string()),
            ),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("--{name}={}", value?)))
        .collect()
    }
}
