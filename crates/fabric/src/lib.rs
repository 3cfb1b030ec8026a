//! Simulated devices: they implement the message layer's [`Channel`](channel::Channel) in simulated
//! time.
//!
//! [`Flow`] carries each packet as one transfer of the network model: for platforms with links.
//! [`LogGops`] has processors and adapters instead of links: for very large runs. [`IdealFabric`]
//! has no network at all: for model checkers. [`VerbsFabric`] has InfiniBand adapters with queue
//! pairs, and a network of single packets. A device decides no protocol; the message layer
//! interprets the packets.

mod deliveries;
mod flow;
mod ideal;
mod inbox;
mod initiators;
mod journal;
mod knowledge;
mod lanes;
mod last;
mod loggops;
mod operations;
mod optional_waits;
mod ranks;
mod repeated_reads;
mod slab;
mod sleeps;
mod verbs;

pub use flow::Flow;
pub use ideal::{IdealFabric, QueueNumbers};
pub use loggops::LogGops;
pub use ranks::{Fabric, Observers};
pub use rdma::Capture;
pub use verbs::{AdapterCosts, CaptureFilter, VerbsFabric, VerbsSettings};
