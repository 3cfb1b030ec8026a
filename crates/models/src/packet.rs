//! A packet-level network of links, switches and adapters: InfiniBand, and RoCE as its variant.
//!
//! [`PacketNetwork`] is an engine without I/O and without a clock: the caller passes the time, in
//! whole picoseconds, and asks for the next event. The engine decides when each packet of each host
//! reaches its destination. Links are directed, with finite buffers and credit-based flow control
//! per virtual lane. Switches are input-buffered, with virtual output queues, round-robin
//! arbitration and cut-through forwarding. The description of links and routes is a
//! [`PacketTopology`]: [`PlatformTopology`] of a platform, or [`ListedTopology`], written by hand.
//!
//! A switch has no object: there is one between any two links of a route. An output is the
//! beginning of a link, and a buffer belongs to the end of a link. So every platform is a packet
//! network, also a torus with hosts that forward. Credits are added up only when a port looks, and
//! a port wakes only if packets wait there, which halves the events. Since a missing wake-up would
//! look like a deadlock, each refusal is compared with the real credits before a deadlock is
//! reported.
//!
//! *Not modelled*: flits and bits; a packet occupies its buffers whole. Management packets (virtual
//! lane 15), subnet management and its time. A crossbar has no own limit.
//!
//! Events are ordered by (time, link, kind), so results do not depend on the order in which links
//! were first used.
//!
//! ```
//! use std::sync::Arc;
//! use models::packet::{ListedTopology, OutboundPacket, PacketLinkSpec, PacketNetwork};
//! use models::packet::{PacketSettings, WireRate};
//! use sim_core::HostId;
//!
//! // Two hosts and a switch at 100 Gb/s, 2 m cables: 4096 bytes and headers take 450.08 ns.
//! let mut links = ListedTopology::new();
//! let spec = PacketLinkSpec::new(WireRate::from_ps_per_byte(80), 10_000);
//! let (up, down) = (links.add_link("up", spec), links.add_link("down", spec));
//! links.add_route(HostId(0), HostId(1), &[up, down]);
//! let mut network = PacketNetwork::new(Arc::new(links), PacketSettings::default());
//! let packet = OutboundPacket {
//!     destination: HostId(1),
//!     wire_bytes: 4096 + 30,
//!     service_level: 0,
//!     flow_hash: 0,
//!     tag: 7,
//! };
//! network.send(0, HostId(0), packet)?;
//! while let Some(time) = network.next_event_at() {
//!     network.handle_events(time);
//! }
//! let delivery = network.poll_delivery().expect("one packet");
//! assert_eq!((delivery.tag, delivery.at), (7, 450_080));
//! # Ok::<(), models::packet::PacketSendError>(())
//! ```

mod adaptive;
mod arena;
mod congestion;
mod credit_counters;
mod credit_loop;
mod credit_updates;
mod dcqcn;
mod dcqcn_fluid;
mod ecmp;
mod ecn;
mod event_queue;
mod faults;
mod graph;
#[cfg(test)]
mod invariants;
mod lane_choice;
mod listed;
mod marking;
mod network;
mod of_platform;
mod overhead;
mod pfc;
mod pfc_network;
mod port;
mod rate;
mod routes;
mod settings;
mod stall;
mod statistics;
mod topology;
mod vl_arbiter;

pub use congestion::{CCTI_TIMER_UNIT_PS, CongestionParameters, CongestionSource, FecnSettings};
pub use credit_counters::{COUNTER_MODULUS, blocks_allowed, credit_limit, may_send};
pub use credit_loop::{
    CreditDependencies, CreditLoopMember, LaneOfLink, PossibleCreditLoop, TooFewLayers,
    assign_layers, possible_credit_loops,
};
pub use credit_updates::FLOW_CONTROL_PACKET_BYTES;
pub use dcqcn::{CutRule, DcqcnParameters, ReactionPoint, TargetClamp};
pub use dcqcn_fluid::{DcqcnFixedPoint, DcqcnFluid};
pub use ecmp::{ecmp_choice, flow_hash, murmur3_32};
pub use ecn::EcnThresholds;
pub use faults::{InvalidFaults, LinkFaults};
pub use graph::{GraphNode, GraphTopology};
pub use lane_choice::route_lanes;
pub use listed::ListedTopology;
pub use network::{
    OutboundPacket, PacketDelivery, PacketDeparture, PacketNetwork, PacketSendError,
};
pub use of_platform::PlatformTopology;
pub use overhead::{BLOCK_BYTES, DELIMITER_BYTES, Encapsulation, PacketOverhead, credit_blocks};
pub use pfc::{PAUSE_FRAME_BYTES, PauseChange, PfcIngress, PfcSettings, SharedPool};
pub use rate::WireRate;
pub use settings::{CREDITS_MAX, FlowControl, Forwarding, NO_VL, OPENSM_SL_TO_VL, PacketSettings};
pub use stall::{PacketStall, StalledBuffer};
pub use statistics::PacketStatistics;
pub use topology::{NoPacketRoute, PACKET_LINKS_MAX, PacketLinkId, PacketLinkSpec, PacketTopology};
pub use vl_arbiter::{VlArbitrationEntry, VlArbitrationTables};
