//! Places in a text, found without reading the text again: a file with thousands of mistakes costs
//! one pass, not one pass per mistake.
//!
//! A line ends with a newline; a carriage return is a letter of its line.

use std::ops::Range;

/// A text with the positions at which its lines begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Byte positions; the first line begins at 0.
    starts: Vec<usize>,
}

impl Source {
    /// The text of the file called `name`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
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
    #[must_use]
    pub fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_number(offset);
        let before = &self.text[self.starts[line]..offset];
        (line + 1, before.chars().count() + 1)
    }

    /// Returns the part of a span that is on the first line of the span.
    pub(super) fn on_first_line(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.text.floor_char_boundary(span.start);
        let line = self.line_range(self.line_number(start), 1);
        let last = line.end - usize::from(self.text[line.clone()].ends_with('\n'));
        start..self.text.floor_char_boundary(span.end).clamp(start, last)
    }

    /// The longest line, in bytes, among the one of a place and `around` on each side.
    pub(super) fn longest_line(&self, offset: usize, around: usize) -> usize {
        let line = self.line_number(offset);
        let lines = line.saturating_sub(around)..=line.saturating_add(around);
        let lengths = lines.map(|line| self.line_range(line, 1).len());
        lengths.max().unwrap_or_default()
    }

    /// The bytes of the line of a place and of `around` lines on each side, without the last
    /// newline, and the number, from 0, of the first of them.
    pub(super) fn around(&self, span: &Range<usize>, around: usize) -> (Range<usize>, usize) {
        let first = self.line_number(span.start).saturating_sub(around);
        let last = self.line_number(span.start) + around;
        let bytes = self.line_range(first, last - first + 1);
        let newline = usize::from(self.text[bytes.clone()].ends_with('\n'));
        (bytes.start..(bytes.end - newline).max(span.end), first)
    }

    /// The text at a range of bytes.
    pub(super) fn text(&self, bytes: Range<usize>) -> &str {
        &self.text[bytes]
    }

    /// The number, from 0, of the line that a byte position is on.
    fn line_number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// The bytes of `count` lines; lines beyond the end are empty.
    fn line_range(&self, first: usize, count: usize) -> Range<usize> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        start(first)..start(first.saturating_add(count))
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
                    source.line_and_column(offset),
                    (line, column),
                    "{text:?} at {offset}"
                );
            }
        }
    }

    #[test]
    fn what_is_shown_has_the_lines_around() {
        let source = Source::new("f", "one\ntwo\nthree\nfour");
        let shown = |span: Range<usize>| {
            let (bytes, first) = source.around(&span, 1);
            (source.text(bytes), first)
        };
        assert_eq!(shown(5..7), ("one\ntwo\nthree", 0));
        assert_eq!(shown(8..8), ("two\nthree\nfour", 1));
        assert_eq!(shown(18..18), ("three\nfour", 2));
        assert_eq!(source.on_first_line(&(5..12)), 5..7);
        assert_eq!(source.longest_line(0, 1), 4);
    }
}
