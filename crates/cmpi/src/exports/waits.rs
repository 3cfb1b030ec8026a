//! Functions of the C library that wait for a duration, or for an event with a timeout: the wait
//! takes simulated time.
//!
//! A rank has one thread and gets no signals, so a wait for another thread or for a signal lasts
//! until its timeout. Without a timeout such a wait would never end: the rank fails. A wait for
//! descriptors asks the system without waiting, then lets a step pass, and asks again: *not
//! modelled*: the time at which a process outside of the simulation writes to a descriptor. *Not
//! there*: message queues and semaphores of System V, timers.

use std::ffi::{c_int, c_long, c_uint, c_void};

use libc::{
    EAGAIN, EBUSY, EINVAL, ETIMEDOUT, clockid_t, epoll_event, fd_set, nfds_t, pollfd,
    pthread_mutex_t, pthread_rwlock_t, sem_t, sigset_t, timespec, timeval,
};

use super::memory;
use super::time::{clock_now, clock_of, seconds_until};
use crate::bridge::{RankEnd, caller, set_errno};

/// Simulated seconds between two questions about descriptors.
const STEP: f64 = 1e-3;

/// `thrd_timedout` and `thrd_busy` of `threads.h`, as in the GNU C library.
const THREAD_TIMED_OUT: c_int = 4;

