//! The executable `simrun-compiled`, which a `simrun` without the feature `compiled` starts.
//!
//! The loader would be a sixth of the time until a first result. Packages have the loader in
//! `simrun`, by that feature: two executables would have most of their code twice.
//!
//! *Not here*: the options of `simrun`, which has read them before.

// Compiled MPI programs run in this process.
#[global_allocator]
static ALLOCATOR: simrun::Allocator = simrun::Allocator;

fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if simrun::answers_handshake(&arguments) {
        return simrun::answer_handshake([]);
    }
    cmpi::command::act_on(&arguments)
}
