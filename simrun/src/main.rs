//! The program `simrun`.

fn main() -> std::process::ExitCode {
    simrun::simrun()
}
