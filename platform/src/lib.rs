//! Hosts, links and routes.

mod nearest;
pub mod units;
