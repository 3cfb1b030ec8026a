//! Collectives (MPI 5.0, chapter 6), with the collectives of the message layer. Each is prepared in
//! the same way for the blocking, the nonblocking and the persistent form.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::{Blocks, Graph, InterRoot, prelude::*};

use super::memory::{self, is_in_place};
use crate::arguments::{Count, PROC_NULL_IN_C, natural};
use crate::bridge::with_state;
use crate::errors::CallError;
use crate::handles::Target;
use crate::state::Handle;

mod forms;
mod own_arguments;

use forms::{ByteBlocks, Bytes, CollectiveOperation, Exchange, Form, Prepared, perform};

/// `MPI_ROOT`.
const ROOT: c_int = -4;

/// Elements of the program: their number and datatype.
type Elements<N> = (N, Handle);

/// Counts and displacements of blocks in elements, and their datatype.
type Listed<N> = (*const N, *const N, Handle);

/// Counts of blocks in elements, displacements in bytes, and datatypes.
type ListedTypes<N, D> = (*const N, *const D, *const Handle);

/// Returns `count` elements that begin `blocks` blocks of as many elements behind an address.
fn block_place(
    address: *const c_void,
    (count, datatype): Elements<impl Count>,
    blocks: usize,
) -> Result<Target, CallError> {
    let mut place = memory::elements_at(address, count, datatype)?;
    let elements = natural(count, "count", "MPI_ERR_COUNT")?;
    let distance = (blocks * elements)
        .cast_signed()
        .wrapping_mul(place.element.extent);
    place.address = place.address.wrapping_add_signed(distance);
    Ok(place)
}

/// Returns the places of blocks of all ranks.
fn all_blocks_place(
    address: *const c_void,
    (count, datatype): Elements<impl Count>,
    ranks: usize,
) -> Result<Target, CallError> {
    let mut place = memory::elements_at(address, count, datatype)?;
    place.length *= ranks;
    Ok(place)
}

/// Returns the rank of the caller, and the number of ranks with which the caller exchanges blocks.
fn ranks(comm: Handle) -> Result<(usize, usize), CallError> {
    with_state(|state| state.peers(comm).map(|comm| (comm.rank(), comm.size())))
}

/// Returns the rank of the caller, and the number of ranks in the group of the caller.
fn own_ranks(comm: Handle) -> Result<(usize, usize), CallError> {
    with_state(|state| state.comm(comm).map(|comm| (comm.rank(), comm.size())))
}

/// Returns the places of blocks.
fn placed<N: Count>(
    address: *const c_void,
    (counts, displacements, datatype): Listed<N>,
    number: usize,
) -> Result<Vec<Target>, CallError> {
    let place = |index: usize| {
        let count = memory::load(counts.wrapping_add(index), "counts")?;
        let displacement: i64 = memory::load(displacements.wrapping_add(index), "displs")?.into();
        let mut place = memory::elements_at(address, count, datatype)?;
        let distance = (displacement as isize).wrapping_mul(place.element.extent);
        place.address = place.address.wrapping_add_signed(distance);
        Ok(place)
    };
    (0..number).map(place).collect()
}

/// Returns the places of blocks with datatypes of their own.
fn placed_types<N: Count, D: Count>(
    address: *const c_void,
    (counts, displacements, types): ListedTypes<N, D>,
    number: usize,
) -> Result<Vec<Target>, CallError> {
    let place = |index: usize| {
        let count = memory::load(counts.wrapping_add(index), "counts")?;
        let displacement: i64 = memory::load(displacements.wrapping_add(index), "displs")?.into();
        let datatype = memory::load(types.wrapping_add(index), "types")?;
        let mut place = memory::place_or_null(address, count, datatype)?;
        place.address = place.address.wrapping_add_signed(displacement as isize);
        Ok(place)
    };
    (0..number).map(place).collect()
}

/// Returns blocks as they are in a message, one behind the other.
fn packed(parts: &[Target]) -> Blocks {
    Blocks::packed(parts.iter().map(|part| part.length as u64))
}

/// Returns the same as bytes.
fn blocks_as_bytes(parts: &[Target]) -> Bytes {
    let mut offset = 0;
    let block = |part: &Target| {
        let length = part.length as u64;
        offset += length;
        (length, offset - length, Datatype::bytes(1))
    };
    parts.iter().map(block).collect()
}

