//! The command `simrun`.

mod cc;
mod command_line;
mod compiled;
mod conformance;
mod graph;
mod help_pages;
mod new;
mod platform_command;
mod platform_json;
mod rerun;
mod tools;

// Compiled MPI programs run in this process.
#[global_allocator]
static ALLOCATOR: simrun::Allocator = simrun::Allocator;

fn main() -> std::process::ExitCode {
    command_line::simrun()
}
