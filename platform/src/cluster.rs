//! A cluster: equal hosts around a computed network, in one entry for any number of hosts.
//!
//! Names of hosts and numbers and names of links are computed from the position of the host and of
//! the cable.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::pattern::HostPattern;
use crate::platform::{Cores, HostPowerStates};
use crate::route::{Route, Wire};
use crate::topology::{NodeLabel, RouteStep, Topology};
use crate::{LinkId, Sharing};

/// In place of the number of a host: the switch of a cluster.
pub(crate) const SWITCH: u32 = u32::MAX;

/// Equal hosts with equal links.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) hosts: HostPattern,
    pub(crate) host_first: u32,
    pub(crate) cores: Cores,
    pub(crate) topology: Arc<dyn Topology>,
    /// The first cable; the others follow.
    pub(crate) cable: Wire,
    pub(crate) backbone: Option<Wire>,
    /// The limiter of the first host; limiters of the other hosts and of the switches follow.
    pub(crate) limiter: Option<Wire>,
    /// The loopback of the first host; the others follow.
    pub(crate) loopback: Option<Wire>,
    /// True if a host without loopback reaches itself over the cable of the host.
    pub(crate) itself_over_links: bool,
    /// Hosts that differ from the others, by their number within the cluster.
    pub(crate) own_hosts: BTreeMap<u32, OwnHost>,
    /// Directions of links that differ from the others.
    pub(crate) own_links: BTreeMap<LinkId, OwnLink>,
}

/// A host that differs from the others of its cluster.
#[derive(Clone, Debug)]
pub(crate) struct OwnHost {
    pub(crate) cores: Cores,
    /// The power states of the host, if the host has several.
    pub(crate) power: Option<HostPowerStates>,
}

/// Bandwidth and latency of a link that replace the values of its cluster.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct OwnLink {
    /// In bytes per second.
    pub(crate) bandwidth: Option<f64>,
    pub(crate) latency_s: Option<f64>,
}

impl Cluster {
    /// The way from one host to another; one of them may be the [`SWITCH`].
    pub(crate) fn walk(&self, from: u32, to: u32, route: &mut Route) {
        let mut push = |step: RouteStep| self.append_step(step, route);
        match self.topology.centre() {
            Some(switch) if to == SWITCH => switch.half(from, false, &mut push),
            Some(switch) if from == SWITCH => switch.half(to, true, &mut push),
            _ => self.topology.walk(from, to, &mut push),
        }
    }

    fn append_step(&self, step: RouteStep, route: &mut Route) {
        match step {
            RouteStep::Cable(cable, down) => {
                let mut wire = self.wire(self.cable, cable.index, down);
                wire.bandwidth *= f64::from(cable.width);
                route.push(wire, down);
            }
            RouteStep::Limiter(node) => {
                if let Some(limiter) = self.limiter {
                    route.push(self.wire(limiter, node, false), false);
                }
            }
            RouteStep::Backbone => {
                if let Some(backbone) = self.backbone {
                    route.push(backbone, false);
                }
            }
        }
    }

    /// One direction of the link that is `offset` places after the first link of the same kind.
    pub(crate) fn wire(&self, first: Wire, offset: u32, down: bool) -> Wire {
        let mut wire = first.shifted(offset);
        if let Some(own) = self.own_links.get(&wire.id(down)) {
            wire.bandwidth = own.bandwidth.unwrap_or(wire.bandwidth);
            wire.latency_s = own.latency_s.unwrap_or(wire.latency_s);
        }
        wire
    }

    /// The number of nodes: hosts and switches.
    pub(crate) fn nodes(&self) -> u32 {
        self.hosts.count() + self.topology.switches()
    }

