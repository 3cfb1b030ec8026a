//! The allocator of programs: the system allocator, which also remembers that an allocation failed.
//!
//! If indispensable memory is refused, the standard library aborts the process without a
//! notification. This record of the refusal lets the guard tell such an end from any other. A
//! program that handles the refusal (`try_reserve`) continues as before; if the program aborts
//! later for another reason, the guard reports a lack of memory.

#![expect(
    unsafe_code,
    reason = "allocators are implemented with unsafe functions"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The global allocator of a program; `main!` installs the allocator.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Allocator;

/// The bytes of the latest allocation that failed, 0 if none has.
static FAILED: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes of the latest allocation that failed.
pub(crate) fn failed_bytes() -> Option<u64> {
    Some(FAILED.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
}

#[inline]
fn noted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        FAILED.store(bytes as u64, Ordering::Relaxed);
    }
    memory
}

// SAFETY: every call is passed on unchanged to the allocator of the system, which keeps the
// contract; an atomic is written besides.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        noted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        noted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        noted(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }
}
