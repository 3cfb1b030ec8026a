//! The C library of the process: functions that this executable has under the same names, and
//! standard input.

#![expect(unsafe_code, reason = "functions of the C library")]

use std::ffi::{CStr, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{FILE, clockid_t, nfds_t, pollfd, timespec};

/// A function of the C library that has the same name as a function of this executable.
pub(crate) struct Next {
    name: &'static CStr,
    /// 0 until the first use.
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicUsize::new(0),
        }
    }

    pub(crate) fn address(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: the name ends with 0; the call only looks it up.
                let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
                assert!(found != 0, "the C library has no function {:?}", self.name);
                self.address.store(found, Ordering::Relaxed);
                found
            }
            found => found,
        }
    }
}

/// Performs a system call.
///
/// # Safety
/// The caller keeps the contract of the system call.
pub(crate) unsafe fn call_system(number: c_long, arguments: [c_long; 6]) -> c_long {
    static NEXT: Next = Next::new(c"syscall");
    type Call =
        unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the function of the C library, which takes as many arguments as the call has, from
    // the places of these; the caller's contract.
    unsafe {
        let function: Call = std::mem::transmute(NEXT.address());
        function(number, a, b, c, d, e, f)
    }
}

/// `__cxa_thread_atexit_impl` of the C library.
///
/// # Safety
/// The caller keeps the contract of the function of the C library.
pub(crate) unsafe fn register_at_thread_exit(
    function: unsafe extern "C" fn(*mut c_void),
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    static NEXT: Next = Next::new(c"__cxa_thread_atexit_impl");
    type Register =
        unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the function of the C library with these arguments; the caller's contract.
    unsafe {
        let register: Register = std::mem::transmute(NEXT.address());
        register(function, object, library)
    }
}

/// `abort` of the C library.
pub(crate) fn abort_process() -> ! {
    // SAFETY: the function of the C library takes no arguments and does not return.
    unsafe {
        let function: unsafe extern "C" fn() -> ! = std::mem::transmute(ABORT.address());
        function()
    }
}

/// The address is resolved in advance: at the time of an abort, memory may be short.
pub(crate) static ABORT: Next = Next::new(c"abort");

/// Reads a clock of this machine.
///
/// # Safety
/// `place` is one of a time.
pub(crate) unsafe fn read_clock(clock: clockid_t, place: *mut timespec) -> c_int {
    static NEXT: Next = Next::new(c"clock_gettime");
    type Function = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;
    // SAFETY: the function of the C library with these arguments; the caller's contract.
    unsafe { std::mem::transmute::<usize, Function>(NEXT.address())(clock, place) }
}

/// Asks the system about descriptors, waiting for some milliseconds.
///
/// # Safety
/// `descriptors` is the place of the given number of descriptors.
pub(crate) unsafe fn poll_system(descriptors: *mut pollfd, count: nfds_t, time: c_int) -> c_int {
    static NEXT: Next = Next::new(c"poll");
    type Function = unsafe extern "C" fn(*mut pollfd, nfds_t, c_int) -> c_int;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<usize, Function>(NEXT.address())(descriptors, count, time) }
}

unsafe extern "C" {
    static mut stdin: *mut FILE;
}

/// Addresses of the two streams of standard input: the stream of the process, and an empty stream,
/// which all ranks but the first use.
pub(crate) static INPUTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Returns the standard input of a rank: the stream of the process, or the empty stream.
pub(crate) fn input(has_input: bool) -> *mut FILE {
    INPUTS[usize::from(!has_input)].load(Ordering::Relaxed) as *mut FILE
}

/// Makes a stream the standard input of the C library while a rank runs.
pub(crate) fn set_input(stream: *mut FILE) {
    // SAFETY: the variable of the C library may be assigned to, and is aligned.
    let variable = unsafe { AtomicPtr::from_ptr(&raw mut stdin) };
    variable.store(stream, Ordering::Relaxed);
}
