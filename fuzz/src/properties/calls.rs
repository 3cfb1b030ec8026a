//! Calls succeed, no operation fails, and every request was announced.

use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::worker::Response;

pub(super) fn check(_: &Interaction, outcome: &Outcome) -> Option<String> {
    (0..)
        .zip(&outcome.responses)
        .find_map(|(worker, responses)| {
            let failed = responses.iter().find_map(failure)?;
            Some(format!("worker {worker}: {failed}"))
        })
}

fn failure(response: &Response) -> Option<String> {
    match response {
        Response::Failed(why) => Some(why.clone()),
        Response::Sent {
            connection,
            message,
            is_success: false,
        } => Some(format!(
            "the send of message {message} on connection {connection} failed"
        )),
        Response::RequestIgnored { connection } => Some(format!(
            "a request of connection {connection} was not expected"
        )),
        _ => None,
    }
}
