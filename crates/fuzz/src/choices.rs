//! Choices of a generator: numbers that are drawn from a stream, or given to the generator.
//!
//! The choices of a program are kept as a string of numbers, from which the generator makes the
//! same program again. A string without the choices of an *element*, or with smaller numbers, gives
//! a simpler program. Given numbers that are too large are reduced, and missing numbers are 0.

use std::ops::Range;

use sim_core::Stream;

/// Source and record of the choices of a generator.
#[derive(Debug)]
pub struct Choices<'s> {
    source: ChoiceSource<'s>,
    pub(crate) record: Record,
}

#[derive(Debug)]
enum ChoiceSource<'s> {
    Stream(&'s mut Stream),
    Given {
        values: std::vec::IntoIter<u64>,
        surplus: Surplus,
    },
}

/// Steps of a given merge that are ignored, when a sequence has fewer than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Surplus {
    First,
    Last,
}

/// The choices of a program.
#[derive(Clone, Default, Debug)]
pub(crate) struct Record {
    /// The numbers.
    pub(crate) values: Vec<u64>,
    /// The number that each one is below.
    pub(crate) limits: Vec<u64>,
    /// The places of each element: a number that is 1, and choices that only that element has.
    pub(crate) elements: Vec<Vec<Range<usize>>>,
    /// Places of numbers that select the packets with faults: seeds, and numbers of packets.
    pub(crate) faults: Vec<usize>,
}

impl Record {
    /// Returns the numbers without an element.
    pub(crate) fn without_element(&self, number: usize) -> Option<Vec<u64>> {
        let parts = self.elements.get(number)?;
        let mut values = self.values.clone();
        for (part, places) in parts.iter().enumerate().rev() {
            values.splice(places.clone(), (part == 0).then_some(0));
        }
        Some(values)
    }

    /// Makes each place of a fault one smaller; returns true if one was greater than 0.
    pub(crate) fn move_faults(&mut self) -> bool {
        let mut has_moved = false;
        for &at in &self.faults {
            has_moved |= self.values[at] > 0;
            self.values[at] = self.values[at].saturating_sub(1);
        }
        has_moved
    }
}

/// An element under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenElement {
    number: usize,
    begin: usize,
}

impl<'s> Choices<'s> {
    /// Returns choices that are drawn from a stream.
    pub fn from_stream(stream: &'s mut Stream) -> Self {
        Self {
            source: ChoiceSource::Stream(stream),
            record: Record::default(),
        }
    }

    /// Returns given choices.
    pub(crate) fn given(values: Vec<u64>, surplus: Surplus) -> Self {
        let values = values.into_iter();
        Self {
            source: ChoiceSource::Given { values, surplus },
            record: Record::default(),
        }
    }

    /// Returns true if the choices are given.
    pub(crate) const fn are_given(&self) -> bool {
        matches!(self.source, ChoiceSource::Given { .. })
    }

    /// Forgets the choices so far: the generator begins again.
    pub(crate) fn restart(&mut self) {
        self.record = Record::default();
    }

    /// Returns a choice below `limit`, which `draw` draws.
    fn record_choice(&mut self, limit: u64, draw: impl FnOnce(&mut Stream) -> u64) -> u64 {
        let value = match &mut self.source {
            ChoiceSource::Stream(stream) => draw(stream),
            ChoiceSource::Given { values, .. } => values.next().unwrap_or(0).min(limit - 1),
        };
        self.record.values.push(value);
        self.record.limits.push(limit);
        value
    }

    /// Returns a number below `limit`.
    pub(crate) fn draw_below(&mut self, limit: u64) -> u64 {
        self.below_if(true, limit)
    }

    /// Returns a number below `limit`, or 0 if no other number is `possible`. The choice is
    /// recorded in each case, so that another condition does not move later choices.
    pub(crate) fn below_if(&mut self, possible: bool, limit: u64) -> u64 {
        let draw = |stream: &mut Stream| if possible { stream.below(limit) } else { 0 };
        let value = self.record_choice(limit, draw);
        if possible { value } else { 0 }
    }

