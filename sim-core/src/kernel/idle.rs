//! The resource of a kernel, which is not called at dates at which no activity is in progress.
//!
//! Programs that only sleep, and devices that only set timers, have many of these dates.

use std::ops::{Deref, DerefMut};

use crate::{ActivityId, End, Resource, Time};

/// A resource, and whether only a call can change the state.
pub(crate) struct KernelResource {
    resource: Box<dyn Resource>,
    /// True if the resource was [idle](Resource::is_idle) when the kernel last asked for an event,
    /// and has not been called since.
    is_idle: bool,
}

impl KernelResource {
    pub(crate) const fn new(resource: Box<dyn Resource>) -> Self {
        Self {
            resource,
            is_idle: false,
        }
    }

    /// [`Resource::next_event`].
    #[inline]
    pub(crate) fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        if self.is_idle {
            return None;
        }
        let date = self.resource.next_event(now, horizon);
        self.is_idle = date.is_none() && self.resource.is_idle();
        date
    }

    /// [`Resource::advance`].
    #[inline]
    pub(crate) fn advance_to(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        !self.is_idle && self.resource.advance(now, ended)
    }
}

impl Deref for KernelResource {
    type Target = dyn Resource;

    fn deref(&self) -> &Self::Target {
        &*self.resource
    }
}

impl DerefMut for KernelResource {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.is_idle = false;
        &mut *self.resource
    }
}
