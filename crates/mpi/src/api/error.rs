//! Errors of calls of the message layer.

use observe::SourceLocation;
use std::fmt;

use ::collectives::Unsuited;

use crate::TAG_UB;
use crate::api::details::Details;
use crate::api::element_mismatch::ElementMismatch;
use crate::collectives::{Mismatch, MissingProperty};
use crate::rma::WindowError;
use channel::{Failure, PartialElement};

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
    /// A message of a collective operation is shorter than this rank expects (`MPI_ERR_COUNT`): the
    /// ranks have given different counts or datatypes.
    Short {
        /// The sending rank.
        source: usize,
        /// The length of the message in bytes.
        length: u64,
        /// The expected length in bytes.
        expected: u64,
    },
    /// The operation has elements of another length than the contribution (`MPI_ERR_OP`).
    Op {
        /// The length of an element of the operation in bytes.
        element: u64,
        /// The length of the contribution in bytes.
        length: u64,
    },
    /// Two buffers of a call have different lengths (`MPI_ERR_COUNT`).
    Lengths {
        /// The length in bytes.
        length: u64,
        /// The expected length in bytes.
        expected: u64,
    },
    /// The root is not a rank of the communicator (`MPI_ERR_ROOT`).
    Root {
        /// The rank that was given.
        root: usize,
        /// The number of ranks of the communicator.
        size: usize,
    },
    /// A buffer has not the length that the blocks of all ranks need (`MPI_ERR_COUNT`).
    Blocks {
        /// The length of the buffer in bytes.
        length: u64,
        /// The expected length in bytes.
        expected: u64,
    },
    /// The call has not one block for each rank (`MPI_ERR_ARG`).
    BlockCount {
        /// Number of blocks.
        blocks: usize,
        /// The number of ranks of the communicator.
        size: usize,
    },
    /// A topology has not this number of dimensions, or a coordinate is beyond the end of its
    /// dimension (`MPI_ERR_DIMS`).
    Dimensions {
        /// Number of values, or the dimension that was given.
        found: usize,
        /// Number of dimensions.
        expected: usize,
    },
    /// The lengths of a grid do not fit the number of ranks (`MPI_ERR_DIMS`).
    Grid {
        /// The product of the lengths.
        ranks: usize,
        /// Number of ranks.
        size: usize,
    },
    /// The call needs a buffer at this rank (`MPI_ERR_BUFFER`): the root gives the data.
    NoBuffer,
    /// The ranks of a communicator call different collectives at the same position, or with
    /// different roots, operations, types or lengths (`MPI_ERR_OTHER`, `MPI_ERR_ROOT`,
    /// `MPI_ERR_OP`, `MPI_ERR_TYPE`, `MPI_ERR_COUNT`).
    Mismatch(&'static Mismatch),
    /// The operation of the program lacks a property that the program declared: the result of a
    /// reduction depends on the order of the operands (`MPI_ERR_OP`). Only under a model checker.
    OrderDependent {
        /// The name of the operation.
        op: &'static str,
        /// The property that the operation lacks.
        property: MissingProperty,
        /// The line of the reduction.
        location: SourceLocation,
    },
    /// The receive describes other elements than the send (`MPI_ERR_TYPE`). The message is
    /// consumed.
    Elements(&'static ElementMismatch),
    /// No algorithm can execute the call (`MPI_ERR_ARG`).
    Algorithm(Unsuited),
    /// The message came from a ready send that was started before its receive was posted
    /// (`MPI_ERR_OTHER`), and is lost. This is an error only if
    /// [`Settings::strict_ready_send`](crate::Settings::strict_ready_send) is set; under a model
    /// checker also if the receive does not happen before the send.
    NotReady {
        /// The sending rank.
        source: usize,
        /// The tag.
        tag: u32,
        /// The calls of the receive and of the send, where a model checker knows them.
        calls: Option<[SourceLocation; 2]>,
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
        /// The context of the communicator.
        context: u32,
    },
    /// The group has members that are not ranks of the communicator (`MPI_ERR_GROUP`).
    Group {
        /// The number of members of the group.
        members: usize,
        /// The number of ranks of the communicator.
        size: usize,
    },
    /// The groups of an intercommunicator have a common member (`MPI_ERR_COMM`).
    Overlap {
        /// The rank of the common member in the communicator of the caller.
        rank: usize,
    },
    /// The colour is too large (`MPI_ERR_ARG`).
    Colour(u32),
    /// No context is left for a new communicator (`MPI_ERR_OTHER`).
    Contexts {
        /// Number of contexts that the choosing rank has allocated.
        given: u32,
    },
    /// The message does not fit into the free part of the attached buffer (`MPI_ERR_BUFFER`).
    BufferFull {
        /// The length of the message in bytes.
        length: u64,
        /// Free bytes.
        free: u64,
        /// The length of the attached buffer in bytes; `None` if none is attached.
        attached: Option<u64>,
    },
    /// The buffer is shorter than the items of a datatype (`MPI_ERR_BUFFER`).
    View {
        /// The bytes from the beginning to the end of the items.
        needed: u64,
        /// The length of the buffer in bytes.
        length: u64,
    },
    /// The datatype would be longer than 2^64 - 1 bytes (`MPI_ERR_TYPE`).
    Type,
    /// The length is not a whole number of numbers (`MPI_ERR_COUNT`).
    Count {
        /// The length in bytes.
        length: u64,
        /// The size of a number in bytes.
        size: u64,
    },
    /// A buffer is attached already (`MPI_ERR_BUFFER`).
    BufferAttached {
        /// The length of the attached buffer in bytes.
        length: u64,
    },
    /// No operation is in progress: the request has been completed already or has not been started;
    /// or, for [`Request::start`](crate::Request::start), the request is not persistent
    /// (`MPI_ERR_REQUEST`).
    Request,
    /// The persistent request to start is active: its operation has not been completed
    /// (`MPI_ERR_REQUEST`).
    Active,
    /// There is no such partition (`MPI_ERR_ARG`).
    Partition {
        /// The number that was given.
        partition: usize,
        /// Number of partitions of the request.
        count: u32,
    },
    /// The partition is ready already (`MPI_ERR_ARG`).
    PartitionReady {
        /// The number of the partition.
        partition: usize,
    },
    /// The group is not the group of another rank, and has common members with that group
    /// (`MPI_ERR_GROUP`); told only under a model checker.
    GroupsDiffer {
        /// The number of members of the group.
        members: usize,
        /// The number of members of the group of the other rank.
        expected: usize,
        /// The other rank, in the old communicator.
        rank: usize,
    },
    /// No connection to a rank exists or can be made: the rank is lost or has ended
    /// (`MPI_ERR_PROC_FAILED`, of the extension User Level Failure Mitigation), no descriptor is
    /// left, or the adapter broke the connection for another reason (`MPI_ERR_OTHER`).
    Connection {
        /// The rank.
        rank: usize,
        /// Why there is none.
        why: Failure,
    },
    /// A call of one-sided communication.
    Window(&'static WindowError),
}

/// The kind of an error: the error classes of MPI 4.1, section 9.4, that our calls can answer with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorClass {
    /// `MPI_ERR_ARG`.
    Arg,
    /// `MPI_ERR_BUFFER`.
    Buffer,
    /// `MPI_ERR_COMM`.
    Comm,
    /// `MPI_ERR_COUNT`.
    Count,
    /// `MPI_ERR_DIMS`.
    Dims,
    /// `MPI_ERR_DISP`.
    Disp,
    /// `MPI_ERR_GROUP`.
    Group,
    /// `MPI_ERR_OP`.
    Op,
    /// `MPI_ERR_OTHER`.
    Other,
    /// `MPI_ERR_PROC_FAILED`, of the extension User Level Failure Mitigation.
    ProcFailed,
    /// `MPI_ERR_RANK`.
    Rank,
    /// `MPI_ERR_REQUEST`.
    Request,
    /// `MPI_ERR_RMA_CONFLICT`.
    RmaConflict,
    /// `MPI_ERR_RMA_RANGE`.
    RmaRange,
    /// `MPI_ERR_RMA_SYNC`.
    RmaSync,
    /// `MPI_ERR_ROOT`.
    Root,
    /// `MPI_ERR_TAG`.
    Tag,
    /// `MPI_ERR_TRUNCATE`.
    Truncate,
    /// `MPI_ERR_TYPE`.
    Type,
}

impl From<PartialElement> for Error {
    fn from(PartialElement { length, size }: PartialElement) -> Self {
        Self::Count { length, size }
    }
}

impl Error {
    /// Returns the error of calls that differ.
    pub(crate) fn of_calls(mismatch: Mismatch) -> Self {
        static ALL: Details<Mismatch> = Details::new();
        Self::Mismatch(ALL.intern_details(mismatch))
    }

    /// Returns the error of element types that differ.
    pub(crate) fn of_elements(mismatch: ElementMismatch) -> Self {
        static ALL: Details<ElementMismatch> = Details::new();
        Self::Elements(ALL.intern_details(mismatch))
    }

    /// Returns the error of a call of one-sided communication.
    pub(crate) fn of_window(error: WindowError) -> Self {
        static ALL: Details<WindowError> = Details::new();
        Self::Window(ALL.intern_details(error))
    }

    /// The class of the error: `MPI_Error_class`.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Truncated { .. } => ErrorClass::Truncate,
            Self::Rank { .. } | Self::RankTwice { .. } => ErrorClass::Rank,
            Self::Tag(_) => ErrorClass::Tag,
            Self::Comm { .. } | Self::Overlap { .. } => ErrorClass::Comm,
            Self::Group { .. } | Self::GroupsDiffer { .. } => ErrorClass::Group,
            Self::Colour(_) | Self::Partition { .. } | Self::PartitionReady { .. } => {
                ErrorClass::Arg
            }
            Self::Contexts { .. }
            | Self::NotReady { .. }
            | Self::Connection {
                why:
                    Failure::NoDescriptor
                    | Failure::NoAddress
                    | Failure::Oneself
                    | Failure::NoMemory
                    | Failure::Adapter
                    | Failure::Fault(_),
                ..
            } => ErrorClass::Other,
            Self::Connection {
                why: Failure::Transport(status),
                ..
            } if !status.indicates_lost_peer() => ErrorClass::Other,
            Self::Connection { .. } => ErrorClass::ProcFailed,
            Self::BufferFull { .. } | Self::BufferAttached { .. } | Self::View { .. } => {
                ErrorClass::Buffer
            }
            Self::Dimensions { .. } | Self::Grid { .. } => ErrorClass::Dims,
            Self::NoBuffer => ErrorClass::Buffer,
            Self::Mismatch(mismatch) => mismatch.class(),
            Self::Op { .. } | Self::OrderDependent { .. } => ErrorClass::Op,
            Self::Root { .. } => ErrorClass::Root,
            Self::BlockCount { .. } | Self::Algorithm(_) => ErrorClass::Arg,
            Self::Type | Self::Elements(_) => ErrorClass::Type,
            Self::Short { .. }
            | Self::Lengths { .. }
            | Self::Blocks { .. }
            | Self::Count { .. } => ErrorClass::Count,
            Self::Request | Self::Active => ErrorClass::Request,
            Self::Window(error) => error.class(),
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arg => "MPI_ERR_ARG",
            Self::Buffer => "MPI_ERR_BUFFER",
            Self::Comm => "MPI_ERR_COMM",
            Self::Count => "MPI_ERR_COUNT",
            Self::Dims => "MPI_ERR_DIMS",
            Self::Disp => "MPI_ERR_DISP",
            Self::Group => "MPI_ERR_GROUP",
            Self::Op => "MPI_ERR_OP",
            Self::Other => "MPI_ERR_OTHER",
            Self::ProcFailed => "MPI_ERR_PROC_FAILED",
            Self::Rank => "MPI_ERR_RANK",
            Self::Request => "MPI_ERR_REQUEST",
            Self::RmaConflict => "MPI_ERR_RMA_CONFLICT",
            Self::RmaRange => "MPI_ERR_RMA_RANGE",
            Self::RmaSync => "MPI_ERR_RMA_SYNC",
            Self::Root => "MPI_ERR_ROOT",
            Self::Tag => "MPI_ERR_TAG",
            Self::Truncate => "MPI_ERR_TRUNCATE",
            Self::Type => "MPI_ERR_TYPE",
        })
    }
}

