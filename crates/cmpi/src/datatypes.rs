//! Datatypes by handle: predefined ones with sizes, extents and alignments in bytes, and datatypes
//! that a program has made.

use std::ffi::c_int;
use std::rc::Rc;

use crate::abi;
use crate::arguments::Count;
use crate::bridge::with_datatypes;
use crate::errors::CallError;
use crate::handles::ElementLayout;
use crate::layouts::{Datatype, Segment};

/// `MPI_DATATYPE_NULL`.
pub(crate) const DATATYPE_NULL: usize = 0x200;

/// Returns the size of a predefined datatype in bytes.
const fn predefined_size(datatype: usize) -> Option<usize> {
    Some(match datatype {
        // Most of them say their size (MPI 5.0, section 20.2).
        0x240..=0x2ff => 1 << (datatype >> 3 & 7),
        // MPI_AINT, MPI_COUNT, MPI_OFFSET.
        0x201..=0x203 => 8,
        // MPI_PACKED.
        0x207 => 1,
        // MPI_SHORT, MPI_UNSIGNED_SHORT.
        0x208 | 0x20c => 2,
        // MPI_INT, MPI_UNSIGNED, MPI_FLOAT; MPI_LOGICAL, MPI_INTEGER, MPI_REAL.
        0x209 | 0x20d | 0x210 | 0x218..=0x21a => 4,
        // MPI_LONG, MPI_LONG_LONG and the unsigned ones; MPI_DOUBLE, MPI_DOUBLE_PRECISION.
        0x20a | 0x20b | 0x20e | 0x20f | 0x214 | 0x21c => 8,
        // Complex numbers of floats; MPI_COMPLEX.
        0x212 | 0x213 | 0x21b => 8,
        // Complex numbers of doubles; MPI_DOUBLE_COMPLEX.
        0x216 | 0x217 | 0x21d => 16,
        // MPI_CHARACTER, MPI_C_BOOL, MPI_CXX_BOOL.
        0x21e | 0x238 | 0x239 => 1,
        // MPI_LONG_DOUBLE, and complex numbers of them.
        0x220 => 16,
        0x224 | 0x225 => 32,
        // MPI_FLOAT_INT, MPI_2INT, MPI_2REAL, MPI_2INTEGER.
        0x228 | 0x22b | 0x230 | 0x232 => 8,
        // MPI_DOUBLE_INT, MPI_LONG_INT: without padding.
        0x229 | 0x22a => 12,
        // MPI_SHORT_INT.
        0x22c => 6,
        // MPI_LONG_DOUBLE_INT.
        0x22d => 20,
        // MPI_2DOUBLE_PRECISION.
        0x231 => 16,
        // MPI_WCHAR.
        0x23c => 4,
        _ => return None,
    })
}

/// Returns the size of a datatype in bytes.
fn size_of(datatype: usize) -> Result<usize, CallError> {
    predefined_size(datatype).ok_or_else(|| {
        let text = format!("invalid datatype {datatype:#x}");
        CallError::new("MPI_ERR_TYPE", text)
    })
}

/// Returns the type of the numbers of a predefined datatype, or bytes for numbers that are not
/// compared, such as complex numbers.
const fn numbers_of(datatype: usize) -> mpi::Element {
    use mpi::Element as Of;
    match datatype {
        // Characters and integers of 1 byte; unsigned ones are bytes.
        0x240 | 0x243 | 0x244 | 0x2c1 => Of::of::<i8>(),
        0x248 | 0x208 | 0x2c9 => Of::of::<i16>(),
        0x249 | 0x20c => Of::of::<u16>(),
        0x250 | 0x209 | 0x218 | 0x219 | 0x2d1 | 0x23c => Of::of::<i32>(),
        0x251 | 0x20d => Of::of::<u32>(),
        0x258 | 0x20a | 0x20b | 0x201..=0x203 | 0x2d9 => Of::of::<i64>(),
        0x259 | 0x20e | 0x20f => Of::of::<u64>(),
        0x210 | 0x21a | 0x2d2 => Of::of::<f32>(),
        0x214 | 0x21c | 0x2da => Of::of::<f64>(),
        // Pairs.
        0x228 => Of::of::<(f32, u32)>(),
        0x229 => Of::of::<(f64, u32)>(),
        0x22a => Of::of::<(i64, u32)>(),
        0x22b | 0x232 => Of::of::<(i32, u32)>(),
        _ => Of::BYTES,
    }
}

