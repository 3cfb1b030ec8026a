//! Random numbers of the C library: a state per rank, with the algorithms and numbers of the GNU C
//! library.
//!
//! *Not there*: `initstate`, `setstate`; a program that calls them shares a state with the others.

use std::ffi::{c_char, c_double, c_int, c_long, c_uint};
use std::fmt;
use std::ptr;

use crate::bridge::with;

/// Bytes of the state with which a program starts (`TYPE_3`).
const STATE: usize = 128;

/// `struct random_data` of the GNU C library: 6 pointers and integers.
#[repr(C)]
struct RandomData {
    pointers: [*mut i32; 3],
    integers: [c_int; 3],
    end: *mut i32,
}

/// `struct drand48_data` of the GNU C library.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Drand48Data {
    numbers: [u16; 8],
    factor: u64,
}

unsafe extern "C" {
    fn initstate_r(seed: c_uint, state: *mut c_char, length: usize, data: *mut RandomData)
    -> c_int;
    fn srandom_r(seed: c_uint, data: *mut RandomData) -> c_int;
    fn random_r(data: *mut RandomData, result: *mut i32) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Drand48Data) -> c_int;
    fn drand48_r(data: *mut Drand48Data, result: *mut c_double) -> c_int;
    fn lrand48_r(data: *mut Drand48Data, result: *mut c_long) -> c_int;
    fn mrand48_r(data: *mut Drand48Data, result: *mut c_long) -> c_int;
}

/// States of the generators of a rank, made when they are first used.
#[derive(Default)]
pub(super) struct Random {
    random: Option<Box<(RandomData, [c_char; STATE])>>,
    drand48: Drand48Data,
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl Random {
    fn data(&mut self) -> *mut RandomData {
        let state = self.random.get_or_insert_with(|| {
            let data = RandomData {
                pointers: [ptr::null_mut(); 3],
                integers: [0; 3],
                end: ptr::null_mut(),
            };
            let mut state = Box::new((data, [0; STATE]));
            // SAFETY: the structure is that of the C library, all zero, and the state has this
            // length; both are in a box, so they stay where they are.
            unsafe { initstate_r(1, state.1.as_mut_ptr(), STATE, &raw mut state.0) };
            state
        });
        &raw mut state.0
    }
}

extern "C" fn random() -> c_long {
    with(|state| {
        let mut result = 0;
        // SAFETY: the state is initialized, and belongs to this rank.
        unsafe { random_r(state.random.data(), &raw mut result) };
        c_long::from(result)
    })
}

extern "C" fn seed_random(seed: c_uint) {
    // SAFETY: the state is initialized, and belongs to this rank.
    with(|state| unsafe { srandom_r(seed, state.random.data()) });
}

extern "C" fn seed_48(seed: c_long) {
    // SAFETY: the structure is that of the C library, and belongs to this rank.
    with(|state| unsafe { srand48_r(seed, &raw mut state.random.drand48) });
}

extern "C" fn real_48() -> c_double {
    with(|state| {
        let mut result = 0.0;
        // SAFETY: as above.
        unsafe { drand48_r(&raw mut state.random.drand48, &raw mut result) };
        result
    })
}

extern "C" fn positive_48() -> c_long {
    with(|state| {
        let mut result = 0;
        // SAFETY: as above.
        unsafe { lrand48_r(&raw mut state.random.drand48, &raw mut result) };
        result
    })
}

extern "C" fn integer_48() -> c_long {
    with(|state| {
        let mut result = 0;
        // SAFETY: as above.
        unsafe { mrand48_r(&raw mut state.random.drand48, &raw mut result) };
        result
    })
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type Long = extern "C" fn() -> c_long;
    Some(match symbol {
        // An int and a long are returned in one register.
        "rand" | "random" => random as Long as usize,
        "srand" | "srandom" => seed_random as extern "C" fn(c_uint) as usize,
        "srand48" => seed_48 as extern "C" fn(c_long) as usize,
        "drand48" => real_48 as extern "C" fn() -> c_double as usize,
        "lrand48" => positive_48 as Long as usize,
        "mrand48" => integer_48 as Long as usize,
        _ => return None,
    })
}
