//! Estimates of NCCL: it has no tables, but takes the algorithm and the protocol with the shortest
//! estimated time, latency + bytes / bandwidth.
//!
//! A protocol is the form of the data between two GPUs: `LL` sends a flag with each 4 bytes,
//! `LL128` with each 120, and `Simple` synchronises after each chunk. Here it has an effect on the
//! choice, and on the length of the messages.
//!
//! *Not modelled*: the bytes of flags; algorithms in switches (`CollNet`, `NVLS`), which NCCL takes
//! for long messages where the hardware has them; links of several kinds in a node; latency of the
//! adapter as its driver tells it; several operations in a group; `NCCL_ALGO` and `NCCL_PROTO`. A
//! user sees an estimate that is longer than that of NCCL where switches reduce.
//!
//! Source of constants and formulas: NCCL 2.30.7, `src/graph/tuning.cc`, `src/enqueue.cc`,
//! `src/include/device.h`. Times are in µs, bandwidths in GB/s.

use std::fmt;

use serde::Deserialize;

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
enum Link {
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

/// The machine, as NCCL finds it: `NCCL_DEBUG=INFO` prints its channels and their bandwidths in the
/// lines with `Pattern`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Machine {
    gpu: Gpu,
    link: Link,
    cpu: Cpu,
    /// Number of rings, and of trees with their second halves.
    channels: u32,
    /// Bandwidth of a channel within a node in GB/s.
    bandwidth_in_node: f64,
    /// Bandwidth of a channel between nodes in GB/s.
    bandwidth_between_nodes: f64,
    /// Number of consecutive ranks on a node; those of the mapping if there is none.
    gpus_per_node: Option<u32>,
}

/// A node of eight H100 with NVSwitch, and an adapter of 400 Gbit/s for each. The channels are an
/// assumption.
impl Default for Machine {
    fn default() -> Self {
        Self {
            gpu: Gpu::Hopper,
            link: Link::NvLink,
            cpu: Cpu::Intel,
            channels: 16,
            bandwidth_in_node: 20.0,
            bandwidth_between_nodes: 20.0,
            gpus_per_node: None,
        }
    }
}

/// An algorithm of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    Tree,
    Ring,
    Pat,
}

impl Pattern {
    const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Ring => "ring",
            Self::Pat => "pat",
        }
    }
}

/// The form of the data between two GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    Ll,
    Ll128,
    Simple,
}

impl Protocol {
    const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    const fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }

    /// Returns an eighth of the buffer of a channel in bytes.
    const fn step(self) -> u64 {
        match self {
            // 8 lines of 16 bytes for each of 512 threads.
            Self::Ll => 8 * 16 * 512,
            // 120 words of 8 bytes for each of 640 threads.
            Self::Ll128 => 120 * 8 * 640,
            Self::Simple => (4 << 20) / 8,
        }
    }

    /// Returns the bytes of a part of the buffer that are not flags.
    const fn data(self, bytes: u64) -> u64 {
        match self {
            Self::Ll => bytes / 2,
            Self::Ll128 => bytes / 16 * 15,
            Self::Simple => bytes,
        }
    }

    const fn threads(self) -> u64 {
        match self {
            Self::Ll128 => 640,
            Self::Ll | Self::Simple => 512,
        }
    }
}

/// Columns: LL, LL128, Simple.
type ByProtocol = [f64; 3];

/// Columns: one node, two, more.
type ByNodes = [[f64; 3]; 4];

