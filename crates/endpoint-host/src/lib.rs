//! The endpoint of a process: its adapter, its sockets and its clock.
//!
//! Datagrams of the endpoint travel in frames over TCP. The adapter is in software, with packets
//! that travel in the same way, or an adapter of libibverbs (feature `verbs`). So an endpoint has
//! the same state machines on all back ends. The address of an endpoint is `tcp://` and the socket
//! address on which it listens. The package is separate from `real`, because every program links
//! `real`, and no program needs endpoints.
//!
//! *Not modelled*: authentication and encryption. Every process that can reach the socket can
//! connect, so an endpoint listens on the loopback interface by default.

mod frames;
mod host;
mod soft_adapter;

pub use host::{Adapter, EndpointHost};
