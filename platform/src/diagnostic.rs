//! Mistakes in a platform file, shown at their places.
//!
//! [`LoadError`] prints one line per mistake (`file:line:column: problem: expected value`);
//! [`LoadError::report`] shows each mistake with the source line. All mistakes of a file are
//! reported together, in the order of the file.

mod source;

use std::fmt;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::overrides::OverrideError;
pub use source::Source;

/// Maximum number of mistakes that are shown; further ones are counted.
const SHOWN_MAX: usize = 100;

/// Longer lines, in bytes, are not shown (and underlined) on a screen.
const LENGTH_MAX: usize = 2_000;

/// Reason why a platform cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The file cannot be read as text.
    Unreadable(Unreadable),
    /// The text is not a platform.
    Diagnostics(Diagnostics),
    /// A change of the platform cannot be made.
    Override(OverrideError),
}

/// A file that cannot be read as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    file: String,
    problem: String,
    help: Option<String>,
}

/// The mistakes in the text of one platform file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    source: Source,
    list: Vec<Diagnostic>,
}

/// One mistake at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Byte positions in the text.
    pub span: Range<usize>,
    /// The problem, with the value found.
    pub problem: String,
    /// The expectation at this place.
    pub expected: String,
    /// The text that was probably meant, or a solution.
    pub help: Option<String>,
}

impl Unreadable {
    /// The file at `path` could not be opened or read.
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        let file = path.display().to_string();
        let (problem, help) = match error.kind() {
            std::io::ErrorKind::NotFound => ("there is no such file".to_owned(), None),
            std::io::ErrorKind::IsADirectory => (
                "it is a directory".to_owned(),
                Some("name a .toml file in it".to_owned()),
            ),
            _ => (error.to_string(), None),
        };
        Self {
            file,
            problem,
            help,
        }
    }

    /// The file at `path` is a named pipe in a folder; a named pipe opens only when another program
    /// writes to the pipe.
    pub(crate) fn named_pipe(path: &Path) -> Self {
        Self {
            file: path.display().to_string(),
            problem: "it is a named pipe: expected a file, or an open pipe such as /dev/stdin"
                .to_owned(),
            help: None,
        }
    }

    /// The file at `path` has no end, or one too far away.
    pub(crate) fn too_long(path: &Path) -> Self {
        let mib = crate::platform::FILE_MAX >> 20;
        Self {
            file: path.display().to_string(),
            problem: format!(
                "it has more than {mib} MiB: expected a platform file of at most {mib} MiB"
            ),
            help: None,
        }
    }

    /// The file at `path` is not UTF-8: the first bad byte is at `valid_up_to` of `bytes`.
    pub(crate) fn not_utf8(path: &Path, bytes: &[u8], valid_up_to: usize) -> Self {
        let good = String::from_utf8_lossy(&bytes[..valid_up_to]);
        let (line, column) = Source::new("", &good).line_and_column(good.len());
        let byte = bytes.get(valid_up_to).copied().unwrap_or_default();
        Self {
            file: path.display().to_string(),
            problem: format!(
                "it is not UTF-8 text: byte 0x{byte:02x} at line {line}, column {column}"
            ),
            help: None,
        }
    }
}

impl Diagnostics {
    /// The mistakes of a file in the order of their places; `list` is not empty.
    #[must_use]
    pub fn new(source: Source, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        Self { source, list }
    }

    /// The mistakes in the order of the file.
    #[must_use]
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The line and the column, both from 1, of a mistake of this list.
    #[must_use]
    pub fn line_and_column(&self, diagnostic: &Diagnostic) -> (usize, usize) {
        self.source.line_and_column(diagnostic.span.start)
    }
}

impl Diagnostic {
    /// The problem, with the value found.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns the expectation at this place.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// Returns the mistake with its line and the lines around it, without a newline at the end.
    fn render_snippet(&self, source: &Source, renderer: &Renderer) -> String {
        let span = source.on_first_line(&self.span);
        let (lines, first) = source.around(&span, 1);
        let label = Some(self.expected.as_str()).filter(|label| !label.is_empty());
        let inside = span.start - lines.start..span.end - lines.start;
        let snippet = Snippet::source(source.text(lines))
            .line_start(first + 1)
            .path(source.name())
            .fold(false)
            .annotation(AnnotationKind::Primary.span(inside).label(label));
        let title = Level::ERROR.primary_title(self.problem.as_str());
        let mut group = title.element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }
}

impl LoadError {
    /// The full report for people: every mistake with its source line, the value found and the
    /// value expected.
    ///
    /// With `colour` the report contains terminal colours; without, it is plain text for a pipe.
    #[must_use]
    pub fn report(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let renderer = renderer.decor_style(DecorStyle::Unicode);
        let mistakes = match self {
            Self::Unreadable(unreadable) => return format!("error: {unreadable}\n"),
            Self::Override(error) => return format!("error: {error}\n"),
            Self::Diagnostics(mistakes) => mistakes,
        };
        let source = &mistakes.source;
        let mut report = String::new();
        for diagnostic in mistakes.list.iter().take(SHOWN_MAX) {
            if source.longest_line(diagnostic.span.start, 2) > LENGTH_MAX {
                report.push_str("error: ");
                report.push_str(&mistakes.summary_line(diagnostic));
            } else {
                report.push_str(&diagnostic.render_snippet(source, &renderer));
            }
            report.push('\n');
        }
        report.push_str(&match mistakes.list.len() {
            1 => "1 mistake\n".to_owned(),
            count if count > SHOWN_MAX => {
                format!("{count} errors, first {SHOWN_MAX} shown\n")
            }
            count => format!("{count} mistakes\n"),
        });
        report
    }
}

impl Diagnostics {
    fn summary_line(&self, diagnostic: &Diagnostic) -> String {
        let (line, column) = self.line_and_column(diagnostic);
        format!("{}:{line}:{column}: {diagnostic}", self.source.name())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        if !self.expected.is_empty() {
            write!(f, ": {}", self.expected)?;
        }
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot read platform file {:?}: {}",
            self.file, self.problem
        )?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(unreadable) => unreadable.fmt(f),
            Self::Override(error) => error.fmt(f),
            Self::Diagnostics(mistakes) => {
                for (at, diagnostic) in mistakes.list.iter().take(SHOWN_MAX).enumerate() {
                    let separator = if at == 0 { "" } else { "\n" };
                    write!(f, "{separator}{}", mistakes.summary_line(diagnostic))?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for LoadError {}
