//! Accesses to windows (MPI 5.0, section 12.3).
//!
//! Data that are written are copied when the call is made. Data that have several places at the
//! target are one message with a description of their places.
//!
//! *Not there*: accumulates on datatypes of complex numbers, of `long double`, or of numbers of
//! different types.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::{Element, TargetPlace, prelude::*};

use super::active;
use super::memory;
use crate::arguments::{Count, natural, rank};
use crate::bridge::{block, caller};
use crate::datatypes::{common_number_type, element};
use crate::errors::CallError;
use crate::handles::{Memory, Parts, Target};
use crate::ops::predefined;
use crate::state::requests::ActiveOwner;
use crate::state::windows::PendingGet;
use crate::state::{Handle, MpiState};

/// `MPI_BYTE`.
const BYTE: Handle = 0x247;
/// `MPI_REPLACE`.
const REPLACE: Handle = 0x3c;
/// `MPI_NO_OP`.
const NO_OP: Handle = 0x3d;

/// Rank, displacement, count and datatype of the target.
type Remote = (c_int, isize, i64, Handle);

/// Places in the window of a rank.
struct Places {
    rank: usize,
    /// Offset of the first byte if the data are contiguous.
    start: u64,
    /// Offset and length in bytes of each, in the order of the data.
    pieces: Vec<(u64, u64)>,
}

impl Places {
    fn new(window: &Window, remote: Remote) -> Result<Self, CallError> {
        let (target, displacement, count, datatype) = remote;
        let rank = rank(target)?;
        if rank == PROC_NULL {
            return Ok(Self {
                rank,
                start: 0,
                pieces: Vec::new(),
            });
        }
        let unit = i128::from(window.unit(rank)?);
        let start = displacement as i128 * unit;
        let (elements, count) = (
            element(datatype)?,
            natural(count, "target_count", "MPI_ERR_COUNT")?,
        );
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        let mut add = |offset: i128, length: usize| {
            let first = u64::try_from(start + offset).map_err(|_| {
                let text =
                    format!("invalid target_disp {displacement}: the data begin before the window");
                CallError::new("MPI_ERR_RMA_RANGE", text)
            })?;
            match pieces.last_mut() {
                Some((last, bytes)) if *last + *bytes == first => *bytes += length as u64,
                _ if length == 0 => {}
                _ => pieces.push((first, length as u64)),
            }
            Ok::<_, CallError>(())
        };
        for number in 0..count {
            let base = number as i128 * elements.extent as i128;
            if elements.segments.is_empty() {
                add(base, elements.size)?;
            }
            for segment in elements.segments {
                add(base + segment.offset as i128, segment.length)?;
            }
        }
        let start = match pieces[..] {
            [(first, _)] => first,
            _ => u64::try_from(start).unwrap_or(0),
        };
        Ok(Self {
            rank,
            start,
            pieces,
        })
    }

    fn length(&self) -> u64 {
        self.pieces.iter().map(|(_, length)| length).sum()
    }

    /// Checks that the origin has as many bytes.
    fn check_length(&self, length: usize) -> Result<(), CallError> {
        let expected = self.length();
        if self.rank == PROC_NULL || length as u64 == expected {
            return Ok(());
        }
        let text = format!("{length} bytes at the origin for {expected} bytes at the target");
        Err(CallError::new("MPI_ERR_TRUNCATE", text))
    }

    /// Returns the place for the message layer.
    fn target_place(self) -> TargetPlace {
        match self.pieces.len() {
            0 | 1 => TargetPlace::from(self.start),
            _ => TargetPlace::pieces(0, self.pieces),
        }
    }
}

/// An access to a window, with the arguments at the origin.
enum WindowAccess {
    Put(Target),
    Get(Target),
    Accumulate(Target, Op),
    /// Data, and the place for the previous contents of the target.
    GetAccumulate(Option<Target>, Target, Op),
}

impl WindowAccess {
    /// Returns the memory of the program that the access fills.
    fn result_memory(&self) -> Option<Target> {
        match self {
            Self::Put(_) | Self::Accumulate(..) => None,
            Self::Get(result) | Self::GetAccumulate(_, result, _) => Some(*result),
        }
    }

    /// Returns the memory of the program that the access reads.
    fn given(&self) -> Option<Target> {
        match self {
            Self::Put(data) | Self::Accumulate(data, _) => Some(*data),
            Self::GetAccumulate(data, ..) => *data,
            Self::Get(_) => None,
        }
    }

    /// Compares the memory of the access with the memory of incomplete operations.
    fn check_conflicts(&self) -> Result<(), CallError> {
        active::compare(self.given().as_slice(), self.result_memory().as_slice())
    }

