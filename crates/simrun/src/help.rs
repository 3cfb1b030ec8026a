//! The two forms of help: `-h` fits a screen of 24 lines, `--help` lists every option.
//!
//! With `-h` an option has its text up to the first detail, and options below a heading are left
//! out. Long lines of both forms are broken at the width of the terminal.

use std::ffi::OsString;
use std::io;

use clap::Command;

/// Width of a help text that is not printed to a terminal.
const WIDTH: usize = 100;

/// Beginnings of a detail.
const DETAILS: [&str; 5] = [" (", " [", ", ", ": ", "; "];

/// The help that arguments ask for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HelpRequest {
    /// Neither `-h` nor `--help`, not even among joined flags as in `-qh`: a text that is shown in
    /// the help alone need not be made.
    Absent,
    /// A word with an `h` behind a `-`, which may be `--help`.
    Possible,
    /// The short form.
    Short,
}

impl HelpRequest {
    /// Returns the help that arguments before `--` ask for.
    pub(crate) fn from_arguments(arguments: &[OsString]) -> Self {
        let words = arguments.iter().take_while(|word| *word != "--");
        let requests = words.map(|word| match word.as_encoded_bytes() {
            b"-h" => Self::Short,
            [b'-', flags @ ..] if flags.contains(&b'h') => Self::Possible,
            _ => Self::Absent,
        });
        requests.max().unwrap_or(Self::Absent)
    }
}

/// Returns true for arguments that get the short form.
#[must_use]
pub fn is_help_short(arguments: &[OsString]) -> bool {
    arguments.is_empty() || HelpRequest::from_arguments(arguments) == HelpRequest::Short
}

/// Returns a command with the form of help that the arguments ask for.
#[must_use]
pub fn prepare_help(command: Command, arguments: &[OsString]) -> Command {
    match is_help_short(arguments) {
        true => short_form(command),
        false => command,
    }
}

/// Returns a command with short help, also of the subcommands.
fn short_form(command: Command) -> Command {
    let mut is_cut = command.get_after_help().is_some();
    let command = command.mut_subcommands(short_form).mut_args(|option| {
        let is_hidden = option.is_hide_set() || option.get_help_heading().is_some();
        let mut text = option.get_help().cloned().unwrap_or_default().to_string();
        let ends = DETAILS.iter().filter_map(|detail| text.find(detail));
        let end = ends.min().unwrap_or(text.len());
        is_cut |= is_hidden || end < text.len();
        text.truncate(end);
        option.help(text).hide(is_hidden)
    });
    match is_cut {
        true => command.after_help("--help shows all options and details"),
        false => command,
    }
}

/// Returns a help text with lines of at most the width of the terminal.
pub(crate) fn wrap_help(text: &str) -> String {
    let terminal = rustix::termios::tcgetwinsize(io::stdout());
    let columns = || std::env::var_os("COLUMNS")?.to_str()?.parse().ok();
    let width = match terminal {
        Ok(size) => Some(usize::from(size.ws_col)),
        Err(_) => columns(),
    };
    wrap_at(text, width.filter(|width| *width > 0).unwrap_or(WIDTH))
}

/// Breaks lines that are longer than `width` bytes, and begins the next line below the text of the
/// option.
fn wrap_at(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let gap = line.as_bytes().windows(2).rposition(|pair| pair == b"  ");
        let column = gap.map_or(0, |at| at + 2);
        let indentation = column.min(width / 2);
        let (mut start, mut used) = (column, column);
        wrapped.push_str(&line[..column]);
        while used + line.len() - start > width {
            let is_space = |at: &usize| line.as_bytes()[*at] == b' ';
            let end = start + width.saturating_sub(used);
            let last = (start..=end).rev().find(is_space);
            let Some(at) = last.or_else(|| (end..line.len()).find(is_space)) else {
                break;
            };
            wrapped.push_str(&line[start..at]);
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indentation));
            (start, used) = (at + 1, indentation);
        }
        wrapped.push_str(&line[start..]);
        wrapped.push('\n');
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::{HelpRequest, wrap_at};

    #[test]
    fn only_words_before_the_arguments_of_the_program_ask_for_help() {
        for (line, expected) in [
            ("", HelpRequest::Absent),
            ("-n 4 apps/ring", HelpRequest::Absent),
            ("-h", HelpRequest::Short),
            ("run apps/ring -h", HelpRequest::Short),
            ("--help -h", HelpRequest::Short),
            ("--help", HelpRequest::Possible),
            ("-qh", HelpRequest::Possible),
            ("--hosts 4", HelpRequest::Possible),
            ("h apps/help", HelpRequest::Absent),
            ("apps/ring -- -h --help", HelpRequest::Absent),
            ("--help apps/ring -- -h", HelpRequest::Possible),
        ] {
            let words: Vec<_> = line.split_whitespace().map(Into::into).collect();
            assert_eq!(HelpRequest::from_arguments(&words), expected, "{line}");
        }
    }

    #[test]
    fn lines_are_broken_below_the_text_of_an_option() {
        let check = |text: &str, width: usize, expected: &str| {
            assert_eq!(wrap_at(text, width), format!("{expected}\n"), "{text}");
        };
        check("one two three", 7, "one two\nthree");
        check("one two three", 13, "one two three");
        check("  -n <N>  one two", 13, "  -n <N>  one\n      two");
        check("  -n  one two", 9, "  -n  one\n    two");
        check("  -nnnnn  one", 4, "  -nnnnn  one");
        check("unbreakable word", 3, "unbreakable\nword");
        check("  -n  Größe der Zahl", 14, "  -n  Größe\n      der Zahl");
        check("one\n\ntwo", 3, "one\n\ntwo");
    }
}
