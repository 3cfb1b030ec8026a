//! The result of an analysis, as numbers and names.

use std::collections::BTreeMap;
use std::io::Read;

use observe::{HostNames, LogReader, NameId};
use serde::Serialize;

use super::Analysis;
use super::backward::BackwardReport;
use super::class::{Class, RankTimes, Split};
use super::imbalance::RegionImbalance;
use super::profile::{NETWORK, PathTime};

/// Number of wait states that are listed; the others are added up.
const LISTED_MAX: usize = 100;

/// The result of an analysis. All times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AnalysisReport {
    /// Kind of the run: `simulated` or `real`.
    pub kind: &'static str,
    /// Sentences of the log about missing or uncertain data.
    pub notes: Vec<String>,
    /// The time of the end of the run.
    pub end_s: f64,
    /// True if the log has the end of the run; false if the log is truncated.
    pub whole: bool,
    /// Number of events.
    pub events: u64,
    /// Number of ranks.
    pub ranks: u32,
    /// Mean time of the ranks by class.
    pub mean_s: BTreeMap<&'static str, f64>,
    /// Efficiencies of the run.
    pub efficiencies: Efficiencies,
    /// Computation of all ranks together. The computation of a reference run divided by this value
    /// is POP's efficiency of computation scaling.
    pub computation_s: f64,
    /// Wait states and transfers, the greatest sum first.
    pub waits: Vec<WaitState>,
    /// The critical path by kind of time.
    pub critical_path_s: BTreeMap<&'static str, f64>,
    /// Number of packets along the critical path.
    pub critical_packets: u64,
    /// Number of receives from any source, tests, probes and waits for one of several: with
    /// messages in another order the program may have another critical path.
    pub choices: u64,
    /// The heaviest places of the critical path.
    pub critical_places: Vec<PathShare>,
    /// Mean time of the ranks by region of the program and class.
    pub regions_s: BTreeMap<String, BTreeMap<&'static str, f64>>,
    /// Imbalance of the regions that the critical path crosses, the greatest first; known if the
    /// log was read backwards, too.
    pub imbalance: Vec<RegionImbalance>,
    /// Slack, delay costs and derivatives; known if the log was read backwards, too.
    pub backward: Option<BackwardReport>,
    /// The ranks.
    #[serde(skip)]
    pub times: RankTimes,
    /// The hosts of the ranks.
    #[serde(skip)]
    pub hosts: HostNames,
}

/// Efficiencies as POP defines them (<https://co-design.pop-coe.eu/metrics>): the parallel
/// efficiency is the product of the other two. Each is in (0, 1]; `None` if no rank computes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Efficiencies {
    /// Mean computation of the ranks divided by the time of the run.
    pub parallel: Option<f64>,
    /// Mean computation divided by the greatest.
    pub load_balance: Option<f64>,
    /// Greatest computation divided by the time of the run.
    pub communication: Option<f64>,
    /// Greatest computation divided by the time of the run, both on an ideal network; known if that
    /// was simulated and the ranks compute the same there.
    pub serialisation: Option<f64>,
    /// Time of the run on an ideal network divided by the time of this run.
    pub transfer: Option<f64>,
    /// True if the ranks compute for another time on an ideal network: the actions of the program
    /// depend on the order of messages.
    pub program_differs: bool,
}

/// Largest relative difference of computation that is rounding.
const SAME: f64 = 1e-9;

impl AnalysisReport {
    /// Compares with the same run on an ideal network: communication efficiency is the product of
    /// the efficiencies of serialisation and transfer.
    pub fn compare_with_ideal(&mut self, ideal: &Self) {
        let computed =
            |report: &Self| -> Vec<f64> { report.times.times_in_class(Class::Compute).collect() };
        let (own, other) = (computed(self), computed(ideal));
        let most = own.iter().copied().fold(0.0, f64::max);
        let differ = |(one, other): (&f64, &f64)| (one - other).abs() > SAME * most;
        let all = &mut self.efficiencies;
        all.program_differs = own.len() != other.len() || own.iter().zip(&other).any(differ);
        if !all.program_differs && ideal.end_s > 0.0 && most > 0.0 {
            all.serialisation = Some(most / ideal.end_s);
            all.transfer = Some(ideal.end_s / self.end_s);
        }
    }
}

/// A sum of waits of one class, in one call, charged to the actions of other ranks.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
pub struct WaitState {
    /// Class of the waits.
    pub class: Class,
    /// Name of the call that waits.
    pub call: String,
    /// Line of that call.
    pub place: String,
    /// Sum over all ranks.
    pub seconds: f64,
    /// Number of waits.
    pub count: u64,
    /// Name of the call in which the other rank had spent its time; empty if the other rank had
    /// spent no time.
    pub causer_call: String,
    /// Line of that call.
    pub causer_place: String,
    /// The rank with the longest wait.
    pub longest_rank: u32,
    /// Length of the longest wait.
    pub longest_s: f64,
    /// Beginning of the longest wait.
    pub longest_from_s: f64,
    /// The rank for which `longest_rank` waited.
    pub longest_causer: Option<u32>,
}

