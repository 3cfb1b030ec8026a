//! Arguments of calls, from the integers of the ABI to the types of the message layer.

use std::ffi::c_int;

use mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL, Source, Tag};

use crate::errors::CallError;

/// `MPI_ANY_SOURCE`.
const ANY_SOURCE_IN_C: c_int = -1;
/// `MPI_ANY_TAG`.
pub(crate) const ANY_TAG_IN_C: c_int = -2;
/// `MPI_PROC_NULL`.
pub(crate) const PROC_NULL_IN_C: c_int = -3;
/// `MPI_UNDEFINED`.
pub(crate) const UNDEFINED: c_int = -32766;

/// The type of a number of elements: `int`, or `MPI_Count` in functions with large counts.
pub(crate) trait Count: Copy + Into<i64> + TryFrom<i64> + 'static {
    /// True for `MPI_Count`.
    const IS_LARGE: bool;

    /// Returns `MPI_UNDEFINED`.
    fn undefined() -> Self;
}

impl Count for c_int {
    const IS_LARGE: bool = false;

    fn undefined() -> Self {
        UNDEFINED
    }
}

impl Count for i64 {
    const IS_LARGE: bool = true;

    fn undefined() -> Self {
        UNDEFINED.into()
    }
}

/// Returns a number as the type that the program gets, or `None` if the number does not fit.
pub(crate) fn in_c<N: Count>(number: usize) -> Option<N> {
    N::try_from(i64::try_from(number).ok()?).ok()
}

/// Returns a number that is not negative, or an error of this class about the argument `name`.
#[inline]
pub(crate) fn natural(
    value: impl Count,
    name: &str,
    class: &'static str,
) -> Result<usize, CallError> {
    let value = value.into();
    usize::try_from(value).map_err(|_| negative_number((value, name), class))
}

#[cold]
fn negative_number((value, name): (i64, &str), class: &'static str) -> CallError {
    CallError::new(
        class,
        format!("invalid {name} {value}: expected at least 0"),
    )
}

/// Returns a destination.
#[inline]
pub(crate) fn rank(rank: c_int) -> Result<usize, CallError> {
    if rank == PROC_NULL_IN_C {
        return Ok(PROC_NULL);
    }
    natural(rank, "rank", "MPI_ERR_RANK")
}

/// Returns the source of a receive.
#[inline]
pub(crate) fn source(source: c_int) -> Result<Source, CallError> {
    if source == ANY_SOURCE_IN_C {
        return Ok(ANY_SOURCE);
    }
    rank(source).map(Source::from)
}

/// Returns the tag of a send.
#[inline]
pub(crate) fn tag(tag: c_int) -> Result<u32, CallError> {
    u32::try_from(tag).map_err(|_| negative_number((tag.into(), "tag"), "MPI_ERR_TAG"))
}

/// Returns the tag of a receive.
#[inline]
pub(crate) fn pattern(pattern: c_int) -> Result<Tag, CallError> {
    if pattern == ANY_TAG_IN_C {
        return Ok(ANY_TAG);
    }
    tag(pattern).map(Tag::from)
}
