//! Syntax errors: the messages of the TOML reader in the words of this crate.

use std::collections::BTreeSet;
use std::ops::Range;

use super::field::cut;
use crate::diagnostic::Diagnostic;

/// The syntax errors of a text, without the duplicate keys that follow from a duplicate table.
pub(super) fn syntax(text: &str, errors: &[toml::de::Error]) -> Vec<Diagnostic> {
    let headers = headers(text);
    let mut tables_twice: BTreeSet<usize> = BTreeSet::new();
    let mut mistakes = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let before = headers.partition_point(|header| header.start < span.start.max(1));
        let header = &headers[before - 1];
        if error.message() != DUPLICATE {
            mistakes.push(syntax_error(text, error, span));
        } else if !tables_twice.contains(&header.start) {
            if span.start <= header.end {
                tables_twice.insert(header.start);
            }
            mistakes.push(duplicate(text, &text[header.start..], span));
        }
    }
    mistakes
}

/// Message of the TOML reader for a key that occurs twice.
const DUPLICATE: &str = "duplicate key";

/// The first line and the lines that begin with a bracket, without the ends of the lines.
fn headers(text: &str) -> Vec<Range<usize>> {
    let mut headers = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        if start == 0 || line.starts_with('[') {
            headers.push(start..start + line.len());
        }
        start += line.len() + 1;
    }
    headers
}

fn syntax_error(text: &str, error: &toml::de::Error, span: Range<usize>) -> Diagnostic {
    let message = error.message().lines().next().unwrap_or_default();
    let found = text.get(span.clone()).unwrap_or_default();
    Diagnostic {
        span,
        problem: format!("TOML syntax: {message}"),
        expected: if found.trim().is_empty() {
            "unexpected end of line".to_owned()
        } else {
            format!("found {:?}", cut(found))
        },
        help: None,
    }
}

/// A key that is there twice; `header` is the text from the line of the table on.
fn duplicate(text: &str, header: &str, span: Range<usize>) -> Diagnostic {
    const KINDS: [(&str, &str); 3] = [
        ("[hosts.", "host"),
        ("[links.", "link"),
        ("[clusters.", "cluster"),
    ];
    let same_line = text[..text.floor_char_boundary(span.start)].ends_with(['.', '[']);
    let kind = KINDS
        .iter()
        .find(|(start, _)| same_line && header.starts_with(start))
        .map_or("key", |(_, kind)| *kind);
    let found = text.get(span.clone()).unwrap_or_default();
    Diagnostic {
        span,
        problem: format!("duplicate {kind} {:?}", cut(found.trim())),
        expected: "it is already declared above".to_owned(),
        help: None,
    }
}
