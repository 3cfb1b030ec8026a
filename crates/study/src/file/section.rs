//! Access to the tables of a study file, with the places of mistakes.

use std::ops::Range;

use platform::Diagnostic;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::value::{QuantityKind, quantity};

/// The mistakes found so far.
#[derive(Default)]
pub(super) struct DiagnosticList {
    pub(super) list: Vec<Diagnostic>,
}

impl DiagnosticList {
    pub(super) fn add(&mut self, span: Range<usize>, problem: String, expected: &str) {
        let expected = if expected.is_empty() {
            String::new()
        } else {
            format!("expected {expected}")
        };
        self.list.push(Diagnostic {
            span,
            problem,
            expected,
            help: None,
        });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A table of the file.
pub(super) struct Section<'d> {
    /// The name for messages, such as `[grid]`.
    name: String,
    pub(super) table: &'d DeTable<'d>,
    pub(super) place: Range<usize>,
}

impl<'d> Section<'d> {
    pub(super) fn new(name: &str, table: &'d DeTable<'d>, place: Range<usize>) -> Self {
        Self {
            name: name.to_owned(),
            table,
            place,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.table.get(key)
    }

    /// Returns a value that must be there.
    pub(super) fn required(
        &self,
        key: &str,
        expected: &str,
        mistakes: &mut DiagnosticList,
    ) -> Option<&'d Spanned<DeValue<'d>>> {
        let value = self.get(key);
        if value.is_none() {
            let problem = format!("{} has no {key}", self.name);
            mistakes.add(self.place.clone(), problem, expected);
        }
        value
    }

    /// Returns the table called `[key]`, if there is one.
    pub(super) fn section(&self, key: &str, mistakes: &mut DiagnosticList) -> Option<Self> {
        let (name, value) = self.table.get_key_value(key)?;
        let Some(table) = value.get_ref().as_table() else {
            mistakes.add(
                value.span(),
                format!("{key} is no table"),
                &format!("[{key}]"),
            );
            return None;
        };
        Some(Section::new(&format!("[{key}]"), table, name.span()))
    }

    /// Reports keys that are not known.
    pub(super) fn check_keys(&self, known: &[&str], mistakes: &mut DiagnosticList) {
        for key in self.table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let problem = format!("{} has an unknown key {:?}", self.name, key.get_ref());
                mistakes.add(key.span(), problem, &format!("one of {}", known.join(", ")));
            }
        }
    }

    /// Returns a whole number of at least `min`.
    pub(super) fn whole_number(
        &self,
        key: &str,
        min: u64,
        mistakes: &mut DiagnosticList,
    ) -> Option<u64> {
        let value = self.get(key)?;
        let number = integer(value).and_then(|number| u64::try_from(number).ok());
        if number.is_none_or(|number| number < min) {
            let problem = format!("{key} is no such number");
            mistakes.add(
                value.span(),
                problem,
                &format!("a whole number from {min} on"),
            );
            return None;
        }
        number
    }

    /// Returns a number between 0 and 1, both excluded.
    pub(super) fn fraction(&self, key: &str, mistakes: &mut DiagnosticList) -> Option<f64> {
        let value = self.get(key)?;
        let number = value
            .get_ref()
            .as_float()
            .and_then(|it| it.as_str().parse().ok());
        if number.is_none_or(|number: f64| !(number > 0.0 && number < 1.0)) {
            let problem = format!("{key} is no such number");
            mistakes.add(
                value.span(),
                problem,
                "a number between 0 and 1, such as 0.02",
            );
            return None;
        }
        number
    }

    /// Returns a quantity in the base unit, above 0.
    pub(super) fn quantity(
        &self,
        key: &str,
        kind: QuantityKind,
        example: &str,
        mistakes: &mut DiagnosticList,
    ) -> Option<f64> {
        let value = self.get(key)?;
        let found = value.get_ref().as_str().and_then(quantity);
        match found {
            Some((number, found)) if found == kind && number > 0.0 => Some(number),
            _ => {
                let problem = format!("{key} is not such a quantity, above 0");
                mistakes.add(
                    value.span(),
                    problem,
                    &format!("a quantity such as {example:?}"),
                );
                None
            }
        }
    }
}

/// Returns a text.
pub(super) fn text<'d>(
    value: &'d Spanned<DeValue<'d>>,
    key: &str,
    mistakes: &mut DiagnosticList,
) -> Option<&'d str> {
    let text = value.get_ref().as_str().filter(|text| !text.is_empty());
    if text.is_none() {
        let problem = format!("{key} is {}", value.get_ref().type_str());
        mistakes.add(value.span(), problem, "a text that is not empty");
    }
    text
}

/// Returns a whole number of any base.
pub(super) fn integer(value: &Spanned<DeValue<'_>>) -> Option<i64> {
    let number = value.get_ref().as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
