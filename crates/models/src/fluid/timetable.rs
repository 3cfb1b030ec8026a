//! The dates of the next events of profiles: past events, and events to come.
//!
//! Events are kept by date; events of one date take effect in the order in which their profiles
//! were added. While no activity runs, changes of links and speeds are not needed; later they are
//! applied together, whole rounds at once.
//!
//! Cost: an event takes time logarithmic in the number of profiles, and a profile of many equal
//! targets counts once.

use std::collections::BTreeSet;
use std::sync::Arc;

use sim_core::Time;

use platform::profile::{Profile, Target};

use super::drawn::Twister;

/// All profiles, and the date of the next event of each.
#[derive(Default, Debug)]
pub(super) struct ProfileSchedule {
    running: Vec<Running>,
    /// Of the profiles that switch hosts: date and number.
    hosts: BTreeSet<(Time, usize)>,
    /// Of all others.
    others: BTreeSet<(Time, usize)>,
    /// Where drawn profiles get their numbers from.
    twister: Option<Box<Twister>>,
}

/// The shortest round of a drawn profile in seconds: one without time would never end.
const ROUND_MIN_S: f64 = 1e-9;

/// An event that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueEvent {
    pub(super) target: Target,
    /// The number of things in a row that change.
    pub(super) count: u32,
    pub(super) value: f64,
}

/// A profile and its next event.
#[derive(Debug)]
struct Running {
    profile: Profile,
    next: usize,
    /// Periods that are over.
    round: f64,
    /// Dates in seconds before which the present round of a drawn profile and the one before began.
    begun_s: [f64; 2],
}

impl Running {
    fn date(&self) -> Option<Time> {
        let (date_s, _) = self.profile.events.get(self.next)?;
        let begin_s = self.round * self.profile.period_s.unwrap_or(0.0);
        let date_s = begin_s + date_s;
        date_s.is_finite().then(|| Time::from_secs(date_s))
    }

    /// Goes to the next event. When a new round begins, a whole round has just taken effect, so
    /// rounds that are over at `now` would change no value and are left out.
    fn step_to_next(&mut self, now: Time, twister: &mut Option<Box<Twister>>) {
        self.next += 1;
        if let Some(drawn) = &self.profile.drawn {
            if drawn.repeats && self.next >= self.profile.events.len() {
                let [begun_s, _] = self.begun_s;
                let (last_s, _) = self.profile.events[self.next - 1];
                // Rounds take time, whatever is drawn.
                let begin_s = last_s.max(begun_s + ROUND_MIN_S);
                if begin_s > begun_s {
                    let twister = twister.get_or_insert_default();
                    self.profile.events = twister.draw_round(drawn, begin_s).into();
                    (self.next, self.begun_s) = (0, [begin_s, begun_s]);
                }
            }
            return;
        }
        let Some(period_s) = self.profile.period_s else {
            return;
        };
        if self.next < self.profile.events.len() {
            return;
        }
        let following = self.round + 1.0;
        if following <= self.round {
            // Beyond 2^53 rounds they cannot be told apart: the last values stay.
            return;
        }
        self.next = 0;
        self.round = if self.switches_hosts() {
            following
        } else {
            following.max((now.as_secs() / period_s).floor())
        };
    }

    /// Returns true if the profile repeats, with at least one whole round between two dates.
    fn has_gone_round(&self, since: Time, date: Time) -> bool {
        match &self.profile.drawn {
            Some(drawn) => drawn.repeats && self.begun_s[1] > since.as_secs(),
            None => {
                let waited_s = date.as_secs() - since.as_secs();
                let period_s = self.profile.period_s;
                period_s.is_some_and(|period_s| waited_s > period_s)
            }
        }
    }

    const fn switches_hosts(&self) -> bool {
        matches!(self.profile.target, Target::Host(_))
    }
}

