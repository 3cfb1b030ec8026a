//! Datatypes as segments of memory, made by a program from other datatypes (MPI 5.0, section 5.1).
//!
//! A datatype has the places of the bytes, their order in a message, and the type of the numbers if
//! all have one type. *Not there*: the types of structures, so that a receive with another
//! structure than the send is not noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::errors::CallError;
use crate::handles::ElementLayout;

/// Maximum number of segments of a datatype.
const SEGMENTS_MAX: usize = 1 << 24;

/// Bytes that follow one another in memory, relative to the address of an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Segment {
    pub(crate) offset: isize,
    pub(crate) length: usize,
}

/// A datatype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Datatype {
    /// In the order of a message.
    segments: Vec<Segment>,
    /// Bytes of an element in a message.
    size: usize,
    /// The bounds, between which elements do not overlap.
    pub(crate) lower: isize,
    upper: isize,
    /// Alignment in bytes of the most demanding part.
    alignment: usize,
    /// True if a call has set the bounds.
    is_resized: bool,
    /// Length in bytes of the predefined datatypes in this datatype, if all have the same length.
    pub(crate) basic: Option<usize>,
    /// Type of all numbers; bytes if they differ.
    numbers: mpi::Element,
}

/// Blocks of elements: displacement in bytes, number of elements and their datatype.
pub(crate) type Block<'a> = (isize, usize, &'a Datatype);

impl Datatype {
    /// Returns a predefined datatype: the segments, the bytes from an element to the next one, the
    /// alignment, and the type of the numbers.
    pub(crate) fn predefined(
        segments: Vec<Segment>,
        extent: usize,
        alignment: usize,
        numbers: mpi::Element,
    ) -> Self {
        let size = segments.iter().map(|segment| segment.length).sum();
        Self {
            segments,
            size,
            lower: 0,
            upper: extent.cast_signed(),
            alignment,
            is_resized: false,
            basic: Some(size),
            numbers,
        }
    }

    /// Returns the bytes from an element to the next one.
    pub(crate) const fn extent(&self) -> isize {
        self.upper - self.lower
    }

    /// Returns the first byte and the end of the data.
    pub(crate) fn true_bounds(&self) -> (isize, isize) {
        let ends = |segment: &Segment| segment.offset + segment.length.cast_signed();
        let lower = self.segments.iter().map(|segment| segment.offset).min();
        let upper = self.segments.iter().map(ends).max();
        (lower.unwrap_or(0), upper.unwrap_or(0))
    }

    /// Returns a datatype of blocks of elements.
    pub(crate) fn of_blocks(blocks: &[Block<'_>]) -> Result<Self, CallError> {
        let mut all = Self::predefined(Vec::new(), 0, 1, mpi::Element::BYTES);
        let (mut bounds, mut basic, mut numbers) = (None, None, None::<mpi::Element>);
        for &(displacement, count, datatype) in blocks.iter().filter(|block| block.1 > 0) {
            all.alignment = all.alignment.max(datatype.alignment);
            all.is_resized |= datatype.is_resized;
            basic = match basic {
                None => Some(datatype.basic),
                Some(known) => Some(known.filter(|known| datatype.basic == Some(*known))),
            };
            let own = datatype.numbers;
            numbers = Some(numbers.map_or(own, |known| known.common(own)));
            let place = |number: usize| {
                let offset = isize::try_from(number)
                    .ok()?
                    .checked_mul(datatype.extent())?;
                offset.checked_add(displacement)
            };
            // The places of the elements are equally far from each other.
            for number in [0, count - 1] {
                let base = place(number).ok_or_else(too_large)?;
                let lower = base.checked_add(datatype.lower).ok_or_else(too_large)?;
                let upper = base.checked_add(datatype.upper).ok_or_else(too_large)?;
                let (least, greatest) = bounds.unwrap_or((lower, upper));
                bounds = Some((least.min(lower), greatest.max(upper)));
            }
            if let [only] = datatype.segments[..]
                && only.length.cast_signed() == datatype.extent()
            {
                let length = only.length.checked_mul(count).ok_or_else(too_large)?;
                all.add_segment(displacement, Segment { length, ..only })?;
                continue;
            }
            for number in 0..count {
                let base = place(number).ok_or_else(too_large)?;
                for segment in &datatype.segments {
                    all.add_segment(base, *segment)?;
                }
            }
        }
        (all.lower, all.upper) = bounds.unwrap_or((0, 0));
        all.basic = basic.flatten();
        all.numbers = numbers.unwrap_or_default();
        Ok(all)
    }

    /// Adds a segment, or extends the last segment if the new one follows directly.
    fn add_segment(&mut self, base: isize, segment: Segment) -> Result<(), CallError> {
        let offset = base.checked_add(segment.offset).ok_or_else(too_large)?;
        self.size += segment.length;
        if let Some(last) = self.segments.last_mut()
            && last.offset + last.length.cast_signed() == offset
        {
            last.length += segment.length;
            return Ok(());
        }
        if self.segments.len() == SEGMENTS_MAX {
            return Err(too_large());
        }
        self.segments.push(Segment { offset, ..segment });
        Ok(())
    }

    /// Rounds the extent up, as a compiler does for a structure, unless a call has set the extent.
    pub(crate) const fn aligned(mut self) -> Self {
        if !self.is_resized {
            let extent = self.extent().cast_unsigned();
            let rounded = extent.next_multiple_of(self.alignment);
            self.upper = self.lower + rounded.cast_signed();
        }
        self
    }

    /// Returns the datatype with other bounds.
    pub(crate) const fn resized(mut self, lower: isize, extent: isize) -> Self {
        self.lower = lower;
        self.upper = lower + extent;
        self.is_resized = true;
        self
    }

    /// Returns a part of an array of such elements, in rows: `parts` has for each dimension, from
    /// the one that varies most slowly on, the length of the array and the indices of the part.
    pub(crate) fn part_of_array<I>(&self, parts: &[(usize, I)]) -> Result<Self, CallError>
    where
        I: Iterator<Item = usize> + Clone,
    {
        let (mut part, mut stride) = (self.clone(), self.extent());
        for (length, indices) in parts.iter().rev() {
            let place = |number: usize| isize::try_from(number).ok()?.checked_mul(stride);
            let blocks: Option<Vec<Block<'_>>> = indices
                .clone()
                .map(|number| Some((place(number)?, 1, &part)))
                .collect();
            part = Self::of_blocks(&blocks.ok_or_else(too_large)?)?;
            stride = place(*length).ok_or_else(too_large)?;
        }
        Ok(part.resized(0, stride))
    }

    /// Returns the properties of the datatype that calls need.
    pub(crate) fn element(&self) -> &'static ElementLayout {
        let is_simple = match self.segments[..] {
            [] => true,
            [only] => only.offset == 0,
            _ => false,
        };
        kept_element(ElementLayout {
            size: self.size,
            extent: self.extent(),
            numbers: self.numbers,
            segments: if is_simple { &[] } else { kept(&self.segments) },
        })
    }
}

