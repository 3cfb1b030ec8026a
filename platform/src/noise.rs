//! `[noise]`: random disturbance of computations and links. The platform only stores the table.
//!
//! Sources: periodic detours are the noise of T. Hoefler, T. Schneider, A. Lumsdaine,
//! "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation", SC
//! 2010, and of F. Petrini, D. Kerbyson, S. Pakin, "The Case of the Missing Supercomputer
//! Performance", SC 2003; noise of the network is studied in Hoefler, Schneider, Lumsdaine, "The
//! Effect of Network Noise on Large-Scale Collective Communications", Parallel Processing Letters
//! 19(4), 2009. The lognormal and the exponential distribution are our choice: positive, and one
//! parameter each.
//!
//! *Not modelled*: detours with several periods or measured lengths, and correlation between hosts.
//! A user sees independent phases, as on machines with unsynchronized daemons.

use serde::Serialize;

use crate::units::Duration;

/// Noise of hosts and links: the table `[noise]`.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct Noise {
    /// `[noise.compute]`
    #[serde(skip_serializing_if = "ComputeNoise::is_default")]
    pub compute: ComputeNoise,
    /// `[noise.links]`
    #[serde(skip_serializing_if = "LinkNoise::is_default")]
    pub links: LinkNoise,
}

/// Noise of the computations of each host: the table `[noise.compute]`.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct ComputeNoise {
    /// Time from the start of a detour to the start of the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// Time of each period in which the host does not compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detour: Option<Duration>,
    /// Coefficient of variation of the lognormal factor (mean 1) of each computation.
    #[serde(skip_serializing_if = "is_zero")]
    pub variation: f64,
}

/// Noise of each link: the table `[noise.links]`.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct LinkNoise {
    /// Mean of an exponentially distributed latency that is added for each transfer and link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Noise {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ComputeNoise {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns period and detour in seconds; `None` if there are no detours.
    #[must_use]
    pub fn detours(&self) -> Option<(f64, f64)> {
        let (period, detour) = (self.period.as_ref()?, self.detour.as_ref()?);
        (detour.as_secs() > 0.0).then(|| (period.as_secs(), detour.as_secs()))
    }
}

impl LinkNoise {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the mean of the added latency in seconds; 0 if there is none.
    #[must_use]
    pub fn latency_s(&self) -> f64 {
        self.latency.as_ref().map_or(0.0, Duration::as_secs)
    }
}
