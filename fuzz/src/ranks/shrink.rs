//! Smaller rank programs.
//!
//! A message goes with its send, its receive and the waits for them. A candidate that can deadlock
//! is invalid, and is not tried.

use std::collections::BTreeSet;

use super::program::{RankMessage, RankOp, RankProgram};

/// Functions that return smaller programs, the smallest first.
pub(super) const PHASES: [fn(&RankProgram) -> Vec<RankProgram>; 8] = [
    without_rank,
    without_message,
    without_barrier,
    with_blocking_call,
    with_standard_send,
    with_shorter_message,
    with_plain_message,
    without_wildcards,
];

/// Returns the program without the messages of a rank, and without the rank.
fn without_rank(program: &RankProgram) -> Vec<RankProgram> {
    if program.ranks.len() == 1 {
        return Vec::new();
    }
    let without = |gone: usize| {
        let of_it = |message: &RankMessage| message.from == gone || message.to == gone;
        let numbers = (0..program.messages.len()).filter(|&at| of_it(&program.messages[at]));
        let mut smaller = without_messages(program, &numbers.collect());
        smaller.ranks.remove(gone);
        for message in &mut smaller.messages {
            message.from -= usize::from(message.from > gone);
            message.to -= usize::from(message.to > gone);
        }
        smaller
    };
    (0..program.ranks.len()).map(without).collect()
}

fn without_message(program: &RankProgram) -> Vec<RankProgram> {
    let numbers = 0..program.messages.len();
    let without = |number: usize| without_messages(program, &BTreeSet::from([number]));
    numbers.map(without).collect()
}

fn without_messages(program: &RankProgram, gone: &BTreeSet<usize>) -> RankProgram {
    let mut smaller = program.clone();
    for ops in &mut smaller.ranks {
        ops.retain(|op| op.message().is_none_or(|number| !gone.contains(&number)));
        for op in ops {
            if let Some(number) = op.message() {
                *op = op.on(number - gone.range(..number).count());
            }
        }
    }
    let mut number = 0;
    smaller.messages.retain(|_| {
        number += 1;
        !gone.contains(&(number - 1))
    });
    smaller
}

/// Returns the programs without their n-th barrier, for each n.
fn without_barrier(program: &RankProgram) -> Vec<RankProgram> {
    let is_barrier = |op: &RankOp| *op == RankOp::Barrier;
    let count = program.ranks[0].iter().filter(|op| is_barrier(op)).count();
    let without = |gone: usize| {
        let mut smaller = program.clone();
        for ops in &mut smaller.ranks {
            let mut seen = 0;
            ops.retain(|op| {
                seen += usize::from(is_barrier(op));
                !is_barrier(op) || seen != gone + 1
            });
        }
        smaller
    };
    (0..count).map(without).collect()
}

/// Returns the programs with a blocking call instead of one that does not block, and its wait.
fn with_blocking_call(program: &RankProgram) -> Vec<RankProgram> {
    let with = |(rank, at, op): (usize, usize, RankOp)| {
        let (blocking, number) = match op {
            RankOp::Isend(number) => (RankOp::Send(number), number),
            RankOp::Issend(number) => (RankOp::Ssend(number), number),
            RankOp::Irecv(number) => (RankOp::Recv(number), number),
            _ => return None,
        };
        // A receive with a wildcard is posted before others may send to it.
        if op.is_receive() && program.messages[number].any_source {
            return None;
        }
        let mut smaller = program.clone();
        smaller.ranks[rank][at] = blocking;
        smaller.ranks[rank].retain(|op| *op != RankOp::Wait(number));
        Some(smaller)
    };
    places(program).into_iter().filter_map(with).collect()
}

fn with_standard_send(program: &RankProgram) -> Vec<RankProgram> {
    let with = |(rank, at, op): (usize, usize, RankOp)| {
        let standard = match op {
            RankOp::Ssend(number) => RankOp::Send(number),
            RankOp::Issend(number) => RankOp::Isend(number),
            _ => return None,
        };
        let mut smaller = program.clone();
        smaller.ranks[rank][at] = standard;
        Some(smaller)
    };
    places(program).into_iter().filter_map(with).collect()
}

fn places(program: &RankProgram) -> Vec<(usize, usize, RankOp)> {
    let ranks = program.ranks.iter().enumerate();
    let ops = ranks.flat_map(|(rank, ops)| {
        let ops = ops.iter().enumerate();
        ops.map(move |(at, op)| (rank, at, *op))
    });
    ops.collect()
}

/// Returns the programs in which a message is empty, half as long, or as short as one that is not
/// sent eagerly.
fn with_shorter_message(program: &RankProgram) -> Vec<RankProgram> {
    let threshold = program.eager_threshold;
    let shorter = |message: &RankMessage| {
        let lengths = [0, message.bytes / 2, message.bytes.min(threshold)];
        lengths.map(|bytes| RankMessage { bytes, ..*message })
    };
    each_changed(program, |message| shorter(message).to_vec())
}

/// Returns the programs in which a message has the tag 0, or its receive no wildcard for the tag.
fn with_plain_message(program: &RankProgram) -> Vec<RankProgram> {
    each_changed(program, |message| {
        let tag = RankMessage { tag: 0, ..*message };
        let any_tag = message.any_source && message.any_tag;
        vec![
            tag,
            RankMessage {
                any_tag,
                ..*message
            },
        ]
    })
}

fn each_changed(
    program: &RankProgram,
    others: impl Fn(&RankMessage) -> Vec<RankMessage>,
) -> Vec<RankProgram> {
    let mut all = Vec::new();
    for (number, message) in program.messages.iter().enumerate() {
        for other in others(message).into_iter().filter(|other| other != message) {
            let mut smaller = program.clone();
            smaller.messages[number] = other;
            all.push(smaller);
        }
    }
    all
}

/// Returns the programs in which no receive of a rank has wildcards. A wildcard beside others
/// without could take a message that another receive waits for.
fn without_wildcards(program: &RankProgram) -> Vec<RankProgram> {
    let without = |rank: usize| {
        let mut smaller = program.clone();
        for message in smaller.messages.iter_mut().filter(|one| one.to == rank) {
            (message.any_source, message.any_tag) = (false, false);
        }
        smaller
    };
    let ranks = 0..program.ranks.len();
    ranks
        .map(without)
        .filter(|smaller| smaller != program)
        .collect()
}
