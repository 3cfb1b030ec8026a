//! XML as a tree of tags with their places; everything that could make a small file large is
//! refused.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use platform::Diagnostic;

/// The deepest nesting of tags; platforms nest zones a few deep, and a route in a zone two deeper.
const DEPTH_MAX: usize = 64;

/// The largest number of attributes of a tag: `<cluster>` knows 21.
const ATTRIBUTES_MAX: usize = 64;

/// A tag with its contents.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// The text in the tag; kept for traces only.
    pub(super) text: String,
    /// The tag in the text.
    pub(super) span: Range<usize>,
    pub(super) children: Vec<Self>,
}

impl Element {
    /// The value of an attribute that is there and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(key, _)| key == name);
        let (_, value) = found.next()?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// The names of all attributes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(key, _)| key.as_str())
    }
}

fn diagnostic(
    span: Range<usize>,
    problem: impl Into<String>,
    expected: impl Into<String>,
) -> Diagnostic {
    Diagnostic {
        span,
        problem: problem.into(),
        expected: expected.into(),
        help: None,
    }
}

/// Reads the tags of a text; gives the outermost one.
pub(super) fn parse(text: &str) -> Result<Element, Diagnostic> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        let before = offset(reader.buffer_position(), text);
        let event = reader.read_event().map_err(|error| {
            let at = offset(reader.error_position(), text);
            let expected = "expected well-formed XML";
            diagnostic(at..at, format!("XML syntax: {error}"), expected)
        })?;
        let span = before..offset(reader.buffer_position(), text);
        let done = match event {
            Event::Start(tag) => {
                if root.is_some() || open.len() == DEPTH_MAX {
                    return Err(misplaced(span, root.is_some()));
                }
                open.push(read_element(&tag, span)?);
                None
            }
            Event::Empty(tag) => Some(read_element(&tag, span.clone())?),
            Event::End(_) => open.pop(),
            Event::GeneralRef(_) => {
                let expected = "entities are not expanded";
                return Err(diagnostic(span, "an entity between the tags", expected));
            }
            Event::Eof => break,
            Event::Text(inside) => {
                keep_text(&mut open, &inside);
                None
            }
            Event::CData(inside) => {
                keep_text(&mut open, &inside);
                None
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => None,
        };
        let Some(done) = done else { continue };
        match open.last_mut() {
            Some(outer) => outer.children.push(done),
            None if root.is_none() => root = Some(done),
            None => return Err(misplaced(done.span, true)),
        }
    }
    if let Some(unclosed) = open.last() {
        let problem = format!("<{}> is never closed", unclosed.name);
        return Err(diagnostic(
            unclosed.span.clone(),
            problem,
            "expected its end",
        ));
    }
    root.ok_or_else(|| diagnostic(0..0, "no tag", "expected <platform version=\"4.1\">"))
}

/// Adds text to the innermost tag, if that is a trace.
fn keep_text(open: &mut [Element], bytes: &[u8]) {
    if let Some(trace) = open.last_mut().filter(|tag| tag.name == "trace") {
        trace.text.push_str(&String::from_utf8_lossy(bytes));
    }
}

fn misplaced(span: Range<usize>, after: bool) -> Diagnostic {
    if after {
        diagnostic(span, "a tag after the end", "expected one outermost tag")
    } else {
        let problem = format!("tags nest more than {DEPTH_MAX} deep");
        diagnostic(span, problem, "expected fewer zones in zones")
    }
}

fn offset(position: u64, text: &str) -> usize {
    usize::try_from(position).map_or(text.len(), |at| at.min(text.len()))
}

fn read_element(tag: &BytesStart<'_>, span: Range<usize>) -> Result<Element, Diagnostic> {
    let wrong = |problem: String| diagnostic(span.clone(), problem, "expected well-formed XML");
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut attributes: Vec<(String, String)> = Vec::new();
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| wrong(format!("XML syntax: {error}")))?;
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let value = attribute
            .unescape_value()
            .map_err(|error| wrong(format!("the attribute {key:?}: {error}")))?;
        if attributes.len() == ATTRIBUTES_MAX {
            return Err(wrong(format!("more than {ATTRIBUTES_MAX} attributes")));
        }
        if attributes.iter().any(|(known, _)| *known == key) {
            return Err(wrong(format!("duplicate attribute {key:?}")));
        }
        attributes.push((key, value.trim().to_owned()));
    }
    Ok(Element {
        name,
        attributes,
        text: String::new(),
        span,
        children: Vec::new(),
    })
}
