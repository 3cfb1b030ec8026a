//! Mistakes in the arguments of a collective that a rank finds alone.
//!
//! * A rank also sends a block to itself, or the same as to itself to all others. The send
//!   arguments and the receive arguments give the same length and type of this block (MPI 5.0,
//!   sections 6.5 to 6.8).
//! * Among more than two ranks, a rank sends to neighbours elements of the type that the rank
//!   receives from neighbours, in calls with one type for all: the type of each rank is that of all
//!   other ranks (section 8.6).
//! * The blocks that a rank receives have no memory in common (section 6.5).
//! * The contribution and the result have no memory in common, unless the call has `MPI_IN_PLACE`
//!   (sections 2.3 and 6.2.2).
//!
//! *Not found here*: differences between ranks, which the message layer finds; between the groups
//! of an intercommunicator, which have arguments of their own.

use super::super::active;
use super::forms::{CollectiveOperation, Exchange, Prepared};
use crate::bridge::{caller, with_state};
use crate::errors::CallError;
use crate::handles::Target;
use crate::state::Handle;

/// Returns one of equal parts.
fn one_of(place: Target, parts: usize) -> Target {
    Target {
        length: place.length / parts.max(1),
        ..place
    }
}

/// Refuses a receive of other elements than the elements that are sent.
fn compare_elements(from: Target, to: Target) -> Result<(), CallError> {
    let (sent, received) = (from.element.numbers, to.element.numbers);
    if from.length == 0 || to.length == 0 || !sent.differs(received) {
        return Ok(());
    }
    let text = format!(
        "the send arguments give elements of {} and the receive arguments elements of {}: expected \
         the same",
        sent.name(),
        received.name()
    );
    Err(CallError::new("MPI_ERR_TYPE", text))
}

impl Prepared {
    /// Refuses arguments that contradict each other.
    ///
    /// # Errors
    /// If they do.
    pub(super) fn compare_arguments(&self, comm: Handle) -> Result<(), CallError> {
        self.refuse_common_memory()?;
        if self.result.len() > 1 && caller().is_checked() && active::have_overlap(&self.result) {
            let text = "receive blocks have memory in common: expected blocks apart";
            return Err(CallError::new("MPI_ERR_BUFFER", text));
        }
        let ranks = with_state(|state| {
            let comm_of = state.comm(comm)?;
            let is_between = state.comms.between.contains_key(&comm);
            Ok::<_, CallError>((!is_between).then(|| (comm_of.rank(), comm_of.size())))
        })?;
        if let CollectiveOperation::Neighbors(_, Exchange::Allgather(_) | Exchange::Alltoall(_)) =
            &self.operation
            && let ([given, ..], [result, ..]) = (&self.given[..], &self.result[..])
        {
            let has_third_rank = ranks.is_some_and(|(_, size)| size > 2);
            return match has_third_rank {
                true => compare_elements(*given, *result),
                false => Ok(()),
            };
        }
        let Some((from, to)) = ranks.and_then(|(rank, size)| self.own_block(rank, size)) else {
            return Ok(());
        };
        if from.length != to.length {
            let (given, expected) = (from.length, to.length);
            let text = format!(
                "the send arguments give a block of {given} bytes and the receive arguments a \
                 block of {expected} bytes: expected the same"
            );
            return Err(CallError::new("MPI_ERR_COUNT", text));
        }
        compare_elements(from, to)
    }

    /// Returns the block that the rank sends to itself, as the send arguments and as the receive
    /// arguments have this block; `None` if the call has no such block here.
    fn own_block(&self, rank: usize, size: usize) -> Option<(Target, Target)> {
        let (given, result) = (&self.given, &self.result);
        let (first, filled) = (given.first().copied(), result.first().copied());
        Some(match &self.operation {
            CollectiveOperation::Gather(_) | CollectiveOperation::Allgather => {
                (first?, one_of(filled?, size))
            }
            CollectiveOperation::Alltoall | CollectiveOperation::AlltoallInPlace => {
                (one_of(first?, size), one_of(filled?, size))
            }
            CollectiveOperation::Scatter(_, place, true) => (one_of(first?, size), *place),
            CollectiveOperation::ScatterV(_, place, _) => (*given.get(rank)?, *place),
            CollectiveOperation::GatherV(..) | CollectiveOperation::AllgatherV(_) => {
                (first?, *result.get(rank)?)
            }
            CollectiveOperation::AlltoallV(..) | CollectiveOperation::AlltoallW(_) => {
                (*given.get(rank)?, *result.get(rank)?)
            }
            // Neighbours are other ranks.
            _ => return None,
        })
    }

    /// Refuses memory that the call reads and fills. A plain run looks at buffers with one address
    /// only, which is the usual mistake.
    fn refuse_common_memory(&self) -> Result<(), CallError> {
        if self.in_place {
            return Ok(());
        }
        let used = |place: &&Target| place.length > 0 && !place.is_nowhere();
        let given = || self.given.iter().filter(used);
        let result = || self.result.iter().filter(used);
        let begin = |place: Option<&Target>| place.map(|place| place.address);
        let (reads, fills) = (begin(given().next()), begin(result().next()));
        let has_common = reads.is_some()
            && (reads == fills || caller().is_checked())
            && active::have_common_byte(given(), result());
        if !has_common {
            return Ok(());
        }
        let text = "the send buffer and the receive buffer have memory in common: expected \
                    MPI_IN_PLACE or two buffers";
        Err(CallError::new("MPI_ERR_BUFFER", text))
    }
}
