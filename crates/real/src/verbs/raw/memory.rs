//! Protection domains and registered memory.
//!
//! The adapter, and remote peers through the adapter, write to registered memory at any time, while
//! this program also reads and writes it. So there is no reference to this memory, only a pointer,
//! and every access is atomic: relaxed loads and stores of 8 bytes where the address is a multiple
//! of 8, of single bytes before and after. (Memory that is [only read](RegionMemory::ReadOnly) is
//! an ordinary vector.) The fence of `Cq::poll_cq` orders these accesses: the data of a request are
//! visible after its completion.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use ibverbs_sys as ffi;
use rdma::{Access, RegionMemory, RegisterError, VerbsError};

use super::{Context, last};

/// Memory that the adapter allocates begins a page, so that registrations share none.
const ALIGNMENT: usize = 4096;

/// A protection domain.
#[derive(Debug)]
pub(in super::super) struct Pd {
    pub(super) raw: *mut ffi::ibv_pd,
    pub(super) context: Rc<Context>,
}

impl Pd {
    pub(in super::super) fn alloc(context: &Rc<Context>) -> Result<Rc<Self>, VerbsError> {
        // SAFETY: the context is open.
        let raw = unsafe { ffi::ibv_alloc_pd(context.raw) };
        if raw.is_null() {
            return Err(last("ibv_alloc_pd"));
        }
        let context = Rc::clone(context);
        Ok(Rc::new(Self { raw, context }))
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: freed once, and all that was made of it is gone: it would hold this.
        unsafe { ffi::ibv_dealloc_pd(self.raw) };
    }
}

/// Owner of the memory, and the way to free the memory.
#[derive(Debug)]
enum MemoryOrigin {
    Zeroed(Layout),
    /// The parts of a vector except its pointer.
    Owned {
        length: usize,
        capacity: usize,
    },
    ReadOnly(Rc<Vec<u8>>),
}

/// Bytes without references; read-only bytes may have shared references.
#[derive(Debug)]
struct Bytes {
    start: NonNull<u8>,
    length: usize,
    origin: MemoryOrigin,
}

impl Bytes {
    fn new(memory: RegionMemory) -> Result<Self, (VerbsError, RegionMemory)> {
        let (start, length, origin) = match memory {
            RegionMemory::Zeroed(length) => {
                let layout = usize::try_from(length).ok();
                let layout =
                    layout.and_then(|length| Layout::from_size_align(length, ALIGNMENT).ok());
                // SAFETY: the layout has a length, because `Mr::register` refused empty memory.
                let start = layout.and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }));
                let (Some(layout), Some(start)) = (layout, start) else {
                    let what = "memory for a region";
                    return Err((VerbsError::NoRoom { what }, memory));
                };
                (start, layout.size(), MemoryOrigin::Zeroed(layout))
            }
            RegionMemory::Owned(bytes) => {
                // From here on only the pointer names the bytes.
                let mut bytes = ManuallyDrop::new(bytes);
                let (length, capacity) = (bytes.len(), bytes.capacity());
                // SAFETY: the pointer of a vector is never null.
                let start = unsafe { NonNull::new_unchecked(bytes.as_mut_ptr()) };
                (start, length, MemoryOrigin::Owned { length, capacity })
            }
            RegionMemory::ReadOnly(bytes) => {
                // SAFETY: the pointer of a vector is never null.
                let start = unsafe { NonNull::new_unchecked(bytes.as_ptr().cast_mut()) };
                (start, bytes.len(), MemoryOrigin::ReadOnly(bytes))
            }
        };
        Ok(Self {
            start,
            length,
            origin,
        })
    }

    fn into_memory(self) -> RegionMemory {
        let this = ManuallyDrop::new(self);
        match &this.origin {
            MemoryOrigin::Zeroed(layout) => {
                // SAFETY: allocated with this layout, freed once, as `this` is not dropped.
                unsafe { dealloc(this.start.as_ptr(), *layout) };
                RegionMemory::Zeroed(this.length as u64)
            }
            &MemoryOrigin::Owned { length, capacity } => {
                // SAFETY: these are the parts of the vector that was taken apart, and it is put
                // together once.
                let bytes = unsafe { Vec::from_raw_parts(this.start.as_ptr(), length, capacity) };
                RegionMemory::Owned(bytes)
            }
            MemoryOrigin::ReadOnly(bytes) => {
                // SAFETY: read once, as `this` is not dropped.
                RegionMemory::ReadOnly(unsafe { std::ptr::read(bytes) })
            }
        }
    }
}

