//! A child process: one workload on our side, measured from within.

use std::process::{Command, ExitCode};

use nix::sys::resource::{UsageWho, getrusage};
use sim_core::{Outcome, Simulation};

use crate::workload::{Sample, Workload};
use crate::workloads;

/// Runs a workload in this process and prints the resources used.
pub(crate) fn serve(name: &str, quick: bool) -> ExitCode {
    let Some(workload) = workloads::ALL
        .iter()
        .chain(workloads::RANKS)
        .find(|workload| workload.name == name)
    else {
        crate::say(&format!("error: there is no workload \"{name}\""));
        return ExitCode::from(2);
    };
    let Some((user_before, memory_before)) = used() else {
        crate::say("error: the system does not tell what a process used");
        return ExitCode::FAILURE;
    };
    let repetitions = if quick { 1 } else { workload.repetitions };
    let operations: u64 = (0..repetitions)
        .map(|_| (workload.ours)(workload.size(quick)))
        .sum();
    let (user, memory) = used().unwrap_or((f64::NAN, 0));
    crate::print_result(&format!(
        "operations={operations} user_s={:.6} memory_kib={}\n",
        user - user_before,
        memory - memory_before
    ));
    ExitCode::SUCCESS
}

/// Runs a simulation, which must finish.
///
/// # Panics
/// If the simulation does not finish.
pub(crate) fn finish(simulation: Simulation) {
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished, "a workload finishes");
}

/// User CPU seconds and peak memory in KiB of this process.
pub(crate) fn used() -> Option<(f64, i64)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let user = usage.user_time();
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run are few")]
    let seconds = user.tv_sec() as f64 + user.tv_usec() as f64 * 1e-6;
    Some((seconds, usage.max_rss()))
}

/// Starts this program again for one workload.
pub(crate) fn run_ours(workload: &Workload, quick: bool) -> Result<Sample, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["--child", workload.name]);
    if quick {
        command.arg("--quick");
    }
    run_child(&mut command)
}

/// Runs a child process to the end and reads the figures that it prints.
pub(crate) fn run_child(command: &mut Command) -> Result<Sample, String> {
    let output = command
        .output()
        .map_err(|error| format!("it does not start: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().last().unwrap_or("without a message");
        return Err(format!("failed ({}): {last}", output.status));
    }
    Sample::parse(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| "it printed no figures".to_owned())
}
