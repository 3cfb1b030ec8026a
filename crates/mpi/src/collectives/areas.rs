//! The buffers of a call at one rank: the contribution, and room for the result.

use ::collectives::{Collective, Neighbors};

use super::between::NO_ROOT;
use super::{Blocks, Invocation};
use crate::{Buffer, Comm, Error, Result};

/// The areas of a call.
pub(super) struct Areas {
    /// The contribution; empty if `recv` contains the contribution.
    pub(super) send: Buffer,
    pub(super) recv: Buffer,
    /// True if the call has a result at this rank.
    pub(super) has_result: bool,
    /// Length of a contribution or of a block in bytes.
    pub(super) bytes: u64,
}

impl Areas {
    /// Returns the areas of a call at the rank of a communicator.
    ///
    /// # Errors
    /// [`Error::Blocks`], [`Error::BlockCount`], [`Error::Count`] or [`Error::NoBuffer`] if the
    /// buffers do not fit the blocks.
    pub(super) fn new(comm: &Comm, call: &Invocation) -> Result<Self> {
        let input = &call.input;
        if let Some(neighbors) = &call.neighbors {
            return Self::of_neighbors(neighbors, call);
        }
        if call.is_between {
            return Self::of_groups(comm, call);
        }
        match call.kind {
            Collective::Barrier => Ok(Self::in_place(Buffer::phantom(0))),
            Collective::Bcast | Collective::Allreduce | Collective::Scan => {
                Ok(Self::in_place(input.clone()))
            }
            Collective::Reduce => Ok(Self {
                has_result: comm.rank() == call.root,
                ..Self::in_place(input.clone())
            }),
            Collective::Exscan => Ok(Self {
                has_result: comm.rank() > 0,
                ..Self::between(input, input.len(), input.len())
            }),
            Collective::Gather | Collective::Gatherv => Self::gathered(comm, call),
            Collective::Scatter | Collective::Scatterv => Self::scattered(comm, call),
            Collective::Allgather => {
                let bytes = input.len();
                Ok(Self::between(input, all_blocks(comm, bytes)?, bytes))
            }
            Collective::Allgatherv => {
                let (end, own) = checked(comm, call.recv.as_ref())?;
                fits_exactly(input, own)?;
                Ok(Self::between(input, end, own))
            }
            Collective::Alltoall => {
                let bytes = divided(comm, input)?;
                if call.in_place {
                    return Ok(Self {
                        bytes,
                        ..Self::in_place(input.clone())
                    });
                }
                Ok(Self::between(input, input.len(), bytes))
            }
            Collective::Alltoallv | Collective::Alltoallw => {
                fits(input, checked(comm, call.send.as_ref())?.0)?;
                let (end, _) = checked(comm, call.recv.as_ref())?;
                Ok(Self::between(input, end, 0))
            }
            Collective::ReduceScatter => {
                let (end, own) = checked(comm, call.send.as_ref())?;
                fits(input, end)?;
                Ok(Self::between(input, own, own))
            }
            Collective::ReduceScatterBlock => {
                let bytes = divided(comm, input)?;
                Ok(Self::between(input, bytes, bytes))
            }
        }
    }

    /// Returns the areas of a call with a result that replaces the contribution.
    fn in_place(recv: Buffer) -> Self {
        Self {
            bytes: recv.len(),
            send: Buffer::phantom(0),
            recv,
            has_result: true,
        }
    }

    /// Areas of a call with a result of another length, real if the contribution is.
    fn between(input: &Buffer, length: u64, bytes: u64) -> Self {
        Self {
            send: input.clone(),
            recv: input.of_kind(length),
            has_result: true,
            bytes,
        }
    }