    /// Returns a link of this cluster by its physical number, with the name of the link; the
    /// direction is `up` or `down`.
    pub(crate) fn named_link(&self, number: u32, direction: &str) -> Option<(Wire, String)> {
        let place = |first: Wire, count: u32| {
            let offset = number.checked_sub(first.number)?;
            (offset < count).then_some(offset)
        };
        if let Some(index) = place(self.cable, self.topology.cables()) {
            let mut wire = self.wire(self.cable, index, direction == "down");
            let cable = self.topology.describe_cable(index);
            wire.bandwidth *= f64::from(cable.width);
            let name = match cable.label {
                NodeLabel::Host(host, text) => self.hosts.name(host) + &text,
                NodeLabel::Inner(text) => format!("{}{text}", self.name),
            };
            let suffix = match wire.sharing {
                Sharing::SplitDuplex => direction,
                Sharing::Shared | Sharing::FatPipe | Sharing::Wifi => "link",
            };
            return Some((wire, format!("{name}:{suffix}")));
        }
        if let Some((first, node)) = self
            .limiter
            .and_then(|first| Some((first, place(first, self.nodes())?)))
        {
            let wire = self.wire(first, node, false);
            return Some((wire, format!("{}:limiter", self.node_name(node))));
        }
        if let Some((first, host)) = self
            .loopback
            .and_then(|first| Some((first, place(first, self.hosts.count())?)))
        {
            let wire = self.wire(first, host, false);
            return Some((wire, format!("{}:loopback", self.hosts.name(host))));
        }
        let backbone = self.backbone.filter(|wire| wire.number == number)?;
        Some((backbone, format!("{}:backbone", self.name)))
    }

    /// Returns the identifiers of the link called `name`, as [`Cluster::named_link`] names it: one
    /// direction, or both directions if `name` is a cable without `:up` or `:down`.
    pub(crate) fn find_link(&self, name: &str) -> Option<Range<u32>> {
        let ids = |first: Wire, offset: u32| {
            let id = 2 * (first.number + offset);
            id..id + 1
        };
        if let Some(cable) = self.cable_named(name) {
            let up = ids(self.cable, cable);
            let directions = match self.cable.sharing {
                Sharing::SplitDuplex => 2,
                Sharing::Shared | Sharing::FatPipe | Sharing::Wifi => 1,
            };
            return Some(up.start..up.start + directions);
        }
        let (stem, kind) = name.rsplit_once(':')?;
        match (kind, self.cable.sharing) {
            ("loopback", _) => Some(ids(self.loopback?, self.hosts.index_of(stem)?)),
            ("limiter", _) => Some(ids(self.limiter?, self.node_named(stem)?)),
            ("backbone", _) if stem == self.name => Some(ids(self.backbone?, 0)),
            ("up", Sharing::SplitDuplex)
            | ("link", Sharing::Shared | Sharing::FatPipe | Sharing::Wifi) => {
                Some(ids(self.cable, self.cable_named(stem)?))
            }
            ("down", Sharing::SplitDuplex) => {
                let up = ids(self.cable, self.cable_named(stem)?);
                Some(up.start + 1..up.end + 1)
            }
            _ => None,
        }
    }

    /// The number of the cable called `name`; the name has no direction.
    fn cable_named(&self, name: &str) -> Option<u32> {
        let split = name.rsplit_once('/').map(|(host, _)| host);
        for host_name in [Some(name), split].into_iter().flatten() {
            if let Some(host) = self.hosts.index_of(host_name) {
                let label = NodeLabel::Host(host, name[host_name.len()..].to_owned());
                let count = self.topology.cables_per_host();
                return self.find_label(host * count..(host + 1) * count, &label);
            }
        }
        let text = name.strip_prefix(&self.name)?;
        if self.topology.switches() == 0 || !text.starts_with('/') {
            return None;
        }
        let label = NodeLabel::Inner(text.to_owned());
        self.find_label(0..self.topology.cables(), &label)
    }

    fn find_label(&self, mut cables: Range<u32>, label: &NodeLabel) -> Option<u32> {
        cables.find(|cable| self.topology.describe_cable(*cable).label == *label)
    }

    /// The number of the host or switch called `name`.
    fn node_named(&self, name: &str) -> Option<u32> {
        let hosts = self.hosts.count();
        let host = self.hosts.index_of(name);
        host.or_else(|| (hosts..self.nodes()).find(|node| self.node_name(*node) == name))
    }

    /// The name of a host, or of a switch.
    pub(crate) fn node_name(&self, node: u32) -> String {
        match node.checked_sub(self.hosts.count()) {
            Some(switch) => format!("{}{}", self.name, self.topology.switch_label(switch)),
            None => self.hosts.name(node),
        }
    }
}
