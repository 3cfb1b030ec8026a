//! Shrinking of an interaction that fails.
//!
//! Candidates are tried in a fixed order: without one elemental interaction, without the last step,
//! without one message or transfer (with the commands that wait for it), without what a connection
//! does not need, with simpler sizes and flags, with workers numbered from 0, without each kind of
//! fault, and with faults that are certain, which do not depend on a seed. A candidate is taken if
//! it fails in the same class, perhaps with another seed of the faults. The search ends after a
//! pass in which none is taken, so a shrunk interaction shrinks no further.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Command, SendFlags, Span};
use crate::interaction::{Interaction, Step};
use crate::ordered::transfers_are_ordered;

/// Seeds of the faults that are tried for a candidate: without the packets that are gone, the old
/// one has its faults elsewhere. \[choice\]
const SEEDS: u32 = 16;

/// Returns the smallest interaction found that `fails`, and the number of runs. `budget` limits the
/// runs.
pub fn shrink(
    interaction: &Interaction,
    budget: u32,
    mut fails: impl FnMut(&Interaction) -> bool,
) -> (Interaction, u32) {
    let (mut smallest, mut runs) = (interaction.clone(), 0);
    loop {
        let before = smallest.clone();
        for candidates in PHASES {
            let mut at = 0;
            while let Some(candidate) = candidates(&smallest).into_iter().nth(at) {
                let (found, more) = with_a_seed(candidate, budget - runs, &mut fails);
                runs += more;
                match found {
                    Some(smaller) => smallest = smaller,
                    None => at += 1,
                }
                if runs == budget {
                    return (smallest, runs);
                }
            }
        }
        if smallest == before {
            return (smallest, runs);
        }
    }
}

/// Returns the candidate with a seed of its faults with which it fails, and the number of runs.
fn with_a_seed(
    mut candidate: Interaction,
    budget: u32,
    fails: &mut impl FnMut(&Interaction) -> bool,
) -> (Option<Interaction>, u32) {
    if candidate.steps.is_empty() || !transfers_are_ordered(&candidate) {
        return (None, 0);
    }
    let seeds = if candidate.faults.is_faulty() {
        SEEDS
    } else {
        1
    };
    for run in 1..=seeds.min(budget) {
        if fails(&candidate) {
            return (Some(candidate), run);
        }
        candidate.faults.seed += 1;
    }
    (None, seeds.min(budget))
}

/// Functions that return smaller interactions, the smallest first.
const PHASES: [fn(&Interaction) -> Vec<Interaction>; 8] = [
    without_origins,
    without_end,
    without_messages,
    without_extras,
    simpler,
    renumbered,
    without_faults,
    with_certain_faults,
];

fn without_origins(interaction: &Interaction) -> Vec<Interaction> {
    let origins = interaction.origins().into_iter();
    origins
        .map(|origin| keep(interaction, |_, step| step.origin != origin))
        .collect()
}

/// Returns the interaction without its last step.
fn without_end(interaction: &Interaction) -> Vec<Interaction> {
    let last = interaction.steps.len().saturating_sub(1);
    vec![keep(interaction, |place, _| place < last)]
}

/// Returns the interaction without each message and transfer.
fn without_messages(interaction: &Interaction) -> Vec<Interaction> {
    let mut messages: Vec<(u32, u32)> = Vec::new();
    for one in interaction.commands() {
        let is_operation = matches!(
            one.command,
            Command::Send { .. } | Command::RmaWrite { .. } | Command::RmaRead { .. }
        );
        if let Some(message) = one.command.message().filter(|_| is_operation) {
            messages.push((one.command.connection(), message));
        }
    }
    let without = |key: (u32, u32)| {
        without_commands(interaction, |command| {
            let message = command.message();
            let is_of_it = message.map(|message| (command.connection(), message)) == Some(key);
            is_of_it && !matches!(command, Command::RmaPrepareRead { .. })
        })
    };
    messages.into_iter().map(without).collect()
}

/// Returns the interaction without each part that a connection does not need: all transfers, the
/// supervision of the peer, and single commands on which no other depends.
fn without_extras(interaction: &Interaction) -> Vec<Interaction> {
    let mut smaller = Vec::new();
    for origin in interaction.origins() {
        for is_extra in [is_transfer, is_keepalive] {
            smaller.push(without_commands(interaction, |command| {
                command.connection() == origin && is_extra(command)
            }));
        }
    }
    let mut supervised = BTreeSet::new();
    for one in interaction.commands() {
        if matches!(one.command, Command::WaitKeepalive { .. }) {
            supervised.insert(one.command.connection());
        }
    }
    let is_single = |step: &Step| {
        let mut commands = step.commands.iter();
        commands.all(|one| match &one.command {
            Command::Pause { .. }
            | Command::RmaReuseHandle { .. }
            | Command::RmaPrepareRead { .. }
            | Command::RmaContent { .. }
            | Command::RmaFreeHandles { .. } => true,
            // A peer that does not disconnect is not silent.
            Command::Disconnect { connection } => !supervised.contains(connection),
            _ => false,
        })
    };
    let places = (0..).zip(&interaction.steps);
    let singles = places.filter(|(_, step)| is_single(step));
    smaller.extend(singles.map(|(single, _)| keep(interaction, |place, _| place != single)));
    smaller.retain(|other| other != interaction);
    smaller
}

