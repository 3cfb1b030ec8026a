//! Settings of a packet network; they hold for all links.

use super::congestion::FecnSettings;
use super::ecn::EcnThresholds;
use super::faults::LinkFaults;
use super::pfc::PfcSettings;
use super::vl_arbiter::VlArbitrationTables;

/// The entry of a table of service levels that drops a packet.
pub const NO_VL: u8 = 15;

/// The moment at which a switch may forward a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Forwarding {
    /// Virtual cut-through: a switch latency after the first bit.
    #[default]
    CutThrough,
    /// A switch latency after the last bit.
    StoreAndForward,
}

/// The means by which a buffer does not overflow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FlowControl {
    /// InfiniBand: credits per virtual lane; freed space is known at the sender one propagation
    /// later and takes no bandwidth.
    #[default]
    IdealCredits,
    /// The same, with updates per virtual lane not more often than an interval, in picoseconds.
    CreditsAtIntervals {
        /// The interval; 256 ns in Mellanox's OMNeT++ model.
        min_interval_ps: u64,
    },
    /// Flow-control packets on the reverse link, not more often than an interval, in picoseconds.
    CreditPackets {
        /// The interval; 256 ns in Mellanox's OMNeT++ model.
        min_interval_ps: u64,
    },
    /// RoCE: priority flow control with pause frames; needs store-and-forward.
    Pfc(PfcSettings),
}

/// Settings of a packet network.
#[derive(Clone, Debug)]
pub struct PacketSettings {
    /// Latency of a switch from first bit in to first bit out, in picoseconds.
    ///
    /// 100 ns: InfiniScale IV and Switch-IB data sheets are between 86 and 200 ns.
    pub switch_latency_ps: u64,
    /// Blocks of input buffer per link and virtual lane; at most 2048 are announced.
    ///
    /// 512 blocks are 32 KiB: full rate over 100 m at 100 Gb/s. Our choice.
    pub buffer_blocks: u32,
    /// Data virtual lanes of each link, 1 to 15.
    pub data_vls: u8,
    /// Virtual lane of each service level, unless the topology has separate tables; 15 drops,
    /// others count modulo the number of lanes.
    pub sl_to_vl: [u8; 16],
    /// Tables of arbitration among virtual lanes; without them lanes take turns.
    pub vl_arbitration: Option<VlArbitrationTables>,
    /// True if the packets of an input wait in a queue for each output. False if they wait in one
    /// queue per virtual lane: only the head of the queue is considered, and the next packet after
    /// the last bit of the head has left (head-of-line blocking).
    pub virtual_output_queues: bool,
    /// The moment at which a switch may forward a packet.
    pub forwarding: Forwarding,
    /// The means by which buffers do not overflow.
    pub flow_control: FlowControl,
    /// Marks at the queue of an output when a packet comes to the queue (RoCE).
    pub ecn: Option<EcnThresholds>,
    /// Marks of congested outputs when a packet leaves (InfiniBand).
    pub fecn: Option<FecnSettings>,
    /// True if switches choose the shortest queue among the outputs on shortest routes, instead of
    /// the flow hash. Packets of a flow may overtake each other.
    pub adaptive_routing: bool,
    /// Bytes of each packet that take wire time but no credits.
    pub delimiter_bytes: u32,
    /// Faults of every link that is not given others.
    pub faults: LinkFaults,
    /// Period of the look for deadlocks, in picoseconds. 100 µs is our choice.
    pub deadlock_check_ps: u64,
    /// Seed of all random streams.
    pub seed: u64,
    /// True if `PacketNetwork::poll_departure` tells when packets leave the queues of hosts.
    pub report_departures: bool,
}

/// Credits that can be announced for one virtual lane: half of the 12-bit counters.
pub const CREDITS_MAX: u32 = 2048;

impl Default for PacketSettings {
    fn default() -> Self {
        Self {
            switch_latency_ps: 100_000,
            buffer_blocks: 512,
            data_vls: 1,
            sl_to_vl: OPENSM_SL_TO_VL,
            vl_arbitration: None,
            virtual_output_queues: true,
            forwarding: Forwarding::CutThrough,
            flow_control: FlowControl::IdealCredits,
            ecn: None,
            fecn: None,
            adaptive_routing: false,
            delimiter_bytes: super::overhead::DELIMITER_BYTES,
            faults: LinkFaults::default(),
            deadlock_check_ps: 100_000_000,
            seed: 0,
            report_departures: false,
        }
    }
}

/// Table of OpenSM: service level i to virtual lane i, 15 to 7.
pub const OPENSM_SL_TO_VL: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7];
