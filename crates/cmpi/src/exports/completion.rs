//! Completion of requests (MPI 5.0, section 3.7).
//!
//! A call waits for all its requests, so no status has `MPI_ERR_PENDING`.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use mpi::{CommunicatorManagement, Completion, Request};

use super::{active, memory};
use crate::arguments::{UNDEFINED, natural};
use crate::bridge::{Yes, await_answer, block, with_state};
use crate::errors::CallError;
use crate::handles::{ActiveRequest, Duplicated, Memory, REQUEST_NULL, Target};
use crate::state::requests::{Listed, Status};
use crate::state::{Handle, MpiState};

/// Copies the received data of an operation to the target memory, and sets the status.
pub(super) fn deliver(completion: Completion, memory: &Memory, status: *mut Status) {
    let target = match memory {
        Memory::Parts(parts) if parts.is_collective => {
            memory::fill_parts(&parts.result, &completion.buffer);
            memory::set_empty_status(status);
            return;
        }
        Memory::Parts(parts) => parts.result.first().copied().unwrap_or_default(),
        Memory::Message(target) => *target,
        Memory::Generalized(generalized) => {
            let due = generalized.due(status, false);
            return with_state(|state| state.generalized.due.push_back(due));
        }
        Memory::Comm {
            handle,
            original,
            of,
        } => {
            with_state(|state| {
                let made = match &**of {
                    Duplicated::Comm(of) => of.duplicated(&completion),
                    Duplicated::Inter(of) => {
                        let inter = of.duplicated(&completion);
                        let local = inter.local().clone();
                        state.comms.between.insert(*handle, inter);
                        local
                    }
                };
                state.comms.made.put_back(*handle, made);
                state.comms.copy_topology(*original, *handle);
            });
            memory::set_empty_status(status);
            return;
        }
    };
    memory::unload_message(target, completion.buffer, completion.status.length);
    memory::set_status(status, completion.status);
}

#[cold]
pub(super) fn unknown(handle: Handle) -> CallError {
    CallError::new("MPI_ERR_REQUEST", format!("invalid request {handle:#x}"))
}

/// Returns false if a request is a persistent request that has not been started, else true. Only
/// active requests are waited for.
pub(super) fn is_active(handle: Handle) -> Result<bool, CallError> {
    with_state(|state| Ok(state.active_request(handle)?.is_some()))
}

/// Ends a request that is over; a persistent one stays.
fn finish_request(
    request: *mut Handle,
    completion: Completion,
    memory: &Memory,
    status: *mut Status,
) -> Result<(), CallError> {
    let ended = active::end_request(memory::load(request, "request")?);
    deliver(completion, memory, status);
    if !memory.is_persistent() {
        memory::store(request, REQUEST_NULL);
    }
    ended
}

impl MpiState {
    /// Returns the request of a call; `None` for a persistent request that has not been started.
    fn active_request(&mut self, handle: Handle) -> Result<Option<&mut ActiveRequest>, CallError> {
        let found = self.requests.get_mut(handle);
        let found = found.ok_or_else(|| unknown(handle))?;
        self.concerned.set(found.comm);
        Ok(found.request.is_active().then_some(found))
    }

    /// Returns the memory of a request after a call about the request, and frees the handle if the
    /// request has become null.
    fn take_memory(&mut self, handle: Handle) -> Memory {
        let active = self.requests.get(handle);
        if let Some(active) = active.filter(|active| !active.request.is_null()) {
            return active.memory.clone();
        }
        let removed = self.requests.remove(handle);
        removed.map_or_else(|| Memory::Message(Target::default()), |it| it.memory)
    }

