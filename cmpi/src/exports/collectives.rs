//! Collectives (MPI 5.0, chapter 6), by those of the message layer.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::{Blocks, Buffer, Comm, Op};

use super::{Handle, State, exports, memory};
use crate::arguments::natural;
use crate::bridge::{block, with};
use crate::datatypes::element;
use crate::errors::CallError;
use crate::handles::Target;
use crate::ops;

/// `MPI_IN_PLACE`.
pub(super) const IN_PLACE: usize = 1;

/// Function of an operation of the program: `MPI_User_function`.
type UserFunction = extern "C" fn(*const c_void, *mut c_void, *const c_int, *const Handle);

/// An operation of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserOp {
    function: UserFunction,
    is_commutative: bool,
}

impl State {
    fn user_op(&self, op: Handle) -> Option<UserOp> {
        self.ops.get(op).copied()
    }

    /// Returns an operation on elements of a datatype.
    pub(super) fn op(&self, op: Handle, datatype: Handle) -> Result<Op, CallError> {
        let Some(user) = self.user_op(op) else {
            return ops::predefined(op, datatype);
        };
        let element = element(datatype)?;
        if !element.is_contiguous() {
            let text = format!("operations of the program on {datatype:#x} are not supported");
            return Err(CallError::new("MPI_ERR_OP", text));
        }
        let apply = move |incoming: &[u8], inout: &mut [u8]| {
            let count = c_int::try_from(inout.len() / element.size).unwrap_or(c_int::MAX);
            let (incoming, inout) = (incoming.as_ptr().cast(), inout.as_mut_ptr().cast());
            (user.function)(incoming, inout, &raw const count, &raw const datatype);
        };
        let size = element.size as u64;
        Ok(Op::on_bytes(
            "an operation of the program",
            size,
            user.is_commutative,
            apply,
        ))
    }
}

/// Returns the contribution of a rank: that of the result's place, if it is in place.
pub(super) fn contribution(
    data: *const c_void,
    result: *mut c_void,
    (count, datatype): (c_int, Handle),
) -> Result<(Target, Target), CallError> {
    let given = if data as usize == IN_PLACE {
        result.cast_const()
    } else {
        data
    };
    // Only the root of a reduction has a place for the result.
    let result = if result.is_null() {
        given
    } else {
        result.cast_const()
    };
    Ok((
        memory::place(given, count, datatype)?,
        memory::place(result, count, datatype)?,
    ))
}

/// Returns `count` elements that begin `blocks` blocks of as many elements behind an address.
pub(super) fn part(
    address: *const c_void,
    (count, datatype): (c_int, Handle),
    blocks: usize,
) -> Result<Target, CallError> {
    let mut place = memory::place(address, count, datatype)?;
    let elements = usize::try_from(count).unwrap_or(0);
    let distance = (blocks * elements)
        .cast_signed()
        .wrapping_mul(place.element.extent);
    place.address = place.address.wrapping_add_signed(distance);
    Ok(place)
}

/// Returns the places of blocks of all ranks.
pub(super) fn whole(
    address: *const c_void,
    (count, datatype): (c_int, Handle),
    ranks: usize,
) -> Result<Target, CallError> {
    let mut place = memory::place(address, count, datatype)?;
    place.length *= ranks;
    Ok(place)
}

pub(super) fn ranks(comm: Handle) -> Result<(usize, usize), CallError> {
    with(|state| state.comm(comm).map(|comm| (comm.rank(), comm.size())))
}

/// Counts and displacements of the blocks of all ranks, in elements.
pub(super) type Listed = (*const c_int, *const c_int, Handle);

/// The blocks of all ranks in memory of the program.
pub(super) struct Placed {
    /// Each block.
    pub(super) parts: Vec<Target>,
    /// The same one behind the other, as in messages.
    pub(super) packed: Blocks,
}

pub(super) fn placed(
    address: *const c_void,
    listed: Listed,
    ranks: usize,
) -> Result<Placed, CallError> {
    let (counts, displacements, datatype) = listed;
    let mut parts = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let count = memory::load(counts.wrapping_add(rank), "counts")?;
        let displacement = memory::load(displacements.wrapping_add(rank), "displs")?;
        let mut place = memory::place(address, count, datatype)?;
        let distance = (displacement as isize).wrapping_mul(place.element.extent);
        place.address = place.address.wrapping_add_signed(distance);
        parts.push(place);
    }
    let packed = Blocks::packed(parts.iter().map(|part| part.length as u64));
    Ok(Placed { parts, packed })
}