fn byte_blocks(given: &[Target], result: &[Target]) -> ByteBlocks {
    ByteBlocks {
        send: blocks_as_bytes(given),
        receive: blocks_as_bytes(result),
        room: result.iter().map(|part| part.length as u64).sum(),
    }
}

/// Part of a rank in an operation with a root.
#[derive(Clone, Copy)]
struct Role {
    root: InterRoot,
    is_root: bool,
    /// True if the rank takes part as a non-root does; in one group also true at the root.
    is_member: bool,
}

fn role(root: c_int, comm: Handle) -> Result<Role, CallError> {
    let (rank, is_between) = with_state(|state| {
        let rank = state.comm(comm)?.rank();
        Ok::<_, CallError>((rank, state.comms.between.contains_key(&comm)))
    })?;
    let outside = |root| Role {
        root,
        is_root: root == InterRoot::Root,
        is_member: false,
    };
    match root {
        ROOT if is_between => return Ok(outside(InterRoot::Root)),
        PROC_NULL_IN_C if is_between => return Ok(outside(InterRoot::Null)),
        _ => {}
    }
    let root = natural(root, "root", "MPI_ERR_ROOT")?;
    Ok(Role {
        root: InterRoot::Remote(root),
        is_root: rank == root && !is_between,
        is_member: true,
    })
}

/// Returns a list with the value if this rank has the value, else an empty list.
fn only<T>(has: bool, place: impl FnOnce() -> Result<T, CallError>) -> Result<Vec<T>, CallError> {
    has.then(place).into_iter().collect()
}

fn bcast(
    form: Form,
    (buffer, count, datatype): (*mut c_void, impl Count, Handle),
    (from, comm): (c_int, Handle),
) -> Result<(), CallError> {
    let role = role(from, comm)?;
    let place = match role.root {
        // Its other arguments say nothing.
        InterRoot::Null => Target::default(),
        _ => memory::place_or_null(buffer, count, datatype)?,
    };
    let prepared = Prepared {
        in_place: false,
        given: only(role.is_root, || Ok(place))?,
        result: only(role.is_member && !role.is_root, || Ok(place))?,
        operation: CollectiveOperation::Bcast(role.root, place),
    };
    perform(form, comm, prepared)
}

/// A reduction of contributions to results of the same length.
#[derive(Clone, Copy)]
enum ReductionKind {
    All,
    Root(c_int),
    Scan,
    Exscan,
}

fn reduce(
    form: Form,
    kind: ReductionKind,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): Elements<impl Count>,
    (op, comm): (Handle, Handle),
) -> Result<(), CallError> {
    let (rank, _) = ranks(comm)?;
    let op = with_state(|state| state.op(op, datatype))?;
    let is_rooted = matches!(kind, ReductionKind::Root(_));
    let (operation, gives, has_result) = match kind {
        ReductionKind::All => (CollectiveOperation::Allreduce(op), true, true),
        ReductionKind::Root(to) => {
            let role = role(to, comm)?;
            let operation = CollectiveOperation::Reduce(op, role.root);
            (operation, role.is_member, role.is_root)
        }
        ReductionKind::Scan => (CollectiveOperation::Scan(op), true, true),
        ReductionKind::Exscan => (CollectiveOperation::Exscan(op), true, rank > 0),
    };
    let data_place = || match is_in_place(data) && (has_result || !is_rooted) {
        true => memory::elements_at(result, count, datatype),
        false => memory::elements_at(data, count, datatype),
    };
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: only(gives, data_place)?,
        result: only(has_result, || memory::elements_at(result, count, datatype))?,
        operation,
    };
    perform(form, comm, prepared)
}

fn gather<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    (to, comm): (c_int, Handle),
) -> Result<(), CallError> {
    let ((rank, size), role) = (ranks(comm)?, role(to, comm)?);
    let given = || match role.is_root && is_in_place(data) {
        true => block_place(result, received, rank),
        false => memory::elements_at(data, sent.0, sent.1),
    };
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: only(role.is_member, given)?,
        result: only(role.is_root, || all_blocks_place(result, received, size))?,
        operation: CollectiveOperation::Gather(role.root),
    };
    perform(form, comm, prepared)
}

