//! Hooks of the C library: functions that are called when the process ends or aborts, and in a
//! forked child.
//!
//! This module and the allocator are the only places of this crate with `unsafe`. Neither the
//! standard library nor a safe crate offers these hooks, and no other part notices a program that
//! calls `exit` or `fork`. The hooks do not notice `_exit`, `execve`, signals that kill, and system
//! calls that bypass the C library.

#![expect(
    unsafe_code,
    reason = "the C library offers these hooks as C functions"
)]

use std::panic::catch_unwind;
use std::sync::Once;

use signal_hook::consts::SIGABRT;

use crate::guard;

static REGISTERED: Once = Once::new();

/// Lets the guard hear of the end of the process, and of forks; once, for good.
pub(crate) fn register_hooks() {
    REGISTERED.call_once(|| {
        // SAFETY: the handlers are functions of this file, which are never unloaded, take no
        // arguments and let no panic out. Both calls may be made at any time; where they fail for
        // want of memory, nothing is registered and programs run without a guard.
        unsafe {
            libc::atexit(at_exit);
            libc::pthread_atfork(None, Some(in_parent), Some(in_child));
        }
        // SAFETY: the action only reads and writes atomics, spins, or lets the signal have its
        // usual effect, all of which may be done in a signal handler. Where it cannot be
        // registered, an abort ends the process as usual.
        let _ = unsafe { signal_hook::low_level::register(SIGABRT, guard::on_abort) };
    });
}

extern "C" fn at_exit() {
    // Unwinding must not reach the C library; what panics here is lost with the process.
    let _ = catch_unwind(guard::on_exit);
}

extern "C" fn in_parent() {
    guard::on_fork();
}

extern "C" fn in_child() {
    guard::on_fork_in_child();
}
