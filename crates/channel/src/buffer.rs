//! Message buffers: bytes, or only a length.
//!
//! A *phantom* buffer has a length without bytes, so that a study of a million ranks moves no
//! memory. Whether buffers are phantom is an option of the run, not of the program. The program and
//! the messages in flight share real buffers without a copy. A write to a shared buffer copies the
//! buffer first, so a program can never change a message that it has sent.

use std::fmt;
use std::rc::Rc;

use crate::element::{ELEMENT_BITS, Element};
use crate::{PartialElement, Scalar};

/// The content of a message.
#[derive(Clone)]
pub struct Buffer {
    bytes: Option<Rc<Vec<u8>>>,
    extent: Extent,
}

/// The length of a buffer in bytes, with the element type in the lowest bits and a bit for a buffer
/// that is room for a message. A buffer is moved with each packet, and has to be short.
#[derive(Clone, Copy)]
struct Extent(u64);

/// The bit of room for a message.
const ROOM: u64 = 1 << ELEMENT_BITS;

/// Place of the length.
const LENGTH_SHIFT: u32 = ELEMENT_BITS + 1;

impl Extent {
    #[inline]
    const fn new(length: u64) -> Self {
        assert!(
            length <= Buffer::LENGTH_MAX,
            "a buffer is shorter than 2^58 bytes"
        );
        Self(length << LENGTH_SHIFT)
    }

    #[inline]
    const fn byte_length(self) -> u64 {
        self.0 >> LENGTH_SHIFT
    }

    #[inline]
    const fn element_type(self) -> Element {
        Element::numbered((self.0 & ((1 << ELEMENT_BITS) - 1)) as u8)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("bytes", &self.bytes)
            .field("length", &self.len())
            .field("element", &self.element())
            .finish()
    }
}

impl Buffer {
    /// The largest length of a buffer in bytes.
    pub const LENGTH_MAX: u64 = u64::MAX >> LENGTH_SHIFT;

    /// A buffer of zeros.
    ///
    /// # Panics
    /// If there is not enough memory for `length` bytes.
    #[must_use]
    pub fn zeroed(length: u64) -> Self {
        let size = usize::try_from(length).expect("a real buffer fits into memory");
        Self {
            bytes: Some(Rc::new(vec![0; size])),
            extent: Extent::new(length),
        }
    }

    /// A buffer that has only a length.
    ///
    /// # Panics
    /// If the length is above [`Self::LENGTH_MAX`].
    #[must_use]
    #[inline]
    pub const fn phantom(length: u64) -> Self {
        Self {
            bytes: None,
            extent: Extent::new(length),
        }
    }

    /// The buffer with this element type; a receive compares the type with the sent type.
    #[must_use]
    #[inline]
    pub const fn with_element(mut self, element: Element) -> Self {
        self.extent.0 = self.extent.0 & !(ROOM - 1) | element.number() as u64;
        self
    }

    /// Returns the type of the elements.
    #[inline]
    pub const fn element(&self) -> Element {
        self.extent.element_type()
    }

    /// Takes the buffer and leaves an empty buffer in its place.
    #[inline]
    pub const fn take(&mut self) -> Self {
        std::mem::replace(self, Self::phantom(0))
    }

    /// The buffer as a pointer of this length, which a message in one process can hand over.
    #[inline]
    pub const fn into_pointer(mut self, length: u64) -> Self {
        self.extent = Extent::new(length);
        self
    }

    /// A buffer without bytes for a message of at most `length` bytes: the received message
    /// replaces this buffer, with the bytes and the length of the message.
    ///
    /// # Panics
    /// If the length is above [`Self::LENGTH_MAX`].
    #[must_use]
    #[inline]
    pub const fn room(length: u64) -> Self {
        let mut room = Self::phantom(length);
        room.extent.0 |= ROOM;
        room
    }

