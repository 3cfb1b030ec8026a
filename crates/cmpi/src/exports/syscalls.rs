//! `syscall`: system calls that a program makes directly. If this crate has a function for a call,
//! this function is used; all other calls go to the system.
//!
//! *Not noticed*: the instruction `syscall` in the text of a program.

use std::ffi::{c_int, c_long};

use super::{descriptors, process, system, time, waits};
use crate::bridge::set_errno;
use crate::host;

/// Returns the name of the function that has the arguments of a call in the same places.
const fn function_of(number: c_long) -> Option<&'static str> {
    Some(match number {
        libc::SYS_time => "time",
        libc::SYS_times => "times",
        libc::SYS_gettimeofday => "gettimeofday",
        libc::SYS_getrusage => "getrusage",
        libc::SYS_clock_gettime => "clock_gettime",
        libc::SYS_clock_getres => "clock_getres",
        libc::SYS_clock_settime => "clock_settime",
        libc::SYS_settimeofday => "settimeofday",
        libc::SYS_nanosleep => "nanosleep",
        libc::SYS_poll => "poll",
        libc::SYS_ppoll => "ppoll",
        libc::SYS_select => "select",
        libc::SYS_pselect6 => "pselect",
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => "epoll_wait",
        libc::SYS_epoll_pwait2 => "epoll_pwait2",
        libc::SYS_rt_sigtimedwait => "sigtimedwait",
        libc::SYS_pause | libc::SYS_rt_sigsuspend => "pause",
        libc::SYS_alarm | libc::SYS_setitimer => "alarm",
        libc::SYS_timer_create | libc::SYS_timerfd_create => "timer_create",
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        libc::SYS_writev => "writev",
        libc::SYS_lseek => "lseek",
        libc::SYS_dup => "dup",
        libc::SYS_dup2 => "dup2",
        libc::SYS_dup3 => "dup3",
        libc::SYS_close => "close",
        libc::SYS_fcntl => "fcntl",
        libc::SYS_ioctl => "ioctl",
        libc::SYS_fstat => "fstat",
        libc::SYS_ftruncate => "ftruncate",
        libc::SYS_getpid | libc::SYS_gettid => "getpid",
        libc::SYS_getppid => "getppid",
        libc::SYS_uname => "uname",
        libc::SYS_chdir => "chdir",
        libc::SYS_umask => "umask",
        libc::SYS_kill | libc::SYS_tkill => "kill",
        libc::SYS_getrandom => "getrandom",
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => "fork",
        libc::SYS_execve | libc::SYS_execveat => "execve",
        _ => return None,
    })
}

/// Returns true if the function of a call returns 64 bits, and not a C `int`.
const fn is_long(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_time
            | libc::SYS_times
            | libc::SYS_read
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_lseek
            | libc::SYS_getrandom
    )
}

/// Performs a call with a number and arguments; the C library reads the same argument registers.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an argument or a result of type int is in the lower half"
)]
extern "C" fn call(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    type Function = extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    let (first, second, third) = (a as c_int, b as c_int, c as c_int);
    match number {
        libc::SYS_exit | libc::SYS_exit_group => return c_long::from(process::end_at_once(first)),
        libc::SYS_clock_nanosleep => {
            return match waits::clock_sleep(first, second, c as *const _, d as *mut _) {
                0 => 0,
                error => {
                    set_errno(error);
                    -1
                }
            };
        }
        libc::SYS_futex => {
            if let Some(result) = waits::futex(a as *const _, second, third, d as *const _) {
                return result;
            }
        }
        // The thread of a process comes behind the process.
        libc::SYS_tgkill => return call(libc::SYS_tkill, b, c, 0, 0, 0, 0),
        _ => {}
    }
    let found = function_of(number).and_then(|name| {
        [
            descriptors::address,
            system::address,
            time::address,
            waits::address,
        ]
        .into_iter()
        .find_map(|address| address(name))
    });
    let Some(found) = found else {
        // SAFETY: the program's own call, which does not wait.
        return unsafe { host::syscall(number, a, b, c, d, e, f) };
    };
    // SAFETY: a function of C with at most six arguments, none of which is a floating-point number.
    let function: Function = unsafe { std::mem::transmute(found) };
    match function(a, b, c, d, e, f) {
        result if is_long(number) => result,
        result => c_long::from(result as c_int),
    }
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    (symbol == "syscall").then_some(call as *const () as usize)
}
