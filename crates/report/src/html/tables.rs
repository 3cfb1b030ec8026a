//! The tables of the page: texts, and numbers by which they are sorted.

use serde::Serialize;

use crate::analysis::{AnalysisReport, Class, WaitState, seconds};

/// Ranks in the table at most.
pub(super) const RANKS_MAX: usize = 64;

/// Smallest share that is not shown as 0.0 %.
const SHOWN: f64 = 0.0005;

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

    fn percent(share: f64) -> Self {
        Self::number(share, format!("{:.1} %", 100.0 * share))
    }

    fn count_cell(count: u64) -> Self {
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
fn call_cell(name: &str, place: &str) -> Cell {
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

/// Returns the classes that are shown: the classes with a share of some rank that is not 0.0 %.
fn classes(analysis: &AnalysisReport) -> impl Iterator<Item = Class> {
    let counts = |time: f64| share(time, analysis.end_s) >= SHOWN;
    Class::ALL
        .into_iter()
        .filter(move |class| analysis.times.times_in_class(*class).any(counts))
}

/// Returns the time classes of the ranks that differ most from the mean.
pub(super) fn rank_table(analysis: &AnalysisReport) -> Table<'static> {
    let classes: Vec<Class> = classes(analysis).collect();
    let mean = |class: Class| analysis.mean_s.get(class.name()).copied().unwrap_or(0.0);
    let distance = |rank: u32| -> f64 {
        let parts = classes.iter();
        parts
            .map(|class| (analysis.times.class_time(rank, *class) - mean(*class)).abs())
            .sum()
    };
    let mut shown: Vec<u32> = analysis.times.rank_numbers().collect();
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
            Cell::count_cell(u64::from(rank)),
            Cell::from(analysis.hosts.host_name(rank)),
        ];
        row.extend(
            classes
                .iter()
                .map(|class| of_run(analysis.times.class_time(rank, *class))),
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

/// Returns the wait states.
pub(super) fn waits(analysis: &AnalysisReport) -> Table<'static> {
    let whole = analysis.end_s * f64::from(analysis.ranks);
    let counts = |wait: &&WaitState| share(wait.seconds, whole) >= SHOWN;
    let rows = analysis.waits.iter().filter(counts).map(|wait| {
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
            call_cell(&wait.call, &wait.place),
            call_cell(&wait.causer_call, &wait.causer_place),
            Cell::count_cell(wait.count),
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
    }
    shown.retain(|(_, sum)| share(*sum, analysis.end_s) >= SHOWN);
    shown.sort_by(|one, other| other.1.total_cmp(&one.1));
    shown.truncate(REGIONS_MAX);
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
