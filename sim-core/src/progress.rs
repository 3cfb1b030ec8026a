//! The state of a run for other threads: the date that the run has reached, and the polled actor.
//!
//! The run writes this state and never reads it. The counters belong to the date that the run has
//! reached; they do not yet contain the actions of the actors at that date.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::kernel::NONE;
use crate::{ActorId, HostId, Kernel, Time};

/// The date that a run has reached, the counters of the run, and the polled actor.
#[derive(Debug)]
pub struct RunProgress {
    date: AtomicU64,
    events: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
    /// The number of the polled actor; the number of its host in the upper half.
    polled: AtomicU64,
    is_over: AtomicBool,
}

impl Default for RunProgress {
    fn default() -> Self {
        Self {
            date: AtomicU64::default(),
            events: AtomicU64::default(),
            messages: AtomicU64::default(),
            bytes: AtomicU64::default(),
            polled: AtomicU64::new(u64::from(NONE)),
            is_over: AtomicBool::default(),
        }
    }
}

impl RunProgress {
    /// The date that the run has reached.
    #[must_use]
    pub fn reached_time(&self) -> Time {
        Time::from_bits(self.date.load(Ordering::Relaxed))
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// The messages so far.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// The bytes of these messages.
    #[must_use]
    pub fn message_bytes(&self) -> f64 {
        f64::from_bits(self.bytes.load(Ordering::Relaxed))
    }

    /// Returns the actor that is being polled, and the host of this actor.
    #[must_use]
    pub fn polled(&self) -> Option<(ActorId, HostId)> {
        let word = self.polled.load(Ordering::Relaxed);
        let [actor, host] = [word, word >> 32].map(|half| half & u64::from(u32::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "both were masked")]
        let (actor, host) = (actor as u32, host as u32);
        (actor != NONE).then_some((ActorId(actor), HostId(host)))
    }

    /// Returns true once the outcome of the run is known.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn update_counts(&self, kernel: &Kernel) {
        self.date.store(kernel.now().to_bits(), Ordering::Relaxed);
        self.events.store(kernel.counters.events, Ordering::Relaxed);
        self.messages
            .store(kernel.counters.messages, Ordering::Relaxed);
        self.bytes
            .store(kernel.counters.bytes.to_bits(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn enter_poll(&self, actor: u32, host: HostId) {
        let word = u64::from(host.0) << 32 | u64::from(actor);
        self.polled.store(word, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn leave_poll(&self) {
        self.polled.store(u64::from(NONE), Ordering::Relaxed);
    }

    pub(crate) fn end_run(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
