//! A cluster: equal hosts around a computed network, in one entry whatever its size.
//!
//! Names of hosts, numbers and names of links are computed from the position of the host and of the cable.

use crate::Sharing;
use crate::pattern::HostPattern;
use crate::platform::Cores;
use crate::route::{Route, Wire};
use crate::topology::{Label, Step, Topology};

/// In place of the number of a host: the switch of a cluster.
pub(crate) const SWITCH: u32 = u32::MAX;

/// Equal hosts with equal links.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) hosts: HostPattern,
    pub(crate) host_first: u32,
    pub(crate) cores: Cores,
    pub(crate) topology: Topology,
    /// The first cable; the others follow.
    pub(crate) cable: Wire,
    pub(crate) backbone: Option<Wire>,
    /// The limiter of the first host; those of the other hosts and of the switches follow.
    pub(crate) limiter: Option<Wire>,
    /// The loopback of the first host; the others follow.
    pub(crate) loopback: Option<Wire>,
    /// Whether a host without loopback reaches itself over its own cable.
    pub(crate) itself_over_links: bool,
}

impl Cluster {
    /// The way from one host to another; one of them may be the [`SWITCH`].
    pub(crate) fn walk(&self, from: u32, to: u32, route: &mut Route) {
        let mut push = |step: Step| self.push(step, route);
        match &self.topology {
            Topology::Switch(switch) if to == SWITCH => switch.half(from, false, &mut push),
            Topology::Switch(switch) if from == SWITCH => switch.half(to, true, &mut push),
            topology => topology.walk(from, to, &mut push),
        }
    }

    fn push(&self, step: Step, route: &mut Route) {
        match step {
            Step::Cable(cable, down) => {
                let mut wire = self.cable.shifted(cable.index);
                wire.bandwidth *= f64::from(cable.width);
                route.push(wire, down);
            }
            Step::Limiter(node) => {
                if let Some(limiter) = self.limiter {
                    route.push(limiter.shifted(node), false);
                }
            }
            Step::Backbone => {
                if let Some(backbone) = self.backbone {
                    route.push(backbone, false);
                }
            }
        }
    }

    /// The number of nodes: hosts and switches.
    pub(crate) fn nodes(&self) -> u32 {
        self.hosts.count() + self.topology.switches()
    }

    /// A link of this cluster by its physical number, with its name; the direction is `up` or `down`.
    pub(crate) fn link(&self, number: u32, direction: &str) -> Option<(Wire, String)> {
        let place = |first: Wire, count: u32| {
            let offset = number.checked_sub(first.number)?;
            (offset < count).then_some(offset)
        };
        if let Some(index) = place(self.cable, self.topology.cables()) {
            let mut wire = self.cable.shifted(index);
            wire.bandwidth *= f64::from(self.topology.width(index));
            let name = match self.topology.cable_label(index) {
                Label::Host(host, text) => self.hosts.name(host) + &text,
                Label::Inner(text) => format!("{}{text}", self.name),
            };
            let suffix = match wire.sharing {
                Sharing::SplitDuplex => direction,
                Sharing::Shared | Sharing::FatPipe | Sharing::Wifi => "link",
            };
            return Some((wire, format!("{name}:{suffix}")));
        }
        if let Some((wire, node)) = self
            .limiter
            .and_then(|first| Some((first, place(first, self.nodes())?)))
        {
            return Some((wire, format!("{}:limiter", self.node_name(node))));
        }
        if let Some((wire, host)) = self
            .loopback
            .and_then(|first| Some((first, place(first, self.hosts.count())?)))
        {
            return Some((wire, format!("{}:loopback", self.hosts.name(host))));
        }
        let backbone = self.backbone.filter(|wire| wire.number == number)?;
        Some((backbone, format!("{}:backbone", self.name)))
    }

    /// The name of a host, or of a switch.
    pub(crate) fn node_name(&self, node: u32) -> String {
        match node.checked_sub(self.hosts.count()) {
            Some(switch) => format!("{}{}", self.name, self.topology.switch_label(switch)),
            None => self.hosts.name(node),
        }
    }
}
