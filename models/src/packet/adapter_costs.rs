//! Costs of an adapter and its host, as pure functions: from the post of a work request to the
//! completion that is polled, without the network.
//!
//! A send is: post (CPU), doorbell (MMIO write), fetch of the work queue entry, fetch of the
//! payload, processing, network, processing, write of the payload, write of the completion, poll.
//! *Not modelled*: contention of several adapters for PCIe, NUMA, and misses of an IOMMU.

/// PCI Express between host and adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PcieCosts {
    /// Time per byte on the link, in picoseconds; 0 is no limit.
    pub ps_per_byte: u64,
    /// Largest payload of a transaction-layer packet, in bytes.
    pub tlp_payload: u32,
    /// Overhead of a transaction-layer packet, in bytes.
    pub tlp_overhead: u32,
}

impl PcieCosts {
    /// Returns the time of `bytes` on the link, in picoseconds.
    pub const fn time(&self, bytes: u32) -> u64 {
        let packets = bytes.div_ceil(self.tlp_payload);
        (bytes as u64 + packets as u64 * self.tlp_overhead as u64) * self.ps_per_byte
    }
}

impl Default for PcieCosts {
    /// PCIe without a limit: 256 bytes payload and 24 bytes overhead per packet.
    fn default() -> Self {
        Self {
            ps_per_byte: 0,
            tlp_payload: 256,
            tlp_overhead: 24,
        }
    }
}

/// Costs of an adapter, in picoseconds; the default is zero for all. Values come from calibration.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AdapterCosts {
    /// CPU time to post a work request.
    pub post: u64,
    /// Doorbell: a posted MMIO write, until the adapter sees it.
    pub mmio: u64,
    /// DMA read of a work queue entry.
    pub wqe_read: u64,
    /// DMA read of the first bytes of a payload.
    pub dma_read: u64,
    /// Shortest time between two DMA reads.
    pub dma_read_gap: u64,
    /// DMA write of the last bytes of a payload.
    pub dma_write: u64,
    /// DMA write of a completion queue entry.
    pub cqe_write: u64,
    /// CPU time from the completion in memory to its poll.
    pub poll: u64,
    /// Processing of a packet that is sent.
    pub tx_pkt: u64,
    /// Processing of a packet that is received.
    pub rx_pkt: u64,
    /// Processing of a work request: the reciprocal of the message rate.
    pub tx_wqe: u64,
    /// Read, change and write of an atomic operation.
    pub atomic_unit: u64,
    /// Fetch of the context of a queue pair that is not in the adapter's cache.
    pub qp_miss: u64,
    /// PCI Express.
    pub pcie: PcieCosts,
}

/// Shape of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendShape {
    /// Payload of the first packet, in bytes.
    pub first_bytes: u32,
    /// Payload of the last packet, in bytes.
    pub last_bytes: u32,
    /// True if the payload is in the work queue entry.
    pub is_inline: bool,
    /// True if the CPU writes the work queue entry itself, with the doorbell (`BlueFlame`).
    pub is_blueflame: bool,
}

/// The operation of the responder that a requester waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponderOperation {
    /// RDMA read: fetches the payload.
    Read,
    /// Atomic operation.
    Atomic,
}

impl AdapterCosts {
    /// Returns the time from the post until the first packet is ready for the wire.
    pub const fn request_time(&self, shape: SendShape) -> u64 {
        let entry = if shape.is_blueflame { 0 } else { self.wqe_read };
        let payload = if shape.is_inline {
            0
        } else {
            self.dma_read + self.pcie.time(shape.first_bytes)
        };
        self.post + self.mmio + entry + payload + self.tx_wqe + self.tx_pkt
    }

    /// Returns the time from the last bit of the last packet until its completion is polled.
    pub const fn completion_time(&self, last_bytes: u32) -> u64 {
        let payload = self.dma_write + self.pcie.time(last_bytes);
        self.rx_pkt + payload + self.cqe_write + self.poll
    }

