//! The constant model: every transfer lasts one fixed latency, every computation lasts its flops
//! over one speed.
//!
//! With this model `sim-core` can be used and tested without a platform. *Not modelled*: sharing.
//! Any number of transfers and computations run side by side without slowing each other, and the
//! number of bytes does not matter; a user sees no contention at all. The threads of a computation
//! all run, on as many cores. A parallel task lasts the latency, if the task moves any bytes, and
//! then as long as the computation of the host with the most flop. There are no disks.
//!
//! Units: seconds, flop, flop/s.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{ActivityId, Change, End, ParallelWork, Resource, Span, StartError, Time, Work};

/// A [`Resource`] without sharing.
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
    /// The end of the activity; [`Time::NEVER`] while the activity is suspended.
    end: Time,
    /// Remaining time while the activity is suspended.
    left: Span,
    /// Units of work (flop or bytes) per second, for the computation of the remaining work.
    rate: f64,
    /// Number of threads of a computation; 0 for other activities.
    threads: u32,
}

impl Running {
    /// Returns the remaining time, suspended or not.
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

    /// Returns the duration of a parallel task.
    fn parallel(&self, work: &ParallelWork) -> Span {
        let moves = work.transfers().next().is_some();
        let latency = if moves { self.latency } else { Span::ZERO };
        let flops = work.flops().map(|(_, flops)| flops);
        latency + Span::from_secs(flops.fold(0.0, f64::max) / self.speed)
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
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        let (duration, amount) = match work {
            Work::Exec {
                flops,
                bound,
                threads,
                ..
            } => {
                let speed = self.speed * f64::from(*threads);
                (Span::from_secs(flops / speed.min(*bound)), *flops)
            }
            Work::Transfer { bytes, .. } => (self.latency, *bytes),
            Work::Parallel(work) => (self.parallel(work), 1.0),
            Work::Io { .. } => {
                let message = "hosts of the constant model have no disks".to_owned();
                return Err(StartError(message));
            }
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
            threads: match work {
                Work::Exec { threads, .. } => *threads,
                Work::Transfer { .. } | Work::Io { .. } | Work::Parallel(_) => 0,
            },
        });
        self.ends
            .push(Reverse((end, activity.number, activity.slot)));
        Ok(())
    }

    fn cancel(&mut self, activity: ActivityId, _now: Time) {
        self.get(activity);
        self.running[activity.slot as usize] = None;
    }

    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
        let running = self.get(activity);
        if suspended {
            running.left = running.end.since(now);
            running.end = Time::NEVER;
            return;
        }
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
        if running.threads == 0 {
            return;
        }
        let speed = speed * f64::from(running.threads);
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

    fn next_event(&mut self, _now: Time, _horizon: Time) -> Option<Time> {
        while let Some(&Reverse(first)) = self.ends.peek() {
            if Self::is_live(&self.running, first) {
                return Some(first.0);
            }
            self.ends.pop();
        }
        None
    }

    fn is_idle(&self) -> bool {
        self.ends.is_empty()
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
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
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    const HOST: HostId = HostId(0);

    fn activity(number: u64) -> ActivityId {
        let slot = u32::try_from(number).unwrap();
        ActivityId { number, slot }
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs(seconds)
    }

    fn exec(flops: f64) -> Work {
        Work::Exec {
            host: HOST,
            threads: 1,
            flops,
            priority: 1.0,
            bound: f64::INFINITY,
        }
    }

    fn model() -> Constant {
        Constant::new(Span::from_secs(2.0), 10.0)
    }

    #[test]
    fn nothing_is_shared() {
        // 30 flop at 10 flop/s, twice: both end at 3. A transfer lasts 2 s whatever its size.
        let mut model = model();
        model.start(activity(0), &exec(30.0), at(0.0)).unwrap();
        model.start(activity(1), &exec(30.0), at(0.0)).unwrap();
        for (number, bytes) in [(2, 1.0), (3, 1e12)] {
            let work = Work::Transfer {
                from: HOST,
                to: HOST,
                bytes,
                rate: 1.0,
            };
            model.start(activity(number), &work, at(0.0)).unwrap();
        }
        let mut ended = Vec::new();
        assert_eq!(model.next_event(at(0.0), Time::NEVER), Some(at(2.0)));
        model.advance(at(2.0), &mut ended);
        assert_eq!(ended, [(activity(2), End::Done), (activity(3), End::Done)]);
        ended.clear();
        assert_eq!(model.next_event(at(2.0), Time::NEVER), Some(at(3.0)));
        model.advance(at(3.0), &mut ended);
        assert_eq!(ended.len(), 2);
        assert_eq!(model.next_event(at(3.0), Time::NEVER), None);
    }

    #[test]
    fn what_is_suspended_does_not_end() {
        let mut model = model();
        model.start(activity(0), &exec(30.0), at(0.0)).unwrap();
        model.set_suspended(activity(0), true, at(1.0));
        assert_eq!(model.next_event(at(1.0), Time::NEVER), None);
        assert_eq!(model.remaining(activity(0), at(5.0)), 20.0);
        // 20 flop are left; with a bound of 5 flop/s they last 4 s.
        model.update(activity(0), Change::Bound(5.0), at(5.0));
        assert_eq!(model.next_event(at(5.0), Time::NEVER), None);
        assert_eq!(model.remaining(activity(0), at(5.0)), 20.0);
        model.set_suspended(activity(0), false, at(6.0));
        assert_eq!(model.next_event(at(6.0), Time::NEVER), Some(at(10.0)));
        model.cancel(activity(0), at(7.0));
        assert_eq!(model.next_event(at(7.0), Time::NEVER), None);
    }

    #[test]
    fn a_bound_does_not_touch_a_transfer() {
        let mut model = model();
        let work = Work::Transfer {
            from: HOST,
            to: HOST,
            bytes: 100.0,
            rate: f64::INFINITY,
        };
        model.start(activity(0), &work, at(0.0)).unwrap();
        model.update(activity(0), Change::Bound(1.0), at(1.0));
        model.update(activity(0), Change::Priority(2.0), at(1.0));
        assert_eq!(model.next_event(at(1.0), Time::NEVER), Some(at(2.0)));
        assert_eq!(model.remaining(activity(0), at(1.0)), 50.0);
    }
}
