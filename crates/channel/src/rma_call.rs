//! The calls that packets of one-sided communication name, and their numbers in frames.
//!
//! *Not decided here*: the effect of a call at the target; see `mpi/src/protocol/engine/rma.rs`.

/// A built-in operation with an element type, by the number of the operation in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccumulateOp(u8);

impl AccumulateOp {
    /// Number of operations.
    pub const COUNT: u8 = 148;

    /// Returns the operation with a number; `None` if there is none.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        let number = u8::try_from(number).ok()?;
        (number < Self::COUNT).then_some(Self(number))
    }

    /// Number of operations on integers, which come first, and on one type of integers.
    const OF_INTEGERS: u8 = 128;
    const OF_ONE_INTEGER: u8 = 16;
    /// Number of operations on one type of floating-point numbers.
    const OF_ONE_FLOAT: u8 = 10;
    /// Number of operations on one type that are neither `MPI_REPLACE` nor `MPI_NO_OP`.
    const REDUCTIONS: [u8; 2] = [12, 6];

    /// Returns true if the order of two such operations does not matter: the operations on integers
    /// but `MPI_REPLACE` and `MPI_NO_OP`.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        let [reductions, _] = Self::REDUCTIONS;
        self.0 < Self::OF_INTEGERS && self.0 % Self::OF_ONE_INTEGER < reductions
    }

    /// Returns true for `MPI_NO_OP`, which only reads: each second one behind the reductions.
    #[must_use]
    pub const fn is_no_op(self) -> bool {
        let [of_integer, of_float] = Self::REDUCTIONS;
        let (place, reductions) = match self.0.checked_sub(Self::OF_INTEGERS) {
            None => (self.0 % Self::OF_ONE_INTEGER, of_integer),
            Some(float) => (float % Self::OF_ONE_FLOAT, of_float),
        };
        place >= reductions && place % 2 == 1
    }

    /// Returns true for an operation that is neither `MPI_REPLACE` nor `MPI_NO_OP`.
    #[must_use]
    pub const fn is_reduction(self) -> bool {
        let [of_integer, of_float] = Self::REDUCTIONS;
        match self.0.checked_sub(Self::OF_INTEGERS) {
            None => self.0 % Self::OF_ONE_INTEGER < of_integer,
            Some(float) => float % Self::OF_ONE_FLOAT < of_float,
        }
    }

    /// Returns the number of the operation.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Bytes of a description of places at the target that a simulated network is charged for, at most.
pub(crate) const CHARGED_MAX: u64 = 4096;

/// Call of a packet of one-sided communication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaCall {
    /// Writes the payload.
    Put,
    /// Combines the payload with the memory.
    Accumulate(AccumulateOp),
    /// Reads.
    Get,
    /// A put by RDMA WRITE: `offset` of the packet is an address. No packet reaches the target.
    Write {
        /// The key of the window's memory at the target's adapter.
        rkey: u32,
    },
    /// A get by RDMA READ: `offset` of the packet is an address. No packet reaches the target.
    Read {
        /// The key of the window's memory at the target's adapter.
        rkey: u32,
    },
    /// Combines the payload with the memory, and reads the previous value.
    GetAccumulate(AccumulateOp),
    /// Reads, and writes the second half of the payload if the memory equals the first half.
    CompareAndSwap,
    /// An access to several places. Their description comes first in the payload: `offset` of the
    /// packet is its length in bytes, and `length` the place of the part in the data.
    Noncontiguous(NoncontiguousCall),
    /// Asks for the lock of the window at this target.
    Lock {
        /// True if no other rank may hold the lock.
        exclusive: bool,
    },
    /// Gives the lock back.
    Unlock,
    /// Asks for an answer when all accesses before are done.
    Flush,
    /// Says that the memory may be accessed: `MPI_Win_post`.
    Post,
    /// Says that all accesses have been sent: `MPI_Win_complete`.
    Complete,
    /// Answer with the bytes that were read.
    Result,
    /// Answer that the lock is granted, or that the request is done.
    Done,
}

/// Accesses that may have several places at the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoncontiguousCall {
    /// [`RmaCall::Put`].
    Put,
    /// [`RmaCall::Get`].
    Get,
    /// [`RmaCall::Accumulate`].
    Accumulate(AccumulateOp),
    /// [`RmaCall::GetAccumulate`].
    GetAccumulate(AccumulateOp),
}

