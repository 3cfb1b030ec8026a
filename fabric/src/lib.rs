//! Simulated devices: they implement the message layer's [`Channel`](mpi::Channel) in simulated time.
//!
//! [`Flow`] carries each packet as one transfer of the network model: for platforms with links. [`LogGops`] has
//! processors and adapters instead of links: for very large runs. A device decides no protocol; what a packet means is the
//! message layer's business.

mod flow;
mod loggops;
mod ranks;
mod slab;

pub use flow::Flow;
pub use loggops::{Costs, LogGops};
pub use ranks::Fabric;