    /// A buffer for a message of any length; the message brings the bytes.
    #[inline]
    pub const fn unbounded() -> Self {
        Self::room(Self::LENGTH_MAX)
    }

    /// Returns true if a received message replaces this buffer.
    #[inline]
    pub const fn is_room(&self) -> bool {
        self.extent.0 & ROOM != 0
    }

    /// An empty buffer of the given number of bytes, real if this one is.
    pub fn of_kind(&self, length: u64) -> Self {
        if self.is_phantom() {
            Self::phantom(length)
        } else {
            Self::zeroed(length)
        }
    }

    /// The length in bytes.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u64 {
        self.extent.byte_length()
    }

    /// Returns true if the length is 0.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if there are no bytes behind the length.
    #[must_use]
    #[inline]
    pub const fn is_phantom(&self) -> bool {
        self.bytes.is_none()
    }

    /// The bytes; `None` for a phantom.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref().map(Vec::as_slice)
    }

    /// Returns the memory that holds the bytes, for a device that reads the bytes after the call
    /// without a copy; `None` for a phantom.
    #[must_use]
    #[inline]
    pub const fn shared_bytes(&self) -> Option<&Rc<Vec<u8>>> {
        self.bytes.as_ref()
    }

    /// Returns the bytes, without a copy if no other buffer has them; `None` for a phantom.
    #[inline]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        self.bytes.map(Rc::unwrap_or_clone)
    }

    /// The bytes to write to; `None` for a phantom.
    #[inline]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.bytes
            .as_mut()
            .map(|bytes| Rc::make_mut(bytes).as_mut_slice())
    }

    /// Takes over an arrived message that is not longer than this buffer. A shorter message leaves
    /// the rest of the buffer unchanged. Returns the old memory of the buffer, if the memory of the
    /// message has replaced it and no other buffer uses it.
    #[inline(always)]
    pub fn receive(&mut self, message: Self) -> Option<Vec<u8>> {
        debug_assert!(
            message.len() <= self.len(),
            "truncation was excluded before"
        );
        if self.is_room() {
            *self = message;
        } else if message.len() == self.len() {
            if message.bytes.is_some() && self.bytes.is_some() {
                let had = std::mem::replace(&mut self.bytes, message.bytes);
                return had.and_then(Rc::into_inner);
            }
        } else if let (Some(source), Some(target)) = (message.bytes(), self.bytes_mut()) {
            target[..source.len()].copy_from_slice(source);
        }
        None
    }

    /// Returns a buffer with `length` bytes from `offset` on: all bytes are shared with this one, a
    /// part of them is copied. A phantom of a phantom.
    ///
    /// # Panics
    /// If the buffer is shorter.
    #[must_use]
    #[inline]
    pub fn slice(&self, offset: u64, length: u64) -> Self {
        if offset == 0 && length == self.len() {
            return self.clone();
        }
        assert!(
            offset
                .checked_add(length)
                .is_some_and(|end| end <= self.len()),
            "a part of {length} bytes from byte {offset} on must lie within the {} bytes of the buffer",
            self.len()
        );
        let part = self.copy_range(offset, length);
        let element = self.element();
        if element.is_bytes()
            || !offset.is_multiple_of(element.size())
            || !length.is_multiple_of(element.size())
        {
            return part;
        }
        part.with_element(element)
    }

    /// Writes the bytes of another buffer from `offset` on, if both are real.
    ///
    /// # Panics
    /// If this buffer is shorter than their end.
    pub fn write(&mut self, offset: u64, content: &Self) {
        assert!(
            offset
                .checked_add(content.len())
                .is_some_and(|end| end <= self.len()),
            "{} bytes from byte {offset} on must lie within the {} bytes of the buffer",
            content.len(),
            self.len()
        );
        if content.len() == self.len() && content.bytes.is_some() && self.bytes.is_some() {
            self.bytes.clone_from(&content.bytes);
        } else {
            self.write_part(offset, content);
        }
    }

    /// A copy of at most `length` bytes from `offset` on; a phantom of a phantom.
    ///
    /// # Panics
    /// If the buffer ends before `offset`.
    pub fn copy_range(&self, offset: u64, length: u64) -> Self {
        let length = length.min(self.len() - offset);
        let Some(bytes) = self.bytes() else {
            return Self::phantom(length);
        };
        let place = |offset: u64| usize::try_from(offset).expect("a real buffer fits into memory");
        Self::from(bytes[place(offset)..place(offset + length)].to_vec())
    }

    /// Writes a part of a message to its place in the buffer, if both are real.
    ///
    /// # Panics
    /// If the buffer is shorter than the end of the part.
    pub fn write_part(&mut self, offset: u64, part: &Self) {
        debug_assert!(
            offset + part.len() <= self.len(),
            "truncation was excluded before"
        );
        let start = usize::try_from(offset).expect("a real buffer fits into memory");
        if let (Some(source), Some(target)) = (part.bytes(), self.bytes_mut()) {
            target[start..start + source.len()].copy_from_slice(source);
        }
    }

    /// A buffer with these numbers.
    #[must_use]
    pub fn of<T: Scalar>(values: &[T]) -> Self {
        let mut bytes = Vec::new();
        for &value in values {
            value.put(&mut bytes);
        }
        Self::from(bytes).with_element(Element::of::<T>())
    }

    /// The numbers; `None` for a phantom.
    ///
    /// # Errors
    /// [`PartialElement`] if the length is not a whole number of them.
    pub fn values<T: Scalar>(&self) -> Result<Option<Vec<T>>, PartialElement> {
        if !self.len().is_multiple_of(T::SIZE) {
            return Err(PartialElement {
                length: self.len(),
                size: T::SIZE,
            });
        }
        let values = |bytes: &[u8]| bytes.chunks_exact(to_usize(T::SIZE)).map(T::read).collect();
        Ok(self.bytes().map(values))
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).expect("numbers are short")
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        let extent = Extent::new(bytes.len() as u64);
        Self {
            bytes: Some(Rc::new(bytes)),
            extent,
        }
    }
}

