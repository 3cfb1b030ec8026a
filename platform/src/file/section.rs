//! Walking through the tables of a file while collecting mistakes: a missing key, an unknown key, a
//! wrong value.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::field::{InvalidValue, ParseField, cut, did_you_mean, renamed};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;

/// Beyond this number of mistakes no further suggestions are searched for.
const SUGGESTIONS_MAX: usize = 100;

/// All mistakes found so far.
#[derive(Default, Debug)]
pub(crate) struct Collector {
    pub(crate) mistakes: Vec<Diagnostic>,
    /// Where files that the platform names are looked for.
    pub(crate) folder: Option<PathBuf>,
}

/// Former names of keys of a table and their current names.
const RENAMED: [(&str, &[(&str, &str)]); 2] = [
    (
        "protocol table",
        &[
            ("packet", "packet_size"),
            ("buffers", "send_buffers"),
            ("reserved", "reserved_credits"),
            ("eager_messages", "max_eager_messages"),
            ("eager_bytes", "max_eager_bytes"),
            ("unexpected", "unexpected_memory"),
            ("batch", "post_batch"),
            ("direct", "zero_copy"),
            ("preset", "control_messages"),
            ("control", "control_size"),
            ("synchronous", "ssend_protocol"),
            ("ready", "ready_send"),
            ("carriage", "transport"),
            ("packet_cost", "post_cost_per_packet"),
            ("batch_cost", "post_cost_per_batch"),
        ],
    ),
    (
        "connection table",
        &[
            ("at_limit", "descriptor_limit_policy"),
            ("idle_close", "idle_timeout"),
            ("socket_size", "transport_packet_size"),
        ],
    ),
];

/// Returns the current name of a key that had another one.
fn new_name(table: &str, key: &str) -> Option<&'static str> {
    let (_, keys) = RENAMED.iter().find(|(name, _)| *name == table)?;
    let (_, new) = keys.iter().find(|(old, _)| *old == key)?;
    Some(new)
}

/// A table with a known set of keys.
#[derive(Debug)]
pub(crate) struct Section<'t> {
    table: &'t DeTable<'t>,
    /// The object that the table describes, such as `host "alice"`.
    what: String,
    span: Range<usize>,
}

impl Collector {
    pub(crate) fn add(
        &mut self,
        span: Range<usize>,
        problem: String,
        expected: impl Into<String>,
        help: Option<String>,
    ) {
        self.mistakes.push(Diagnostic {
            span,
            problem,
            expected: expected.into(),
            help,
        });
    }

    /// A help line with the known word nearest to `word`.
    pub(crate) fn suggest<'k>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<String> {
        if self.mistakes.len() >= SUGGESTIONS_MAX {
            return None;
        }
        did_you_mean(nearest(word, known))
    }

    /// Opens the table in `value`; all keys of the table must be among `known`.
    pub(super) fn section<'t>(
        &mut self,
        value: &'t Spanned<DeValue<'t>>,
        span: Range<usize>,
        what: String,
        known: &[&'static str],
    ) -> Option<Section<'t>> {
        let Some(table) = value.get_ref().as_table() else {
            let wrong = InvalidValue::kind(value.get_ref(), &format!("a table for the {what}"));
            self.wrong(value.span(), wrong);
            return None;
        };
        Some(self.open_table(table, span, what, known))
    }

    /// Opens `table`; all keys of `table` must be among `known`.
    pub(super) fn open_table<'t>(
        &mut self,
        table: &'t DeTable<'t>,
        span: Range<usize>,
        what: String,
        known: &[&'static str],
    ) -> Section<'t> {
        for (key, _) in table {
            let word: &str = key.get_ref();
            if !known.contains(&word) {
                let help = new_name(&what, word).map_or_else(
                    || self.suggest(word, known.iter().copied()),
                    |new| Some(renamed(new)),
                );
                let problem = format!("unknown key {:?}", cut(word));
                let expected = format!("the {what} can have the keys {}", known.join(", "));
                self.add(key.span(), problem, expected, help);
            }
        }
        Section { table, what, span }
    }

    /// The value of a key that must be there.
    pub(crate) fn required<T: ParseField>(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
        example: &str,
    ) -> Option<T> {
        let value = self.present(section, key, example)?;
        self.value(value)
    }

    /// Returns the value, unparsed, of a key that must be present.
    pub(crate) fn present<'t>(
        &mut self,
        section: &Section<'t>,
        key: &'static str,
        example: &str,
    ) -> Option<&'t Spanned<DeValue<'t>>> {
        let value = section.table.get(key);
        if value.is_none() {
            let problem = format!("the {} has no {key:?}", section.what);
            let help = Some(format!("add: {key} = {example}"));
            self.add(
                section.span.clone(),
                problem,
                format!("expected the key {key:?} in it"),
                help,
            );
        }
        value
    }

    /// The value of an optional key: `None` if the value is wrong, `Some(None)` if the key is
    /// absent.
    #[expect(
        clippy::option_option,
        reason = "wrong and absent differ, and the mistake is already recorded"
    )]
    pub(crate) fn optional<T: ParseField>(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
    ) -> Option<Option<T>> {
        match section.table.get(key) {
            Some(value) => self.value(value).map(Some),
            None => Some(None),
        }
    }

    /// A value of any key.
    pub(super) fn value<T: ParseField>(&mut self, value: &Spanned<DeValue<'_>>) -> Option<T> {
        T::read(value)
            .map_err(|wrong| self.wrong(value.span(), wrong))
            .ok()
    }

    pub(super) fn wrong(&mut self, span: Range<usize>, wrong: InvalidValue) {
        self.add(span, wrong.problem, wrong.expected, wrong.help);
    }
}

impl<'t> Section<'t> {
    /// The unparsed value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// A key with its place in the file.
    pub(super) fn spanned_key(&self, key: &str) -> Option<Spanned<&'t str>> {
        let (key, _) = self.table.get_key_value(key)?;
        Some(Spanned::new(key.span(), key.get_ref().as_ref()))
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// The entries of a table in the order of the file.
pub(super) fn in_file_order<'t>(
    table: &'t DeTable<'t>,
) -> Vec<(Spanned<String>, &'t Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| {
            let name = Spanned::new(key.span(), key.get_ref().to_string());
            (name, value)
        })
        .collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
