//! Simulated devices: they implement the message layer's [`Channel`](mpi::Channel) in simulated time.
//!
//! [`Flow`] carries each packet as one transfer of the network model: fast, for millions of ranks. A device decides
//! no protocol; what a packet means is the message layer's business.

mod flow;

pub use flow::Flow;
