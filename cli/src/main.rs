//! The command `simrun`.

mod command_line;
mod conformance;
mod graph;
mod help_pages;
mod new;
mod platform_command;
mod rerun;
mod tools;

fn main() -> std::process::ExitCode {
    command_line::simrun()
}
