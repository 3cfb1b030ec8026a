//! Running a program for real: each rank is a process, packets travel on a real network, and time
//! is the time of the wall clock.
//!
//! * [`launch`]: starts the ranks, reads their reports, and ends them; returns a [`RealRun`].
//! * [`run_rank`]: one rank, in its own process.
//!
//! Modules that all back ends share: `clock`, `local` and `executor` run a rank; `connections`,
//! `link`, `frame`, `connection_manager` and `opening` connect it; `auth` and `auth_listener`
//! authenticate peers; `control`, `arrival` and `coordinator` start the ranks; `keepalive` detects
//! failures; `call_batch` and `call_comparison` compare collective calls; `event_log` writes the
//! events of the ranks; `children` and `descendants` end processes. `tcp` is the back end over
//! sockets, `adapter` the transport of packets over verbs.

#[cfg(feature = "verbs")]
mod adapter;
#[cfg(feature = "verbs")]
mod adapter_limits;
mod allocation;
mod arrival;
mod auth;
mod auth_listener;
mod bootstrap;
mod buffer_pool;
mod call_batch;
mod call_comparison;
mod children;
mod clock;
pub mod conformance;
mod congestion;
mod connection_manager;
mod connections;
mod control;
mod coordinator;
mod data_path;
mod descendants;
mod descriptors;
mod event_log;
mod executor;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
mod hosts;
mod keepalive;
mod launch;
mod launch_info;
mod launcher;
mod link;
mod local;
mod opening;
mod os;
mod outcome;
mod rank;
mod record;
mod tcp;
pub mod udp_adapter;
#[cfg(feature = "verbs")]
pub mod verbs;

pub use allocation::{BOOTSTRAP_FILE, ProcessPlace, process_place};
pub use bootstrap::run_in_allocation;
pub use congestion::{CongestionError, congestion_control};
pub use connections::Connecting;
pub use control::{FailureKind, RankFailure, RankReport};
pub use hosts::ssh_processes;
pub use launch::{FailurePolicy, LaunchMode, LaunchOptions, OutputListener, Start};
pub use launch_info::{LaunchInfo, VARIABLE as RANK_VARIABLE};
pub use launcher::launch;
pub use local::Compute;
pub use os::{cores, host_address};
pub use outcome::{RealFailure, RealOutcome, RealRun};
pub use rank::{Backend, OutputMode, RankOptions, run_rank};
pub use record::{RealOrigin, RealRecord};
pub use tcp::Wait;