fn too_large() -> CallError {
    let text = format!("a datatype of more than {SEGMENTS_MAX} pieces, or beyond all addresses");
    CallError::new("MPI_ERR_TYPE", text)
}

/// Returns segments that are kept until the process ends, so that no value on the stack of a rank
/// needs a drop. Equal segments are kept once, because an exploration makes them again and again.
fn kept(segments: &[Segment]) -> &'static [Segment] {
    static KEPT: Mutex<BTreeSet<&'static [Segment]>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(segments) {
        return known;
    }
    let new: &'static [Segment] = Box::leak(segments.into());
    all.insert(new);
    new
}

/// Returns an element that is kept as segments are, so that the places of elements are short: once
/// for all types that are alike.
fn kept_element(element: ElementLayout) -> &'static ElementLayout {
    type Key = (&'static str, usize, isize, &'static [Segment]);
    static KEPT: Mutex<BTreeMap<Key, &'static ElementLayout>> = Mutex::new(BTreeMap::new());
    let ElementLayout {
        size,
        extent,
        segments,
        numbers,
    } = element;
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (numbers.name(), size, extent, segments);
    all.entry(key)
        .or_insert_with(|| Box::leak(Box::new(element)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> Datatype {
        let all = Segment {
            offset: 0,
            length: 4,
        };
        Datatype::predefined(vec![all], 4, 4, mpi::Element::of::<i32>())
    }

    fn double() -> Datatype {
        let all = Segment {
            offset: 0,
            length: 8,
        };
        Datatype::predefined(vec![all], 8, 8, mpi::Element::of::<f64>())
    }

    fn places(datatype: &Datatype) -> Vec<(isize, usize)> {
        let segments = datatype.segments.iter();
        segments.map(|one| (one.offset, one.length)).collect()
    }

    #[test]
    fn blocks_that_touch_are_one_segment() {
        let int = int();
        let row = Datatype::of_blocks(&[(0, 3, &int)]).unwrap();
        assert_eq!((places(&row), row.extent()), (vec![(0, 12)], 12));
        assert!(row.element().segments.is_empty());
        // Two of three columns: MPI_Type_vector(2, 2, 3).
        let columns = Datatype::of_blocks(&[(0, 2, &int), (12, 2, &int)]).unwrap();
        assert_eq!(places(&columns), [(0, 8), (12, 8)]);
        assert_eq!((columns.extent(), columns.size), (20, 16));
        assert_eq!(
            columns.element().segments.as_ptr(),
            columns.element().segments.as_ptr()
        );
    }

    #[test]
    fn a_structure_is_padded_until_it_is_resized() {
        let (int, double) = (int(), double());
        let pair = Datatype::of_blocks(&[(0, 1, &double), (8, 1, &int)]).unwrap();
        assert_eq!(pair.extent(), 12);
        let pair = pair.aligned();
        assert_eq!((pair.extent(), pair.size, pair.basic), (16, 12, None));
        let shifted = pair.resized(-4, 40).aligned();
        assert_eq!((shifted.lower, shifted.extent()), (-4, 40));
        assert_eq!(shifted.true_bounds(), (0, 12));
        let two = Datatype::of_blocks(&[(0, 2, &shifted)]).unwrap();
        assert_eq!(places(&two), [(0, 12), (40, 12)]);
        assert_eq!((two.lower, two.extent()), (-4, 80));
    }

    #[test]
    fn a_part_of_an_array_has_the_places_of_its_elements() {
        // Rows 1 to 2 and columns 2 to 4 of 4 x 6 numbers.
        let part = int().part_of_array(&[(4, 1..3), (6, 2..5)]).unwrap();
        assert_eq!(places(&part), [(4 * 8, 12), (4 * 14, 12)]);
        assert_eq!((part.lower, part.extent()), (0, 4 * 24));
    }

    #[test]
    fn negative_displacements_lower_the_bound() {
        let int = int();
        let back = Datatype::of_blocks(&[(8, 1, &int), (-4, 1, &int)]).unwrap();
        assert_eq!(
            (back.lower, back.extent(), places(&back)),
            (-4, 16, vec![(8, 4), (-4, 4)])
        );
        let huge = Datatype::of_blocks(&[(isize::MAX, 2, &int)]);
        assert!(huge.is_err());
    }
}
