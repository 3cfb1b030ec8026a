//! The results of one point, and the runs that the point still needs.
//!
//! Only runs of the seeds 0, 1, 2… without a gap decide if more runs are needed. So the decision
//! does not depend on the order in which workers finish, and a study has the same runs with any
//! number of workers.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::Study;
use crate::key::Key;
use crate::point::Point;
use crate::replication::Replication;
use crate::results::{FINISHED, ResultLine, ResultSet};
use crate::statistics::StoppingDecision;

/// The results of one point.
#[derive(Clone, Debug)]
pub struct PointResults<'r> {
    /// The point.
    pub point: &'r Point,
    /// The results of the point by seed.
    pub results: BTreeMap<u64, &'r ResultLine>,
}

/// The runs that a point still needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PendingRuns {
    /// These seeds, in ascending order.
    Seeds(Vec<u64>),
    /// None.
    None,
    /// None: the largest number of replications has not reached the precision.
    NotReached,
    /// None: a run failed, and the mean of the other runs would be the mean of a selection.
    Failed,
}

impl<'r> PointResults<'r> {
    /// Collects the results of a point; `key` returns the key of the run with a seed.
    pub fn collect_results(
        point: &'r Point,
        set: &'r ResultSet,
        replication: &Replication,
        key: impl Fn(u64) -> Key,
    ) -> Self {
        let results = (0..replication.max() as u64).filter_map(|seed| {
            let result = set.get(&key(seed))?;
            Some((seed, result))
        });
        Self {
            point,
            results: results.collect(),
        }
    }

    /// Returns the values of a column of a measure in the order of the seeds, of runs with this
    /// column. For a measure in batches, a single run gives the batch means; several runs give one
    /// mean each, and these means are independent.
    pub fn column_values(&self, column: &str) -> Vec<f64> {
        if let Some((_, single)) = self.results.first_key_value()
            && self.results.len() == 1
            && let Some(batches) = single.batches.get(column)
        {
            return batches.clone();
        }
        let results = self.results.values();
        results
            .filter_map(|result| result.measures.get(column).copied())
            .collect()
    }

    /// Returns the values of a column for all seeds that both points have, for
    /// [`PairedComparison::new`](crate::statistics::PairedComparison::new). A deterministic point
    /// has its value at every seed.
    pub fn paired_values(&self, other: &Self, column: &str) -> (Vec<f64>, Vec<f64>) {
        let seeds = self.results.keys().chain(other.results.keys());
        let seeds: BTreeSet<u64> = seeds.copied().collect();
        let pairs = seeds.into_iter().filter_map(|seed| {
            let of = |point: &Self| {
                let seed = if point.deterministic() { 0 } else { seed };
                point.results.get(&seed)?.measures.get(column).copied()
            };
            Some((of(self)?, of(other)?))
        });
        pairs.unzip()
    }

    /// Returns true if the first run drew no random number: one replication is all.
    pub fn deterministic(&self) -> bool {
        let first = self.results.get(&0);
        first.is_some_and(|result| result.draws == Some(0))
    }

    /// Returns the seeds of runs that did not succeed, for a retry.
    pub fn failed_seeds(&self) -> Vec<u64> {
        let failed = self
            .results
            .iter()
            .filter(|(_, result)| !result.succeeded());
        failed.map(|(seed, _)| *seed).collect()
    }

    /// Decides about the next runs of the point.
    ///
    /// With a fixed number of seeds all seeds are run, also after a failure. A study with a target
    /// precision ends a point at the first failure.
    pub fn pending(&self, study: &Study) -> PendingRuns {
        let precision = matches!(study.replication, Replication::Precision(_));
        if precision && !self.failed_seeds().is_empty() {
            return PendingRuns::Failed;
        }
        let seeds = (0..).zip(&self.results);
        let without_gap = seeds.take_while(|(expected, (seed, _))| expected == *seed);
        let results: Vec<&ResultLine> = without_gap.map(|(_, (_, result))| *result).collect();
        let values = |column: String| -> Vec<f64> {
            let values = results.iter();
            values
                .filter_map(|result| result.measures.get(&column).copied())
                .collect()
        };
        let measures: Vec<Vec<f64>> = study.columns().into_iter().map(values).collect();
        let measures: Vec<&[f64]> = measures.iter().map(Vec::as_slice).collect();
        let draws = results.first().and_then(|result| result.draws);
        match study
            .replication
            .decide_progress(results.len(), draws, &measures)
        {
            StoppingDecision::Continue(number) => {
                let seeds = 0..number as u64;
                let missing = seeds.filter(|seed| !self.results.contains_key(seed));
                PendingRuns::Seeds(missing.collect())
            }
            StoppingDecision::Reached => PendingRuns::None,
            StoppingDecision::NotReached => PendingRuns::NotReached,
        }
    }
}