const BASE_LATENCY_TREE: ByProtocol = [6.8, 14.0, 8.4];
const BASE_LATENCY_RING: ByProtocol = [6.6, 14.0, 8.4];
/// Latency of a hop: tree, ring.
const NVLINK_LATENCY: [ByProtocol; 2] = [[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]];
const PCI_LATENCY: [ByProtocol; 2] = [[1.0, 1.9, 4.0], [1.0, 2.5, 5.7]];
const NET_LATENCY: [ByProtocol; 2] = [[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]];
/// Rows of bandwidths: Volta, Ampere, Hopper, Blackwell; of LL between nodes: Intel and other, AMD.
const LL_MAX: ByNodes = [
    [39.0, 39.0, 20.4],
    [87.7, 22.5, 19.0],
    [141.0, 45.0, 35.0],
    [282.0, 90.0, 70.0],
];
const RING_LL128_MAX: [f64; 4] = [20.0, 20.0, 36.7, 40.0];
const TREE_LL128_MAX: ByNodes = [
    [20.0, 20.0, 20.0],
    [20.0, 20.0, 20.0],
    [36.7, 36.7, 29.0],
    [55.6, 31.67, 20.0],
];
const TREE_MAX: ByNodes = [
    [26.5, 18.5, 10.0],
    [24.0, 23.6, 17.8],
    [38.7, 41.4, 36.0],
    [70.0, 42.8, 24.0],
];
/// Parts of the bandwidth that a tree reaches, by ⌊log2(bytes / 64)⌋.
const TREE_CORRECTION: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8,
        0.9, 1.0, 1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9,
        0.9, 0.9, 0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8,
        0.7, 0.7, 0.8, 0.9, 0.9, 0.9,
    ],
];

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

/// A call, as the estimates see it.
#[derive(Clone, Copy, Debug)]
struct Job {
    collective: Collective,
    ranks: u32,
    nodes: u32,
    /// Bytes that the busiest rank has in the end.
    bytes: u64,
}

impl Job {
    fn ranks_per_node(self) -> u32 {
        self.ranks / self.nodes
    }

    /// Returns the steps of a ring, and those between nodes.
    fn steps(self) -> (u32, u32) {
        match self.collective {
            Collective::Allreduce => (2 * (self.ranks - 1), 2 * (self.nodes - 1)),
            Collective::Allgather | Collective::ReduceScatterBlock => {
                (self.ranks - 1, self.nodes - 1)
            }
            _ => (self.ranks, self.nodes),
        }
    }

    fn column(self) -> usize {
        self.nodes.min(3) as usize - 1
    }
}

