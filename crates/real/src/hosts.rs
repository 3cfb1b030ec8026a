//! Ranks on other machines, started by ssh or by another given command.
//!
//! Each rank is one call `SSH HOST COMMAND`, where COMMAND is a line for the shell on the other
//! machine. The line changes to the folder of the launcher and starts the program under the same
//! path, so both must exist there, as on a shared file system. The ticket with the secret goes over
//! standard input. A remote rank ends when its connection to the launcher ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::launch::{LaunchMode, Start};
use super::launch_info;

/// The ranks on these hosts, by rank.
pub fn ssh_processes(
    hosts: &[String],
    ssh: &[OsString],
    folder: &Path,
    command: &[OsString],
) -> LaunchMode {
    let words: Vec<String> = command
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    let line = format!(
        "cd {} && exec env {}={} {}",
        quoted(&folder.to_string_lossy()),
        launch_info::VARIABLE,
        launch_info::ON_INPUT,
        words.join(" ")
    );
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for host in hosts {
        *counts.entry(host).or_default() += 1;
    }
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut starts = Vec::new();
    for host in hosts {
        let local_rank = seen.entry(host).or_default();
        starts.push(Start {
            command: [ssh, &[host.into(), (&line).into()]].concat(),
            local_rank: *local_rank,
            local_size: counts[host.as_str()],
            is_child: false,
        });
        *local_rank += 1;
    }
    LaunchMode::Processes(starts)
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_one_line_for_the_shell_of_its_host() {
        let hosts = ["a", "b", "a"].map(str::to_owned);
        let ssh = ["ssh", "-q"].map(OsString::from);
        let command = ["/apps/ring", "real", "--", "it's"].map(OsString::from);
        let LaunchMode::Processes(all) =
            ssh_processes(&hosts, &ssh, Path::new("/my work"), &command)
        else {
            panic!("processes are started");
        };
        let line =
            r"cd '/my work' && exec env SIMRUN_RANK=stdin '/apps/ring' 'real' '--' 'it'\''s'";
        assert_eq!(all[1].command, ["ssh", "-q", "b", line].map(OsString::from));
        let places: Vec<_> = all
            .iter()
            .map(|start| (start.local_rank, start.local_size))
            .collect();
        assert_eq!(places, [(0, 2), (0, 1), (1, 2)]);
    }
}