    /// Takes the requests of a list out of the table; null requests are skipped.
    fn take_listed(&mut self, count: c_int, list: *mut Handle) -> Result<(), CallError> {
        self.list.requests.clear();
        self.list.listed.clear();
        let count = natural(count, "count", "MPI_ERR_COUNT")?;
        for index in 0..count {
            let handle = memory::load(memory::element(list, index), "array_of_requests")?;
            if handle == REQUEST_NULL {
                continue;
            }
            let Some(active) = self.requests.borrow(handle) else {
                self.return_listed();
                return Err(unknown(handle));
            };
            let ActiveRequest {
                request,
                memory,
                comm,
            } = active;
            self.concerned.set(comm);
            self.list.requests.push(request);
            self.list.listed.push(Listed {
                handle,
                index,
                memory,
                comm,
            });
        }
        Ok(())
    }

    /// Puts the requests that are not over back into the table, and frees the handles of the
    /// others.
    fn return_listed(&mut self) {
        for (request, listed) in self.list.requests.drain(..).zip(&self.list.listed) {
            if request.is_null() {
                self.requests.remove(listed.handle);
            } else {
                let active = ActiveRequest {
                    request,
                    memory: listed.memory.clone(),
                    comm: listed.comm,
                };
                self.requests.put_back(listed.handle, active);
            }
        }
    }
}

/// The statuses of a call about several requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatusOrder {
    /// As the requests.
    Listed,
    /// One for each completed request.
    Completed,
    /// Of the request that the call completes. The call returns the error of this request.
    Single,
}

/// The number of completed requests if there is an answer, and the result of the call.
type CallAnswer = (Option<usize>, Result<(), CallError>);

/// Performs a call about the requests of a list. Calls `each` with the number of each completed
/// request and the position in the list. If a request has failed, the status of each completed
/// request gets an error code.
fn several<D: IntoIterator<Item = (usize, mpi::Result<Completion>)>>(
    (count, list): (c_int, *mut Handle),
    (statuses, order): (*mut Status, StatusOrder),
    ask: impl AsyncFnOnce(&mut MpiState) -> mpi::Result<Option<D>>,
    mut each: impl FnMut(usize, usize),
) -> Result<CallAnswer, CallError> {
    with_state(|state| state.take_listed(count, list))?;
    let answer = block(ask);
    let listed = with_state(|state| {
        state.return_listed();
        std::mem::take(&mut state.list.listed)
    });
    let status_at = |number: usize, position: usize| match order {
        StatusOrder::Listed => memory::element(statuses, listed[position].index),
        StatusOrder::Completed | StatusOrder::Single => memory::element(statuses, number),
    };
    let finish = |done: D| {
        let (mut number, mut failure) = (0, None);
        for (position, result) in done {
            let Listed { index, memory, .. } = &listed[position];
            let (request, status) = (memory::element(list, *index), status_at(number, position));
            let result = result.map_err(CallError::from);
            let result =
                result.and_then(|completion| finish_request(request, completion, memory, status));
            let code = match result {
                Ok(()) => 0,
                Err(error) => {
                    forget_failed(request, memory);
                    if failure.is_none() {
                        // The statuses before have no error code yet.
                        let before = match order {
                            StatusOrder::Listed => position,
                            StatusOrder::Completed => number,
                            StatusOrder::Single => 0,
                        };
                        (0..before).for_each(|place| set_error(status_at(place, place), 0));
                    }
                    let code = error.code();
                    failure.get_or_insert(error);
                    code
                }
            };
            if failure.is_some() && order != StatusOrder::Single {
                set_error(status, code);
            }
            each(number, *index);
            number += 1;
        }
        let result = failure.map_or(Ok(()), |first| match order {
            StatusOrder::Single => Err(first),
            StatusOrder::Listed | StatusOrder::Completed => Err(first.in_status()),
        });
        Ok::<_, CallError>((Some(number), result))
    };
    let answer = answer.map(|done| done.map_or(Ok((None, Ok(()))), finish));
    with_state(|state| state.list.listed = listed);
    answer?
}

/// Forgets a request that has failed, unless the program can start the request again.
fn forget_failed(request: *mut Handle, memory: &Memory) {
    if !memory.is_persistent() {
        memory::store(request, REQUEST_NULL);
    }
}

fn number_results(
    results: Vec<Option<mpi::Result<Completion>>>,
) -> impl Iterator<Item = (usize, mpi::Result<Completion>)> {
    let numbered = results.into_iter().enumerate();
    numbered.filter_map(|(position, result)| Some((position, result?)))
}

