//! Standard output and standard error: one stream of the C library each, for all ranks, which
//! hands what is written to the rank that is running.
//!
//! Lines of output are those of the program, as a rank in Rust prints them; lines of standard error
//! go to the log. Both streams have no buffer of their own, so that nothing of a rank stays behind
//! when another one runs. Standard input is that of the process at rank 0, and empty at the others
//! and under a model checker. *Not modelled*: `freopen` of these streams; `std::cin` is that of the
//! process at all ranks.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{FILE, size_t, ssize_t};

use crate::bridge::current;

type Write = extern "C" fn(*mut c_void, *const c_char, size_t) -> ssize_t;

/// `cookie_io_functions_t`.
#[repr(C)]
struct StreamFunctions {
    read: *const c_void,
    write: Write,
    seek: *const c_void,
    close: *const c_void,
}

unsafe extern "C" {
    static mut stdout: *mut FILE;
    static mut stderr: *mut FILE;
    static mut stdin: *mut FILE;
    fn fopencookie(
        cookie: *mut c_void,
        mode: *const c_char,
        functions: StreamFunctions,
    ) -> *mut FILE;
}

static INSTALLED: Once = Once::new();

/// Addresses of the streams of standard input: that of the process, and one that is empty, which
/// other ranks than the first have.
static INPUTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

extern "C" fn read_nothing(_: *mut c_void, _: *mut c_char, _: size_t) -> ssize_t {
    0
}

/// Returns the standard input of a rank, which has that of the process or none.
pub(crate) fn input(has_input: bool) -> *mut FILE {
    INPUTS[usize::from(!has_input)].load(Ordering::Relaxed) as *mut FILE
}

/// Puts the standard input of a rank in the place of that of the C library.
pub(crate) fn set_input(has_input: bool) {
    // SAFETY: the variable of the C library may be assigned to, and is aligned.
    let variable = unsafe { AtomicPtr::from_ptr(&raw mut stdin) };
    variable.store(input(has_input), Ordering::Relaxed);
}

/// Puts the streams in the place of those of the process, once, before libraries of programs look
/// for them. Nothing else in this process uses the streams of the C library.
pub(crate) fn install() {
    INSTALLED.call_once(|| {
        let functions = StreamFunctions {
            read: read_nothing as *const c_void,
            write,
            seek: ptr::null(),
            close: ptr::null(),
        };
        // SAFETY: as below.
        unsafe {
            let empty = fopencookie(ptr::null_mut(), c"r".as_ptr(), functions);
            INPUTS[0].store(stdin as usize, Ordering::Relaxed);
            INPUTS[1].store(empty as usize, Ordering::Relaxed);
        }
        for number in [0, 1] {
            let functions = StreamFunctions {
                read: ptr::null(),
                write,
                seek: ptr::null(),
                close: ptr::null(),
            };
            // SAFETY: the structure is that of the C library; the cookie is a number that only
            // `write` gets. The variables of the C library may be assigned to, and no other thread
            // uses them: no program runs before.
            unsafe {
                let stream = fopencookie(number as *mut c_void, c"w".as_ptr(), functions);
                if stream.is_null() {
                    continue;
                }
                libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0);
                if number == 0 {
                    stdout = stream;
                } else {
                    stderr = stream;
                }
            }
        }
    });
}

extern "C" fn write(stream: *mut c_void, bytes: *const c_char, length: size_t) -> ssize_t {
    let stream = stream as usize;
    if let Some(rank) = current() {
        // SAFETY: the C library gives the number of bytes.
        rank.write(stream, unsafe {
            std::slice::from_raw_parts(bytes.cast(), length)
        });
    } else {
        let descriptor = if stream == 0 { 1 } else { 2 };
        // SAFETY: as above.
        unsafe { libc::write(descriptor, bytes.cast(), length) };
    }
    length.cast_signed()
}

/// Returns true for standard output and standard error.
fn is_shared(stream: *mut FILE) -> bool {
    // SAFETY: the variables were assigned to before any program runs.
    unsafe { stream == stdout || stream == stderr }
}

/// `setvbuf`, which does not change streams of all ranks.
extern "C" fn set_buffer(
    stream: *mut FILE,
    buffer: *mut c_char,
    mode: c_int,
    size: size_t,
) -> c_int {
    if is_shared(stream) {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::setvbuf(stream, buffer, mode, size) }
}

extern "C" fn set_plain_buffer(stream: *mut FILE, buffer: *mut c_char) {
    if !is_shared(stream) {
        // SAFETY: the program's own call.
        unsafe { libc::setbuf(stream, buffer) };
    }
}

/// `fclose`, which does not close streams of all ranks.
extern "C" fn close(stream: *mut FILE) -> c_int {
    if is_shared(stream) {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::fclose(stream) }
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    Some(match symbol {
        "setvbuf" => {
            set_buffer as extern "C" fn(*mut FILE, *mut c_char, c_int, size_t) -> c_int as usize
        }
        "setbuf" => set_plain_buffer as extern "C" fn(*mut FILE, *mut c_char) as usize,
        "fclose" => close as extern "C" fn(*mut FILE) -> c_int as usize,
        _ => return None,
    })
}
