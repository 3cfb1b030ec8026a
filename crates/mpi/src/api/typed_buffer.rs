//! Typed buffers of a run, and numbers in a message.
//!
//! *Not decided here*: the bytes of numbers, which the package `channel` decides.

use crate::{Buffer, Comm, Element, Scalar, Status};

impl Status {
    /// Returns the count of numbers in the message: `MPI_Get_count`; `None` (`MPI_UNDEFINED`) if
    /// the count is not whole.
    #[must_use]
    pub fn count<T: Scalar>(&self) -> Option<u64> {
        let whole = self.length.is_multiple_of(T::SIZE);
        whole.then_some(self.length / T::SIZE)
    }
}

impl Comm {
    /// A buffer with these numbers, or a phantom of their length if the run wants.
    #[must_use]
    pub fn buffer_of<T: Scalar>(&self, values: &[T]) -> Buffer {
        if self.process().channel().settings().phantom {
            let length = values.len() as u64 * T::SIZE;
            return Buffer::phantom(length).with_element(Element::of::<T>());
        }
        Buffer::of(values)
    }
}
