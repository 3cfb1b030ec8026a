//! The interaction fuzzer: random interactions of workers over endpoints.
//!
//! An [`Interaction`] gives commands to workers, in steps. [`generate_interaction`] draws an
//! interaction, [`run()`] runs it on simulated adapters in lock step, [`PROPERTIES`] are checked on
//! the observations of the workers, and a failing interaction is made smaller by its [`Choices`].
//! [`campaign()`] does all of this, and [`command_line`] has the command `simrun fuzz`.
//!
//! *Not modelled*: contention of the network. Everything is deterministic: an interaction gives the
//! same observations on every machine.

pub mod actors;
mod campaign;
mod choices;
mod command;
pub mod command_line;
mod coverage;
mod driver;
mod export;
mod export_c;
pub mod freedoms;
mod generate;
mod interaction;
mod layer;
mod pattern;
mod processes;
mod properties;
pub mod ranks;
mod response;
mod rma;
mod shrink;
mod swarm;
pub mod verbs;
mod worker;

pub use campaign::{
    CampaignEvent, CampaignReport, CampaignSettings, Failure, Position, Runner, Shrinking,
    campaign, check, violation,
};
pub use choices::Choices;
pub use coverage::Coverage;
pub use driver::{Blocked, Mode, Outcome, RunSettings, run};
pub use endpoint::EndpointSettings;
pub use endpoint::simulated::{NetworkSettings, ProgressDriver};
pub use export::program_files;
pub use export_c::c_program;
pub use generate::{GeneratorSettings, generate_interaction};
pub use interaction::{
    Assignment, Attribute, Command, Faults, Interaction, InteractionStep, SendFlags, Span, VERSION,
};
pub use layer::{
    Comparison, FuzzProgram, Layer, LayerFailure, LayerLimits, LayerProgress, LayerReport, compare,
    layer_campaign, minimise,
};
pub use processes::{FromWorker, ToWorker, run_processes};
pub use properties::{PROPERTIES, Property};
pub use response::Response;
pub use shrink::Generated;
pub use swarm::{Feature, Swarm};
pub use worker::Worker;
