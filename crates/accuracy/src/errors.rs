//! Errors of judged rows by groups, and the noise of the measurements, below which no prediction
//! comes.
//!
//! An error is max(simulated / measured, measured / simulated) − 1. *Not decided here*: which
//! errors are accepted.

use std::collections::BTreeMap;

use validation::{ErrorSummary, quantile};

use crate::judge::JudgedRow;

/// A division of judged rows into groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// All rows, the rows up to 1 MiB, and the rows above 1 MiB.
    All,
    /// By the job; no groups if all rows are of one job.
    Job,
    /// By the number of nodes.
    Nodes,
    /// By the operation.
    Operation,
    /// By operation and algorithm.
    Algorithm,
    /// By the size, within a factor of 8.
    Size,
}

impl Grouping {
    /// All groupings, in the order of a report.
    pub const ALL: [Self; 6] = [
        Self::All,
        Self::Job,
        Self::Nodes,
        Self::Operation,
        Self::Algorithm,
        Self::Size,
    ];

    /// Returns a number that orders the groups, and the name of the group of a row.
    fn group_of(self, judged: &JudgedRow) -> (u64, String) {
        let row = &judged.row;
        match self {
            Self::All if row.bytes <= 1 << 20 => (1, "up to 1 MiB".to_owned()),
            Self::All => (2, "above 1 MiB".to_owned()),
            Self::Job => (0, format!("job {}", row.job)),
            Self::Nodes => (u64::from(row.nodes), format!("{} nodes", row.nodes)),
            Self::Operation => (0, row.operation.to_string()),
            Self::Algorithm => (0, format!("{} {}", row.operation, row.label)),
            Self::Size => {
                let octave = u64::from(row.bytes.max(1).ilog2()) / 3;
                let (first, end) = (1_u64 << (3 * octave), 1_u64 << (3 * octave + 3));
                (
                    octave,
                    format!("{} to below {}", in_bytes(first), in_bytes(end)),
                )
            }
        }
    }
}

/// Returns a power of two with a binary unit.
fn in_bytes(size: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (size.ilog2() / 10) as usize;
    format!("{} {}", size >> (10 * unit), units[unit])
}

/// Returns the errors of the rows of each group, in order.
pub fn group_errors(rows: &[JudgedRow], grouping: Grouping) -> Vec<(String, ErrorSummary)> {
    let mut groups: BTreeMap<(u64, String), Vec<&JudgedRow>> = BTreeMap::new();
    for row in rows {
        groups.entry(grouping.group_of(row)).or_default().push(row);
        if grouping == Grouping::All {
            groups.entry((0, "all".to_owned())).or_default().push(row);
        }
    }
    if grouping == Grouping::Job && groups.len() == 1 {
        return Vec::new();
    }
    let summaries = groups.into_iter().filter_map(|((_, name), rows)| {
        let summary = summarise_errors(rows)?;
        Some((name, summary))
    });
    summaries.collect()
}

/// Returns a summary of the errors; `None` without rows.
///
/// `bias` is the median of simulated / measured − 1.
pub fn summarise_errors<'a>(rows: impl IntoIterator<Item = &'a JudgedRow>) -> Option<ErrorSummary> {
    let found: Vec<(f64, f64, u64)> = rows
        .into_iter()
        .map(|judged| {
            let ratio = judged.time_ratio();
            (ratio.max(1.0 / ratio) - 1.0, ratio - 1.0, judged.row.bytes)
        })
        .collect();
    let errors: Vec<f64> = found.iter().map(|(error, ..)| *error).collect();
    let signed: Vec<f64> = found.iter().map(|(_, signed, _)| *signed).collect();
    let worst = found
        .iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(ErrorSummary {
        count: found.len(),
        median: quantile(&errors, 0.5)?,
        p90: quantile(&errors, 0.9)?,
        worst: worst.0,
        worst_at: worst.2,
        bias: quantile(&signed, 0.5)?,
    })
}

/// The noise of measurements, as parts: 0.02 is 2 %.
#[derive(Clone, PartialEq, Debug)]
pub struct NoiseFloor {
    /// Median and p90 of half the distance of the quartiles of the iterations of a row.
    pub within_jobs: Option<(f64, f64)>,
    /// Number of pairs of rows that two jobs have measured.
    pub pairs: usize,
    /// Median and p90 of the differences of such pairs.
    pub between_jobs: Option<(f64, f64)>,
}

impl NoiseFloor {
    /// Returns the noise of the rows.
    pub fn new(rows: &[JudgedRow]) -> Self {
        let mut same: BTreeMap<_, Vec<(&str, f64)>> = BTreeMap::new();
        for JudgedRow { row, .. } in rows {
            let shape = (row.nodes, row.ranks_per_node, row.operation.name());
            let times = same.entry((shape, &row.label, row.bytes)).or_default();
            times.push((&row.job, row.median_s));
        }
        let mut between = Vec::new();
        for times in same.values() {
            for (at, (job, one)) in times.iter().enumerate() {
                let others = times[at + 1..].iter().filter(|(other, _)| other != job);
                between.extend(others.map(|(_, other)| (one / other).max(other / one) - 1.0));
            }
        }
        let within = rows.iter().filter_map(|judged| judged.row.half_spread);
        let both = |values: &[f64]| Some((quantile(values, 0.5)?, quantile(values, 0.9)?));
        Self {
            within_jobs: both(&within.collect::<Vec<f64>>()),
            pairs: between.len(),
            between_jobs: both(&between),
        }
    }
}
