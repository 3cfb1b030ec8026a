//! Events with numbers for the texts that they name, as a log has them.

use crate::event::RankEvent;

/// The number of a text in a log.
pub type NameId = u16;

/// An event in the form of a log.
pub type LogEvent = RankEvent<NameId, NameId>;

/// A name or a line of the program.
pub(crate) enum Word<N, P> {
    Name(N),
    Place(P),
}

/// Returns an event with numbers for its names and lines.
pub(crate) fn numbered<N, P>(
    event: RankEvent<N, P>,
    mut word: impl FnMut(Word<N, P>) -> NameId,
) -> LogEvent {
    match event {
        RankEvent::Wait {
            call,
            place,
            elapses,
            request,
        } => RankEvent::Wait {
            call: word(Word::Name(call)),
            place: word(Word::Place(place)),
            elapses,
            request,
        },
        RankEvent::Send {
            peer,
            tag,
            bytes,
            place,
            collective,
            request,
        } => RankEvent::Send {
            peer,
            tag,
            bytes,
            place: word(Word::Place(place)),
            collective,
            request,
        },
        RankEvent::Receive {
            peer,
            bytes,
            place,
            collective,
            request,
        } => RankEvent::Receive {
            peer,
            bytes,
            place: word(Word::Place(place)),
            collective,
            request,
        },
        RankEvent::CollectiveCall {
            algorithm,
            root,
            size,
            place,
            first,
        } => RankEvent::CollectiveCall {
            algorithm: word(Word::Name(algorithm)),
            root,
            size,
            place: word(Word::Place(place)),
            first,
        },
        RankEvent::Collective {
            name,
            context,
            number,
            bytes,
            request,
        } => RankEvent::Collective {
            name: word(Word::Name(name)),
            context,
            number,
            bytes,
            request,
        },
        other => placeless(other, word),
    }
}

/// Returns the same of an event without a line of the program.
fn placeless<N, P>(event: RankEvent<N, P>, mut word: impl FnMut(Word<N, P>) -> NameId) -> LogEvent {
    match event {
        RankEvent::Enter { region } => RankEvent::Enter {
            region: word(Word::Name(region)),
        },
        RankEvent::Mark { name, value } => RankEvent::Mark {
            name: word(Word::Name(name)),
            value,
        },
        RankEvent::Incident { name, peer, value } => RankEvent::Incident {
            name: word(Word::Name(name)),
            peer,
            value,
        },
        other => nameless(other),
    }
}

/// Returns an event without names in the form of a log.
fn nameless<N, P>(event: RankEvent<N, P>) -> LogEvent {
    match event {
        RankEvent::Continue => RankEvent::Continue,
        RankEvent::CollectiveEnd { context, number } => {
            RankEvent::CollectiveEnd { context, number }
        }
        RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Unexpected { peer, tag, bytes } => RankEvent::Unexpected { peer, tag, bytes },
        RankEvent::Taken { peer, tag, bytes } => RankEvent::Taken { peer, tag, bytes },
        RankEvent::Elapsed => RankEvent::Elapsed,
        RankEvent::Sent { operation } => RankEvent::Sent { operation },
        RankEvent::Leave => RankEvent::Leave,
        RankEvent::End => RankEvent::End,
        RankEvent::Wait { .. }
        | RankEvent::Send { .. }
        | RankEvent::Receive { .. }
        | RankEvent::CollectiveCall { .. }
        | RankEvent::Collective { .. }
        | RankEvent::Enter { .. }
        | RankEvent::Mark { .. }
        | RankEvent::Incident { .. } => unreachable!("it has names"),
    }
}
