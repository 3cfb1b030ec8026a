//! The process and its host as seen by a program: the process and the host of the rank. A call that
//! would act on all ranks is refused, or causes one warning per rank. If a thread or a process
//! cannot be made, the rank fails.
//!
//! *Not modelled*: signals from outside; threads.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;

use mpi::Level;

use super::memory;
use crate::bridge::{RankEnd, caller, set_errno, with_state};

/// Number of the process of rank 0.
const FIRST_PROCESS: c_int = 1000;

/// `SIG_ERR`, `SIG_DFL` and `SIG_IGN`.
const DEFAULT: usize = 0;
const IGNORED: usize = 1;

/// Warns of a call, once.
fn warn(call: &'static str, what: &str) {
    let is_first = with_state(|state| {
        let is_known = state.library.system.warned.contains(&call);
        if !is_known {
            state.library.system.warned.push(call);
        }
        !is_known
    });
    if is_first {
        let rank = caller();
        let line = rank.call_line();
        rank.world()
            .log(Level::Warn, format_args!("{call}{line}: {what}"));
    }
}

/// Refuses a call.
fn refuse_call(call: &'static str, what: &str) -> c_int {
    warn(call, what);
    set_errno(libc::ENOSYS);
    -1
}

pub(super) extern "C" fn process() -> c_int {
    let rank = caller().world().rank();
    FIRST_PROCESS.saturating_add(c_int::try_from(rank).unwrap_or(c_int::MAX))
}

extern "C" fn parent() -> c_int {
    FIRST_PROCESS - 1
}

extern "C" fn host_name(place: *mut c_char, length: usize) -> c_int {
    let name = caller().world().host_name();
    if place.is_null() || length <= name.len() {
        set_errno(libc::ENAMETOOLONG);
        return -1;
    }
    memory::store_text(place, ptr::null_mut(), &name, length);
    0
}

extern "C" fn name_of_system(place: *mut libc::utsname) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { libc::uname(place) };
    if result == 0 {
        // SAFETY: the call above has filled the structure of the program.
        let host = unsafe { &raw mut (*place).nodename };
        let length = size_of::<libc::utsname>() / 6;
        memory::store_text(
            host.cast(),
            ptr::null_mut(),
            &caller().world().host_name(),
            length,
        );
    }
    result
}

extern "C" fn configuration(name: c_int) -> c_long {
    match name {
        libc::_SC_NPROCESSORS_CONF | libc::_SC_NPROCESSORS_ONLN => 1,
        // SAFETY: the program's own call.
        _ => unsafe { libc::sysconf(name) },
    }
}

extern "C" fn one() -> c_int {
    1
}

/// Fails the rank at a call that the rank cannot make: a program that ignores an error would
/// continue with wrong results.
fn stop(call: &str, why: &str) -> ! {
    let rank = caller();
    let line = rank.call_line();
    rank.finish(RankEnd::Failed(format!("{call}{line}: {why}")))
}

pub(super) extern "C" fn fork() -> c_int {
    stop("fork", "a rank cannot be copied")
}

pub(super) extern "C" fn execute() -> c_int {
    stop("exec", "it would end all ranks")
}

extern "C" fn start_thread() -> c_int {
    stop("pthread_create", "threads are not supported")
}

extern "C" fn start_c_thread() -> c_int {
    stop("thrd_create", "threads are not supported")
}

/// Fails the rank that makes a thread of C++.
pub(crate) extern "C" fn start_cpp_thread() -> c_int {
    caller().note_library_call();
    stop("std::thread", "threads are not supported")
}

extern "C" fn make_timer() -> c_int {
    refuse_call("a timer", "its signal would be that of all ranks: refused")
}

extern "C" fn change_folder(path: *const c_char) -> c_int {
    if caller().is_checked() {
        return refuse_call("chdir", "the directory is that of all executions: refused");
    }
    warn("chdir", "the directory is that of all ranks");
    // SAFETY: the program's own call.
    unsafe { libc::chdir(path) }
}

extern "C" fn change_mask(mask: libc::mode_t) -> libc::mode_t {
    warn("umask", "the mask is that of all ranks");
    // SAFETY: the program's own call.
    unsafe { libc::umask(mask) }
}

extern "C" fn set_locale(category: c_int, locale: *const c_char) -> *mut c_char {
    // SAFETY: the program's own calls; the texts are compared before the next call.
    unsafe {
        let before = memory::text(libc::setlocale(category, ptr::null()));
        let result = libc::setlocale(category, locale);
        if !result.is_null() && memory::text(result) != before {
            warn("setlocale", "the locale is that of all ranks");
        }
        result
    }
}

/// `signal`: notes the handler, which only `raise` calls.
extern "C" fn set_handler(signal: c_int, handler: usize) -> usize {
    let before = with_state(|state| state.library.system.handlers.insert(signal, handler));
    before.unwrap_or(DEFAULT)
}

