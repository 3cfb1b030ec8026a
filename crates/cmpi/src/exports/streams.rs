//! Standard output and standard error: for all ranks, the C library has one stream for each. The
//! stream passes the written data to the descriptor of the running rank.
//!
//! Lines of output are output of the program, as for a rank in Rust; lines of standard error go to
//! the log. Both streams are unbuffered, so that no data of a rank remain when another rank runs.
//! At rank 0, standard input is the standard input of the process; it is empty at other ranks and
//! under a model checker.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::Ordering;

use libc::{FILE, size_t, ssize_t};

use super::descriptors::write_bytes;
use crate::bridge::current;
use crate::host;

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

extern "C" fn read_nothing(_: *mut c_void, _: *mut c_char, _: size_t) -> ssize_t {
    0
}

/// Opens a stream without a buffer that writes to a descriptor of the rank that is running.
pub(super) fn open_stream(descriptor: c_int) -> *mut FILE {
    let functions = StreamFunctions {
        read: ptr::null(),
        write,
        seek: ptr::null(),
        close: ptr::null(),
    };
    // SAFETY: the structure is that of the C library; the cookie is a number that only `write`
    // gets.
    unsafe {
        let stream = fopencookie(descriptor as *mut c_void, c"w".as_ptr(), functions);
        if !stream.is_null() {
            libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0);
        }
        stream
    }
}

/// Replaces the streams of the process, once, before libraries of programs look up the streams. No
/// other code in this process uses the streams of the C library.
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
            host::INPUTS[0].store(stdin as usize, Ordering::Relaxed);
            host::INPUTS[1].store(empty as usize, Ordering::Relaxed);
        }
        for descriptor in [1, 2] {
            let stream = open_stream(descriptor);
            if stream.is_null() {
                continue;
            }
            // SAFETY: the variables of the C library may be assigned to, and no other thread uses
            // them: no program runs before.
            unsafe {
                if descriptor == 1 {
                    stdout = stream;
                } else {
                    stderr = stream;
                }
            }
        }
    });
}

extern "C" fn write(descriptor: *mut c_void, bytes: *const c_char, length: size_t) -> ssize_t {
    let descriptor = c_int::try_from(descriptor as usize).unwrap_or(c_int::MAX);
    // SAFETY: the C library gives the number of bytes.
    let bytes: &[u8] = unsafe { std::slice::from_raw_parts(bytes.cast(), length) };
    match current() {
        // 0 is an error.
        Some(rank) => write_bytes(rank, descriptor, bytes).max(0),
        // SAFETY: the bytes are there.
        None => unsafe { libc::write(descriptor, bytes.as_ptr().cast(), length) },
    }
}

/// Returns the descriptor of standard output or standard error; `None` for other streams.
pub(super) fn standard_number(stream: *mut FILE) -> Option<c_int> {
    // SAFETY: the variables were assigned to before any program runs.
    let standard = unsafe { [stdout, stderr] };
    let place = standard.iter().position(|known| *known == stream)?;
    c_int::try_from(place + 1).ok()
}

/// `setvbuf`, which does not change streams of all ranks.
extern "C" fn set_buffer(
    stream: *mut FILE,
    buffer: *mut c_char,
    mode: c_int,
    size: size_t,
) -> c_int {
    if standard_number(stream).is_some() {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::setvbuf(stream, buffer, mode, size) }
}

extern "C" fn set_plain_buffer(stream: *mut FILE, buffer: *mut c_char) {
    if standard_number(stream).is_none() {
        // SAFETY: the program's own call.
        unsafe { libc::setbuf(stream, buffer) };
    }
}

extern "C" fn set_sized_buffer(stream: *mut FILE, buffer: *mut c_char, size: size_t) {
    let mode = if buffer.is_null() {
        libc::_IONBF
    } else {
        libc::_IOFBF
    };
    set_buffer(stream, buffer, mode, size);
}

extern "C" fn set_line_buffer(stream: *mut FILE) {
    set_buffer(stream, ptr::null_mut(), libc::_IOLBF, 0);
}

/// `std::ios_base::sync_with_stdio`: the streams of C++ always use the streams of C, which have no
/// buffer in which data of a rank could remain.
extern "C" fn synchronise(_is_wanted: bool) -> bool {
    true
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let function = match symbol {
        "setvbuf" => set_buffer as *const (),
        "setbuf" => set_plain_buffer as *const (),
        "setbuffer" => set_sized_buffer as *const (),
        "setlinebuf" => set_line_buffer as *const (),
        "_ZNSt8ios_base15sync_with_stdioEb" => synchronise as *const (),
        _ => return None,
    };
    Some(function as usize)
}