fn gather_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Listed<N>),
    (to, comm): (c_int, Handle),
) -> Result<(), CallError> {
    let ((rank, size), role) = (ranks(comm)?, role(to, comm)?);
    let result = match role.is_root {
        true => placed(result, received, size)?,
        false => Vec::new(),
    };
    let given = || match role.is_root && is_in_place(data) {
        true => Ok(result[rank]),
        false => memory::elements_at(data, sent.0, sent.1),
    };
    let given = only(role.is_member, given)?;
    let blocks = role.is_root.then(|| packed(&result));
    let prepared = Prepared {
        in_place: is_in_place(data),
        given,
        result,
        operation: CollectiveOperation::GatherV(blocks, role.root),
    };
    perform(form, comm, prepared)
}

fn scatter<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    (from, comm): (c_int, Handle),
) -> Result<(), CallError> {
    let ((_, size), role) = (ranks(comm)?, role(from, comm)?);
    let is_in_place = role.is_root && is_in_place(result);
    let target = || match is_in_place {
        true => memory::elements_at(data, sent.0, sent.1),
        false => memory::elements_at(result, received.0, received.1),
    };
    let mut target = only(role.is_member, target)?;
    let place = target.first().copied().unwrap_or_default();
    if is_in_place {
        target.clear();
    }
    let prepared = Prepared {
        in_place: is_in_place,
        given: only(role.is_root, || all_blocks_place(data, sent, size))?,
        result: target,
        operation: CollectiveOperation::Scatter(role.root, place, role.is_root),
    };
    perform(form, comm, prepared)
}

fn scatter_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Listed<N>),
    (result, received): (*mut c_void, Elements<N>),
    (from, comm): (c_int, Handle),
) -> Result<(), CallError> {
    let ((rank, size), role) = (ranks(comm)?, role(from, comm)?);
    let is_in_place = role.is_root && is_in_place(result);
    let given = match role.is_root {
        true => placed(data, sent, size)?,
        false => Vec::new(),
    };
    let target = || match is_in_place {
        true => Ok(given[rank]),
        false => memory::elements_at(result, received.0, received.1),
    };
    let mut target = only(role.is_member, target)?;
    let place = target.first().copied().unwrap_or_default();
    if is_in_place {
        target.clear();
    }
    let blocks = role.is_root.then(|| packed(&given));
    let prepared = Prepared {
        in_place: is_in_place,
        given,
        result: target,
        operation: CollectiveOperation::ScatterV(role.root, place, blocks),
    };
    perform(form, comm, prepared)
}

fn allgather<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let (rank, size) = ranks(comm)?;
    let given = match is_in_place(data) {
        true => block_place(result, received, rank)?,
        false => memory::elements_at(data, sent.0, sent.1)?,
    };
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: vec![given],
        result: vec![all_blocks_place(result, received, size)?],
        operation: CollectiveOperation::Allgather,
    };
    perform(form, comm, prepared)
}

fn allgather_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Listed<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let (rank, size) = ranks(comm)?;
    let result = placed(result, received, size)?;
    let given = match is_in_place(data) {
        true => result[rank],
        false => memory::elements_at(data, sent.0, sent.1)?,
    };
    let operation = CollectiveOperation::AllgatherV(packed(&result));
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: vec![given],
        result,
        operation,
    };
    perform(form, comm, prepared)
}

fn alltoall<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let target = all_blocks_place(result, received, size)?;
    let is_waiting = matches!(form, Form::Waiting);
    let (given, operation) = match is_in_place(data) {
        true if is_waiting => (target, CollectiveOperation::AlltoallInPlace),
        true => (target, CollectiveOperation::Alltoall),
        false => (
            all_blocks_place(data, sent, size)?,
            CollectiveOperation::Alltoall,
        ),
    };
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: vec![given],
        result: vec![target],
        operation,
    };
    perform(form, comm, prepared)
}

fn alltoall_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Listed<N>),
    (result, received): (*mut c_void, Listed<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let result = placed(result, received, size)?;
    let given = match is_in_place(data) {
        true => result.clone(),
        false => placed(data, sent, size)?,
    };
    let operation = CollectiveOperation::AlltoallV(packed(&given), packed(&result));
    let prepared = Prepared {
        in_place: is_in_place(data),
        given,
        result,
        operation,
    };
    perform(form, comm, prepared)
}

