//! The virtual lane of a packet on each link of a route.
//!
//! The lane is the lane of the service level in the table of the switch, plus one for each dateline
//! that the packet has crossed.

use sim_core::HostId;

use super::settings::{NO_VL, PacketSettings};
use super::topology::{NoPacketRoute, PacketLinkId, PacketTopology};

/// Returns the lane of a service level after `escalations` datelines; `NO_VL` drops the packet.
pub(super) const fn lane(table: &[u8; 16], level: u8, data_vls: u8, escalations: u8) -> u8 {
    let vl = table[level as usize & 15];
    if vl >= NO_VL {
        return NO_VL;
    }
    vl % data_vls + escalations
}

/// Returns the links of a route with the lane of a service level on each.
pub fn route_lanes(
    topology: &dyn PacketTopology,
    settings: &PacketSettings,
    (from, to): (HostId, HostId),
    flow_hash: u32,
    service_level: u8,
) -> Result<Vec<(PacketLinkId, u8)>, NoPacketRoute> {
    let mut route = Vec::new();
    topology.route_into(from, to, flow_hash, &mut route)?;
    let mut input = None;
    let mut escalations = 0;
    let lanes = route.into_iter().map(|link| {
        let own = topology.sl_to_vl(input, link);
        let table = own.as_ref().unwrap_or(&settings.sl_to_vl);
        escalations += u8::from(topology.link(link).dateline);
        input = Some(link);
        let vl = lane(table, service_level, settings.data_vls, escalations);
        (link, vl)
    });
    Ok(lanes.collect())
}