/// Returns a duration in seconds; `None` if the duration is not valid.
#[expect(
    clippy::cast_precision_loss,
    reason = "a duration of centuries may be inexact"
)]
fn seconds(time: timespec) -> Option<f64> {
    let is_valid = time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    is_valid.then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

/// Returns the value at an address of the program, or `None` if the address is null.
fn read<T: Copy>(place: *const T) -> Option<T> {
    memory::load(place, "").ok()
}

/// Sets the error number; returns -1.
fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Fails the rank, which would wait without end.
fn wait_for_ever(name: &str) -> ! {
    let rank = caller();
    let line = rank.call_line();
    rank.finish(RankEnd::Failed(format!(
        "{name}{line} waits for ever: threads and signals are not supported"
    )))
}

/// Asks until the answer is not 0, or until a time in seconds has passed.
fn ask_until(time: f64, mut ask: impl FnMut() -> c_int) -> c_int {
    let rank = caller();
    let mut left = time;
    loop {
        let answer = ask();
        if answer != 0 || left <= 0.0 {
            return answer;
        }
        // Under a model checker no time passes: one step is as good as many.
        let step = match rank.is_checked() {
            true if left.is_finite() => left,
            _ => left.min(STEP),
        };
        rank.sleep(step);
        left -= step;
    }
}

pub(crate) extern "C" fn sleep(seconds: c_uint) -> c_uint {
    caller().sleep(f64::from(seconds));
    0
}

pub(crate) extern "C" fn sleep_microseconds(microseconds: c_uint) -> c_int {
    caller().sleep(f64::from(microseconds) * 1e-6);
    0
}

pub(crate) extern "C" fn nanosleep(wanted: *const timespec, rest: *mut timespec) -> c_int {
    match clock_sleep(libc::CLOCK_MONOTONIC, 0, wanted, rest) {
        0 => 0,
        error => fail(error),
    }
}

/// `clock_nanosleep`.
pub(crate) extern "C" fn clock_sleep(
    clock: clockid_t,
    flags: c_int,
    wanted: *const timespec,
    _rest: *mut timespec,
) -> c_int {
    let Some(wanted) = read(wanted) else {
        return libc::EFAULT;
    };
    let Some(mut seconds) = seconds(wanted) else {
        return EINVAL;
    };
    if clock == libc::CLOCK_THREAD_CPUTIME_ID || clock_now(clock).is_none() {
        return EINVAL;
    }
    if flags & libc::TIMER_ABSTIME != 0 {
        seconds = seconds_until(clock, wanted);
    }
    caller().sleep(seconds);
    0
}

/// `thrd_sleep`.
extern "C" fn thread_sleep(wanted: *const timespec, rest: *mut timespec) -> c_int {
    match nanosleep(wanted, rest) {
        0 => 0,
        _ => -2,
    }
}

/// Waits for descriptors; `None` as the time for a wait without end.
fn wait_for_descriptors(
    name: &str,
    count: u64,
    time: Option<f64>,
    ask: impl FnMut() -> c_int,
) -> c_int {
    match (count, time) {
        (0, None) => wait_for_ever(name),
        (0, Some(time)) => {
            caller().sleep(time);
            0
        }
        (_, time) => ask_until(time.unwrap_or(f64::INFINITY), ask),
    }
}

fn milliseconds(time: c_int) -> Option<f64> {
    (time >= 0).then(|| f64::from(time) * 1e-3)
}

pub(crate) extern "C" fn poll(descriptors: *mut pollfd, count: nfds_t, time: c_int) -> c_int {
    wait_for_descriptors("poll()", count, milliseconds(time), || {
        // SAFETY: the program's own call, which does not wait.
        unsafe { crate::host::poll(descriptors, count, 0) }
    })
}

extern "C" fn poll_checked(
    descriptors: *mut pollfd,
    count: nfds_t,
    time: c_int,
    _length: usize,
) -> c_int {
    poll(descriptors, count, time)
}

/// `ppoll`. No signal comes, so the mask has no effect.
extern "C" fn poll_until(
    descriptors: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    _mask: *const sigset_t,
) -> c_int {
    let time = read(time).map(seconds);
    if time == Some(None) {
        return fail(EINVAL);
    }
    wait_for_descriptors("ppoll()", count, time.flatten(), || {
        // SAFETY: as above.
        unsafe { crate::host::poll(descriptors, count, 0) }
    })
}

/// Waits for sets of descriptors, each of which may be null.
fn select_for(name: &str, count: c_int, sets: [*mut fd_set; 3], time: Option<f64>) -> c_int {
    let words = usize::try_from(count).unwrap_or(0).div_ceil(64);
    let copies = sets.map(|set| {
        let words = if set.is_null() { 0 } else { words };
        // SAFETY: a set of the program has a bit for each descriptor below `count`, in words.
        let copy = (0..words).map(|word| unsafe { set.cast::<u64>().add(word).read_unaligned() });
        copy.collect::<Vec<u64>>()
    });
    let ask = || {
        for (set, copy) in sets.iter().zip(&copies) {
            for (word, value) in copy.iter().enumerate() {
                // SAFETY: as above.
                unsafe { set.cast::<u64>().add(word).write_unaligned(*value) };
            }
        }
        let mut now = timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
        let [readable, writable, others] = sets;
        // SAFETY: the program's own call, which does not wait.
        unsafe { libc::select(count, readable, writable, others, &raw mut now) }
    };
    let has_some = copies.iter().flatten().any(|word| *word != 0);
    wait_for_descriptors(name, u64::from(has_some), time, ask)
}

extern "C" fn select(
    count: c_int,
    readable: *mut fd_set,
    writable: *mut fd_set,
    others: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let wanted = read(time).map(|time| timespec {
        tv_sec: time.tv_sec,
        tv_nsec: time.tv_usec * 1000,
    });
    let wanted = wanted.map(seconds);
    if wanted == Some(None) {
        return fail(EINVAL);
    }
    let sets = [readable, writable, others];
    let found = select_for("select()", count, sets, wanted.flatten());
    if found == 0 {
        // As Linux does, which tells the time that is left.
        memory::store(
            time,
            timeval {
                tv_sec: 0,
                tv_usec: 0,
            },
        );
    }
    found
}

extern "C" fn select_until(
    count: c_int,
    readable: *mut fd_set,
    writable: *mut fd_set,
    others: *mut fd_set,
    time: *const timespec,
    _mask: *const sigset_t,
) -> c_int {
    let wanted = read(time).map(seconds);
    if wanted == Some(None) {
        return fail(EINVAL);
    }
    let sets = [readable, writable, others];
    select_for("pselect()", count, sets, wanted.flatten())
}

/// `epoll_wait` and `epoll_pwait`.
extern "C" fn wait_for_events(
    set: c_int,
    events: *mut epoll_event,
    longest: c_int,
    time: c_int,
) -> c_int {
    wait_for_descriptors("epoll_wait()", 1, milliseconds(time), || {
        // SAFETY: the program's own call, which does not wait.
        unsafe { libc::epoll_wait(set, events, longest, 0) }
    })
}

/// `epoll_pwait2`.
extern "C" fn wait_for_events_until(
    set: c_int,
    events: *mut epoll_event,
    longest: c_int,
    time: *const timespec,
    _mask: *const sigset_t,
) -> c_int {
    let wanted = read(time).map(seconds);
    if wanted == Some(None) {
        return fail(EINVAL);
    }
    wait_for_descriptors("epoll_pwait2()", 1, wanted.flatten(), || {
        // SAFETY: as above.
        unsafe { libc::epoll_wait(set, events, longest, 0) }
    })
}

/// `sigtimedwait`: no signal comes.
extern "C" fn wait_for_signal(
    _set: *const sigset_t,
    _info: *mut c_void,
    time: *const timespec,
) -> c_int {
    match read(time).map(seconds) {
        None => wait_for_ever("sigtimedwait()"),
        Some(None) => fail(EINVAL),
        Some(Some(time)) => {
            caller().sleep(time);
            fail(EAGAIN)
        }
    }
}

/// `pause`, `sigsuspend`, `sigwait`, `sigwaitinfo`.
extern "C" fn wait_for_any_signal() -> c_int {
    wait_for_ever("a wait for a signal")
}

/// Tries until a try has the answer 0, or until a time of a clock; returns the last answer, or an
/// error.
fn try_until(
    clock: Option<clockid_t>,
    time: *const timespec,
    mut attempt: impl FnMut() -> c_int,
) -> c_int {
    let mut answer = attempt();
    if answer == 0 {
        return 0;
    }
    let Some(time) = read(time).filter(|time| (0..1_000_000_000).contains(&time.tv_nsec)) else {
        return EINVAL;
    };
    let clock = clock.unwrap_or(clock_of(time));
    // Other ranks may have a part in it, in memory that processes share.
    ask_until(seconds_until(clock, time), || {
        answer = attempt();
        c_int::from(answer == 0)
    });
    answer
}

/// Waits for another thread until a time of a clock: there is none. Returns the error.
fn sleep_until(clock: Option<clockid_t>, time: *const timespec) -> c_int {
    let Some(time) = read(time).filter(|time| (0..1_000_000_000).contains(&time.tv_nsec)) else {
        return EINVAL;
    };
    caller().sleep(seconds_until(clock.unwrap_or(clock_of(time)), time));
    ETIMEDOUT
}

/// `pthread_cond_timedwait`; the clock is an attribute of the condition.
extern "C" fn condition_until(
    _condition: *mut c_void,
    _mutex: *mut c_void,
    time: *const timespec,
) -> c_int {
    sleep_until(None, time)
}

extern "C" fn condition_until_clock(
    _condition: *mut c_void,
    _mutex: *mut c_void,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    sleep_until(Some(clock), time)
}

/// `cnd_timedwait`.
extern "C" fn thread_condition_until(
    condition: *mut c_void,
    mutex: *mut c_void,
    time: *const timespec,
) -> c_int {
    match condition_until(condition, mutex, time) {
        ETIMEDOUT => THREAD_TIMED_OUT,
        _ => 2,
    }
}

/// `pthread_cond_wait`, `cnd_wait` and `std::condition_variable::wait`.
extern "C" fn condition() -> c_int {
    wait_for_ever("a wait for a condition")
}

/// Returns the error of a wait that has ended.
const fn timed_out(error: c_int) -> c_int {
    match error {
        EBUSY => ETIMEDOUT,
        error => error,
    }
}

fn lock_until(
    mutex: *mut pthread_mutex_t,
    clock: Option<clockid_t>,
    time: *const timespec,
) -> c_int {
    // SAFETY: the program's own call, which does not wait.
    timed_out(try_until(clock, time, || unsafe {
        libc::pthread_mutex_trylock(mutex)
    }))
}

extern "C" fn mutex_until(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    lock_until(mutex, Some(libc::CLOCK_REALTIME), time)
}

extern "C" fn mutex_until_clock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    lock_until(mutex, Some(clock), time)
}

