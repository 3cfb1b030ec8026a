//! Fixtures that the tests of several packages share; only dev-dependencies name this package.
//!
//! Each part is a feature, so that the tests of a package build only what they use.

#[cfg(feature = "rdma")]
pub mod adapter;
#[cfg(feature = "rdma")]
pub mod any_packets;
#[cfg(feature = "apps")]
pub mod apps;
pub mod cases;
#[cfg(feature = "commands")]
pub mod commands;
#[cfg(feature = "compiled")]
pub mod compiled;
#[cfg(feature = "damage")]
pub mod damage;
#[cfg(feature = "explore")]
pub mod explored;
pub mod fingerprint;
#[cfg(feature = "models")]
pub mod lab;
pub mod memory;
#[cfg(feature = "rdma")]
pub mod pair;
pub mod random;
#[cfg(feature = "mpi")]
pub mod ranks;
#[cfg(feature = "models")]
pub mod readers;
#[cfg(feature = "traces")]
pub mod trace;
