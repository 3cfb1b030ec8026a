//! The tables of the page: texts, and numbers by which they are sorted.

use serde::Serialize;

use crate::analysis::{AnalysisReport, BackwardReport, Class, seconds};
use crate::network::{LinkLoad, NetworkReport, bytes};

/// Ranks in the table at most.
pub(super) const RANKS_MAX: usize = 64;

/// Rows at most of the tables of causes, derivatives and slack.
const CAUSES_MAX: usize = 100;

/// Regions in the table at most.
const REGIONS_MAX: usize = 100;

/// A table of a page.
#[derive(Debug, Serialize)]
pub struct Table<'a> {
    /// Identifier on the page.
    pub id: &'a str,
    /// Heading of the table.
    pub title: &'a str,
    /// A sentence about the table.
    pub note: String,
    /// Names of the columns.
    pub columns: Vec<&'a str>,
    /// The rows, with a cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Last row, which is not sorted; empty if there is none.
    pub footer: Vec<Cell>,
}

/// A cell of a table: a text, and the number by which rows are sorted.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    text: String,
    /// The number by which rows are sorted; cells without one by their texts.
    number: Option<f64>,
}

impl Cell {
    /// Makes a cell that is sorted by a number.
    pub const fn number(number: f64, text: String) -> Self {
        Self {
            text,
            number: Some(number),
        }
    }

    fn seconds(time: f64) -> Self {
        Self::number(time, seconds(time))
    }

    fn percent(share: f64) -> Self {
        Self::number(share, format!("{:.1} %", 100.0 * share))
    }

    fn count(count: u64) -> Self {
        Self::number(count as f64, count.to_string())
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            number: None,
        }
    }
}

/// Returns the text of a call and the line of the call.
fn call(name: &str, place: &str) -> Cell {
    match (name, place) {
        ("", "") => Cell::from("–"),
        (name, "") => Cell::from(name),
        (name, place) => Cell::from(format!("{name}, {place}")),
    }
}

/// Returns a share of a time; 0 of none.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Returns the classes that occur.
fn classes(analysis: &AnalysisReport) -> impl Iterator<Item = Class> {
    let known = |class: &Class| analysis.mean_s.contains_key(class.name());
    Class::ALL.into_iter().filter(known)
}

/// Returns the time classes of the ranks that differ most from the mean.
pub(super) fn ranks(analysis: &AnalysisReport) -> Table<'static> {
    let classes: Vec<Class> = classes(analysis).collect();
    let mean = |class: Class| analysis.mean_s.get(class.name()).copied().unwrap_or(0.0);
    let distance = |rank: u32| -> f64 {
        let parts = classes.iter();
        parts
            .map(|class| (analysis.times.of(rank, *class) - mean(*class)).abs())
            .sum()
    };
    let mut shown: Vec<u32> = analysis.times.ranks().collect();
    let note = if shown.len() > RANKS_MAX {
        shown.sort_by(|one, other| distance(*other).total_cmp(&distance(*one)));
        shown.truncate(RANKS_MAX);
        shown.sort_unstable();
        format!(
            "The {RANKS_MAX} of {} ranks that differ most from the mean.",
            analysis.ranks
        )
    } else {
        "Shares of the time of the run.".to_owned()
    };
    let of_run = |time: f64| Cell::percent(share(time, analysis.end_s));
    let row = |&rank: &u32| {
        let mut row = vec![
            Cell::count(u64::from(rank)),
            Cell::from(analysis.hosts.of(rank)),
        ];
        row.extend(
            classes
                .iter()
                .map(|class| of_run(analysis.times.of(rank, *class))),
        );
        row
    };
    let mut footer = vec![Cell::from("mean"), Cell::from("of all ranks")];
    footer.extend(classes.iter().map(|class| of_run(mean(*class))));
    let mut columns = vec!["rank", "host"];
    columns.extend(classes.iter().map(|class| class.name()));
    Table {
        id: "ranks",
        title: "Time of the ranks",
        note,
        columns,
        rows: shown.iter().map(row).collect(),
        footer,
    }
}

/// Returns a sentence about another order of messages, if the program depends on theirs.
fn choices(analysis: &AnalysisReport) -> String {
    match analysis.choices {
        0 => String::new(),
        count => format!(
            " With messages in another order it may be another one: the program received from any source or tested {count} times."
        ),
    }
}