/// Returns the columns of measures that finished runs do not have, with the number of such runs, in
/// the order of the file.
pub fn missing_measures(study: &Study, points: &[PointResults<'_>]) -> Vec<(String, usize)> {
    let columns = study.columns().into_iter();
    let runs = || points.iter().flat_map(|point| point.results.values());
    let counted = columns.map(|column| {
        let lacks = |result: &&&ResultLine| {
            result.outcome == FINISHED && !result.measures.contains_key(&column)
        };
        let missing = runs().filter(lacks).count();
        (column, missing)
    });
    counted.filter(|(_, missing)| *missing > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::result;

    fn study(replicate: &str) -> Study {
        let text = format!("program = 'a'\nplatform = 'p'\n[replicate]\n{replicate}");
        Study::parse("S", &text).expect("a study")
    }

    fn pending(study: &Study, lines: &[ResultLine]) -> PendingRuns {
        let point = &study.points[0];
        let results = lines.iter().map(|line| (line.seed, line)).collect();
        PointResults { point, results }.pending(study)
    }

    fn lines(seeds: impl IntoIterator<Item = u64>) -> Vec<ResultLine> {
        let line = |seed| result(seed, 1.0, "d");
        seeds.into_iter().map(line).collect()
    }

    #[test]
    fn seeds_that_are_missing_are_run() {
        let study = study("seeds = 4");
        assert_eq!(pending(&study, &[]), PendingRuns::Seeds(vec![0]));
        assert_eq!(
            pending(&study, &lines([0, 2])),
            PendingRuns::Seeds(vec![1, 3])
        );
        assert_eq!(pending(&study, &lines(0..4)), PendingRuns::None);
        let mut fixed = lines([0]);
        fixed[0].draws = Some(0);
        assert_eq!(pending(&study, &fixed), PendingRuns::None);
        fixed[0].draws = Some(1);
        fixed[0].outcome = "failed".to_owned();
        assert_eq!(pending(&study, &fixed), PendingRuns::Seeds(vec![1, 2, 3]));
    }

    #[test]
    fn a_precision_is_examined_without_gaps() {
        let study = study("precision = 0.05\nmax = 15");
        let all = PendingRuns::Seeds((1..10).collect());
        assert_eq!(pending(&study, &lines([0])), all);
        let gap = lines((0..11).filter(|seed| *seed != 3));
        assert_eq!(pending(&study, &gap), PendingRuns::Seeds(vec![3]));
        assert_eq!(pending(&study, &lines(0..10)), PendingRuns::None);
        let mut wide = lines(0..15);
        wide[0].measures.insert("time_s".to_owned(), 9.0);
        assert_eq!(
            pending(&study, &wide[..10]),
            PendingRuns::Seeds((10..15).collect())
        );
        assert_eq!(pending(&study, &wide), PendingRuns::NotReached);
        wide[2].outcome = "failed".to_owned();
        assert_eq!(pending(&study, &wide[..5]), PendingRuns::Failed);
    }

    #[test]
    fn results_are_collected_by_key_and_paired_by_seed() {
        let folder = crate::testing::TestFolder::new("collect");
        let mut writer = crate::ResultWriter::open(folder.path(), "a").expect("a file");
        for line in lines([0, 2, 9]) {
            writer.append(&line).expect("written");
        }
        let set = ResultSet::read(folder.path()).expect("results");
        let study = study("seeds = 4");
        let key = |seed| result(seed, 1.0, "d").key;
        let found = PointResults::collect_results(&study.points[0], &set, &study.replication, key);
        assert_eq!(found.results.keys().collect::<Vec<_>>(), [&0, &2]);
        let mut other = found.clone();
        other.results.remove(&0);
        let one = vec![1.0];
        assert_eq!(found.paired_values(&other, "time_s"), (one.clone(), one));
        let mut fixed = lines([0]);
        fixed[0].draws = Some(0);
        other.results = fixed.iter().map(|line| (line.seed, line)).collect();
        let two = vec![1.0; 2];
        assert_eq!(found.paired_values(&other, "time_s"), (two.clone(), two));
    }

    #[test]
    fn batch_means_are_the_values_of_a_single_run() {
        let study = study("seeds = 2");
        let mut lines = lines(0..2);
        for line in &mut lines {
            line.batches
                .insert("time_s".to_owned(), vec![0.5, 1.5, 1.0]);
        }
        let of = |lines: &[ResultLine]| {
            let results = lines.iter().map(|line| (line.seed, line)).collect();
            let point = &study.points[0];
            PointResults { point, results }.column_values("time_s")
        };
        assert_eq!(of(&lines[..1]), [0.5, 1.5, 1.0]);
        assert_eq!(of(&lines), [1.0, 1.0]);
    }

    #[test]
    fn missing_measures_are_counted() {
        let study = study("seeds = 4");
        let mut lines = lines(0..4);
        lines[1].measures.clear();
        lines[2].measures.clear();
        lines[2].outcome = "failed".to_owned();
        let point = PointResults {
            point: &study.points[0],
            results: lines.iter().map(|line| (line.seed, line)).collect(),
        };
        assert_eq!(
            missing_measures(&study, &[point]),
            [("time_s".to_owned(), 1)]
        );
    }
}
