//! The command line of simrun, and the entry of every program that runs under it.
//!
//! A program is a package whose `main` is one line:
//!
//! ```
//! use mpi::prelude::*;
//!
//! /// Says hello from every rank.
//! #[derive(clap::Parser, Clone)]
//! struct Args {
//!     /// What to say.
//!     #[arg(long, default_value = "hello")]
//!     text: String,
//! }
//!
//! async fn hello(world: Comm, args: Args) -> Result<()> {
//!     world.println(format_args!("{} from rank {} of {}", args.text, world.rank(), world.size()));
//!     Ok(())
//! }
//!
//! simrun::main!(hello);
//! ```
//!
//! The entry brings the whole command line, so that the built program also works alone. `simrun
//! APP` builds the package, asks the program for its version and replaces itself by it; the
//! arguments after `--` go to the program.
//!
//! All ranks of a simulation are in one process. A rank that ends it (`std::process::exit`), that
//! forks and lets the child return, or that does not await for ever is found, and named; `_exit`,
//! `execve` and signals that kill are not.
//!
//! An *actor program* is an `async fn` of a root actor instead: `async fn f(me: sim_core::Actor,
//! args: Args)`; `-n` is what [`sim_core::Actor::count`] gives. The arguments may be left out in
//! both cases.
//!
//! # Statics
//!
//! Simulated ranks run in one process, real ones in a process each. So all simulated ranks share
//! each `static` and each `thread_local!` of a program, and every run of a `check` shares them with
//! the next; real ranks share nothing. Keep the state of a rank in its `async fn`. `simrun compare`
//! warns of statics in the sources of a package, and `simrun check` of programs that do not do the
//! same when a run is taken again.

#![warn(clippy::missing_errors_doc)]

mod allocator;
mod app;
pub mod args;
pub mod arrival_args;
mod build_progress;
mod check;
pub mod compute_args;
pub mod drawing;
mod entry;
mod given_up;
mod guard;
mod handshake;
mod help;
mod memory;
mod observation;
pub mod package;
mod pcap;
mod process_hooks;
mod profile;
mod progress;
mod progress_line;
mod real_command;
mod rerun;
mod schedule;
mod size;
pub mod status;
mod study_worker;
mod summary;
pub mod tcp_args;
mod trace_args;
pub mod transport_args;
pub mod verbs_args;

pub use allocator::Allocator;
pub use app::App;
pub use check::{CheckArgs, EXIT_STATUS as CHECK_EXIT_STATUS, quoted};
pub use entry::{VERSION, load, run_app, run_app_with, watch_signals};
pub use handshake::{answer_handshake, is_asked as answers_handshake};
pub use help::{is_help_short, prepare_help};
pub use memory::available as available_memory;
pub use progress_line::ProgressLine;
pub use real_command::{EXIT_STATUS as REAL_EXIT_STATUS, RealArgs, ended};
pub use rerun::{PROGRAM_MAX, set_program, sha256_of};
pub use size::{ParseSizeError, Size};
pub use trace_args::TraceArgs;

/// The revision of simrun, as `--version` and records say it.
pub const REVISION: &str = env!("SIMRUN_REVISION");

/// Makes the `main` of a program from its `async fn`.
///
/// It also installs an allocator, which is that of the system and notices when memory is short. A
/// program with an allocator of its own calls [`run_app`] in its `main` instead, and is aborted
/// when memory is short.
#[macro_export]
macro_rules! main {
    ($program:path) => {
        #[global_allocator]
        static SIMRUN_ALLOCATOR: $crate::Allocator = $crate::Allocator;

        fn main() -> ::std::process::ExitCode {
            $crate::run_app(
                option_env!("CARGO_BIN_NAME").unwrap_or(env!("CARGO_PKG_NAME")),
                $program,
            )
        }
    };
}
