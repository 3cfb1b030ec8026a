//! Small MPI programs; their outcomes depend on the freedoms of the standard.
//!
//! A program is a list of operations for each rank. An operation that names a *request* names the
//! place of the operation, in the list of the same rank, that made the request. At the end a rank
//! receives the messages that probes have taken, waits for all active requests, and reads the own
//! part of the window. *Not decided here*: freedom from deadlocks.

use serde::{Deserialize, Serialize};

use super::family::Family;
use crate::FuzzProgram;

/// A communicator that each rank has at the beginning.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Communicator {
    /// `MPI_COMM_WORLD`.
    #[default]
    World,
    /// A duplicate of the world.
    Duplicate,
    /// An inter-communicator between rank 0 and all others.
    Inter,
}

impl Communicator {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::World, Self::Duplicate, Self::Inter];

    /// Returns true if both ranks are in one group.
    pub fn has_in_one_group(self, rank: usize, other: usize) -> bool {
        self != Self::Inter || (rank == 0) == (other == 0)
    }
}

/// The mode of a send: the time at which the send completes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendMode {
    /// `MPI_Send`, `MPI_Isend`: buffered or not, as the library likes.
    Standard,
    /// `MPI_Ssend`, `MPI_Issend`: once a receive has matched.
    Synchronous,
    /// `MPI_Bsend`, `MPI_Ibsend`: at once.
    Buffered,
}

/// A message to send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SentMessage {
    /// The communicator.
    #[serde(default)]
    pub comm: Communicator,
    /// The destination, as a rank of the world.
    pub to: usize,
    /// The tag.
    pub tag: u32,
    /// The mode of the send.
    pub mode: SendMode,
}

/// The messages that a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Accepts {
    /// The communicator.
    #[serde(default)]
    pub comm: Communicator,
    /// The source, as a rank of the world; `None` for `MPI_ANY_SOURCE`.
    pub from: Option<usize>,
    /// The tag; `None` for `MPI_ANY_TAG`.
    pub tag: Option<u32>,
}

/// An operation that all ranks of a communicator call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
    /// `MPI_Comm_dup`, `MPI_Comm_idup`.
    Dup,
    /// `MPI_Comm_create` of all ranks.
    Create,
    /// `MPI_Comm_split`.
    Split,
}

/// A call of all ranks of a communicator; they make the same calls in the same order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RankedCall {
    /// The communicator.
    #[serde(default)]
    pub comm: Communicator,
    /// The operation.
    pub operation: Operation,
    /// The root as a rank of the world, of an operation that has one.
    pub root: usize,
    /// True if the count is zero.
    pub is_empty: bool,
}

/// A message in two partitions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stripes {
    /// The other rank.
    pub peer: usize,
    /// The tag.
    pub tag: u32,
}

/// An access to the window of a rank, which replaces one of two cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The rank.
    pub target: usize,
    /// The cell: 0 or 1.
    pub cell: usize,
    /// The new value.
    pub value: u32,
}