/// Registered memory.
#[derive(Debug)]
pub(in super::super) struct Mr {
    raw: *mut ffi::ibv_mr,
    bytes: Option<Bytes>,
    /// Not read, but the domain must not be freed before the region.
    _pd: Rc<Pd>,
}

impl Mr {
    pub(in super::super) fn register(
        pd: &Rc<Pd>,
        memory: RegionMemory,
        access: Access,
    ) -> Result<Self, RegisterError> {
        let invalid = |why: &str| VerbsError::Invalid { why: why.into() };
        let error = if memory.is_empty() {
            Some(invalid("empty memory cannot be registered"))
        } else if !access.is_consistent() {
            Some(invalid(
                "memory that others may write to must have LOCAL_WRITE too",
            ))
        } else if matches!(memory, RegionMemory::ReadOnly(_)) && access.writes() {
            Some(invalid("memory that is only read cannot be written to"))
        } else {
            None
        };
        if let Some(error) = error {
            return Err(RegisterError { error, memory });
        }
        let bytes =
            Bytes::new(memory).map_err(|(error, memory)| RegisterError { error, memory })?;
        // SAFETY: the domain is live. The bytes are `length` long and live until `deregister` has
        // succeeded, or for ever. Nobody has a reference to them, or, if they are shared, only ones
        // that do not write, and the rights do not let the adapter write.
        let raw = unsafe {
            ffi::ibv_reg_mr(
                pd.raw,
                bytes.start.as_ptr().cast(),
                bytes.length,
                access.bits().cast_signed(),
            )
        };
        if raw.is_null() {
            let error = last("ibv_reg_mr (is `ulimit -l` large enough?)");
            let memory = bytes.into_memory();
            return Err(RegisterError { error, memory });
        }
        Ok(Self {
            raw,
            bytes: Some(bytes),
            _pd: Rc::clone(pd),
        })
    }

    /// Returns the region as programs see it.
    pub(in super::super) fn to_region(&self, handle: u32) -> rdma::MemoryRegion {
        // SAFETY: registered, as `deregister` consumes it.
        let (lkey, rkey) = unsafe { ((*self.raw).lkey, (*self.raw).rkey) };
        rdma::MemoryRegion {
            handle,
            addr: self.start_address().addr().get() as u64,
            length: self.length() as u64,
            lkey,
            rkey,
        }
    }

    fn start_address(&self) -> NonNull<u8> {
        self.bytes().start
    }

    fn length(&self) -> usize {
        self.bytes().length
    }

    fn bytes(&self) -> &Bytes {
        self.bytes.as_ref().expect("taken only when it is dropped")
    }

    /// Ends the registration; the adapter reaches the memory no more.
    fn end_registration(&mut self) -> Result<Bytes, VerbsError> {
        // SAFETY: registered, and ended once: without bytes nobody calls this again.
        super::check("ibv_dereg_mr", unsafe { ffi::ibv_dereg_mr(self.raw) })?;
        Ok(self.bytes.take().expect("taken only here"))
    }

    /// Deregisters the memory and returns it. If the driver refuses to end the registration, the
    /// memory is kept for ever, because the adapter may use it.
    pub(in super::super) fn deregister(self) -> Result<RegionMemory, VerbsError> {
        let mut this = ManuallyDrop::new(self);
        let bytes = this.end_registration()?;
        // SAFETY: read once, as `this` is not dropped.
        drop(unsafe { std::ptr::read(&raw const this._pd) });
        Ok(bytes.into_memory())
    }

