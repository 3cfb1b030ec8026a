//! The network models by name, and the parameters that `[network]` can set, one file per model.
//!
//! This package reads the parameters, although only `models` computes with them. All mistakes of a
//! file are reported together with their lines, so no table can wait for a model. Models that read
//! their own tables would need a trait for printing, defaults and overrides, and a list of the
//! models as an argument of each function that reads a platform.
//!
//! *Not decided here*: the computation with the parameters; the package `models` runs the models.

mod cm02;
mod constant;
mod factors;
mod flow;
mod ib;
mod loggops;
mod lv08;
mod parameters;
mod raw;
mod smpi;
mod verbs;

pub use cm02::CROSSTRAFFIC;
pub use factors::{FactorStep, Factors};
pub use loggops::LogGops;
pub use parameters::{
    Compat, FluidParameters, IbPenaltyFactors, Loopback, NetworkDevice, NetworkModel,
    NetworkParameters, PairDuplex,
};
pub(crate) use verbs::LANES_MAX;
pub use verbs::{PacketFaults, VerbsParameters};

/// All models, in the order of the documentation. A new model is a file, a `mod` and a line here.
const MODELS: &[NetworkModel] = &[
    flow::MODEL,
    raw::MODEL,
    cm02::MODEL,
    lv08::MODEL,
    smpi::MODEL,
    ib::MODEL,
    constant::MODEL,
    loggops::MODEL,
];
