//! Derived datatypes (MPI 4.1, chapter 5): the bytes of a buffer that make a message, and their
//! order.
//!
//! A datatype is a value made from other datatypes. The datatype describes bytes from the beginning
//! of a buffer on, and packs and unpacks them. Consecutive items begin one *extent* apart.
//!
//! *Not modelled*: negative displacements, so every lower bound is 0; alignment, so a structure
//! ends with its last member (see [`Datatype::resized`]); and type signatures of structures with
//! members of different types: the receive may describe other types than the send, as long as the
//! number of bytes fits.

use std::rc::Rc;

use crate::Element;
use crate::Scalar;
use crate::{Buffer, Error, Result};

/// A layout of bytes in a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datatype {
    layout: Layout,
    /// Bytes of data.
    size: u64,
    /// Bytes from the beginning of one item to the beginning of the next.
    extent: u64,
    /// From the beginning to the end of the last byte of data.
    reach: u64,
    /// The type of all data.
    element: Element,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Layout {
    /// A prefix of the given length in bytes.
    Dense,
    /// `count` times `length` items that follow each other, every `stride` bytes.
    Blocks {
        count: u64,
        length: u64,
        stride: u64,
        item: Rc<Datatype>,
    },
    /// Displacement in bytes, number of items, and their type.
    Parts(Rc<[(u64, u64, Datatype)]>),
}

/// Where the data of `count` items end that begin at `start`, in bytes; 0 if there are none.
fn reach(start: u64, count: u64, item: &Datatype) -> Option<u64> {
    if count == 0 || item.size == 0 {
        return Some(0);
    }
    (count - 1)
        .checked_mul(item.extent)?
        .checked_add(item.reach)?
        .checked_add(start)
}

impl Datatype {
    /// Contiguous bytes: `MPI_BYTE`, several times.
    #[must_use]
    pub const fn bytes(size: u64) -> Self {
        Self {
            layout: Layout::Dense,
            size,
            extent: size,
            reach: size,
            element: Element::BYTES,
        }
    }

    /// A number, such as `Datatype::of::<f64>()` for `MPI_DOUBLE`.
    #[must_use]
    pub const fn of<T: Scalar>() -> Self {
        let mut datatype = Self::bytes(T::SIZE);
        datatype.element = Element::of::<T>();
        datatype
    }

    /// Returns the type of consecutive items: `MPI_Type_contiguous`.
    ///
    /// # Errors
    /// [`Error::Type`] if the datatype were longer than 2^64 - 1 bytes.
    pub fn contiguous(count: u64, item: &Self) -> Result<Self> {
        Self::strided_blocks(1, count, 0, item)
    }

    /// `count` blocks of `length` items, whose starts are `stride` items apart: `MPI_Type_vector`.
    ///
    /// # Errors
    /// [`Error::Type`] if the datatype were longer than 2^64 - 1 bytes.
    pub fn vector(count: u64, length: u64, stride: u64, item: &Self) -> Result<Self> {
        let stride = stride.checked_mul(item.extent).ok_or(Error::Type)?;
        Self::strided_blocks(count, length, stride, item)
    }

    fn strided_blocks(count: u64, length: u64, stride: u64, item: &Self) -> Result<Self> {
        let measure = || {
            let size = count.checked_mul(length)?.checked_mul(item.size)?;
            let before = count.saturating_sub(1).checked_mul(stride)?;
            let some = u64::from(count > 0 && length > 0);
            let reach = reach(before, length, item)?;
            let extent = before.checked_add(length.checked_mul(item.extent)?)?;
            Some((size, extent * some, reach * some))
        };
        let (size, extent, reach) = measure().ok_or(Error::Type)?;
        let mut layout = Layout::Blocks {
            count,
            length,
            stride,
            item: Rc::new(item.clone()),
        };
        if item.is_dense() && size == extent && count <= 1 {
            layout = Layout::Dense;
        }
        Ok(Self {
            layout,
            size,
            extent,
            reach,
            element: item.element,
        })
    }

    /// Blocks of items, each with its length and its displacement in items: `MPI_Type_indexed`.
    ///
    /// # Errors
    /// [`Error::Type`] if the datatype were longer than 2^64 - 1 bytes.
    pub fn indexed(blocks: &[(u64, u64)], item: &Self) -> Result<Self> {
        let part = |&(length, displacement): &(u64, u64)| {
            let at = displacement.checked_mul(item.extent);
            Ok((length, at.ok_or(Error::Type)?, item.clone()))
        };
        let parts: Result<Vec<(u64, u64, Self)>> = blocks.iter().map(part).collect();
        Self::structure(&parts?)
    }

