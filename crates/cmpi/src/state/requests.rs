//! Requests of a rank: statuses, memory of incomplete operations, lists of one call, generalized
//! requests; operations of reductions that the program has made.

use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};

use mpi::{FreedRequest, NativeLocation, prelude::*};

use super::Handle;
use crate::arguments::{ANY_TAG_IN_C, PROC_NULL_IN_C};
use crate::handles::{ActiveRequest, Memory, Target};

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    /// Length in bytes (two words), 1 if the request was cancelled, and unused words.
    pub(crate) internal: [c_int; 5],
}

impl Status {
    pub(crate) fn set(&mut self, status: mpi::Status) {
        let is_null = status.source == PROC_NULL;
        self.source = match c_int::try_from(status.source) {
            Ok(source) if !is_null => source,
            _ => PROC_NULL_IN_C,
        };
        self.tag = c_int::try_from(status.tag).unwrap_or(ANY_TAG_IN_C);
        self.set_length(status.length);
        self.internal[2] = c_int::from(status.cancelled);
    }

    pub(crate) fn set_length(&mut self, length: u64) {
        let low = u32::try_from(length & 0xffff_ffff).expect("it was masked");
        let high = u32::try_from(length >> 32).expect("it was shifted");
        self.internal[0] = low.cast_signed();
        self.internal[1] = high.cast_signed();
    }

    pub(crate) fn length(&self) -> u64 {
        let [low, high] =
            [self.internal[0], self.internal[1]].map(|half| u64::from(half.cast_unsigned()));
        high << 32 | low
    }

    /// Returns the status of a request that is null or not active (MPI 5.0, section 3.7.3).
    pub(crate) const fn empty() -> Self {
        Self {
            source: -1,
            tag: ANY_TAG_IN_C,
            error: 0,
            internal: [0; 5],
        }
    }
}

/// An operation, which ends with its request, or with the accesses of a rank to a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveOwner {
    pub(crate) request: Option<Handle>,
    /// Window and rank.
    pub(crate) access: Option<(Handle, usize)>,
}

/// Memory of an operation that is not complete.
#[derive(Debug)]
pub(crate) struct ActiveMemory {
    pub(crate) owner: ActiveOwner,
    pub(crate) place: Target,
    /// First byte of each piece, and the byte after the last byte of the piece, in their order and
    /// joined where they touch.
    pub(crate) pieces: Vec<(usize, usize)>,
    /// True if the operation stores its result in this memory.
    pub(crate) is_filled: bool,
    /// The line that began the operation.
    pub(crate) location: Option<&'static NativeLocation>,
    pub(crate) contents: u64,
}

/// Operations of a rank that are not complete.
#[derive(Debug, Default)]
pub(crate) struct ActiveMemories {
    pub(crate) memory: Vec<ActiveMemory>,
    /// Receives that continue without requests.
    pub(crate) freed: Vec<FreedReceive>,
}

/// A receive that continues without a request.
#[derive(Debug)]
pub(crate) struct FreedReceive {
    /// The handle that the request had.
    pub(crate) handle: Handle,
    pub(crate) request: FreedRequest,
    pub(crate) memory: Memory,
    pub(crate) comm: Handle,
}

impl FreedReceive {
    /// Returns true if the receive belonged to this request.
    pub(crate) const fn had_handle(&self, handle: Handle) -> bool {
        self.handle == handle
    }
}

impl ActiveMemories {
    /// Frees a request. A receive fills the memory later.
    pub(crate) fn free_request(&mut self, handle: Handle, freed: ActiveRequest) {
        let ActiveRequest {
            request,
            memory,
            comm,
        } = freed;
        let is_filled = match &memory {
            Memory::Message(target) => target.length > 0,
            Memory::Parts(parts) => !parts.result.is_empty(),
            Memory::Generalized(_) | Memory::Comm { .. } => false,
        };
        let request = request.into_freed();
        if is_filled && request.is_active() {
            self.freed.push(FreedReceive {
                handle,
                request,
                memory,
                comm,
            });
        }
    }
}

/// The requests of a call about several.
#[derive(Default, Debug)]
pub(crate) struct RequestList {
    pub(crate) requests: Vec<Request>,
    pub(crate) listed: Vec<Listed>,
}

/// A request of a call about several.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) handle: Handle,
    /// Position of the request in the list of the program.
    pub(crate) index: usize,
    pub(crate) memory: Memory,
    pub(crate) comm: Handle,
}

/// `MPI_Grequest_query_function`.
pub(crate) type Query = extern "C" fn(usize, *mut Status) -> c_int;
/// `MPI_Grequest_free_function`.
pub(crate) type Free = extern "C" fn(usize) -> c_int;
/// `MPI_Grequest_cancel_function`.
pub(crate) type Cancel = extern "C" fn(usize, c_int) -> c_int;

/// A generalized request.
#[derive(Debug)]
pub(crate) struct Generalized {
    pub(crate) query: Query,
    pub(crate) free: Free,
    pub(crate) cancel: Cancel,
    pub(crate) extra: usize,
    pub(crate) tag: u32,
    pub(crate) is_complete: Cell<bool>,
    /// True if the program has freed the request before the request was complete.
    pub(crate) is_freed: Cell<bool>,
}

/// A call of functions of the program that is due: about this status, and a request that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) query: Option<(Query, *mut Status)>,
    pub(crate) free: Option<Free>,
    pub(crate) extra: usize,
}

impl Generalized {
    /// Returns the functions for a request that is over, and stays if `is_kept`.
    pub(crate) fn due(&self, status: *mut Status, is_kept: bool) -> Due {
        Due {
            query: Some((self.query, status)),
            free: (!is_kept).then_some(self.free),
            extra: self.extra,
        }
    }

    pub(crate) fn freed(&self) -> Due {
        Due {
            query: None,
            free: Some(self.free),
            extra: self.extra,
        }
    }
}

/// Generalized requests of a rank.
#[derive(Default, Debug)]
pub(crate) struct GeneralizedRequests {
    /// The communicator of their messages, once there was one.
    pub(crate) comm: OnceCell<Comm>,
    /// Tag of the latest.
    pub(crate) tag: u32,
    pub(crate) due: VecDeque<Due>,
}

/// Function of an operation of the program: `MPI_User_function`, or `MPI_User_function_c`.
pub(crate) type UserFunction<N> =
    extern "C" fn(*const c_void, *mut c_void, *const N, *const Handle);

/// An operation of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserOp {
    pub(crate) function: AnyFunction,
    pub(crate) is_commutative: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyFunction {
    Small(UserFunction<c_int>),
    Large(UserFunction<i64>),
}

impl AnyFunction {
    pub(crate) fn call(self, incoming: &[u8], inout: &mut [u8], count: usize, datatype: Handle) {
        let (incoming, inout) = (incoming.as_ptr().cast(), inout.as_mut_ptr().cast());
        match self {
            Self::Small(function) => {
                let count = c_int::try_from(count).unwrap_or(c_int::MAX);
                function(incoming, inout, &raw const count, &raw const datatype);
            }
            Self::Large(function) => {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                function(incoming, inout, &raw const count, &raw const datatype);
            }
        }
    }
}
