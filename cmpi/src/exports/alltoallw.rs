//! Exchanges of blocks with datatypes of their own (MPI 5.0, section 6.9).
//!
//! Blocks are packed here, as bytes, and unpacked when the exchange is completed.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::Datatype;

use super::collectives::{IN_PLACE, ranks};
use super::{Handle, exports, memory};
use crate::bridge::{block, with};
use crate::errors::CallError;
use crate::handles::{Memory, Parts, Target};

/// Counts, displacements in bytes and datatypes of the blocks of all ranks.
type Listed = (*const c_int, *const c_int, *const Handle);

/// The blocks of all ranks, one behind the other: number of bytes, displacement, type of a byte.
type Packed = Vec<(u64, u64, Datatype)>;

fn placed(
    address: *const c_void,
    (counts, displacements, types): Listed,
    ranks: usize,
) -> Result<Vec<Target>, CallError> {
    let place = |rank: usize| {
        let count = memory::load(counts.wrapping_add(rank), "counts")?;
        let displacement = memory::load(displacements.wrapping_add(rank), "displs")?;
        let datatype = memory::load(types.wrapping_add(rank), "types")?;
        let mut place = memory::place(address, count, datatype)?;
        place.address = place.address.wrapping_add_signed(displacement as isize);
        Ok(place)
    };
    (0..ranks).map(place).collect()
}

fn packed(parts: &[Target]) -> Packed {
    let mut offset = 0;
    let block = |part: &Target| {
        let length = part.length as u64;
        offset += length;
        (length, offset - length, Datatype::bytes(1))
    };
    parts.iter().map(block).collect()
}

fn length(parts: &[Target]) -> u64 {
    parts.iter().map(|part| part.length as u64).sum()
}

/// Returns the blocks that are sent and those that are received.
fn both(
    (data, sent): (*const c_void, Listed),
    (result, received): (*mut c_void, Listed),
    size: usize,
) -> Result<[Vec<Target>; 2], CallError> {
    let received = placed(result, received, size)?;
    let given = match data as usize == IN_PLACE {
        true => received.clone(),
        false => placed(data, sent, size)?,
    };
    Ok([given, received])
}

fn begin(
    is_persistent: bool,
    comm: Handle,
    [given, received]: [Vec<Target>; 2],
    request: *mut Handle,
) -> Result<(), CallError> {
    let handle = with(|state| {
        let comm = state.comm(comm)?;
        let (message, room) = (
            memory::message_of(comm, &given),
            comm.buffer(length(&received)),
        );
        let (send, receive) = (packed(&given), packed(&received));
        let begun = match is_persistent {
            false => comm.ialltoall_w(message, &send, room, &receive)?,
            true => comm.alltoall_w_init(message, &send, room, &receive)?,
        };
        let parts = Parts {
            contribution: is_persistent.then_some(given),
            result: received,
            is_collective: true,
        };
        Ok::<_, CallError>(state.insert(begun, Memory::Parts(Rc::new(parts))))
    })?;
    memory::store(request, handle);
    Ok(())
}

exports! {
    fn MPI_Alltoallw(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Handle,
        comm: Handle,
    ) {
        let sent = (data, (sendcounts, sdispls, sendtypes));
        let received = (result, (recvcounts, rdispls, recvtypes));
        let (_, size) = ranks(comm)?;
        let (received, message) = block(async |state| {
            let [given, received] = both(sent, received, size)?;
            let comm = state.comm(comm)?;
            let message = memory::message_of(comm, &given);
            let mut room = comm.buffer(length(&received));
            comm.alltoall_w(&message, &packed(&given), &mut room, &packed(&received)).await?;
            Ok::<_, CallError>((received, room))
        })?;
        memory::fill_parts(&received, &message);
        Ok(())
    }

    fn MPI_Ialltoallw(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Handle,
        comm: Handle, request: *mut Handle,
    ) {
        let sent = (data, (sendcounts, sdispls, sendtypes));
        let received = (result, (recvcounts, rdispls, recvtypes));
        begin(false, comm, both(sent, received, ranks(comm)?.1)?, request)
    }

    fn MPI_Alltoallw_init(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Handle,
        comm: Handle, _info: Handle, request: *mut Handle,
    ) {
        let sent = (data, (sendcounts, sdispls, sendtypes));
        let received = (result, (recvcounts, rdispls, recvtypes));
        begin(true, comm, both(sent, received, ranks(comm)?.1)?, request)
    }
}
