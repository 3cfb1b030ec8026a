//! The C library of the process: functions that this executable has under the same names, and
//! standard input.

#![expect(unsafe_code, reason = "functions of the C library")]

use std::ffi::{CStr, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{FILE, clockid_t, nfds_t, pollfd, pthread_t, timespec};

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

/// Makes functions that call the functions of the C library under the same names.
macro_rules! library_functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            /// The function of the C library under this name.
            ///
            /// # Safety
            /// The caller keeps the contract of the function.
            pub(crate) unsafe fn $name($($argument: $kind),*) -> $result {
                // The literal is a name without a 0 in it.
                const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes(),
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without a 0"),
                };
                static NEXT: $crate::host::Next = $crate::host::Next::new(NAME);
                type Function = unsafe extern "C" fn($($kind),*) -> $result;
                // SAFETY: the C library has a function of this name with these arguments; the
                // caller's contract.
                unsafe {
                    let function: Function = std::mem::transmute(NEXT.address());
                    function($($argument),*)
                }
            }
        )*
    };
}
pub(crate) use library_functions;

library_functions! {
    fn __cxa_thread_atexit_impl(function: unsafe extern "C" fn(*mut c_void), object: *mut c_void, library: *mut c_void) -> c_int;
    fn clock_gettime(clock: clockid_t, place: *mut timespec) -> c_int;
    fn poll(descriptors: *mut pollfd, count: nfds_t, time: c_int) -> c_int;
    fn pthread_create(thread: *mut pthread_t, attributes: *const c_void, routine: *const c_void, argument: *mut c_void) -> c_int;
    fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long;
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
