//! The panic hook: a panic in a program is a result, so its position is kept for the report instead
//! of being printed.
//!
//! The hook belongs to the process. It is installed once and passes on every panic that does not
//! happen in a run on this thread. With `RUST_BACKTRACE` set the usual message is printed as well,
//! but not in the runs of a search, which may panic thousands of times.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

thread_local! {
    /// `Some` while a run is in progress; contains the position of the latest panic in the run.
    static PLACE: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
    /// Not even with `RUST_BACKTRACE` is anything printed.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

static INSTALLED: Once = Once::new();

/// Calls `f`, in which programs run, without printing their panics, also within another such call.
/// Returns the place of the latest one too, as `file:line:column`.
pub fn with_quiet_panics<T>(f: impl FnOnce() -> T) -> (T, Option<String>) {
    INSTALLED.call_once(|| {
        let usual = panic::take_hook();
        let verbose = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        panic::set_hook(Box::new(move |info| {
            let ours = PLACE.with_borrow_mut(|place| {
                let Some(latest) = place else { return false };
                *latest = info
                    .location()
                    .map(|at| format!("{}:{}:{}", at.file(), at.line(), at.column()));
                true
            });
            if !ours || (verbose && !SILENT.get()) {
                usual(info);
            }
        }));
    });
    let before = PLACE.replace(Some(None));
    let result = f();
    (result, PLACE.replace(before).flatten())
}

/// [`with_quiet_panics`] for a search: no panic is printed, even with `RUST_BACKTRACE`.
pub fn with_silent_panics<T>(f: impl FnOnce() -> T) -> (T, Option<String>) {
    let before = SILENT.replace(true);
    let result = with_quiet_panics(f);
    SILENT.set(before);
    result
}