fn not_ready(
    f: &mut fmt::Formatter<'_>,
    (source, tag): (usize, u32),
    calls: Option<[SourceLocation; 2]>,
) -> fmt::Result {
    write!(
        f,
        "ready send without a posted receive: a message from rank {source} with tag {tag}"
    )?;
    calls.map_or(Ok(()), |calls| {
        let [receive, send] = calls.map(|at| at.to_string());
        write!(
            f,
            "; nothing orders the receive at {receive} before the send at {send}"
        )
    })
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
            Self::NotReady { source, tag, calls } => not_ready(f, (*source, *tag), *calls),
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
            Self::Group { .. } | Self::GroupsDiffer { .. } | Self::Overlap { .. } => {
                bad_group(f, self)
            }
            Self::Colour(colour) => {
                write!(f, "invalid colour {colour}: expected 0 to {}", i32::MAX)
            }
            Self::Contexts { given } => write!(
                f,
                "out of context identifiers: {given} communicators in use"
            ),
            &Self::BufferFull {
                length,
                free,
                attached,
            } => no_room(f, length, free, attached),
            Self::View { .. } | Self::Type | Self::Count { .. } => bad_data(f, self),
            Self::BufferAttached { length } => {
                write!(f, "a buffer is already attached ({length} bytes)")
            }
            Self::Short { .. }
            | Self::Lengths { .. }
            | Self::Op { .. }
            | Self::Root { .. }
            | Self::Blocks { .. }
            | Self::BlockCount { .. }
            | Self::Dimensions { .. }
            | Self::Grid { .. }
            | Self::NoBuffer
            | Self::Mismatch(_)
            | Self::Elements(_)
            | Self::OrderDependent { .. }
            | Self::Algorithm(_) => bad_collective(f, self),
            Self::Request | Self::Active | Self::Partition { .. } | Self::PartitionReady { .. } => {
                bad_request(f, self)
            }
            Self::Window(error) => error.fmt(f),
            Self::Connection { rank, why } => not_connected(f, *rank, *why),
        }
    }
}

