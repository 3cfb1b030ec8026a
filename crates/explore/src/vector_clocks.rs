//! The vector clocks of the events of a run: for each actor, the number of its events that happen
//! before an event, the event included.
//!
//! Up to 64 actors: one row of numbers per event. More actors: [trees](shared::SharedClocks) that
//! share parts with the clocks of earlier events, because rows would take actors × events numbers.
//! Clocks are added and removed at the end only.

mod shared;

use self::shared::SharedClocks;

/// Actors up to which a clock is a row of numbers.
const DENSE_ACTORS: usize = 64;

/// The clocks of the events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClocks {
    /// `stride` numbers per event; empty if `shared` is in use.
    rows: Vec<u32>,
    stride: usize,
    /// One more than the greatest actor that has had events: the numbers of all others are zero.
    used: usize,
    shared: Option<SharedClocks>,
}

impl VectorClocks {
    /// Actors that there is room for.
    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }

    /// Makes room for an actor.
    #[inline]
    pub(crate) fn reserve(&mut self, actor: usize) {
        if actor >= self.used {
            self.widen(actor);
        }
    }

    #[cold]
    fn widen(&mut self, actor: usize) {
        self.used = actor + 1;
        let stride = self.used.next_power_of_two().max(8);
        if stride <= self.stride {
            return;
        }
        let old = std::mem::replace(&mut self.stride, stride);
        if self.shared.is_some() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        let rows = rows.chunks(old.max(1));
        if stride > DENSE_ACTORS {
            self.shared = Some(SharedClocks::from_rows(rows));
            return;
        }
        for row in rows {
            self.rows.extend_from_slice(row);
            self.rows.resize(self.rows.len() + stride - old, 0);
        }
    }

    /// Adds a clock that equals the clock of an earlier event, or zero.
    #[inline]
    pub(crate) fn push(&mut self, previous: Option<usize>) {
        let stride = self.stride;
        match (&mut self.shared, previous) {
            (Some(shared), _) => shared.push(previous),
            (None, Some(event)) => {
                let from = event * stride;
                self.rows.extend_from_within(from..from + stride);
            }
            (None, None) => self.rows.resize(self.rows.len() + stride, 0),
        }
    }

    /// Removes the last clock.
    #[inline]
    pub(crate) fn pop(&mut self) {
        match &mut self.shared {
            Some(shared) => shared.pop(),
            None => self.rows.truncate(self.rows.len() - self.stride),
        }
    }

    /// The number of events of an actor that happen before an event, the event included.
    #[inline]
    pub(crate) fn get(&self, event: usize, actor: usize) -> u32 {
        match &self.shared {
            Some(shared) => shared.get(event, actor),
            None => self.rows[event * self.stride + actor],
        }
    }

    /// The rows of all events but the last and the row of the last, if clocks are rows.
    #[inline]
    pub(crate) fn rows(&mut self) -> Option<(&[u32], &mut [u32])> {
        if self.shared.is_some() {
            return None;
        }
        let last = self.rows.len() - self.stride;
        let (earlier, last) = self.rows.split_at_mut(last);
        Some((earlier, last))
    }

    /// Adds all that an earlier event knows to the last clock.
    pub(crate) fn join_clock(&mut self, event: usize) {
        let (stride, used) = (self.stride, self.used);
        if let Some(shared) = &mut self.shared {
            shared.join_clock(event);
        } else if let Some((earlier, last)) = self.rows() {
            join_rows(&mut last[..used], &earlier[event * stride..]);
        }
    }

    /// Sets an actor's number of events in the last clock.
    #[inline]
    pub(crate) fn set_count(&mut self, actor: usize, count: u32) {
        match &mut self.shared {
            Some(shared) => shared.set_count(actor, count),
            None => {
                let row = self.rows.len() - self.stride;
                self.rows[row + actor] = count;
            }
        }
    }
}

/// Raises each number of a row to the number in another row, if that is greater. The other row may
/// be longer.
#[inline]
pub(crate) fn join_rows(row: &mut [u32], other: &[u32]) {
    for (own, &theirs) in row.iter_mut().zip(other) {
        *own = (*own).max(theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl VectorClocks {
        /// Bytes that the clocks take.
        fn bytes(&self) -> usize {
            let shared = self.shared.as_ref().map_or(0, SharedClocks::memory_bytes);
            self.rows.len() * size_of::<u32>() + shared
        }
    }

    /// Pushes an event of an actor after another event.
    fn push(
        clocks: &mut VectorClocks,
        latest: &mut [Option<usize>],
        actor: usize,
        joins: &[usize],
    ) {
        let position = latest.iter().flatten().max().map_or(0, |last| last + 1);
        clocks.reserve(actor);
        clocks.push(latest[actor]);
        for &event in joins {
            clocks.join_clock(event);
        }
        let count = clocks.get(position, actor) + 1;
        clocks.set_count(actor, count);
        latest[actor] = Some(position);
    }

    #[test]
    fn ten_thousand_actors_in_a_row_take_little_memory() {
        let actors = 10_000;
        let (mut clocks, mut latest) = (VectorClocks::default(), vec![None; actors]);
        for actor in 0..actors {
            let before: Vec<usize> = actor.checked_sub(1).into_iter().collect();
            push(&mut clocks, &mut latest, actor, &before);
        }
        assert_eq!(clocks.get(actors - 1, 0), 1);
        assert_eq!(clocks.get(0, actors - 1), 0);
        // Rows would take 655 MB.
        assert!(clocks.bytes() < 4_000_000, "{}", clocks.bytes());
    }

    #[test]
    fn shared_clocks_are_those_that_rows_would_be() {
        let actors = 200;
        let mut clocks = VectorClocks::default();
        let mut latest = vec![None; actors];
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut random = 1_u32;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as usize % limit
        };
        for round in 0..3 {
            for position in rows.len()..1000 {
                // The first are few enough for rows.
                let actor = below(if position < 50 { 20 } else { actors });
                let joins: Vec<usize> = (0..below(3))
                    .filter(|_| position > 0)
                    .map(|_| below(position))
                    .collect();
                let own = latest[actor].map(|event: usize| rows[event].clone());
                let mut row = own.unwrap_or_else(|| vec![0; actors]);
                for &event in &joins {
                    for (own, &theirs) in row.iter_mut().zip(&rows[event]) {
                        *own = (*own).max(theirs);
                    }
                }
                row[actor] += 1;
                rows.push(row);
                push(&mut clocks, &mut latest, actor, &joins);
            }
            for (event, row) in rows.iter().enumerate() {
                for (actor, &count) in row.iter().enumerate() {
                    if actor < clocks.stride() {
                        assert_eq!(clocks.get(event, actor), count, "{round} {event} {actor}");
                    }
                }
            }
            // Goes back by half and another way from there.
            while rows.len() > 500 {
                rows.pop();
                clocks.pop();
            }
            latest.fill(None);
            latest[0] = Some(rows.len() - 1);
        }
    }
}
