//! Fits keys of a platform to a part of the rows of a table; the other rows judge the result.
//!
//! *Decided here*: rows are drawn by operation and algorithm, so that each algorithm has about as
//! many, and in an algorithm at random. *Not decided here*: the method
//! ([`validation::fit_factors`]).

use std::collections::{BTreeMap, BTreeSet};

use platform::Platform;
use sim_core::Stream;
use validation::{KeyFactor, KeyFitError, fit_factors};

use crate::job_hosts::JobHosts;
use crate::judge::{JudgedRow, judge_rows};
use crate::row::{MeasuredRow, ReadRows, RowAlgorithm};

/// The rows that a fit sees.
#[derive(Clone, PartialEq, Debug)]
pub struct FitSample {
    /// Part of all rows that can be judged, of the whole table; between 0 and 1.
    pub share: f64,
    /// Rows of other jobs are not drawn: the beginnings of the names of jobs, or none for all jobs.
    pub jobs: Vec<String>,
    /// Rows with more nodes are not drawn.
    pub nodes_max: u32,
    /// Rows with a larger size, in bytes, are not drawn.
    pub bytes_max: u64,
    /// Seed of the drawing.
    pub seed: u64,
}

impl FitSample {
    /// Draws rows, and returns them in the order of the table.
    pub fn draw_rows(&self, rows: &ReadRows) -> Vec<MeasuredRow> {
        let all: Vec<&MeasuredRow> = rows
            .rows
            .iter()
            .filter(|row| row.algorithm != RowAlgorithm::Chosen)
            .collect();
        let mut groups: BTreeMap<(String, &str), Vec<&MeasuredRow>> = BTreeMap::new();
        let allowed = |row: &&MeasuredRow| {
            row.nodes <= self.nodes_max && row.bytes <= self.bytes_max && row.is_of_jobs(&self.jobs)
        };
        for row in all.iter().copied().filter(allowed) {
            let group = (row.operation.to_string(), &row.label[..]);
            groups.entry(group).or_default().push(row);
        }
        let mut stream = Stream::new(self.seed, "accuracy/sample");
        let mut groups: Vec<Vec<&MeasuredRow>> = groups.into_values().collect();
        for group in &mut groups {
            shuffle_items(group, &mut stream);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of the number of rows"
        )]
        let wanted = (self.share * all.len() as f64) as usize;
        let mut drawn = Vec::new();
        while drawn.len() < wanted && !groups.is_empty() {
            shuffle_items(&mut groups, &mut stream);
            drawn.extend(groups.iter_mut().filter_map(Vec::pop).cloned());
            groups.retain(|group| !group.is_empty());
        }
        drawn.truncate(wanted);
        drawn.sort_by_key(|row| row.line);
        drawn
    }
}

fn shuffle_items<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        #[expect(clippy::cast_possible_truncation, reason = "an index")]
        let at = stream.below(last as u64 + 1) as usize;
        items.swap(at, last);
    }
}

/// Keys that were fitted to rows of a table.
#[derive(Clone, Debug)]
pub struct PlatformFit {
    /// The platform with the fitted values.
    pub platform: Platform,
    /// The keys, in the order in which they were given.
    pub factors: Vec<KeyFactor>,
    /// The lines of the rows that the fit has seen.
    pub lines: BTreeSet<u64>,
}

impl PlatformFit {
    /// Fits `keys`, paths as in `--set`, to these rows. `progress` is called with the number of
    /// times that the rows were simulated.
    ///
    /// # Errors
    /// [`KeyFitError`] if there are fewer rows than keys, a key cannot be changed, no row depends
    /// on a key, or a row cannot be simulated.
    pub fn new(
        platform: &Platform,
        keys: &[String],
        (sample, hosts): (&[MeasuredRow], &JobHosts),
        progress: &dyn Fn(),
    ) -> Result<Self, KeyFitError> {
        if sample.len() < keys.len() {
            let (rows, keys) = (sample.len(), keys.len());
            return Err(KeyFitError::TooFewRows { rows, keys });
        }
        let residuals = |platform: &Platform| {
            progress();
            let mut rows = ReadRows {
                rows: sample.to_vec(),
                ..ReadRows::default()
            };
            let judged = judge_rows(platform, &mut rows, hosts, &|_, _| {});
            let judged = judged.map_err(|error| KeyFitError::Simulation(error.to_string()))?;
            let ratios = judged.iter().map(JudgedRow::time_ratio);
            Ok(ratios.map(libm::log).collect())
        };
        let (platform, factors) = fit_factors(platform, keys, &residuals)?;
        Ok(Self {
            platform,
            factors,
            lines: sample.iter().map(|row| row.line).collect(),
        })
    }
}