fn not_connected(f: &mut fmt::Formatter<'_>, rank: usize, why: Failure) -> fmt::Result {
    if why.is_of_adapter() {
        return write!(f, "rank {rank}: {why}");
    }
    write!(f, "no connection to rank {rank}: {why}")
}

fn bad_group(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    match error {
        Error::Group { members, size } => write!(
            f,
            "invalid group: not all of its {members} members are among the {size} ranks of the communicator"
        ),
        Error::Overlap { rank } => write!(
            f,
            "invalid groups: rank {rank} is a member of both groups of an intercommunicator"
        ),
        Error::GroupsDiffer {
            members,
            expected,
            rank,
        } => write!(
            f,
            "invalid group: its {members} members are not the {expected} members of the group of rank {rank}"
        ),
        _ => Ok(()),
    }
}

fn bad_data(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    match error {
        Error::View { needed, length } => write!(
            f,
            "buffer of {length} bytes: the datatype needs {needed} bytes"
        ),
        Error::Type => f.write_str("invalid datatype: longer than 2^64 - 1 bytes"),
        Error::Count { length, size } => {
            let (length, size) = (*length, *size);
            write!(f, "invalid count: {}", PartialElement { length, size })
        }
        _ => Ok(()),
    }
}

fn bad_request(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    f.write_str(match error {
        Error::Partition { partition, count } => {
            return write!(
                f,
                "invalid partition {partition}: the request has {count} partitions"
            );
        }
        Error::PartitionReady { partition } => {
            return write!(f, "partition {partition} is ready already");
        }
        Error::Active => {
            "the persistent request is active: expected its operation to be completed first"
        }
        _ => "the request has been completed already",
    })
}

