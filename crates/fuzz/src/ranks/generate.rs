//! Generation of rank programs without deadlocks.
//!
//! A program has phases with barriers between them. In a phase both sides of each message are
//! posted in one order of all messages, and waits come later: so ranks do not wait for each other
//! in a cycle, even if each send is synchronous. A rank that receives from any source posts all its
//! receives of the phase first, with wildcards for the tag: each arriving message fits each of
//! these receives.

use super::program::{RankMessage, RankOp, RankProgram, SendForm};
use crate::FuzzProgram;
use crate::choices::{Choices, OpenElement};

/// Draws a program.
pub(super) fn generate_program(choices: &mut Choices<'_>) -> RankProgram {
    let ranks = 2 + choices.index(3);
    let mut program = RankProgram {
        version: RankProgram::VERSION,
        eager_threshold: choices.pick(&THRESHOLDS),
        ranks: vec![Vec::new(); ranks],
        messages: Vec::new(),
    };
    for phase in 0..=choices.index(3) {
        if phase > 0
            && let Some(element) = choices.enter()
        {
            for ops in &mut program.ranks {
                ops.push(RankOp::Barrier);
            }
            choices.leave_element(element);
        }
        append_phase(&mut program, choices);
    }
    program
}

/// Eager thresholds in bytes: none, short, and the thresholds of platform files. \[choice\]
const THRESHOLDS: [u64; 4] = [0, 64, 8 << 10, 64 << 10];

/// The most messages of a phase. \[choice\]
const MESSAGES_MAX: usize = 5;

fn append_phase(program: &mut RankProgram, choices: &mut Choices<'_>) {
    let ranks = program.ranks.len();
    let has_wildcards: Vec<bool> = (0..ranks).map(|_| choices.once_in(4)).collect();
    let first = program.messages.len();
    // One sender and one receiver: their messages wait for each other.
    let burst = choices.once_in(4).then(|| draw_rank_pair(ranks, choices));
    let mut elements: Vec<(usize, OpenElement)> = Vec::new();
    for _ in 0..=choices.index(MESSAGES_MAX) {
        if let Some(element) = choices.enter() {
            let ends = burst.unwrap_or_else(|| draw_rank_pair(ranks, choices));
            let message = draw_message(ends, &has_wildcards, program.eager_threshold, choices);
            elements.push((program.messages.len(), element));
            program.messages.push(message);
            choices.leave_element(element);
        }
    }
    for number in (first..program.messages.len()).filter(|&at| program.messages[at].any_source) {
        let to = program.messages[number].to;
        program.ranks[to].push(RankOp::Irecv(number));
    }
    let mut pending: Vec<(usize, usize)> = Vec::new();
    for (number, element) in elements {
        let element = choices.enter_again(element);
        let RankMessage { from, to, .. } = program.messages[number];
        let form = choices.pick(&FORMS);
        program.ranks[from].push(RankOp::send_in_form(form, number));
        pending.extend((!form.is_blocking()).then_some((from, number)));
        let is_posted = program.messages[number].any_source;
        let is_started = choices.is_if(!is_posted, |stream| stream.below(2) == 0);
        if is_posted || is_started {
            if !is_posted {
                program.ranks[to].push(RankOp::Irecv(number));
            }
            pending.push((to, number));
        } else {
            program.ranks[to].push(RankOp::Recv(number));
        }
        while !pending.is_empty() && choices.once_in(3) {
            append_wait(program, &mut pending, choices);
        }
        choices.leave_element(element);
    }
    while !pending.is_empty() {
        append_wait(program, &mut pending, choices);
    }
}

const FORMS: [SendForm; 4] = [
    SendForm::Send,
    SendForm::Ssend,
    SendForm::Isend,
    SendForm::Issend,
];

/// Draws a request and waits for this request.
fn append_wait(
    program: &mut RankProgram,
    pending: &mut Vec<(usize, usize)>,
    choices: &mut Choices<'_>,
) {
    let (rank, number) = pending.swap_remove(choices.index(pending.len()));
    program.ranks[rank].push(RankOp::Wait(number));
}

/// Draws a sender and a receiver.
fn draw_rank_pair(ranks: usize, choices: &mut Choices<'_>) -> (usize, usize) {
    let to = choices.index(ranks);
    ((to + 1 + choices.index(ranks - 1)) % ranks, to)
}

fn draw_message(
    (from, to): (usize, usize),
    has_wildcards: &[bool],
    eager_threshold: u64,
    choices: &mut Choices<'_>,
) -> RankMessage {
    let any_source = has_wildcards[to];
    RankMessage {
        from,
        to,
        tag: choices.pick(&[0, 1, 2]),
        bytes: draw_length(eager_threshold, choices),
        any_source,
        any_tag: choices.is_if(!any_source, |stream| stream.below(3) == 0) || any_source,
    }
}

/// Draws a length: empty, short, about the threshold, or long.
fn draw_length(threshold: u64, choices: &mut Choices<'_>) -> u64 {
    match choices.draw_below(6) {
        0 => 0,
        1 | 2 => choices.draw_below(200),
        3 => (threshold + choices.draw_below(3)).saturating_sub(1),
        4 => threshold + choices.draw_below(50_000),
        _ => choices.draw_below(threshold + 1),
    }
}
