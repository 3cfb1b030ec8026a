//! Collectives that do not wait, and persistent ones (MPI 5.0, sections 6.12 and 6.13).
//!
//! A contribution is copied when the operation starts, a result when it is completed. So
//! `MPI_IN_PLACE` is another place for the contribution.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::{Buffer, Comm, Request};

use super::collectives::{
    IN_PLACE, Listed, contribution, part, placed, ranks, root, scattered, whole,
};
use super::{Handle, State, exports, memory};
use crate::bridge::with;
use crate::errors::CallError;
use crate::handles::{Memory, Parts, Target};

/// A way to begin an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// It is started at once.
    Started,
    /// `MPI_Start` starts it, and it can be started again.
    Persistent,
}

/// Elements of the program: their number and datatype.
type Elements = (c_int, Handle);

/// The contribution and the result of an operation.
type Places = (Vec<Target>, Vec<Target>);

/// Begins an operation and stores its request.
fn begin(
    how: Begin,
    comm: Handle,
    (given, result): Places,
    request: *mut Handle,
    operation: impl FnOnce(&State, &Comm, Buffer) -> Result<Request, CallError>,
) -> Result<(), CallError> {
    let handle = with(|state| {
        let comm = state.comm(comm)?;
        let begun = operation(state, comm, memory::message_of(comm, &given))?;
        let parts = Parts {
            contribution: (how == Begin::Persistent).then_some(given),
            result,
            is_collective: true,
        };
        Ok::<_, CallError>(state.insert(begun, Memory::Parts(Rc::new(parts))))
    })?;
    memory::store(request, handle);
    Ok(())
}

fn barrier(how: Begin, comm: Handle, request: *mut Handle) -> Result<(), CallError> {
    begin(how, comm, Places::default(), request, |_, comm, _| {
        Ok(match how {
            Begin::Started => comm.ibarrier()?,
            Begin::Persistent => comm.barrier_init(),
        })
    })
}

fn bcast(
    how: Begin,
    (buffer, (count, datatype)): (*mut c_void, Elements),
    (from, comm): (c_int, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let (place, from) = (memory::place(buffer, count, datatype)?, root(from)?);
    begin(
        how,
        comm,
        (vec![place], vec![place]),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.ibcast(message, from)?,
                Begin::Persistent => comm.bcast_init(message, from),
            })
        },
    )
}

fn reduce(
    how: Begin,
    to: Option<c_int>,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): Elements,
    (op, comm): (Handle, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let to = to.map(root).transpose()?;
    let (given, target) = contribution(data, result, (count, datatype))?;
    begin(
        how,
        comm,
        (vec![given], vec![target]),
        request,
        |state, comm, message| {
            let op = state.op(op, datatype)?;
            Ok(match (how, to) {
                (Begin::Started, None) => comm.iallreduce(message, &op)?,
                (Begin::Started, Some(to)) => comm.ireduce(message, &op, to)?,
                (Begin::Persistent, None) => comm.allreduce_init(message, &op),
                (Begin::Persistent, Some(to)) => comm.reduce_init(message, &op, to),
            })
        },
    )
}

fn scan(
    how: Begin,
    is_inclusive: bool,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): Elements,
    (op, comm): (Handle, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let (given, target) = contribution(data, result, (count, datatype))?;
    // The first rank of an exclusive one gets no result.
    let has_result = is_inclusive || ranks(comm)?.0 > 0;
    let result = if has_result { vec![target] } else { Vec::new() };
    begin(
        how,
        comm,
        (vec![given], result),
        request,
        |state, comm, message| {
            let op = state.op(op, datatype)?;
            Ok(match (how, is_inclusive) {
                (Begin::Started, true) => comm.iscan(message, &op)?,
                (Begin::Started, false) => comm.iexscan(message, &op)?,
                (Begin::Persistent, true) => comm.scan_init(message, &op),
                (Begin::Persistent, false) => comm.exscan_init(message, &op),
            })
        },
    )
}

fn gather(
    how: Begin,
    (data, (count, datatype)): (*const c_void, Elements),
    (result, elements): (*mut c_void, Elements),
    (to, comm): (c_int, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let ((rank, size), to) = (ranks(comm)?, root(to)?);
    let given = match data as usize == IN_PLACE {
        true => part(result, elements, rank)?,
        false => memory::place(data, count, datatype)?,
    };
    let result = match rank == to {
        true => vec![whole(result, elements, size)?],
        false => Vec::new(),
    };
    begin(
        how,
        comm,
        (vec![given], result),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.igather(message, to)?,
                Begin::Persistent => comm.gather_init(message, to),
            })
        },
    )
}

