//! What a call of the message layer can refuse, and why.

use std::fmt;

use crate::TAG_UB;

/// An error of a call. The comments name the error class of MPI 4.1, section 9.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The message is longer than the buffer (`MPI_ERR_TRUNCATE`). The message is consumed.
    Truncated {
        /// The sending rank.
        source: usize,
        /// The tag.
        tag: u32,
        /// The length of the message in bytes.
        length: u64,
        /// The length of the buffer in bytes.
        buffer: u64,
    },
    /// There is no such rank (`MPI_ERR_RANK`).
    Rank {
        /// The rank that was given.
        rank: usize,
        /// The number of ranks of the communicator.
        size: usize,
    },
    /// The tag is too large (`MPI_ERR_TAG`).
    Tag(u32),
    /// The request has been completed already (`MPI_ERR_REQUEST`).
    Request,
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated {
                source,
                tag,
                length,
                buffer,
            } => {
                write!(
                    f,
                    "message truncated: {length} bytes from rank {source} with tag {tag}, buffer of {buffer} bytes"
                )
            }
            Self::Rank { rank, size } => {
                write!(f, "invalid rank {rank}: expected 0 to {}", size - 1)
            }
            Self::Tag(tag) => write!(f, "invalid tag {tag}: expected 0 to {TAG_UB}"),
            Self::Request => f.write_str("the request has been completed already"),
        }
    }
}

impl std::error::Error for Error {}
