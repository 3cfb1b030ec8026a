//! The memory of a window: bytes of the message layer, memory that is registered at the adapter, so
//! that other ranks reach it by RDMA, or memory that a program reads and writes by itself.
//!
//! Registered memory belongs to the adapter until the window is freed: local reads, local writes
//! and accumulates copy out of this memory and into it.
//!
//! *Not modelled*: the time of a registration. A phantom window is registered as zeros, so that its
//! puts and gets take the time of real ones.

use std::fmt;
use std::rc::Rc;

use channel::RegisteredMemory;
use rdma::RegionMemory;

use super::{Segment, total};
use crate::{Buffer, Element};

/// The address of a window at the adapter of its rank, known to the other ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RemoteWindow {
    /// The address of the first byte.
    pub(crate) address: u64,
    pub(crate) rkey: u32,
    pub(crate) is_phantom: bool,
}

impl RemoteWindow {
    /// Length of a record in bytes.
    pub(crate) const LENGTH: usize = 16;

    const IS_REGISTERED: u32 = 1;
    const IS_PHANTOM: u32 = 2;

    /// Returns the record for the other ranks; zeros if the window is not registered.
    pub(crate) fn to_bytes(window: Option<Self>) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        if let Some(window) = window {
            let phantom = u32::from(window.is_phantom) * Self::IS_PHANTOM;
            bytes[..8].copy_from_slice(&window.address.to_le_bytes());
            bytes[8..12].copy_from_slice(&window.rkey.to_le_bytes());
            bytes[12..].copy_from_slice(&(Self::IS_REGISTERED | phantom).to_le_bytes());
        }
        bytes
    }

    /// Reads a record; `None` if the window is not registered.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (address, rest) = bytes.split_first_chunk()?;
        let (rkey, rest) = rest.split_first_chunk()?;
        let flags = u32::from_le_bytes(*rest.first_chunk()?);
        (flags & Self::IS_REGISTERED != 0).then(|| Self {
            address: u64::from_le_bytes(*address),
            rkey: u32::from_le_bytes(*rkey),
            is_phantom: flags & Self::IS_PHANTOM != 0,
        })
    }
}

/// Memory that a program reads and writes by itself between its calls, as a C program does.
///
/// Accesses of other ranks use these functions at any time while the window exists.
pub trait ProgramMemory: fmt::Debug {
    /// Returns the length in bytes.
    fn byte_length(&self) -> u64;

    /// Copies the bytes from `offset` on, which lie within the memory.
    fn read_bytes(&self, offset: u64, bytes: &mut [u8]);

    /// Writes bytes from `offset` on, which lie within the memory.
    fn write_bytes(&self, offset: u64, bytes: &[u8]);
}

/// The memory of a window at the rank that owns it.
#[derive(Clone, Debug)]
pub(crate) enum WindowMemory {
    /// Bytes of the message layer.
    Own(Buffer),
    /// Bytes of the program.
    Program(Rc<dyn ProgramMemory>),
    /// Bytes that the adapter owns; they stand only for a length if `is_phantom`.
    Registered {
        memory: RegisteredMemory,
        is_phantom: bool,
        element: Element,
    },
}

impl WindowMemory {
    /// Registers the memory of a window if the channel can, which `register` tells.
    pub(crate) fn register_memory(
        memory: Buffer,
        register: impl FnOnce(RegionMemory) -> Result<RegisteredMemory, RegionMemory>,
    ) -> Self {
        let (length, is_phantom, element) = (memory.len(), memory.is_phantom(), memory.element());
        let region = memory
            .into_bytes()
            .map_or(RegionMemory::Zeroed(length), RegionMemory::Owned);
        match register(region) {
            Ok(memory) => Self::Registered {
                memory,
                is_phantom,
                element,
            },
            Err(memory) => Self::Own(returned(memory, length).with_element(element)),
        }
    }