fn gather_v(
    how: Begin,
    (data, (count, datatype)): (*const c_void, Elements),
    (result, listed): (*mut c_void, Listed),
    (to, comm): (c_int, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let ((rank, size), to) = (ranks(comm)?, root(to)?);
    let places = match rank == to {
        true => Some(placed(result, listed, size)?),
        false => None,
    };
    let given = match &places {
        Some(places) if data as usize == IN_PLACE => places.parts[rank],
        _ => memory::place(data, count, datatype)?,
    };
    let (result, blocks) = places.map(|places| (places.parts, places.packed)).unzip();
    let places = (vec![given], result.unwrap_or_default());
    begin(how, comm, places, request, |_, comm, message| {
        Ok(match how {
            Begin::Started => comm.igather_v(message, blocks.as_ref(), to)?,
            Begin::Persistent => comm.gather_v_init(message, blocks.as_ref(), to),
        })
    })
}

fn scatter(
    how: Begin,
    (data, (count, datatype)): (*const c_void, Elements),
    (result, elements): (*mut c_void, Elements),
    (from, comm): (c_int, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let ((rank, size), from) = (ranks(comm)?, root(from)?);
    let is_in_place = result as usize == IN_PLACE;
    let target = match is_in_place {
        true => memory::place(data, count, datatype)?,
        false => memory::place(result, elements.0, elements.1)?,
    };
    let given = match rank == from {
        true => vec![whole(data, (count, datatype), size)?],
        false => Vec::new(),
    };
    let result = if is_in_place {
        Vec::new()
    } else {
        vec![target]
    };
    begin(how, comm, (given, result), request, |_, comm, message| {
        let own = memory::room(comm, target);
        let all = (rank == from).then_some(message);
        Ok(match how {
            Begin::Started => comm.iscatter(all, own, from)?,
            Begin::Persistent => comm.scatter_init(all, own, from)?,
        })
    })
}

fn scatter_v(
    how: Begin,
    (data, listed): (*const c_void, Listed),
    (result, (count, datatype)): (*mut c_void, Elements),
    (from, comm): (c_int, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let ((rank, size), from) = (ranks(comm)?, root(from)?);
    let is_in_place = result as usize == IN_PLACE;
    let places = match rank == from {
        true => Some(placed(data, listed, size)?),
        false => None,
    };
    let target = match &places {
        Some(places) if is_in_place => places.parts[rank],
        _ => memory::place(result, count, datatype)?,
    };
    let (given, blocks) = places.map(|places| (places.parts, places.packed)).unzip();
    let result = if is_in_place {
        Vec::new()
    } else {
        vec![target]
    };
    begin(
        how,
        comm,
        (given.unwrap_or_default(), result),
        request,
        |_, comm, message| {
            let own = memory::room(comm, target);
            let all = blocks.map(|blocks| (message, blocks));
            Ok(match how {
                Begin::Started => comm.iscatter_v(all, own, from)?,
                Begin::Persistent => comm.scatter_v_init(all, own, from)?,
            })
        },
    )
}

fn allgather(
    how: Begin,
    (data, (count, datatype)): (*const c_void, Elements),
    (result, elements): (*mut c_void, Elements),
    comm: Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    let (rank, size) = ranks(comm)?;
    let given = match data as usize == IN_PLACE {
        true => part(result, elements, rank)?,
        false => memory::place(data, count, datatype)?,
    };
    let target = whole(result, elements, size)?;
    begin(
        how,
        comm,
        (vec![given], vec![target]),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.iallgather(message)?,
                Begin::Persistent => comm.allgather_init(message),
            })
        },
    )
}

fn allgather_v(
    how: Begin,
    (data, (count, datatype)): (*const c_void, Elements),
    (result, listed): (*mut c_void, Listed),
    comm: Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    let (rank, size) = ranks(comm)?;
    let places = placed(result, listed, size)?;
    let given = match data as usize == IN_PLACE {
        true => places.parts[rank],
        false => memory::place(data, count, datatype)?,
    };
    let blocks = places.packed;
    begin(
        how,
        comm,
        (vec![given], places.parts),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.iallgather_v(message, blocks)?,
                Begin::Persistent => comm.allgather_v_init(message, blocks),
            })
        },
    )
}