/// Returns the name of a predefined datatype.
pub(crate) fn predefined_name(datatype: usize) -> Option<&'static str> {
    let value = i64::try_from(datatype).ok();
    let mut names = abi::constants().filter(|(kind, _)| *kind == "MPI_Datatype");
    names.find_map(|(_, name)| (abi::constant(name) == value).then_some(name))
}

/// Returns the alignment of a predefined datatype of this size, in bytes.
const fn alignment(datatype: usize, size: usize) -> usize {
    match datatype {
        // Pairs with an integer; pairs of floats, complex numbers of floats.
        0x228 | 0x22b | 0x22c | 0x230 | 0x232 | 0x212 | 0x213 | 0x21b => 4,
        // Pairs and complex numbers of doubles; MPI_LONG_INT.
        0x229 | 0x22a | 0x231 | 0x216 | 0x217 | 0x21d => 8,
        _ if size > 16 => 16,
        _ => size,
    }
}

/// Returns a datatype, also one that is not committed.
pub(crate) fn datatype(handle: usize) -> Result<Datatype, CallError> {
    if let Some(made) = with_datatypes(|made| made.get(handle).map(|made| made.datatype.clone())) {
        return Ok(made);
    }
    let size = size_of(handle)?;
    let whole = |length| Segment { offset: 0, length };
    let (segments, extent) = match handle {
        // MPI_DOUBLE_INT, MPI_LONG_INT.
        0x229 | 0x22a => (vec![whole(size)], 16),
        // MPI_LONG_DOUBLE_INT.
        0x22d => (vec![whole(size)], 32),
        // MPI_SHORT_INT has a gap inside.
        0x22c => (
            vec![
                whole(2),
                Segment {
                    offset: 4,
                    length: 4,
                },
            ],
            8,
        ),
        _ => (vec![whole(size)], size),
    };
    Ok(Datatype::predefined(
        segments,
        extent,
        alignment(handle, size),
        numbers_of(handle),
    ))
}

/// Handle of the first predefined datatype, and the number of handles from there on.
const PREDEFINED: (usize, usize) = (0x200, 0x100);

/// Elements of the predefined datatypes without padding; most calls are about one of these. Size 0
/// for other handles.
static COMPACT: [ElementLayout; PREDEFINED.1] = {
    let mut all = [ElementLayout::without_padding(0, mpi::Element::BYTES); PREDEFINED.1];
    let mut index = 0;
    while index < all.len() {
        let handle = PREDEFINED.0 + index;
        if let Some(size) = predefined_size(handle)
            && !matches!(handle, 0x229 | 0x22a | 0x22c | 0x22d)
        {
            all[index] = ElementLayout::without_padding(size, numbers_of(handle));
        }
        index += 1;
    }
    all
};

/// Returns the elements of a datatype.
#[inline]
pub(crate) fn element(handle: usize) -> Result<&'static ElementLayout, CallError> {
    match COMPACT.get(handle.wrapping_sub(PREDEFINED.0)) {
        Some(element) if element.size > 0 => Ok(element),
        _ => other_element(handle),
    }
}

fn other_element(handle: usize) -> Result<&'static ElementLayout, CallError> {
    let made = with_datatypes(|made| {
        made.get(handle)
            .map(|made| (made.element, made.is_committed))
    });
    match made {
        Some((element, true)) => Ok(element),
        Some(_) => {
            let text = format!("the datatype {handle:#x} is not committed: call MPI_Type_commit");
            Err(CallError::new("MPI_ERR_TYPE", text))
        }
        None => Ok(datatype(handle)?.element()),
    }
}

/// Returns the predefined datatype of which all parts of a datatype are.
pub(crate) fn common_number_type(handle: usize) -> Result<usize, CallError> {
    if handle < 0x1000 {
        return Ok(handle);
    }
    let datatype = datatype(handle)?;
    let element = datatype.element();
    // MPI_INT8_T, MPI_INT16_T, … MPI_UINT64_T, MPI_FLOAT, MPI_DOUBLE, and pairs with MPI_INT.
    let known = [
        0x240, 0x248, 0x249, 0x250, 0x251, 0x258, 0x259, 0x210, 0x214, 0x228, 0x229, 0x22a, 0x22b,
    ];
    let found = known
        .into_iter()
        .find(|known| numbers_of(*known) == element.numbers);
    // MPI_UINT8_T.
    let found = found.or_else(|| (datatype.basic == Some(1)).then_some(0x241));
    found.ok_or_else(|| {
        let text = format!("the parts of the datatype {handle:#x} are not numbers of one type");
        CallError::new("MPI_ERR_TYPE", text)
    })
}

