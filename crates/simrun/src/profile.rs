//! `--profile`: the distribution of the real time of simrun over the parts.
//!
//! A thread samples the part of simrun that is at work, which the profiled run records. The run
//! reads no clock for the profile, so times and digest are the same. Shares of a run with few
//! samples are uncertain: with n samples, the standard error of a share p is √(p (1 − p) ÷ n).
//!
//! *Not reported*: the function of a part that takes the time; system profilers report functions.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use run::{Layer, Profile};
use sim_core::RunProgress;

use crate::entry::Start;

/// The time from sample to sample, our choice: 1 000 samples in half a second, and a thousandth of
/// a core.
const PERIOD: Duration = Duration::from_micros(500);

/// Numbers of samples by part.
type Samples = [u64; Layer::ALL.len()];

/// A profile that is being taken.
pub(crate) struct Sampler {
    alive: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl Sampler {
    /// Begins to sample a run, if the run is profiled.
    pub(crate) fn from_start(start: &Start) -> Option<Self> {
        let profile = Arc::clone(start.options.profile.as_ref()?);
        // A profile is a courtesy: nothing depends on it.
        Self::new(profile, Arc::clone(&start.progress)).ok()
    }

    fn new(profile: Arc<Profile>, progress: Arc<RunProgress>) -> io::Result<Self> {
        let (alive, end) = channel::<()>();
        let work = move || {
            let mut samples = Samples::default();
            while end.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                samples[profile.layer(&progress) as usize] += 1;
            }
            samples
        };
        let thread = std::thread::Builder::new().spawn(work)?;
        Ok(Self { alive, thread })
    }

    /// Ends the sampling, and returns the table.
    pub(crate) fn finish_sampling(self) -> String {
        drop(self.alive);
        self.thread
            .join()
            .map_or_else(|_| String::new(), |samples| profile_table(&samples))
    }
}

/// Prints the table of a profile, if there is one.
pub(crate) fn print_profile(table: Option<String>) {
    if let Some(table) = table {
        // Nobody can be told that standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{table}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares for people")]
fn profile_table(samples: &Samples) -> String {
    let all: u64 = samples.iter().sum();
    let mut text = format!("time of simrun itself, from {all} samples");
    if all == 0 {
        text += ": the run was too short";
        return text;
    }
    for (layer, count) in Layer::ALL.into_iter().zip(samples) {
        let share = 100.0 * *count as f64 / all as f64;
        let _ = write!(text, "\n  {:<26}{share:>6.1} %", layer.name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(
            profile_table(&[1, 2, 0, 4, 1]),
            "time of simrun itself, from 8 samples
  kernel                      12.5 %
  models and solver           25.0 %
  message layer                0.0 %
  programs, with their calls  50.0 %
  observer                    12.5 %"
        );
        let nothing = "time of simrun itself, from 0 samples: the run was too short";
        assert_eq!(profile_table(&Samples::default()), nothing);
    }
}