    /// Returns a place in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.draw_below(length as u64)).unwrap_or(0)
    }

    /// Returns one of the values.
    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.index(values.len())]
    }

    /// Returns 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.record_choice(u64::MAX, Stream::bits)
    }

    /// Returns a condition; false is simpler.
    pub(crate) fn draw_condition(&mut self, draw: impl FnOnce(&mut Stream) -> bool) -> bool {
        self.record_choice(2, |stream| draw(stream).into()) == 1
    }

    /// Returns a condition; if true is not `possible`, returns false, as [`Choices::below_if`].
    pub(crate) fn is_if(&mut self, possible: bool, draw: impl FnOnce(&mut Stream) -> bool) -> bool {
        self.draw_condition(|stream| possible && draw(stream)) && possible
    }

    /// Returns true once in `times` times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.draw_condition(|stream| stream.below(times) == 0)
    }

    /// Returns a choice below `limit` that is `value` without a draw.
    pub(crate) fn fixed(&mut self, value: u64, limit: u64) -> u64 {
        self.record_choice(limit, |_| value)
    }

    /// Returns the seed of random faults.
    pub(crate) fn fault_seed(&mut self, is_faulty: bool) -> u64 {
        if is_faulty {
            self.record.faults.push(self.record.values.len());
        }
        self.record_choice(u64::MAX, |stream| stream.bits() >> 11)
    }

    /// Returns the number of a packet with a fault.
    pub(crate) fn fault_packet(&mut self, limit: u64) -> u64 {
        self.record.faults.push(self.record.values.len());
        self.draw_below(limit)
    }

    /// Shuffles as [`Stream::shuffle`] does.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }

    /// Begins an element that exists without a draw; `None` if the element was removed.
    pub(crate) fn enter(&mut self) -> Option<OpenElement> {
        self.enter_if(|_| true)
    }

    /// Begins an element, if `draw` draws the element and it was not removed.
    pub(crate) fn enter_if(
        &mut self,
        draw: impl FnOnce(&mut Stream) -> bool,
    ) -> Option<OpenElement> {
        let begin = self.record.values.len();
        let is_there = self.draw_condition(draw);
        // Only the removal of all its choices removes an element.
        self.record.limits[begin] = 1;
        is_there.then(|| {
            self.record.elements.push(Vec::new());
            let number = self.record.elements.len() - 1;
            OpenElement { number, begin }
        })
    }

    /// Begins another part of an element.
    pub(crate) const fn enter_again(&self, element: OpenElement) -> OpenElement {
        OpenElement {
            begin: self.record.values.len(),
            ..element
        }
    }

    /// Ends an element, or a part of the element.
    pub(crate) fn leave_element(&mut self, element: OpenElement) {
        let part = element.begin..self.record.values.len();
        self.record.elements[element.number].push(part);
    }

    /// Returns a list of numbers below `limit`. A given list may be longer or shorter.
    pub(crate) fn draw_list(&mut self, length: usize, limit: u64) -> Vec<u64> {
        let mut numbers = match &mut self.source {
            ChoiceSource::Stream(stream) => (0..length).map(|_| stream.below(limit)).collect(),
            ChoiceSource::Given { values, .. } => given_list(values),
        };
        numbers.resize(length, 0);
        for number in &mut numbers {
            *number = (*number).min(limit - 1);
        }
        self.keep_list(&numbers, limit);
        numbers
    }

    /// Returns a merge of sequences with these lengths, as the number of the sequence of each step;
    /// all merges are equally likely. Of a given merge the steps that are left keep their order.
    pub(crate) fn draw_merge_order(&mut self, mut lengths: Vec<usize>) -> Vec<u64> {
        let mut merged = match &mut self.source {
            ChoiceSource::Stream(stream) => draw_merge(lengths.clone(), stream),
            ChoiceSource::Given { values, surplus } => {
                let mut numbers = given_list(values);
                let mut left = lengths.clone();
                let mut is_left = |number: &u64| {
                    let left = left.get_mut(*number as usize).filter(|left| **left > 0);
                    left.map(|left| *left -= 1).is_some()
                };
                if *surplus == Surplus::First {
                    numbers.reverse();
                    numbers.retain(&mut is_left);
                    numbers.reverse();
                } else {
                    numbers.retain(&mut is_left);
                }
                numbers
            }
        };
        for &number in &merged {
            lengths[number as usize] -= 1;
        }
        for (number, left) in (0..).zip(&lengths) {
            merged.extend(std::iter::repeat_n(number, *left));
        }
        self.keep_list(&merged, lengths.len() as u64);
        merged
    }

    fn keep_list(&mut self, numbers: &[u64], limit: u64) {
        let record = &mut self.record;
        record.values.push(numbers.len() as u64);
        record.values.extend(numbers);
        record.limits.push(1);
        record.limits.resize(record.values.len(), limit);
    }
}

fn given_list(values: &mut std::vec::IntoIter<u64>) -> Vec<u64> {
    let length = values.next().unwrap_or(0) as usize;
    values.take(length).collect()
}

fn draw_merge(mut lengths: Vec<usize>, stream: &mut Stream) -> Vec<u64> {
    let left: usize = lengths.iter().sum();
    let next = |left: usize| {
        let mut drawn = stream.below(left as u64);
        let number = lengths.iter().position(|&length| {
            let is_it = drawn < length as u64;
            drawn = drawn.wrapping_sub(length as u64);
            is_it
        });
        let number = number.unwrap_or(0);
        lengths[number] -= 1;
        number as u64
    };
    (1..=left).rev().map(next).collect()
}