    /// Returns the place that other ranks reach; `None` if the memory is not registered.
    pub(crate) fn remote(&self) -> Option<RemoteWindow> {
        match self {
            Self::Own(_) | Self::Program(_) => None,
            Self::Registered {
                memory, is_phantom, ..
            } => Some(RemoteWindow {
                address: memory.region.addr,
                rkey: memory.region.rkey,
                is_phantom: *is_phantom,
            }),
        }
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Own(memory) => memory.len(),
            Self::Program(memory) => memory.byte_length(),
            Self::Registered { memory, .. } => memory.region.length,
        }
    }

    /// Returns a copy of `length` bytes from `offset` on, which lie within the window.
    pub(crate) fn copy_range(&self, offset: u64, length: u64) -> Buffer {
        match self {
            Self::Own(memory) => memory.copy_range(offset, length),
            Self::Program(memory) => {
                let mut part = Buffer::zeroed(length);
                if let Some(bytes) = part.bytes_mut() {
                    memory.read_bytes(offset, bytes);
                }
                part
            }
            Self::Registered {
                is_phantom: true, ..
            } => Buffer::phantom(length),
            Self::Registered { memory, .. } => {
                let mut part = Buffer::zeroed(length);
                if let Some(bytes) = part.bytes_mut() {
                    let read = memory.verbs.read_mr(&memory.region, offset, bytes);
                    debug_assert_eq!(read, Ok(()), "the bytes lie within the window");
                }
                part
            }
        }
    }

    /// Writes bytes from `offset` on, which lie within the window, if both are real.
    pub(crate) fn write_part(&mut self, offset: u64, part: &Buffer) {
        match self {
            Self::Own(memory) => memory.write_part(offset, part),
            Self::Program(memory) => {
                if let Some(bytes) = part.bytes() {
                    memory.write_bytes(offset, bytes);
                }
            }
            Self::Registered {
                is_phantom: true, ..
            } => {}
            Self::Registered { memory, .. } => {
                if let Some(bytes) = part.bytes() {
                    let written = memory.verbs.write_mr(&memory.region, offset, bytes);
                    debug_assert_eq!(written, Ok(()), "the bytes lie within the window");
                }
            }
        }
    }

    /// Returns a copy of the bytes of places, which lie within the window, one behind the other.
    pub(crate) fn gather_segments(&self, places: &[Segment]) -> Buffer {
        let mut all = self.copy_range(0, 0).of_kind(total(places));
        let mut at = 0;
        for &(offset, length) in places {
            all.write_part(at, &self.copy_range(offset, length));
            at += length;
        }
        all
    }

    /// Writes bytes that follow one another to places, which lie within the window, if both are
    /// real.
    pub(crate) fn scatter_segments(&mut self, places: &[Segment], all: &Buffer) {
        let mut at = 0;
        for &(offset, length) in places {
            self.write_part(offset, &all.copy_range(at, length));
            at += length;
        }
    }

    /// Changes `length` bytes from `offset` on, which lie within the window, if they are real.
    pub(crate) fn change_bytes(
        &mut self,
        offset: u64,
        length: u64,
        change: impl FnOnce(&mut [u8]),
    ) {
        match self {
            Self::Own(memory) => {
                let range = usize::try_from(offset)
                    .ok()
                    .zip(usize::try_from(length).ok());
                if let (Some((start, length)), Some(bytes)) = (range, memory.bytes_mut()) {
                    change(&mut bytes[start..start + length]);
                }
            }
            Self::Registered { .. } | Self::Program(_) => {
                let mut part = self.copy_range(offset, length);
                if let Some(bytes) = part.bytes_mut() {
                    change(bytes);
                }
                self.write_part(offset, &part);
            }
        }
    }

    /// Returns the memory, which other ranks do not reach any more; an empty buffer if the memory
    /// belongs to the program.
    pub(crate) fn into_buffer(self) -> Buffer {
        match self {
            Self::Own(memory) => memory,
            Self::Program(_) => Buffer::phantom(0),
            Self::Registered {
                memory, element, ..
            } => {
                let RegisteredMemory { verbs, region } = memory;
                let memory = verbs.dereg_mr(&region);
                let memory = memory.unwrap_or(RegionMemory::Zeroed(region.length));
                returned(memory, region.length).with_element(element)
            }
        }
    }
}

/// Returns memory that the adapter has given back, or has not taken, as a buffer.
fn returned(memory: RegionMemory, length: u64) -> Buffer {
    match memory {
        RegionMemory::Owned(bytes) => Buffer::from(bytes),
        _ => Buffer::phantom(length),
    }
}
