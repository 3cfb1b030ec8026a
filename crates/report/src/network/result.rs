//! Results of an analysis of the network.

use std::io::Read;

use observe::LogReader;
use serde::Serialize;

use super::links::Links;
use super::{HopCount, LinkClass, PairMatrix, SizeHistogram, UnexpectedMessages};

/// Links in each list of hot links.
const HOT: usize = 20;

/// Maximum number of links in the report of the load over time.
const OVER_TIME: usize = 64;

/// Result of an analysis of the network. Links and pairs of ranks are in tables of their own, and
/// left out where the result is serialized.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkReport {
    /// Duration of the run in seconds.
    pub end_s: f64,
    /// The links that stand out.
    pub hot: HotLinks,
    /// Classes of links.
    pub classes: Vec<LinkClass>,
    /// Load of the busiest links as a function of time.
    pub over_time: LoadOverTime,
    /// Delay in seconds that no link causes, but a penalty or a limit of the model.
    pub other_delay_s: f64,
    /// Lengths of messages by call, calls with most bytes first.
    pub sizes: Vec<SizeHistogram>,
    /// Numbers of links that flows cross.
    pub hops: Vec<HopCount>,
    /// Unexpected messages of the ranks that have any.
    #[serde(skip)]
    pub unexpected: Vec<UnexpectedMessages>,
    /// The communication matrix.
    #[serde(skip)]
    pub matrix: PairMatrix,
    /// All links that were used, in the order of their first use.
    #[serde(skip)]
    pub links: Vec<LinkLoad>,
}

/// Load of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkLoad {
    /// Name of the link, with the direction if the link has two directions.
    pub name: String,
    /// Bandwidth in bytes per second.
    pub bandwidth: f64,
    /// Bytes that crossed the link.
    pub bytes: f64,
    /// Bytes ÷ (bandwidth × duration of the run).
    pub utilisation: f64,
    /// Time in seconds in which a flow moved over the link.
    pub busy_s: f64,
    /// Time in seconds in which the link was the bottleneck of two flows or more.
    pub congested_s: f64,
    /// Delay in seconds that the link caused, added up over the flows of the link.
    pub delay_s: f64,
    /// Number of flows, as a mean over the duration of the run.
    pub flows_mean: f64,
    /// Number of flows at once, at most.
    pub flows_max: u32,
    /// The pairs of ranks with most bytes on the link.
    pub pairs: Vec<PairBytes>,
}

/// Bytes of a pair of ranks on a link.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PairBytes {
    /// The sending rank.
    pub source: u32,
    /// The receiving rank.
    pub destination: u32,
    /// Bytes, perhaps with some of other pairs.
    pub bytes: f64,
    /// Bytes of other pairs among them, at most.
    pub error_bytes: f64,
}

/// The links that stand out, by four measures, the largest first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotLinks {
    /// By bytes.
    pub by_bytes: Vec<LinkLoad>,
    /// By busy time.
    pub by_busy: Vec<LinkLoad>,
    /// By congested time.
    pub by_congested: Vec<LinkLoad>,
    /// By delay caused.
    pub by_delay: Vec<LinkLoad>,
}

/// Load of links as a function of time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LoadOverTime {
    /// Width of a bin in seconds. The first begins at 0.
    pub bin_s: f64,
    /// Names of the links, the busiest first.
    pub links: Vec<String>,
    /// Utilisation of each of these links in each bin, from 0 to 1.
    pub utilisation: Vec<Vec<f64>>,
}

/// Returns the loads of all links.
pub(super) fn loads<R: Read>(links: &Links, log: &LogReader<R>, end_s: f64) -> Vec<LinkLoad> {
    let per_time = |amount: f64| if end_s > 0.0 { amount / end_s } else { 0.0 };
    let part = |bytes: f64, of: f64| if of > 0.0 { bytes / of } else { 0.0 };
    let all = (0..).zip(links.counters.iter().zip(log.links()));
    let load = all.map(|(number, (counters, link))| LinkLoad {
        name: link.name.clone(),
        bandwidth: link.bandwidth,
        bytes: counters.bytes,
        utilisation: part(
            counters.bytes,
            links.capacity(number, link.bandwidth, end_s),
        ),
        busy_s: counters.busy_s,
        congested_s: counters.congested_s,
        delay_s: counters.delay_s,
        flows_mean: per_time(counters.flow_s),
        flows_max: counters.flows_max,
        pairs: counters.pairs.largest(),
    });
    load.collect()
}

/// Returns the positions of the links, ordered by a measure, the largest first, without the links
/// for which the measure is 0.
fn ranked(links: &[LinkLoad], measure: fn(&LinkLoad) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..links.len())
        .filter(|&at| measure(&links[at]) > 0.0)
        .collect();
    order.sort_by(|&a, &b| measure(&links[b]).total_cmp(&measure(&links[a])));
    order
}

/// Returns the links that stand out.
pub(super) fn hot_links(links: &[LinkLoad]) -> HotLinks {
    let top = |measure| {
        let order = ranked(links, measure).into_iter().take(HOT);
        order.map(|at| links[at].clone()).collect()
    };
    HotLinks {
        by_bytes: top(|link| link.bytes),
        by_busy: top(|link| link.busy_s),
        by_congested: top(|link| link.congested_s),
        by_delay: top(|link| link.delay_s),
    }
}

/// Returns the load of the busiest links as a function of time.
pub(super) fn over_time(links: &Links, loads: &[LinkLoad], end_s: f64) -> LoadOverTime {
    let bin_s = links.bins.width_s;
    let busiest = ranked(loads, |link| link.utilisation);
    let busiest = busiest.into_iter().take(OVER_TIME);
    let row = |at: usize| {
        let bytes = links.bins.rows.get(at).map_or(&[][..], |row| row);
        let part = |(bin, bytes): (usize, &f64)| {
            let link = u32::try_from(at).unwrap_or(u32::MAX);
            let whole = links.capacity_of_bin(link, loads[at].bandwidth, bin, end_s);
            if whole > 0.0 { bytes / whole } else { 0.0 }
        };
        (
            loads[at].name.clone(),
            bytes.iter().enumerate().map(part).collect(),
        )
    };
    let (links, utilisation) = busiest.map(row).unzip();
    LoadOverTime {
        bin_s,
        links,
        utilisation,
    }
}
