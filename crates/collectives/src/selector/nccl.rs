//! Estimates of NCCL. NCCL has no tables, but takes the algorithm and the protocol with the
//! shortest estimated time, latency + bytes / bandwidth.
//!
//! A protocol is the form of the data between two GPUs: `LL` sends a flag with each 4 bytes,
//! `LL128` a flag with each 120 bytes, and `Simple` synchronises after each chunk. Here the
//! protocol affects the choice, and the length of the messages.
//!
//! *Not modelled*: the bytes of flags; algorithms in switches (`CollNet`, `NVLS`), which NCCL takes
//! for long messages if the hardware has them; links of several kinds in a node; the adapter
//! latency that the driver reports; several operations in a group; `NCCL_ALGO` and `NCCL_PROTO`.
//! The estimate is longer than the estimate of NCCL if switches reduce.
//!
//! Source: NCCL 2.30.7, `src/enqueue.cc`.

mod cost;

use std::fmt;

use serde::Deserialize;

use cost::{EstimatedCall, Pattern, Protocol};

use super::Choice;
use crate::{Call, Collective, Nodes};

/// A generation of GPUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Gpu {
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

/// The links between the GPUs of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GpuLink {
    NvLink,
    Pci,
}

/// The maker of the processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cpu {
    Intel,
    Amd,
    Other,
}

/// The machine as detected by NCCL: `NCCL_DEBUG=INFO` prints the channels and their bandwidths in
/// lines with `Pattern`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Machine {
    gpu: Gpu,
    link: GpuLink,
    cpu: Cpu,
    /// Number of rings, and of trees with their second halves.
    channels: u32,
    /// Bandwidth of a channel within a node in GB/s.
    bandwidth_in_node: f64,
    /// Bandwidth of a channel between nodes in GB/s.
    bandwidth_between_nodes: f64,
    /// Number of consecutive ranks on a node; `None` for the nodes of the mapping.
    gpus_per_node: Option<u32>,
}

/// A node of eight H100 with NVSwitch, and an adapter of 400 Gbit/s for each. The channels are an
/// assumption.
impl Default for Machine {
    fn default() -> Self {
        Self {
            gpu: Gpu::Hopper,
            link: GpuLink::NvLink,
            cpu: Cpu::Intel,
            channels: 16,
            bandwidth_in_node: 20.0,
            bandwidth_between_nodes: 20.0,
            gpus_per_node: None,
        }
    }
}

/// An algorithm with a protocol, and the operation.
#[derive(Clone, PartialEq, Debug)]
struct Candidate {
    collective: Collective,
    pattern: Pattern,
    protocol: Protocol,
    choice: Choice,
}

/// The estimated time of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The name in NCCL: `tree`, `ring` or `pat`.
    pub algorithm: &'static str,
    /// The protocol: `LL`, `LL128` or `Simple`.
    pub protocol: &'static str,
    /// The time in µs.
    pub microseconds: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (algorithm, protocol) = (self.algorithm, self.protocol);
        write!(f, "{algorithm} {protocol} {:.1} us", self.microseconds)
    }
}

/// The estimates for a machine.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CostModel {
    machine: Machine,
    candidates: Vec<Candidate>,
}

impl CostModel {
    /// Checks the machine, and finds the algorithms.
    pub(super) fn new(machine: Machine) -> Result<Self, String> {
        const PATTERNS: [(Collective, Pattern); 8] = [
            (Collective::Allreduce, Pattern::Tree),
            (Collective::Allreduce, Pattern::Ring),
            (Collective::Bcast, Pattern::Ring),
            (Collective::Reduce, Pattern::Ring),
            (Collective::Allgather, Pattern::Ring),
            (Collective::ReduceScatterBlock, Pattern::Ring),
            (Collective::Allgather, Pattern::Pat),
            (Collective::ReduceScatterBlock, Pattern::Pat),
        ];
        let bandwidths = [
            ("bandwidth_in_node", machine.bandwidth_in_node),
            ("bandwidth_between_nodes", machine.bandwidth_between_nodes),
        ];
        for (name, bandwidth) in bandwidths {
            if !(bandwidth.is_finite() && bandwidth > 0.0) {
                return Err(format!(
                    "nccl: {name} = {bandwidth}: expected a number above 0"
                ));
            }
        }
        let counts = [
            ("channels", Some(machine.channels)),
            ("gpus_per_node", machine.gpus_per_node),
        ];
        for (name, count) in counts {
            if count == Some(0) {
                return Err(format!("nccl: {name} = 0: expected at least 1"));
            }
        }
        let mut candidates = Vec::new();
        for (collective, pattern) in PATTERNS {
            let choice = Choice::from_name(collective, &format!("nccl:{}", pattern.name()), &[])?;
            for protocol in Protocol::ALL {
                let exists = match protocol {
                    Protocol::Ll => pattern != Pattern::Pat,
                    Protocol::Ll128 => pattern != Pattern::Pat && machine.link == GpuLink::NvLink,
                    Protocol::Simple => true,
                };
                if exists {
                    candidates.push(Candidate {
                        collective,
                        pattern,
                        protocol,
                        choice,
                    });
                }
            }
        }
        Ok(Self {
            machine,
            candidates,
        })
    }

