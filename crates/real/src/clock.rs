//! The wall clock of real runs: only this module reads a wall clock.
//!
//! The clock is the system's monotonic clock, which all processes of one machine share and no
//! process sets. The time of a run begins at an *origin* on this clock. Processes on other machines
//! have separate clocks, identified by the boot number. There, the origin is as long after the
//! arrival of the start message as here after its posting.
//!
//! *Not modelled*: the difference between the clocks of two machines. Durations are right on every
//! machine; timestamps of different machines differ by the delay of the start message.

use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// Time from the arrival of the last rank to the start. The start message arrives within this time
/// on this machine; on other machines the start is later by the delay of the message.
pub(super) const START_LEAD: Duration = Duration::from_millis(5);

/// Nanoseconds on the monotonic clock of this machine.
#[expect(
    clippy::cast_sign_loss,
    reason = "the monotonic clock begins at 0 and the nanoseconds of a second are positive"
)]
pub(super) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The moment that lies so far after now, in nanoseconds.
pub(super) fn after(span: Duration) -> u64 {
    monotonic_ns().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the time until a timestamp; zero if the timestamp has passed.
pub(super) fn until(moment_ns: u64) -> Duration {
    Duration::from_nanos(moment_ns.saturating_sub(monotonic_ns()))
}

/// Returns the time since a timestamp, in seconds; 0 if the timestamp is in the future.
pub(super) fn seconds_since(moment_ns: u64) -> f64 {
    seconds_between(moment_ns, monotonic_ns())
}

/// Returns the time from a moment to another one, in seconds; 0 if that was not later.
#[expect(
    clippy::cast_precision_loss,
    reason = "52 bits of nanoseconds are 52 days"
)]
pub(super) fn seconds_between(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 * 1e-9
}

/// Sleeps.
#[expect(clippy::disallowed_methods, reason = "real time passes here")]
pub(super) fn sleep(span: Duration) {
    std::thread::sleep(span);
}

/// Waits for a timestamp; the last part of the wait is busy.
pub(super) fn wait_until(moment_ns: u64) {
    const AWAKE: Duration = Duration::from_micros(200);
    if let Some(span) = until(moment_ns).checked_sub(AWAKE) {
        sleep(span);
    }
    while monotonic_ns() < moment_ns {
        std::hint::spin_loop();
    }
}

/// The number of this boot, which is different on every machine; empty where the system does not
/// tell.
pub(super) fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The time of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    origin_ns: u64,
}

impl RunClock {
    /// A clock that shows 0 at this moment of [`monotonic_ns`].
    pub(super) const fn starting_at(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Seconds since the origin.
    pub(super) fn now(self) -> f64 {
        seconds_since(self.origin_ns)
    }
}

/// Wakes a poll at a timestamp, to the nanosecond: the timeout of the poll itself is in whole
/// milliseconds.
#[derive(Debug)]
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    /// An alarm with events of this token.
    pub(super) fn new(registry: &Registry, token: Token) -> std::io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self(timer))
    }

    /// Sets the alarm to go off once, after `span`. Returns a poll timeout of zero if the timer
    /// cannot be set, otherwise `None`.
    pub(super) fn set_alarm(&self, span: Duration) -> Option<Duration> {
        let timespec = |span: Duration| Timespec::try_from(span).ok();
        let value = timespec(span.max(Duration::from_nanos(1)))?;
        let once = Itimerspec {
            it_interval: timespec(Duration::ZERO)?,
            it_value: value,
        };
        let set = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once);
        set.err().map(|_| Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_and_begins_at_the_origin() {
        let clock = RunClock::starting_at(monotonic_ns());
        let first = clock.now();
        assert!((0.0..1.0).contains(&first), "{first}");
        assert!(clock.now() >= first);
        let future = RunClock::starting_at(after(Duration::from_secs(3600)));
        assert!(future.now() <= 0.0, "before the start it is 0");
        assert_eq!(until(0), Duration::ZERO);
    }
}
