//! Progress of a whole study, in numbers.

use serde::Serialize;

use crate::file::Study;
use crate::point_results::{PendingRuns, PointResults};

/// Numbers of points and runs of a study.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct StudyStatus {
    /// All points.
    pub points: usize,
    /// Points without pending runs and without failed runs.
    pub complete: usize,
    /// Points with means that did not reach the precision.
    pub not_reached: usize,
    /// Points with a run that did not succeed.
    pub failed: usize,
    /// Runs with a result.
    pub runs: usize,
    /// Runs that are known to be pending; a precision or a first run can ask for more.
    pub pending_runs: usize,
    /// Real time of all runs in seconds.
    pub wall_s: f64,
}

impl StudyStatus {
    /// Counts the results of all points.
    pub fn new(study: &Study, points: &[PointResults<'_>]) -> Self {
        let mut status = Self {
            points: points.len(),
            ..Self::default()
        };
        for point in points {
            status.runs += point.results.len();
            let walls = point.results.values().map(|result| result.wall_s);
            status.wall_s += walls.sum::<f64>();
            let failed = !point.failed_seeds().is_empty();
            status.failed += usize::from(failed);
            match point.pending(study) {
                PendingRuns::Seeds(seeds) => status.pending_runs += seeds.len(),
                PendingRuns::None => status.complete += usize::from(!failed),
                PendingRuns::NotReached => status.not_reached += 1,
                PendingRuns::Failed => {}
            }
        }
        status
    }

    /// Returns the exit status of a study that ended: 0 if each point has results, 1 otherwise.
    pub const fn exit_status(&self) -> u8 {
        if self.failed == 0 && self.pending_runs == 0 {
            0
        } else {
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultLine;
    use crate::testing::result;

    #[test]
    fn points_and_runs_are_counted() {
        let text = "program = 'a'\nplatform = 'p'\narguments = ['{x}']\n[grid]\nx = '1..3 +1'\n\
                    [replicate]\nseeds = 2";
        let study = Study::parse("S", text).expect("a study");
        let good: Vec<ResultLine> = (0..2).map(|seed| result(seed, 1.0, "d")).collect();
        let mut bad = good.clone();
        bad[1].outcome = "deadlock".to_owned();
        let of = |at: usize, lines: &'static [ResultLine]| PointResults {
            point: &study.points[at],
            results: lines.iter().map(|line| (line.seed, line)).collect(),
        };
        let (good, bad) = (good.leak(), bad.leak());
        let status = StudyStatus::new(&study, &[of(0, good), of(1, bad), of(2, &[])]);
        assert_eq!(
            status,
            StudyStatus {
                points: 3,
                complete: 1,
                not_reached: 0,
                failed: 1,
                runs: 4,
                // The first run of the last point tells if there are more.
                pending_runs: 1,
                wall_s: 1.0,
            }
        );
        assert_eq!(status.exit_status(), 1);
        assert_eq!(StudyStatus::new(&study, &[of(0, good)]).exit_status(), 0);
    }
}
