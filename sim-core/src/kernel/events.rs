//! Dates: setting timers, finding the next date, and the events of one instant.
//!
//! Timers and ends of activities share one sequence of numbers. At one date they happen in the
//! order of these numbers, which is the order of creation.

use super::idle::KernelResource;
use super::{Actors, Kernel, PendingState};
use crate::code::{Code, TransitionKindSet};
use crate::prefetch::prefetch;
use crate::timers::{Nearness, Timer, TimerQueue};
use crate::{ActivityId, Clock, End, Resource, Span, Time};

/// Targets from here on belong to the device; below are actors.
pub(crate) const DEVICE_TARGET: u64 = 1 << 63;
/// Target bit that marks the end of device work; without this bit the target is a device timer.
pub(crate) const DEVICE_WORK: u64 = 1 << 62;

/// The date of a run, and the timers and activities that are due later.
pub(crate) struct Calendar {
    pub(crate) now: Time,
    /// The last date at which an actor had an enabled step.
    pub(crate) active: Time,
    pub(crate) clock: Clock,
    /// The last serial number given to a timer or an activity.
    numbers: u64,
    timers: TimerQueue,
    /// Timers in the queue that no actor waits for any more.
    stale_timers: usize,
    pub(crate) resource: KernelResource,
    pub(super) ended: Vec<(ActivityId, End)>,
}

impl Calendar {
    pub(super) fn new(resource: Box<dyn Resource>, clock: Clock) -> Self {
        Self {
            now: Time::ZERO,
            active: Time::ZERO,
            clock,
            numbers: 0,
            timers: TimerQueue::new(),
            stale_timers: 0,
            resource: KernelResource::new(resource),
            ended: Vec::new(),
        }
    }

    /// Forgets all timers and keeps their memory.
    pub(super) fn recycle(&mut self) {
        (self.now, self.active) = (Time::ZERO, Time::ZERO);
        self.numbers = 0;
        self.timers.clear();
        self.stale_timers = 0;
        self.ended.clear();
    }

    /// Returns true if simulated time passes.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.clock == Clock::Timed
    }

    /// The next serial number.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Sets the timer of an operation with a time limit, if time passes for the operation; returns
    /// the number of the timer, 0 without a timer.
    #[inline]
    pub(super) fn set_timeout(&mut self, code: Code, timeout: Span, actor: u32) -> u64 {
        if self.is_timed() && code.is_among(TransitionKindSet::TIMED) {
            self.set_timer(self.now + timeout, u64::from(actor))
        } else {
            0
        }
    }

    /// Puts a timer into the queue; returns the number of the timer.
    #[inline]
    pub(crate) fn set_timer(&mut self, date: Time, target: u64) -> u64 {
        let number = self.next_number();
        if date < Time::NEVER {
            self.timers.push(Timer {
                date: date.to_bits(),
                number,
                target,
            });
        }
        number
    }

    /// Notes that no actor waits for a timer any more; number 0 means no timer.
    #[inline]
    pub(crate) fn drop_timer(&mut self, number: u64, actors: &Actors) {
        if number == 0 {
            return;
        }
        self.stale_timers += 1;
        if self.stale_timers > 64 && self.stale_timers > self.timers.len() / 2 {
            let actors = &actors.records;
            self.timers.retain(|timer| is_awaited(actors, timer));
            self.stale_timers = 0;
        }
    }

    /// The next date at which anything happens.
    pub(crate) fn next_date(&mut self, actors: &Actors) -> Option<Time> {
        if self.clock == Clock::Untimed {
            // Only what devices do at this very date; sleeps and timeouts never enter the queue.
            return self.first_date().filter(|&date| date <= self.now);
        }
        while self.stale_timers > 0 {
            match self.timers.first_timer() {
                Some(timer) if !is_awaited(&actors.records, &timer) => {
                    self.timers.pop();
                    self.stale_timers -= 1;
                }
                _ => break,
            }
        }
        let timer = self.first_date();
        // Pollers are notified at every date.
        let horizon = match timer {
            _ if actors.mode.is_chosen() || !actors.pollers.is_empty() => self.now,
            timer => timer.unwrap_or(Time::NEVER),
        };
        let resource = self.resource.next_event(self.now, horizon);
        match (timer, resource) {
            (Some(timer), Some(resource)) => Some(timer.min(resource)),
            (None, Some(date)) if self.resource.only_repeats(self.active, date) => None,
            (timer, resource) => timer.or(resource),
        }
    }

    #[inline]
    fn first_date(&self) -> Option<Time> {
        self.timers.first_date().map(Time::from_bits)
    }

    #[inline]
    fn next_due(&mut self, date: Time, actors: &Actors) -> Option<Timer> {
        let actors = &actors.records;
        let near = |timer: &Timer, nearness| prefetch_actor(actors, timer, nearness);
        self.timers.pop_until(date.to_bits(), near)
    }
}