    /// Returns the one-way latency of a send; `network` is that of the packets on the wire.
    pub const fn send_latency(&self, shape: SendShape, network: u64) -> u64 {
        self.request_time(shape) + network + self.completion_time(shape.last_bytes)
    }

    /// Returns the time from the post of an RDMA read or atomic operation to its completion.
    ///
    /// The request has no payload; `networks` are those of request and response, `bytes` the
    /// payload of the first and of the last response packet.
    pub const fn round_trip(
        &self,
        operation: ResponderOperation,
        is_blueflame: bool,
        networks: (u64, u64),
        bytes: (u32, u32),
    ) -> u64 {
        let request = SendShape {
            first_bytes: 0,
            last_bytes: 0,
            is_inline: true,
            is_blueflame,
        };
        let responder = match operation {
            ResponderOperation::Read => self.dma_read + self.pcie.time(bytes.0),
            ResponderOperation::Atomic => self.atomic_unit,
        };
        self.request_time(request)
            + networks.0
            + self.rx_pkt
            + responder
            + self.tx_pkt
            + networks.1
            + self.completion_time(bytes.1)
    }

    /// Returns the time from the first post until the adapter has the entries of `requests` work
    /// requests with one doorbell: one MMIO write and one DMA read for all.
    pub const fn batch_time(&self, requests: u32, is_blueflame: bool) -> u64 {
        let entries = if is_blueflame { 0 } else { self.wqe_read };
        self.post * requests as u64 + self.mmio + entries
    }
}

/// Resources that limit the throughput of an adapter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdapterLimits {
    /// Engines that process packets to send.
    pub tx_engines: u32,
    /// Engines that process received packets.
    pub rx_engines: u32,
    /// DMA reads outstanding at the same time.
    pub outstanding_reads: u32,
    /// Payload of a DMA read, in bytes.
    pub read_bytes: u32,
}

/// Returns the largest throughput of messages of `bytes`, in bytes of payload per second.
///
/// `wire_ps` is the wire time of a full packet of `mtu` bytes; zero costs are no limit.
#[expect(clippy::cast_precision_loss, reason = "times far below 2^53 ps")]
pub fn adapter_throughput(
    costs: &AdapterCosts,
    limits: &AdapterLimits,
    (bytes, mtu): (u32, u32),
    wire_ps: u64,
) -> f64 {
    let payload = bytes.min(mtu);
    let per_time = |bytes: f64, ps: u64| {
        if ps == 0 {
            f64::INFINITY
        } else {
            bytes * 1e12 / ps as f64
        }
    };
    let packet = f64::from(payload);
    let reads = f64::from(limits.outstanding_reads) * f64::from(limits.read_bytes);
    let by_message = if bytes <= mtu {
        per_time(packet, costs.tx_wqe)
    } else {
        f64::INFINITY
    };
    [
        per_time(packet, wire_ps * u64::from(payload) / u64::from(mtu)),
        per_time(packet * f64::from(limits.tx_engines), costs.tx_pkt),
        per_time(packet * f64::from(limits.rx_engines), costs.rx_pkt),
        per_time(packet, costs.pcie.time(payload)),
        per_time(reads, costs.dma_read),
        per_time(f64::from(limits.read_bytes), costs.dma_read_gap),
        by_message,
    ]
    .into_iter()
    .fold(f64::INFINITY, f64::min)
}

/// Equal servers with one queue: each job is served in the order of arrival.
#[derive(Clone, Debug)]
pub struct FifoServer {
    /// For each server the time from which it is free, in picoseconds.
    free_at: Vec<u64>,
}

impl FifoServer {
    /// Returns `servers` idle servers, at least one.
    pub fn new(servers: usize) -> Self {
        Self {
            free_at: vec![0; servers.max(1)],
        }
    }

    /// Serves a job that arrives at `now`, and returns its end; arrivals are in order of time.
    pub fn serve(&mut self, now: u64, duration: u64) -> u64 {
        let mut end = now + duration;
        if let Some(first) = self.free_at.iter_mut().min() {
            end = now.max(*first) + duration;
            *first = end;
        }
        end
    }
}
