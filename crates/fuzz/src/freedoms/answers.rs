//! Answers of operations as numbers: the first one is the kind.

use super::program::Answer;

/// No: the operation is not complete, or no message is there.
pub(super) fn tell_no() -> Answer {
    vec![0]
}

/// A request without a message is complete, or a call has returned.
pub(super) fn tell_done() -> Answer {
    vec![1]
}

/// A message: the rank and the place of the send.
pub(super) fn tell_message(rank: usize, place: usize) -> Answer {
    vec![2, to_number(rank), to_number(place)]
}

/// A receive was cancelled.
pub(super) fn tell_cancelled() -> Answer {
    vec![3]
}

/// A message that a probe or `MPI_Request_get_status` has seen.
pub(super) fn tell_seen(rank: usize, tag: u32) -> Answer {
    vec![4, to_number(rank), tag]
}

/// No request is active.
pub(super) fn tell_inactive() -> Answer {
    vec![5]
}

/// The request at a place of a list is complete, with this answer.
pub(super) fn tell_place(place: usize, answer: Answer) -> Answer {
    [vec![6, to_number(place)], answer].concat()
}

/// All requests of a list are complete, with these answers.
pub(super) fn tell_all(each: impl IntoIterator<Item = Answer>) -> Answer {
    std::iter::once(7)
        .chain(each.into_iter().flatten())
        .collect()
}

/// Values of a window.
pub(super) fn tell_values(values: impl IntoIterator<Item = u32>) -> Answer {
    std::iter::once(8).chain(values).collect()
}

fn to_number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