/// Returns the wait states.
pub(super) fn waits(analysis: &AnalysisReport) -> Table<'static> {
    let whole = analysis.end_s * f64::from(analysis.ranks);
    let rows = analysis.waits.iter().map(|wait| {
        let longest = match wait.longest_causer {
            Some(causer) => format!(
                "{}: rank {} for rank {causer}",
                seconds(wait.longest_s),
                wait.longest_rank
            ),
            None => format!("{}: rank {}", seconds(wait.longest_s), wait.longest_rank),
        };
        vec![
            Cell::percent(share(wait.seconds, whole)),
            Cell::from(wait.class.name()),
            call(&wait.call, &wait.place),
            call(&wait.causer_call, &wait.causer_place),
            Cell::count(wait.count),
            Cell::number(wait.longest_s, longest),
        ]
    });
    Table {
        id: "waits",
        title: "Wait states",
        note: "Shares of the time of all ranks, by what the other rank did meanwhile.".to_owned(),
        columns: vec!["share", "class", "in", "caused in", "waits", "longest"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the critical path by kind of time.
pub(super) fn path(analysis: &AnalysisReport) -> Table<'static> {
    let kinds = analysis.critical_path_s.iter();
    let rows = kinds.filter(|(_, time)| **time > 0.0).map(|(kind, time)| {
        vec![
            Cell::from(*kind),
            Cell::seconds(*time),
            Cell::percent(share(*time, analysis.end_s)),
        ]
    });
    Table {
        id: "path",
        title: "Critical path",
        note: format!(
            "It has {} packets.{}",
            analysis.critical_packets,
            choices(analysis)
        ),
        columns: vec!["kind", "time", "share"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the heaviest places of the critical path.
pub(super) fn places(analysis: &AnalysisReport) -> Table<'static> {
    let rows = analysis.critical_places.iter().map(|place| {
        let rank = match place.rank {
            Some(rank) => Cell::count(u64::from(rank)),
            None => Cell::from("transfer"),
        };
        vec![
            rank,
            call(&place.call, &place.place),
            Cell::seconds(place.seconds),
            Cell::percent(share(place.seconds, analysis.end_s)),
        ]
    });
    Table {
        id: "places",
        title: "Heaviest places of the critical path",
        note: "Shorten these to shorten the run.".to_owned(),
        columns: vec!["rank", "in", "time", "share"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the causes of the waits.
pub(super) fn delays(
    backward: Option<&BackwardReport>,
    analysis: &AnalysisReport,
) -> Table<'static> {
    let whole = analysis.end_s * f64::from(analysis.ranks);
    let costs = backward.map_or(&[][..], |backward| &backward.delay_costs);
    let rows = costs.iter().take(CAUSES_MAX).map(|cost| {
        vec![
            Cell::percent(share(cost.seconds(), whole)),
            Cell::count(u64::from(cost.rank)),
            call(&cost.call, &cost.place),
            Cell::from(cost.region.as_str()),
            Cell::seconds(cost.direct_s),
            Cell::seconds(cost.indirect_s),
        ]
    });
    Table {
        id: "delays",
        title: "Causes of waits",
        note: "Time of all ranks that wait for this rank (direct), and for ranks that wait for it (indirect)."
            .to_owned(),
        columns: vec!["share", "rank", "in", "region", "direct", "indirect"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the derivatives of the time of the run.
pub(super) fn derivatives(backward: Option<&BackwardReport>, end_s: f64) -> Table<'static> {
    let all = backward.map_or(&[][..], |backward| &backward.derivatives);
    let rows = all.iter().take(CAUSES_MAX).map(|one| {
        let part = share(one.seconds, end_s);
        vec![
            Cell::from(one.name()),
            Cell::number(part, format!("{part:+.4} %")),
        ]
    });
    Table {
        id: "derivatives",
        title: "Parameters that matter",
        note: "Change of the time of the run if the parameter is 1 % greater, along the critical path."
            .to_owned(),
        columns: vec!["parameter", "change"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the slack of calls and messages.
pub(super) fn slack(backward: Option<&BackwardReport>) -> Table<'static> {
    let all = backward.map_or(&[][..], |backward| &backward.slack);
    let rows = all.iter().take(CAUSES_MAX).map(|row| {
        let name = if row.call.is_empty() {
            row.of
        } else {
            &row.call
        };
        vec![
            call(name, &row.place),
            Cell::count(row.count),
            Cell::seconds(row.least_s),
            Cell::seconds(row.mean_s),
            Cell::seconds(row.greatest_s),
        ]
    });
    Table {
        id: "slack",
        title: "Slack",
        note: "Time by which calls can end later, and messages be sent later, without a later end of the run."
            .to_owned(),
        columns: vec!["of", "number", "least", "mean", "greatest"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the regions of the program.
pub(super) fn regions(analysis: &AnalysisReport) -> Table<'static> {
    let occurs = |class: &Class| {
        let mut regions = analysis.regions_s.values();
        regions.any(|split| split.contains_key(class.name()))
    };
    let classes: Vec<Class> = classes(analysis).filter(occurs).collect();
    let mut shown: Vec<(&String, f64)> = (analysis.regions_s.iter())
        .map(|(region, split)| (region, split.values().sum()))
        .collect();
    let mut note = "Shares of the time of the run, mean over the ranks.".to_owned();
    if shown.len() > REGIONS_MAX {
        note = format!("{note} The longest {REGIONS_MAX} of {}.", shown.len());
        shown.sort_by(|one, other| other.1.total_cmp(&one.1));
        shown.truncate(REGIONS_MAX);
    }
    let rows = shown.into_iter().map(|(region, sum)| {
        let split = &analysis.regions_s[region];
        let mut row = vec![
            Cell::from(region.as_str()),
            Cell::percent(share(sum, analysis.end_s)),
        ];
        row.extend(classes.iter().map(|class| {
            let time = split.get(class.name()).copied().unwrap_or(0.0);
            Cell::percent(share(time, analysis.end_s))
        }));
        row
    });
    let mut columns = vec!["region", "all"];
    columns.extend(classes.iter().map(|class| class.name()));
    Table {
        id: "regions",
        title: "Regions of the program",
        note,
        columns,
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the imbalance of regions.
pub(super) fn imbalance(analysis: &AnalysisReport) -> Table<'static> {
    let rows = analysis.imbalance.iter().take(REGIONS_MAX).map(|row| {
        vec![
            Cell::from(row.name()),
            Cell::seconds(row.path_s),
            Cell::seconds(row.mean_s),
            Cell::seconds(row.imbalance_s),
            Cell::percent(row.part),
        ]
    });
    Table {
        id: "imbalance",
        title: "Imbalance of regions",
        note: "Computation on the critical path beyond the mean of the ranks: perfect balance saves this at most."
            .to_owned(),
        columns: vec!["region", "on the path", "mean", "imbalance", "of the run"],
        rows: rows.collect(),
        footer: Vec::new(),
    }
}

/// Returns the links that delay most, then the links with most bytes, and the pairs behind them.
pub(super) fn links(network: &NetworkReport) -> Table<'static> {
    let hot = &network.hot;
    let mut shown: Vec<&LinkLoad> = Vec::new();
    for link in hot.by_delay.iter().chain(&hot.by_bytes) {
        if shown.iter().all(|other| other.name != link.name) {
            shown.push(link);
        }
    }
    let rows = shown.iter().map(|link| {
        let pairs: Vec<String> = (link.pairs.iter())
            .map(|pair| {
                let most = if pair.error_bytes > 0.0 {
                    "at most "
                } else {
                    ""
                };
                let part = 100.0 * share(pair.bytes, link.bytes);
                let (source, destination) = (pair.source, pair.destination);
                format!("{source} to {destination}: {most}{part:.1} %")
            })
            .collect();
        vec![
            Cell::from(link.name.as_str()),
            Cell::number(link.bytes, bytes(link.bytes)),
            Cell::percent(link.utilisation),
            Cell::seconds(link.congested_s),
            Cell::seconds(link.delay_s),
            Cell::count(u64::from(link.flows_max)),
            Cell::from(pairs.join("; ")),
        ]
    });
    let columns = [
        "link",
        "bytes",
        "used",
        "congested",
        "delay",
        "flows",
        "ranks",
    ];
    Table {
        id: "hot-links",
        title: "Hot links",
        note: "Links that delay messages, then links with most bytes, and the pairs of ranks that use them."
            .to_owned(),
        columns: columns.to_vec(),
        rows: rows.collect(),
        footer: Vec::new(),
    }
}
