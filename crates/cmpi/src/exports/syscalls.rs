//! `syscall`: calls of the system that a program makes itself. Those that this crate has as
//! functions are these functions; all others are those of the system.
//!
//! *Not noticed*: the instruction `syscall` in the text of a program.

use std::ffi::{c_int, c_long};

use super::{descriptors, process, system, time, waits};
use crate::bridge::set_errno;
use crate::interposed::host_syscall;

/// Performs a call with its number and arguments; the C library reads as many from the same places.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an argument of type int is in the lower half"
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
    let (first, second, third) = (a as c_int, b as c_int, c as c_int);
    let result = match number {
        libc::SYS_exit | libc::SYS_exit_group => process::end_at_once(first),
        libc::SYS_clock_gettime => time::clock_time(first, b as *mut _),
        libc::SYS_gettimeofday => time::time_of_day(a as *mut _, b as *mut _),
        libc::SYS_time => return time::time(a as *mut _),
        libc::SYS_getrusage => time::resources(first, b as *mut _),
        libc::SYS_times => return time::ticks(a as *mut _),
        libc::SYS_nanosleep => waits::nanosleep(a as *const _, b as *mut _),
        libc::SYS_clock_nanosleep => {
            match waits::clock_sleep(first, second, c as *const _, d as *mut _) {
                0 => 0,
                error => {
                    set_errno(error);
                    -1
                }
            }
        }
        libc::SYS_poll => waits::poll(a as *mut _, b.cast_unsigned(), third),
        libc::SYS_futex => match waits::futex(a as *const _, second, third, d as *const _) {
            Some(result) => return result,
            // SAFETY: the program's own call, which does not wait.
            None => return unsafe { host_syscall(number, [a, b, c, d, e, f]) },
        },
        libc::SYS_write => {
            let length = usize::try_from(c).unwrap_or(0);
            return descriptors::write(first, b as *const _, length) as c_long;
        }
        libc::SYS_getpid | libc::SYS_gettid => system::process(),
        libc::SYS_getrandom => {
            let length = usize::try_from(b).unwrap_or(0);
            return system::random(a as *mut _, length, third.cast_unsigned()) as c_long;
        }
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => system::fork(),
        libc::SYS_execve | libc::SYS_execveat => system::execute(),
        // SAFETY: the program's own call.
        _ => return unsafe { host_syscall(number, [a, b, c, d, e, f]) },
    };
    c_long::from(result)
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    (symbol == "syscall").then_some(call as *const () as usize)
}
