//! Changes of links and hosts, at once or at given dates: availability profiles.

use sim_core::{HostId, Span};

use crate::LinkId;

/// A change of a link or a host. A physical link changes as a whole, whichever of its directions is named.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// A new bandwidth in bytes/s, above 0.
    Bandwidth(LinkId, f64),
    /// A new latency.
    Latency(LinkId, Span),
    /// A link goes on or off.
    Link(LinkId, bool),
    /// A host has this part of its speed from now on, above 0.
    Speed(HostId, f64),
    /// A host goes on or off.
    Host(HostId, bool),
}

/// What a [`Profile`] changes, and the meaning of its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The bandwidth of a link, in bytes/s.
    Bandwidth(LinkId),
    /// The latency of a link, in seconds.
    Latency(LinkId),
    /// Whether a link is on: 0 is off.
    Link(LinkId),
    /// The speed of a host, as a part of the one in the platform file.
    Speed(HostId),
    /// Whether a host is on: 0 is off.
    Host(HostId),
}

/// Changes of one thing at given dates, possibly again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// What changes.
    pub target: Target,
    /// Dates in seconds, growing, with the value from then on.
    pub events: Vec<(f64, f64)>,
    /// After this many seconds, at least the last date, the events come again; `None` if they do not.
    pub period_s: Option<f64>,
}
