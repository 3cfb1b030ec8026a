//! Fresh temporary buffers of a collective: the regions that a rank has written and registered in
//! this call.
//!
//! Written regions, and registered ones, are kept as one range each: schedules go through a buffer
//! from one side, or halve a region again and again.
//!
//! *Not modelled*: as in `MemorySettings`; the first write by the copy out of an eager message.

use std::ops::Range;
use std::sync::Arc;

use collectives::{Algorithm, Area, Call, Part};
use settings::{MMAP_THRESHOLD_MAX, MemorySettings, TRIM_THRESHOLD};

/// The fresh buffers of a call at one rank.
#[derive(Clone, Debug)]
pub struct FreshMemory {
    settings: Arc<MemorySettings>,
    /// Bytes of a copy of the operand, which stands in the area `Recv`; 0 if there is none.
    operand: u64,
    /// Ranges of the areas `Temp` and `Recv`.
    written: [Range<u64>; 2],
    registered: [Range<u64>; 2],
}

impl FreshMemory {
    /// Returns the buffers of a call that has `length` bytes of the area `Temp` at this rank;
    /// `None` if they are not fresh, or if fresh buffers are free.
    #[must_use]
    pub fn of_call(
        settings: Option<&Arc<MemorySettings>>,
        algorithm: &Algorithm,
        call: &Call,
        length: u64,
    ) -> Option<Box<Self>> {
        let settings = settings.filter(|settings| settings.has_fresh_buffers())?;
        let copies = algorithm.copies_operand && !call.is_root();
        let buffer = length / u64::from(algorithm.temp_buffers);
        let is_trimmed = algorithm.temp_buffers > 1 || copies;
        let is_fresh = buffer >= MMAP_THRESHOLD_MAX || is_trimmed && buffer > TRIM_THRESHOLD;
        is_fresh.then(|| {
            Box::new(Self {
                settings: Arc::clone(settings),
                operand: if copies { call.bytes } else { 0 },
                written: [0..0, 0..call.bytes],
                registered: [0..0, 0..0],
            })
        })
    }

    /// Returns the time to copy the operand into a fresh buffer, in seconds.
    #[must_use]
    pub fn copy_time(&self, call: &Call) -> f64 {
        let copying = self
            .settings
            .copy
            .of_working_set(self.operand, call.working_set());
        copying + self.settings.first_touch.message_overhead(self.operand)
    }

    /// Returns the time to write a part for the first time, in seconds; 0 if that is not the first.
    pub fn write_time(&mut self, part: Part) -> f64 {
        let place = self.place_of(part);
        let new = place.map_or(0, |place| extend_range(&mut self.written[place], part));
        self.settings.first_touch.message_overhead(new)
    }

    /// Returns the time to register a part, in seconds; 0 if the part is registered.
    pub fn registration_time(&mut self, part: Part) -> f64 {
        let place = self.place_of(part);
        let new = place.map_or(0, |place| extend_range(&mut self.registered[place], part));
        self.settings.registration.message_overhead(new)
    }

    /// Returns the number of the range of a part; `None` if the part is memory of the program.
    fn place_of(&self, part: Part) -> Option<usize> {
        match part.area {
            Area::Temp => Some(0),
            Area::Recv if self.operand > 0 => Some(1),
            Area::Recv | Area::Send => None,
        }
    }
}

/// Adds a part to a range. Returns the number of bytes that were not in the range.
fn extend_range(range: &mut Range<u64>, part: Part) -> u64 {
    let end = part.offset + part.length;
    if range.is_empty() {
        *range = part.offset..end;
        return part.length;
    }
    let below = range.start.saturating_sub(part.offset).min(part.length);
    let above = end.saturating_sub(range.end).min(part.length);
    *range = range.start.min(part.offset)..range.end.max(end);
    below + above
}

#[cfg(test)]
mod tests {
    use super::*;
    use collectives::{Collective, find};
    use settings::{OverheadSection, OverheadTable};

    fn fresh_memory(
        name: &str,
        kind: Collective,
        rank: u32,
        bytes: u64,
    ) -> Option<Box<FreshMemory>> {
        let per_byte = |per_byte| {
            OverheadTable::new(vec![OverheadSection {
                above: 0,
                time: 1.0,
                per_byte,
            }])
        };
        let settings = Arc::new(MemorySettings {
            first_touch: per_byte(2.0),
            registration: per_byte(3.0),
            ..MemorySettings::NONE
        });
        let algorithm = find(kind, name).expect("an algorithm");
        let call = Call::new(kind, rank, 8, bytes);
        let length = (algorithm.temp)(&call);
        FreshMemory::of_call(Some(&settings), algorithm, &call, length)
    }

    #[test]
    fn several_buffers_are_fresh_from_the_trim_threshold_on() {
        let reduce =
            |name, rank, bytes| fresh_memory(name, Collective::Reduce, rank, bytes).is_some();
        // Inner ranks of the tree have two segments, rank 7 has none.
        assert!(reduce("binary", 0, TRIM_THRESHOLD + 1));
        assert!(!reduce("binary", 0, TRIM_THRESHOLD));
        assert!(!reduce("binary", 7, MMAP_THRESHOLD_MAX));
        // Ranks that are not the root copy the operand into one more buffer.
        assert!(reduce("rabenseifner_pairs", 1, TRIM_THRESHOLD + 1));
        assert!(!reduce("rabenseifner_pairs", 0, TRIM_THRESHOLD + 1));
        // One buffer alone is mapped anew only if that is long.
        let allreduce =
            |bytes| fresh_memory("rabenseifner", Collective::Allreduce, 1, bytes).is_some();
        assert_eq!(
            [MMAP_THRESHOLD_MAX - 1, MMAP_THRESHOLD_MAX].map(allreduce),
            [false, true]
        );
    }

    #[test]
    fn bytes_cost_once() {
        let mut memory = fresh_memory("rabenseifner", Collective::Allreduce, 1, MMAP_THRESHOLD_MAX);
        let memory = memory.as_mut().expect("long buffers are fresh");
        let part = Part::temp;
        let parts = [part(100, 100), part(150, 20), part(50, 100), part(190, 20)];
        assert_eq!(
            parts.map(|part| memory.write_time(part)),
            [201.0, 0.0, 101.0, 21.0]
        );
        assert_eq!(memory.registration_time(part(0, 10)), 31.0);
        assert_eq!(memory.registration_time(Part::recv(0, 10)), 0.0);
        let mut memory = fresh_memory("rabenseifner_pairs", Collective::Reduce, 1, 1 << 20);
        let memory = memory.as_mut().expect("two buffers are fresh");
        assert_eq!(memory.registration_time(Part::recv(0, 10)), 31.0);
        assert_eq!(memory.write_time(Part::recv(0, 10)), 0.0);
    }
}
