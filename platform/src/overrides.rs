//! Overrides: changes of a platform before a run, written as `PATH=VALUE` and `PATH*=FACTOR`.
//!
//! A path names a key of the platform file with every default spelled out
//! ([`Platform::to_toml`](crate::Platform::to_toml)): `links.backbone.bandwidth`,
//! `clusters.nodes.cores`, `zones.site.hosts.desk.speed`, `protocol.eager_threshold`. In a part of
//! a path `*` stands for any text, so that `links.*.latency` is the latency of all links. A part
//! with a dot is written in double quotes; an entry of an array is a number from 0. Only whole keys
//! are changed. The platform is read again after all changes, so a wrong value or an unknown key is
//! reported like any other mistake.
//!
//! A new `network.model` replaces all parameters of the earlier model by its own; only `compat` of
//! the file stays. The model is changed before all other keys, so other overrides of parameters
//! take effect. `loggops` has no defaults for the parameters that replace links: on a platform with
//! links these parameters must be set, too.
//!
//! Hosts and links of a cluster have paths like other hosts and links, `hosts.node-3.speed` and
//! `links.node-3:up.bandwidth`, in the zone of the cluster or in the platform itself, whatever
//! their zone. Such a change becomes an override in the entry of the cluster. A star does not match
//! them: a change for all of them is a change of a key of the cluster.

mod blame;
mod single;

use std::fmt;
use std::str::FromStr;

use toml::{Table, Value};

use crate::file::{IN_PLACE_OF_LINKS, cut};
use crate::nearest::nearest;
use crate::network::{NetworkModel, NetworkParameters};
use crate::units::split_number;
pub(crate) use blame::blame;

/// The most names that a message lists.
const LISTED_MAX: usize = 8;

/// One change of a platform.
#[derive(Clone, PartialEq, Debug)]
pub struct Override {
    text: String,
    path: Vec<String>,
    change: OverrideChange,
}

#[derive(Clone, PartialEq, Debug)]
enum OverrideChange {
    Set(String),
    Scale(f64),
}

/// Reason why a text is no override, or an override cannot be applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverrideError {
    /// The change as it was written.
    change: String,
    problem: String,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.change, self.problem)
    }
}

impl std::error::Error for OverrideError {}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let error = |problem: &str| OverrideError {
            change: cut(text),
            problem: problem.to_owned(),
        };
        let (path, at) = split_path(text).ok_or_else(|| {
            error("expected PATH=VALUE or PATH*=FACTOR, such as links.wan.bandwidth=10Gbps")
        })?;
        let value = text[at + 1..].trim();
        let (path, change) = match path.split_last() {
            Some((last, rest)) if last.ends_with('*') && last.len() > 1 => {
                let factor: f64 = value.parse().unwrap_or(f64::NAN);
                if !(factor.is_finite() && factor > 0.0) {
                    return Err(error("expected a number above 0 after *="));
                }
                let last = last.trim_end_matches('*').trim_end().to_owned();
                ([rest, &[last]].concat(), OverrideChange::Scale(factor))
            }
            _ => (path, OverrideChange::Set(value.to_owned())),
        };
        if path.iter().any(String::is_empty) {
            return Err(error("empty path component"));
        }
        Ok(Self {
            text: text.to_owned(),
            path,
            change,
        })
    }
}

/// The parts of the path in front of the equals sign, and where that sign is.
fn split_path(text: &str) -> Option<(Vec<String>, usize)> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '=' if !quoted => {
                let parts = parts.iter().map(|part| part.trim().to_owned());
                return Some((parts.collect(), at));
            }
            '.' if !quoted => parts.push(String::new()),
            letter => {
                if let Some(part) = parts.last_mut() {
                    part.push(letter);
                }
            }
        }
    }
    None
}

/// Makes all changes, in order, in the text of a platform with all defaults spelled out.
///
/// # Errors
/// [`OverrideError`] for the first change that has no match or cannot be made.
pub(crate) fn apply_overrides(text: &str, overrides: &[Override]) -> Result<String, OverrideError> {
    let table: Table = toml::from_str(text).expect("a platform prints as TOML");
    let mut root = Value::Table(table);
    let (models, others): (Vec<&Override>, _) =
        overrides.iter().partition(|one| one.is_of_the_model());
    for one in models {
        let before = model(&root);
        one.apply_to_root(&mut root)?;
        if model(&root) != before {
            bring_parameters(&mut root);
        }
    }
    for one in others {
        one.apply_to_root(&mut root)?;
    }
    Ok(toml::to_string(&root).expect("a table of TOML prints as TOML"))
}

/// The network model of a platform; `None` for a name that is no model.
fn model(root: &Value) -> Option<NetworkModel> {
    let model = root.get("network")?.get("model")?;
    NetworkModel::by_name(model.as_str()?)
}

/// Replaces the parameters of the network by the preset of its model. Every parameter is spelled
/// out, so otherwise the parameters of the old model would stay. An unknown name of a model is left
/// to the reader.
fn bring_parameters(root: &mut Value) {
    let Some(model) = model(root) else {
        return;
    };
    let Some(Value::Table(network)) = root.get_mut("network") else {
        return;
    };
    let preset = NetworkParameters::preset(model);
    let has_no_links = preset.loggops.is_some();
    let mut preset = Table::try_from(preset).expect("parameters print as a table");
    if has_no_links {
        for key in IN_PLACE_OF_LINKS {
            preset.remove(key);
        }
    }
    let compat = network.remove("compat");
    *network = preset;
    if let Some(compat) = compat {
        network.insert("compat".to_owned(), compat);
    }
}