/// A place of the critical path.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
pub struct PathShare {
    /// Rank; `None` for transfers that a rank waits for in this call.
    pub rank: Option<u32>,
    /// Name of the call.
    pub call: String,
    /// Line of the call.
    pub place: String,
    /// Time of the path in the call.
    pub seconds: f64,
}

pub(super) fn analysis_report<R: Read>(
    mut analysis: Analysis,
    reader: &LogReader<R>,
    end: f64,
) -> AnalysisReport {
    let path = analysis.ranks.get(analysis.last_rank as usize);
    let path = path
        .map(|rank| rank.profile.unpack_profile())
        .unwrap_or_default();
    // What is left of the ranks is a part of the result.
    analysis.ranks = Vec::new();
    let times = &analysis.times;
    // From 0: the sum of none is -0.
    let sum =
        Split(Class::ALL.map(|class| times.times_in_class(class).fold(0.0, |sum, own| sum + own)));
    let text = |number: NameId| reader.text(number).to_owned();
    let mut places: Vec<PathShare> = (path.heaviest.iter())
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(at, seconds)| PathShare {
            rank: (at.rank != NETWORK).then_some(at.rank),
            call: text(at.call),
            place: text(at.place),
            seconds: *seconds,
        })
        .collect();
    places.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let count = f64::from(reader.ranks().max(1));
    let regions = analysis.regions.iter();
    AnalysisReport {
        end_s: end,
        kind: reader.kind().name(),
        notes: reader.notes().map(str::to_owned).collect(),
        whole: reader.end().is_some(),
        events: analysis.events,
        ranks: reader.ranks(),
        mean_s: by_class(&sum, count),
        efficiencies: efficiencies(times, end),
        computation_s: sum.class_time(Class::Compute),
        waits: waits(&analysis, text),
        critical_path_s: [
            ("compute", PathTime::Compute),
            ("software", PathTime::Software),
            ("latency", PathTime::Latency),
            ("bandwidth", PathTime::Bandwidth),
            ("contention", PathTime::Contention),
            ("transfer", PathTime::Transfer),
            ("resources", PathTime::Resources),
            ("other", PathTime::Other),
        ]
        .map(|(name, kind)| (name, path.times[kind as usize]))
        .into(),
        critical_packets: path.packets,
        choices: analysis.choices,
        critical_places: places,
        regions_s: regions
            .map(|(&region, split)| (text(region), by_class(split, count)))
            .collect(),
        imbalance: Vec::new(),
        backward: None,
        times: analysis.times,
        hosts: reader.hosts().clone(),
    }
}

/// Returns the means of the classes that occur.
fn by_class(sum: &Split, ranks: f64) -> BTreeMap<&'static str, f64> {
    let means = Class::ALL.map(|class| (class.name(), sum.class_time(class) / ranks));
    means
        .into_iter()
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect()
}

fn efficiencies(times: &RankTimes, end: f64) -> Efficiencies {
    let computed = || times.times_in_class(Class::Compute);
    let mean = computed().sum::<f64>() / f64::from(times.rank_numbers().end.max(1));
    let most = computed().fold(0.0, f64::max);
    let ratio = |part: f64, whole: f64| (most > 0.0 && whole > 0.0).then(|| part / whole);
    Efficiencies {
        parallel: ratio(mean, end),
        load_balance: ratio(mean, most),
        communication: ratio(most, end),
        serialisation: None,
        transfer: None,
        program_differs: false,
    }
}

fn waits(analysis: &Analysis, text: impl Fn(NameId) -> String) -> Vec<WaitState> {
    let sums = analysis.waits.0.iter();
    let mut all: Vec<WaitState> = sums
        .filter(|(key, _)| !matches!(key.class, Class::Compute | Class::Sleep))
        .map(|(key, sum)| {
            let (call, place) = key
                .causer
                .map_or_else(Default::default, |(call, place)| (text(call), text(place)));
            WaitState {
                class: key.class,
                call: text(key.call.0),
                place: text(key.call.1),
                seconds: sum.seconds,
                count: sum.count,
                causer_call: call,
                causer_place: place,
                longest_rank: sum.longest.rank,
                longest_s: sum.longest.seconds,
                longest_from_s: sum.longest.from,
                longest_causer: sum.longest.causer,
            }
        })
        .collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all.truncate(LISTED_MAX);
    all
}