fn alltoall_w<N: Count>(
    form: Form,
    (data, sent): (*const c_void, ListedTypes<N, N>),
    (result, received): (*mut c_void, ListedTypes<N, N>),
    comm: Handle,
) -> Result<(), CallError> {
    let (_, size) = ranks(comm)?;
    let result = placed_types(result, received, size)?;
    let given = match is_in_place(data) {
        true => result.clone(),
        false => placed_types(data, sent, size)?,
    };
    let operation = CollectiveOperation::AlltoallW(byte_blocks(&given, &result));
    let prepared = Prepared {
        in_place: is_in_place(data),
        given,
        result,
        operation,
    };
    perform(form, comm, prepared)
}

fn reduce_scatter_block(
    form: Form,
    (data, result): (*const c_void, *mut c_void),
    (count, datatype): Elements<impl Count>,
    (op, comm): (Handle, Handle),
) -> Result<(), CallError> {
    let size = own_ranks(comm)?.1;
    let given = if is_in_place(data) {
        result
    } else {
        data.cast_mut()
    };
    let op = with_state(|state| state.op(op, datatype))?;
    let prepared = Prepared {
        in_place: is_in_place(data),
        given: vec![all_blocks_place(given, (count, datatype), size)?],
        result: vec![memory::elements_at(result, count, datatype)?],
        operation: CollectiveOperation::ReduceScatterBlock(op),
    };
    perform(form, comm, prepared)
}

fn reduce_scatter<N: Count>(
    form: Form,
    (data, result): (*const c_void, *mut c_void),
    (counts, datatype): (*const N, Handle),
    (op, comm): (Handle, Handle),
) -> Result<(), CallError> {
    let (rank, size) = own_ranks(comm)?;
    let in_place = is_in_place(data);
    let data = if in_place { result.cast_const() } else { data };
    let mut parts = Vec::with_capacity(size);
    for rank in 0..size {
        let count = memory::load(counts.wrapping_add(rank), "recvcounts")?;
        parts.push(memory::elements_at(data, count, datatype)?);
    }
    let mut given = memory::elements_at(data, 0, datatype)?;
    given.length = parts.iter().map(|part| part.length).sum();
    let mut target = memory::elements_at(result, 0, datatype)?;
    target.length = parts[rank].length;
    let op = with_state(|state| state.op(op, datatype))?;
    let prepared = Prepared {
        in_place,
        given: vec![given],
        result: vec![target],
        operation: CollectiveOperation::ReduceScatter(packed(&parts), op),
    };
    perform(form, comm, prepared)
}

fn graph(comm: Handle) -> Result<Graph, CallError> {
    with_state(|state| Ok(state.topology(comm)?.graph().clone()))
}

/// Returns the places of the blocks of neighbours. The block of a null process gets no place, so
/// the memory stays unchanged.
fn of_neighbors(mut parts: Vec<Target>, graph: &Graph) -> Vec<Target> {
    for (part, source) in parts.iter_mut().zip(graph.sources()) {
        if source == PROC_NULL {
            *part = Target::nowhere(part.length);
        }
    }
    parts
}

/// Returns the places of the equal blocks of neighbours.
fn parts_of_neighbors(
    result: *const c_void,
    received: Elements<impl Count>,
    graph: &Graph,
) -> Result<Vec<Target>, CallError> {
    let number = graph.sources().len();
    let parts: Result<_, CallError> = (0..number)
        .map(|at| block_place(result, received, at))
        .collect();
    Ok(of_neighbors(parts?, graph))
}

/// Returns the length of equal blocks of neighbours in bytes, 0 if there is no neighbour.
fn block_length(blocks: &[Target]) -> u64 {
    blocks.first().map_or(0, |block| block.length as u64)
}

fn neighbor_allgather<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let graph = graph(comm)?;
    let result = parts_of_neighbors(result, received, &graph)?;
    let exchange = Exchange::Allgather(block_length(&result));
    let prepared = Prepared {
        in_place: false,
        given: vec![memory::elements_at(data, sent.0, sent.1)?],
        result,
        operation: CollectiveOperation::Neighbors(graph, exchange),
    };
    perform(form, comm, prepared)
}

