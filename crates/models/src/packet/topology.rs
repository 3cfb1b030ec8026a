//! Directed links and the routes over them: the description from which a packet network is made.
//!
//! A route is a list of directed links. Between two consecutive links of a route there is a switch;
//! after the last link there is a host. A switch has no own identity: an output is the beginning of
//! a link, an input is the end of a link, and a buffer belongs to the end of a link.

use std::fmt;

use sim_core::HostId;

use super::rate::WireRate;

/// A directed link of a packet network, by number.
///
/// Equal-time events and arbitration are ordered by this number, so the number must not depend on
/// the order of use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketLinkId(pub u32);

/// Number of directed links that a network can have: 28 bits of the key of an event.
pub const PACKET_LINKS_MAX: u32 = (1 << 28) - 2;

/// One directed link: an output port, a cable, and the input buffer at the end of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketLinkSpec {
    /// Time per byte.
    pub rate: WireRate,
    /// Propagation of the cable, in picoseconds.
    pub propagation_ps: u64,
    /// Latency of the switch at the end; the default is the latency in the settings.
    pub switch_latency_ps: Option<u64>,
    /// Blocks of input buffer at the end, per virtual lane; the default is in the settings.
    pub buffer_blocks: Option<u32>,
    /// True if packets do not wait for each other and the buffer is unlimited.
    pub contention_free: bool,
    /// True if a packet that takes this link moves to the next virtual lane.
    pub dateline: bool,
}

impl PacketLinkSpec {
    /// Returns a link with the defaults of the settings.
    pub const fn new(rate: WireRate, propagation_ps: u64) -> Self {
        Self {
            rate,
            propagation_ps,
            switch_latency_ps: None,
            buffer_blocks: None,
            contention_free: false,
            dateline: false,
        }
    }
}

/// A pair of hosts that no route joins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoPacketRoute {
    /// The pair and the missing part, for people.
    pub message: String,
}

impl fmt::Display for NoPacketRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NoPacketRoute {}

/// The directed links and the routes of a network.
pub trait PacketTopology: fmt::Debug {
    /// Returns one more than the largest number of a link.
    fn link_id_end(&self) -> u32;

    /// Returns the properties of a link.
    fn link(&self, link: PacketLinkId) -> PacketLinkSpec;

    /// Returns the name of a link, for messages.
    fn link_name(&self, link: PacketLinkId) -> String;

    /// Returns the name of a host, for messages.
    fn host_name(&self, host: HostId) -> String;

    /// Appends the links from one host to another to `route`.
    ///
    /// `flow_hash` selects among several routes, where there are several.
    fn route_into(
        &self,
        from: HostId,
        to: HostId,
        flow_hash: u32,
        route: &mut Vec<PacketLinkId>,
    ) -> Result<(), NoPacketRoute>;

    /// Returns true if [`sl_to_vl`](Self::sl_to_vl) has tables.
    fn has_sl_tables(&self) -> bool {
        false
    }

    /// Returns the virtual lane of each service level for packets that come over `input`, or from
    /// the host itself, and leave over `output`; none is the table of the settings.
    fn sl_to_vl(&self, _input: Option<PacketLinkId>, _output: PacketLinkId) -> Option<[u8; 16]> {
        None
    }

    /// Returns the link in the opposite direction of the same cable.
    fn reverse(&self, _link: PacketLinkId) -> Option<PacketLinkId> {
        None
    }

    /// Returns the number of the switch or host at the end of a link; links with the same one share
    /// the buffer of a RoCE switch.
    fn device_at_end(&self, _link: PacketLinkId) -> Option<u32> {
        None
    }

    /// Returns the host at the end of a link, if there is no switch; for adaptive routing.
    fn host_at_end(&self, _link: PacketLinkId) -> Option<HostId> {
        None
    }

    /// Returns true if [`minimal_outputs`](Self::minimal_outputs) has outputs.
    fn has_minimal_outputs(&self) -> bool {
        false
    }

    /// Returns the outputs on shortest routes to a host, for a packet that comes over `input`; for
    /// adaptive routing.
    fn minimal_outputs(&self, _input: PacketLinkId, _to: HostId) -> Vec<PacketLinkId> {
        Vec::new()
    }

    /// Returns true if routes depend on the flow hash.
    fn is_multipath(&self) -> bool {
        false
    }
}
