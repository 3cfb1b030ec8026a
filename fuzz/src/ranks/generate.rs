//! Generation of rank programs without deadlocks.
//!
//! A program has phases with barriers between them. In a phase both sides of each message are
//! posted in one order of all messages, and waits come later: so no rank waits for one that waits
//! for it, even if each send is synchronous. A rank that receives from any source posts all its
//! receives of the phase first, with wildcards for the tag: each arriving message fits each of
//! them.

use sim_core::Stream;

use super::program::{RankMessage, RankOp, RankProgram, SendForm};
use crate::FuzzProgram;

/// Draws a program.
pub(super) fn generate(stream: &mut Stream) -> RankProgram {
    let ranks = 2 + below(stream, 3);
    let mut program = RankProgram {
        version: RankProgram::VERSION,
        eager_threshold: THRESHOLDS[below(stream, THRESHOLDS.len())],
        ranks: vec![Vec::new(); ranks],
        messages: Vec::new(),
    };
    let phases = 1 + below(stream, 3);
    for phase in 0..phases {
        if phase > 0 {
            for ops in &mut program.ranks {
                ops.push(RankOp::Barrier);
            }
        }
        append_phase(&mut program, stream);
    }
    program
}

/// Eager thresholds in bytes: none, short, and those of platform files. \[choice\]
const THRESHOLDS: [u64; 4] = [0, 64, 8 << 10, 64 << 10];

/// The most messages of a phase. \[choice\]
const MESSAGES_MAX: usize = 5;

fn below(stream: &mut Stream, limit: usize) -> usize {
    usize::try_from(stream.below(limit as u64)).unwrap_or(0)
}

fn append_phase(program: &mut RankProgram, stream: &mut Stream) {
    let ranks = program.ranks.len();
    let has_wildcards: Vec<bool> = (0..ranks).map(|_| below(stream, 4) == 0).collect();
    let first = program.messages.len();
    // One sender and one receiver: their messages wait for each other.
    let burst = (below(stream, 4) == 0).then(|| ends(ranks, stream));
    for _ in 0..1 + below(stream, MESSAGES_MAX) {
        let ends = burst.unwrap_or_else(|| ends(ranks, stream));
        let message = message(ends, &has_wildcards, program.eager_threshold, stream);
        program.messages.push(message);
    }
    let numbers = first..program.messages.len();
    for number in numbers
        .clone()
        .filter(|&at| program.messages[at].any_source)
    {
        let to = program.messages[number].to;
        program.ranks[to].push(RankOp::Irecv(number));
    }
    let mut pending: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        let RankMessage { from, to, .. } = program.messages[number];
        let form = FORMS[below(stream, FORMS.len())];
        program.ranks[from].push(RankOp::send(form, number));
        pending.extend((!form.is_blocking()).then_some((from, number)));
        let is_posted = program.messages[number].any_source;
        if is_posted || below(stream, 2) == 0 {
            if !is_posted {
                program.ranks[to].push(RankOp::Irecv(number));
            }
            pending.push((to, number));
        } else {
            program.ranks[to].push(RankOp::Recv(number));
        }
        while !pending.is_empty() && below(stream, 3) == 0 {
            append_wait(program, &mut pending, stream);
        }
    }
    while !pending.is_empty() {
        append_wait(program, &mut pending, stream);
    }
}

const FORMS: [SendForm; 4] = [
    SendForm::Send,
    SendForm::Ssend,
    SendForm::Isend,
    SendForm::Issend,
];

/// Draws a request and waits for it.
fn append_wait(program: &mut RankProgram, pending: &mut Vec<(usize, usize)>, stream: &mut Stream) {
    let (rank, number) = pending.swap_remove(below(stream, pending.len()));
    program.ranks[rank].push(RankOp::Wait(number));
}

/// Draws a sender and a receiver.
fn ends(ranks: usize, stream: &mut Stream) -> (usize, usize) {
    let to = below(stream, ranks);
    ((to + 1 + below(stream, ranks - 1)) % ranks, to)
}

fn message(
    (from, to): (usize, usize),
    has_wildcards: &[bool],
    eager_threshold: u64,
    stream: &mut Stream,
) -> RankMessage {
    let any_source = has_wildcards[to];
    RankMessage {
        from,
        to,
        tag: u32::try_from(stream.below(3)).unwrap_or(0),
        bytes: bytes(eager_threshold, stream),
        any_source,
        any_tag: any_source || below(stream, 3) == 0,
    }
}

/// Draws a length: empty, short, about the threshold, or long.
fn bytes(threshold: u64, stream: &mut Stream) -> u64 {
    match stream.below(6) {
        0 => 0,
        1 | 2 => stream.below(200),
        3 => (threshold + stream.below(3)).saturating_sub(1),
        4 => threshold + stream.below(50_000),
        _ => stream.below(threshold + 1),
    }
}