fn bad_collective(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    match error {
        Error::Short {
            source,
            length,
            expected,
        } => write!(
            f,
            "counts differ: {length} bytes from rank {source}, expected {expected} bytes"
        ),
        Error::Lengths { length, expected } => write!(
            f,
            "counts differ: a buffer of {length} bytes, expected {expected} bytes"
        ),
        Error::Op { element, length } => write!(
            f,
            "invalid operation: {length} bytes are not a whole number of its elements of {element} bytes"
        ),
        Error::Root { root, size } => {
            write!(f, "invalid root {root}: expected 0 to {}", size - 1)
        }
        Error::Blocks { length, expected } => write!(
            f,
            "invalid count: a buffer of {length} bytes, the blocks of all ranks have {expected} bytes"
        ),
        Error::BlockCount { blocks, size } => {
            write!(f, "invalid blocks: {blocks} for {size} ranks")
        }
        Error::Dimensions { found, expected } => write!(
            f,
            "invalid dimensions: {found}, the topology has {expected}, or a coordinate is outside"
        ),
        Error::Grid { ranks, size } => {
            write!(
                f,
                "invalid grid: lengths for {ranks} ranks, there are {size}"
            )
        }
        Error::NoBuffer => f.write_str("no buffer: the root gives the data of all ranks"),
        Error::Mismatch(mismatch) => write!(f, "{mismatch}"),
        Error::Elements(mismatch) => write!(f, "{mismatch}"),
        Error::OrderDependent {
            op,
            property,
            location,
        } => write!(
            f,
            "order-dependent reduction at {location}: the operation {op} is not {property}"
        ),
        Error::Algorithm(why) => write!(f, "invalid algorithm: {why}"),
        _ => Ok(()),
    }
}

fn no_room(
    f: &mut fmt::Formatter<'_>,
    length: u64,
    free: u64,
    attached: Option<u64>,
) -> fmt::Result {
    write!(
        f,
        "attached buffer too small for a message of {length} bytes: "
    )?;
    match attached {
        Some(attached) => write!(f, "{free} of the {attached} attached bytes are free"),
        None => f.write_str("no buffer is attached"),
    }
}

impl std::error::Error for Error {}