extern "C" fn set_action(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    let known = with_state(|state| state.library.system.handlers.get(&signal).copied());
    if !before.is_null() {
        // SAFETY: the program gave this place; all zero is an action.
        unsafe {
            ptr::write_bytes(before, 0, 1);
            (*before).sa_sigaction = known.unwrap_or(DEFAULT);
        }
    }
    if !action.is_null() {
        // SAFETY: the program gave this action.
        let handler = unsafe { (*action).sa_sigaction };
        set_handler(signal, handler);
    }
    0
}

extern "C" fn raise(signal: c_int) -> c_int {
    let known = with_state(|state| state.library.system.handlers.get(&signal).copied());
    match known.unwrap_or(DEFAULT) {
        IGNORED => 0,
        DEFAULT if matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG) => 0,
        DEFAULT => {
            let rank = caller();
            let text = format!("the program raised signal {signal}{}", rank.call_line());
            rank.finish(RankEnd::Failed(text))
        }
        handler => {
            // SAFETY: the program has set this function as a handler of signals, on whose stack
            // this runs.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
            0
        }
    }
}

/// `kill`: a rank can send a signal only to itself.
extern "C" fn kill(target: c_int, signal: c_int) -> c_int {
    if target == process() {
        return raise(signal);
    }
    refuse_call("kill", "other processes cannot be reached: refused")
}

/// `alarm`, `setitimer`, `sigprocmask`, `pthread_sigmask`: no signal comes.
extern "C" fn nothing() -> c_int {
    0
}

/// `getrandom`: under a model checker the same numbers in each execution.
pub(super) extern "C" fn random(place: *mut c_void, length: usize, flags: u32) -> isize {
    let rank = caller();
    if !rank.is_checked() {
        // SAFETY: the program's own call.
        return unsafe { libc::getrandom(place, length, flags) };
    }
    let number = rank.world().rank() as u64;
    for index in 0..length {
        let drawn = with_state(|state| {
            state.library.system.drawn += 1;
            state.library.system.drawn
        });
        // SplitMix64.
        let mut mixed = (drawn | number << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        memory::store(place.cast::<u8>().wrapping_add(index), (mixed >> 56) as u8);
    }
    length.cast_signed()
}

extern "C" fn entropy(place: *mut c_void, length: usize) -> c_int {
    -c_int::from(random(place, length, 0) < 0)
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type Plain = extern "C" fn() -> c_int;
    Some(match symbol {
        "getpid" | "gettid" => process as Plain as usize,
        "getppid" => parent as Plain as usize,
        "gethostname" => host_name as extern "C" fn(*mut c_char, usize) -> c_int as usize,
        "uname" => name_of_system as extern "C" fn(*mut libc::utsname) -> c_int as usize,
        "sysconf" => configuration as extern "C" fn(c_int) -> c_long as usize,
        "get_nprocs" | "get_nprocs_conf" => one as Plain as usize,
        "fork" | "vfork" | "clone" => fork as Plain as usize,
        "execl" | "execle" | "execlp" | "execv" | "execve" | "execvp" | "execvpe" | "fexecve" => {
            execute as Plain as usize
        }
        "timer_create" | "timerfd_create" => make_timer as Plain as usize,
        "pthread_create" => start_thread as Plain as usize,
        "thrd_create" => start_c_thread as Plain as usize,
        _ if symbol.starts_with("_ZNSt6thread15_M_start_thread") => {
            start_cpp_thread as Plain as usize
        }
        "chdir" => change_folder as extern "C" fn(*const c_char) -> c_int as usize,
        "umask" => change_mask as extern "C" fn(libc::mode_t) -> libc::mode_t as usize,
        "setlocale" => set_locale as extern "C" fn(c_int, *const c_char) -> *mut c_char as usize,
        "signal" | "__sysv_signal" | "sysv_signal" | "bsd_signal" => {
            set_handler as extern "C" fn(c_int, usize) -> usize as usize
        }
        "sigaction" => {
            let function: extern "C" fn(
                c_int,
                *const libc::sigaction,
                *mut libc::sigaction,
            ) -> c_int = set_action;
            function as usize
        }
        "raise" => raise as extern "C" fn(c_int) -> c_int as usize,
        "kill" => kill as extern "C" fn(c_int, c_int) -> c_int as usize,
        "alarm" | "ualarm" | "setitimer" | "sigprocmask" | "pthread_sigmask" => {
            nothing as Plain as usize
        }
        "getrandom" => random as extern "C" fn(*mut c_void, usize, u32) -> isize as usize,
        "getentropy" => entropy as extern "C" fn(*mut c_void, usize) -> c_int as usize,
        _ => return None,
    })
}
