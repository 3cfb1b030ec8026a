//! Random numbers of the C library: a state per rank, with the algorithms and numbers of the GNU C
//! library.
//!
//! *Not there*: `initstate`, `setstate`; a program that calls them shares a state with the others.

use std::ffi::{c_double, c_int, c_long, c_uint};

use crate::bridge::with_state;
use crate::state::library::{Drand48Data, RandomData};

unsafe extern "C" {
    fn srandom_r(seed: c_uint, data: *mut RandomData) -> c_int;
    fn random_r(data: *mut RandomData, result: *mut i32) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Drand48Data) -> c_int;
    fn drand48_r(data: *mut Drand48Data, result: *mut c_double) -> c_int;
    fn lrand48_r(data: *mut Drand48Data, result: *mut c_long) -> c_int;
    fn mrand48_r(data: *mut Drand48Data, result: *mut c_long) -> c_int;
}

extern "C" fn random() -> c_long {
    with_state(|state| {
        let mut result = 0;
        // SAFETY: the state is initialized, and belongs to this rank.
        unsafe { random_r(state.library.random.data(), &raw mut result) };
        c_long::from(result)
    })
}

extern "C" fn seed_random(seed: c_uint) {
    // SAFETY: the state is initialized, and belongs to this rank.
    with_state(|state| unsafe { srandom_r(seed, state.library.random.data()) });
}

extern "C" fn seed_48(seed: c_long) {
    // SAFETY: the structure is that of the C library, and belongs to this rank.
    with_state(|state| unsafe { srand48_r(seed, &raw mut state.library.random.drand48) });
}

extern "C" fn real_48() -> c_double {
    with_state(|state| {
        let mut result = 0.0;
        // SAFETY: as above.
        unsafe { drand48_r(&raw mut state.library.random.drand48, &raw mut result) };
        result
    })
}

extern "C" fn positive_48() -> c_long {
    with_state(|state| {
        let mut result = 0;
        // SAFETY: as above.
        unsafe { lrand48_r(&raw mut state.library.random.drand48, &raw mut result) };
        result
    })
}

extern "C" fn integer_48() -> c_long {
    with_state(|state| {
        let mut result = 0;
        // SAFETY: as above.
        unsafe { mrand48_r(&raw mut state.library.random.drand48, &raw mut result) };
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
