//! The interaction fuzzer: random interactions of workers over endpoints.
//!
//! An [`Interaction`] gives commands to workers, in steps. [`generate`] draws one, [`run`] runs it
//! on simulated adapters in lock step, [`PROPERTIES`] are checked on what the workers have
//! observed, and [`shrink`] makes one that fails smaller. [`campaign`] does all of it.
//!
//! *Not modelled*: contention of the network. Everything is deterministic: an interaction gives the
//! same observations on every machine.

mod campaign;
mod driver;
mod generate;
mod interaction;
mod properties;
mod shrink;
mod worker;
mod world;

pub use campaign::{CampaignReport, CampaignSettings, Failure, campaign, check};
pub use driver::{Outcome, run};
pub use endpoint::EndpointSettings;
pub use generate::{GeneratorSettings, generate};
pub use interaction::{Assignment, Attribute, Command, Faults, Interaction, Step, VERSION};
pub use properties::{PROPERTIES, Property};
pub use shrink::shrink;
pub use worker::Response;
