//! Counters of links, brought up to date when the rate of a flow changes.

use std::collections::BTreeMap;

use super::bins::Bins;
use super::top_pairs::TopPairs;

/// Relative difference of the bytes that have moved and the length of a flow below which the flow
/// is complete.
const COMPLETE: f64 = 1e-6;

/// Part by which a flow is slower than alone below which that is rounding: the rate alone is a
/// difference of durations.
const ROUNDING: f64 = 1e-6;

/// A flow under way.
#[derive(Debug)]
pub(super) struct ActiveFlow {
    bytes: f64,
    /// Bytes per second without other flows.
    alone: f64,
    links: Vec<u32>,
    /// Source and destination, if they are known.
    pub(super) pair: Option<(u32, u32)>,
    /// Bytes per second; `None` while the flow pays its latency.
    rate: Option<f64>,
    /// The bottleneck.
    limit: Option<u32>,
    /// Beginning of the present rate in seconds.
    since_s: f64,
    /// Bytes that moved before `since_s`.
    moved: f64,
}

impl ActiveFlow {
    pub(super) const fn new(bytes: f64, alone: f64, links: Vec<u32>) -> Self {
        Self {
            bytes,
            alone,
            links,
            pair: None,
            rate: None,
            limit: None,
            since_s: 0.0,
            moved: 0.0,
        }
    }
}

/// Counters of a link.
#[derive(Clone, Default, Debug)]
pub(super) struct Counters {
    pub(super) bytes: f64,
    pub(super) busy_s: f64,
    pub(super) congested_s: f64,
    pub(super) delay_s: f64,
    /// Integral of the number of flows over time.
    pub(super) flow_s: f64,
    pub(super) flows_max: u32,
    pub(super) pairs: TopPairs,
    /// Number of flows that move over the link.
    flows: u32,
    /// Number of flows that have this link as bottleneck.
    limited: u32,
    /// Beginning of these numbers in seconds.
    since_s: f64,
}

impl Counters {
    fn advance_time(&mut self, time_s: f64) {
        let elapsed_s = (time_s - self.since_s).max(0.0);
        self.since_s = time_s;
        if self.flows > 0 {
            self.busy_s += elapsed_s;
            self.flow_s += f64::from(self.flows) * elapsed_s;
        }
        if self.limited > 1 {
            self.congested_s += elapsed_s;
        }
    }
}

/// The bandwidth of a link that changes.
#[derive(Debug)]
struct Bandwidth {
    /// Time of the first change in seconds.
    first_s: f64,
    /// Time of the last change in seconds.
    since_s: f64,
    /// Bytes per second since then.
    now: f64,
    /// Bytes that the link could carry between the two.
    capacity: f64,
}

/// The counters of all links.
#[derive(Default, Debug)]
pub(super) struct Links {
    pub(super) counters: Vec<Counters>,
    pub(super) bins: Bins,
    /// Delay of flows that no link limited, in seconds.
    pub(super) other_delay_s: f64,
    /// The bandwidths that have changed.
    bandwidths: BTreeMap<u32, Bandwidth>,
}

impl Links {
    fn link_counters(&mut self, link: u32) -> &mut Counters {
        let at = link as usize;
        if at >= self.counters.len() {
            self.counters.resize_with(at + 1, Counters::default);
        }
        &mut self.counters[at]
    }

    /// Takes a new bandwidth of a link, in bytes per second.
    pub(super) fn change_bandwidth(&mut self, link: u32, time_s: f64, bandwidth: f64) {
        let known = self.bandwidths.entry(link).or_insert(Bandwidth {
            first_s: time_s,
            since_s: time_s,
            now: bandwidth,
            capacity: 0.0,
        });
        let span = (known.since_s, time_s);
        known.capacity += known.now * (time_s - known.since_s);
        self.bins.add_capacity(link, span, known.now);
        (known.since_s, known.now) = (time_s, bandwidth);
    }