impl Placed {
    /// Returns the blocks one behind the other.
    fn message(&self, comm: &Comm) -> Buffer {
        memory::message_of(comm, &self.parts)
    }

    fn fill(&self, message: &Buffer) {
        memory::fill_parts(&self.parts, message);
    }
}

pub(super) fn root(root: c_int) -> Result<usize, CallError> {
    natural(root, "root", "MPI_ERR_ROOT")
}

/// Returns the contribution to a reduction whose blocks the ranks get, the place of the own block
/// and the blocks.
pub(super) fn scattered(
    data: *const c_void,
    result: *const c_void,
    (counts, datatype): (*const c_int, Handle),
    (rank, size): (usize, usize),
) -> Result<(Target, Target, Blocks), CallError> {
    let mut lengths = Vec::with_capacity(size);
    for rank in 0..size {
        let count = memory::load(counts.wrapping_add(rank), "recvcounts")?;
        lengths.push(memory::place(data, count, datatype)?.length);
    }
    let mut given = memory::place(data, 0, datatype)?;
    given.length = lengths.iter().sum();
    let mut target = memory::place(result, 0, datatype)?;
    target.length = lengths[rank];
    let blocks = Blocks::packed(lengths.into_iter().map(|length| length as u64));
    Ok((given, target, blocks))
}

/// A reduction whose result all ranks get, or some.
#[derive(Clone, Copy)]
enum Reduction {
    All,
    Root(usize),
    Scan,
    Exscan,
}

fn reduce(
    kind: Reduction,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): (c_int, Handle),
    (op, comm): (Handle, Handle),
) -> Result<(), CallError> {
    let (given, target) = contribution(data, result, (count, datatype))?;
    let reduced = block(async |state| {
        let op = state.op(op, datatype)?;
        let comm = state.comm(comm)?;
        let message = memory::message(comm, given);
        Ok::<_, CallError>(match kind {
            Reduction::All => {
                let reducing = comm.allreduce(&message, &op);
                drop(message);
                Some(reducing.await?)
            }
            Reduction::Root(root) => comm.reduce(&message, &op, root).await?,
            Reduction::Scan => Some(comm.scan(&message, &op).await?),
            Reduction::Exscan => comm.exscan(&message, &op).await?,
        })
    })?;
    if let Some(reduced) = reduced {
        memory::fill(target, &reduced, reduced.len());
    }
    Ok(())
}

