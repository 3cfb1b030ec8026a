//! Errors of calls of one-sided communication.
//!
//! *Not decided here*: which of two conflicting accesses is wrong; the error names both.

use observe::SourceLocation;
use std::fmt;

use super::access_log::Conflict;
use crate::ErrorClass;

/// An error of a call of one-sided communication. The comments name the error class of MPI 5.0,
/// section 12.9.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WindowError {
    /// The displacement unit is 0 (`MPI_ERR_DISP`).
    Unit,
    /// The access ends outside of the window (`MPI_ERR_RMA_RANGE`).
    Range {
        /// Number of the window.
        window: u32,
        /// The target rank.
        rank: usize,
        /// First byte of the access.
        offset: u64,
        /// Length of the access in bytes.
        length: u64,
        /// Length of the window at that rank in bytes.
        size: u64,
    },
    /// The buffer for a result has another length than the data (`MPI_ERR_COUNT`).
    Length {
        /// The length that was given, in bytes.
        length: u64,
        /// The expected length in bytes.
        expected: u64,
    },
    /// The operation is one of the program (`MPI_ERR_OP`).
    UserOp {
        /// Name of the operation.
        name: &'static str,
    },
    /// The rank accesses a target outside of an epoch (`MPI_ERR_RMA_SYNC`).
    NoEpoch {
        /// Number of the window.
        window: u32,
        /// The target rank.
        rank: usize,
    },
    /// The call begins or needs an epoch that conflicts with one in progress
    /// (`MPI_ERR_RMA_SYNC`).
    InEpoch {
        /// The call.
        call: &'static str,
        /// Number of the window.
        window: u32,
        /// The call that has begun the epoch in progress.
        begun_by: &'static str,
        /// Line of that call.
        location: SourceLocation,
    },
    /// The call ends an epoch that has not begun (`MPI_ERR_RMA_SYNC`).
    NotBegun {
        /// The call.
        call: &'static str,
        /// Number of the window.
        window: u32,
        /// The call that was expected before.
        expected: &'static str,
    },
    /// A fence with `MPI_MODE_NOPRECEDE` ends accesses of the rank (`MPI_ERR_RMA_SYNC`).
    FenceEndsAccesses {
        /// Number of the window.
        window: u32,
        /// A target of the accesses.
        rank: usize,
    },
    /// The rank holds no lock at this target (`MPI_ERR_RMA_SYNC`).
    NotLocked {
        /// The call.
        call: &'static str,
        /// Number of the window.
        window: u32,
        /// The target rank.
        rank: usize,
    },
    /// The rank holds a lock at this target already (`MPI_ERR_RMA_SYNC`).
    Locked {
        /// Number of the window.
        window: u32,
        /// The target rank.
        rank: usize,
        /// Line of the call that has locked.
        location: SourceLocation,
    },
    /// Two unordered accesses to the same bytes (`MPI_ERR_RMA_CONFLICT`).
    Conflict(Conflict),
}

impl WindowError {
    /// The class of the error.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Unit => ErrorClass::Disp,
            Self::Range { .. } => ErrorClass::RmaRange,
            Self::Length { .. } => ErrorClass::Count,
            Self::UserOp { .. } => ErrorClass::Op,
            Self::NoEpoch { .. }
            | Self::InEpoch { .. }
            | Self::NotBegun { .. }
            | Self::FenceEndsAccesses { .. }
            | Self::NotLocked { .. }
            | Self::Locked { .. } => ErrorClass::RmaSync,
            Self::Conflict(_) => ErrorClass::RmaConflict,
        }
    }
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("invalid displacement unit 0: expected at least 1"),
            Self::Range {
                window,
                rank,
                offset,
                length,
                size,
            } => write!(
                f,
                "invalid range: {length} bytes from byte {offset} on, window {window} has {size} bytes at rank {rank}"
            ),
            Self::Length { length, expected } => write!(
                f,
                "invalid length: a buffer of {length} bytes, expected {expected} bytes"
            ),
            Self::UserOp { name } => write!(
                f,
                "invalid operation `{name}`: an accumulate expects a built-in operation"
            ),
            Self::NoEpoch { window, rank } => write!(
                f,
                "access outside of an epoch: expected fence, start or lock of window {window} before an access to rank {rank}"
            ),
            Self::InEpoch {
                call,
                window,
                begun_by,
                location,
            } => write!(
                f,
                "{call} of window {window} in the epoch that {begun_by} began at {}",
                location
            ),
            Self::NotBegun {
                call,
                window,
                expected,
            } => write!(f, "{call} of window {window} without {expected} before"),
            Self::FenceEndsAccesses { window, rank } => write!(
                f,
                "fence of window {window} with MPI_MODE_NOPRECEDE ends accesses of this rank to rank {rank}"
            ),
            Self::NotLocked { call, window, rank } => write!(
                f,
                "{call} of window {window} at rank {rank}, which this rank has not locked"
            ),
            Self::Locked {
                window,
                rank,
                location,
            } => write!(
                f,
                "window {window} at rank {rank} is locked already by this rank, at {}",
                location
            ),
            Self::Conflict(conflict) => write!(f, "{conflict}"),
        }
    }
}
