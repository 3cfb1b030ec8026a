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
    /// A rank is named more than once (`MPI_ERR_RANK`).
    RankTwice {
        /// The rank.
        rank: usize,
    },
    /// The communicator has been freed, or is the world and cannot be (`MPI_ERR_COMM`).
    Comm {
        /// Its context.
        context: u32,
    },
    /// The group has members that are not ranks of the communicator (`MPI_ERR_GROUP`).
    Group {
        /// The number of members of the group.
        members: usize,
        /// The number of ranks of the communicator.
        size: usize,
    },
    /// The colour is too large (`MPI_ERR_ARG`).
    Colour(u32),
    /// No context is left for a new communicator (`MPI_ERR_OTHER`).
    Contexts {
        /// How many communicators the rank has made that chooses the context.
        given: u32,
    },
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
            Self::RankTwice { rank } => {
                write!(f, "invalid group: rank {rank} is named more than once")
            }
            Self::Comm { context: 0 } => {
                f.write_str("invalid communicator: the world cannot be freed")
            }
            Self::Comm { context } => {
                write!(
                    f,
                    "invalid communicator: the one with context {context} has been freed"
                )
            }
            Self::Group { members, size } => write!(
                f,
                "invalid group: not all of its {members} members are among the {size} ranks of the communicator"
            ),
            Self::Colour(colour) => {
                write!(f, "invalid colour {colour}: expected 0 to {}", i32::MAX)
            }
            Self::Contexts { given } => write!(
                f,
                "too many communicators: {given} were made and none of them has been freed"
            ),
            Self::Request => f.write_str("the request has been completed already"),
        }
    }
}

impl std::error::Error for Error {}