/// A datatype that a program has made.
#[derive(Clone, Debug)]
pub(crate) struct MadeDatatype {
    datatype: Datatype,
    element: &'static ElementLayout,
    is_committed: bool,
    pub(crate) contents: Rc<Contents>,
}

/// The call that has made a datatype, with the arguments of the call (MPI 5.0, section 5.1.13).
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// `MPI_COMBINER_CONTIGUOUS`, …
    pub(crate) combiner: c_int,
    pub(crate) integers: Vec<c_int>,
    pub(crate) addresses: Vec<isize>,
    /// Arguments of functions with large counts.
    pub(crate) counts: Vec<i64>,
    pub(crate) datatypes: Vec<ComponentType>,
}

/// A datatype of which another one is made.
#[derive(Clone, Debug)]
pub(crate) enum ComponentType {
    Predefined(usize),
    Made(Box<MadeDatatype>),
}

impl Contents {
    pub(crate) const fn new(combiner: c_int) -> Self {
        Self {
            combiner,
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            datatypes: Vec::new(),
        }
    }

    pub(crate) fn integers(mut self, values: &[c_int]) -> Self {
        self.integers.extend(values);
        self
    }

    /// Adds counts: integers, or large counts.
    pub(crate) fn counts<N: Count>(mut self, values: &[N]) -> Self {
        for value in values {
            let value = (*value).into();
            match c_int::try_from(value) {
                Ok(small) if !N::IS_LARGE => self.integers.push(small),
                _ => self.counts.push(value),
            }
        }
        self
    }

    /// Adds displacements in bytes: addresses, or large counts of a function that has them.
    pub(crate) fn with_displacements<N: Count>(mut self, values: &[isize]) -> Self {
        match N::IS_LARGE {
            true => self.counts.extend(values.iter().map(|value| *value as i64)),
            false => self.addresses.extend(values),
        }
        self
    }

    pub(crate) fn with_parts(mut self, datatypes: &[usize]) -> Self {
        let parts = datatypes
            .iter()
            .map(|handle| ComponentType::from_handle(*handle));
        self.datatypes.extend(parts);
        self
    }

    /// Returns the length in bytes of the numbers of which a datatype consists, if they are all as
    /// long.
    fn common_number_length(&self) -> Option<usize> {
        let mut all = self.datatypes.iter().map(|part| match part {
            ComponentType::Predefined(handle) => predefined_number(*handle),
            ComponentType::Made(made) => made.contents.common_number_length(),
        });
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }
}

impl ComponentType {
    fn from_handle(handle: usize) -> Self {
        let made = with_datatypes(|all| all.get(handle).cloned());
        made.map_or(Self::Predefined(handle), |made| Self::Made(Box::new(made)))
    }

    fn size(&self) -> u64 {
        match self {
            Self::Predefined(handle) => size_of(*handle).unwrap_or(0) as u64,
            Self::Made(made) => made.element.size as u64,
        }
    }

    /// Returns the parts of an element in their order, and how often each is there. Of a
    /// predefined one there are none.
    fn repeated_parts(&self) -> Vec<(u64, &Self)> {
        let Self::Made(made) = self else {
            return Vec::new();
        };
        let contents = &made.contents;
        if let [only] = &contents.datatypes[..] {
            let number = self.size().checked_div(only.size()).unwrap_or(0);
            return vec![(number, only)];
        }
        // The lengths of the blocks of a structure follow their number.
        let small = contents.integers.iter().map(|length| i64::from(*length));
        let lengths = small.chain(contents.counts.iter().copied()).skip(1);
        let lengths = lengths.map(|length| u64::try_from(length).unwrap_or(0));
        lengths.zip(&contents.datatypes).collect()
    }

