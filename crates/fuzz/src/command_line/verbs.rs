//! Programs of work requests on an adapter of libibverbs, for `simrun fuzz --layer verbs`.
//!
//! Both sides are in this process, on one adapter that is opened twice.

#![expect(clippy::disallowed_types, reason = "it waits for a real adapter")]

use std::time::{Duration, Instant};

use real::verbs::LibVerbs;

use crate::verbs::{ExecutionError, Session, VerbsAdapter};

/// The time that an execution may take. \[choice\]
const LIMIT: Duration = Duration::from_secs(3);

/// Returns the adapter with this name, or the first one.
pub(super) fn find_adapter(device: Option<&str>) -> Result<VerbsAdapter, String> {
    let open = {
        let device = device.map(str::to_owned);
        move || LibVerbs::open(device.as_deref()).map_err(|error| error.to_string())
    };
    // A wrong name is a mistake of the options, and not of a program.
    drop(open()?);
    Ok(VerbsAdapter {
        name: device.unwrap_or("libibverbs").to_owned(),
        execute: Box::new(move |program| {
            let [first, second] = [open(), open()];
            let first = first.map_err(ExecutionError::Call)?;
            let second = second.map_err(ExecutionError::Call)?;
            let begin = Instant::now();
            Session::new(program, [&first, &second], None)?.execute_rounds(&mut || {
                std::thread::yield_now();
                begin.elapsed() < LIMIT
            })
        }),
    })
}
