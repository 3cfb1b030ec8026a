//! `cargo xtask same-runs OLD NEW`: checks whether two states of the sources give the same results.
//!
//! OLD and NEW are executables `simrun`, each in `target/release` of a separate checkout. Every
//! program below `apps/` runs on several platforms, and the random programs of three layers of the
//! fuzzer are executed. Compared are output, outcome, simulated times, counts and digests, bit for
//! bit. *Not compared*: real time, memory, texts of help. A difference names the command, so that
//! the command can be repeated by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Verdict, print};

/// Random programs of one seed: a difference names at most as many. \[choice\]
const PROGRAMS_PER_SEED: u32 = 100;

/// Layers of the fuzzer that only simulate.
const LAYERS: [&str; 3] = ["endpoint", "actors", "mpi"];

/// Platform files, and the numbers of ranks on them.
const PLATFORMS: [(&str, &[&str]); 3] = [
    ("platforms/cluster.toml", &["2", "9", "16"]),
    ("platforms/loggops.toml", &["7"]),
    ("platforms/infiniband.toml", &["4"]),
];

/// Keys of a result that tell about the process, and not about the simulation; so do all rates.
const IGNORED: [&str; 4] = ["wall_s", "revision", "arguments", "command"];

/// Ending of the keys of rates.
const RATE: &str = "_per_s";

/// Runs everything with both executables and prints each difference.
pub(crate) fn compare_runs(root: &Path, old: &Path, new: &Path, programs: u32) -> Verdict {
    let (old, new) = (checkout(old)?, checkout(new)?);
    let mut commands = app_commands(root)?;
    for seed in 0..programs.div_ceil(PROGRAMS_PER_SEED) {
        let tries = PROGRAMS_PER_SEED.min(programs - seed * PROGRAMS_PER_SEED);
        commands.extend(LAYERS.iter().map(|layer| {
            let line = format!("fuzz --layer {layer} --seed {seed} --tries {tries} --format json");
            split_words(&line)
        }));
    }
    let mut differences = 0;
    for command in &commands {
        let (before, after) = (results(&old, command)?, results(&new, command)?);
        if before != after {
            differences += 1;
            print(&format!(
                "simrun {}\n- {before}\n+ {after}",
                command.join(" ")
            ));
        }
    }
    print(&format!(
        "{} commands, {programs} random programs of each of {} layers: {differences} differences",
        commands.len(),
        LAYERS.len()
    ));
    Ok(differences == 0)
}

/// An executable, with the checkout.
struct Checkout {
    simrun: PathBuf,
    root: PathBuf,
}

/// Finds the checkout of an executable.
fn checkout(simrun: &Path) -> Result<Checkout, String> {
    let place = |error| format!("{}: {error}", simrun.display());
    let simrun = simrun.canonicalize().map_err(place)?;
    let root = simrun.ancestors().nth(3).unwrap_or(Path::new("/"));
    if !root.join("apps/ring/Cargo.toml").exists() {
        return Err(format!(
            "{}: expected target/release/simrun of a checkout",
            simrun.display()
        ));
    }
    let root = root.to_owned();
    Ok(Checkout { simrun, root })
}

/// Returns a run of each app on each platform, and a check of each on three ranks.
fn app_commands(root: &Path) -> Result<Vec<Vec<String>>, String> {
    let folder = root.join("apps");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("apps: {error}"))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("apps: {error}"))?;
        if entry.path().join("Cargo.toml").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    let mut commands = Vec::new();
    for name in &names {
        for (platform, all_ranks) in PLATFORMS {
            for ranks in all_ranks {
                let line =
                    format!("run --platform {platform} -n {ranks} --format json apps/{name}");
                commands.push(split_words(&line));
            }
        }
        let bounds = "--max-transitions 20000 --format json";
        commands.push(split_words(&format!("check apps/{name} -n 3 {bounds}")));
    }
    Ok(commands)
}

fn split_words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Runs a command in a checkout; returns the exit status, the result and the program's output.
fn results(checkout: &Checkout, arguments: &[String]) -> Result<String, String> {
    let output = Command::new(&checkout.simrun)
        .args(arguments)
        .current_dir(&checkout.root)
        .output()
        .map_err(|error| format!("{}: {error}", checkout.simrun.display()))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let lines = printed.lines().filter(|line| !is_progress(line));
    let said: Vec<&str> = lines.collect();
    let result = match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(mut value) => {
            remove_ignored(&mut value);
            value.to_string()
        }
        // Bad usage has no result; the message is on standard error.
        Err(_) => String::from_utf8_lossy(&output.stdout).into_owned(),
    };
    let status = output.status.code();
    Ok(format!("{status:?} {result}\n{}", said.join("\n")))
}

/// Returns true for a line about building programs.
fn is_progress(line: &str) -> bool {
    line.starts_with("building ") || line.starts_with("waiting to build ")
}

/// Removes the keys of the process, at any depth.
fn remove_ignored(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !IGNORED.contains(&key.as_str()) && !key.ends_with(RATE));
            map.values_mut().for_each(remove_ignored);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_ignored),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_of_the_process_are_no_difference_and_simulated_times_are() {
        let stripped = |wall: f64, simulated: f64| {
            let mut value = json!({
                "runs": [{ "wall_s": wall, "events_per_s": wall, "simulated_s": simulated }],
                "revision": wall.to_string(),
            });
            remove_ignored(&mut value);
            value
        };
        assert_eq!(stripped(1.0, 2.0), stripped(3.0, 2.0));
        assert_ne!(stripped(1.0, 2.0), stripped(1.0, 2.5));
    }
}
