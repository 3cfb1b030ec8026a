//! Statuses, and requests that are asked without an end (MPI 5.0, sections 3.2.5, 3.7.6 and 13.3).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use super::completion::{deliver, is_active};
use super::memory;
use crate::arguments::{Count, UNDEFINED, in_c, natural};
use crate::bridge::{block, with_state};
use crate::datatypes::{datatype as datatype_of, element, elements_in};
use crate::errors::CallError;
use crate::handles::{Memory, REQUEST_NULL};
use crate::state::Handle;
use crate::state::requests::Status;

/// Returns the number of pieces of `size` bytes, or `MPI_UNDEFINED` if the number is not whole.
fn number_of<N: Count>(length: u64, size: usize) -> N {
    let whole = match size as u64 {
        0 => (length == 0).then_some(0),
        size => length.is_multiple_of(size).then_some(length / size),
    };
    let found = whole.and_then(|whole| in_c(usize::try_from(whole).ok()?));
    found.unwrap_or_else(N::undefined)
}

/// Stores the status of a completed request, which stays completed. Returns false if the request is
/// not completed. A null or inactive request has an empty status.
fn get_status(request: Handle, status: *mut Status) -> Result<bool, CallError> {
    if request == REQUEST_NULL || !is_active(request)? {
        memory::set_empty_status(status);
        return Ok(true);
    }
    let found = block(async |state| {
        let Some(active) = state.requests.get_mut(request) else {
            return Ok(None);
        };
        let found = active.request.peek().await?;
        Ok::<_, CallError>(found.map(|found| (found, active.memory.take_memory())))
    })?;
    let Some((found, memory)) = found else {
        return Ok(false);
    };
    super::active::end_request(request)?;
    match memory {
        Memory::Generalized(generalized) => {
            let due = generalized.due(status, true);
            with_state(|state| state.generalized.due.push_back(due));
        }
        memory => deliver(found, &memory, status),
    }
    Ok(true)
}

/// Tests the active requests of a list. For a completed request, calls `each` with its number and
/// position, and stores the status where `place` says. Returns the number of active requests and
/// the number of completed requests.
fn test_requests(
    (count, list): (c_int, *const Handle),
    is_enough: impl Fn(usize) -> bool,
    place: impl Fn(usize, usize) -> *mut Status,
    mut each: impl FnMut(usize, usize),
) -> Result<(usize, usize), CallError> {
    let (mut active, mut over) = (0, 0);
    for index in 0..natural(count, "count", "MPI_ERR_COUNT")? {
        let request = memory::load(list.wrapping_add(index), "array_of_requests")?;
        if request == REQUEST_NULL || !is_active(request)? {
            continue;
        }
        active += 1;
        if get_status(request, place(over, index))? {
            each(over, index);
            over += 1;
            if is_enough(over) {
                break;
            }
        }
    }
    Ok((active, over))
}

fn c_position(index: usize) -> c_int {
    in_c(index).unwrap_or(UNDEFINED)
}

exports! {
    fn MPI_Get_count<N>(status: *mut Status, datatype: Handle, count: *mut N) {
        let length = memory::load(status, "status")?.length();
        memory::store(count, number_of(length, element(datatype)?.size));
        Ok(())
    }

    fn MPI_Get_elements<N>(status: *mut Status, datatype: Handle, count: *mut N) {
        let length = memory::load(status, "status")?.length();
        datatype_of(datatype)?;
        let found = elements_in(datatype, length).and_then(|found| usize::try_from(found).ok());
        memory::store(count, found.and_then(in_c).unwrap_or_else(N::undefined));
        Ok(())
    }

    fn MPI_Test_cancelled(status: *mut Status, flag: *mut c_int) {
        memory::store(flag, memory::load(status, "status")?.internal[2]);
        Ok(())
    }

    fn MPI_Status_set_cancelled(status: *mut Status, flag: c_int) {
        memory::with_status(status, |status| status.internal[2] = c_int::from(flag != 0));
        Ok(())
    }

    fn MPI_Status_set_elements<N>(status: *mut Status, datatype: Handle, count: N) {
        let found = datatype_of(datatype)?;
        let basic = found.basic.ok_or_else(|| {
            let text = "the elements of the datatype differ in length: not supported";
            CallError::new("MPI_ERR_TYPE", text)
        })?;
        let elements = natural(count, "count", "MPI_ERR_COUNT")?;
        memory::with_status(status, |status| status.set_length((elements * basic) as u64));
        Ok(())
    }

    fn MPI_Status_set_source(status: *mut Status, source: c_int) {
        memory::with_status(status, |status| status.source = source);
        Ok(())
    }

    fn MPI_Status_set_tag(status: *mut Status, tag: c_int) {
        memory::with_status(status, |status| status.tag = tag);
        Ok(())
    }

    fn MPI_Status_set_error(status: *mut Status, error: c_int) {
        memory::with_status(status, |status| status.error = error);
        Ok(())
    }

    fn MPI_Status_get_source(status: *mut Status, source: *mut c_int) {
        memory::store(source, memory::load(status, "status")?.source);
        Ok(())
    }

    fn MPI_Status_get_tag(status: *mut Status, tag: *mut c_int) {
        memory::store(tag, memory::load(status, "status")?.tag);
        Ok(())
    }

    fn MPI_Status_get_error(status: *mut Status, error: *mut c_int) {
        memory::store(error, memory::load(status, "status")?.error);
        Ok(())
    }

    fn MPI_Request_get_status(request: Handle, flag: *mut c_int, status: *mut Status) {
        let is_over = get_status(request, status)?;
        memory::store(flag, c_int::from(is_over));
        Ok(())
    }

    fn MPI_Request_get_status_any(count: c_int, list: *const Handle, index: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let each = |_, place| memory::store(index, c_position(place));
        let (active, over) = test_requests((count, list), |over| over > 0, |_, _| status, each)?;
        if over == 0 {
            memory::store(index, UNDEFINED);
        }
        if active == 0 {
            memory::set_empty_status(status);
        }
        memory::store(flag, c_int::from(active == 0 || over > 0));
        Ok(())
    }

    fn MPI_Request_get_status_some(count: c_int, list: *const Handle, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status) {
        let each = |number, index| memory::store(memory::element(indices, number), c_position(index));
        let place = |number, _| memory::element(statuses, number);
        let (active, over) = test_requests((count, list), |_| false, place, each)?;
        memory::store(outcount, if active == 0 { UNDEFINED } else { c_position(over) });
        Ok(())
    }

    fn MPI_Request_get_status_all(count: c_int, list: *const Handle, flag: *mut c_int, statuses: *mut Status) {
        for index in 0..natural(count, "count", "MPI_ERR_COUNT")? {
            memory::set_empty_status(memory::element(statuses, index));
        }
        let place = |_, index| memory::element(statuses, index);
        let (active, over) = test_requests((count, list), |_| false, place, |_, _| ())?;
        memory::store(flag, c_int::from(active == over));
        Ok(())
    }
}