    /// Records the memory of the access until the access ends.
    fn note_memory(&self, window: Handle, rank: usize, request: Option<Handle>) {
        let owner = ActiveOwner {
            request,
            access: Some((window, rank)),
        };
        active::note_memory(
            owner,
            self.given().as_slice(),
            self.result_memory().as_slice(),
        );
    }

    /// Starts the access.
    async fn start_access(
        &self,
        state: &mut MpiState,
        (window, remote): (Handle, Remote),
    ) -> Result<(usize, Request), CallError> {
        let world = state.world.clone();
        let window = &state.window(window)?.window;
        let places = Places::new(window, remote)?;
        let data = match self {
            Self::Put(data) | Self::Accumulate(data, _) | Self::GetAccumulate(Some(data), ..) => {
                memory::message(&world, *data)
            }
            Self::Get(result) | Self::GetAccumulate(None, result, _) => {
                world.buffer(result.length as u64)
            }
        };
        places.check_length(usize::try_from(data.len()).unwrap_or(usize::MAX))?;
        let rank = places.rank;
        let place = places.target_place();
        let request = match self {
            Self::Put(_) => window.rput(&data, rank, place).await?,
            Self::Get(_) => window.rget(data, rank, place).await?,
            Self::Accumulate(_, op) => window.raccumulate(&data, rank, place, op).await?,
            Self::GetAccumulate(_, _, op) => window.rget_accumulate(&data, rank, place, op).await?,
        };
        Ok((rank, request))
    }

    /// Performs the access as a call; a later synchronisation waits for the end of the access.
    fn issue_access(self, window: Handle, remote: Remote) -> Result<(), CallError> {
        self.check_conflicts()?;
        let (access, rank) = block(async |state| {
            let access = self;
            let (rank, request) = access.start_access(state, (window, remote)).await?;
            let own = state.window(window)?;
            own.epochs.note_access(caller().location());
            let given = access.given().map(|place| (place, false));
            let result = access.result_memory().map(|place| (place, true));
            for (place, is_filled) in given.into_iter().chain(result) {
                for (start, length) in memory::all_pieces(place) {
                    own.note_buffer(rank, (start, start + length), is_filled)
                        .await?;
                }
            }
            match access.result_memory() {
                Some(result) => {
                    let get = PendingGet {
                        rank,
                        request,
                        result,
                    };
                    state.window(window)?.gets.push(get);
                }
                None => request.free(),
            }
            Ok::<_, CallError>((access, rank))
        })?;
        access.note_memory(window, rank, None);
        Ok(())
    }

    /// Performs the access as a call with a request.
    fn request(
        self,
        window: Handle,
        remote: Remote,
        request: *mut Handle,
    ) -> Result<(), CallError> {
        self.check_conflicts()?;
        let (access, rank, handle) = block(async |state| {
            let access = self;
            let (rank, started) = access.start_access(state, (window, remote)).await?;
            let result: Vec<Target> = access.result_memory().into_iter().collect();
            let parts = Parts {
                contribution: None,
                result,
                is_collective: true,
            };
            let handle = state.insert(started, Memory::Parts(Rc::new(parts)));
            if access.result_memory().is_some() {
                state.window(window)?.requests.push((rank, handle));
            }
            Ok::<_, CallError>((access, rank, handle))
        })?;
        access.note_memory(window, rank, Some(handle));
        memory::store(request, handle);
        Ok(())
    }
}

/// Returns the operation on the numbers of `count` elements of a datatype.
fn accumulate_op(op: Handle, count: i64, datatype: Handle) -> Result<Op, CallError> {
    match op {
        // The numbers are not looked at.
        REPLACE | NO_OP => predefined(op, BYTE),
        _ if count == 0 || element(datatype)?.size == 0 => predefined(REPLACE, BYTE),
        _ => predefined(op, common_number_type(datatype)?),
    }
}

fn get_accumulate<N: Count>(
    origin: (*const c_void, N, Handle),
    result: (*mut c_void, N, Handle),
    (op, count, datatype): (Handle, N, Handle),
) -> Result<WindowAccess, CallError> {
    let result = memory::elements_at(result.0, result.1, result.2)?;
    let op_of = accumulate_op(op, count.into(), datatype)?;
    // MPI_NO_OP reads only, and ignores the data.
    let data = match op {
        NO_OP => None,
        _ => Some(memory::elements_at(origin.0, origin.1, origin.2)?),
    };
    Ok(WindowAccess::GetAccumulate(data, result, op_of))
}

