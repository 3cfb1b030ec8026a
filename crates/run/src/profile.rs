//! Profile of a simulation: the part of simrun that is at work at each time, for a sampler in
//! another thread.
//!
//! In a profiled run, models and device are behind objects that record their calls. These objects
//! read no clock, and a run without a profile has no such objects.
//!
//! *Not distinguished*: programs and the work of the message layer in their calls; packet handlers
//! of a waiting rank count as the message layer.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use models::FlowModel;
use sim_core::{
    ActivityId, ActorId, Blocked, Change, Controllable, Device, End, Kernel, Resource, RunProgress,
    StartError, Time, Work,
};

/// Parts of simrun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Layer {
    /// Events, actors and synchronization, and all that is no other part.
    Kernel,
    /// Models of networks, processors and disks: routes, sharing, times.
    Models,
    /// Protocols and devices, outside of the calls of programs.
    MessageLayer,
    /// Programs, with the message layer in their calls.
    Programs,
    /// The event log.
    Observer,
}

impl Layer {
    /// All parts, by their numbers.
    pub const ALL: [Self; 5] = [
        Self::Kernel,
        Self::Models,
        Self::MessageLayer,
        Self::Programs,
        Self::Observer,
    ];

    /// Returns the name of the part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Models => "models and solver",
            Self::MessageLayer => "message layer",
            Self::Programs => "programs, with their calls",
            Self::Observer => "observer",
        }
    }
}

/// The part of simrun that is at work.
#[derive(Debug, Default)]
pub struct Profile(AtomicU8);

impl Profile {
    /// Returns the part that is at work now, for any thread; `progress` is of the same run.
    pub fn layer(&self, progress: &RunProgress) -> Layer {
        match Layer::ALL.get(usize::from(self.0.load(Ordering::Relaxed))) {
            Some(Layer::Kernel) | None if progress.polled().is_some() => Layer::Programs,
            layer => layer.copied().unwrap_or(Layer::Kernel),
        }
    }

    /// Notes that a part is at work until the result is dropped.
    pub(crate) fn enter_layer(&self, layer: Layer) -> Inside<'_> {
        let before = self.0.swap(layer as u8, Ordering::Relaxed);
        Inside {
            profile: self,
            before,
        }
    }
}

/// Restores the part that was at work before, when it is dropped.
pub(crate) struct Inside<'a> {
    profile: &'a Profile,
    before: u8,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.profile.0.store(self.before, Ordering::Relaxed);
    }
}

/// A model that records its calls.
pub(crate) struct ProfiledResource {
    pub(crate) inner: FlowModel,
    pub(crate) profile: Arc<Profile>,
}

impl ProfiledResource {
    fn enter(&mut self) -> (&mut FlowModel, Inside<'_>) {
        (&mut self.inner, self.profile.enter_layer(Layer::Models))
    }
}

impl Resource for ProfiledResource {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        let (inner, _inside) = self.enter();
        inner.start(activity, work, now)
    }

    fn cancel(&mut self, activity: ActivityId, now: Time) {
        let (inner, _inside) = self.enter();
        inner.cancel(activity, now);
    }

    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
        let (inner, _inside) = self.enter();
        inner.set_suspended(activity, suspended, now);
    }

    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        let (inner, _inside) = self.enter();
        inner.update(activity, change, now);
    }

    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        let (inner, _inside) = self.enter();
        inner.remaining(activity, now)
    }

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        let (inner, _inside) = self.enter();
        inner.next_event(now, horizon)
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    fn only_repeats(&self, since: Time, date: Time) -> bool {
        self.inner.only_repeats(since, date)
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        let (inner, _inside) = self.enter();
        inner.advance(now, ended)
    }

    fn as_controllable(&mut self) -> Option<&mut dyn Controllable> {
        self.inner.as_controllable()
    }
}

/// A device that records its calls.
pub(crate) struct ProfiledDevice {
    pub(crate) inner: Rc<dyn Device>,
    pub(crate) profile: Arc<Profile>,
}

impl ProfiledDevice {
    fn enter_device(&self) -> Inside<'_> {
        self.profile.enter_layer(Layer::MessageLayer)
    }
}

impl Device for ProfiledDevice {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let _inside = self.enter_device();
        self.inner.on_end(kernel, token, end);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        let _inside = self.enter_device();
        self.inner.on_timer(kernel, token);
    }

    fn progress(&self) {
        let _inside = self.enter_device();
        self.inner.progress();
    }

    fn on_host_off(&self, kernel: &mut Kernel, actor: ActorId) {
        let _inside = self.enter_device();
        self.inner.on_host_off(kernel, actor);
    }

    fn describe(&self, actor: ActorId) -> Option<Blocked> {
        self.inner.describe(actor)
    }
}

impl fmt::Debug for ProfiledDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProfiledDevice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_nested() {
        let (profile, progress) = (Profile::default(), RunProgress::default());
        let layer = || profile.layer(&progress);
        assert_eq!(layer(), Layer::Kernel);
        let outer = profile.enter_layer(Layer::MessageLayer);
        assert_eq!(layer(), Layer::MessageLayer);
        drop(profile.enter_layer(Layer::Observer));
        assert_eq!(layer(), Layer::MessageLayer);
        drop(outer);
        assert_eq!(layer(), Layer::Kernel);
        for (number, layer) in Layer::ALL.into_iter().enumerate() {
            assert_eq!(layer as usize, number);
        }
    }
}
