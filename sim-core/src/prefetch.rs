//! Prefetches: requests to the processor to load memory before the memory is needed.
//!
//! Resuming one of a million actors costs two misses of all caches, one after the other: first the
//! record, then the future of the actor. The event queue knows the next actors early, so prefetches
//! let the misses of many actors overlap. A prefetch only saves time; on processors other than
//! x86-64 a prefetch does nothing.

/// The largest number of lines that is worth a prefetch.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LINES_MAX: usize = 4;

/// Asks for the memory of `value`.
#[inline]
#[cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the only way to a prefetch instruction")
)]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let start = std::ptr::from_ref(value).cast::<i8>();
        let mut offset = 0;
        while offset < size_of_val(value).min(LINES_MAX * LINE) {
            // SAFETY: a prefetch is a hint that loads no value, writes nothing and cannot fault,
            // whatever the address; this one is inside of `value`, which is alive. SSE is part of
            // every x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
            offset += LINE;
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_value_can_be_asked_for() {
        let numbers = vec![1_u64; 1000];
        let text: &dyn std::fmt::Display = &"text";
        prefetch(&());
        prefetch(&numbers[..]);
        prefetch(&numbers[..0]);
        prefetch(text);
        assert_eq!(numbers[999], 1);
    }
}
