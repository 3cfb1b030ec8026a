//! One switch with a cable to each host: a crossbar, or a backbone if all traffic crosses one more
//! link.
//!
//! A transfer crosses the limiter and the cable of the sender, the backbone if there is one, the
//! cable and the limiter of the receiver. A switch itself is never a bottleneck.

use super::{Cable, Step};

/// A crossbar or a backbone.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) hosts: u32,
    pub(crate) backbone: bool,
    /// True if the two directions of a cable are different links.
    pub(crate) duplex: bool,
}

impl Switch {
    /// The way from a host into the switch, or from the switch to a host (`down`).
    pub(crate) fn half(&self, host: u32, down: bool, step: &mut impl FnMut(Step)) {
        let cable = Step::Cable(
            Cable {
                index: host,
                width: 1,
            },
            down,
        );
        if down {
            if self.backbone {
                step(Step::Backbone);
            }
            step(cable);
            step(Step::Limiter(host));
        } else {
            step(Step::Limiter(host));
            step(cable);
            if self.backbone {
                step(Step::Backbone);
            }
        }
    }

    /// The whole way; what would occur twice on it occurs once.
    pub(super) fn walk(&self, from: u32, to: u32, step: &mut impl FnMut(Step)) {
        self.half(from, false, step);
        self.half(to, true, &mut |next| match next {
            Step::Backbone => {}
            Step::Limiter(host) if host == from => {}
            Step::Cable(cable, _) if cable.index == from && !self.duplex => {}
            next => step(next),
        });
    }
}
