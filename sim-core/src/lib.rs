//! A deterministic discrete-event kernel.
#![warn(missing_docs)]

mod resource;
mod time;

pub use resource::{ActivityId, CannotStart, Change, End, HostId, Resource, Work};
pub use time::{Span, Time};
