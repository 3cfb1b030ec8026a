//! Runs a program on a platform.
//!
//! * [`Program`]: a rank program or an actor program, as an object.
//! * [`load_platform`]: a platform file of any format.
//! * [`Mapping`]: the hosts of the ranks.
//! * [`simulate`]: platform + program + options → [`Run`]; [`simulate_recorded`] also records the
//!   steps.
//! * [`stepper`]: the program under a model checker, without time.
//! * [`Output`]: the destination of the output and the log of the program.
//! * [`RunRecord`]: the stored facts of a run.
//!
//! This crate has no command line.

mod connections;
mod driver;
mod event_log;
mod explorable;
mod mapping;
mod output;
mod panic_hook;
mod platform_file;
mod profile;
mod program;
mod record;
mod recording;
mod verbs;

pub use connections::{ConnectionTotals, Stall};
pub use driver::{MessageProtocol, Options, Run, RunError, simulate, simulate_recorded};
pub use event_log::EventLog;
pub use explorable::{explorable, stepper, without_panic_messages};
pub use fabric::{Capture, CaptureFilter, QueueNumbers};
pub use mapping::{FileProblem, Mapping, MappingError, RankMap};
pub use output::{LogFilter, Output, Stream, TerminalGuard};
pub use panic_hook::{with_quiet_panics, with_silent_panics};
pub use platform_file::load_platform;
pub use profile::{Layer, Profile};
pub use program::{Program, RankFuture, RankProgram, RootProgram, Stage};
pub use record::{BlockedRecord, FailureRecord, Folder, Origin, RecordError, Rerun, RunRecord};
pub use recording::{Lines, Recording, Transcript, not_explorable};
pub use verbs::credit_loop_warnings;
