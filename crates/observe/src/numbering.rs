//! Events with numbers for the texts that they name, as a log has them.

use crate::event::Event;

/// The number of a text in a log.
pub type NameId = u16;

/// An event in the form of a log.
pub type LogEvent = Event<NameId, NameId>;

/// A name or a line of the program.
pub(crate) enum Word<N, P> {
    Name(N),
    Place(P),
}

/// Returns an event with numbers for its names and lines.
pub(crate) fn numbered<N, P>(
    event: Event<N, P>,
    mut word: impl FnMut(Word<N, P>) -> NameId,
) -> LogEvent {
    match event {
        Event::Wait {
            call,
            place,
            elapses,
            request,
        } => Event::Wait {
            call: word(Word::Name(call)),
            place: word(Word::Place(place)),
            elapses,
            request,
        },
        Event::Send {
            peer,
            tag,
            bytes,
            place,
            collective,
            request,
        } => Event::Send {
            peer,
            tag,
            bytes,
            place: word(Word::Place(place)),
            collective,
            request,
        },
        Event::Receive {
            peer,
            bytes,
            place,
            collective,
            request,
        } => Event::Receive {
            peer,
            bytes,
            place: word(Word::Place(place)),
            collective,
            request,
        },
        Event::CollectiveCall {
            algorithm,
            root,
            size,
            place,
            first,
        } => Event::CollectiveCall {
            algorithm: word(Word::Name(algorithm)),
            root,
            size,
            place: word(Word::Place(place)),
            first,
        },
        Event::Collective {
            name,
            context,
            number,
            bytes,
            request,
        } => Event::Collective {
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
fn placeless<N, P>(event: Event<N, P>, mut word: impl FnMut(Word<N, P>) -> NameId) -> LogEvent {
    match event {
        Event::Enter { region } => Event::Enter {
            region: word(Word::Name(region)),
        },
        Event::Mark { name, value } => Event::Mark {
            name: word(Word::Name(name)),
            value,
        },
        Event::Incident { name, peer, value } => Event::Incident {
            name: word(Word::Name(name)),
            peer,
            value,
        },
        other => nameless(other),
    }
}

/// Returns an event without names in the form of a log.
fn nameless<N, P>(event: Event<N, P>) -> LogEvent {
    match event {
        Event::Continue => Event::Continue,
        Event::CollectiveEnd { context, number } => Event::CollectiveEnd { context, number },
        Event::Post {
            peer,
            packet,
            key,
            bytes,
        } => Event::Post {
            peer,
            packet,
            key,
            bytes,
        },
        Event::Inject {
            peer,
            packet,
            key,
            bytes,
        } => Event::Inject {
            peer,
            packet,
            key,
            bytes,
        },
        Event::Arrive {
            peer,
            packet,
            key,
            bytes,
        } => Event::Arrive {
            peer,
            packet,
            key,
            bytes,
        },
        Event::Unexpected { peer, tag, bytes } => Event::Unexpected { peer, tag, bytes },
        Event::Taken { peer, tag, bytes } => Event::Taken { peer, tag, bytes },
        Event::Elapsed => Event::Elapsed,
        Event::Sent { operation } => Event::Sent { operation },
        Event::Leave => Event::Leave,
        Event::End => Event::End,
        Event::Wait { .. }
        | Event::Send { .. }
        | Event::Receive { .. }
        | Event::CollectiveCall { .. }
        | Event::Collective { .. }
        | Event::Enter { .. }
        | Event::Mark { .. }
        | Event::Incident { .. } => unreachable!("it has names"),
    }
}
