//! Annotations of a program (`simrun.h`), and the counter of basic blocks.

use std::ffi::{c_char, c_double, c_int};

use crate::bridge::caller;

extern "C" fn compute(flops: c_double) {
    caller().compute(flops);
}

/// Returns 1 if the region is executed, and 0 if the mean time of the region has passed instead.
extern "C" fn begin_sample(file: *const c_char, line: c_int, iterations: c_int) -> c_int {
    let place = (file as usize, line.cast_unsigned());
    let count = u64::try_from(iterations).unwrap_or(0);
    c_int::from(caller().begin_region(place, count))
}

/// Returns 0, which ends the loop of the macro.
extern "C" fn end_sample() -> c_int {
    caller().end_region();
    0
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    Some(match symbol {
        "simrun_compute" => compute as extern "C" fn(c_double) as usize,
        "simrun_sample_begin" => {
            begin_sample as extern "C" fn(*const c_char, c_int, c_int) -> c_int as usize
        }
        "simrun_sample_end" => end_sample as extern "C" fn() -> c_int as usize,
        _ => return None,
    })
}
