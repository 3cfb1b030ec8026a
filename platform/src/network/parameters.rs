//! The parameters of the network models, set by `[network]` in a platform file.
//!
//! A model name is a preset: a set of these parameters, in the file of that name. Every parameter
//! can be set next to the name, and is written into the record of a run, so that a record keeps its
//! meaning when a preset changes.
//!
//! The fluid models have one formula. A transfer of `size` bytes over a route of links with
//! bandwidths `B_i` and the sum of latencies `lat`
//!
//! 1. pays `latency_factor(size) × lat`, and between two hosts the wait for the sender's adapter
//!    (`message_gap`) and `message_latency(size)`, using no bandwidth;
//! 2. then shares: penalty `lat + Σ weight_s / B_i` (if `rtt_penalty`), limits `tcp_gamma / (2
//!    lat)` and its own rate limit, weight 1 on every link of its route and `crosstraffic` on every
//!    link of the way back;
//! 3. progresses at `bandwidth_factor(size)` times the shared rate, until `size` bytes are
//!    transferred.
//!
//! Source: the description of `SimGrid` v4.1's network models; constants as cited at each preset.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use settings::{OverheadTable, Overheads};

use super::factors::Factors;
use super::flow;
use super::loggops::LogGops;
use super::verbs::VerbsParameters;
use crate::units::{Bandwidth, Duration, Size};

/// A network model, by its name in `[network] model`: an entry of [`NetworkModel::ALL`].
#[derive(Clone, Copy)]
pub struct NetworkModel(pub(super) &'static ModelRow);

/// A row of the list of models.
pub(super) struct ModelRow {
    /// Name of the model in a platform file.
    pub(super) name: &'static str,
    /// Short description of the model.
    pub(super) summary: &'static str,
    /// Returns the parameters that the name stands for.
    pub(super) preset: fn() -> NetworkParameters,
}

/// `[network]`: a model with its parameters.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct NetworkParameters {
    /// The preset from which the parameters that are not set come.
    pub model: NetworkModel,
    /// The simulator with the quirks to reproduce, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// The parameters of a fluid model; none in the models `constant` and
    /// `loggops`.
    #[serde(flatten)]
    pub fluid: Option<FluidParameters>,
    /// Penalties of concurrent transfers, in the model `ib` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ib_penalty_factors: Option<IbPenaltyFactors>,
    /// Opposite transfers between two hosts, in the fluid models but `ib`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_duplex: Option<PairDuplex>,
    /// Duration of every transfer, in the model `constant` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Costs of a message, in the model `loggops` only.
    #[serde(flatten)]
    pub loggops: Option<LogGops>,
    /// The device between ranks, if the platform asks for a device beside the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<NetworkDevice>,
    /// Parameters of the device `verbs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbs: Option<VerbsParameters>,
}

/// A device between ranks that a platform can ask for beside the network model.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum NetworkDevice {
    /// Queue pairs of InfiniBand adapters.
    Verbs,
}

/// A simulator; on request, the quirks of the simulator that change dates are reproduced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
pub enum Compat {
    /// `SimGrid` v4.1, with these quirks:
    ///
    /// - activities that end within 1e-9 s end together (`precision/timing`), instead of max(1e-12
    ///   s, 8 ulp);
    /// - a route without latency has the sharing penalty 1 for any `weight_s`. Without `compat` the
    ///   penalty is `Σ weight_s / B_i` if this sum is above 0, so that the penalty has no jump when
    ///   the latency goes to 0;
    /// - a running transfer keeps the limit `min B_i` from its start when a link of its route
    ///   changes bandwidth: the transfer does not get faster when the link does;
    /// - the cables of a cluster that are declared `fatpipe` are shared;
    /// - from the first parallel task on, all activities share by fair bottleneck instead of
    ///   max-min fairness (`crates/maxmin/src/bottleneck.rs`);
    /// - a host that is turned on again restarts its restarting actors, also actors that had ended
    ///   by themselves.
    ///
    /// Not reproduced: a change of latency wakes transfers that still pay their latency; the
    /// absolute 1e-5 at which the solver of SimGrid cuts off.
    #[serde(rename = "simgrid-4.1")]
    Simgrid41,
}