fn set_error(status: *mut Status, code: c_int) {
    memory::with_status(status, |status| status.error = code);
}

/// Returns true if a request of the list of a call is active.
fn has_active(state: &MpiState) -> bool {
    state.list.requests.iter().any(Request::is_active)
}

/// Sets the statuses of null requests and of inactive requests.
fn set_empty_statuses(
    (count, list): (c_int, *mut Handle),
    statuses: *mut Status,
) -> Result<(), CallError> {
    if statuses.is_null() {
        return Ok(());
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let handle = memory::load(memory::element(list, index), "array_of_requests")?;
        let is_active = with_state(|state| {
            let found = state.requests.get(handle);
            found.is_some_and(|found| found.request.is_active())
        });
        if !is_active {
            memory::set_empty_status(memory::element(statuses, index));
        }
    }
    Ok(())
}

/// Returns a function that stores the positions of completed requests, given their numbers.
fn store_in(indices: *mut c_int) -> impl FnMut(usize, usize) {
    move |number, index| {
        let index = c_int::try_from(index).unwrap_or(UNDEFINED);
        memory::store(memory::element(indices, number), index);
    }
}

/// Stores the number of completed requests.
fn store_count(found: Option<usize>, count: *mut c_int) {
    let found = found.and_then(|found| c_int::try_from(found).ok());
    memory::store(count, found.unwrap_or(UNDEFINED));
}

/// Refuses the request of an active collective operation or access to a window (MPI 5.0, sections
/// 6.12 and 12.3.5), which a program can neither free nor cancel.
fn refuse_collective(active: &ActiveRequest) -> Result<(), CallError> {
    let is_collective = match &active.memory {
        Memory::Comm { .. } => true,
        Memory::Parts(parts) => parts.is_collective,
        Memory::Message(_) | Memory::Generalized(_) => false,
    };
    if !is_collective || !active.request.is_active() {
        return Ok(());
    }
    let text = "the request is of an active collective operation or access to a window: expected a \
                call that completes the operation, such as MPI_Wait";
    Err(CallError::new("MPI_ERR_REQUEST", text))
}

