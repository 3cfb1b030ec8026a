//! A way to the event queue for the benchmark that compares it with others. Not part of the
//! interface.

use crate::Time;
use crate::timers::{Timer, TimerQueue};

/// The event queue of the kernel.
#[derive(Debug)]
pub struct Queue {
    timers: TimerQueue,
    pushed: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            timers: TimerQueue::new(),
            pushed: 0,
        }
    }

    /// Adds a date.
    #[inline]
    pub fn push(&mut self, date: Time, target: u64) {
        self.pushed += 1;
        self.timers.push(Timer {
            date: date.to_bits(),
            number: self.pushed,
            target,
        });
    }

    /// Takes the earliest date; equal dates in the order in which they were added.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u64)> {
        let timer = self.timers.pop()?;
        Some((Time::from_bits(timer.date), timer.target))
    }
}