    /// Returns the address of `offset`, or an error unless `length` bytes from there are within.
    fn checked_address(&self, offset: u64, length: usize) -> Result<NonNull<u8>, VerbsError> {
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(length));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.length() => {
                // SAFETY: `start` is not beyond the end of the bytes.
                Ok(unsafe { self.start_address().add(start) })
            }
            _ => Err(VerbsError::Invalid {
                why: format!(
                    "range {offset}+{length} is outside the region of {} bytes",
                    self.length()
                ),
            }),
        }
    }

    pub(in super::super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), VerbsError> {
        let from = self.checked_address(offset, bytes.len())?;
        if let MemoryOrigin::ReadOnly(shared) = &self.bytes().origin {
            let start = usize::try_from(offset).expect("within");
            bytes.copy_from_slice(&shared[start..start + bytes.len()]);
            return Ok(());
        }
        let (before, words) = split_words(from, bytes.len());
        let (head, rest) = bytes.split_at_mut(before);
        let (middle, tail) = rest.split_at_mut(words * 8);
        let mut from = from;
        for byte in head {
            // SAFETY: within the range that `checked_address` checked.
            *byte = unsafe { load_byte(&mut from) };
        }
        for word in middle.chunks_exact_mut(8) {
            // SAFETY: within the bytes, as `checked_address` has checked, and a multiple
            // of 8.
            let word_there = unsafe { AtomicU64::from_ptr(from.as_ptr().cast()) };
            word.copy_from_slice(&word_there.load(Ordering::Relaxed).to_ne_bytes());
            // SAFETY: at most to the end of the range.
            from = unsafe { from.add(8) };
        }
        for byte in tail {
            // SAFETY: within the range that `checked_address` checked.
            *byte = unsafe { load_byte(&mut from) };
        }
        Ok(())
    }

    pub(in super::super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), VerbsError> {
        let to = self.checked_address(offset, bytes.len())?;
        if matches!(self.bytes().origin, MemoryOrigin::ReadOnly(_)) {
            return Err(VerbsError::Invalid {
                why: "memory that is only read cannot be written to".into(),
            });
        }
        let (before, words) = split_words(to, bytes.len());
        let (head, rest) = bytes.split_at(before);
        let (middle, tail) = rest.split_at(words * 8);
        let mut to = to;
        for &byte in head {
            // SAFETY: within the range of `checked_address`, and not memory that others only read.
            unsafe { store_byte(&mut to, byte) };
        }
        for word in middle.chunks_exact(8) {
            let word = u64::from_ne_bytes(word.try_into().expect("8 bytes"));
            // SAFETY: within the bytes, as `checked_address` has checked, and a multiple of
            // 8; not memory that others only read.
            unsafe { AtomicU64::from_ptr(to.as_ptr().cast()) }.store(word, Ordering::Relaxed);
            // SAFETY: at most to the end of the range.
            to = unsafe { to.add(8) };
        }
        for &byte in tail {
            // SAFETY: within the range of `checked_address`, and not memory that others only read.
            unsafe { store_byte(&mut to, byte) };
        }
        Ok(())
    }
}

/// Returns the number of single bytes that come before the first whole word, and how many words.
fn split_words(start: NonNull<u8>, length: usize) -> (usize, usize) {
    let before = start.align_offset(8).min(length);
    (before, (length - before) / 8)
}

/// Reads a byte and moves on.
///
/// # Safety
/// The byte is one of registered memory that may be written to.
unsafe fn load_byte(from: &mut NonNull<u8>) -> u8 {
    // SAFETY: as demanded; all access to it is atomic.
    let byte = unsafe { AtomicU8::from_ptr(from.as_ptr()) }.load(Ordering::Relaxed);
    // SAFETY: at most one beyond the end.
    *from = unsafe { from.add(1) };
    byte
}

/// Writes a byte and moves on.
///
/// # Safety
/// The byte is one of registered memory that may be written to.
unsafe fn store_byte(to: &mut NonNull<u8>, byte: u8) {
    // SAFETY: as demanded; all access to it is atomic.
    unsafe { AtomicU8::from_ptr(to.as_ptr()) }.store(byte, Ordering::Relaxed);
    // SAFETY: at most one beyond the end.
    *to = unsafe { to.add(1) };
}

impl Drop for Mr {
    fn drop(&mut self) {
        // If that fails the memory is lost: the adapter may still use it.
        if let Ok(bytes) = self.end_registration() {
            drop(bytes.into_memory());
        }
    }
}