    /// Members of different types, each with its number of items and its displacement in bytes:
    /// `MPI_Type_create_struct`.
    ///
    /// # Errors
    /// [`Error::Type`] if the datatype were longer than 2^64 - 1 bytes.
    pub fn structure(members: &[(u64, u64, Self)]) -> Result<Self> {
        let (mut size, mut extent, mut end, mut parts) = (0_u64, 0, 0, Vec::new());
        let mut element: Option<Element> = None;
        for (count, at, item) in members {
            if *count == 0 {
                continue;
            }
            let measure = || {
                let size = size.checked_add(count.checked_mul(item.size)?)?;
                let extent = at.checked_add(count.checked_mul(item.extent)?)?;
                let reach = reach(*at, *count, item)?;
                Some((size, extent, reach))
            };
            let (new_size, new_extent, new_end) = measure().ok_or(Error::Type)?;
            size = new_size;
            extent = new_extent.max(extent);
            end = new_end.max(end);
            element = Some(element.map_or(item.element, |element| element.common(item.element)));
            parts.push((*at, *count, item.clone()));
        }
        Ok(Self {
            layout: Layout::Parts(parts.into()),
            size,
            extent,
            reach: end,
            element: element.unwrap_or_default(),
        })
    }

    /// The same bytes with another distance in bytes from one item to the next:
    /// `MPI_Type_create_resized`.
    #[must_use]
    pub fn resized(mut self, extent: u64) -> Self {
        self.extent = extent;
        self
    }

    /// Bytes of data in one item: `MPI_Type_size`.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from the beginning of one item to the beginning of the next: `MPI_Type_get_extent`.
    #[must_use]
    pub const fn extent(&self) -> u64 {
        self.extent
    }

    /// Returns the type of the data: bytes if the data have several types.
    pub(crate) const fn element_type(&self) -> Element {
        self.element
    }

    const fn is_dense(&self) -> bool {
        matches!(self.layout, Layout::Dense)
    }

    /// Names all runs of bytes of `count` items from `start` on, in the order of the message.
    fn runs(&self, start: u64, count: u64, found: &mut dyn FnMut(u64, u64)) {
        if self.size == 0 {
            return;
        }
        if self.is_dense() && self.size == self.extent {
            found(start, count * self.size);
            return;
        }
        for number in 0..count {
            let start = start + number * self.extent;
            match &self.layout {
                Layout::Dense => found(start, self.size),
                Layout::Blocks {
                    count,
                    length,
                    stride,
                    item,
                } => {
                    for block in 0..*count {
                        item.runs(start + block * stride, *length, found);
                    }
                }
                Layout::Parts(parts) => {
                    for (at, count, item) in parts.iter() {
                        item.runs(start + at, *count, found);
                    }
                }
            }
        }
    }

    /// Names all runs of bytes of `count` items from byte 0 on, in the order of the message.
    ///
    /// # Errors
    /// [`Error::Type`] if the items end behind byte 2^64 - 1.
    pub(crate) fn for_each_run(&self, count: u64, found: &mut dyn FnMut(u64, u64)) -> Result<()> {
        reach(0, count, self).ok_or(Error::Type)?;
        if count > 0 {
            self.runs(0, count, found);
        }
        Ok(())
    }

    /// The length of `count` packed items, which `buffer` must be long enough to hold.
    pub(crate) fn packed_length(&self, count: u64, buffer: &Buffer) -> Result<u64> {
        let needed = reach(0, count, self).ok_or(Error::Type)?;
        if needed > buffer.len() {
            return Err(Error::View {
                needed,
                length: buffer.len(),
            });
        }
        count.checked_mul(self.size).ok_or(Error::Type)
    }

    /// The data of `count` items in a row: `MPI_Pack`. Of a phantom, a phantom.
    ///
    /// # Errors
    /// [`Error::View`] if the buffer is shorter than the items; [`Error::Type`] if they are longer
    /// than 2^64 - 1 bytes.
    pub fn pack(&self, count: u64, buffer: &Buffer) -> Result<Buffer> {
        let length = self.packed_length(count, buffer)?;
        let Some(bytes) = buffer.bytes() else {
            return Ok(Buffer::phantom(length));
        };
        let mut packed = Vec::with_capacity(to_usize(length));
        self.runs(0, count, &mut |start, length| {
            packed.extend_from_slice(&bytes[to_usize(start)..to_usize(start + length)]);
        });
        Ok(Buffer::from(packed))
    }

    /// Puts the packed data of at most `count` items into their places: `MPI_Unpack`. The bytes
    /// between the data stay as they are, and so do the places without data.
    ///
    /// # Errors
    /// [`Error::View`] if the buffer is shorter than the items; [`Error::Type`] if the items are
    /// longer than 2^64 - 1 bytes.
    pub fn unpack(&self, count: u64, packed: &Buffer, buffer: &mut Buffer) -> Result<()> {
        self.unpack_some(count, packed, packed.len(), buffer)
    }

    /// [`Datatype::unpack`] of the first `length` bytes.
    pub(crate) fn unpack_some(
        &self,
        count: u64,
        packed: &Buffer,
        length: u64,
        buffer: &mut Buffer,
    ) -> Result<()> {
        self.packed_length(count, buffer)?;
        if let (Some(source), Some(target)) = (packed.bytes(), buffer.bytes_mut()) {
            let mut source = &source[..to_usize(length)];
            self.runs(0, count, &mut |start, length| {
                let (now, rest) = source.split_at(source.len().min(to_usize(length)));
                target[to_usize(start)..][..now.len()].copy_from_slice(now);
                source = rest;
            });
        }
        Ok(())
    }
}

/// An offset in a buffer that is real and long enough, so in memory.
fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).expect("real buffers fit into memory")
}

#[cfg(test)]
mod tests;
