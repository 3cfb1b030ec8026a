//! Clocks of the C library and of C++: simulated time.
//!
//! The simulation begins at 2000-01-01 00:00:00 UTC; all other clocks begin at 0. The processor
//! time of a rank is all time except sleep, since an MPI waits by polling. The part in which the
//! program computes is user time, the rest is system time. *Not modelled*: other resources in the
//! result of `getrusage`, which are 0; the instruction `rdtsc`.

use std::ffi::{c_int, c_long, c_short, c_ushort, c_void};

use libc::{clockid_t, rusage, timespec, timeval, tms};

use super::memory;
use crate::bridge::{caller, read_clock, set_errno};

/// The beginning of the simulation in seconds since 1970.
const EPOCH: i64 = 946_684_800;

/// Clock ticks in a second, as `sysconf(_SC_CLK_TCK)` says on Linux.
const TICKS: f64 = 100.0;

/// `TIME_UTC`.
const TIME_UTC: c_int = 1;

/// `CLOCK_SGI_CYCLE`, which Linux does not have any more.
const NO_CLOCK: clockid_t = 10;

/// `struct timeb`.
#[repr(C)]
struct Timeb {
    seconds: i64,
    milliseconds: c_ushort,
    timezone: c_short,
    is_summer: c_short,
}

/// Returns whole seconds and nanoseconds of a time in seconds.
pub(super) fn split_seconds(time: f64) -> (i64, c_long) {
    let nanoseconds = ((time - time.floor()) * 1e9).round();
    #[expect(clippy::cast_possible_truncation, reason = "simulated times are short")]
    let (seconds, rest) = (time.floor() as i64, nanoseconds as c_long);
    match rest {
        1_000_000_000 => (seconds + 1, 0),
        _ => (seconds, rest),
    }
}

fn to_timespec(time: f64) -> timespec {
    let (tv_sec, tv_nsec) = split_seconds(time);
    timespec { tv_sec, tv_nsec }
}

fn to_timeval(time: f64) -> timeval {
    let (tv_sec, nanoseconds) = split_seconds(time);
    timeval {
        tv_sec,
        tv_usec: nanoseconds / 1000,
    }
}

/// Returns true for a clock that counts from 1970.
const fn is_calendar(clock: clockid_t) -> bool {
    matches!(
        clock,
        libc::CLOCK_REALTIME
            | libc::CLOCK_REALTIME_COARSE
            | libc::CLOCK_REALTIME_ALARM
            | libc::CLOCK_TAI
    )
}

/// Returns the time of a clock. A negative number denotes a clock of processor time.
pub(super) fn clock_now(clock: clockid_t) -> Option<timespec> {
    let time = match clock {
        NO_CLOCK => return None,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => processor_time().0,
        ..0 => processor_time().0,
        0..=libc::CLOCK_TAI => read_clock(),
        _ => return None,
    };
    let mut time = to_timespec(time);
    if is_calendar(clock) {
        time.tv_sec += EPOCH;
    }
    Some(time)
}

/// Returns the seconds from now until a time of a clock.
#[expect(clippy::cast_precision_loss, reason = "as inexact as simulated times")]
pub(super) fn seconds_until(clock: clockid_t, time: timespec) -> f64 {
    let begin = if is_calendar(clock) { EPOCH } else { 0 };
    let end = time.tv_sec.saturating_sub(begin) as f64 + time.tv_nsec as f64 * 1e-9;
    (end - read_clock()).max(0.0)
}

