//! File descriptors: a check that the process may have enough, before it needs them.
//!
//! The limit is raised to the maximum that the system allows the user (the hard limit); child
//! processes inherit this limit.
//!
//! *Not modelled*: descriptors of the program itself; the descriptors left in the whole system. If
//! they run out during a run, a connection that cannot be opened is an error with this reason.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Further descriptors of a process: the standard streams, event queues, timers, the listener, and
/// some connections that have not authenticated yet.
const BASE: u64 = 48;

/// Makes sure that the launcher of `processes` processes, to which `ranks` ranks come, may have a
/// connection to each and two pipes to each process.
pub(super) fn check_launcher(processes: usize, ranks: u32) -> io::Result<()> {
    let needed = BASE + 2 * processes as u64 + u64::from(ranks);
    check_limit(raise(), needed, &format!("the launcher of {ranks} ranks"))
}

/// Makes sure that a rank may have a connection to each of this many others.
pub(super) fn check_rank(others: u32) -> io::Result<()> {
    let whose = format!("a rank that is connected with {others} others");
    check_limit(raise(), BASE + u64::from(others), &whose)
}

/// Returns the number of connections that may be in their handshake at a listener, of at most
/// `most`: an eighth of the descriptors, so that enough remain for the run and the program.
pub(super) fn for_pending_handshakes(most: usize) -> usize {
    let allowed = getrlimit(Resource::Nofile).current;
    allowed.map_or(most, |allowed| {
        usize::try_from(allowed / 8).map_or(most, |part| part.clamp(1, most))
    })
}

fn check_limit(allowed: Option<u64>, needed: u64, whose: &str) -> io::Result<()> {
    match allowed {
        Some(allowed) if allowed < needed => Err(io::Error::other(format!(
            "too few file descriptors: {whose} needs {needed}, and {allowed} are allowed: expected \
             ulimit -n {needed} or more, or fewer ranks"
        ))),
        _ => Ok(()),
    }
}

/// Raises the limit to the allowed maximum. Returns the limit; `None` without a limit.
fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_descriptors_are_told_with_both_numbers() {
        assert!(check_limit(None, 1 << 40, "").is_ok());
        assert!(check_limit(Some(64), 64, "").is_ok());
        let error = check_limit(Some(64), 65, "the launcher of 9 ranks").unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("the launcher of 9 ranks needs 65, and 64 are allowed"),
            "{told}"
        );
    }
}