/// The parameters of the fluid models; see the formula at the head of this file.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct FluidParameters {
    /// Multiplies the latency of the route that is paid before the data flow.
    pub latency_factor: Factors,
    /// Latency between two hosts beside the latency of the links: time in the adapters, in which
    /// the adapters serve other messages, too.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub message_latency: OverheadTable<Size, Duration>,
    /// Time from one message of a host to another host until the next one leaves; `None` if
    /// messages leave at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_gap: Option<Duration>,
    /// Multiplies the rate that sharing gives, and so all limits but the transfer's own.
    pub bandwidth_factor: Factors,
    /// True if transfers over a long way get less of a full link: their penalty is `lat + Σ
    /// weight_s / B_i`. If false, the penalty is 1.
    pub rtt_penalty: bool,
    /// Bytes: how much a link of low bandwidth counts as a long way. Only with `rtt_penalty`.
    pub weight_s: Size,
    /// Bytes: the largest window of TCP, of which two one-way latencies carry at most one; 0 if
    /// there is no window.
    pub tcp_gamma: Size,
    /// The part of the rate of a transfer that the acknowledgements take on every link of the way
    /// back; 0 if they take no bandwidth.
    pub crosstraffic: f64,
    /// The implicit fatpipe from a host to itself.
    pub loopback: Loopback,
    /// Bytes that the message layer adds to the payload of each message: headers of the MPI
    /// library. The network model adds no bytes to a transfer.
    pub envelope: Size,
    /// Bytes: an eager message shorter than this leaves when it is sent, a longer eager message
    /// when it is received, although the sender does not wait for that. If absent, all eager
    /// messages leave when they are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub async_small_threshold: Option<Size>,
    /// Costs of the calls of the message layer.
    #[serde(flatten)]
    pub overheads: Overheads<Size, Duration>,
}

/// The implicit fatpipe that joins a host with itself where the platform declares no other way.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Loopback {
    /// Bytes/s.
    pub bandwidth: Bandwidth,
    /// Seconds.
    pub latency: Duration,
}

/// Opposite transfers between two hosts: see the file of the model `flow`.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct PairDuplex {
    /// Transfers up to this size have the whole bandwidth in each direction.
    pub from: Size,
    /// Transfers from this size on share one bandwidth.
    pub full: Size,
}

/// Penalties of concurrent transfers on InfiniBand: see the file of the model `ib`.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug)]
pub struct IbPenaltyFactors {
    /// β_e: of each transfer into a node that receives several.
    pub be: f64,
    /// β_s: of each transfer out of a node that sends several.
    pub bs: f64,
    /// γ_s: in addition, if one of them goes to a node that receives more than two.
    pub ys: f64,
}

impl NetworkModel {
    /// The model of a file that names none: latency, then max-min fair sharing.
    pub const DEFAULT: Self = flow::MODEL;

    /// All models, in the order of the documentation.
    pub const ALL: &[Self] = super::MODELS;

    /// Returns the name of the model in a platform file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns a short description of the model.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.0.summary
    }

    /// Returns the model of that name in a platform file.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.name() == name)
    }
}

impl PartialEq for NetworkModel {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for NetworkModel {}

impl fmt::Debug for NetworkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for NetworkModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl NetworkParameters {
    /// Returns the parameters that the name of a model stands for.
    #[must_use]
    pub fn preset(model: NetworkModel) -> Self {
        (model.0.preset)()
    }

    /// Returns true if hosts can talk that no route joins: the model has no links.
    #[must_use]
    pub const fn needs_no_routes(&self) -> bool {
        self.fluid.is_none() && self.device.is_none()
    }

    /// Bytes that the message layer adds to the payload of each message.
    #[must_use]
    pub fn envelope_bytes(&self) -> u64 {
        self.fluid
            .as_ref()
            .map_or(0, |fluid| fluid.envelope.bytes())
    }

    /// A fluid model with these parameters.
    pub(crate) const fn of_fluid(model: NetworkModel, fluid: FluidParameters) -> Self {
        Self {
            model,
            compat: None,
            fluid: Some(fluid),
            ib_penalty_factors: None,
            pair_duplex: None,
            duration: None,
            loggops: None,
            device: None,
            verbs: None,
        }
    }
}

/// A constant of a preset.
pub(crate) fn size(text: &str) -> Size {
    text.parse().expect("a size")
}
