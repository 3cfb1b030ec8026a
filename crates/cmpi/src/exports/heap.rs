//! Memory of a program from the heap of its rank, if the rank has a heap: `malloc` and related
//! functions, and the operators of C++.
//!
//! *Not there*: memory that library functions allocate for the program, as for `asprintf` and for
//! C++ strings made by the C++ library: this memory is in the heap of the process.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::bridge::{RankEnd, caller, current, set_errno};
use crate::loader::heap::{Heap, HeapError};

/// Alignment of memory without a wish, in bytes.
const ALIGNMENT: usize = 16;

/// Returns the heap of the running rank, if the rank has a heap.
fn own_heap() -> Option<Heap> {
    current()?.heap()
}

/// Returns the result of a heap call as an address, or ends the rank with a message.
fn checked(call: &str, result: Result<usize, HeapError>) -> *mut c_void {
    match result {
        Ok(0) => {
            set_errno(libc::ENOMEM);
            ptr::null_mut()
        }
        Ok(address) => address as *mut c_void,
        Err(error) => {
            let rank = caller();
            let text = format!("{call}{}: {}", rank.call_line(), error.error_text());
            rank.finish(RankEnd::Failed(text))
        }
    }
}

pub(super) extern "C" fn malloc(bytes: usize) -> *mut c_void {
    match own_heap() {
        Some(heap) => checked("malloc()", heap.allocate(bytes, ALIGNMENT)),
        // SAFETY: the program's own call.
        None => unsafe { libc::malloc(bytes) },
    }
}

extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let Some(heap) = own_heap() else {
        // SAFETY: the program's own call.
        return unsafe { libc::calloc(count, bytes) };
    };
    let length = count.saturating_mul(bytes);
    let address = checked("calloc()", heap.allocate(length, ALIGNMENT));
    if !address.is_null() {
        // SAFETY: the memory was just allocated, and is as long.
        unsafe { ptr::write_bytes(address.cast::<u8>(), 0, length) };
    }
    address
}

pub(super) extern "C" fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    if address.is_null() {
        return malloc(bytes);
    }
    match Heap::from_address(address as usize) {
        Some(_) if bytes == 0 => {
            free(address);
            ptr::null_mut()
        }
        Some(heap) => checked("realloc()", heap.reallocate(address as usize, bytes)),
        // SAFETY: the program's own call.
        None => unsafe { libc::realloc(address, bytes) },
    }
}

extern "C" fn realloc_array(address: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    realloc(address, count.saturating_mul(bytes))
}

pub(super) extern "C" fn free(address: *mut c_void) {
    if let Some(heap) = Heap::from_address(address as usize) {
        checked("free()", heap.free(address as usize).map(|()| 1));
        return;
    }
    if let Some(rank) = current().filter(|rank| rank.has_memory(address as usize)) {
        let text = format!("free(){}: invalid pointer: of a variable", rank.call_line());
        rank.finish(RankEnd::Failed(text));
    }
    // SAFETY: the program's own call.
    unsafe { libc::free(address) }
}

/// `memalign` and `aligned_alloc`.
pub(super) extern "C" fn aligned(alignment: usize, bytes: usize) -> *mut c_void {
    match own_heap() {
        Some(heap) => {
            let alignment = alignment.checked_next_power_of_two().unwrap_or(usize::MAX);
            checked("memalign()", heap.allocate(bytes, alignment))
        }
        // SAFETY: the program's own call.
        None => unsafe { libc::memalign(alignment, bytes) },
    }
}

extern "C" fn posix_aligned(place: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(8) {
        return libc::EINVAL;
    }
    let address = aligned(alignment, bytes);
    if address.is_null() {
        return libc::ENOMEM;
    }
    super::memory::store(place, address);
    0
}

extern "C" fn page_aligned(bytes: usize) -> *mut c_void {
    aligned(4096, bytes)
}

