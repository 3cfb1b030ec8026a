//! The answers of probes under a model checker, and the waits for them.
//!
//! *Not decided here*: which answers a model checker may pick; see [`crate::protocol::look`].

use std::future::Future;

use observe::SourceLocation;

use crate::api::request::small;
use crate::protocol::engine::ProtocolEngine;
use crate::protocol::engine::seen::{
    ProbeScope, find_claimed_seen, has_message, list_seen_sources,
};
use crate::protocol::look::{Answers, Question};
use crate::protocol::process::{AwaitedYes, Call, PickedAnswer, Process};
use crate::protocol::waiting::Waits;
use crate::{Comm, Pattern, Status};

/// Waits until a message could be received, for the answer *yes* with this number.
pub(super) async fn wait_for_message(
    comm: &Comm,
    pattern: Pattern,
    picked: u32,
    location: SourceLocation,
) -> Status {
    let scope =
        (comm.process()).with_engine(|engine, _| ProbeScope::from_answer(engine, &pattern, picked));
    let attempt = move |process: &Process, engine: &mut ProtocolEngine| {
        scope.probe(engine, process.channel(), location)
    };
    let waits = Waits::Probe(pattern);
    let status = Call::new(comm.process(), location, waits, attempt).await;
    comm.process()
        .note_source(&pattern, status.source, location);
    comm.status_in_group(status)
}

/// Asks whether a message could be received, or only which one if the call `waits_for_one`.
pub(crate) fn look_for(
    comm: &Comm,
    pattern: Pattern,
    waits_for_one: bool,
    location: SourceLocation,
) -> impl Future<Output = PickedAnswer> + use<> {
    let answers = move |engine: &ProtocolEngine| {
        let seen = small(list_seen_sources(engine, &pattern).len());
        let has_others = seen > 0 && pattern.source.is_none();
        Answers {
            yes: if has_others { seen + 1 } else { 1 },
            only_yes: waits_for_one || seen > 0,
            is_ready: has_message(engine, &pattern),
            sees_arrivals: !waits_for_one
                && find_claimed_seen(engine, &pattern, usize::MAX).is_some(),
            ..Answers::default()
        }
    };
    let waits = match waits_for_one {
        true => Waits::Probe(pattern),
        false => Waits::Iprobe(pattern),
    };
    let question = Question::Probe(pattern);
    comm.process()
        .ask_question(question, waits, location, answers)
}

/// The number of the *yes* that a call waits for which always waits. If no other was possible, no
/// other run continues where this one waits.
pub(crate) fn picked_sight(picked: PickedAnswer) -> (u32, Option<AwaitedYes>) {
    match picked {
        PickedAnswer::Yes(number, yes) if number > 0 => (number, Some(yes)),
        _ => (0, None),
    }
}