impl ProfileSchedule {
    /// Returns true if there are no profiles.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn add_profile(&mut self, mut profile: Profile) {
        if let Some(drawn) = &profile.drawn {
            profile.events = self
                .twister
                .get_or_insert_default()
                .draw_round(drawn, 0.0)
                .into();
        }
        let running = Running {
            profile,
            next: 0,
            round: 0.0,
            begun_s: [0.0; 2],
        };
        self.running.push(running);
        self.queue_next_event(self.running.len() - 1);
    }

    /// Notes the next event of a profile, if there is one.
    fn queue_next_event(&mut self, number: usize) {
        let running = &self.running[number];
        if let Some(date) = running.date() {
            let set = if running.switches_hosts() {
                &mut self.hosts
            } else {
                &mut self.others
            };
            set.insert((date, number));
        }
    }

    /// The date of the next event that the simulation can notice. While no activity runs, only
    /// events of hosts count, because actors may start again on a host. So a periodic profile of a
    /// link does not keep a deadlock alive.
    #[inline]
    pub(super) fn next_date(&self, is_busy: bool) -> Option<Time> {
        if self.is_empty() {
            return None;
        }
        let hosts = self.hosts.first();
        let others = self.others.first().filter(|_| is_busy);
        hosts.into_iter().chain(others).map(|(date, _)| *date).min()
    }

    /// Returns true if every profile that switches hosts repeats, and has gone round at least once
    /// between two dates.
    pub(super) fn only_repeats(&self, since: Time, date: Time) -> bool {
        let mut hosts = self.hosts.iter().map(|(_, number)| &self.running[*number]);
        !self.hosts.is_empty() && hosts.all(|running| running.has_gone_round(since, date))
    }

    /// Takes the first event up to the date `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<DueEvent> {
        let (hosts, others) = (self.hosts.first(), self.others.first());
        let first = hosts.into_iter().chain(others).min().copied()?;
        let (date, number) = first;
        if date > now {
            return None;
        }
        self.hosts.remove(&first);
        self.others.remove(&first);
        let running = &mut self.running[number];
        let events = Arc::clone(&running.profile.events);
        let (_, value) = events[running.next];
        running.step_to_next(now, &mut self.twister);
        let due = DueEvent {
            target: running.profile.target,
            count: running.profile.count,
            value,
        };
        self.queue_next_event(number);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::profile::{Drawn, Law};
    use sim_core::HostId;

    fn table(target: Target, events: &[(f64, f64)], period_s: Option<f64>) -> ProfileSchedule {
        let mut table = ProfileSchedule::default();
        table.add_profile(Profile {
            target,
            count: 1,
            events: events.into(),
            period_s,
            drawn: None,
        });
        table
    }

    #[test]
    fn rounds_that_nobody_saw_are_left_out() {
        let events = [(0.0, 1.0), (2.0, 3.0)];
        let mut table = table(Target::Speed(HostId(0)), &events, Some(10.0));
        let now = Time::from_secs(1e9 + 1.0);
        let values: Vec<f64> = std::iter::from_fn(|| table.pop_due(now))
            .map(|due| due.value)
            .collect();
        // One round in full, and the part of the present one.
        assert_eq!(values, [1.0, 3.0, 1.0]);
        assert_eq!(table.next_date(true), Some(Time::from_secs(1e9 + 2.0)));
        assert_eq!(table.next_date(false), None);
    }

    #[test]
    fn drawn_rounds_take_time_and_are_counted() {
        let drawn = |law, repeats| {
            let mut table = ProfileSchedule::default();
            table.add_profile(Profile {
                target: Target::Host(HostId(0)),
                count: 1,
                events: [].into(),
                period_s: None,
                drawn: Some(Drawn {
                    laws: [(law, Law::Constant(1.0))].into(),
                    repeats,
                }),
            });
            table
        };
        let count = |table: &mut ProfileSchedule, seconds| {
            let now = Time::from_secs(seconds);
            std::iter::from_fn(|| table.pop_due(now)).count()
        };
        // Without delays a round takes a nanosecond.
        let mut table = drawn(Law::Normal(0.0, 0.0), true);
        assert!((99..=101).contains(&count(&mut table, 99.5e-9)));
        let mut table = drawn(Law::Constant(2.0), true);
        assert_eq!(count(&mut table, 7.0), 3);
        let gone = |table: &ProfileSchedule, since| {
            table.only_repeats(Time::from_secs(since), Time::from_secs(7.0))
        };
        assert!(gone(&table, 3.0) && !gone(&table, 5.0));
        let mut table = drawn(Law::Constant(2.0), false);
        assert!(!gone(&table, 0.0));
        assert_eq!(count(&mut table, 7.0), 1);
    }

    #[test]
    fn dates_that_cannot_be_told_apart_end_the_repetition() {
        let mut table = table(Target::Speed(HostId(0)), &[(0.0, 1.0)], Some(1e-9));
        let now = Time::from_secs(1e18);
        assert!(std::iter::from_fn(|| table.pop_due(now)).count() < 10);
    }
}