    /// Returns the bytes that a link can carry until the end of the run. `bandwidth`: the bandwidth
    /// in the platform file, in bytes per second.
    pub(super) fn capacity(&self, link: u32, bandwidth: f64, end_s: f64) -> f64 {
        match self.bandwidths.get(&link) {
            None => bandwidth * end_s,
            Some(known) => {
                let last = known.now * (end_s - known.since_s);
                bandwidth * known.first_s + known.capacity + last
            }
        }
    }

    /// Returns the bytes that a link can carry in a bin. `bandwidth`: as in the platform file.
    pub(super) fn capacity_of_bin(&self, link: u32, bandwidth: f64, bin: usize, end_s: f64) -> f64 {
        let width_s = self.bins.width_s;
        let begin_s = width_s * bin as f64;
        let width_s = width_s.min(end_s - begin_s);
        match self.bandwidths.get(&link) {
            None => bandwidth * width_s,
            Some(known) => {
                let row = self.bins.capacities.get(&link);
                let changed = row.and_then(|row| row.get(bin)).copied();
                let before_s = (known.first_s - begin_s).clamp(0.0, width_s.max(0.0));
                bandwidth * before_s + changed.unwrap_or(0.0)
            }
        }
    }

    /// Counts the progress of a flow at its present rate.
    fn settle_flow(&mut self, flow: &mut ActiveFlow, time_s: f64) {
        let (from_s, elapsed_s) = (flow.since_s, time_s - flow.since_s);
        flow.since_s = time_s;
        let Some(rate) = flow.rate.filter(|_| elapsed_s > 0.0) else {
            return;
        };
        flow.moved += rate * elapsed_s;
        for &link in &flow.links {
            self.bins.add(link, from_s, time_s, rate);
        }
        let slower = 1.0 - rate / flow.alone;
        let slower = if slower > ROUNDING { slower } else { 0.0 };
        match flow.limit {
            Some(link) => self.link_counters(link).delay_s += elapsed_s * slower,
            None => self.other_delay_s += elapsed_s * slower,
        }
    }

    /// Takes a new rate of a flow.
    pub(super) fn change_rate(
        &mut self,
        flow: &mut ActiveFlow,
        time_s: f64,
        rate: f64,
        limit: Option<u32>,
    ) {
        self.settle_flow(flow, time_s);
        if flow.rate.replace(rate).is_none() {
            for &link in &flow.links {
                let counters = self.link_counters(link);
                counters.advance_time(time_s);
                counters.flows += 1;
                counters.flows_max = counters.flows_max.max(counters.flows);
            }
        }
        self.set_bottleneck(flow, time_s, limit);
    }

    /// Sets the bottleneck of a flow.
    fn set_bottleneck(&mut self, flow: &mut ActiveFlow, time_s: f64, limit: Option<u32>) {
        let before = std::mem::replace(&mut flow.limit, limit);
        if before == limit {
            return;
        }
        if let Some(link) = before {
            let counters = self.link_counters(link);
            counters.advance_time(time_s);
            counters.limited -= 1;
        }
        if let Some(link) = limit {
            let counters = self.link_counters(link);
            counters.advance_time(time_s);
            counters.limited += 1;
        }
    }

    /// Takes the end of a flow.
    pub(super) fn end_flow(&mut self, mut flow: ActiveFlow, time_s: f64) {
        self.settle_flow(&mut flow, time_s);
        self.set_bottleneck(&mut flow, time_s, None);
        let is_complete = (flow.moved - flow.bytes).abs() <= COMPLETE * flow.bytes;
        let bytes = if is_complete { flow.bytes } else { flow.moved };
        for &link in &flow.links {
            let counters = self.link_counters(link);
            if flow.rate.is_some() {
                counters.advance_time(time_s);
                counters.flows -= 1;
            }
            counters.bytes += bytes;
            if let Some(pair) = flow.pair {
                counters.pairs.add_bytes(pair, bytes);
            }
        }
    }

    /// Counts the time until the end of the run.
    pub(super) fn count_until_end(&mut self, end_s: f64) {
        for counters in &mut self.counters {
            counters.advance_time(end_s);
        }
        for (&link, known) in &self.bandwidths {
            let span = (known.since_s, end_s);
            self.bins.add_capacity(link, span, known.now);
        }
    }
}
