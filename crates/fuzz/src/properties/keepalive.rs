//! A silent peer is reported once for each supervision, and never without one.

use std::collections::BTreeMap;

use crate::command::Command;
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::response::Response;

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    // Supervisions and reports, by worker and connection.
    let mut counts: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
    for one in interaction.commands() {
        if let Command::SetKeepalive { connection, .. } = one.command {
            counts.entry((one.worker, connection)).or_default().0 += 1;
        }
    }
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::KeepaliveTimedOut { connection } = response {
                counts.entry((worker, *connection)).or_default().1 += 1;
            }
        }
    }
    let wrong = counts.iter().find(|(_, (most, found))| found > most);
    let ((worker, connection), (most, found)) = wrong?;
    Some(format!(
        "worker {worker}: the peer of connection {connection} was reported {found} times, expected at most {most}"
    ))
}
