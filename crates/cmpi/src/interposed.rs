//! Functions of the C library that this executable exports: the system libraries, which are loaded
//! once, are bound to these functions, for example `std::chrono` and `std::thread`.
//!
//! On the stack of a rank these functions act like the functions to which the program is bound;
//! elsewhere they call the C library. *Not reached*: calls inside of the C library. So each
//! function of the C library that reads the time or takes time is bound by name (`exports`).

#![expect(
    unsafe_code,
    reason = "C functions get addresses of the memory of a program"
)]

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::mem::MaybeUninit;

use libc::{clockid_t, nfds_t, pollfd, rusage, timespec, timeval, tms};

use crate::bridge::current;
use crate::exports::{system, time, waits};
use crate::host;

/// Makes exported functions, each named like its symbol. The module `originals` has the functions
/// of the C library under the same names. The function behind `=` is used on the stack of a rank.
macro_rules! exported {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty = $of_rank:expr;)*) => {
        /// Functions of the C library.
        mod originals {
            use super::*;

            host::library_functions! {
                $(fn $name($($argument: $kind),*) -> $result;)*
            }
        }

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
                if let Some(rank) = current() {
                    rank.note_library_call();
                    return $of_rank($($argument),*);
                }
                // SAFETY: the caller's contract, which is that of the C library.
                unsafe { originals::$name($($argument),*) }
            }
        )*

        /// Exported functions with their names.
        const EXPORTED: &[(&str, *const ())] = &[
            $((stringify!($name), $name as *const ()),)*
            ("pthread_create", pthread_create as *const ()),
            ("syscall", syscall as *const ()),
        ];
    };
}

exported! {
    clock() -> c_long = time::clock;
    clock_gettime(clock: clockid_t, place: *mut timespec) -> c_int = time::clock_time;
    clock_nanosleep(clock: clockid_t, flags: c_int, wanted: *const timespec, rest: *mut timespec) -> c_int = waits::clock_sleep;
    getrusage(who: c_int, place: *mut rusage) -> c_int = time::resources;
    gettimeofday(place: *mut timeval, zone: *mut c_void) -> c_int = time::time_of_day;
    nanosleep(wanted: *const timespec, rest: *mut timespec) -> c_int = waits::nanosleep;
    poll(descriptors: *mut pollfd, count: nfds_t, time: c_int) -> c_int = waits::poll;
    sleep(seconds: c_uint) -> c_uint = waits::sleep;
    time(place: *mut i64) -> i64 = time::time;
    times(place: *mut tms) -> c_long = time::ticks;
    usleep(microseconds: c_uint) -> c_int = waits::sleep_microseconds;
}

/// `pthread_create`. A thread started by C++ is a thread of the program; other libraries may start
/// threads for internal work, which do not call MPI.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    routine: *const c_void,
    argument: *mut c_void,
) -> c_int {
    if current().is_some() && is_of_cpp(routine) {
        return system::start_cpp_thread();
    }
    // SAFETY: the caller's contract.
    unsafe { host::pthread_create(thread, attributes, routine, argument) }
}

/// `syscall`: on a rank, a wait of a library with a timeout is a wait of the rank. Locks of this
/// executable wait without a timeout.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if let Some(rank) = current().filter(|_| number == libc::SYS_futex && d != 0) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the arguments are of this type"
        )]
        let (operation, value) = (b as c_int, c as c_int);
        rank.note_library_call();
        if let Some(result) =
            waits::futex(a as *const c_int, operation, value, d as *const timespec)
        {
            return result;
        }
    }
    // SAFETY: the caller's contract.
    unsafe { host::syscall(number, a, b, c, d, e, f) }
}

/// Returns true if a function is one of the library of C++.
fn is_of_cpp(function: *const c_void) -> bool {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the function fills the place if it finds the address, which is only compared; the
    // name is a text of a library that stays loaded.
    unsafe {
        if libc::dladdr(function, info.as_mut_ptr()) == 0 {
            return false;
        }
        let name: *const c_char = info.assume_init().dli_fname;
        !name.is_null()
            && CStr::from_ptr(name)
                .to_bytes()
                .windows(10)
                .any(|it| it == b"/libstdc++")
    }
}

/// Keeps the exported functions in this executable, of which no other code names them.
pub(crate) fn keep_exports() {
    host::ABORT.address();
    std::hint::black_box(EXPORTED);
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn libraries_are_bound_to_the_functions_of_this_executable() {
        keep_exports();
        for (name, function) in EXPORTED {
            let symbol = CString::new(*name).unwrap();
            // SAFETY: the name ends with 0; the call only looks it up.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
            assert_eq!(found.cast_const().cast(), *function, "{name}");
        }
    }

    #[test]
    fn outside_of_ranks_they_are_those_of_the_c_library() {
        let mut now = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the place is one of a time.
        let result = unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
        assert_eq!(result, 0);
        assert!(now.tv_sec > 1_700_000_000, "{}", now.tv_sec);
    }
}
