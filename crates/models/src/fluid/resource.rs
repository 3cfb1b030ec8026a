//! Interface to the kernel: activities that start, stop and end, and the date of the next end.
//!
//! *Not decided here*: how the work is shared, and the costs of an activity.

use sim_core::{ActivityId, Change, Controllable, End, Resource, Span, StartError, Time, Work};

use super::FlowModel;
use super::activity::{ActivityResources, Phase};
use maxmin::least;

/// Ends of work at most this number of representable dates apart are one end.
const TOGETHER_ULP: f64 = 8.0;
/// Ends of work after this date are ignored: the work stands still, or simulated time overflows.
const HORIZON_S: f64 = Time::HORIZON.as_secs();

impl FlowModel {
    /// Ends the latencies that end at `date`, unless others can notice an event there: returns
    /// false in this case. The caller has checked that no work ends at `date`.
    #[inline]
    fn ends_latencies(&mut self, date: Time, last_s: f64) -> bool {
        let Some(slot) = self.latencies.only_until(last_s) else {
            return self.ends_many_latencies(date, last_s);
        };
        let goes_on = self.activities.0[slot as usize].remaining > 0.0;
        if goes_on {
            self.latencies.pop_queued();
            self.start_progress(slot, date);
        }
        goes_on
    }

    #[inline(never)]
    fn ends_many_latencies(&mut self, date: Time, last_s: f64) -> bool {
        let goes_on = |slot: u32| self.activities.0[slot as usize].remaining > 0.0;
        if !self.latencies.all_until(last_s, goes_on) {
            return false;
        }
        let mut due = std::mem::take(&mut self.due);
        self.latencies.take_until(last_s, &mut due);
        self.activities.sort_by_number(&mut due);
        for slot in due.drain(..) {
            self.start_progress(slot, date);
        }
        self.due = due;
        true
    }

    /// Returns the last date, in seconds, at which ends are one with ends at `now`.
    #[inline]
    fn last_together_s(&self, now: Time) -> f64 {
        let ulps = TOGETHER_ULP * now.ulp();
        let span = if ulps > self.tolerance_s {
            ulps
        } else {
            self.tolerance_s
        };
        now.as_secs() + span
    }

    /// Shares anew: users or limits have changed.
    #[inline(never)]
    fn share_anew(&mut self, now: Time) {
        if self.has_extras {
            self.decay(now);
            self.update_task_weights(now);
        }
        self.solver.solve(now.as_secs());
        if self.observation.is_some() {
            self.observe_rates(now);
        }
    }

    /// Ends all activities that are due up to `last_s`.
    #[inline(never)]
    fn end_due(&mut self, last_s: f64, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        let mut due = std::mem::take(&mut self.due);
        self.solver.due(last_s, &mut due);
        self.latencies.take_until(last_s, &mut due);
        self.activities.sort_by_number(&mut due);
        for slot in due.drain(..) {
            let activity = &self.activities.0[slot as usize];
            if matches!(activity.phase, Phase::Work) {
                self.solver.stop_sharing(slot, now.as_secs());
            } else if activity.remaining > 0.0 {
                self.start_progress(slot, now);
                continue;
            }
            self.solver.forget_uses(slot);
            self.finish_activity(slot, now, ended);
        }
        self.due = due;
    }

    /// Reports the end of an activity that does not share any more; the solver has forgotten the
    /// uses.
    #[inline]
    fn finish_activity(&mut self, slot: u32, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        let activity = &mut self.activities.0[slot as usize];
        activity.remaining = 0.0;
        ended.push((activity.id, End::Done));
        self.forget_activity(slot, now);
    }

    /// Makes changes and failures happen that are due.
    #[inline(never)]
    fn advance_extras(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        self.play(now);
        for slot in std::mem::take(&mut self.dynamics.failed) {
            let activity = &self.activities.0[slot as usize];
            if activity.phase == Phase::Failed {
                ended.push((activity.id, End::Failed));
                self.solver.forget_uses(slot);
                self.forget_activity(slot, now);
            }
        }
    }
}

impl FlowModel {
    /// Begins work as [`Resource::start`] does, with more latency.
    #[inline(always)]
    fn start_with(
        &mut self,
        id: ActivityId,
        work: &Work,
        more_latency: Span,
        now: Time,
    ) -> Result<(), StartError> {
        // Links and speeds may have changed while no activity ran and the kernel asked for no date.
        self.play(now);
        let mut latency = match self.prepare_activity(id, work) {
            Ok(latency) => latency + more_latency,
            Err(error) => {
                self.solver.forget_uses(id.slot);
                return Err(error);
            }
        };
        self.running += 1;
        if self.has_extras {
            match self.begin_extras(id.slot, work, latency, now) {
                Some(with_wait) => latency = with_wait,
                None => return Ok(()),
            }
        }
        if latency > Span::ZERO || self.activities.0[id.slot as usize].remaining == 0.0 {
            self.pay(id.slot, latency, now);
        } else {
            self.start_progress(id.slot, now);
        }
        Ok(())
    }

