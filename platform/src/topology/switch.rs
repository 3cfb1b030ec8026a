//! One switch with a cable to each host: a crossbar, or a backbone if all traffic crosses one more
//! link.
//!
//! A transfer crosses the limiter and the cable of the sender, the backbone if there is one, the
//! cable and the limiter of the receiver. A switch itself is never a bottleneck.

use std::sync::Arc;

use super::{Cable, CableDescription, Description, NodeLabel, RouteStep, Topology, TopologyKind};
use crate::Sharing;
use crate::sketch::Shape;

/// The row of the switch without backbone in the list of all.
pub(super) const CROSSBAR: TopologyKind = TopologyKind {
    name: "crossbar",
    keys: &[],
    read: |_, _, frame| Some(Ok(Arc::new(Switch::new(frame.hosts, false, frame.sharing)))),
};

/// The row of the switch with a backbone in the list of all.
pub(super) const BACKBONE: TopologyKind = TopologyKind {
    name: "backbone",
    keys: &["backbone"],
    read: |collector, section, frame| {
        let example = "{ bandwidth = \"1Tbps\", latency = \"1us\" }";
        collector.present(section, "backbone", example)?;
        Some(Ok(Arc::new(Switch::new(frame.hosts, true, frame.sharing))))
    },
};

/// A crossbar or a backbone.
#[derive(Clone, Debug)]
pub struct Switch {
    hosts: u32,
    backbone: bool,
    /// True if the two directions of a cable are different links.
    duplex: bool,
}

impl Switch {
    /// A switch with `hosts` cables, which transfers share as `sharing` says, and with a backbone
    /// or without.
    #[must_use]
    pub const fn new(hosts: u32, backbone: bool, sharing: Sharing) -> Self {
        Self {
            hosts,
            backbone,
            duplex: matches!(sharing, Sharing::SplitDuplex),
        }
    }

    /// Passes the steps from a host into the switch, or from the switch to a host (`down`).
    pub(crate) fn half(&self, host: u32, down: bool, step: &mut dyn FnMut(RouteStep)) {
        let cable = RouteStep::Cable(
            Cable {
                index: host,
                width: 1,
            },
            down,
        );
        if down {
            if self.backbone {
                step(RouteStep::Backbone);
            }
            step(cable);
            step(RouteStep::Limiter(host));
        } else {
            step(RouteStep::Limiter(host));
            step(cable);
            if self.backbone {
                step(RouteStep::Backbone);
            }
        }
    }
}

impl Topology for Switch {
    fn description(&self) -> Description {
        let (name, summary) = if self.backbone {
            (BACKBONE.name, "backbone")
        } else {
            (CROSSBAR.name, "no backbone")
        };
        Description {
            keys: vec![("topology", name.into())],
            summary: summary.to_owned(),
            shape: Shape::Star(self.backbone),
        }
    }

    fn cables(&self) -> u32 {
        self.hosts
    }

    /// Calls `step` once for a part that would occur twice on the route.
    fn walk(&self, from: u32, to: u32, step: &mut dyn FnMut(RouteStep)) {
        self.half(from, false, step);
        self.half(to, true, &mut |next| match next {
            RouteStep::Backbone => {}
            RouteStep::Limiter(host) if host == from => {}
            RouteStep::Cable(cable, _) if cable.index == from && !self.duplex => {}
            next => step(next),
        });
    }

    fn describe_cable(&self, cable: u32) -> CableDescription {
        CableDescription {
            label: NodeLabel::Host(cable, String::new()),
            width: 1,
            ends: (cable, self.hosts),
        }
    }

    fn centre(&self) -> Option<&Switch> {
        Some(self)
    }
}
