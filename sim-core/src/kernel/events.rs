//! Dates: setting timers, finding the next date, and the events of one instant.
//!
//! Timers and ends of activities share one sequence of numbers. At one date they happen in the
//! order of these numbers, which is the order of creation.

use super::{Kernel, PendingState};
use crate::prefetch::prefetch;
use crate::timers::{Nearness, Timer};
use crate::{ActivityId, Clock, End, Time};

/// Targets from here on belong to the device; below are actors.
pub(crate) const DEVICE_TARGET: u64 = 1 << 63;
/// Target bit that marks the end of device work; without this bit the target is a device timer.
pub(crate) const DEVICE_WORK: u64 = 1 << 62;

impl Kernel {
    /// Puts a timer into the queue; returns the number of the timer.
    #[inline]
    pub(crate) fn set_timer(&mut self, date: Time, target: u64) -> u64 {
        let number = self.number();
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
    pub(crate) fn drop_timer(&mut self, number: u64) {
        if number == 0 {
            return;
        }
        self.stale_timers += 1;
        if self.stale_timers > 64 && self.stale_timers > self.timers.len() / 2 {
            let actors = &self.actors;
            self.timers.retain(|timer| is_awaited(actors, timer));
            self.stale_timers = 0;
        }
    }

    /// The next date at which anything happens.
    pub(crate) fn next_date(&mut self) -> Option<Time> {
        if self.clock == Clock::Untimed {
            // Only what devices do at this very date; sleeps and timeouts never enter the queue.
            return self.first_date().filter(|&date| date <= self.now);
        }
        while self.stale_timers > 0 {
            match self.timers.first() {
                Some(timer) if !is_awaited(&self.actors, &timer) => {
                    self.timers.pop();
                    self.stale_timers -= 1;
                }
                _ => break,
            }
        }
        let timer = self.first_date();
        // Pollers are notified at every date.
        let horizon = match timer {
            _ if self.chosen || !self.pollers.is_empty() => self.now,
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

    /// Moves the clock to `date` and lets everything due there happen.
    pub(crate) fn advance(&mut self, date: Time) {
        assert!(
            date >= self.now,
            "the next date {date} is before the present {}",
            self.now
        );
        if date > self.now {
            self.now = date;
            self.digest.mix(date.to_bits(), 1);
        }
        self.progress += 1;
        let mut ended = std::mem::take(&mut self.ended);
        if self.clock == Clock::Timed {
            self.resource.advance_to(date, &mut ended);
        }
        if ended.len() == 1 && self.timers.len() == 0 {
            let (activity, end) = ended.remove(0);
            self.end_activity(activity, end);
        } else if ended.is_empty() {
            while let Some(timer) = self.due(date) {
                self.expire_timer(timer);
            }
        } else {
            self.happen(date, &mut ended);
        }
        self.ended = ended;
        self.note_switched();
    }

    /// Returns true if no actor has a step at this date: only the rates in the resource have
    /// changed.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.dying.is_empty()
            && self.births.is_empty()
            && !self.chosen
            && !self.device_waits
    }

    #[inline]
    fn due(&mut self, date: Time) -> Option<Timer> {
        let actors = &self.actors;
        let near = |timers: &[Timer], nearness| prefetch_near(actors, timers, nearness);
        self.timers.pop_until(date.to_bits(), near)
    }

    /// Merges the timers and the ends of one date by their numbers.
    fn happen(&mut self, date: Time, ended: &mut Vec<(ActivityId, End)>) {
        ended.sort_unstable_by_key(|(activity, _)| activity.number);
        let mut ends = ended.drain(..).peekable();
        while let Some(timer) = self.due(date) {
            while let Some((activity, end)) =
                ends.next_if(|(activity, _)| activity.number < timer.number)
            {
                self.end_activity(activity, end);
            }
            self.expire_timer(timer);
        }
        for (activity, end) in ends {
            self.end_activity(activity, end);
        }
    }

    #[inline]
    fn expire_timer(&mut self, timer: Timer) {
        if timer.target >= DEVICE_TARGET {
            self.events += 1;
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
        if self.actors[actor as usize].fire(timer.number) {
            self.events += 1;
            self.schedule(actor);
        } else {
            self.stale_timers = self.stale_timers.saturating_sub(1);
        }
    }

    pub(super) fn end_activity(&mut self, activity: ActivityId, end: End) {
        self.events += 1;
        self.digest
            .mix(u64::from(activity.slot) << 8 | end as u64, 2);
        self.finish_activity(activity.slot, end);
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

/// Prefetches the actors with timers that come soon: first the records, then, when the records are
/// in the cache, the futures.
fn prefetch_near(actors: &[super::ActorRecord], timers: &[Timer], nearness: Nearness) {
    let near = timers
        .iter()
        .filter_map(|timer| actors.get(usize::try_from(timer.target).ok()?));
    match nearness {
        Nearness::Second => near.for_each(prefetch),
        Nearness::Next => near
            .filter_map(|record| record.body.as_deref())
            .for_each(prefetch),
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
                let entries = port.with(|kernel| kernel.timers.len());
                assert!(entries < 200, "{entries} timers are in the queue");
            }
        });
        let report = simulation.run();
        assert_eq!(report.outcome, Outcome::Finished);
        // Nor do they move the clock: 10 000 times 1 ms.
        assert!(report.time < Time::from_secs(10.001), "{}", report.time);
    }
}