    /// Returns the next date at which an activity ends or a host or a link changes.
    #[inline(never)]
    fn next_change(&mut self, now: Time) -> Option<Time> {
        if self.solver.is_changed() {
            self.share_anew(now);
        }
        if !self.dynamics.failed.is_empty() {
            return Some(now);
        }
        let end_s = self.first_end_s();
        let change = self.dynamics.timetable.next_date(end_s < f64::INFINITY);
        let first_s = change.map_or(end_s, |change| least(end_s, change.as_secs()));
        if first_s < HORIZON_S {
            return Some(Time::from_secs(first_s).max(now));
        }
        // The late end is an overflow unless a link or a host that stands still causes it.
        (end_s < f64::INFINITY && !self.dynamics.stands_still(&self.platform))
            .then(|| Time::from_secs(end_s))
    }
}

impl Resource for FlowModel {
    fn start(&mut self, id: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        let Some(noise) = &mut self.noise else {
            return self.start_with(id, work, Span::ZERO, now);
        };
        let (latency, disturbed) = noise.disturb(&self.platform, &self.dynamics, work, now);
        self.start_with(id, disturbed.as_ref().unwrap_or(work), latency, now)
    }

    fn cancel(&mut self, id: ActivityId, now: Time) {
        self.stop_progress(id.slot, now);
        self.solver.forget_uses(id.slot);
        self.forget_activity(id.slot, now);
    }

    fn set_suspended(&mut self, id: ActivityId, suspended: bool, now: Time) {
        if suspended {
            self.stop_progress(id.slot, now);
            self.activities.0[id.slot as usize].suspended = true;
            return;
        }
        let activity = &mut self.activities.0[id.slot as usize];
        if !std::mem::replace(&mut activity.suspended, false) {
            return;
        }
        match activity.phase {
            Phase::Idle | Phase::Failed => {}
            Phase::Latency { left, .. } => self.pay(id.slot, left, now),
            Phase::Work => self.start_progress(id.slot, now),
        }
    }

    /// Changes the priority or the bound, if the activity has one.
    fn update(&mut self, id: ActivityId, change: Change, now: Time) {
        let activity = &mut self.activities.0[id.slot as usize];
        match (change, activity.place) {
            (Change::Priority(priority), ActivityResources::Exec(_)) => {
                activity.weight = priority * f64::from(activity.threads);
            }
            (Change::Priority(priority), ActivityResources::Io(_)) => activity.weight = priority,
            (
                Change::Bound(bound),
                ActivityResources::Exec(_) | ActivityResources::Transfer(..),
            ) => {
                activity.wanted = bound / activity.scale;
            }
            (
                Change::Priority(_),
                ActivityResources::Transfer(..) | ActivityResources::Parallel,
            )
            | (Change::Bound(_), ActivityResources::Io(_) | ActivityResources::Parallel) => return,
        }
        self.update_share(id.slot, now);
    }

    fn remaining(&mut self, id: ActivityId, now: Time) -> f64 {
        let activity = &self.activities.0[id.slot as usize];
        let shares = activity.phase == Phase::Work && !activity.suspended;
        let left = if shares {
            self.solver.remaining_work(id.slot, now.as_secs())
        } else {
            activity.remaining
        };
        left * activity.scale
    }

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        if self.has_extras && !self.dynamics.is_steady() {
            return self.next_change(now);
        }
        let mut at = now;
        loop {
            if self.solver.is_changed() {
                self.share_anew(at);
            }
            let end_s = self.solver.next_s();
            let first_s = least(self.latencies.first_s(), end_s);
            if first_s >= HORIZON_S {
                // What stands still does so from the end of its latency on.
                return if at > now {
                    Some(at)
                } else {
                    self.next_change(now)
                };
            }
            let date = Time::from_secs(first_s).max(at);
            if date >= horizon || end_s <= date.as_secs() {
                return Some(date);
            }
            let last_s = self.last_together_s(date);
            if end_s <= last_s || !self.ends_latencies(date, last_s) {
                return Some(date);
            }
            at = date;
        }
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.running == 0 && self.dynamics.is_steady()
    }

    fn only_repeats(&self, since: Time, date: Time) -> bool {
        self.dynamics.timetable.only_repeats(since, date)
            && self.dynamics.failed.is_empty()
            && self.first_end_s() == f64::INFINITY
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        if self.has_extras {
            self.advance_extras(now, ended);
        }
        let paid_s = self.latencies.first_s();
        if least(paid_s, self.solver.next_s()) <= now.as_secs() {
            let last_s = self.last_together_s(now);
            if paid_s > last_s
                && let Some(slot) = self.solver.end_only(last_s)
            {
                self.finish_activity(slot, now, ended);
            } else {
                self.end_due(last_s, now, ended);
            }
        }
        !self.dynamics.switched.is_empty()
    }

    fn as_controllable(&mut self) -> Option<&mut dyn Controllable> {
        Some(self)
    }
}
