//! A location in one word. Each operation of a program stores a location, and two words would add 2
//! % to the instructions of each message.

#![expect(unsafe_code, reason = "a reference with a tag in its lowest bit")]

use std::panic::Location;
use std::ptr::NonNull;

use super::NativeLocation;

/// The bit that is set in the address of a line of a native executable.
const NATIVE: usize = 1;

const _: () = assert!(align_of::<Location<'static>>() > NATIVE);
const _: () = assert!(align_of::<NativeLocation>() > NATIVE);

/// The address of a location; the lowest bit of the address tells the kind of the location.
#[derive(Clone, Copy)]
pub(super) struct Tagged(NonNull<()>);

// SAFETY: it stands for a shared reference to a location, both of which can be sent.
unsafe impl Send for Tagged {}
// SAFETY: as above; both locations can be shared.
unsafe impl Sync for Tagged {}

/// A location of one kind.
#[derive(PartialEq)]
pub(super) enum LocationKind {
    Rust(&'static Location<'static>),
    Native(&'static NativeLocation),
}

impl Tagged {
    #[inline]
    pub(super) const fn rust(location: &'static Location<'static>) -> Self {
        Self(NonNull::from_ref(location).cast())
    }

    #[inline]
    pub(super) fn native(location: &'static NativeLocation) -> Self {
        Self(
            NonNull::from_ref(location)
                .cast()
                .map_addr(|address| address | NATIVE),
        )
    }

    #[inline]
    pub(super) fn tagged_address(self) -> usize {
        self.0.addr().get()
    }

    pub(super) fn kind(self) -> LocationKind {
        if self.tagged_address() & NATIVE == 0 {
            // SAFETY: only `rust` makes one without the bit, of a reference that lives for ever.
            return LocationKind::Rust(unsafe { self.0.cast().as_ref() });
        }
        let without_bit = self.0.as_ptr().map_addr(|address| address & !NATIVE);
        // SAFETY: only `native` makes one with the bit, of a reference that lives for ever.
        LocationKind::Native(unsafe { &*without_bit.cast() })
    }
}
