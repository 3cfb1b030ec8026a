//! Links and routes written down one by one, for tests and small studies.

use std::collections::BTreeMap;

use sim_core::HostId;

use super::topology::{NoPacketRoute, PacketLinkId, PacketLinkSpec, PacketTopology};

/// A topology given by lists of links and routes.
#[derive(Clone, Default, Debug)]
pub struct ListedTopology {
    links: Vec<(String, PacketLinkSpec)>,
    routes: BTreeMap<(HostId, HostId), Vec<Vec<PacketLinkId>>>,
    sl_tables: BTreeMap<(Option<PacketLinkId>, PacketLinkId), [u8; 16]>,
}

impl ListedTopology {
    /// Returns a topology without links.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directed link.
    ///
    /// # Panics
    /// If there are 2^32 links.
    pub fn add_link(&mut self, name: impl Into<String>, spec: PacketLinkSpec) -> PacketLinkId {
        let number = u32::try_from(self.links.len()).expect("fewer than 2^32 links");
        self.links.push((name.into(), spec));
        PacketLinkId(number)
    }

    /// Adds a route; several between the same hosts are chosen among by the flow hash.
    pub fn add_route(&mut self, from: HostId, to: HostId, links: &[PacketLinkId]) {
        let routes = self.routes.entry((from, to)).or_default();
        routes.push(links.to_vec());
    }

    /// Sets the virtual lanes of service levels for packets from `input`, or from the host itself,
    /// to `output`.
    pub fn set_sl_to_vl(
        &mut self,
        input: Option<PacketLinkId>,
        output: PacketLinkId,
        table: [u8; 16],
    ) {
        self.sl_tables.insert((input, output), table);
    }

    /// Iterates over all routes, ordered by hosts.
    pub fn routes(&self) -> impl Iterator<Item = (HostId, HostId, &[PacketLinkId])> {
        self.routes.iter().flat_map(|(&(from, to), routes)| {
            routes.iter().map(move |links| (from, to, links.as_slice()))
        })
    }
}

impl PacketTopology for ListedTopology {
    fn link_id_end(&self) -> u32 {
        u32::try_from(self.links.len()).expect("checked by add_link")
    }

    fn link(&self, link: PacketLinkId) -> PacketLinkSpec {
        self.links[link.0 as usize].1
    }

    fn link_name(&self, link: PacketLinkId) -> String {
        self.links[link.0 as usize].0.clone()
    }

    fn host_name(&self, host: HostId) -> String {
        format!("host {}", host.0)
    }

    fn route_into(
        &self,
        from: HostId,
        to: HostId,
        flow_hash: u32,
        route: &mut Vec<PacketLinkId>,
    ) -> Result<(), NoPacketRoute> {
        let Some(routes) = self.routes.get(&(from, to)) else {
            let message = format!(
                "no route from host {} to host {}: add one with `add_route`",
                from.0, to.0
            );
            return Err(NoPacketRoute { message });
        };
        route.extend_from_slice(&routes[flow_hash as usize % routes.len()]);
        Ok(())
    }

    fn has_sl_tables(&self) -> bool {
        !self.sl_tables.is_empty()
    }

    fn sl_to_vl(&self, input: Option<PacketLinkId>, output: PacketLinkId) -> Option<[u8; 16]> {
        self.sl_tables.get(&(input, output)).copied()
    }

    fn is_multipath(&self) -> bool {
        self.routes.values().any(|routes| routes.len() > 1)
    }
}
