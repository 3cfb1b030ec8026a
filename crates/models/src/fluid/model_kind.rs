//! The parameters of a model as the formula needs them: which ways a transfer takes, and how near
//! dates are the same date.

use sim_core::{HostId, Span};

use platform::units::{Duration, Size};
use platform::{Compat, FluidParameters, NetworkParameters};
use platform::{Platform, Route};
use settings::{LogGopsParameters, OverheadTable};

/// Activities that end this near to the current date, in seconds, end at the current date.
const TOGETHER_S: f64 = 1e-12;
/// The same in seconds for SimGrid: `precision/timing`.
const TOGETHER_SIMGRID_S: f64 = 1e-9;

/// The parameters as the formula needs them.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub(super) enum ModelKind {
    Fluid {
        parameters: FluidParameters,
        message_latency: OverheadTable,
        weight_s: f64,
        tcp_gamma: f64,
        compat: Option<Compat>,
    },
    /// The time of each transfer does not depend on other transfers.
    FixedDuration(FixedDuration),
}

/// Duration of a transfer between hosts without links.
#[derive(Debug)]
pub(super) enum FixedDuration {
    Constant(Span),
    Message(LogGopsParameters),
}

impl FixedDuration {
    pub(super) fn duration(&self, bytes: f64) -> Span {
        match self {
            Self::Constant(duration) => *duration,
            Self::Message(costs) => Span::from_secs(costs.message_time(bytes)),
        }
    }
}

impl ModelKind {
    pub(super) fn new(network: &NetworkParameters) -> Self {
        match &network.fluid {
            Some(fluid) => Self::Fluid {
                message_latency: fluid.message_latency.map(Size::bytes, Duration::as_secs),
                weight_s: fluid.weight_s.bytes() as f64,
                tcp_gamma: fluid.tcp_gamma.bytes() as f64,
                parameters: fluid.clone(),
                compat: network.compat,
            },
            None => Self::FixedDuration(match &network.loggops {
                Some(costs) => FixedDuration::Message(costs.map(Duration::as_secs)),
                None => {
                    let duration = network.duration.as_ref();
                    FixedDuration::Constant(Span::from_secs(
                        duration.map_or(1.0, |all| all.as_secs()),
                    ))
                }
            }),
        }
    }

    /// Finds the way of a transfer and, if acknowledgements use bandwidth, the way back.
    pub(super) fn find_routes(
        &self,
        platform: &Platform,
        (from, to): (HostId, HostId),
        way: &mut Route,
        way_back: &mut Route,
    ) -> Result<(), platform::NoRoute> {
        platform.route_into(from, to, way)?;
        way_back.clear();
        if self.uses_reverse_route() {
            platform.route_into(to, from, way_back)?;
        }
        Ok(())
    }

    /// Returns true if a transfer uses the links of the way back.
    pub(super) fn uses_reverse_route(&self) -> bool {
        matches!(self, Self::Fluid { parameters, .. } if parameters.crosstraffic > 0.0)
    }

    /// Returns true if transfers use the links of the platform.
    pub(super) const fn has_links(&self) -> bool {
        matches!(self, Self::Fluid { .. })
    }

    /// Returns true if the quirks of the reference are asked for.
    pub(super) const fn is_compat(&self) -> bool {
        matches!(
            self,
            Self::Fluid {
                compat: Some(Compat::Simgrid41),
                ..
            }
        )
    }

    /// Activities that end this near to the current date, in seconds, end at the current date.
    pub(super) const fn time_tolerance_s(&self) -> f64 {
        if self.is_compat() {
            TOGETHER_SIMGRID_S
        } else {
            TOGETHER_S
        }
    }
}