    /// Areas of a call over an intercommunicator.
    fn of_groups(comm: &Comm, call: &Invocation) -> Result<Self> {
        let input = &call.input;
        let first = comm.members().first_group() as usize;
        let (is_first, rank) = (comm.rank() < first, comm.rank());
        let (own, others) = match is_first {
            true => (first, comm.size() - first),
            false => (comm.size() - first, first),
        };
        let (is_root, has_part) = (call.root == rank, call.root != NO_ROOT);
        // What is only given, or only taken.
        let given = || Self {
            has_result: false,
            ..Self::between(input, 0, input.len())
        };
        let taken = || Self {
            has_result: has_part,
            ..Self::in_place(input.clone())
        };
        match call.kind {
            Collective::Bcast => Ok(taken()),
            Collective::Reduce => Ok(Self {
                has_result: is_root,
                ..taken()
            }),
            Collective::Gather | Collective::Gatherv if is_root => {
                fits(input, end(call.recv.as_ref(), others)?)?;
                Ok(taken())
            }
            Collective::Scatter | Collective::Scatterv if !is_root => Ok(taken()),
            Collective::Gather | Collective::Gatherv => Ok(given()),
            Collective::Scatter | Collective::Scatterv => {
                fits(input, end(call.send.as_ref(), others)?)?;
                Ok(given())
            }
            Collective::ReduceScatter => {
                fits(input, end(call.send.as_ref(), own)?)?;
                let place = if is_first { rank } else { rank - first };
                let block = call.send.as_ref().map_or(0, |blocks| blocks.block(place).1);
                Ok(Self::between(input, block, block))
            }
            Collective::Allreduce | Collective::Barrier => Ok(Self::in_place(input.clone())),
            _ => {
                fits(input, end(call.send.as_ref(), others)?)?;
                let received = end(call.recv.as_ref(), others)?;
                Ok(Self::between(input, received, input.len()))
            }
        }
    }

    fn of_neighbors(neighbors: &Neighbors, call: &Invocation) -> Result<Self> {
        let sent = end(call.send.as_ref(), neighbors.destinations.len())?;
        let received = end(call.recv.as_ref(), neighbors.sources.len())?;
        fits(&call.input, sent)?;
        Ok(Self::between(&call.input, received, 0))
    }

    fn gathered(comm: &Comm, call: &Invocation) -> Result<Self> {
        let (input, is_root) = (&call.input, comm.rank() == call.root);
        let length = match call.kind {
            _ if !is_root => 0,
            Collective::Gather => all_blocks(comm, input.len())?,
            _ => {
                let (end, own) = checked(comm, call.recv.as_ref())?;
                fits_exactly(input, own)?;
                end
            }
        };
        Ok(Self {
            has_result: is_root,
            ..Self::between(input, length, input.len())
        })
    }

    fn scattered(comm: &Comm, call: &Invocation) -> Result<Self> {
        let (input, recv) = (&call.input, call.room.clone().ok_or(Error::NoBuffer)?);
        let bytes = recv.len();
        if comm.rank() == call.root {
            match call.kind {
                Collective::Scatter => fits(input, all_blocks(comm, bytes)?)?,
                _ => {
                    let (end, own) = checked(comm, call.send.as_ref())?;
                    fits_exactly(&recv, own)?;
                    fits(input, end)?;
                }
            }
        }
        Ok(Self {
            send: input.clone(),
            recv,
            has_result: true,
            bytes,
        })
    }
}

/// Returns the end of the last one of this number of blocks.
fn end(blocks: Option<&Blocks>, size: usize) -> Result<u64> {
    match blocks {
        Some(blocks) if blocks.listed().len() == size => Ok(blocks.end_offset()),
        _ => Err(Error::BlockCount {
            blocks: blocks.map_or(0, |blocks| blocks.listed().len()),
            size,
        }),
    }
}

/// Returns the length of one block for each rank.
fn all_blocks(comm: &Comm, bytes: u64) -> Result<u64> {
    bytes.checked_mul(comm.size() as u64).ok_or(Error::Type)
}

/// Returns the length of a block of a buffer that has one for each rank.
fn divided(comm: &Comm, input: &Buffer) -> Result<u64> {
    let (length, size) = (input.len(), comm.size() as u64);
    if length.is_multiple_of(size) {
        return Ok(length / size);
    }
    Err(Error::Count { length, size })
}

/// Returns the end of the last block and the length of the block of this rank; checks that there is
/// one block for each rank.
fn checked(comm: &Comm, blocks: Option<&Blocks>) -> Result<(u64, u64)> {
    let listed = blocks.map_or(&[][..], Blocks::listed);
    match (blocks, listed.get(comm.rank())) {
        (Some(blocks), Some(own)) if listed.len() == comm.size() => {
            Ok((blocks.end_offset(), own.length))
        }
        _ => Err(Error::BlockCount {
            blocks: listed.len(),
            size: comm.size(),
        }),
    }
}

fn fits(input: &Buffer, expected: u64) -> Result<()> {
    let length = input.len();
    if length >= expected {
        return Ok(());
    }
    Err(Error::Blocks { length, expected })
}

fn fits_exactly(input: &Buffer, expected: u64) -> Result<()> {
    let length = input.len();
    if length == expected {
        return Ok(());
    }
    Err(Error::Blocks { length, expected })
}