/// Shares the bytes.
impl From<&Self> for Buffer {
    fn from(buffer: &Self) -> Self {
        buffer.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sent_message_does_not_change() {
        let mut buffer = Buffer::from(vec![1, 2, 3]);
        let message = buffer.clone();
        buffer.bytes_mut().unwrap()[0] = 9;
        assert_eq!(message.bytes(), Some(&[1, 2, 3][..]));
        assert_eq!(buffer.bytes(), Some(&[9, 2, 3][..]));
    }

    #[test]
    fn a_shorter_message_leaves_the_rest() {
        let mut buffer = Buffer::from(vec![7; 4]);
        buffer.receive(Buffer::from(vec![1, 2]));
        assert_eq!(buffer.bytes(), Some(&[1, 2, 7, 7][..]));
    }

    #[test]
    fn room_becomes_the_message() {
        let doubles = Element::of::<f64>();
        let mut room = Buffer::room(16).with_element(doubles);
        assert_eq!((room.len(), room.element()), (16, doubles));
        let message = Buffer::from(vec![5; 8]);
        assert_eq!(room.receive(message.clone()), None);
        assert_eq!(room.bytes(), Some(&[5; 8][..]));
        assert!(
            !room.is_room(),
            "a second message does not change the length"
        );
        let mut room = Buffer::room(16);
        room.receive(Buffer::phantom(3));
        assert!(room.is_phantom() && room.len() == 3);
    }

    #[test]
    fn phantoms_meet_real_buffers() {
        let mut real = Buffer::zeroed(2);
        real.receive(Buffer::phantom(2));
        assert_eq!(real.bytes(), Some(&[0, 0][..]));
        let mut phantom = Buffer::phantom(2);
        phantom.receive(Buffer::from(vec![1, 2]));
        assert!(phantom.is_phantom());
    }
}
