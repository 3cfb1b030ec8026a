//! Hosts, links and routes.

mod build;
mod file;
mod mistake;
mod model;
mod nearest;
mod pattern;
mod platform;
mod route;
mod solver;
mod summary;
pub mod units;

pub use file::{NetworkModel, Protocol, Sharing};
pub use mistake::{LoadError, Mistake, Mistakes, Unreadable};
pub use model::FlowModel;
pub use pattern::{HOSTS_MAX, HostPattern, PatternError};
pub use platform::{LinkInfo, Platform};
pub use route::{Hop, LinkId, NoRoute, Route};
pub use summary::Summary;