exports! {
    fn MPI_Barrier(comm: Handle) {
        block(async |state| Ok(state.comm(comm)?.barrier().await?))
    }

    fn MPI_Bcast(buffer: *mut c_void, count: c_int, datatype: Handle, from: c_int, comm: Handle) {
        let (place, from) = (memory::place(buffer, count, datatype)?, root(from)?);
        let message = block(async |state| {
            let comm = state.comm(comm)?;
            let mut message = match comm.rank() == from {
                true => memory::message(comm, place),
                false => memory::room(comm, place),
            };
            comm.bcast(&mut message, from).await?;
            Ok::<_, CallError>((comm.rank() != from).then_some(message))
        })?;
        if let Some(message) = message {
            memory::fill(place, &message, message.len());
        }
        Ok(())
    }

    fn MPI_Reduce(data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, to: c_int, comm: Handle) {
        let kind = Reduction::Root(root(to)?);
        reduce(kind, (data, result), (count, datatype), (op, comm))
    }

    fn MPI_Allreduce(data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) {
        reduce(Reduction::All, (data, result), (count, datatype), (op, comm))
    }

    fn MPI_Scan(data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) {
        reduce(Reduction::Scan, (data, result), (count, datatype), (op, comm))
    }

    fn MPI_Exscan(data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle) {
        reduce(Reduction::Exscan, (data, result), (count, datatype), (op, comm))
    }

    fn MPI_Gather(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, to: c_int, comm: Handle,
    ) {
        let ((rank, size), to) = (ranks(comm)?, root(to)?);
        let given = match data as usize == IN_PLACE {
            true => part(result, (recvcount, recvtype), rank)?,
            false => memory::place(data, sendcount, sendtype)?,
        };
        let gathered = block(async |state| {
            let comm = state.comm(comm)?;
            let message = memory::message(comm, given);
            Ok::<_, CallError>(comm.gather(&message, to).await?)
        })?;
        if let Some(gathered) = gathered {
            let target = whole(result, (recvcount, recvtype), size)?;
            memory::fill(target, &gathered, gathered.len());
        }
        Ok(())
    }

    fn MPI_Gatherv(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle,
        to: c_int, comm: Handle,
    ) {
        let ((rank, size), to) = (ranks(comm)?, root(to)?);
        let gathered = block(async |state| {
            let comm = state.comm(comm)?;
            let places = match rank == to {
                true => Some(placed(result, (counts, displs, recvtype), size)?),
                false => None,
            };
            let given = match &places {
                Some(places) if data as usize == IN_PLACE => places.parts[rank],
                _ => memory::place(data, sendcount, sendtype)?,
            };
            let message = memory::message(comm, given);
            let blocks = places.as_ref().map(|places| &places.packed);
            let gathered = comm.gather_v(&message, blocks, to).await?;
            Ok::<_, CallError>(places.zip(gathered))
        })?;
        if let Some((places, gathered)) = gathered {
            places.fill(&gathered);
        }
        Ok(())
    }

    fn MPI_Scatter(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle,
    ) {
        let ((rank, size), from) = (ranks(comm)?, root(from)?);
        let is_in_place = result as usize == IN_PLACE;
        let target = match is_in_place {
            true => memory::place(data, sendcount, sendtype)?,
            false => memory::place(result, recvcount, recvtype)?,
        };
        let own = block(async |state| {
            let comm = state.comm(comm)?;
            let all = match rank == from {
                true => Some(memory::message(comm, whole(data, (sendcount, sendtype), size)?)),
                false => None,
            };
            let mut own = memory::room(comm, target);
            let scattering = comm.scatter(all.as_ref(), &mut own, from);
            drop(all);
            scattering.await?;
            Ok::<_, CallError>(own)
        })?;
        if !is_in_place {
            memory::fill(target, &own, own.len());
        }
        Ok(())
    }

    fn MPI_Scatterv(
        data: *const c_void, counts: *const c_int, displs: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle,
    ) {
        let ((rank, size), from) = (ranks(comm)?, root(from)?);
        let is_in_place = result as usize == IN_PLACE;
        let own = block(async |state| {
            let comm = state.comm(comm)?;
            let places = match rank == from {
                true => Some(placed(data, (counts, displs, sendtype), size)?),
                false => None,
            };
            let target = match &places {
                Some(places) if is_in_place => places.parts[rank],
                _ => memory::place(result, recvcount, recvtype)?,
            };
            let all = places.as_ref().map(|places| places.message(comm));
            let mut own = memory::room(comm, target);
            let given = all.as_ref().zip(places.as_ref().map(|places| &places.packed));
            comm.scatter_v(given, &mut own, from).await?;
            Ok::<_, CallError>((target, own))
        })?;
        if !is_in_place {
            memory::fill(own.0, &own.1, own.1.len());
        }
        Ok(())
    }

    fn MPI_Allgather(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle,
    ) {
        let (rank, size) = ranks(comm)?;
        let given = match data as usize == IN_PLACE {
            true => part(result, (recvcount, recvtype), rank)?,
            false => memory::place(data, sendcount, sendtype)?,
        };
        let target = whole(result, (recvcount, recvtype), size)?;
        let gathered = block(async |state| {
            let comm = state.comm(comm)?;
            let message = memory::message(comm, given);
            Ok::<_, CallError>(comm.allgather(&message).await?)
        })?;
        memory::fill(target, &gathered, gathered.len());
        Ok(())
    }

    fn MPI_Allgatherv(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle, comm: Handle,
    ) {
        let (rank, size) = ranks(comm)?;
        let (places, gathered) = block(async |state| {
            let comm = state.comm(comm)?;
            let places = placed(result, (counts, displs, recvtype), size)?;
            let given = match data as usize == IN_PLACE {
                true => places.parts[rank],
                false => memory::place(data, sendcount, sendtype)?,
            };
            let message = memory::message(comm, given);
            let gathered = comm.allgather_v(&message, places.packed.clone()).await?;
            Ok::<_, CallError>((places, gathered))
        })?;
        places.fill(&gathered);
        Ok(())
    }

    fn MPI_Alltoall(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle,
    ) {
        let (_, size) = ranks(comm)?;
        let target = whole(result, (recvcount, recvtype), size)?;
        let is_in_place = data as usize == IN_PLACE;
        let given = if is_in_place { target } else { whole(data, (sendcount, sendtype), size)? };
        let exchanged = block(async |state| {
            let comm = state.comm(comm)?;
            let mut message = memory::message(comm, given);
            if is_in_place {
                comm.alltoall_in(&mut message).await?;
                return Ok::<_, CallError>(message);
            }
            let exchange = comm.alltoall(&message);
            drop(message);
            Ok(exchange.await?)
        })?;
        memory::fill(target, &exchanged, exchanged.len());
        Ok(())
    }

    fn MPI_Alltoallv(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Handle,
        comm: Handle,
    ) {
        if data as usize == IN_PLACE {
            return Err(CallError::new("MPI_ERR_ARG", "MPI_IN_PLACE is not supported here"));
        }
        let (_, size) = ranks(comm)?;
        let (places, exchanged) = block(async |state| {
            let comm = state.comm(comm)?;
            let given = placed(data, (sendcounts, sdispls, sendtype), size)?;
            let places = placed(result, (recvcounts, rdispls, recvtype), size)?;
            let message = given.message(comm);
            let exchange = comm.alltoall_v(&message, given.packed.clone(), places.packed.clone());
            Ok::<_, CallError>((places, exchange.await?))
        })?;
        places.fill(&exchanged);
        Ok(())
    }

    fn MPI_Reduce_scatter_block(data: *const c_void, result: *mut c_void, recvcount: c_int, datatype: Handle, op: Handle, comm: Handle) {
        let (_, size) = ranks(comm)?;
        let given = if data as usize == IN_PLACE { result.cast_const() } else { data };
        let given = whole(given, (recvcount, datatype), size)?;
        let target = memory::place(result, recvcount, datatype)?;
        let own = block(async |state| {
            let op = state.op(op, datatype)?;
            let comm = state.comm(comm)?;
            let message = memory::message(comm, given);
            Ok::<_, CallError>(comm.reduce_scatter_block(&message, &op).await?)
        })?;
        memory::fill(target, &own, own.len());
        Ok(())
    }

    fn MPI_Reduce_scatter(data: *const c_void, result: *mut c_void, counts: *const c_int, datatype: Handle, op: Handle, comm: Handle) {
        let (rank, size) = ranks(comm)?;
        let given = if data as usize == IN_PLACE { result.cast_const() } else { data };
        let (target, own) = block(async |state| {
            let (given, target, blocks) = scattered(given, result, (counts, datatype), (rank, size))?;
            let op = state.op(op, datatype)?;
            let comm = state.comm(comm)?;
            let message = memory::message(comm, given);
            let own = comm.reduce_scatter(&message, blocks, &op).await?;
            Ok::<_, CallError>((target, own))
        })?;
        memory::fill(target, &own, own.len());
        Ok(())
    }

    fn MPI_Reduce_local(data: *const c_void, inout: *mut c_void, count: c_int, datatype: Handle, op: Handle) {
        let (given, target) = contribution(data, inout, (count, datatype))?;
        let reduced = with(|state| {
            let op = state.op(op, datatype)?;
            let comm = state.comm(super::WORLD)?;
            let mut reduced = memory::message(comm, target);
            op.reduce_local(&memory::message(comm, given), &mut reduced)?;
            Ok::<_, CallError>(reduced)
        })?;
        memory::fill(target, &reduced, reduced.len());
        Ok(())
    }

    fn MPI_Op_create(function: UserFunction, commute: c_int, op: *mut Handle) {
        let user = UserOp {
            function,
            is_commutative: commute != 0,
        };
        let handle = with(|state| state.ops.insert(user));
        memory::store(op, handle);
        Ok(())
    }

    fn MPI_Op_free(op: *mut Handle) {
        let handle = memory::load(op, "op")?;
        if with(|state| state.ops.remove(handle)).is_none() {
            let text = format!("invalid operation {handle:#x}");
            return Err(CallError::new("MPI_ERR_OP", text));
        }
        // MPI_OP_NULL.
        memory::store(op, 0x20);
        Ok(())
    }

    fn MPI_Op_commutative(op: Handle, commute: *mut c_int) {
        let user = with(|state| state.user_op(op));
        memory::store(commute, user.map_or(1, |user| c_int::from(user.is_commutative)));
        Ok(())
    }
}
