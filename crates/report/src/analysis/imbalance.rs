//! Imbalance of the regions of a program: the time of a region on the critical path beyond the mean
//! time over the ranks. Perfect balance of the region could save at most this time (Böhme et al.,
//! *Scalable critical-path based performance analysis*, IPDPS 2012).
//!
//! The time of a region is the time in which a rank computes or sleeps in the region and in no
//! inner region. Waits do not count: imbalance causes the waits.

use std::collections::BTreeMap;

use serde::Serialize;

use super::backward::BackwardReport;
use super::class::Class;
use super::result::AnalysisReport;

/// Imbalance of a region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RegionImbalance {
    /// Name of the region; empty for computation outside of regions.
    pub region: String,
    /// Computation and sleep on the critical path, in seconds.
    pub path_s: f64,
    /// Computation and sleep of a rank, as a mean over all ranks, in seconds.
    pub mean_s: f64,
    /// `path_s` less `mean_s` in seconds, or 0 if the difference is negative.
    pub imbalance_s: f64,
    /// The imbalance as a part of the time of the run.
    pub part: f64,
}

impl RegionImbalance {
    /// Returns the name of the region in a sentence.
    pub fn name(&self) -> String {
        if self.region.is_empty() {
            "the computation outside of regions".to_owned()
        } else {
            format!("region {}", self.region)
        }
    }
}

impl AnalysisReport {
    /// Adds the result of the backward pass, and the imbalance of regions, which needs this result.
    pub fn add_backward(&mut self, backward: BackwardReport) {
        let path = &backward.critical_regions_s;
        let mut all: Vec<RegionImbalance> = (path.iter())
            .map(|(region, &path_s)| {
                let mean_s = self.worked_s(region);
                let imbalance_s = (path_s - mean_s).max(0.0);
                RegionImbalance {
                    region: region.clone(),
                    path_s,
                    mean_s,
                    imbalance_s,
                    part: self.run_share(imbalance_s),
                }
            })
            .collect();
        all.sort_by(|one, other| other.imbalance_s.total_cmp(&one.imbalance_s));
        self.imbalance = all;
        self.backward = Some(backward);
    }

    /// Returns computation and sleep in a region in seconds, as a mean over the ranks. The empty
    /// name stands for the time outside of regions.
    fn worked_s(&self, region: &str) -> f64 {
        let worked = |class: Class| {
            let of = |split: &BTreeMap<&str, f64>| split.get(class.name()).copied().unwrap_or(0.0);
            match self.regions_s.get(region) {
                Some(split) => of(split),
                None if region.is_empty() => {
                    of(&self.mean_s) - self.regions_s.values().map(of).sum::<f64>()
                }
                None => 0.0,
            }
        };
        worked(Class::Compute) + worked(Class::Sleep)
    }
}
