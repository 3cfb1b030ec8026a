//! Interface to the kernel: activities that start, stop and end, and the date of the next end.
//!
//! *Not decided here*: how the work is shared, and the costs of an activity.

use sim_core::{
    ActivityId, Change, Control, End, HostId, LinkState, PowerStates, Resource, Span, StartError,
    Time, Work,
};

use super::activity::{ActivityResources, Phase};
use super::{FlowModel, control};
use maxmin::least;
use platform::profile;

/// The same in units of the distance between representable dates, for large dates.
const TOGETHER_ULP: f64 = 8.0;
/// Ends of work after this date are ignored: the work stands still, or simulated time overflows.
const HORIZON_S: f64 = Time::HORIZON.as_secs();

impl FlowModel {
    /// Ends the latencies that end at `date`, if no other event is at `date`. Returns false if
    /// there is an event that others can notice.
    #[inline]
    fn ends_latencies(&mut self, date: Time) -> bool {
        if self.agenda.first_s() > date.as_secs() {
            // Work ends there.
            return false;
        }
        let last = date + self.together(date);
        if self.solver.next_s() <= last.as_secs() || !self.is_steady() {
            return false;
        }
        if let Some(slot) = self.agenda.only_until(last) {
            let goes_on = self.activities.0[slot as usize].remaining > 0.0;
            if goes_on {
                self.agenda.pop_first();
                self.start_progress(slot, date);
            }
            return goes_on;
        }
        let mut due = std::mem::take(&mut self.due);
        let goes_on = |slot: &u32| self.activities.0[*slot as usize].remaining > 0.0;
        let is_internal = self.agenda.queued_until(last, &mut due) && due.iter().all(goes_on);
        if is_internal {
            due.sort_unstable_by_key(|slot| self.activities.0[*slot as usize].id.number);
            for &slot in &due {
                self.agenda.pop_until(last);
                self.start_progress(slot, date);
            }
        }
        due.clear();
        self.due = due;
        is_internal
    }

    /// Returns true if only running activities can change the state.
    #[inline]
    const fn is_steady(&self) -> bool {
        self.dynamics.timetable.is_empty() && self.dynamics.failed.is_empty()
    }

    /// Returns the span within which ends are one.
    #[inline]
    fn together(&self, now: Time) -> Span {
        Span::from_secs(
            self.model_kind
                .time_tolerance_s()
                .max(TOGETHER_ULP * now.ulp()),
        )
    }
}

impl FlowModel {
    /// Begins work as [`Resource::start`] does, with more latency if that is given.
    #[inline]
    pub(super) fn start_with(
        &mut self,
        id: ActivityId,
        work: &Work,
        more_latency: Option<Span>,
        now: Time,
    ) -> Result<(), StartError> {
        // Nobody may have asked for the changes of links and speeds while nothing ran.
        self.play(now);
        let mut latency = match self.prepare_activity(id, work) {
            Ok(latency) => latency,
            Err(error) => {
                self.solver.forget_uses(id.slot);
                return Err(error);
            }
        };
        if let Some(more) = more_latency {
            latency = latency + more;
        }
        self.running += 1;
        if self.observation.is_some() {
            self.observe_begin(id.slot, work, latency, now);
        }
        self.meet(id.slot, now);
        if !self.is_on(id.slot) {
            self.fail_activity(id.slot, now);
            return Ok(());
        }
        if latency > Span::ZERO || self.activities.0[id.slot as usize].remaining == 0.0 {
            self.pay(id.slot, latency, now);
        } else {
            self.start_progress(id.slot, now);
        }
        Ok(())
    }
}

impl Resource for FlowModel {
    fn start(&mut self, id: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        self.start_with(id, work, None, now)
    }

    fn cancel(&mut self, id: ActivityId, now: Time) {
        self.stop_progress(id.slot, now);
        self.forget_activity(id.slot, now);
    }

    fn suspend(&mut self, id: ActivityId, now: Time) {
        self.stop_progress(id.slot, now);
        self.activities.0[id.slot as usize].suspended = true;
    }

