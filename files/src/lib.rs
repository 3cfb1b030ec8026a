//! Files of commands: inputs of bounded length, and outputs that are whole.
//!
//! * [`read_text`], [`read_bytes`], [`read_stdin`], [`open`]: the files that a command reads. Each
//!   is remembered, so that no [`Output`] replaces an input.
//! * [`Output`], [`write()`]: the files that a command writes.
//!
//! *Not modelled*: inputs of other processes, such as the sources of which cargo makes a program.

mod input;
mod output;

pub use input::{INPUT_MAX, add_input, open, read_bytes, read_state, read_stdin, read_text};
pub use output::{Output, OutputError, write};
