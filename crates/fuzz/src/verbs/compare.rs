//! Comparison of executions with the sequential model.

use std::fmt;

use rdma::{Mtu, SoftAdapterSettings, WcStatus};
use sim_core::Digest;

use super::execution::ExecutionError;
use super::generate::generate_program;
use super::model::{CompletionRecord, Model, Observation, SideObservation};
use super::network::{NetworkSettings, execute_program};
use super::program::{RequestFault, VerbsProgram};
use crate::choices::Choices;
use crate::{Comparison, Layer};

/// Executes a program on adapters.
type Execute = dyn Fn(&VerbsProgram) -> Result<Observation<u8>, ExecutionError>;

/// Adapters of this machine, on which programs are executed, too.
pub struct VerbsAdapter {
    /// Name in descriptions.
    pub name: String,
    /// Executes a program.
    pub execute: Box<Execute>,
}

impl fmt::Debug for VerbsAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerbsAdapter")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The layer of verbs.
#[derive(Debug, Default)]
pub struct VerbsLayer {
    /// Parameters of the simulated adapters.
    pub settings: SoftAdapterSettings,
    /// Adapters of this machine.
    pub adapter: Option<VerbsAdapter>,
}

impl VerbsLayer {
    /// Returns the simulated executions, with their names.
    fn networks(&self, program: &VerbsProgram) -> [(&'static str, NetworkSettings); 3] {
        let plain = NetworkSettings {
            adapters: self.settings,
            mtu: None,
            has_faults: false,
        };
        let faulty = NetworkSettings {
            has_faults: true,
            ..plain
        };
        let other = NetworkSettings {
            adapters: SoftAdapterSettings {
                window: 3,
                ack_every: 2,
                credits: true,
                strong_fence: true,
                doorbell_delay: 300_000,
                completion_delay: 700_000,
                ..self.settings
            },
            mtu: Some(if program.mtu == 256 {
                Mtu::Mtu1024
            } else {
                Mtu::Mtu256
            }),
            has_faults: true,
        };
        [
            ("simulated", plain),
            ("simulated with faults", faulty),
            ("simulated with other settings", other),
        ]
    }
}

impl Layer for VerbsLayer {
    type Program = VerbsProgram;

    fn generate(&self, choices: &mut Choices<'_>) -> VerbsProgram {
        generate_program(choices)
    }