impl CostModel {
    /// Checks the machine, and finds the algorithms.
    pub(super) fn new(machine: Machine) -> Result<Self, String> {
        const PATTERNS: [(Collective, Pattern); 7] = [
            (Collective::Allreduce, Pattern::Tree),
            (Collective::Allreduce, Pattern::Ring),
            (Collective::Bcast, Pattern::Ring),
            (Collective::Reduce, Pattern::Ring),
            (Collective::Allgather, Pattern::Ring),
            (Collective::ReduceScatterBlock, Pattern::Ring),
            (Collective::Allgather, Pattern::Pat),
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
        let pat = (Collective::ReduceScatterBlock, Pattern::Pat);
        let mut candidates = Vec::new();
        for (collective, pattern) in PATTERNS.into_iter().chain([pat]) {
            let choice = Choice::named(collective, &format!("nccl:{}", pattern.name()), &[])?;
            for protocol in Protocol::ALL {
                let exists = match protocol {
                    Protocol::Ll => pattern != Pattern::Pat,
                    Protocol::Ll128 => pattern != Pattern::Pat && machine.link == Link::NvLink,
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

    /// Returns the choice with the shortest estimate, and the length of its messages; `None` for
    /// calls that NCCL does not estimate.
    pub(super) fn choose(&self, call: &Call) -> Option<(&Choice, u64, Estimate)> {
        let job = self.job(call)?;
        let mut shortest: Option<(&Candidate, f64)> = None;
        for candidate in self.candidates_of(job) {
            let time = self.time(job, candidate.pattern, candidate.protocol);
            // Of equal ones NCCL takes the first.
            if shortest.is_none_or(|(_, least)| time < least) {
                shortest = Some((candidate, time));
            }
        }
        let (candidate, time) = shortest?;
        let segment = self.segment(job, candidate.pattern, candidate.protocol);
        Some((&candidate.choice, segment, candidate.estimate(time)))
    }

    /// Returns all estimates of a call, from the shortest to the longest.
    pub(super) fn estimates(&self, call: &Call) -> Vec<Estimate> {
        let Some(job) = self.job(call) else {
            return Vec::new();
        };
        let estimate = |candidate: &Candidate| {
            candidate.estimate(self.time(job, candidate.pattern, candidate.protocol))
        };
        let mut all: Vec<Estimate> = self.candidates_of(job).map(estimate).collect();
        all.sort_by(|one, other| one.microseconds.total_cmp(&other.microseconds));
        all
    }

    /// Returns the nodes of the ranks: those of the call unless the machine has another number of
    /// GPUs on each.
    pub(super) fn nodes(&self, call: &Call) -> Option<Nodes> {
        match self.machine.gpus_per_node {
            Some(1) => None,
            Some(each) => Some(Nodes::blocks(call.size, each)),
            None => call.nodes.clone(),
        }
    }

    fn job(&self, call: &Call) -> Option<Job> {
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
        Some(Job {
            collective,
            ranks: call.size,
            nodes,
            bytes: call.bytes.saturating_mul(factor),
        })
    }

    fn candidates_of(&self, job: Job) -> impl Iterator<Item = &Candidate> {
        let of_kind = move |one: &&Candidate| {
            one.collective == job.collective
                && (one.pattern != Pattern::Pat || job.nodes == job.ranks)
        };
        self.candidates.iter().filter(of_kind)
    }

    /// Returns the estimated time in µs.
    fn time(&self, job: Job, pattern: Pattern, protocol: Protocol) -> f64 {
        let mut latency = self.latency(job, pattern, protocol);
        let mut bandwidth = self.bandwidth(job, pattern, protocol);
        if job.collective == Collective::Allreduce {
            let of_each = u64::from(self.machine.channels) * u64::from(job.ranks);
            match pattern {
                Pattern::Tree => {
                    let log = (job.bytes / 64).max(1).ilog2() as usize;
                    let corrections = TREE_CORRECTION[protocol as usize];
                    bandwidth *= corrections.get(log).copied().unwrap_or(1.0);
                }
                // A plateau of long messages.
                Pattern::Ring
                    if protocol == Protocol::Simple
                        && job.nodes > 1
                        && job.bytes / of_each >= 64 =>
                {
                    latency *= if self.machine.gpu < Gpu::Ampere {
                        1.9
                    } else {
                        1.4
                    };
                }
                _ => {}
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let bytes = job.bytes as f64;
        latency + bytes / (1000.0 * bandwidth)
    }

    /// Returns the latency in µs.
    fn latency(&self, job: Job, pattern: Pattern, protocol: Protocol) -> f64 {
        let (p, row) = (protocol as usize, usize::from(pattern == Pattern::Ring));
        let within = match self.machine.link {
            Link::NvLink => NVLINK_LATENCY,
            Link::Pci => PCI_LATENCY,
        };
        let is_spread = job.nodes == job.ranks;
        // With one rank on each node, latencies of rings are those of trees.
        let between = NET_LATENCY[if is_spread { 0 } else { row }][p];
        let within = within[row][p];
        let (steps, far) = job.steps();
        match pattern {
            Pattern::Tree => {
                let hops = f64::from(job.ranks_per_node() - 1) * within
                    + f64::from(job.nodes.ilog2()) * between;
                BASE_LATENCY_TREE[p] + 2.0 * hops
            }
            Pattern::Ring if matches!(job.collective, Collective::Bcast | Collective::Reduce) => {
                // All channels have the same order of ranks, so that their chains are one.
                BASE_LATENCY_RING[p]
                    + if job.nodes == 1 {
                        within
                    } else {
                        NET_LATENCY[1][p]
                    }
            }
            Pattern::Ring if job.nodes == 1 => BASE_LATENCY_RING[p] + f64::from(steps) * within,
            Pattern::Ring => {
                let posts = if protocol == Protocol::Simple {
                    3.0
                } else {
                    1.0
                };
                let overhead = if self.machine.cpu == Cpu::Amd {
                    2.0
                } else {
                    1.0
                };
                let near = within.max(posts * overhead);
                BASE_LATENCY_RING[p] + f64::from(steps - far) * near + f64::from(far) * between
            }
            Pattern::Pat => {
                8.0 + f64::from(job.nodes.ilog2()) * between / 3.5 + f64::from(job.ranks) * 2.8
            }
        }
    }

    /// Returns the bandwidth in GB/s.
    fn bandwidth(&self, job: Job, pattern: Pattern, protocol: Protocol) -> f64 {
        let machine = &self.machine;
        let (gpu, column) = (machine.gpu as usize, job.column());
        let channels = f64::from(machine.channels);
        let link = if job.nodes <= 2 {
            machine.bandwidth_in_node
        } else {
            machine.bandwidth_between_nodes
        };
        let bus = channels * link;
        let ll_row = match job.nodes {
            1 => gpu,
            _ => usize::from(machine.cpu == Cpu::Amd),
        };
        let ll_max = LL_MAX[ll_row][column];
        match pattern {
            Pattern::Ring => {
                let bus = match protocol {
                    Protocol::Ll => ll_max.min(bus * 0.5),
                    Protocol::Ll128 => (bus * 0.92).min(channels * RING_LL128_MAX[gpu]),
                    Protocol::Simple => bus,
                };
                bus * f64::from(job.ranks) / f64::from(job.steps().0)
            }
            Pattern::Tree => {
                let bus = (bus * 0.92).min(channels * TREE_MAX[gpu][column]);
                let flags = if job.nodes == 1 {
                    7.0 / 9.0
                } else {
                    120.0 / 128.0
                };
                let bus = match protocol {
                    Protocol::Ll => (bus / 3.8).min(ll_max),
                    Protocol::Ll128 => (bus * flags).min(channels * TREE_LL128_MAX[gpu][column]),
                    Protocol::Simple => bus,
                };
                bus * 0.5
            }
            Pattern::Pat => bus * 0.75,
        }
    }

    /// Returns the length of a message of all channels, or of a piece of a ring, in bytes; 0 if
    /// blocks are not cut.
    fn segment(&self, job: Job, pattern: Pattern, protocol: Protocol) -> u64 {
        let channels = self.channels(job, pattern, protocol);
        let step = protocol.data(protocol.step());
        match (job.collective, pattern) {
            (Collective::Allreduce, Pattern::Ring) => {
                let steps = if protocol == Protocol::Simple { 4 } else { 1 };
                (channels * step * steps).saturating_mul(u64::from(job.ranks))
            }
            // A tree has half of the channels.
            (Collective::Allreduce, _) => {
                channels.div_ceil(2) * protocol.data(tree_chunk(job, channels, protocol))
            }
            (Collective::Bcast | Collective::Reduce, _) => channels * step,
            _ => 0,
        }
    }

    /// Returns the number of channels: fewer for data that leave threads without work.
    fn channels(&self, job: Job, pattern: Pattern, protocol: Protocol) -> u64 {
        let each = match protocol {
            Protocol::Simple => 64,
            Protocol::Ll if pattern == Pattern::Ring => 8 * u64::from(job.ranks),
            Protocol::Ll | Protocol::Ll128 => 8,
        };
        let busy = job.bytes / (protocol.threads() * each);
        busy.clamp(1, u64::from(self.machine.channels))
    }
}

/// Returns the chunk of a channel of a tree: shorter if the data are, so that they fill the
/// pipeline.
fn tree_chunk(job: Job, channels: u64, protocol: Protocol) -> u64 {
    let (near, levels) = (job.ranks_per_node(), job.nodes.ilog2());
    let depth = f64::from(near - 1 + levels);
    let each = (1.0 + f64::from(levels) + 0.1 * f64::from(near)) / f64::from(near);
    // Least numbers of chunks of a channel, and the length down to which it is halved.
    let limits = match protocol {
        Protocol::Ll => &[][..],
        Protocol::Ll128 => &[(64.0 * each, 128 << 10), (16.0 * each, 32 << 10)],
        Protocol::Simple => &[
            (8.0 * depth, 128 << 10),
            (4.0 * depth, 64 << 10),
            (depth, 32 << 10),
        ],
    };
    let mut chunk = protocol.step();
    for (chunks, longest) in limits {
        #[expect(clippy::cast_precision_loss, reason = "a number of chunks")]
        while chunk > *longest && ((job.bytes / (channels * chunk)) as f64) < *chunks {
            chunk /= 2;
        }
    }
    chunk
}

impl Candidate {
    const fn estimate(&self, microseconds: f64) -> Estimate {
        Estimate {
            algorithm: self.pattern.name(),
            protocol: self.protocol.name(),
            microseconds,
        }
    }
}
