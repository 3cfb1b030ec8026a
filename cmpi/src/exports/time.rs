//! Time of the C library: simulated time.
//!
//! The simulation begins at 2000-01-01 00:00:00 UTC. *Not modelled*: processor time, which is the
//! simulated time too.

use std::ffi::{c_int, c_long, c_uint, c_void};

use libc::{timespec, timeval};

use super::memory;
use crate::bridge::{block, caller, read_clock};

/// The beginning of the simulation in seconds since 1970.
const EPOCH: i64 = 946_684_800;

/// Returns the simulated time in whole seconds and nanoseconds.
fn now() -> (i64, c_long) {
    let time = read_clock();
    #[expect(clippy::cast_possible_truncation, reason = "simulated times are short")]
    let (seconds, rest) = (time.floor() as i64, ((time - time.floor()) * 1e9) as c_long);
    (seconds, rest)
}

fn sleep_for(seconds: f64) {
    let rank = caller();
    rank.enter_call();
    block(async |state| state.world.sleep(seconds.max(0.0)).await);
    rank.leave_call();
}

extern "C" fn time(place: *mut i64) -> i64 {
    let seconds = EPOCH + now().0;
    memory::store(place, seconds);
    seconds
}

extern "C" fn clock() -> c_long {
    let (seconds, rest) = now();
    seconds * 1_000_000 + rest / 1000
}

extern "C" fn time_of_day(place: *mut timeval, _zone: *mut c_void) -> c_int {
    let (seconds, rest) = now();
    memory::store(
        place,
        timeval {
            tv_sec: EPOCH + seconds,
            tv_usec: rest / 1000,
        },
    );
    0
}

extern "C" fn clock_time(clock: c_int, place: *mut timespec) -> c_int {
    let (seconds, rest) = now();
    let begin = if clock == libc::CLOCK_REALTIME {
        EPOCH
    } else {
        0
    };
    memory::store(
        place,
        timespec {
            tv_sec: begin + seconds,
            tv_nsec: rest,
        },
    );
    0
}

extern "C" fn sleep(seconds: c_uint) -> c_uint {
    sleep_for(f64::from(seconds));
    0
}

extern "C" fn microsleep(microseconds: c_uint) -> c_int {
    sleep_for(f64::from(microseconds) * 1e-6);
    0
}

extern "C" fn nanosleep(wanted: *const timespec, _rest: *mut timespec) -> c_int {
    if let Ok(wanted) = memory::load(wanted, "req") {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a duration of centuries may be inexact"
        )]
        sleep_for(wanted.tv_sec as f64 + wanted.tv_nsec as f64 * 1e-9);
    }
    0
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type OfInt = extern "C" fn(c_uint) -> c_uint;
    Some(match symbol {
        "time" => time as extern "C" fn(*mut i64) -> i64 as usize,
        "clock" => clock as extern "C" fn() -> c_long as usize,
        "gettimeofday" => time_of_day as extern "C" fn(*mut timeval, *mut c_void) -> c_int as usize,
        "clock_gettime" => clock_time as extern "C" fn(c_int, *mut timespec) -> c_int as usize,
        "sleep" => sleep as OfInt as usize,
        "usleep" => microsleep as extern "C" fn(c_uint) -> c_int as usize,
        "nanosleep" => nanosleep as extern "C" fn(*const timespec, *mut timespec) -> c_int as usize,
        _ => return None,
    })
}
