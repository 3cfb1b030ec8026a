//! `exit` called inside of the C library, as by `errx`, `error` or `argp_usage`, or by a system
//! library, and `abort` called by such a library: both end the calling rank, not the process.
//!
//! `exit` first runs the destructors of the thread, which belong to this executable, then the
//! functions registered for the end of the process. On the stack of a rank both are restored, and
//! the rank ends with the exit status. *Not reached*: `abort` inside of the C library, as by `free`
//! of an invalid pointer, which may hold a lock that simrun needs. From 2.41 on the GNU C library
//! runs `exit` in one thread at a time: other threads of a search wait until the first thread ends.

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;

use super::{current, faults};
use crate::exports::process;
use crate::host;

type Destructor = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// A destructor of a thread-local variable of this executable or of a library of the system.
struct Registered {
    function: Destructor,
    object: *mut c_void,
    library: *mut c_void,
    /// The next one that a rank has not run.
    next: *mut Self,
}

/// Threads of a search at most in which ranks call `exit` at one time: each takes one registration.
const THREADS: u32 = 64;

thread_local! {
    /// Destructors that were not run because a rank has called `exit`, the latest first.
    static KEPT: Cell<*mut Registered> = const { Cell::new(ptr::null_mut()) };
}

/// `__cxa_thread_atexit_impl` of this process, which replaces the function of the C library.
///
/// # Safety
/// The caller keeps the contract of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    function: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    let registered = Box::new(Registered {
        function,
        object,
        library,
        next: ptr::null_mut(),
    });
    // SAFETY: the caller's contract; the function gets what it expects, once.
    unsafe { host::__cxa_thread_atexit_impl(destroy, Box::into_raw(registered).cast(), library) }
}

/// Runs a destructor, unless a rank is running.
unsafe extern "C" fn destroy(registered: *mut c_void) {
    let registered: *mut Registered = registered.cast();
    if current().is_some() {
        // SAFETY: the object was made by the function above, and is put back before it is used.
        unsafe { (*registered).next = KEPT.replace(registered) };
        return;
    }
    // SAFETY: as above; the C library calls each once, with what was registered.
    unsafe {
        let registered = Box::from_raw(registered);
        (registered.function)(registered.object);
    }
}

/// The process ends, or the rank that is running.
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if current().is_none() {
        return;
    }
    let mut kept = KEPT.replace(ptr::null_mut());
    while !kept.is_null() {
        // SAFETY: the objects are those of the functions above, which the C library does not know
        // any more.
        unsafe {
            let next = (*kept).next;
            host::__cxa_thread_atexit_impl(destroy, kept.cast(), (*kept).library);
            kept = next;
        }
    }
    register_exit_hook();
    process::exit(status);
}

/// `abort` of this process. The function has no frame, so that the return address is the next word.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn abort() -> ! {
    naked_asm!("mov rdi, [rsp]", "jmp {abort}", abort = sym abort_from)
}

/// Ends the rank if a library has called `abort` on the stack of the rank. Otherwise ends the
/// process, as for a defect of simrun.
extern "C" fn abort_from(caller: usize) -> ! {
    if let Some(rank) = current().filter(|_| !faults::is_own_text(caller)) {
        rank.note_library_call();
        process::abort();
    }
    host::abort_process()
}

/// Registers the function for the end of the process; the C library removes the registration at the
/// call.
fn register_exit_hook() {
    // SAFETY: the function takes these arguments, and is never unloaded.
    unsafe { on_exit(at_exit, ptr::null_mut()) };
}

/// Prepares the process for ranks that call `exit`. This happens once, at the start of the first
/// rank, because the function that was registered last is called first.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| (0..THREADS).for_each(|_| register_exit_hook()));
    std::hint::black_box(abort as extern "C" fn() -> !);
}
