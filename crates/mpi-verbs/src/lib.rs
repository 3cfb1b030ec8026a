//! The *packet* channel: packets over an adapter for InfiniBand or RoCE, through the trait
//! [`Verbs`](rdma::Verbs).
//!
//! A connection to a peer is a queue pair of the service *reliable connection* (RC), created at the
//! first message of a pair. Short messages travel as packets by SEND into posted receives. There is
//! a receive for each credit of the message layer, and for each report about credits, so that in a
//! correct run each packet finds a receive (no RNR). Long messages are cleared by the message
//! layer's rendezvous and travel by RDMA WRITE or READ: up to [`Options::bounce_max`] bytes through
//! memory that stays registered, because a copy is faster than a registration. Longer messages are
//! transferred without a copy: the send buffer is registered while the adapter reads it, and the
//! receive buffer belongs to the adapter until the message has arrived (see [`Device`], `sending`,
//! `memory`, `completions`).
//!
//! Windows of one-sided communication are registered ([`Device::register_window`]): puts to them
//! are RDMA WRITEs and gets RDMA READs, which take no receive and no credit.
//!
//! # Layers
//!
//! * [`Device`]: connections over an adapter, packets and messages on them. A device identifies
//!   peers by numbers, not by ranks, and no call blocks. The caller exchanges the connection data:
//!   [`Device::endpoint`] returns the bytes for the peer, [`Device::connect_link`] takes the
//!   peer's.
//!
//! # Who gets connected
//!
//! The side that has a packet to send *asks*, with its endpoint. The other side connects its queue
//! pair to that endpoint, *answers* with its own endpoint, and sends no packet before a first
//! packet has come: only then the asking side is known to be connected. If both sides ask at once,
//! the request of the higher rank counts and the other one is dropped, as in `mpi::connection`.
//!
//! # Failures
//!
//! A request that fails breaks the connection. For the message layer the peer is lost, and its
//! operations fail with the status of the adapter: `rank 3: transport retry counter exceeded
//! (IBV_WC_RETRY_EXC_ERR)`. A fault event of the adapter (of a queue pair, a completion queue or
//! the whole adapter) does the same. A change of the port is only reported, because requests
//! survive an outage for a while. The loss of a peer without requests in transit is not noticed
//! here.
//!
//! # Not modelled
//!
//! Several ports, shared receive queues, dynamic connections, atomics and fences of the message
//! layer. A message in registered memory is not copied, so a program that writes to its buffer
//! while the registration is kept makes a copy then (see `registrations`).

mod bounce_buffers;
mod completions;
mod device;
mod link;
mod memory;
mod options;
mod registrations;
mod sending;
pub mod wire;

pub use device::{Device, DeviceEvent};
pub use link::LinkId;
pub use options::{Options, Rendezvous};