impl Override {
    fn is_of_the_model(&self) -> bool {
        self.path == ["network", "model"]
    }

    fn apply_to_root(&self, root: &mut Value) -> Result<(), OverrideError> {
        self.make_room(root);
        let (last, parents) = self.path.split_last().expect("a path has a part");
        let mut here = vec![root];
        for (depth, part) in parents.iter().enumerate() {
            let mut known: Vec<String> = Vec::new();
            let mut found = Vec::new();
            for value in here {
                for (name, inner) in entries(value) {
                    if matches(part, &name) {
                        found.push(inner);
                    }
                    known.push(name);
                }
            }
            if found.is_empty() {
                return Err(self.no_match(depth, &known));
            }
            here = found;
        }
        let mut known: Vec<String> = Vec::new();
        let mut changed = 0;
        for value in &mut here {
            for (name, inner) in entries(value) {
                if matches(last, &name) {
                    self.change_value(inner)?;
                    changed += 1;
                }
                known.push(name);
            }
        }
        // A key that is absent because it has no default: whether it may be there is for the reader
        // to say.
        let absent = changed == 0 && !last.contains('*') && !parents.is_empty();
        if let (true, OverrideChange::Set(text)) = (absent, &self.change) {
            for value in &mut here {
                if let Value::Table(table) = value {
                    table.insert(last.clone(), parsed(text));
                    changed += 1;
                }
            }
        }
        if changed == 0 {
            return Err(self.no_match(parents.len(), &known));
        }
        Ok(())
    }

    fn error(&self, problem: String) -> OverrideError {
        OverrideError {
            change: cut(&self.text),
            problem,
        }
    }

    /// No entry matches part number `depth` of the path; `known` are the existing entries.
    fn no_match(&self, depth: usize, known: &[String]) -> OverrideError {
        let part = &self.path[depth];
        let place = match depth {
            0 => "the platform file".to_owned(),
            _ => self.path[..depth].join("."),
        };
        let near = nearest(part, known.iter().map(String::as_str));
        let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let more = if names.len() > LISTED_MAX {
            ", …"
        } else {
            ""
        };
        let list = names[..names.len().min(LISTED_MAX)].join(", ");
        let help = match near {
            Some(near) => format!("did you mean {near:?}?"),
            None if list.is_empty() => "there is nothing in it".to_owned(),
            None => format!("there are {list}{more}"),
        };
        self.error(format!(
            "nothing in {place} is called {:?}; {help}",
            cut(part)
        ))
    }

    fn change_value(&self, value: &mut Value) -> Result<(), OverrideError> {
        match &self.change {
            OverrideChange::Set(text) => {
                *value = match value {
                    Value::String(_) => Value::String(unquoted(text).to_owned()),
                    _ => parsed(text),
                };
                Ok(())
            }
            OverrideChange::Scale(factor) => {
                let scaled = scaled(value, *factor);
                *value = scaled.ok_or_else(|| {
                    let found = cut(value.to_string().trim());
                    self.error(format!(
                        "{found} is no quantity that can be multiplied by {factor}"
                    ))
                })?;
                Ok(())
            }
        }
    }
}

/// The named entries of a table, or the numbered ones of an array.
fn entries(value: &mut Value) -> Vec<(String, &mut Value)> {
    match value {
        Value::Table(table) => table
            .iter_mut()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(array) => array
            .iter_mut()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_) => Vec::new(),
    }
}

/// Returns true if a name matches a pattern in which `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A value as in a TOML file, or else a string.
fn parsed(text: &str) -> Value {
    let document = format!("value = {text}");
    let table: Result<Table, _> = toml::from_str(&document);
    let value = table.ok().filter(|table| table.len() == 1);
    value
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// Returns a number, or the number in front of a unit, times a factor; `None` if there is no number
/// or the product is not a valid number.
fn scaled(value: &Value, factor: f64) -> Option<Value> {
    match value {
        Value::String(text) => {
            let (number, unit) = split_number(text.trim());
            let number: f64 = number.parse().ok()?;
            let product = number * factor;
            let plain = format!("{product}");
            let digits = if plain.len() > 20 {
                format!("{product:e}")
            } else {
                plain
            };
            product
                .is_finite()
                .then(|| Value::String(format!("{digits}{unit}")))
        }
        Value::Integer(number) => {
            let number = i32::try_from(*number).ok()?;
            let product = f64::from(number) * factor;
            let digits = format!("{product}");
            digits.parse().ok().map(Value::Integer)
        }
        Value::Float(number) => Some(Value::Float(number * factor)),
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_text() {
        assert!(matches("*", "wan") && matches("w*n", "wan") && matches("wan*", "wan"));
        assert!(matches("*a*", "wan") && !matches("*b*", "wan") && !matches("w", "wan"));
        assert!(!matches("ab*ba", "aba"));
    }

    #[test]
    fn quantities_keep_their_unit() {
        let text = |text: &str, factor| scaled(&Value::String(text.to_owned()), factor);
        assert_eq!(
            text("10Gbps", 2.0),
            Some(Value::String("20Gbps".to_owned()))
        );
        assert_eq!(
            text("1.5e3 us", 0.5),
            Some(Value::String("750us".to_owned()))
        );
        assert_eq!(text("flow", 2.0), None);
        assert_eq!(scaled(&Value::Integer(3), 2.0), Some(Value::Integer(6)));
        assert_eq!(scaled(&Value::Integer(3), 0.5), None);
    }
}