/// Returns the clock that a time is of, where a program does not say: no simulation lasts until the
/// calendar.
pub(super) const fn clock_of(time: timespec) -> clockid_t {
    if time.tv_sec < EPOCH / 2 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// Returns the processor time and the user time of the rank in seconds.
fn processor_time() -> (f64, f64) {
    let now = read_clock();
    let (computed, slept) = caller().times();
    let processor = (now - slept).max(0.0);
    (processor, computed.min(processor))
}

pub(crate) extern "C" fn time(place: *mut i64) -> i64 {
    let seconds = EPOCH + split_seconds(read_clock()).0;
    memory::store(place, seconds);
    seconds
}

pub(crate) extern "C" fn clock() -> c_long {
    let (seconds, rest) = split_seconds(processor_time().0);
    seconds * 1_000_000 + rest / 1000
}

pub(crate) extern "C" fn time_of_day(place: *mut timeval, _zone: *mut c_void) -> c_int {
    let mut now = to_timeval(read_clock());
    now.tv_sec += EPOCH;
    memory::store(place, now);
    0
}

pub(crate) extern "C" fn clock_time(clock: clockid_t, place: *mut timespec) -> c_int {
    let Some(now) = clock_now(clock) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    memory::store(place, now);
    0
}

extern "C" fn clock_resolution(clock: clockid_t, place: *mut timespec) -> c_int {
    if clock == NO_CLOCK || clock > libc::CLOCK_TAI {
        set_errno(libc::EINVAL);
        return -1;
    }
    memory::store(
        place,
        timespec {
            tv_sec: 0,
            tv_nsec: 1,
        },
    );
    0
}

/// `clock_settime`, `settimeofday`, `stime`, `adjtime`: fail as for a user without permission.
extern "C" fn set_clock() -> c_int {
    set_errno(libc::EPERM);
    -1
}

extern "C" fn time_in_base(place: *mut timespec, base: c_int) -> c_int {
    if base != TIME_UTC {
        return 0;
    }
    clock_time(libc::CLOCK_REALTIME, place);
    base
}

extern "C" fn resolution_in_base(place: *mut timespec, base: c_int) -> c_int {
    if base != TIME_UTC {
        return 0;
    }
    clock_resolution(libc::CLOCK_REALTIME, place);
    base
}

/// `ftime`.
extern "C" fn time_with_zone(place: *mut Timeb) -> c_int {
    let (seconds, rest) = split_seconds(read_clock());
    let milliseconds = c_ushort::try_from(rest / 1_000_000).unwrap_or(0);
    memory::store(
        place,
        Timeb {
            seconds: EPOCH + seconds,
            milliseconds,
            timezone: 0,
            is_summer: 0,
        },
    );
    0
}

pub(crate) extern "C" fn resources(who: c_int, place: *mut rusage) -> c_int {
    let (user, system) = match who {
        libc::RUSAGE_SELF | libc::RUSAGE_THREAD => {
            let (processor, user) = processor_time();
            (user, processor - user)
        }
        // No process is started.
        libc::RUSAGE_CHILDREN => (0.0, 0.0),
        _ => {
            set_errno(libc::EINVAL);
            return -1;
        }
    };
    // SAFETY: all zero is such a structure, of numbers.
    let mut found: rusage = unsafe { std::mem::zeroed() };
    (found.ru_utime, found.ru_stime) = (to_timeval(user), to_timeval(system));
    memory::store(place, found);
    0
}

/// `times`.
pub(crate) extern "C" fn ticks(place: *mut tms) -> c_long {
    #[expect(clippy::cast_possible_truncation, reason = "simulated times are short")]
    let ticks = |seconds: f64| (seconds * TICKS) as c_long;
    let (processor, user) = processor_time();
    memory::store(
        place,
        tms {
            tms_utime: ticks(user),
            tms_stime: ticks(processor - user),
            tms_cutime: 0,
            tms_cstime: 0,
        },
    );
    ticks(read_clock())
}

fn nanoseconds(clock: clockid_t) -> i64 {
    let now = clock_now(clock).unwrap_or(to_timespec(0.0));
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// `std::chrono::system_clock::now`.
extern "C" fn system_clock() -> i64 {
    nanoseconds(libc::CLOCK_REALTIME)
}

/// `std::chrono::system_clock::now` of programs compiled before GCC 4.8, in microseconds.
extern "C" fn old_system_clock() -> i64 {
    system_clock() / 1000
}

/// `std::chrono::steady_clock::now`.
extern "C" fn steady_clock() -> i64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let function = match symbol {
        "time" => time as *const (),
        "clock" => clock as *const (),
        "gettimeofday" => time_of_day as *const (),
        "clock_gettime" => clock_time as *const (),
        "clock_getres" => clock_resolution as *const (),
        "clock_settime" | "settimeofday" | "stime" | "adjtime" => set_clock as *const (),
        "timespec_get" => time_in_base as *const (),
        "timespec_getres" => resolution_in_base as *const (),
        "ftime" => time_with_zone as *const (),
        "getrusage" => resources as *const (),
        "times" => ticks as *const (),
        "_ZNSt6chrono3_V212system_clock3nowEv" => system_clock as *const (),
        "_ZNSt6chrono12system_clock3nowEv" => old_system_clock as *const (),
        "_ZNSt6chrono3_V212steady_clock3nowEv" => steady_clock as *const (),
        _ => return None,
    };
    Some(function as usize)
}