fn alltoall(
    how: Begin,
    (data, elements): (*const c_void, Elements),
    (result, received): (*mut c_void, Elements),
    comm: Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let target = whole(result, received, size)?;
    let given = match data as usize == IN_PLACE {
        true => target,
        false => whole(data, elements, size)?,
    };
    begin(
        how,
        comm,
        (vec![given], vec![target]),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.ialltoall(message)?,
                Begin::Persistent => comm.alltoall_init(message),
            })
        },
    )
}

fn alltoall_v(
    how: Begin,
    (data, sent): (*const c_void, Listed),
    (result, received): (*mut c_void, Listed),
    comm: Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let places = placed(result, received, size)?;
    let given = match data as usize == IN_PLACE {
        true => placed(result, received, size)?,
        false => placed(data, sent, size)?,
    };
    let (send, receive) = (given.packed, places.packed);
    begin(
        how,
        comm,
        (given.parts, places.parts),
        request,
        |_, comm, message| {
            Ok(match how {
                Begin::Started => comm.ialltoall_v(message, send, receive)?,
                Begin::Persistent => comm.alltoall_v_init(message, send, receive),
            })
        },
    )
}

fn reduce_scatter_block(
    how: Begin,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): Elements,
    (op, comm): (Handle, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let given = if data as usize == IN_PLACE {
        result.cast_const()
    } else {
        data
    };
    let given = whole(given, (count, datatype), size)?;
    let target = memory::place(result, count, datatype)?;
    begin(
        how,
        comm,
        (vec![given], vec![target]),
        request,
        |state, comm, message| {
            let op = state.op(op, datatype)?;
            Ok(match how {
                Begin::Started => comm.ireduce_scatter_block(message, &op)?,
                Begin::Persistent => comm.reduce_scatter_block_init(message, &op),
            })
        },
    )
}

fn reduce_scatter(
    how: Begin,
    (data, result): (*const c_void, *mut c_void),
    (counts, datatype): (*const c_int, Handle),
    (op, comm): (Handle, Handle),
    request: *mut Handle,
) -> Result<(), CallError> {
    let given = if data as usize == IN_PLACE {
        result.cast_const()
    } else {
        data
    };
    let (given, target, blocks) = scattered(given, result, (counts, datatype), ranks(comm)?)?;
    begin(
        how,
        comm,
        (vec![given], vec![target]),
        request,
        |state, comm, message| {
            let op = state.op(op, datatype)?;
            Ok(match how {
                Begin::Started => comm.ireduce_scatter(message, blocks, &op)?,
                Begin::Persistent => comm.reduce_scatter_init(message, blocks, &op),
            })
        },
    )
}