exports! {
    fn MPI_Wait(request: *mut Handle, status: *mut Status) {
        let handle = memory::load(request, "request")?;
        if handle == REQUEST_NULL {
            memory::set_empty_status(status);
            return Ok(());
        }
        let over = block(async |state| {
            let Some(active) = state.active_request(handle)? else {
                return Ok(None);
            };
            let result = active.request.wait().await;
            Ok::<_, CallError>(Some((result, state.take_memory(handle))))
        })?;
        let Some((result, filled)) = over else {
            memory::set_empty_status(status);
            return Ok(());
        };
        if result.is_err() {
            forget_failed(request, &filled);
        }
        finish_request(request, result?, &filled, status)
    }

    fn MPI_Test(request: *mut Handle, flag: *mut c_int, status: *mut Status) {
        let handle = memory::load(request, "request")?;
        if handle == REQUEST_NULL {
            memory::store(flag, 1);
            memory::set_empty_status(status);
            return Ok(());
        }
        let answer = block(async |state| {
            let Some(active) = state.active_request(handle)? else {
                return Ok(None);
            };
            let result = await_answer(Yes::EndsOperation, active.request.test()).await;
            Ok::<_, CallError>(Some((result, state.take_memory(handle))))
        })?;
        let Some((result, filled)) = answer else {
            memory::store(flag, 1);
            memory::set_empty_status(status);
            return Ok(());
        };
        if result.is_err() {
            memory::store(flag, 1);
            forget_failed(request, &filled);
        }
        let result = result?;
        memory::store(flag, c_int::from(result.is_some()));
        if let Some(completion) = result {
            finish_request(request, completion, &filled, status)?;
        }
        Ok(())
    }

    fn MPI_Waitall(count: c_int, list: *mut Handle, statuses: *mut Status) {
        set_empty_statuses((count, list), statuses)?;
        let ask = async |state: &mut MpiState| {
            Ok(Some(number_results(mpi::waitall_results(&mut state.list.requests).await)))
        };
        several((count, list), (statuses, StatusOrder::Listed), ask, |_, _| ())?.1
    }

    fn MPI_Testall(count: c_int, list: *mut Handle, flag: *mut c_int, statuses: *mut Status) {
        set_empty_statuses((count, list), statuses)?;
        let ask = async |state: &mut MpiState| {
            if !has_active(state) {
                return Ok(Some(number_results(Vec::new())));
            }
            let testing = mpi::testall_results(&mut state.list.requests);
            let question = async { Ok(testing.await) };
            let results = await_answer(Yes::EndsOperation, question).await?;
            Ok(results.map(number_results))
        };
        let (done, result) = several((count, list), (statuses, StatusOrder::Listed), ask, |_, _| ())?;
        memory::store(flag, c_int::from(done.is_some()));
        result
    }

    fn MPI_Waitany(count: c_int, list: *mut Handle, index: *mut c_int, status: *mut Status) {
        let ask = async |state: &mut MpiState| {
            Ok(Some(mpi::waitany_result(&mut state.list.requests).await))
        };
        let (done, result) = several((count, list), (status, StatusOrder::Single), ask, store_in(index))?;
        if done == Some(0) {
            memory::set_empty_status(status);
            memory::store(index, UNDEFINED);
        }
        result
    }

    fn MPI_Testany(count: c_int, list: *mut Handle, index: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let ask = async |state: &mut MpiState| {
            if !has_active(state) {
                return Ok(Some(None));
            }
            let testing = mpi::testany_result(&mut state.list.requests);
            Ok(await_answer(Yes::EndsOperation, testing).await?.map(Some))
        };
        let (done, result) = several((count, list), (status, StatusOrder::Single), ask, store_in(index))?;
        memory::store(flag, c_int::from(done.is_some()));
        if done == Some(0) {
            memory::set_empty_status(status);
        }
        if done.unwrap_or(0) == 0 {
            memory::store(index, UNDEFINED);
        }
        result
    }

    fn MPI_Waitsome(count: c_int, list: *mut Handle, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status) {
        let ask = async |state: &mut MpiState| Ok(mpi::waitsome(&mut state.list.requests).await);
        let (done, result) = several((count, list), (statuses, StatusOrder::Completed), ask, store_in(indices))?;
        store_count(done, outcount);
        result
    }

    fn MPI_Testsome(count: c_int, list: *mut Handle, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status) {
        let ask = async |state: &mut MpiState| {
            if !has_active(state) {
                return Ok(None);
            }
            let testing = mpi::testsome(&mut state.list.requests);
            let question = async { Ok(Some(testing.await?).filter(|done| !done.is_empty())) };
            let done = await_answer(Yes::EndsOperation, question).await?;
            Ok(Some(done.unwrap_or_default()))
        };
        let (done, result) = several((count, list), (statuses, StatusOrder::Completed), ask, store_in(indices))?;
        store_count(done, outcount);
        result
    }

    fn MPI_Request_free(request: *mut Handle) {
        let handle = memory::load(request, "request")?;
        with_state(|state| {
            if !state.free_generalized(handle) {
                let active = state.requests.get_mut(handle).ok_or_else(|| unknown(handle))?;
                refuse_collective(active)?;
                let freed = state.requests.remove(handle).ok_or_else(|| unknown(handle))?;
                state.active.free_request(handle, freed);
            }
            Ok::<_, CallError>(())
        })?;
        memory::store(request, REQUEST_NULL);
        Ok(())
    }

    fn MPI_Cancel(request: *mut Handle) {
        let handle = memory::load(request, "request")?;
        if super::generalized::cancel_generalized(handle)? {
            return Ok(());
        }
        block(async |state| {
            let active = state.requests.get_mut(handle).ok_or_else(|| unknown(handle))?;
            refuse_collective(active)?;
            active.request.cancel().await;
            Ok(())
        })
    }
}
