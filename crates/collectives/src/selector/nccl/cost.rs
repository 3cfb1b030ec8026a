//! Formulas of the estimates of NCCL, and the constants in these formulas.
//!
//! *Not modelled*: as in [`nccl`](super).
//!
//! Source of constants and formulas: NCCL 2.30.7, `src/graph/tuning.cc`, `src/enqueue.cc`,
//! `src/include/device.h`. Times are in µs, bandwidths in GB/s.

use super::{Cpu, Gpu, GpuLink, Machine};
use crate::Collective;

/// An algorithm of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    Tree,
    Ring,
    Pat,
}

impl Pattern {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Ring => "ring",
            Self::Pat => "pat",
        }
    }
}

/// The form of the data between two GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Ll,
    Ll128,
    Simple,
}

impl Protocol {
    pub(super) const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }

    /// Returns an eighth of the buffer of a channel in bytes.
    const fn step_bytes(self) -> u64 {
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

/// A call in the form for the estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct EstimatedCall {
    pub(super) collective: Collective,
    pub(super) ranks: u32,
    pub(super) nodes: u32,
    /// Bytes that the busiest rank has in the end.
    pub(super) bytes: u64,
}

impl EstimatedCall {
    fn ranks_per_node(self) -> u32 {
        self.ranks / self.nodes
    }

    /// Returns the number of steps of a ring, and the number of steps between nodes.
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

impl Machine {
    /// Returns the estimated time in µs.
    pub(super) fn estimated_time(
        &self,
        job: EstimatedCall,
        pattern: Pattern,
        protocol: Protocol,
    ) -> f64 {
        let mut latency = self.latency(job, pattern, protocol);
        let mut bandwidth = self.bandwidth(job, pattern, protocol);
        if job.collective == Collective::Allreduce {
            let of_each = u64::from(self.channels) * u64::from(job.ranks);
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
                    latency *= if self.gpu < Gpu::Ampere { 1.9 } else { 1.4 };
                }
                _ => {}
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let bytes = job.bytes as f64;
        latency + bytes / (1000.0 * bandwidth)
    }

    /// Returns the latency in µs.
    fn latency(&self, job: EstimatedCall, pattern: Pattern, protocol: Protocol) -> f64 {
        let (p, row) = (protocol as usize, usize::from(pattern == Pattern::Ring));
        let within = match self.link {
            GpuLink::NvLink => NVLINK_LATENCY,
            GpuLink::Pci => PCI_LATENCY,
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
                let overhead = if self.cpu == Cpu::Amd { 2.0 } else { 1.0 };
                let near = within.max(posts * overhead);
                BASE_LATENCY_RING[p] + f64::from(steps - far) * near + f64::from(far) * between
            }
            Pattern::Pat => {
                8.0 + f64::from(job.nodes.ilog2()) * between / 3.5 + f64::from(job.ranks) * 2.8
            }
        }
    }

    /// Returns the bandwidth in GB/s.
    fn bandwidth(&self, job: EstimatedCall, pattern: Pattern, protocol: Protocol) -> f64 {
        let (gpu, column) = (self.gpu as usize, job.column());
        let channels = f64::from(self.channels);
        let link = if job.nodes <= 2 {
            self.bandwidth_in_node
        } else {
            self.bandwidth_between_nodes
        };
        let bus = channels * link;
        let ll_row = match job.nodes {
            1 => gpu,
            _ => usize::from(self.cpu == Cpu::Amd),
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
    pub(super) fn segment(&self, job: EstimatedCall, pattern: Pattern, protocol: Protocol) -> u64 {
        let channels = self.channels(job, pattern, protocol);
        let step = protocol.data(protocol.step_bytes());
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
    fn channels(&self, job: EstimatedCall, pattern: Pattern, protocol: Protocol) -> u64 {
        let each = match protocol {
            Protocol::Simple => 64,
            Protocol::Ll if pattern == Pattern::Ring => 8 * u64::from(job.ranks),
            Protocol::Ll | Protocol::Ll128 => 8,
        };
        let busy = job.bytes / (protocol.threads() * each);
        busy.clamp(1, u64::from(self.channels))
    }
}

/// Returns the chunk of a channel of a tree: shorter if the data are, so that they fill the
/// pipeline.
fn tree_chunk(job: EstimatedCall, channels: u64, protocol: Protocol) -> u64 {
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
    let mut chunk = protocol.step_bytes();
    for (chunks, longest) in limits {
        #[expect(clippy::cast_precision_loss, reason = "a number of chunks")]
        while chunk > *longest && ((job.bytes / (channels * chunk)) as f64) < *chunks {
            chunk /= 2;
        }
    }
    chunk
}
