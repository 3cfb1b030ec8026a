//! An interaction as a program of its own: the steps, and the observations of the workers, beside
//! the files of this package that perform commands. The program uses only `endpoint`, with serde
//! for the derives of these files.

use std::fmt::Write as _;

use endpoint::simulated::ProgressDriver;

use crate::driver::{Mode, Outcome, RunSettings, longest_time};
use crate::interaction::Interaction;

/// Returns the source files of the program that runs an interaction on simulated endpoints, with
/// their names; `failure` describes the reproduced failure.
pub fn program_files(
    interaction: &Interaction,
    settings: &RunSettings,
    outcome: &Outcome,
    failure: &str,
) -> Vec<(&'static str, String)> {
    let mut files: Vec<(&'static str, String)> = [
        ("src/main.rs", include_str!("export/main.rs")),
        ("src/command.rs", include_str!("command.rs")),
        ("src/pattern.rs", include_str!("pattern.rs")),
        ("src/response.rs", include_str!("response.rs")),
        ("src/rma.rs", include_str!("rma.rs")),
        ("src/worker.rs", include_str!("worker.rs")),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .into();
    let case = case(interaction, settings, outcome, failure);
    files.push(("src/case.rs", case));
    files
}

fn case(
    interaction: &Interaction,
    settings: &RunSettings,
    outcome: &Outcome,
    failure: &str,
) -> String {
    let faults = interaction.faults;
    let endpoints = settings.network.endpoints;
    let progress = match settings.network.progress {
        ProgressDriver::Thread => "Thread",
        ProgressDriver::Polling => "Polling",
    };
    let blocked = outcome.blocked.as_ref().map(|blocked| blocked.step);
    let mut text = format!(
        "//! The interaction.\n\n\
         use endpoint::simulated::{{Faults, NetworkSettings, ProgressDriver}};\n\
         use endpoint::EndpointSettings;\n\n\
         use crate::command::*;\n\n\
         pub const FAILURE: &str = {failure:?};\n\
         pub const WORKERS: u32 = {};\n\
         pub const ALL_POLL: bool = {};\n\
         /// Picoseconds.\n\
         pub const LONGEST_TIME: u64 = {};\n\
         pub const BLOCKED: Option<usize> = {blocked:?};\n\n\
         pub fn settings() -> NetworkSettings {{\n\
         \x20   let mut endpoints = EndpointSettings {{\n\
         \x20       send_buffers: {},\n\
         \x20       receive_buffers: {},\n\
         \x20       poisons: {},\n\
         \x20       ..EndpointSettings::default()\n\
         \x20   }};\n\
         \x20   endpoints.queue_pairs.rnr_retry = {};\n\
         \x20   let faults = Faults {{\n",
        interaction.workers(),
        settings.mode == Mode::Polling,
        longest_time(interaction),
        endpoints.send_buffers,
        endpoints.receive_buffers,
        endpoints.poisons,
        endpoints.queue_pairs.rnr_retry,
    );
    for (name, rate) in faults.rates() {
        let _ = writeln!(text, "        {name}: {rate:?},");
    }
    let _ = write!(
        text,
        "        seed: {},\n    }};\n\
         \x20   NetworkSettings {{\n\
         \x20       faults,\n\
         \x20       progress: ProgressDriver::{progress},\n\
         \x20       endpoints,\n\
         \x20       ..NetworkSettings::default()\n    }}\n}}\n\n\
         /// Each step: workers and their commands.\n\
         pub fn steps() -> Vec<Vec<(u32, Command)>> {{\n    vec![\n",
        faults.seed
    );
    for step in &interaction.steps {
        text.push_str("        vec![\n");
        for one in &step.commands {
            let command = format!("{:?}", one.command);
            let command = command.replace("attribute: ", "attribute: Attribute::");
            let _ = writeln!(text, "            ({}, Command::{command}),", one.worker);
        }
        text.push_str("        ],\n");
    }
    text.push_str("    ]\n}\n\n/// Observations of each worker.\n");
    text.push_str("pub fn observed() -> Vec<Vec<&'static str>> {\n    vec![\n");
    for responses in &outcome.responses {
        text.push_str("        vec![\n");
        for response in responses {
            let _ = writeln!(text, "            {:?},", response.line());
        }
        text.push_str("        ],\n");
    }
    text + "    ]\n}\n"
}
