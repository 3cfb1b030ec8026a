//! The command line of simrun, and the entry of every program that runs under it.
//!
//! A program is a package whose `main` is one line:
//!
//! ```
//! use mpi::{Comm, Result};
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
//! The entry brings the whole command line, so that the built program also works alone. `simrun APP` builds the
//! package, asks the program for its version and replaces itself by it; the arguments after `--` go to the program.
//!
//! All ranks of a simulation are in one process. A rank that ends it (`std::process::exit`), that forks and lets the child
//! return, or that does not await for ever is found, and named; `_exit`, `execve` and signals that kill are not.
//!
//! An *actor program* is an `async fn` of a root actor instead: `async fn f(me: sim_core::Actor, args: Args)`; `-n` is
//! what [`sim_core::Actor::count`] gives. The arguments may be left out in both cases.
//!
//! # Statics
//!
//! Simulated ranks run in one process, real ones in a process each. So all simulated ranks share each `static` and each
//! `thread_local!` of a program, and every run of a `check` shares them with the next; real ranks share nothing. Keep the state of
//! a rank in its `async fn`. `simrun compare` warns of statics in the sources of a package, and `simrun check` of programs that do
//! not do the same when a run is taken again.

mod allocator;
mod app;
mod args;
mod arrival_args;
mod calibrate;
mod check;
mod cli;
mod compare;
mod entry;
mod given_up;
mod graph;
mod guard;
mod handshake;
mod limits;
mod measure;
mod measure_real;
mod memory;
mod new;
mod package;
mod platform_command;
mod process_hooks;
mod progress;
mod real_command;
mod rerun;
mod size;
mod statics;
mod status;
mod summary;
mod tcp_args;
mod verbs_args;
mod way;

pub use allocator::Allocator;
pub use app::App;
pub use cli::simrun;
pub use entry::run_app;
pub use size::{BadSize, Size};

/// The revision of simrun, as `--version` and records say it.
pub const REVISION: &str = env!("SIMRUN_REVISION");

/// Makes the `main` of a program from its `async fn`.
///
/// It also installs an allocator, which is that of the system and notices when memory is short. A program with an
/// allocator of its own calls [`run_app`] in its `main` instead, and is aborted when memory is short.
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
