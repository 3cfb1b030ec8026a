//! The heap of a rank: pages of freed memory are kept, for the next message of any length.
//!
//! Memory that is returned to the system and requested again causes a page fault per page. These
//! faults take longer than to send the memory over the loopback device.
//!
//! *Not modelled*: C libraries other than glibc, which have no such setting. There a rank pays for
//! the pages of each long message.

#![expect(
    unsafe_code,
    reason = "the C library offers the settings of its allocator as a C function"
)]

/// Free memory at the end of the heap that is kept, in bytes.
const KEPT: libc::c_int = 1 << 30;

/// Memory that is requested from the system in addition to the needed size, in bytes.
const STEP: libc::c_int = 16 << 20;

/// Makes the allocator of this process keep freed memory.
pub(super) fn keep_freed_pages() {
    // SAFETY: the function takes integers, and only changes how the allocator deals with the
    // system. Where it refuses a value, the default stays.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TOP_PAD, STEP);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}
