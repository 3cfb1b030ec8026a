//! Derivatives of the time of a run along its critical path.
//!
//! The time of the run is the sum of the times on the path. A small relative change of a parameter
//! changes this sum by the same part of the time that depends on the parameter: for latency of a
//! link, the latencies that the path pays there; for bandwidth, the time in which the link is the
//! bottleneck; for speed, the computation (see LLAMP, arXiv 2404.14193: λ counts latencies).
//!
//! *Exact* while the path and the bottlenecks stay the same, and while transfers that share a link
//! with the path keep their times. *Not counted*: latency of a model with a window, which also
//! changes rates; waits for processors (LogGOPS) and adapters: the path goes through the packet,
//! not through the work that occupies the processor. *Not separated*: `message_latency`, which
//! counts as latency of the links of the route.

use std::collections::BTreeMap;

use observe::{Link, NameId};
use serde::Serialize;

/// A flow on the network, as read backwards.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct FlowTimes {
    pub(super) latency_s: f64,
    /// Duration of the flow alone, in seconds.
    pub(super) alone_s: f64,
    pub(super) links: Vec<u32>,
    /// Seconds by bottleneck.
    pub(super) limits: Vec<(Option<u32>, f64)>,
}

/// A flow before its begin has been read.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FlowEnd {
    /// Seconds by bottleneck.
    pub(super) limits: Vec<(Option<u32>, f64)>,
    /// The time that was read last.
    since: f64,
}

impl FlowEnd {
    /// A flow that ends at a time in seconds.
    pub(super) const fn ending_at(time: f64) -> Self {
        Self {
            limits: Vec::new(),
            since: time,
        }
    }

    /// Sets the bottleneck of the flow from a time on.
    pub(super) fn limited(&mut self, time: f64, link: Option<u32>) {
        let seconds = (self.since - time).max(0.0);
        self.since = time;
        match self.limits.iter_mut().find(|(known, _)| *known == link) {
            Some((_, sum)) => *sum += seconds,
            None => self.limits.push((link, seconds)),
        }
    }
}

/// Seconds of the path by resource or kind.
#[derive(Debug, Default)]
pub(super) struct PathTimes {
    /// Computation by rank.
    pub(super) compute: BTreeMap<u32, f64>,
    /// Computation and sleep by innermost region; at `None` outside of regions.
    pub(super) regions: BTreeMap<Option<NameId>, f64>,
    pub(super) software: f64,
    /// Latency and bandwidth by link; for flows without links at `None`.
    links: BTreeMap<Option<u32>, [f64; 2]>,
    pub(super) other: f64,
}

impl PathTimes {
    /// Adds the transfer of a packet that took this many seconds.
    pub(super) fn travel(&mut self, flow: Option<&FlowTimes>, seconds: f64, links: &[Link]) {
        let Some(flow) = flow else {
            self.other += seconds;
            return;
        };
        let latency = flow.latency_s.min(seconds);
        let of = |link: u32| links.get(link as usize).map_or(0.0, |link| link.latency_s);
        let sum: f64 = flow.links.iter().map(|&link| of(link)).sum();
        if sum > 0.0 {
            for &link in flow.links.iter().filter(|&&link| of(link) > 0.0) {
                self.links.entry(Some(link)).or_default()[0] += latency * of(link) / sum;
            }
        } else if latency > 0.0 {
            self.links.entry(None).or_default()[0] += latency;
        }
        let mut left = seconds - latency;
        if flow.links.is_empty() {
            let through = (flow.alone_s - flow.latency_s).clamp(0.0, left);
            self.links.entry(None).or_default()[1] += through;
            left -= through;
        }
        for &(link, limited) in &flow.limits {
            let limited = limited.min(left);
            if link.is_some() {
                self.links.entry(link).or_default()[1] += limited;
                left -= limited;
            }
        }
        self.other += left;
    }

    /// Adds the time after which a packet has left its sender. In a model without links, this time
    /// is the overhead and the length of the packet.
    pub(super) fn depart(&mut self, flow: Option<&FlowTimes>, seconds: f64) {
        let flow = flow.filter(|flow| flow.links.is_empty());
        let through = flow.map_or(0.0, |flow| flow.alone_s - flow.latency_s);
        let through = through.clamp(0.0, seconds);
        if through > 0.0 {
            self.links.entry(None).or_default()[1] += through;
        }
        self.software += seconds - through;
    }

    /// Returns the derivatives, the greatest first.
    pub(super) fn derivatives<'a>(
        &self,
        links: &'a [Link],
        host: impl Fn(u32) -> &'a str,
    ) -> Vec<Sensitivity> {
        let mut all = Vec::new();
        let mut add = |parameter, of: &str, seconds: f64, value: Option<f64>| {
            if seconds != 0.0 {
                all.push(Sensitivity {
                    parameter,
                    of: of.to_owned(),
                    seconds,
                    per_unit: value.map(|value| seconds / value),
                });
            }
        };
        let mut speeds: BTreeMap<&str, f64> = BTreeMap::new();
        for (&rank, seconds) in &self.compute {
            *speeds.entry(host(rank)).or_default() += seconds;
        }
        for (host, seconds) in speeds {
            add("speed", host, -seconds, None);
        }
        for (link, [latency, bandwidth]) in &self.links {
            let link = link.and_then(|link| links.get(link as usize));
            let name = link.map_or("the network", |link| &link.name);
            add("latency", name, *latency, link.map(|link| link.latency_s));
            let value = link.map(|link| link.bandwidth);
            add("bandwidth", name, -bandwidth, value);
        }
        add("software costs", "", self.software, None);
        all.sort_by(|one, other| other.seconds.abs().total_cmp(&one.seconds.abs()));
        all
    }
}

/// The derivative of the time of the run by a parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
pub struct Sensitivity {
    /// The parameter: "latency", "bandwidth", "speed" or "software costs".
    pub parameter: &'static str,
    /// The link or host; "the network" for a model without links.
    pub of: String,
    /// Change of the time in seconds for a relative change of the parameter: dT ÷ d ln parameter.
    pub seconds: f64,
    /// Change of the time in seconds per unit of the parameter (seconds, bytes per second), if the
    /// log has the value of the parameter.
    pub per_unit: Option<f64>,
}

impl Sensitivity {
    /// Returns the name of the parameter, such as "latency of link-1".
    pub fn name(&self) -> String {
        let (parameter, of) = (self.parameter, &self.of);
        if of.is_empty() {
            parameter.to_owned()
        } else {
            format!("{parameter} of {of}")
        }
    }
}
