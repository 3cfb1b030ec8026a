//! Families of programs: each has the operations of a few freedoms.
//!
//! A campaign draws programs from a list of families, so that a campaign can have only the
//! families for which the model checker finds all outcomes.

use serde::{Deserialize, Serialize};

/// A family of programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Synchronous sends with waits, tests and probes.
    SynchronousSends,
    /// Standard sends with all calls that complete requests.
    StandardSends,
    /// Buffered sends.
    BufferedSends,
    /// Messages of two tags.
    Tags,
    /// `MPI_Sendrecv`, and sends of two ranks to each other.
    Sendrecv,
    /// Persistent sends and receives.
    Persistent,
    /// `MPI_Request_free`.
    RequestFree,
    /// Probes of one source, matched ones too.
    Probes,
    /// Probes of any source, matched ones too.
    ProbesOfAny,
    /// `MPI_Request_get_status`.
    GetStatus,
    /// `MPI_Cancel` of receives.
    Cancel,
    /// Repeated tests and probes of one operation.
    Polling,
    /// Blocking collective calls that need all ranks.
    Collectives,
    /// Blocking collective calls that need some ranks.
    RootedCollectives,
    /// Collective calls that requests complete.
    StartedCollectives,
    /// Constructors of communicators.
    Constructors,
    /// Messages and collective calls on two communicators.
    TwoCommunicators,
    /// Messages and collective calls on an inter-communicator.
    InterCommunicators,
    /// Messages in partitions.
    Partitioned,
    /// A window and locks.
    WindowLocks,
    /// A window and fences.
    WindowFences,
    /// A window with post, start, complete and wait.
    WindowPosts,
    /// Operations of all families without windows.
    Mixtures,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::SynchronousSends,
        Self::StandardSends,
        Self::BufferedSends,
        Self::Tags,
        Self::Sendrecv,
        Self::Persistent,
        Self::RequestFree,
        Self::Probes,
        Self::ProbesOfAny,
        Self::GetStatus,
        Self::Cancel,
        Self::Polling,
        Self::Collectives,
        Self::RootedCollectives,
        Self::StartedCollectives,
        Self::Constructors,
        Self::TwoCommunicators,
        Self::InterCommunicators,
        Self::Partitioned,
        Self::WindowLocks,
        Self::WindowFences,
        Self::WindowPosts,
        Self::Mixtures,
    ];

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SynchronousSends => "synchronous-sends",
            Self::StandardSends => "standard-sends",
            Self::BufferedSends => "buffered-sends",
            Self::Tags => "tags",
            Self::Sendrecv => "sendrecv",
            Self::Persistent => "persistent",
            Self::RequestFree => "request-free",
            Self::Probes => "probes",
            Self::ProbesOfAny => "probes-of-any",
            Self::GetStatus => "get-status",
            Self::Cancel => "cancel",
            Self::Polling => "polling",
            Self::Collectives => "collectives",
            Self::RootedCollectives => "rooted-collectives",
            Self::StartedCollectives => "started-collectives",
            Self::Constructors => "constructors",
            Self::TwoCommunicators => "two-communicators",
            Self::InterCommunicators => "inter-communicators",
            Self::Partitioned => "partitioned",
            Self::WindowLocks => "window-locks",
            Self::WindowFences => "window-fences",
            Self::WindowPosts => "window-posts",
            Self::Mixtures => "mixtures",
        }
    }
}
