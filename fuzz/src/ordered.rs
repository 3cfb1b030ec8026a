//! Order of transfers: an interaction whose transfers are ordered has one right result. Generated
//! ones are; a shrunk one has to be, too.

use std::collections::BTreeMap;

use crate::command::{Command, Span};
use crate::interaction::Interaction;

/// A transfer that its worker has not waited for.
struct Pending {
    message: u32,
    span: Span,
    /// A later write may overtake it.
    is_loose_read: bool,
}

/// Returns true if the result of the transfers does not depend on their timing: on each connection
/// only one worker has transfers at a time, their local bytes do not overlap, and a write that
/// overlaps with a read before it waits for it.
pub(crate) fn transfers_are_ordered(interaction: &Interaction) -> bool {
    // By connection: the worker and its transfers.
    let mut pending: BTreeMap<u32, (u32, Vec<Pending>)> = BTreeMap::new();
    for one in interaction.commands() {
        let (of, transfers) = pending
            .entry(one.command.connection())
            .or_insert((one.worker, Vec::new()));
        match one.command {
            Command::RmaWait { message, .. } if *of == one.worker => {
                transfers.retain(|transfer| transfer.message != message);
            }
            Command::RmaWrite { message, span, .. } | Command::RmaRead { message, span, .. } => {
                let is_read = matches!(one.command, Command::RmaRead { .. });
                if transfers.is_empty() {
                    *of = one.worker;
                }
                if span.fence {
                    transfers
                        .iter_mut()
                        .for_each(|one| one.is_loose_read = false);
                }
                if *of != one.worker || !transfers.iter().all(|old| old.allows(&span, is_read)) {
                    return false;
                }
                transfers.push(Pending {
                    message,
                    span,
                    is_loose_read: is_read,
                });
            }
            Command::RmaPrepareRead { .. }
            | Command::RmaContent { .. }
            | Command::RmaFreeHandles { .. }
                if !transfers.is_empty() =>
            {
                return false;
            }
            _ => {}
        }
    }
    true
}

impl Pending {
    fn allows(&self, span: &Span, is_read: bool) -> bool {
        let overlap = |old: u32, new: u32| old < new + span.length && new < old + self.span.length;
        let is_late = !is_read && self.is_loose_read && overlap(self.span.remote, span.remote);
        !is_late && !overlap(self.span.local, span.local)
    }
}

#[cfg(test)]
mod tests {
    use sim_core::Stream;

    use super::*;
    use crate::{GeneratorSettings, Swarm, generate};

    #[test]
    fn generated_transfers_are_ordered() {
        let settings = GeneratorSettings {
            rma: true,
            ..GeneratorSettings::default()
        };
        let mut stream = Stream::new(1, "interactions");
        let mut unfenced = 0;
        for _ in 0..300 {
            let swarm = Swarm::draw(&mut stream);
            let mut interaction = generate(&settings, &swarm, &mut stream);
            assert!(transfers_are_ordered(&interaction));
            let steps = interaction.steps.iter_mut();
            for one in steps.flat_map(|step| &mut step.commands) {
                if let Command::RmaWrite { span, .. } = &mut one.command {
                    span.fence = false;
                }
            }
            unfenced += u32::from(!transfers_are_ordered(&interaction));
        }
        assert!(unfenced > 20, "{unfenced} interactions need a fence");
    }
}
