//! Completions of shells and man pages, from the description of the command line that parses it.
//!
//! The man pages of the tools come from the tools, which are built if need be. *Not completed*: the
//! options of their commands, and the arguments of programs.

use std::path::Path;
use std::process::{Command, ExitCode};

use clap_complete::Shell;
use simrun::status;

use crate::companion;

/// Prints the script of a shell.
pub(crate) fn completions(shell: Shell, mut command: clap::Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "simrun", &mut script);
    status::print(String::from_utf8_lossy(&script).trim_end())
}

/// Writes a man page for each command into a folder, which is made if need be.
pub(crate) fn man(folder: &Path, command: clap::Command) -> ExitCode {
    match pages(folder, command) {
        Ok(()) => status::print(format_args!(
            "man pages are in {shown}; read one with\n  man {shown}/simrun.1",
            shown = folder.display()
        )),
        Err(problem) => status::refuse(problem),
    }
}

fn pages(folder: &Path, command: clap::Command) -> Result<(), String> {
    let tools = companion::TOOLS.program_path()?;
    let unwritable =
        |error: std::io::Error| format!("{}: cannot write there: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_pages(folder, &command)?;
    // Its commands have only names here: their pages replace these.
    let ended = Command::new(&tools).arg("man").arg(folder).status();
    let ended = ended.map_err(|error| format!("{}: cannot start it: {error}", tools.display()))?;
    match ended.success() {
        true => Ok(()),
        false => Err(format!("{}: exited with {ended}", tools.display())),
    }
}

/// Writes the page of a command and those of its subcommands.
fn write_pages(folder: &Path, command: &clap::Command) -> Result<(), String> {
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(folder, one)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page).expect("memory can be written to");
    let path = folder.join(man.get_filename());
    files::write(&path, page).map_err(|error| error.to_string())
}
