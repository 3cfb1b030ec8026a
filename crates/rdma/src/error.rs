//! Reasons for which an adapter refuses a call. A request that was accepted and fails later has a
//! [`WcStatus`](crate::WcStatus) instead.

use std::fmt;

use crate::RegionMemory;

/// The reason for which a call was refused. A refused call changes no state.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VerbsError {
    /// The adapter has no object with this handle, or the object was destroyed.
    NoSuchHandle {
        /// Kind of the thing that was looked for, such as `"queue pair"`.
        what: &'static str,
        /// The number.
        handle: u32,
    },
    /// Another object still uses this one (`EBUSY`): a queue pair uses a completion queue, or an
    /// object belongs to a protection domain.
    Busy {
        /// Kind of the object that is in use.
        what: &'static str,
    },
    /// An argument that makes no sense (`EINVAL`), such as a transition that the state of the queue
    /// pair does not allow.
    Invalid {
        /// Description of the mistake.
        why: String,
    },
    /// There is no room (`ENOMEM`): a work queue is full, or the adapter has no resources left.
    NoRoom {
        /// Name of the queue or the resource.
        what: &'static str,
    },
    /// The adapter does not have that.
    Unsupported {
        /// Function that was asked for.
        what: &'static str,
    },
    /// The operating system or the driver refused.
    System {
        /// The function of rdma-core that failed.
        call: &'static str,
        /// Error number (`errno`) of the function.
        errno: i32,
        /// Text of the error number.
        why: String,
    },
}

impl fmt::Display for VerbsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchHandle { what, handle } => {
                write!(f, "there is no {what} with the handle {handle}")
            }
            Self::Busy { what } => write!(f, "the {what} is still in use"),
            Self::Invalid { why } => f.write_str(why),
            Self::NoRoom { what } => write!(f, "out of resources: {what}"),
            Self::Unsupported { what } => write!(f, "the adapter does not support {what}"),
            Self::System { call, errno, why } => write!(f, "{call}: {why} (errno {errno})"),
        }
    }
}

impl std::error::Error for VerbsError {}

/// Why a list of requests was not taken whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostError {
    /// Number of requests that were accepted: all before the refused one (`bad_wr`).
    pub taken: usize,
    /// Error of the refused request.
    pub error: VerbsError,
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} of the list: {}", self.taken, self.error)
    }
}

impl std::error::Error for PostError {}

/// Why memory was not registered, and the memory.
#[derive(Debug)]
pub struct RegisterError {
    /// The mistake.
    pub error: VerbsError,
    /// The memory, given back.
    pub memory: RegionMemory,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for RegisterError {}