    fn compare_executions(&self, program: &VerbsProgram, digest: &mut Digest) -> Comparison {
        let expected = match Model::expected_observation(program) {
            Ok(expected) => expected,
            Err(error) => return Comparison::different("is-valid", error),
        };
        for (name, settings) in self.networks(program) {
            let observed = execute_program(program, &settings);
            digest.mix_str(&format!("{observed:?}"));
            if let Some(difference) =
                find_difference(name, &expected, &observed, |_, status| status)
            {
                return difference;
            }
        }
        if let Some(adapter) = &self.adapter
            && !meets_deviation(program)
        {
            let observed = (adapter.execute)(program);
            if let Some(difference) = find_difference(&adapter.name, &expected, &observed, coarse) {
                return difference;
            }
        }
        Comparison::Same
    }
}

/// Returns true for a program that Linux's rxe, of kernel 6.1, does not execute as the standard
/// requires: an atomic operation with an unaligned address is refused when posted, and a send queue
/// with a fence stops for ever when a receive is missing.
fn meets_deviation(program: &VerbsProgram) -> bool {
    let requests = || program.rounds.iter().flat_map(|round| &round.requests);
    requests().any(|request| request.fault == Some(RequestFault::Unaligned))
        || requests().any(|request| request.fence) && misses_receive(program)
}

/// Returns true if a message meets no receive, or one of a later round.
fn misses_receive(program: &VerbsProgram) -> bool {
    let sides = (0..program.connections.len()).flat_map(|one| [(one, 0), (one, 1)]);
    let misses = |(connection, side)| {
        let mut receives = 0_usize;
        program.rounds.iter().any(|round| {
            let posted = round.receives.iter();
            let posted = posted.filter(|one| (one.connection, one.side) == (connection, 1 - side));
            let sent = round.requests.iter();
            let sent = sent.filter(|one| (one.connection, one.side) == (connection, side));
            let sent = sent.filter(|one| one.kind.consumes_receive()).count();
            receives += posted.count();
            let is_missing = sent > receives;
            receives = receives.saturating_sub(sent);
            is_missing
        })
    };
    sides.into_iter().any(misses)
}

/// Maps statuses that adapters of this machine use in place of each other to one status: Linux's
/// rxe reports an unknown local key and a too short receive as operation errors. The receive of a
/// refused RDMA WRITE with immediate data is flushed here and ends with an error there.
fn coarse(kind: &str, status: WcStatus) -> WcStatus {
    match status {
        WcStatus::RemAccessErr | WcStatus::LocAccessErr if kind == "receive" => {
            WcStatus::WrFlushErr
        }
        WcStatus::LocProtErr | WcStatus::LocLenErr => WcStatus::LocQpOpErr,
        WcStatus::RemInvReqErr => WcStatus::RemOpErr,
        other => other,
    }
}

fn find_difference(
    name: &str,
    expected: &Observation<Option<u8>>,
    observed: &Result<Observation<u8>, ExecutionError>,
    status: fn(&str, WcStatus) -> WcStatus,
) -> Option<Comparison> {
    let different = |property, text| {
        let text = format!("{name}: {text}");
        Some(Comparison::different(property, text))
    };
    let observed = match observed {
        Ok(observed) => observed,
        Err(ExecutionError::Call(text)) => return different("calls-succeed", text.clone()),
        Err(ExecutionError::Blocked(text)) => return different("completes", text.clone()),
    };
    for (connection, (expected, observed)) in expected.iter().zip(observed).enumerate() {
        for (side, (expected, observed)) in expected.iter().zip(observed).enumerate() {
            if let Some((property, text)) = side_difference(expected, observed, status) {
                let text = format!("connection {connection}, side {side}: {text}");
                return different(property, text);
            }
        }
    }
    None
}

fn side_difference(
    expected: &SideObservation<Option<u8>>,
    observed: &SideObservation<u8>,
    status: fn(&str, WcStatus) -> WcStatus,
) -> Option<(&'static str, String)> {
    for (kind, expected, observed) in [
        ("request", &expected.sends, &observed.sends),
        ("receive", &expected.receives, &observed.receives),
    ] {
        let same = |one: &CompletionRecord| CompletionRecord {
            status: status(kind, one.status),
            ..*one
        };
        for at in 0..expected.len().max(observed.len()) {
            let (expected, observed) = (expected.get(at), observed.get(at));
            if expected.map(same) != observed.map(same) {
                let (expected, observed) = (completion_text(expected), completion_text(observed));
                let text = format!("{kind} completion {at} is {observed}, expected {expected}");
                return Some(("completions-agree", text));
            }
        }
    }
    for (kind, expected, observed) in [
        ("target", &expected.target, &observed.target),
        ("local", &expected.local, &observed.local),
    ] {
        let bytes = expected.iter().zip(observed).enumerate();
        for (at, (expected, observed)) in bytes {
            if let Some(expected) = expected.filter(|expected| expected != observed) {
                let text =
                    format!("byte {at} of the {kind} region is {observed}, expected {expected}");
                return Some(("memory-agrees", text));
            }
        }
    }
    if expected.state != observed.state {
        let text = format!("state {}, expected {}", observed.state, expected.state);
        return Some(("states-agree", text));
    }
    if expected.solicited.is_some() && expected.solicited != observed.solicited {
        let text = format!(
            "solicited event: {:?}, expected {:?}",
            observed.solicited, expected.solicited
        );
        return Some(("events-agree", text));
    }
    None
}

fn completion_text(completion: Option<&CompletionRecord>) -> String {
    completion.map_or("missing".to_owned(), |one| {
        let opcode = one.opcode.map(|opcode| format!(" {opcode:?}"));
        let immediate = one.imm_data.map(|data| format!(", immediate {data}"));
        format!(
            "of {}: {}{}, {} bytes{}",
            one.wr_id,
            one.status.name(),
            opcode.unwrap_or_default(),
            one.byte_len,
            immediate.unwrap_or_default()
        )
    })
}
