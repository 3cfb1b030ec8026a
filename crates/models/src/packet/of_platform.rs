//! A platform's links and routes as a packet network. The platform's routes are authoritative.
//!
//! * The latency of a link becomes the propagation of its directed links; every switch adds the
//!   switch latency of the settings. If the latencies of a platform include the latency of the
//!   switches, the platform is run with `switch_latency_ps = 0`.
//! * A split-duplex link is two directed links. So is a `shared` link: the direction is the
//!   direction in which a route crosses the link, and each direction has the whole bandwidth. *Not
//!   modelled*: half duplex; opposite transfers over a shared link do not slow each other, unlike
//!   in the flow models. A backbone is crossed in one direction only and remains one link for all.
//! * A `fatpipe` link delays packets without contention, and the buffer at its end is unlimited:
//!   congestion behind the fatpipe does not spread to the links before it. Packets that enter a
//!   fatpipe at one instant leave it 1 ps apart, so that they have an order.
//! * A host reaches itself over a separate link, with the rate and latency of the platform's
//!   loopback. Packets on this link wait for each other, also if the platform has a fatpipe there.
//! * *Not modelled*: Wi-Fi (no packet route), profiles of links, distances of Vivaldi zones.

use std::sync::Arc;

use platform::{Platform, Route};
use sim_core::HostId;

use super::rate::WireRate;
use super::topology::{NoPacketRoute, PacketLinkId, PacketLinkSpec, PacketTopology};

/// The packet network of a platform.
#[derive(Clone, Debug)]
pub struct PlatformTopology {
    platform: Arc<Platform>,
}

impl PlatformTopology {
    /// Returns the packet network of a platform.
    pub const fn new(platform: Arc<Platform>) -> Self {
        Self { platform }
    }

    /// Returns the number of the first loopback: one for each host, after all other links.
    fn loopbacks(&self) -> u32 {
        self.platform.link_id_end()
    }
}

impl PacketTopology for PlatformTopology {
    fn link_id_end(&self) -> u32 {
        self.loopbacks() + self.platform.host_count()
    }

    fn link(&self, link: PacketLinkId) -> PacketLinkSpec {
        let number = match link.0.checked_sub(self.loopbacks()) {
            None => self.declared(link),
            Some(host) => {
                let route = self.platform.route(HostId(host), HostId(host));
                let hop = route.ok().and_then(|route| route.hops.first().copied());
                let Some(hop) = hop else {
                    return PacketLinkSpec::new(WireRate::from_ps_per_byte(0), 0);
                };
                hop.link
            }
        };
        let info = self.platform.link(number);
        let is_loopback = link.0 >= self.loopbacks();
        PacketLinkSpec {
            contention_free: !is_loopback && matches!(info.sharing, platform::Sharing::FatPipe),
            ..PacketLinkSpec::new(
                WireRate::from_bytes_per_second(info.bandwidth),
                picoseconds(info.latency.as_secs()),
            )
        }
    }

    fn link_name(&self, link: PacketLinkId) -> String {
        if let Some(host) = link.0.checked_sub(self.loopbacks()) {
            return format!("{}:loopback", self.platform.host_name(HostId(host)));
        }
        let info = self.platform.link(self.declared(link));
        match info.sharing {
            platform::Sharing::Shared if !link.0.is_multiple_of(2) => {
                format!("{} (backwards)", info.name)
            }
            _ => info.name,
        }
    }

    fn host_name(&self, host: HostId) -> String {
        self.platform.host_name(host).into_owned()
    }

    fn reverse(&self, link: PacketLinkId) -> Option<PacketLinkId> {
        (link.0 < self.loopbacks()).then_some(PacketLinkId(link.0 ^ 1))
    }

    fn route_into(
        &self,
        from: HostId,
        to: HostId,
        _flow_hash: u32,
        links: &mut Vec<PacketLinkId>,
    ) -> Result<(), NoPacketRoute> {
        if from == to {
            links.push(PacketLinkId(self.loopbacks() + from.0));
            return Ok(());
        }
        let mut route = Route::default();
        let found = self.platform.route_into(from, to, &mut route);
        found.map_err(|error| NoPacketRoute {
            message: error.to_string(),
        })?;
        let names = || {
            let name = |host| self.platform.host_name(host);
            format!("from host {:?} to host {:?}", name(from), name(to))
        };
        if route.hops.iter().any(|hop| hop.air) {
            let message = format!(
                "the route {} crosses a Wi-Fi zone: expected links with packets",
                names()
            );
            return Err(NoPacketRoute { message });
        }
        if route.hops.is_empty() {
            let message = format!("the route {} has no link: expected at least one", names());
            return Err(NoPacketRoute { message });
        }
        links.extend(
            route
                .hops
                .iter()
                .map(|hop| PacketLinkId(hop.link.0 & !1 | u32::from(hop.down))),
        );
        Ok(())
    }
}

impl PlatformTopology {
    /// Returns the platform's number of a link that is no loopback: both directions of a link that
    /// they share have one number.
    fn declared(&self, link: PacketLinkId) -> platform::LinkId {
        let first = self.platform.link(platform::LinkId(link.0 & !1));
        match first.sharing {
            platform::Sharing::SplitDuplex => platform::LinkId(link.0),
            _ => platform::LinkId(link.0 & !1),
        }
    }
}

/// Returns seconds as whole picoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies are not negative; conversions saturate"
)]
fn picoseconds(seconds: f64) -> u64 {
    libm::round(seconds * 1e12) as u64
}