const fn is_transfer(command: &Command) -> bool {
    matches!(
        command,
        Command::RmaReuseHandle { .. }
            | Command::RmaHandleExchange { .. }
            | Command::RmaWaitExchange { .. }
            | Command::RmaPrepareRead { .. }
            | Command::RmaWrite { .. }
            | Command::RmaRead { .. }
            | Command::RmaWait { .. }
            | Command::RmaContent { .. }
            | Command::RmaFreeHandles { .. }
            | Command::RmaDeregister { .. }
    )
}

const fn is_keepalive(command: &Command) -> bool {
    matches!(
        command,
        Command::SetKeepalive { .. } | Command::WaitKeepalive { .. } | Command::Pause { .. }
    )
}

/// Returns the interaction with messages of length 0, without flags of sends, with short transfers
/// from the begin of buffers, and without fences, each for all commands and for single ones.
fn simpler(interaction: &Interaction) -> Vec<Interaction> {
    let all = SIMPLIFICATIONS.map(|simplify| changed(interaction, |_, command| simplify(command)));
    let mut smaller: Vec<Interaction> = all.into_iter().collect();
    for single in 0..interaction.steps.len() {
        for simplify in SIMPLIFICATIONS {
            smaller.push(changed(interaction, |place, command| {
                if place == single {
                    simplify(command);
                }
            }));
        }
    }
    smaller.retain(|other| other != interaction);
    smaller
}

const SIMPLIFICATIONS: [fn(&mut Command); 5] = [
    |command| {
        if let Command::Send { length, .. } = command {
            *length = 0;
        }
    },
    |command| {
        if let Command::Send { flags, .. } = command {
            // A blocking send has no event that the others could wait for.
            *flags = SendFlags {
                lent: false,
                ..*flags
            };
        }
    },
    |command| {
        if let Some(span) = span_mut(command) {
            span.length = 1;
        }
    },
    |command| {
        if let Some(span) = span_mut(command) {
            (span.local, span.remote) = (0, 0);
        }
    },
    |command| {
        if let Some(span) = span_mut(command) {
            span.fence = false;
        }
    },
];

const fn span_mut(command: &mut Command) -> Option<&mut Span> {
    match command {
        Command::RmaWrite { span, .. } | Command::RmaRead { span, .. } => Some(span),
        _ => None,
    }
}

/// Returns the interaction with its workers numbered from 0 in the order of their first commands.
fn renumbered(interaction: &Interaction) -> Vec<Interaction> {
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    for one in interaction.commands() {
        for worker in [Some(one.worker), target(&one.command)]
            .into_iter()
            .flatten()
        {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            numbers.entry(worker).or_insert(next);
        }
    }
    let mut other = interaction.clone();
    for one in other.steps.iter_mut().flat_map(|step| &mut step.commands) {
        one.worker = numbers[&one.worker];
        if let Command::ConnectTo { to, .. } = &mut one.command {
            *to = numbers[to];
        }
    }
    (other != *interaction)
        .then_some(other)
        .into_iter()
        .collect()
}

const fn target(command: &Command) -> Option<u32> {
    match command {
        Command::ConnectTo { to, .. } => Some(*to),
        _ => None,
    }
}

fn keep(interaction: &Interaction, keeps: impl Fn(usize, &Step) -> bool) -> Interaction {
    let steps = interaction.steps.iter().enumerate();
    let steps = steps.filter(|(place, step)| keeps(*place, step));
    let steps = steps.map(|(_, step)| step.clone()).collect();
    Interaction::new(interaction.faults, steps)
}

/// Returns the interaction without some commands, and without the steps that have no other.
fn without_commands(
    interaction: &Interaction,
    is_removed: impl Fn(&Command) -> bool,
) -> Interaction {
    let mut steps = interaction.steps.clone();
    for step in &mut steps {
        step.commands.retain(|one| !is_removed(&one.command));
    }
    steps.retain(|step| !step.commands.is_empty());
    Interaction::new(interaction.faults, steps)
}

fn changed(interaction: &Interaction, change: impl Fn(usize, &mut Command)) -> Interaction {
    let mut other = interaction.clone();
    for (place, step) in other.steps.iter_mut().enumerate() {
        for one in &mut step.commands {
            change(place, &mut one.command);
        }
    }
    other
}

/// Returns the interaction without each kind of fault that the network has.
fn without_faults(interaction: &Interaction) -> Vec<Interaction> {
    with_rates(interaction, |_, rate| (rate > 0.0).then_some(0.0))
}

/// Returns the interaction with each packet duplicated, and with each one delayed, if some are.
fn with_certain_faults(interaction: &Interaction) -> Vec<Interaction> {
    with_rates(interaction, |name, rate| {
        // With each packet lost everything fails.
        let is_possible = name != "loss" && name != "flap" && rate > 0.0 && rate < 1.0;
        is_possible.then_some(1.0)
    })
}

/// Returns the interaction with another rate of each kind of fault, where there is one.
fn with_rates(
    interaction: &Interaction,
    other: impl Fn(&str, f64) -> Option<f64>,
) -> Vec<Interaction> {
    let mut smaller = Vec::new();
    for (name, rate) in interaction.faults.rates() {
        let mut faults = interaction.faults;
        if let Some((changed, to)) = faults.rate_mut(name).zip(other(name, rate)) {
            *changed = to;
            smaller.push(Interaction::new(faults, interaction.steps.clone()));
        }
    }
    smaller
}
