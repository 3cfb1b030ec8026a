//! Requests end as they were decided: accepted ones open one connection at each side, rejected ones
//! none, ignored ones time out.

use std::collections::BTreeMap;

use crate::command::Command;
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::response::Response;

/// Treatment of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Accept,
    Reject,
    Ignore,
}

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let mut decisions = BTreeMap::new();
    for one in interaction.commands() {
        let decision = match one.command {
            Command::Accept { .. } => Decision::Accept,
            Command::Reject { .. } => Decision::Reject,
            Command::Ignore { .. } => Decision::Ignore,
            _ => continue,
        };
        decisions.insert(one.command.connection(), decision);
    }
    for (worker, responses) in (0..).zip(&outcome.responses) {
        let mut seen: BTreeMap<(u32, bool), u32> = BTreeMap::new();
        for response in responses {
            let Some((connection, follows, is_request)) = consequence(response) else {
                continue;
            };
            let count = seen.entry((connection, is_request)).or_default();
            *count += 1;
            let decided = decisions.get(&connection);
            if decided != Some(&follows) || *count > 1 {
                return Some(format!(
                    "worker {worker}: {response:?} ({count} times), decided was {decided:?}"
                ));
            }
        }
    }
    None
}

/// Returns the connection of a response, the decision that led to the response, and true if the
/// response is about the request.
const fn consequence(response: &Response) -> Option<(u32, Decision, bool)> {
    Some(match response {
        Response::Connected { connection } => (*connection, Decision::Accept, false),
        Response::Rejected { connection } => (*connection, Decision::Reject, false),
        Response::TimedOut { connection } => (*connection, Decision::Ignore, false),
        Response::RequestAccepted { connection } => (*connection, Decision::Accept, true),
        Response::RequestRejected { connection } => (*connection, Decision::Reject, true),
        Response::RequestIgnored { connection } => (*connection, Decision::Ignore, true),
        _ => return None,
    })
}