impl Kernel {
    /// Moves the clock to `date` and lets everything due there happen.
    #[inline(always)]
    pub(crate) fn advance_clock(&mut self, date: Time) {
        assert!(
            date >= self.calendar.now,
            "the next date {date} is before the present {}",
            self.calendar.now
        );
        if date > self.calendar.now {
            self.calendar.now = date;
            self.counters.digest.mix(date.to_bits(), 1);
        }
        self.actors.progress += 1;
        let mut ended = std::mem::take(&mut self.calendar.ended);
        let switched =
            self.calendar.is_timed() && self.calendar.resource.advance_to(date, &mut ended);
        // The timers and the ends of one date are merged by their numbers.
        ended.sort_unstable_by_key(|(activity, _)| activity.number);
        let mut at = 0;
        while let Some(timer) = self.calendar.next_due(date, &self.actors) {
            while let Some(&(activity, end)) = ended.get(at)
                && activity.number < timer.number
            {
                self.end_activity(activity, end);
                at += 1;
            }
            self.expire_timer(timer);
        }
        for &(activity, end) in &ended[at..] {
            self.end_activity(activity, end);
        }
        ended.clear();
        self.calendar.ended = ended;
        if switched {
            self.note_switched();
        }
    }

    #[inline]
    fn expire_timer(&mut self, timer: Timer) {
        if timer.target >= DEVICE_TARGET {
            self.counters.events += 1;
            if let Some(device) = self.device.clone() {
                let token = timer.target & !(DEVICE_TARGET | DEVICE_WORK);
                if timer.target & DEVICE_WORK == 0 {
                    device.on_timer(self, token);
                } else {
                    device.on_end(self, token, End::Done);
                }
            }
            return;
        }
        let actor = u32::try_from(timer.target).expect("a target below the device's is an actor");
        if self.actors[actor].fire(timer.number) {
            self.counters.events += 1;
            self.actors.schedule_actor(actor);
        } else {
            self.calendar.stale_timers = self.calendar.stale_timers.saturating_sub(1);
        }
    }

    #[inline]
    pub(super) fn end_activity(&mut self, activity: ActivityId, end: End) {
        self.counters.events += 1;
        self.counters
            .digest
            .mix(u64::from(activity.slot) << 8 | end as u64, 2);
        let Some(token) = self.objects.activities.take_device_work(activity.slot) else {
            return self.finish_activity(activity.slot, end);
        };
        if let Some(device) = self.device.clone() {
            device.on_end(self, token, end);
        }
    }
}

impl super::ActorRecord {
    /// Marks the operation with this timer; false if there is no such operation.
    #[inline]
    fn fire(&mut self, number: u64) -> bool {
        if self.dead {
            return false;
        }
        if self.first.state == PendingState::Waiting && self.first.timer() == number {
            self.first.set_timer(0);
            self.first.state = PendingState::Fired;
            return true;
        }
        let Some(extra) = &mut self.extra else {
            return false;
        };
        let Some(slot) = extra.slots.iter_mut().find(|slot| slot.timer() == number) else {
            return false;
        };
        slot.set_timer(0);
        slot.state = PendingState::Fired;
        true
    }
}

/// Prefetches the actor of a timer that comes soon: first the record, then, when the record is in
/// the cache, the future.
#[inline]
fn prefetch_actor(actors: &[super::ActorRecord], timer: &Timer, nearness: Nearness) {
    let target = usize::try_from(timer.target).ok();
    let Some(record) = target.and_then(|actor| actors.get(actor)) else {
        return;
    };
    if nearness == Nearness::Far {
        prefetch(record);
    } else if let Some(body) = record.body.as_deref() {
        prefetch(body);
    }
}

fn is_awaited(actors: &[super::ActorRecord], timer: &Timer) -> bool {
    let Ok(actor) = usize::try_from(timer.target) else {
        return true;
    };
    if timer.target >= DEVICE_TARGET {
        return true;
    }
    let record = &actors[actor];
    !record.dead
        && ((record.first.state != PendingState::Free && record.first.timer() == timer.number)
            || record
                .extra
                .as_ref()
                .is_some_and(|extra| extra.slots.iter().any(|slot| slot.timer() == timer.number)))
}

#[cfg(test)]
mod tests {
    use crate::{Outcome, Simulation, Span, Time};

    #[test]
    fn timers_that_nobody_waits_for_do_not_pile_up() {
        // Ten thousand waits that end long before their timeouts of an hour.
        let mut simulation = Simulation::with_constant_model(1);
        let port = simulation.port();
        simulation.spawn_anonymous(0, |me| async move {
            for _ in 0..10_000 {
                let work = me.start_execution(1e6);
                work.wait_timeout(Span::from_secs(3600.0)).await.unwrap();
                let entries = port.with_kernel(|kernel| kernel.calendar.timers.len());
                assert!(entries < 200, "{entries} timers are in the queue");
            }
        });
        let report = simulation.run();
        assert_eq!(report.outcome, Outcome::Finished);
        // Nor do they move the clock: 10 000 times 1 ms.
        assert!(report.time < Time::from_secs(10.001), "{}", report.time);
    }
}
