//! The command `simrun`.

mod command_line;
mod companion;
mod conformance;
mod graph;
mod help_pages;
mod new;
mod platform_command;
mod platform_json;
mod platform_list;
mod rerun;

// Compiled MPI programs may run in this process.
#[global_allocator]
static ALLOCATOR: simrun::Allocator = simrun::Allocator;

fn main() -> std::process::ExitCode {
    command_line::simrun()
}
