//! The constant model: every transfer lasts one fixed latency, every computation lasts its flops over one speed.
//!
//! This is what `sim-core` brings so that it can be used and tested without a platform. *Not modelled*: sharing.
//! Any number of transfers and computations run side by side without slowing each other, and the number of bytes
//! does not matter; a user sees no contention at all.
//!
//! Units: seconds, flop, flop/s.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{ActivityId, CannotStart, Change, End, Resource, Span, Time, Work};

/// A [`Resource`] on which nothing is shared.
#[derive(Debug)]
pub struct Constant {
    latency: Span,
    speed: f64,
    /// Per slot: the running activity.
    running: Vec<Option<Running>>,
    ends: BinaryHeap<Reverse<(Time, u64, u32)>>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    number: u64,
    /// When it ends; [`Time::NEVER`] while it is suspended.
    end: Time,
    /// How long it has left while it is suspended.
    left: Span,
    /// Units of work (flop or bytes) per second, to tell what remains.
    rate: f64,
    is_exec: bool,
}

impl Running {
    /// How long it has left, suspended or not.
    fn left_at(&self, now: Time) -> Span {
        if self.end == Time::NEVER {
            self.left
        } else {
            self.end.since(now)
        }
    }
}

impl Constant {
    /// A model in which a transfer lasts `latency` and a host computes `speed` flop/s.
    ///
    /// # Panics
    /// If `speed` is not above 0.
    #[must_use]
    pub fn new(latency: Span, speed: f64) -> Self {
        assert!(speed > 0.0, "a speed must be above 0 flop/s, not {speed}");
        Self {
            latency,
            speed,
            running: Vec::new(),
            ends: BinaryHeap::new(),
        }
    }

    fn get(&mut self, activity: ActivityId) -> &mut Running {
        let entry = self.running[activity.slot as usize].as_mut();
        entry
            .filter(|running| running.number == activity.number)
            .expect("the kernel names a running activity")
    }

    fn is_live(running: &[Option<Running>], (end, number, slot): (Time, u64, u32)) -> bool {
        running[slot as usize].is_some_and(|running| running.number == number && running.end == end)
    }
}

impl Resource for Constant {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), CannotStart> {
        let (duration, amount) = match *work {
            Work::Exec { flops, bound, .. } => {
                (Span::from_secs(flops / self.speed.min(bound)), flops)
            }
            Work::Transfer { bytes, .. } => (self.latency, bytes),
        };
        let slot = activity.slot as usize;
        if self.running.len() <= slot {
            self.running.resize(slot + 1, None);
        }
        let rate = if duration > Span::ZERO {
            amount / duration.as_secs()
        } else {
            0.0
        };
        let end = now + duration;
        self.running[slot] = Some(Running {
            number: activity.number,
            end,
            left: Span::ZERO,
            rate,
            is_exec: matches!(work, Work::Exec { .. }),
        });
        self.ends
            .push(Reverse((end, activity.number, activity.slot)));
        Ok(())
    }

    fn cancel(&mut self, activity: ActivityId, _now: Time) {
        self.get(activity);
        self.running[activity.slot as usize] = None;
    }

    fn suspend(&mut self, activity: ActivityId, now: Time) {
        let running = self.get(activity);
        running.left = running.end.since(now);
        running.end = Time::NEVER;
    }

    fn resume(&mut self, activity: ActivityId, now: Time) {
        let running = self.get(activity);
        running.end = now + running.left;
        let end = running.end;
        self.ends
            .push(Reverse((end, activity.number, activity.slot)));
    }

    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        let speed = self.speed;
        let running = self.get(activity);
        let Change::Bound(bound) = change else {
            return;
        };
        if !running.is_exec {
            return;
        }
        let amount = running.left_at(now).as_secs() * running.rate;
        running.rate = speed.min(bound);
        let left = Span::from_secs(amount / running.rate);
        if running.end == Time::NEVER {
            running.left = left;
        } else {
            running.end = now + left;
            let end = running.end;
            self.ends
                .push(Reverse((end, activity.number, activity.slot)));
        }
    }

    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        let running = self.get(activity);
        running.left_at(now).as_secs() * running.rate
    }

    fn next_date(&mut self, _now: Time) -> Option<Time> {
        while let Some(&Reverse(first)) = self.ends.peek() {
            if Self::is_live(&self.running, first) {
                return Some(first.0);
            }
            self.ends.pop();
        }
        None
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        while let Some(&Reverse(first)) = self.ends.peek() {
            if first.0 > now {
                break;
            }
            self.ends.pop();
            if Self::is_live(&self.running, first) {
                let (_, number, slot) = first;
                self.running[slot as usize] = None;
                ended.push((ActivityId { number, slot }, End::Done));
            }
        }
    }
}