/// An operation of a rank.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreedomOp {
    /// A blocking send.
    Send(SentMessage),
    /// A send that a request completes.
    Isend(SentMessage),
    /// A persistent send.
    SendInit(SentMessage),
    /// `MPI_Recv`.
    Recv(Accepts),
    /// `MPI_Irecv`.
    Irecv(Accepts),
    /// `MPI_Recv_init`.
    RecvInit(Accepts),
    /// `MPI_Start`.
    Start(usize),
    /// `MPI_Sendrecv`.
    Sendrecv(SentMessage, Accepts),
    /// `MPI_Probe`.
    Probe(Accepts),
    /// `MPI_Iprobe`.
    Iprobe(Accepts),
    /// `MPI_Mprobe`.
    Mprobe(Accepts),
    /// `MPI_Improbe`.
    Improbe(Accepts),
    /// `MPI_Mrecv` of a message that a probe has taken.
    Mrecv(usize),
    /// A blocking call.
    Collective(RankedCall),
    /// A call that a request completes.
    Icollective(RankedCall),
    /// `MPI_Wait`.
    Wait(usize),
    /// `MPI_Test`.
    Test(usize),
    /// `MPI_Request_get_status`.
    GetStatus(usize),
    /// `MPI_Cancel` of a receive.
    Cancel(usize),
    /// `MPI_Request_free`.
    Free(usize),
    /// `MPI_Waitany`.
    Waitany(Vec<usize>),
    /// `MPI_Waitsome`.
    Waitsome(Vec<usize>),
    /// `MPI_Waitall`.
    Waitall(Vec<usize>),
    /// `MPI_Testany`.
    Testany(Vec<usize>),
    /// `MPI_Testsome`.
    Testsome(Vec<usize>),
    /// `MPI_Testall`.
    Testall(Vec<usize>),
    /// `MPI_Psend_init`, with two partitions.
    PsendInit(Stripes),
    /// `MPI_Precv_init`, with two partitions.
    PrecvInit(Stripes),
    /// `MPI_Pready` of a partition.
    Pready(usize, usize),
    /// `MPI_Parrived` of a partition.
    Parrived(usize, usize),
    /// `MPI_Win_lock`, exclusive or shared.
    Lock(usize, bool),
    /// `MPI_Win_unlock`.
    Unlock(usize),
    /// `MPI_Accumulate` with `MPI_REPLACE`.
    Replace(Access),
    /// `MPI_Rget_accumulate` with `MPI_REPLACE`; the unlock tells the result.
    Swap(Access),
    /// `MPI_Win_fence`; the first one has `MPI_MODE_NOPRECEDE`.
    Fence,
    /// `MPI_Win_post` for one rank.
    Post(usize),
    /// `MPI_Win_start` for one rank.
    Open(usize),
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_wait`.
    WaitWindow,
    /// `MPI_Win_test`.
    TestWindow,
}

impl FreedomOp {
    /// Returns true if a request of this operation can be waited for.
    pub(super) const fn makes_request(&self) -> bool {
        matches!(
            self,
            Self::Isend(_)
                | Self::SendInit(_)
                | Self::Irecv(_)
                | Self::RecvInit(_)
                | Self::Icollective(_)
                | Self::PsendInit(_)
                | Self::PrecvInit(_)
        )
    }

    /// Returns true if the operation receives a message with the place of a send.
    pub(super) const fn is_receive(&self) -> bool {
        matches!(self, Self::Recv(_) | Self::Irecv(_) | Self::RecvInit(_))
    }

    /// Returns true if the operation uses the window.
    pub(super) const fn uses_window(&self) -> bool {
        matches!(
            self,
            Self::Lock(..)
                | Self::Unlock(_)
                | Self::Replace(_)
                | Self::Swap(_)
                | Self::Fence
                | Self::Post(_)
                | Self::Open(_)
                | Self::Complete
                | Self::WaitWindow
                | Self::TestWindow
        )
    }

    /// Returns the communicator that the operation uses.
    pub(super) const fn communicator_used(&self) -> Option<Communicator> {
        match self {
            Self::Send(message)
            | Self::Isend(message)
            | Self::SendInit(message)
            | Self::Sendrecv(message, _) => Some(message.comm),
            Self::Recv(accepts)
            | Self::Irecv(accepts)
            | Self::RecvInit(accepts)
            | Self::Probe(accepts)
            | Self::Iprobe(accepts)
            | Self::Mprobe(accepts)
            | Self::Improbe(accepts) => Some(accepts.comm),
            Self::Collective(call) | Self::Icollective(call) => Some(call.comm),
            _ => None,
        }
    }

    /// Returns true if the operation waits for requests or tests them.
    pub(super) const fn completes_requests(&self) -> bool {
        matches!(
            self,
            Self::Wait(_)
                | Self::Test(_)
                | Self::Waitany(_)
                | Self::Waitsome(_)
                | Self::Waitall(_)
                | Self::Testany(_)
                | Self::Testsome(_)
                | Self::Testall(_)
        )
    }

    /// Returns the places that the operation names.
    pub(super) fn places_named(&self) -> &[usize] {
        match self {
            Self::Start(place)
            | Self::Mrecv(place)
            | Self::Wait(place)
            | Self::Test(place)
            | Self::GetStatus(place)
            | Self::Cancel(place)
            | Self::Free(place)
            | Self::Pready(place, _)
            | Self::Parrived(place, _) => std::slice::from_ref(place),
            Self::Waitany(list)
            | Self::Waitsome(list)
            | Self::Waitall(list)
            | Self::Testany(list)
            | Self::Testsome(list)
            | Self::Testall(list) => list,
            _ => &[],
        }
    }

    /// Returns the ranks that the operation names.
    fn ranks_named(&self) -> Vec<usize> {
        match self {
            Self::Send(message) | Self::Isend(message) | Self::SendInit(message) => {
                vec![message.to]
            }
            Self::Sendrecv(message, accepts) => {
                std::iter::once(message.to).chain(accepts.from).collect()
            }
            Self::Recv(accepts)
            | Self::Irecv(accepts)
            | Self::RecvInit(accepts)
            | Self::Probe(accepts)
            | Self::Iprobe(accepts)
            | Self::Mprobe(accepts)
            | Self::Improbe(accepts) => accepts.from.into_iter().collect(),
            Self::Collective(call) | Self::Icollective(call) => vec![call.root],
            Self::PsendInit(stripes) | Self::PrecvInit(stripes) => vec![stripes.peer],
            Self::Lock(rank, _) | Self::Unlock(rank) | Self::Post(rank) | Self::Open(rank) => {
                vec![*rank]
            }
            Self::Replace(access) | Self::Swap(access) => vec![access.target],
            _ => Vec::new(),
        }
    }
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreedomProgram {
    /// Version of the format.
    pub version: u32,
    /// The family of programs that has generated this one.
    pub family: Family,
    /// Operations of each rank.
    pub ranks: Vec<Vec<FreedomOp>>,
}

impl FreedomProgram {
    /// Returns a program of these operations.
    pub const fn from_ops(family: Family, ranks: Vec<Vec<FreedomOp>>) -> Self {
        Self {
            version: Self::VERSION,
            family,
            ranks,
        }
    }

    /// Returns true if a rank uses the window.
    pub(super) fn has_window(&self) -> bool {
        self.ranks.iter().flatten().any(FreedomOp::uses_window)
    }

    /// Returns true if a rank uses the communicator.
    pub(super) fn has_communicator(&self, comm: Communicator) -> bool {
        let mut ops = self.ranks.iter().flatten();
        ops.any(|op| op.communicator_used() == Some(comm))
    }

    fn calls_on(&self, rank: usize, comm: Communicator) -> Vec<&FreedomOp> {
        let is_call = |op: &&FreedomOp| {
            matches!(op, FreedomOp::Collective(_) | FreedomOp::Icollective(_))
                && op.communicator_used() == Some(comm)
        };
        self.ranks[rank].iter().filter(is_call).collect()
    }

    fn validate_op(&self, rank: usize, at: usize) -> Result<(), String> {
        let op = &self.ranks[rank][at];
        let refuse =
            |expected: &str| Err(format!("ranks[{rank}][{at}]: {op:?}: expected {expected}"));
        let count = self.ranks.len();
        if op.ranks_named().iter().any(|&peer| peer >= count) {
            return refuse(&format!("ranks below {count}"));
        }
        let is_right = |place: &usize| {
            *place < at
                && match (op, &self.ranks[rank][*place]) {
                    (FreedomOp::Mrecv(_), FreedomOp::Mprobe(_) | FreedomOp::Improbe(_)) => true,
                    (FreedomOp::Mrecv(_), _) => false,
                    (_, made) => made.makes_request(),
                }
        };
        if !op.places_named().iter().all(is_right) {
            return refuse("places of earlier operations that make requests or take messages");
        }
        Ok(())
    }
}

/// The most ranks, and operations of a rank: answers have these as bytes. \[choice\]
const RANKS_MAX: usize = 4;
const OPERATIONS_MAX: usize = 32;

impl FuzzProgram for FreedomProgram {
    const VERSION: u32 = 1;

    fn operations(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }

    fn validate(&self) -> Result<(), String> {
        let count = self.ranks.len();
        if !(2..=RANKS_MAX).contains(&count) {
            return Err(format!("{count} ranks: expected 2 to {RANKS_MAX}"));
        }
        for (rank, ops) in self.ranks.iter().enumerate() {
            if ops.len() > OPERATIONS_MAX {
                let found = ops.len();
                return Err(format!(
                    "ranks[{rank}]: {found} operations: expected at most {OPERATIONS_MAX}"
                ));
            }
            for at in 0..ops.len() {
                self.validate_op(rank, at)?;
            }
            for comm in Communicator::ALL {
                if self.calls_on(rank, comm) != self.calls_on(0, comm) {
                    return Err(format!(
                        "ranks[{rank}]: expected the collective calls of rank 0"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The result of an operation for the rank, as numbers; see `answers`.
pub type Answer = Vec<u32>;

/// The answers of each rank in the order of the operations.
pub type Answers = Vec<Vec<Answer>>;