fn neighbor_allgather_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Listed<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let graph = graph(comm)?;
    let result = placed(result, received, graph.sources().len())?;
    let result = of_neighbors(result, &graph);
    let operation = CollectiveOperation::Neighbors(graph, Exchange::AllgatherV(packed(&result)));
    let prepared = Prepared {
        in_place: false,
        given: vec![memory::elements_at(data, sent.0, sent.1)?],
        result,
        operation,
    };
    perform(form, comm, prepared)
}

fn neighbor_alltoall<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Elements<N>),
    (result, received): (*mut c_void, Elements<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let graph = graph(comm)?;
    let given = all_blocks_place(data, sent, graph.destinations().len())?;
    let result = parts_of_neighbors(result, received, &graph)?;
    let exchange = Exchange::Alltoall(block_length(&result));
    let prepared = Prepared {
        in_place: false,
        given: vec![given],
        result,
        operation: CollectiveOperation::Neighbors(graph, exchange),
    };
    perform(form, comm, prepared)
}

fn neighbor_alltoall_v<N: Count>(
    form: Form,
    (data, sent): (*const c_void, Listed<N>),
    (result, received): (*mut c_void, Listed<N>),
    comm: Handle,
) -> Result<(), CallError> {
    let graph = graph(comm)?;
    let given = placed(data, sent, graph.destinations().len())?;
    let result = placed(result, received, graph.sources().len())?;
    let result = of_neighbors(result, &graph);
    let exchange = Exchange::AlltoallV(packed(&given), packed(&result));
    let prepared = Prepared {
        in_place: false,
        given,
        result,
        operation: CollectiveOperation::Neighbors(graph, exchange),
    };
    perform(form, comm, prepared)
}

fn neighbor_alltoall_w<N: Count>(
    form: Form,
    (data, sent): (*const c_void, ListedTypes<N, i64>),
    (result, received): (*mut c_void, ListedTypes<N, i64>),
    comm: Handle,
) -> Result<(), CallError> {
    let graph = graph(comm)?;
    let given = placed_types(data, sent, graph.destinations().len())?;
    let result = placed_types(result, received, graph.sources().len())?;
    let result = of_neighbors(result, &graph);
    let exchange = Exchange::AlltoallW(byte_blocks(&given, &result));
    let prepared = Prepared {
        in_place: false,
        given,
        result,
        operation: CollectiveOperation::Neighbors(graph, exchange),
    };
    perform(form, comm, prepared)
}

/// Exports the three forms of collectives, of the arguments that they have in common. `<N>` is the
/// type of counts.
macro_rules! collectives {
    ($($wait:ident, $start:ident, $init:ident $(<$count:ident>)?
        ($($argument:ident: $kind:ty),*; $comm:ident) $perform:expr;)*) => {
        exports! {
            $(
                fn $wait $(<$count>)? ($($argument: $kind,)* $comm: Handle) {
                    $perform(Form::Waiting)
                }

                fn $start $(<$count>)? ($($argument: $kind,)* $comm: Handle, request: *mut Handle) {
                    $perform(Form::Started(request))
                }

                fn $init $(<$count>)? ($($argument: $kind,)* $comm: Handle, _info: Handle, request: *mut Handle) {
                    $perform(Form::Persistent(request))
                }
            )*
        }
    };
}