extern "C" fn usable(address: *mut c_void) -> usize {
    match Heap::from_address(address as usize) {
        Some(heap) => heap.grant_usable(address as usize).unwrap_or(0),
        // SAFETY: the program's own call.
        None => unsafe { libc::malloc_usable_size(address) },
    }
}

/// Returns a copy of a text with at most `longest` bytes.
fn copied(text: *const c_char, longest: usize) -> *mut c_char {
    // SAFETY: the program gave a text that ends with 0 or is as long.
    let length = unsafe { libc::strnlen(text, longest) };
    let copy: *mut c_char = malloc(length + 1).cast();
    if !copy.is_null() {
        // SAFETY: the copy was just allocated, with room for the 0.
        unsafe {
            ptr::copy_nonoverlapping(text, copy, length);
            *copy.add(length) = 0;
        }
    }
    copy
}

extern "C" fn duplicate(text: *const c_char) -> *mut c_char {
    copied(text, usize::MAX)
}

extern "C" fn duplicate_part(text: *const c_char, longest: usize) -> *mut c_char {
    copied(text, longest)
}

/// `operator new`. If no memory is available, the rank ends: no exception can be thrown here.
extern "C" fn new(bytes: usize) -> *mut c_void {
    new_aligned(bytes, ALIGNMENT)
}

extern "C" fn new_aligned(bytes: usize, alignment: usize) -> *mut c_void {
    let address = match alignment <= ALIGNMENT {
        true => malloc(bytes.max(1)),
        false => aligned(alignment, bytes),
    };
    if address.is_null() {
        let rank = caller();
        let line = rank.call_line();
        let text = format!("out of memory: operator new of {bytes} bytes{line}");
        rank.finish(RankEnd::Failed(text));
    }
    address
}

/// `operator new(std::nothrow)`.
extern "C" fn new_or_null(bytes: usize, _nothrow: *const c_void) -> *mut c_void {
    malloc(bytes)
}

/// Returns the address of an operator of C++.
fn operator(symbol: &str) -> Option<usize> {
    type OfBytes = extern "C" fn(usize) -> *mut c_void;
    Some(match symbol {
        "_Znwm" | "_Znam" => new as OfBytes as usize,
        "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t" => {
            new_aligned as extern "C" fn(usize, usize) -> *mut c_void as usize
        }
        "_ZnwmRKSt9nothrow_t" | "_ZnamRKSt9nothrow_t" => {
            new_or_null as extern "C" fn(usize, *const c_void) -> *mut c_void as usize
        }
        // Lengths and alignments, which come after the address, are not needed.
        _ if symbol.starts_with("_ZdlPv") || symbol.starts_with("_ZdaPv") => {
            free as extern "C" fn(*mut c_void) as usize
        }
        _ => return None,
    })
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type OfBytes = extern "C" fn(usize) -> *mut c_void;
    type OfTwo = extern "C" fn(usize, usize) -> *mut c_void;
    Some(match symbol {
        "malloc" => malloc as OfBytes as usize,
        "calloc" => calloc as OfTwo as usize,
        "realloc" => realloc as extern "C" fn(*mut c_void, usize) -> *mut c_void as usize,
        "reallocarray" => {
            realloc_array as extern "C" fn(*mut c_void, usize, usize) -> *mut c_void as usize
        }
        "free" => free as extern "C" fn(*mut c_void) as usize,
        "memalign" | "aligned_alloc" => aligned as OfTwo as usize,
        "posix_memalign" => {
            posix_aligned as extern "C" fn(*mut *mut c_void, usize, usize) -> c_int as usize
        }
        "valloc" => page_aligned as OfBytes as usize,
        "malloc_usable_size" => usable as extern "C" fn(*mut c_void) -> usize as usize,
        "strdup" | "__strdup" => duplicate as extern "C" fn(*const c_char) -> *mut c_char as usize,
        "strndup" | "__strndup" => {
            duplicate_part as extern "C" fn(*const c_char, usize) -> *mut c_char as usize
        }
        _ => return operator(symbol),
    })
}