    /// Returns the choice with the shortest estimate, and the length of the messages; `None` for
    /// calls that NCCL does not estimate.
    pub(super) fn choose_fastest(&self, call: &Call) -> Option<(&Choice, u64, Estimate)> {
        let job = self.estimated_call(call)?;
        let mut shortest: Option<(&Candidate, f64)> = None;
        for candidate in self.candidates_of(job) {
            let time = candidate.estimated_time(&self.machine, job);
            // Of equal ones NCCL takes the first.
            if shortest.is_none_or(|(_, least)| time < least) {
                shortest = Some((candidate, time));
            }
        }
        let (candidate, time) = shortest?;
        let (pattern, protocol) = (candidate.pattern, candidate.protocol);
        let segment = self.machine.segment(job, pattern, protocol);
        Some((&candidate.choice, segment, candidate.estimate(time)))
    }

    /// Returns all estimates of a call, from the shortest to the longest.
    pub(super) fn estimates(&self, call: &Call) -> Vec<Estimate> {
        let Some(job) = self.estimated_call(call) else {
            return Vec::new();
        };
        let estimate = |candidate: &Candidate| {
            candidate.estimate(candidate.estimated_time(&self.machine, job))
        };
        let mut all: Vec<Estimate> = self.candidates_of(job).map(estimate).collect();
        all.sort_by(|one, other| one.microseconds.total_cmp(&other.microseconds));
        all
    }

    /// Returns the nodes of the ranks: the nodes of the call, unless the machine sets another
    /// number of GPUs per node.
    pub(super) fn nodes(&self, call: &Call) -> Option<Nodes> {
        match self.machine.gpus_per_node {
            Some(1) => None,
            Some(each) => Some(Nodes::blocks(call.size, each)),
            None => call.nodes.clone(),
        }
    }

    fn estimated_call(&self, call: &Call) -> Option<EstimatedCall> {
        let collective = call.collective;
        let is_known = (self.candidates.iter()).any(|one| one.collective == collective);
        if !is_known || call.size == 1 || !call.commutative {
            return None;
        }
        let nodes = match self.machine.gpus_per_node {
            Some(each) => call.size.div_ceil(each),
            None => call.nodes.as_ref().map_or(call.size, Nodes::count),
        };
        let total = matches!(
            collective,
            Collective::Allgather | Collective::ReduceScatterBlock
        );
        let factor = if total { u64::from(call.size) } else { 1 };
        Some(EstimatedCall {
            collective,
            ranks: call.size,
            nodes,
            bytes: call.bytes.saturating_mul(factor),
        })
    }

    fn candidates_of(&self, job: EstimatedCall) -> impl Iterator<Item = &Candidate> {
        let of_kind = move |one: &&Candidate| {
            one.collective == job.collective
                && (one.pattern != Pattern::Pat || job.nodes == job.ranks)
        };
        self.candidates.iter().filter(of_kind)
    }
}

impl Candidate {
    fn estimated_time(&self, machine: &Machine, job: EstimatedCall) -> f64 {
        machine.estimated_time(job, self.pattern, self.protocol)
    }

    const fn estimate(&self, microseconds: f64) -> Estimate {
        Estimate {
            algorithm: self.pattern.name(),
            protocol: self.protocol.name(),
            microseconds,
        }
    }
}
