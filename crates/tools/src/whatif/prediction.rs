//! Effects of parameters as the critical path of one run predicts them.
//!
//! The event log of the run yields the derivatives of the run time by each link and host. A
//! parameter of the platform file changes some links and hosts: the parameter is applied to the
//! platform, and the changes of links and hosts are added up, each times the derivative. No name is
//! compared, so this works for tables, zones and clusters alike.
//!
//! *Not predicted*: thresholds, software costs of the message layer, costs within a host of
//! LogGOPS, and parameters of a network without flows in the log, such as the packet network.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use observe::{BackwardReader, LogReader};
use platform::{Override, Platform};
use report::analysis::{BackwardReport, Sensitivity};
use tempfile::TempDir;

/// Relative change by which the response of links and hosts is found.
const STEP: f64 = 0.01;

/// The event log of a run, in a separate directory which is removed at the end.
#[derive(Debug)]
pub(super) struct TemporaryLog(TempDir);

impl TemporaryLog {
    /// Creates the directory.
    pub(super) fn new() -> io::Result<Self> {
        tempfile::Builder::new()
            .prefix("simrun-whatif-")
            .tempdir()
            .map(Self)
    }

    /// Returns the path of the log.
    pub(super) fn log_path(&self) -> PathBuf {
        self.0.path().join("run.log")
    }
}

/// The derivatives of the time of a run.
#[derive(Debug)]
pub(super) struct Prediction<'a> {
    platform: &'a Platform,
    derivatives: Vec<Sensitivity>,
    /// Time of the run in seconds.
    time: f64,
}

impl<'a> Prediction<'a> {
    /// Reads the event log of a run on this platform.
    pub(super) fn from_log(platform: &'a Platform, log: &Path) -> io::Result<Self> {
        let mut reader = LogReader::new(BufReader::new(files::open_input(log)?))?;
        let mut time = 0.0;
        while let Some((_, at, _)) = reader.next_event()? {
            time = at;
        }
        let time = reader.end().unwrap_or(time);
        let backwards = BackwardReader::new(files::open_input(log)?)?;
        let derivatives = BackwardReport::from_log(backwards, &reader, time)?.derivatives;
        Ok(Self {
            platform,
            derivatives,
            time,
        })
    }

    /// Returns the relative change of the time for a relative change of a parameter; `None` if
    /// unknown. `path`: the parameter; `change`: the override of the parameter for a factor.
    pub(super) fn elasticity(&self, path: &str, change: impl Fn(f64) -> String) -> Option<f64> {
        let key = path.rsplit('.').next().unwrap_or(path);
        let is_gap = matches!(key, "overhead" | "gap_per_byte" | "overhead_per_byte");
        let is_known = match key {
            "speed" => true,
            "latency" | "bandwidth" => self.has_flows(),
            _ => is_gap && path.starts_with("network.") && self.has_flows(),
        };
        if !is_known || path.contains(".loopback.") {
            return None;
        }
        let change: Override = change(1.0 + STEP).parse().ok()?;
        let changed = self
            .platform
            .clone()
            .with_overrides("the platform", &[change])
            .ok()?;
        let parts = self.derivatives.iter().map(|one| {
            let (before, after) = (
                parameter_value(self.platform, one),
                parameter_value(&changed, one),
            );
            match before.zip(after) {
                Some((before, after)) if before > 0.0 => one.seconds * (after / before - 1.0),
                _ => 0.0,
            }
        });
        Some(parts.sum::<f64>() / STEP / self.time)
    }

    /// Returns the derivatives, the greatest first, and the platform.
    pub(super) fn derivatives(&self) -> (&[Sensitivity], &Platform) {
        (&self.derivatives, self.platform)
    }

    /// Returns the relative change of the time for a relative change of a derivative's parameter.
    pub(super) fn elasticity_of(&self, one: &Sensitivity) -> f64 {
        one.seconds / self.time
    }

    fn has_flows(&self) -> bool {
        let mut all = self.derivatives.iter();
        all.any(|one| matches!(one.parameter, "latency" | "bandwidth"))
    }
}

/// Returns the value of a derivative's parameter on a platform; `None` if there is no value.
fn parameter_value(platform: &Platform, of: &Sensitivity) -> Option<f64> {
    let link = || {
        platform
            .link_by_name(&of.of)
            .map(|link| platform.link(link))
    };
    let network = platform.network().loggops.as_ref();
    let network = network.filter(|_| of.of == "the network");
    match (of.parameter, network) {
        // As docs/analysis.md defines them.
        ("latency", Some(all)) => Some(2.0 * all.overhead.as_secs() + all.latency.as_secs()),
        ("bandwidth", Some(all)) => {
            let per_byte = [&all.gap_per_byte, &all.overhead_per_byte].map(|it| it.as_secs());
            Some(1.0 / per_byte[0].max(per_byte[1]))
        }
        ("latency", None) => link().map(|link| link.latency.as_secs()),
        ("bandwidth", None) => link().map(|link| link.bandwidth),
        ("speed", _) => {
            let host = platform.host_by_name(&of.of)?;
            Some(platform.speed(host))
        }
        _ => None,
    }
}