    fn resume(&mut self, id: ActivityId, now: Time) {
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

    #[inline]
    fn next_date(&mut self, now: Time) -> Option<Time> {
        if self.solver.is_changed() {
            self.decay(now);
            self.update_task_weights(now);
            self.solver.solve(now.as_secs());
            if self.observation.is_some() {
                self.observe_rates(now);
            }
        }
        if !self.dynamics.failed.is_empty() {
            return Some(now);
        }
        let end_s = self.first_end_s();
        let change = self.dynamics.timetable.next_date(end_s < f64::INFINITY);
        let first_s = change.map_or(end_s, |change| least(end_s, change.as_secs()));
        (first_s < HORIZON_S).then(|| Time::from_secs(first_s).max(now))
    }

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        let mut at = now;
        loop {
            let Some(date) = self.next_date(at) else {
                // What stands still does so from the end of its latency on.
                return (at > now).then_some(at);
            };
            if date >= horizon || !self.ends_latencies(date) {
                return Some(date);
            }
            at = date;
        }
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.running == 0 && self.is_steady()
    }

    /// The first end of work, unless a link or a host stands still: this may cause the late end.
    fn overflow(&self) -> Option<Time> {
        let end_s = self.first_end_s();
        (end_s < f64::INFINITY && !self.dynamics.stands_still(&self.platform))
            .then(|| Time::from_secs(end_s))
    }

    fn only_repeats(&self, since: Time, date: Time) -> bool {
        self.dynamics.timetable.only_repeats(since, date)
            && self.dynamics.failed.is_empty()
            && self.first_end_s() == f64::INFINITY
    }

    fn restarts_ended_actors(&self) -> bool {
        self.model_kind.is_compat()
    }

    fn switch_host(&mut self, host: HostId, on: bool, now: Time) -> Result<(), StartError> {
        self.apply_change(profile::Change::Host(host, on), now);
        Ok(())
    }

    fn control(&mut self, control: Control, now: Time) -> Result<(), StartError> {
        control::apply_control(self, control, now)
    }

    fn link_by_name(&self, name: &str) -> Option<u32> {
        control::link_by_name(self, name)
    }

    fn link_state(&self, link: u32) -> Option<LinkState> {
        control::link_state(self, link)
    }

    fn power_states(&self, host: HostId) -> Option<PowerStates> {
        Some(control::power_states(self, host))
    }

    fn take_switched(&mut self, switched: &mut Vec<(HostId, bool)>) {
        if !self.dynamics.switched.is_empty() {
            switched.append(&mut self.dynamics.switched);
        }
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) {
        self.play(now);
        if !self.dynamics.failed.is_empty() {
            for slot in std::mem::take(&mut self.dynamics.failed) {
                if self.activities.0[slot as usize].phase == Phase::Failed {
                    ended.push((self.activities.0[slot as usize].id, End::Failed));
                    self.forget_activity(slot, now);
                }
            }
        }
        if self.first_end_s() > now.as_secs() {
            return;
        }
        let together = self.together(now);
        let mut due = std::mem::take(&mut self.due);
        self.solver.due((now + together).as_secs(), &mut due);
        while let Some(slot) = self.agenda.pop_until(now + together) {
            due.push(slot);
        }
        // What happens together happens in the order of the activities, not in that of any heap.
        due.sort_unstable_by_key(|slot| self.activities.0[*slot as usize].id.number);
        for slot in due.drain(..) {
            let activity = &mut self.activities.0[slot as usize];
            let pays = matches!(activity.phase, Phase::Latency { .. });
            if pays && activity.remaining > 0.0 {
                self.start_progress(slot, now);
                continue;
            }
            if !pays {
                self.leave_solver(slot, now);
            }
            let activity = &mut self.activities.0[slot as usize];
            activity.remaining = 0.0;
            ended.push((activity.id, End::Done));
            self.forget_activity(slot, now);
        }
        self.due = due;
    }
}
