//! Analysis of the network of a run from its event log: load and congestion of links, the pairs of
//! ranks that cause the load, sizes of messages, the communication matrix, unexpected messages.
//!
//! One pass with bounded memory: counters per used link, a state per flow under way, and tables of
//! fixed size.
//!
//! Definitions, for a link:
//! * *bytes*: of all flows that cross the link, including the envelopes of the message layer.
//! * *utilisation*: bytes ÷ (bandwidth × duration of the run), with the bandwidth of the platform
//!   file. A model that lets messages use a part of the bandwidth never reaches 100 %.
//! * *busy*: time in which a flow moves over the link. Time in which flows pay latency is excluded.
//! * *congested*: time in which the link is the bottleneck of two flows or more.
//! * *delay caused*: Σ over the flows of the time for which the link was the bottleneck × (1 − rate
//!   ÷ rate alone). With changing bandwidths, rate alone is the value at the begin of a flow.
//!
//! *Not known here*: links that no message used, so means over a class of links are over used
//! links; acknowledgements on the reverse route, which some models share; the load of links in the
//! packet network, which has no flows; how many posted receives an arriving message searched.

mod bins;
mod classes;
mod links;
mod matrix;
mod page;
mod result;
mod sizes;
mod tables;
mod top_pairs;
mod unexpected;

use std::collections::BTreeMap;
use std::io::Read;

use observe::{LinkParameter, LogEvent, LogReader, NetworkEvent, RankEvent};

#[cfg(feature = "html")]
pub(crate) use bins::Bins;
pub use classes::LinkClass;
pub use matrix::{MatrixEntry, PairMatrix};
#[cfg(feature = "html")]
pub(crate) use page::bytes;
pub use result::{HotLinks, LinkLoad, LoadOverTime, NetworkReport, PairBytes};
pub use sizes::{HopCount, SizeClass, SizeHistogram};
pub use unexpected::UnexpectedMessages;

use links::{ActiveFlow, Links};
use matrix::MatrixCounter;
use sizes::SizeCounter;
use unexpected::UnexpectedCounter;

/// An analysis in progress.
#[derive(Debug)]
pub struct NetworkAnalysis {
    links: Links,
    /// The flows under way, by number.
    flows: BTreeMap<u32, ActiveFlow>,
    /// Flows without links and without a rate: bytes, and bytes per second without other flows.
    /// Models without links have only such flows, maybe one for each rank.
    routeless: BTreeMap<u32, (f64, f64)>,
    /// The flow that began with the previous event.
    begun: Option<u32>,
    /// Number and bytes of flows, by number of links.
    hops: BTreeMap<u32, (u64, f64)>,
    sizes: SizeCounter,
    matrix: MatrixCounter,
    unexpected: UnexpectedCounter,
    /// The time of the latest event in seconds.
    latest: f64,
}

impl NetworkAnalysis {
    /// Begins the analysis of a run of this many ranks.
    pub fn new(ranks: u32) -> Self {
        Self {
            links: Links::default(),
            flows: BTreeMap::new(),
            routeless: BTreeMap::new(),
            begun: None,
            hops: BTreeMap::new(),
            sizes: SizeCounter::new(ranks),
            matrix: MatrixCounter::default(),
            unexpected: UnexpectedCounter::default(),
            latest: 0.0,
        }
    }

    /// Takes the next event of a rank, at a time in seconds.
    pub fn handle_event(&mut self, rank: u32, time: f64, event: &LogEvent) {
        self.latest = self.latest.max(time);
        let begun = self.begun.take();
        match *event {
            RankEvent::Send {
                peer,
                bytes,
                place,
                collective,
                ..
            } => {
                self.sizes.count_send(rank, (place, collective), bytes);
                self.matrix.add_messages(rank, peer, bytes, 1);
            }
            RankEvent::Collective { name, .. } => self.sizes.begin_collective(rank, name),
            RankEvent::Inject { peer, .. } => {
                let flow = begun.and_then(|flow| self.flows.get_mut(&flow));
                if let Some(flow) = flow {
                    flow.pair = Some((rank, peer));
                }
            }
            RankEvent::Unexpected { peer, tag, bytes } => {
                self.unexpected
                    .add_message((rank, time), (peer, tag, bytes));
            }
            RankEvent::Taken { peer, tag, bytes } => {
                self.unexpected
                    .take_message((rank, time), (peer, tag, bytes));
            }
            _ => {}
        }
    }

    /// Takes the next event of the network, at a time in seconds.
    pub fn handle_network_event(&mut self, time: f64, event: &NetworkEvent<Vec<u32>>) {
        self.latest = self.latest.max(time);
        self.begun = None;
        match *event {
            NetworkEvent::Begin {
                flow,
                bytes,
                latency_s,
                alone_s,
                ref links,
            } => {
                let hops = u32::try_from(links.len()).unwrap_or(u32::MAX);
                let (count, sum) = self.hops.entry(hops).or_default();
                *count += 1;
                *sum += bytes;
                let alone = bytes / (alone_s - latency_s);
                if links.is_empty() {
                    self.routeless.insert(flow, (bytes, alone));
                } else {
                    let links = links.clone();
                    self.flows
                        .insert(flow, ActiveFlow::new(bytes, alone, links));
                    self.begun = Some(flow);
                }
            }
            NetworkEvent::Rate { flow, rate, link } => {
                if let Some((bytes, alone)) = self.routeless.remove(&flow) {
                    self.flows
                        .insert(flow, ActiveFlow::new(bytes, alone, Vec::new()));
                }
                if let Some(flow) = self.flows.get_mut(&flow) {
                    self.links.change_rate(flow, time, rate, link);
                }
            }
            NetworkEvent::End { flow } => {
                if let Some(flow) = self.flows.remove(&flow) {
                    self.links.end_flow(flow, time);
                } else {
                    self.routeless.remove(&flow);
                }
            }
            NetworkEvent::LinkChange {
                link,
                parameter: LinkParameter::Bandwidth,
                value,
            } => self.links.change_bandwidth(link, time, value),
            NetworkEvent::LinkChange { .. }
            | NetworkEvent::Computation { .. }
            | NetworkEvent::Incident { .. } => {}
        }
    }

    /// Ends the analysis of a log that has been read.
    pub fn finish_report<R: Read>(mut self, log: &LogReader<R>) -> NetworkReport {
        let end_s = log.end().unwrap_or(self.latest).max(self.latest);
        for flow in std::mem::take(&mut self.flows).into_values() {
            self.links.end_flow(flow, end_s);
        }
        self.links.count_until_end(end_s);
        let loads = result::loads(&self.links, log, end_s);
        NetworkReport {
            end_s,
            hot: result::hot_links(&loads),
            classes: classes::link_classes(&loads),
            over_time: result::over_time(&self.links, &loads, end_s),
            other_delay_s: self.links.other_delay_s,
            sizes: self
                .sizes
                .into_histograms(|number| log.text(number).to_owned()),
            hops: sizes::hops(&self.hops),
            unexpected: self.unexpected.into_rank_messages(end_s),
            matrix: self.matrix.into_matrix(),
            links: loads,
        }
    }
}