fn accumulate<N: Count>(
    origin: (*const c_void, N, Handle),
    (op, elements, datatype): (Handle, N, Handle),
) -> Result<WindowAccess, CallError> {
    let data = memory::elements_at(origin.0, origin.1, origin.2)?;
    let op = accumulate_op(op, elements.into(), datatype)?;
    Ok(WindowAccess::Accumulate(data, op))
}

exports! {
    fn MPI_Put<N>(origin: *const c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, window: Handle) {
        let data = memory::elements_at(origin, count, datatype)?;
        let access = WindowAccess::Put(data);
        access.issue_access(window, (target, at, target_count.into(), target_type))
    }

    fn MPI_Get<N>(origin: *mut c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, window: Handle) {
        let result = memory::elements_at(origin, count, datatype)?;
        let access = WindowAccess::Get(result);
        access.issue_access(window, (target, at, target_count.into(), target_type))
    }

    fn MPI_Accumulate<N>(origin: *const c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, op: Handle, window: Handle) {
        let access = accumulate((origin, count, datatype), (op, target_count, target_type))?;
        access.issue_access(window, (target, at, target_count.into(), target_type))
    }

    fn MPI_Get_accumulate<N>(
        origin: *const c_void, count: N, datatype: Handle,
        result: *mut c_void, result_count: N, result_type: Handle,
        target: c_int, at: isize, target_count: N, target_type: Handle, op: Handle, window: Handle,
    ) {
        let result = (result, result_count, result_type);
        let access = get_accumulate((origin, count, datatype), result, (op, target_count, target_type))?;
        access.issue_access(window, (target, at, target_count.into(), target_type))
    }

    fn MPI_Fetch_and_op(origin: *const c_void, result: *mut c_void, datatype: Handle, target: c_int, at: isize, op: Handle, window: Handle) {
        let access = get_accumulate((origin, 1, datatype), (result, 1, datatype), (op, 1, datatype))?;
        access.issue_access(window, (target, at, 1, datatype))
    }

    fn MPI_Compare_and_swap(origin: *const c_void, compare: *const c_void, result: *mut c_void, datatype: Handle, target: c_int, at: isize, window: Handle) {
        let [data, compared] = [memory::elements_at(origin, 1, datatype)?, memory::elements_at(compare, 1, datatype)?];
        let result = memory::elements_at(result, 1, datatype)?;
        let floats = [Element::of::<f32>(), Element::of::<f64>()];
        let length = if floats.contains(&result.element.numbers) { 0 } else { result.length };
        block(async |state| {
            let [data, compared] = [data, compared].map(|place| memory::message(&state.world, place));
            let window = &state.window(window)?.window;
            let places = Places::new(window, (target, at, 1, datatype))?;
            let (rank, offset) = (places.rank, places.start);
            let before = match length {
                1 => window.compare_and_swap::<u8>(&data, &compared, rank, offset).await?,
                2 => window.compare_and_swap::<u16>(&data, &compared, rank, offset).await?,
                4 => window.compare_and_swap::<u32>(&data, &compared, rank, offset).await?,
                8 => window.compare_and_swap::<u64>(&data, &compared, rank, offset).await?,
                _ => {
                    let text = format!("invalid datatype {datatype:#x}: expected an integer, a logical value or a byte");
                    return Err(CallError::new("MPI_ERR_TYPE", text));
                }
            };
            memory::fill_place(result, &before, before.len());
            Ok(())
        })
    }

    fn MPI_Rput<N>(origin: *const c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, window: Handle, request: *mut Handle) {
        let data = memory::elements_at(origin, count, datatype)?;
        let access = WindowAccess::Put(data);
        access.request(window, (target, at, target_count.into(), target_type), request)
    }

    fn MPI_Rget<N>(origin: *mut c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, window: Handle, request: *mut Handle) {
        let result = memory::elements_at(origin, count, datatype)?;
        let access = WindowAccess::Get(result);
        access.request(window, (target, at, target_count.into(), target_type), request)
    }

    fn MPI_Raccumulate<N>(origin: *const c_void, count: N, datatype: Handle, target: c_int, at: isize, target_count: N, target_type: Handle, op: Handle, window: Handle, request: *mut Handle) {
        let access = accumulate((origin, count, datatype), (op, target_count, target_type))?;
        access.request(window, (target, at, target_count.into(), target_type), request)
    }

    fn MPI_Rget_accumulate<N>(
        origin: *const c_void, count: N, datatype: Handle,
        result: *mut c_void, result_count: N, result_type: Handle,
        target: c_int, at: isize, target_count: N, target_type: Handle, op: Handle, window: Handle, request: *mut Handle,
    ) {
        let result = (result, result_count, result_type);
        let access = get_accumulate((origin, count, datatype), result, (op, target_count, target_type))?;
        access.request(window, (target, at, target_count.into(), target_type), request)
    }
}
