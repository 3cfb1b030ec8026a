//! The simulated adapters of a platform: their settings, and virtual lanes against credit loops.
//!
//! With several lanes, each route between two hosts has a service level, and each service level has
//! a separate lane on all links. The routes of one level make no credit loop (DFSSSP: Domke,
//! Hoefler and Nagel, IPDPS 2011).
//!
//! *Not modelled*: the subnet manager, which assigns lanes while the network runs. Lanes are
//! computed for the hosts in use, so another mapping of ranks may have other lanes.

use std::collections::BTreeMap;
use std::sync::Arc;

use fabric::{AdapterCosts, CaptureFilter, VerbsSettings};
use models::packet::{
    BLOCK_BYTES, LaneOfLink, LinkFaults, PacketSettings, PacketTopology, PlatformTopology,
    assign_layers, possible_credit_loops,
};
use platform::units::Duration;
use platform::{Platform, VerbsParameters};
use sim_core::HostId;

use crate::RunError;

/// Service levels of the routes between hosts, by source and destination.
type ServiceLevels = BTreeMap<(HostId, HostId), u8>;

/// Returns the settings of the adapters on `hosts`.
pub(crate) fn adapter_settings(
    parameters: &VerbsParameters,
    topology: &dyn PacketTopology,
    hosts: &[HostId],
    capture: Option<CaptureFilter>,
    seed: u64,
) -> Result<VerbsSettings, RunError> {
    Ok(VerbsSettings {
        mtu: u32::try_from(parameters.mtu.bytes()).unwrap_or(u32::MAX),
        costs: AdapterCosts {
            doorbell: picoseconds(&parameters.doorbell),
            dma_read: picoseconds(&parameters.dma_read),
            tx_packet: picoseconds(&parameters.tx_packet),
            rx_packet: picoseconds(&parameters.rx_packet),
            atomic: picoseconds(&parameters.atomic),
            completion: picoseconds(&parameters.completion),
            pcie_per_byte: 1e12 / parameters.pcie_bandwidth.bytes_per_s(),
        },
        network: PacketSettings {
            seed,
            ..packet_settings(parameters)
        },
        service_levels: service_levels(parameters, topology, hosts)?,
        capture,
    })
}

fn picoseconds(time: &Duration) -> u64 {
    (time.as_secs() * 1e12).round() as u64
}

fn packet_settings(parameters: &VerbsParameters) -> PacketSettings {
    let faults = &parameters.faults;
    let blocks = parameters.buffer.bytes() / u64::from(BLOCK_BYTES);
    PacketSettings {
        switch_latency_ps: picoseconds(&parameters.switch_latency),
        buffer_blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        data_vls: parameters.lanes.get(),
        faults: LinkFaults {
            loss: faults.loss,
            bit_error_rate: faults.bit_error_rate,
            duplication: faults.duplication,
            reordering: faults.reordering,
            reordering_delay_ps: picoseconds(&faults.reordering_delay),
            outages: Vec::new(),
        },
        ..PacketSettings::default()
    }
}

/// Returns a service level for each pair of hosts; none if there is one lane.
fn service_levels(
    parameters: &VerbsParameters,
    topology: &dyn PacketTopology,
    hosts: &[HostId],
) -> Result<ServiceLevels, RunError> {
    let lanes = parameters.lanes.get();
    if lanes == 1 {
        return Ok(ServiceLevels::new());
    }
    let mut hosts = hosts.to_vec();
    hosts.sort_unstable();
    hosts.dedup();
    let pairs = hosts.iter().flat_map(|&from| {
        let others = hosts.iter().filter(move |&&to| to != from);
        others.map(move |&to| (from, to))
    });
    let mut routes = Vec::new();
    for (from, to) in pairs {
        let mut links = Vec::new();
        // Routes were checked before; one over the air has no links of a packet network.
        if topology.route_into(from, to, 0, &mut links).is_ok() {
            routes.push(((from, to), links));
        }
    }
    let levels = assign_layers(&routes, lanes).map_err(|error| RunError::Lanes {
        lanes,
        hosts: [error.hosts.0, error.hosts.1].map(|host| topology.host_name(host)),
    })?;
    Ok(routes
        .into_iter()
        .map(|(hosts, _)| hosts)
        .zip(levels)
        .collect())
}

/// The largest number of hosts for a search for credit loops: the number of routes to search grows
/// as the square of the number of hosts.
const LOOP_HOSTS_MAX: u32 = 1024;

/// Returns warnings about credit loops that routes of a platform with `device = "verbs"` can make.
pub fn credit_loop_warnings(platform: &Arc<Platform>) -> Vec<String> {
    let Some(parameters) = &platform.network().verbs else {
        return Vec::new();
    };
    if platform.host_count() > LOOP_HOSTS_MAX {
        return vec![format!(
            "credit loops were not searched for: {} hosts, more than {LOOP_HOSTS_MAX}",
            platform.host_count()
        )];
    }
    let topology = PlatformTopology::new(Arc::clone(platform));
    let hosts: Vec<HostId> = (0..platform.host_count()).map(HostId).collect();
    if parameters.lanes.get() > 1 {
        let levels = service_levels(parameters, &topology, &hosts);
        return levels.err().iter().map(ToString::to_string).collect();
    }
    let loops = possible_credit_loops(&topology, &packet_settings(parameters), &hosts, &[0]);
    let loops = loops.unwrap_or_default();
    let Some(first) = loops.first() else {
        return Vec::new();
    };
    let lane = |(link, _): LaneOfLink| topology.link_name(link);
    let links: Vec<String> = first
        .members
        .iter()
        .map(|member| lane((member.link, member.vl)))
        .collect();
    vec![format!(
        "routes can make a credit loop, in which the network deadlocks: {}; [network.verbs] lanes = 2 or more avoids it",
        links.join(" -> ")
    )]
}