exports! {
    fn MPI_Ibarrier(
        comm: Handle, request: *mut Handle
    ) {
        barrier(Begin::Started, comm, request)
    }

    fn MPI_Barrier_init(
        comm: Handle, _info: Handle, request: *mut Handle
    ) {
        barrier(Begin::Persistent, comm, request)
    }

    fn MPI_Ibcast(
        buffer: *mut c_void, count: c_int, datatype: Handle, from: c_int, comm: Handle, request: *mut Handle
    ) {
        bcast(Begin::Started, (buffer, (count, datatype)), (from, comm), request)
    }

    fn MPI_Bcast_init(
        buffer: *mut c_void, count: c_int, datatype: Handle, from: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        bcast(Begin::Persistent, (buffer, (count, datatype)), (from, comm), request)
    }

    fn MPI_Ireduce(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, to: c_int, comm: Handle, request: *mut Handle
    ) {
        reduce(Begin::Started, Some(to), (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Reduce_init(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, to: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        reduce(Begin::Persistent, Some(to), (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Iallreduce(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, request: *mut Handle
    ) {
        reduce(Begin::Started, None, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Allreduce_init(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        reduce(Begin::Persistent, None, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Iscan(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, request: *mut Handle
    ) {
        scan(Begin::Started, true, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Scan_init(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        scan(Begin::Persistent, true, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Iexscan(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, request: *mut Handle
    ) {
        scan(Begin::Started, false, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Exscan_init(
        data: *const c_void, result: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        scan(Begin::Persistent, false, (data, result), (count, datatype), (op, comm), request)
    }

    fn MPI_Igather(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, to: c_int, comm: Handle, request: *mut Handle
    ) {
        gather(Begin::Started, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (to, comm), request)
    }

    fn MPI_Gather_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, to: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        gather(Begin::Persistent, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (to, comm), request)
    }

    fn MPI_Igatherv(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle,
        to: c_int, comm: Handle, request: *mut Handle
    ) {
        gather_v(Begin::Started, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), (to, comm), request)
    }

    fn MPI_Gatherv_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle,
        to: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        gather_v(Begin::Persistent, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), (to, comm), request)
    }

    fn MPI_Iscatter(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle, request: *mut Handle
    ) {
        scatter(Begin::Started, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (from, comm), request)
    }

    fn MPI_Scatter_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        scatter(Begin::Persistent, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (from, comm), request)
    }

    fn MPI_Iscatterv(
        data: *const c_void, counts: *const c_int, displs: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle, request: *mut Handle
    ) {
        scatter_v(Begin::Started, (data, (counts, displs, sendtype)), (result, (recvcount, recvtype)), (from, comm), request)
    }

    fn MPI_Scatterv_init(
        data: *const c_void, counts: *const c_int, displs: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, from: c_int, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        scatter_v(Begin::Persistent, (data, (counts, displs, sendtype)), (result, (recvcount, recvtype)), (from, comm), request)
    }

    fn MPI_Iallgather(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle, request: *mut Handle
    ) {
        allgather(Begin::Started, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm, request)
    }

    fn MPI_Allgather_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        allgather(Begin::Persistent, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm, request)
    }

    fn MPI_Iallgatherv(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle, comm: Handle, request: *mut Handle
    ) {
        allgather_v(Begin::Started, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), comm, request)
    }

    fn MPI_Allgatherv_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, counts: *const c_int, displs: *const c_int, recvtype: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        allgather_v(Begin::Persistent, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), comm, request)
    }

    fn MPI_Ialltoall(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle, request: *mut Handle
    ) {
        alltoall(Begin::Started, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm, request)
    }

    fn MPI_Alltoall_init(
        data: *const c_void, sendcount: c_int, sendtype: Handle,
        result: *mut c_void, recvcount: c_int, recvtype: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        alltoall(Begin::Persistent, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm, request)
    }

    fn MPI_Ialltoallv(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Handle,
        comm: Handle, request: *mut Handle
    ) {
        alltoall_v(Begin::Started, (data, (sendcounts, sdispls, sendtype)), (result, (recvcounts, rdispls, recvtype)), comm, request)
    }

    fn MPI_Alltoallv_init(
        data: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Handle,
        result: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Handle,
        comm: Handle, _info: Handle, request: *mut Handle
    ) {
        alltoall_v(Begin::Persistent, (data, (sendcounts, sdispls, sendtype)), (result, (recvcounts, rdispls, recvtype)), comm, request)
    }

    fn MPI_Ireduce_scatter_block(
        data: *const c_void, result: *mut c_void, recvcount: c_int, datatype: Handle, op: Handle, comm: Handle, request: *mut Handle
    ) {
        reduce_scatter_block(Begin::Started, (data, result), (recvcount, datatype), (op, comm), request)
    }

    fn MPI_Reduce_scatter_block_init(
        data: *const c_void, result: *mut c_void, recvcount: c_int, datatype: Handle, op: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        reduce_scatter_block(Begin::Persistent, (data, result), (recvcount, datatype), (op, comm), request)
    }

    fn MPI_Ireduce_scatter(
        data: *const c_void, result: *mut c_void, counts: *const c_int, datatype: Handle, op: Handle, comm: Handle, request: *mut Handle
    ) {
        reduce_scatter(Begin::Started, (data, result), (counts, datatype), (op, comm), request)
    }

    fn MPI_Reduce_scatter_init(
        data: *const c_void, result: *mut c_void, counts: *const c_int, datatype: Handle, op: Handle, comm: Handle, _info: Handle, request: *mut Handle
    ) {
        reduce_scatter(Begin::Persistent, (data, result), (counts, datatype), (op, comm), request)
    }
}