/// `mtx_timedlock`.
extern "C" fn thread_mutex_until(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    match mutex_until(mutex, time) {
        0 => 0,
        ETIMEDOUT => THREAD_TIMED_OUT,
        _ => 2,
    }
}

extern "C" fn read_lock_until(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
    // SAFETY: as above.
    timed_out(try_until(None, time, || unsafe {
        libc::pthread_rwlock_tryrdlock(lock)
    }))
}

extern "C" fn write_lock_until(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
    // SAFETY: as above.
    timed_out(try_until(None, time, || unsafe {
        libc::pthread_rwlock_trywrlock(lock)
    }))
}

extern "C" fn read_lock_until_clock(
    lock: *mut pthread_rwlock_t,
    _clock: clockid_t,
    time: *const timespec,
) -> c_int {
    read_lock_until(lock, time)
}

extern "C" fn write_lock_until_clock(
    lock: *mut pthread_rwlock_t,
    _clock: clockid_t,
    time: *const timespec,
) -> c_int {
    write_lock_until(lock, time)
}

fn take_until(semaphore: *mut sem_t, clock: Option<clockid_t>, time: *const timespec) -> c_int {
    let attempt = || {
        // SAFETY: the program's own call, which does not wait.
        let result = unsafe { libc::sem_trywait(semaphore) };
        if result == 0 { 0 } else { ETIMEDOUT }
    };
    match try_until(clock, time, attempt) {
        0 => 0,
        error => fail(error),
    }
}