    /// Returns the lengths of the basic elements of a predefined datatype.
    fn basics(&self) -> Vec<u64> {
        match self {
            Self::Predefined(0x228 | 0x22b | 0x230 | 0x232) => vec![4, 4],
            Self::Predefined(0x229 | 0x22a) => vec![8, 4],
            Self::Predefined(0x22c) => vec![2, 4],
            Self::Predefined(0x22d) => vec![16, 4],
            Self::Predefined(0x231) => vec![8, 8],
            _ => vec![self.size()],
        }
    }

    /// Returns the number of basic elements of an element.
    fn basic_count(&self) -> u64 {
        match self {
            Self::Predefined(_) => self.basics().len() as u64,
            Self::Made(_) => {
                let parts = self.repeated_parts();
                parts
                    .iter()
                    .map(|(number, part)| number * part.basic_count())
                    .sum()
            }
        }
    }

    /// Returns the number of basic elements in the first `length` bytes of many elements, and takes
    /// their bytes away.
    fn count_in(&self, number: u64, length: &mut u64) -> u64 {
        let size = self.size();
        let whole = length.checked_div(size).unwrap_or(0).min(number);
        *length -= whole * size;
        let mut count = whole * self.basic_count();
        if whole == number || *length == 0 {
            return count;
        }
        let parts = self.repeated_parts();
        for (number, part) in &parts {
            count += part.count_in(*number, length);
        }
        if parts.is_empty() {
            for basic in self.basics() {
                if *length >= basic {
                    *length -= basic;
                    count += 1;
                }
            }
        }
        count
    }
}

/// Returns the number of basic elements in `length` bytes of elements of a datatype; `None` if the
/// last one is not whole.
pub(crate) fn elements_in(datatype: usize, mut length: u64) -> Option<u64> {
    let count = ComponentType::from_handle(datatype).count_in(u64::MAX, &mut length);
    (length == 0).then_some(count)
}

/// Returns the length in bytes of the numbers of which a predefined datatype consists.
fn predefined_number(datatype: usize) -> Option<usize> {
    match datatype {
        // Complex numbers have two.
        0x212 | 0x213 | 0x21b | 0x2d3 => Some(4),
        0x216 | 0x217 | 0x21d => Some(8),
        0x2db => Some(4),
        0x2e3 => Some(8),
        // Pairs of different numbers, and long double, which has another representation there.
        0x220 | 0x224 | 0x225 | 0x229 | 0x22a | 0x22c | 0x22d => None,
        0x228 | 0x22b | 0x230 | 0x232 => Some(4),
        0x231 => Some(8),
        _ => size_of(datatype).ok(),
    }
}

/// Returns the length in bytes of the numbers of which a datatype consists.
pub(crate) fn number_length(datatype: usize) -> Result<usize, CallError> {
    let contents = with_datatypes(|all| all.get(datatype).map(|made| Rc::clone(&made.contents)));
    let length = match contents {
        Some(contents) => contents.common_number_length(),
        None => predefined_number(datatype),
    };
    length.ok_or_else(|| {
        let text = "numbers of different lengths, or long double: not supported here";
        CallError::new("MPI_ERR_TYPE", text)
    })
}

impl MadeDatatype {
    pub(crate) fn new(datatype: Datatype, contents: Contents) -> Self {
        Self {
            element: datatype.element(),
            datatype,
            is_committed: false,
            contents: Rc::new(contents),
        }
    }

    pub(crate) const fn commit(&mut self) {
        self.is_committed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_the_table_are_those_of_their_datatypes() {
        let mut count = 0;
        for handle in 0..0x1000_usize {
            let place = handle.checked_sub(PREDEFINED.0);
            let Some(found) = place.and_then(|place| COMPACT.get(place)) else {
                assert_eq!(predefined_size(handle), None, "{handle:#x}");
                continue;
            };
            if found.size == 0 {
                let padded = [0x229, 0x22a, 0x22c, 0x22d].contains(&handle);
                assert_eq!(predefined_size(handle).is_some(), padded, "{handle:#x}");
                continue;
            }
            let size = size_of(handle).unwrap();
            let whole = Segment {
                offset: 0,
                length: size,
            };
            let numbers = numbers_of(handle);
            let datatype = Datatype::predefined(vec![whole], size, size, numbers);
            assert_eq!(found, datatype.element(), "{handle:#x}");
            count += 1;
        }
        assert!(count > 200);
    }
}
