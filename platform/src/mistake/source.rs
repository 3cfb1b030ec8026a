//! Places in a text, found without reading it again: a file with thousands of mistakes costs one pass, not one per mistake.
//!
//! A line ends with a newline; a carriage return is a letter of its line.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A text that knows where its lines begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    name: String,
    text: String,
    /// Byte positions; the first line begins at 0.
    starts: Vec<usize>,
}

impl Source {
    /// The text of the file called `name`.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            starts: std::iter::once(0)
                .chain(newlines.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Line and column, both from 1, of a byte position; the column counts characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line(offset);
        let before = &self.text[self.starts[line]..offset];
        (line + 1, before.chars().count() + 1)
    }

    /// The part of a place that is on its first line.
    pub(super) fn on_first_line(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.text.floor_char_boundary(span.start);
        let line = self.lines(self.line(start), 1);
        let last = line.end - usize::from(self.text[line.clone()].ends_with('\n'));
        start..self.text.floor_char_boundary(span.end).clamp(start, last)
    }

    /// The longest line, in bytes, among the one of a place and `around` on each side.
    pub(super) fn longest(&self, offset: usize, around: usize) -> usize {
        let line = self.line(offset);
        let lines = line.saturating_sub(around)..=line.saturating_add(around);
        let lengths = lines.map(|line| self.lines(line, 1).len());
        lengths.max().unwrap_or_default()
    }

    /// The number, from 0, of the line that a byte position is on.
    fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// The bytes of `count` lines; those beyond the end are empty.
    fn lines(&self, first: usize, count: usize) -> Range<usize> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        start(first)..start(first.saturating_add(count))
    }
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let line = self.line(span.offset());
        let (bytes, first, column) = if before == 0 {
            let (_, column) = self.position(span.offset());
            (span.offset()..end, line, column - 1)
        } else {
            let first = line.saturating_sub(before);
            let last = self.line(end.saturating_sub(1).max(span.offset())) + after;
            (self.lines(first, last - first + 1), first, 0)
        };
        let count = self.line(bytes.end) - first;
        let shown = SourceSpan::from(bytes.clone());
        let data = &self.text.as_bytes()[bytes];
        let contents =
            MietteSpanContents::new_named(self.name.clone(), data, shown, first, column, count);
        Ok(Box::new(contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_counting() {
        for text in ["", "\n", "a", "a\n", "\n\nµb\r\nc", "a\nµµ\n\n"] {
            let source = Source::new("f", text);
            for offset in 0..text.len() + 3 {
                let cut = text.floor_char_boundary(offset);
                let line = text[..cut].matches('\n').count() + 1;
                let column = text[..cut].chars().rev().take_while(|c| *c != '\n').count() + 1;
                assert_eq!(
                    source.position(offset),
                    (line, column),
                    "{text:?} at {offset}"
                );
            }
        }
    }

    #[test]
    fn what_is_shown_has_the_lines_around() {
        let source = Source::new("f", "one\ntwo\nthree\nfour");
        let shown = |span: Range<usize>, around: usize| {
            let contents = source.read_span(&span.into(), around, around).unwrap();
            let text = String::from_utf8(contents.data().to_vec()).unwrap();
            (text, contents.line(), contents.column())
        };
        assert_eq!(shown(5..7, 0), ("wo".to_owned(), 1, 1));
        assert_eq!(shown(5..7, 1), ("one\ntwo\nthree\n".to_owned(), 0, 0));
        assert_eq!(shown(8..8, 1), ("two\nthree\nfour".to_owned(), 1, 0));
        assert_eq!(shown(18..18, 1), ("three\nfour".to_owned(), 2, 0));
        assert_eq!(source.on_first_line(&(5..12)), 5..7);
        assert_eq!(source.longest(0, 1), 4);
        assert!(source.read_span(&(17..20).into(), 1, 1).is_err());
    }
}