impl RmaCall {
    /// Returns the call for several places at the target; `None` if there is none.
    #[must_use]
    pub const fn noncontiguous(self) -> Option<NoncontiguousCall> {
        match self {
            Self::Put => Some(NoncontiguousCall::Put),
            Self::Get => Some(NoncontiguousCall::Get),
            Self::Accumulate(op) => Some(NoncontiguousCall::Accumulate(op)),
            Self::GetAccumulate(op) => Some(NoncontiguousCall::GetAccumulate(op)),
            _ => None,
        }
    }

    /// Returns true if the packet has a payload.
    #[must_use]
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(
            self,
            Self::Put
                | Self::Write { .. }
                | Self::Accumulate(_)
                | Self::GetAccumulate(_)
                | Self::CompareAndSwap
                | Self::Noncontiguous(_)
                | Self::Result
        )
    }

    /// Returns true if the channel accesses the memory of the target; the message layer of the
    /// target gets no packet.
    #[must_use]
    #[inline]
    pub const fn is_rdma(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Read { .. })
    }

    /// Returns true if the packet answers another.
    #[must_use]
    #[inline]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Result | Self::Done)
    }

    /// Returns true if an operation of the origin waits for an answer.
    #[must_use]
    #[inline]
    pub const fn is_answered(self) -> bool {
        matches!(
            self,
            Self::Get
                | Self::Read { .. }
                | Self::GetAccumulate(_)
                | Self::CompareAndSwap
                | Self::Noncontiguous(NoncontiguousCall::Get | NoncontiguousCall::GetAccumulate(_))
                | Self::Lock { .. }
                | Self::Unlock
                | Self::Flush
        )
    }

    /// Returns the number of the call in a frame: the kind, and the operation above bit 8. Calls by
    /// RDMA are in no frame.
    #[must_use]
    pub const fn frame_code(self) -> u32 {
        match self {
            Self::Put => 0,
            Self::Accumulate(op) => 1 | (op.number() as u32) << 8,
            Self::Get => 2,
            Self::GetAccumulate(op) => 3 | (op.number() as u32) << 8,
            Self::CompareAndSwap => 4,
            Self::Lock { exclusive: false } => 5,
            Self::Lock { exclusive: true } => 6,
            Self::Unlock => 7,
            Self::Flush => 8,
            Self::Post => 9,
            Self::Complete => 10,
            Self::Result => 11,
            Self::Done => 12,
            Self::Write { .. } => 13,
            Self::Read { .. } => 14,
            Self::Noncontiguous(NoncontiguousCall::Put) => 15,
            Self::Noncontiguous(NoncontiguousCall::Get) => 16,
            Self::Noncontiguous(NoncontiguousCall::Accumulate(op)) => {
                17 | (op.number() as u32) << 8
            }
            Self::Noncontiguous(NoncontiguousCall::GetAccumulate(op)) => {
                18 | (op.number() as u32) << 8
            }
        }
    }

    /// Returns the call with a number; `None` if there is none.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        let (kind, op) = (code & 0xff, code >> 8);
        Some(match (kind, op) {
            (1, _) => Self::Accumulate(AccumulateOp::from_number(op)?),
            (3, _) => Self::GetAccumulate(AccumulateOp::from_number(op)?),
            (17 | 18, _) => {
                let op = AccumulateOp::from_number(op)?;
                Self::Noncontiguous(match kind {
                    17 => NoncontiguousCall::Accumulate(op),
                    _ => NoncontiguousCall::GetAccumulate(op),
                })
            }
            (0, 0) => Self::Put,
            (2, 0) => Self::Get,
            (4, 0) => Self::CompareAndSwap,
            (5, 0) => Self::Lock { exclusive: false },
            (6, 0) => Self::Lock { exclusive: true },
            (7, 0) => Self::Unlock,
            (8, 0) => Self::Flush,
            (9, 0) => Self::Post,
            (10, 0) => Self::Complete,
            (11, 0) => Self::Result,
            (12, 0) => Self::Done,
            (15, 0) => Self::Noncontiguous(NoncontiguousCall::Put),
            (16, 0) => Self::Noncontiguous(NoncontiguousCall::Get),
            _ => return None,
        })
    }
}