/// `sem_timedwait`.
extern "C" fn semaphore_until(semaphore: *mut sem_t, time: *const timespec) -> c_int {
    take_until(semaphore, Some(libc::CLOCK_REALTIME), time)
}

/// `sem_clockwait`.
extern "C" fn semaphore_until_clock(
    semaphore: *mut sem_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    take_until(semaphore, Some(clock), time)
}

/// `sem_wait`.
extern "C" fn semaphore(semaphore: *mut sem_t) -> c_int {
    // SAFETY: as above.
    match unsafe { libc::sem_trywait(semaphore) } {
        0 => 0,
        _ => wait_for_ever("sem_wait()"),
    }
}

/// `syscall(SYS_futex, …)` with the arguments from the address on; `None` for operations that do
/// not wait.
pub(crate) fn futex(
    address: *const c_int,
    operation: c_int,
    value: c_int,
    time: *const timespec,
) -> Option<c_long> {
    /// Operations, and the flag of the calendar.
    const WAIT: c_int = libc::FUTEX_WAIT;
    const WAIT_UNTIL: c_int = libc::FUTEX_WAIT_BITSET;

    let kind = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    if !matches!(kind, WAIT | WAIT_UNTIL) {
        return None;
    }
    if read(address).is_none_or(|found| found != value) {
        return Some(c_long::from(fail(EAGAIN)));
    }
    let Some(time) = read(time) else {
        wait_for_ever("a wait for a variable");
    };
    let Some(mut wanted) = seconds(time) else {
        return Some(c_long::from(fail(EINVAL)));
    };
    if kind == WAIT_UNTIL {
        wanted = seconds_until(clock_of(time), time);
    }
    caller().sleep(wanted);
    Some(c_long::from(fail(ETIMEDOUT)))
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let function = match symbol {
        "sleep" => sleep as *const (),
        "usleep" => sleep_microseconds as *const (),
        "nanosleep" => nanosleep as *const (),
        "clock_nanosleep" => clock_sleep as *const (),
        "thrd_sleep" => thread_sleep as *const (),
        "poll" => poll as *const (),
        "__poll_chk" => poll_checked as *const (),
        "ppoll" | "__ppoll_chk" => poll_until as *const (),
        "select" => select as *const (),
        "pselect" => select_until as *const (),
        "epoll_wait" | "epoll_pwait" => wait_for_events as *const (),
        "epoll_pwait2" => wait_for_events_until as *const (),
        "sigtimedwait" => wait_for_signal as *const (),
        "pause" | "sigsuspend" | "sigwait" | "sigwaitinfo" => wait_for_any_signal as *const (),
        "pthread_cond_timedwait" => condition_until as *const (),
        "pthread_cond_clockwait" => condition_until_clock as *const (),
        "cnd_timedwait" => thread_condition_until as *const (),
        "pthread_cond_wait" | "cnd_wait" => condition as *const (),
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" => condition as *const (),
        "pthread_mutex_timedlock" => mutex_until as *const (),
        "pthread_mutex_clocklock" => mutex_until_clock as *const (),
        "mtx_timedlock" => thread_mutex_until as *const (),
        "pthread_rwlock_timedrdlock" => read_lock_until as *const (),
        "pthread_rwlock_timedwrlock" => write_lock_until as *const (),
        "pthread_rwlock_clockrdlock" => read_lock_until_clock as *const (),
        "pthread_rwlock_clockwrlock" => write_lock_until_clock as *const (),
        "sem_timedwait" => semaphore_until as *const (),
        "sem_clockwait" => semaphore_until_clock as *const (),
        "sem_wait" => semaphore as *const (),
        _ => return None,
    };
    Some(function as usize)
}