collectives! {
    MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init(; comm) |form| {
        let prepared = Prepared {
            in_place: false,
            given: Vec::new(),
            result: Vec::new(),
            operation: CollectiveOperation::Barrier,
        };
        perform(form, comm, prepared)
    };

    MPI_Bcast, MPI_Ibcast, MPI_Bcast_init<N>(
        buffer: *mut c_void, count: N, datatype: Handle, from: c_int; comm
    ) |form| bcast(form, (buffer, count, datatype), (from, comm));

    MPI_Reduce, MPI_Ireduce, MPI_Reduce_init<N>(
        data: *const c_void, result: *mut c_void, count: N, datatype: Handle, op: Handle, to: c_int; comm
    ) |form| reduce(form, ReductionKind::Root(to), (data, result), (count, datatype), (op, comm));

    MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init<N>(
        data: *const c_void, result: *mut c_void, count: N, datatype: Handle, op: Handle; comm
    ) |form| reduce(form, ReductionKind::All, (data, result), (count, datatype), (op, comm));

    MPI_Scan, MPI_Iscan, MPI_Scan_init<N>(
        data: *const c_void, result: *mut c_void, count: N, datatype: Handle, op: Handle; comm
    ) |form| reduce(form, ReductionKind::Scan, (data, result), (count, datatype), (op, comm));

    MPI_Exscan, MPI_Iexscan, MPI_Exscan_init<N>(
        data: *const c_void, result: *mut c_void, count: N, datatype: Handle, op: Handle; comm
    ) |form| reduce(form, ReductionKind::Exscan, (data, result), (count, datatype), (op, comm));

    MPI_Gather, MPI_Igather, MPI_Gather_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle, to: c_int; comm
    ) |form| gather(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (to, comm));

    MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, counts: *const N, displs: *const N, recvtype: Handle, to: c_int; comm
    ) |form| gather_v(form, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), (to, comm));

    MPI_Scatter, MPI_Iscatter, MPI_Scatter_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle, from: c_int; comm
    ) |form| scatter(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), (from, comm));

    MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init<N>(
        data: *const c_void, counts: *const N, displs: *const N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle, from: c_int; comm
    ) |form| scatter_v(form, (data, (counts, displs, sendtype)), (result, (recvcount, recvtype)), (from, comm));

    MPI_Allgather, MPI_Iallgather, MPI_Allgather_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle; comm
    ) |form| allgather(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm);

    MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, counts: *const N, displs: *const N, recvtype: Handle; comm
    ) |form| allgather_v(form, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), comm);

    MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle; comm
    ) |form| alltoall(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm);

    MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init<N>(
        data: *const c_void, sendcounts: *const N, sdispls: *const N, sendtype: Handle,
        result: *mut c_void, recvcounts: *const N, rdispls: *const N, recvtype: Handle; comm
    ) |form| alltoall_v(form, (data, (sendcounts, sdispls, sendtype)), (result, (recvcounts, rdispls, recvtype)), comm);

    MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init<N>(
        data: *const c_void, sendcounts: *const N, sdispls: *const N, sendtypes: *const Handle,
        result: *mut c_void, recvcounts: *const N, rdispls: *const N, recvtypes: *const Handle; comm
    ) |form| alltoall_w(form, (data, (sendcounts, sdispls, sendtypes)), (result, (recvcounts, rdispls, recvtypes)), comm);

    MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init<N>(
        data: *const c_void, result: *mut c_void, recvcount: N, datatype: Handle, op: Handle; comm
    ) |form| reduce_scatter_block(form, (data, result), (recvcount, datatype), (op, comm));

    MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init<N>(
        data: *const c_void, result: *mut c_void, counts: *const N, datatype: Handle, op: Handle; comm
    ) |form| reduce_scatter(form, (data, result), (counts, datatype), (op, comm));

    MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle; comm
    ) |form| neighbor_allgather(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm);

    MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, counts: *const N, displs: *const N, recvtype: Handle; comm
    ) |form| neighbor_allgather_v(form, (data, (sendcount, sendtype)), (result, (counts, displs, recvtype)), comm);

    MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init<N>(
        data: *const c_void, sendcount: N, sendtype: Handle,
        result: *mut c_void, recvcount: N, recvtype: Handle; comm
    ) |form| neighbor_alltoall(form, (data, (sendcount, sendtype)), (result, (recvcount, recvtype)), comm);

    MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init<N>(
        data: *const c_void, sendcounts: *const N, sdispls: *const N, sendtype: Handle,
        result: *mut c_void, recvcounts: *const N, rdispls: *const N, recvtype: Handle; comm
    ) |form| neighbor_alltoall_v(form, (data, (sendcounts, sdispls, sendtype)), (result, (recvcounts, rdispls, recvtype)), comm);

    MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init<N>(
        data: *const c_void, sendcounts: *const N, sdispls: *const i64, sendtypes: *const Handle,
        result: *mut c_void, recvcounts: *const N, rdispls: *const i64, recvtypes: *const Handle; comm
    ) |form| neighbor_alltoall_w(form, (data, (sendcounts, sdispls, sendtypes)), (result, (recvcounts, rdispls, recvtypes)), comm);
}
