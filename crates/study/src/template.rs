//! Texts with placeholders: `"{size}"` stands for the value of the parameter `size`.
//!
//! `{{` and `}}` stand for one brace. There are no formats: the value is inserted as written.

use crate::point::Assignment;

/// A text with placeholders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum TemplatePart {
    Text(String),
    Name(String),
}

impl Template {
    /// Reads a text with placeholders.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(format!("a brace closes nothing in {text:?}"));
            }
            let Some((name, after)) = rest.split_once('}') else {
                return Err(format!("a brace is not closed in {text:?}"));
            };
            if !is_name(name) {
                return Err(format!("placeholder {{{name}}} has no name of a parameter"));
            }
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Name(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Returns the names of the placeholders, in order.
    pub fn placeholder_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Name(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Inserts the values of an assignment, which has all names.
    pub(crate) fn filled(&self, assignment: &Assignment) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Name(name) => {
                    if let Some(value) = assignment.get(name) {
                        text.push_str(&value.to_string());
                    }
                }
            }
        }
        text
    }
}

/// Returns true for a name of a parameter or measure: a letter or underscore, then also digits.
pub(crate) fn is_name(text: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    text.starts_with(letter) && text.chars().all(|it| letter(it) || it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn placeholders_are_filled_and_braces_escaped() {
        let template = Template::new("--sizes={size},{size} {{x}}").expect("a template");
        let assignment = Assignment::new(vec![("size".to_owned(), Value::Text("1KiB".to_owned()))]);
        assert_eq!(template.filled(&assignment), "--sizes=1KiB,1KiB {x}");
        assert_eq!(
            template.placeholder_names().collect::<Vec<_>>(),
            ["size", "size"]
        );
    }

    #[test]
    fn mistakes_name_the_place() {
        let problem = |text: &str| Template::new(text).expect_err("a mistake");
        assert_eq!(problem("{size"), "a brace is not closed in \"{size\"");
        assert_eq!(problem("size}"), "a brace closes nothing in \"size}\"");
        assert_eq!(problem("{}"), "placeholder {} has no name of a parameter");
    }
}
