//! TOML that is not even TOML: the errors of the TOML reader in the words of this crate.

use std::ops::Range;

use super::field::cut;
use crate::mistake::Mistake;

/// The syntax errors of a text, without the duplicate keys that follow from a duplicate table.
pub(super) fn syntax(text: &str, errors: &[toml::de::Error]) -> Vec<Mistake> {
    let mut tables_twice: Vec<usize> = Vec::new();
    let mut mistakes = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let header = header_before(text, span.start);
        if error.message() != DUPLICATE {
            mistakes.push(one(text, error, span));
        } else if !tables_twice.contains(&header) {
            if !text[header..text.floor_char_boundary(span.start)].contains('\n') {
                tables_twice.push(header);
            }
            mistakes.push(duplicate(text, &text[header..], span));
        }
    }
    mistakes
}

/// What the TOML reader says of a key that is there twice.
const DUPLICATE: &str = "duplicate key";

/// Where the last line that begins with a bracket begins, before or around `offset`.
fn header_before(text: &str, offset: usize) -> usize {
    let before = &text[..text.floor_char_boundary(offset)];
    let in_text = before.rfind("\n[").map(|at| at + 1);
    in_text.unwrap_or(0)
}

fn one(text: &str, error: &toml::de::Error, span: Range<usize>) -> Mistake {
    let message = error.message().lines().next().unwrap_or_default();
    let found = text.get(span.clone()).unwrap_or_default();
    Mistake {
        span,
        problem: format!("TOML syntax: {message}"),
        expected: if found.trim().is_empty() {
            "something is missing here".to_owned()
        } else {
            format!("found {:?}", cut(found))
        },
        help: None,
    }
}

/// A key that is there twice; `header` is the text from the line of the table on.
fn duplicate(text: &str, header: &str, span: Range<usize>) -> Mistake {
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
    Mistake {
        span,
        problem: format!("duplicate {kind} {:?}", cut(found.trim())),
        expected: "it is already declared above".to_owned(),
        help: None,
    }
}
