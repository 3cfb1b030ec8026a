//! The calibration's kernels, simulated on the file that was written: they must give the fit back.
//!
//! This finds every mistake of sign, unit and double counting, and needs no hardware. Each
//! calibration does the check: a test would see the fits of our tests, and no fit of a user.

use std::fmt;
use std::sync::Arc;

use platform::{LoadError, Platform};
use run::MessageProtocol;

use crate::measure::simulated_times;
use crate::sample::Kernel;

/// Why there is no simulated time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulationFailed(String);

impl SimulationFailed {
    pub(crate) fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for SimulationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernels cannot be simulated: {}", self.0)
    }
}

impl std::error::Error for SimulationFailed {}

/// Time that a kernel should take on the file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Expected {
    pub(crate) kernel: Kernel,
    pub(crate) size: u64,
    pub(crate) time_s: f64,
}

/// Simulates all expected times on a platform file. Returns the largest difference relative to the
/// expected time, with kernel and size.
pub(crate) fn worst(
    platform: &str,
    expected: &[Expected],
) -> Result<Option<(f64, Expected)>, SimulationFailed> {
    let platform = parse_platform(platform)?;
    let wanted: Vec<(Kernel, u64)> = expected.iter().map(|one| (one.kernel, one.size)).collect();
    let times = simulated_times(&platform, 2, &wanted, None)?;
    let errors = expected.iter().zip(times).map(|(one, time)| {
        let error = (time / one.time_s - 1.0).abs();
        (if error.is_nan() { f64::INFINITY } else { error }, *one)
    });
    Ok(errors.max_by(|one, other| one.0.total_cmp(&other.0)))
}

/// The platform of a file that a calibration wrote.
pub(crate) fn parse_platform(text: &str) -> Result<Arc<Platform>, SimulationFailed> {
    let platform = Platform::parse("the fitted platform", text);
    // The text is written only if it is right: nobody has its lines.
    let platform = platform.map_err(|error| match error {
        LoadError::Diagnostics(mistakes) => {
            let list = mistakes.as_slice().iter();
            let list = list.map(|one| format!("{}: {}", one.problem(), one.expected()));
            SimulationFailed(format!(
                "what was fitted gives no platform: {}",
                list.collect::<Vec<_>>().join("; ")
            ))
        }
        other => SimulationFailed::new(other),
    });
    platform.map(Arc::new)
}

/// Half the round trip of a simulated ping-pong between the first two hosts, in seconds, for each
/// of the sizes. `mode` overrides the platform's eager threshold.
pub fn simulated_ping_pong(
    platform: &str,
    sizes: &[u64],
    mode: Option<MessageProtocol>,
) -> Result<Vec<f64>, SimulationFailed> {
    let wanted: Vec<(Kernel, u64)> = sizes.iter().map(|size| (Kernel::PingPong, *size)).collect();
    simulated_times(&parse_platform(platform)?, 2, &wanted, mode)
}

#[cfg(test)]
mod tests {
    use super::parse_platform;

    #[test]
    fn no_line_is_named_of_a_file_that_the_user_does_not_have() {
        let text = "version = 1\n[hosts.a]\nspeed = \"-1Gf\"\n[hosts.b]\nspeed = \"0Gf\"\n";
        let error = parse_platform(text).expect_err("two mistakes").to_string();
        assert_eq!(
            error,
            "the kernels cannot be simulated: what was fitted gives no platform: \
             negative value \"-1Gf\": expected a speed, such as \"16Gf\" (flop/s); \
             speed \"0Gf\": expected more than 0"
        );
    }
}
