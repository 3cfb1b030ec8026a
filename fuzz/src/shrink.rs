//! Shrinking of an interaction that fails.
//!
//! Candidates are tried in a fixed order: without one elemental interaction, without the last step,
//! without one message (its send and the waits for it), with the shortest messages, without each
//! kind of fault, and with faults that are certain, which do not depend on a seed. A candidate is
//! taken if it fails in the same class, perhaps with another seed of the faults. The search ends
//! after a pass in which none is taken, so a shrunk interaction shrinks no further.

use crate::interaction::{Command, Faults, Interaction, Step};

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
    if candidate.steps.is_empty() {
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
const PHASES: [fn(&Interaction) -> Vec<Interaction>; 6] = [
    without_origins,
    without_end,
    without_messages,
    shorter,
    without_faults,
    with_certain_faults,
];

fn without_origins(interaction: &Interaction) -> Vec<Interaction> {
    let origins = interaction.origins().into_iter();
    origins
        .map(|origin| keep(interaction, |step| step.origin != origin))
        .collect()
}

/// Returns the interaction without its last step.
fn without_end(interaction: &Interaction) -> Vec<Interaction> {
    let steps = interaction.steps.split_last().map(|(_, steps)| steps);
    let steps = steps.unwrap_or_default().to_vec();
    vec![Interaction::new(interaction.faults, steps)]
}

fn without_messages(interaction: &Interaction) -> Vec<Interaction> {
    let messages = messages(interaction).into_iter();
    messages
        .map(|(connection, message)| without_message(interaction, connection, message))
        .collect()
}

fn keep(interaction: &Interaction, keeps: impl Fn(&Step) -> bool) -> Interaction {
    let steps = interaction.steps.iter().filter(|step| keeps(step));
    Interaction::new(interaction.faults, steps.cloned().collect())
}

fn messages(interaction: &Interaction) -> Vec<(u32, u32)> {
    let commands = interaction.steps.iter().flat_map(|step| &step.commands);
    let of = |command: &Command| match *command {
        Command::Send {
            connection,
            message,
            ..
        } => Some((connection, message)),
        _ => None,
    };
    commands.filter_map(|one| of(&one.command)).collect()
}

fn without_message(interaction: &Interaction, connection: u32, message: u32) -> Interaction {
    let is_of_it = |command: &Command| match *command {
        Command::Send {
            connection: of,
            message: number,
            ..
        }
        | Command::WaitSendCompletion {
            connection: of,
            message: number,
        }
        | Command::WaitReceive {
            connection: of,
            message: number,
        } => (of, number) == (connection, message),
        _ => false,
    };
    let without = |step: &Step| Step {
        origin: step.origin,
        commands: step
            .commands
            .iter()
            .filter(|one| !is_of_it(&one.command))
            .cloned()
            .collect(),
    };
    let steps = interaction.steps.iter().map(without);
    let steps = steps.filter(|step| !step.commands.is_empty()).collect();
    Interaction::new(interaction.faults, steps)
}

/// Returns the interaction without each kind of fault that the network has.
fn without_faults(interaction: &Interaction) -> Vec<Interaction> {
    let faults = interaction.faults;
    let others = [
        Faults {
            loss: 0.0,
            ..faults
        },
        Faults {
            duplicate: 0.0,
            ..faults
        },
        Faults {
            reorder: 0.0,
            ..faults
        },
    ];
    let changed = others.into_iter().filter(|other| *other != faults);
    changed
        .map(|faults| Interaction::new(faults, interaction.steps.clone()))
        .collect()
}

/// Returns the interaction with each packet duplicated, and with each one delayed, if some are.
fn with_certain_faults(interaction: &Interaction) -> Vec<Interaction> {
    let faults = interaction.faults;
    let is_possible = |rate: f64| rate > 0.0 && rate < 1.0;
    let duplicate = is_possible(faults.duplicate).then_some(Faults {
        duplicate: 1.0,
        ..faults
    });
    let reorder = is_possible(faults.reorder).then_some(Faults {
        reorder: 1.0,
        ..faults
    });
    let certain = duplicate.into_iter().chain(reorder);
    certain
        .map(|faults| Interaction::new(faults, interaction.steps.clone()))
        .collect()
}

/// Returns the interaction with messages of length 0, unless they have that already.
fn shorter(interaction: &Interaction) -> Vec<Interaction> {
    let mut shorter = interaction.clone();
    for one in shorter.steps.iter_mut().flat_map(|step| &mut step.commands) {
        if let Command::Send { length, .. } = &mut one.command {
            *length = 0;
        }
    }
    let is_shorter = shorter != *interaction;
    is_shorter.then_some(shorter).into_iter().collect()
}
