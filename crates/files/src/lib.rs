//! Files of commands: inputs of bounded length, outputs that are whole, folders with one owner.
//!
//! * [`read_text`], [`read_bytes`], [`read_stdin`], [`open_input`]: the files that a command reads.
//!   Each is remembered, so that no [`Output`] replaces an input.
//! * [`Output`], [`write()`]: the files that a command writes.
//! * [`FolderLock`]: a folder in which one process works at a time.
//!
//! Only this package reads and writes files of commands. In `run` these functions would be out of
//! reach of `report`, which knows no simulations; `platform` reads files and has no outputs. Crates
//! for temporary files choose names, and implement none of these rules.
//!
//! *Not modelled*: inputs of other processes, such as the sources of which cargo makes a program.

mod input;
mod lock;
mod output;
mod temporary;

pub use input::{INPUT_MAX, add_input, open_input, read_bytes, read_state, read_stdin, read_text};
pub use lock::{FolderLock, LOCK_FILE};
pub use output::{Output, OutputError, write};
