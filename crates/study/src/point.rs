//! Points: each point assigns values to all parameters, and names the run at these values.
//!
//! Points are in the order of the study file: the first parameter varies slowest, `[grid]` before
//! `[zip]` before `[[points]]`.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::value::Value;

/// Values of all parameters, in the order of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment(Vec<(String, Value)>);

impl Assignment {
    /// Makes an assignment of names, each at most once, and values.
    pub const fn new(values: Vec<(String, Value)>) -> Self {
        Self(values)
    }

    /// Returns the value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    /// Returns names and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the assignment as `name = value, …`, for messages.
    pub fn shown(&self) -> String {
        let one = |(name, value)| format!("{name} = {value}");
        self.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Returns the assignment with another value of one parameter.
    pub fn with_value(&self, name: &str, value: &Value) -> Self {
        let mut changed = self.clone();
        for (known, old) in &mut changed.0 {
            if known == name {
                value.clone_into(old);
            }
        }
        changed
    }

    pub(crate) fn extended(&self, more: &Self) -> Self {
        Self(self.0.iter().chain(&more.0).cloned().collect())
    }
}

impl Serialize for Assignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Assignment {
    /// Reads names in alphabetical order: JSON has no order of names.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        Ok(Self(map.into_iter().collect()))
    }
}

/// One point of a study: all inputs of a run except the seed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// Values of the parameters.
    pub parameters: Assignment,
    /// Path of the platform file.
    pub platform: String,
    /// Changes of the platform, as `PATH=VALUE`.
    pub changes: Vec<String>,
    /// Options of simrun, such as `--ranks` and `8`.
    pub options: Vec<String>,
    /// Arguments of the program.
    pub arguments: Vec<String>,
}

impl Point {
    /// Returns true if the same runs at both points, whatever the parameters are called.
    pub fn runs_the_same(&self, other: &Self) -> bool {
        self.run_content() == other.run_content()
    }

    pub(crate) fn run_content(&self) -> (&str, &[String], &[String], &[String]) {
        (
            &self.platform,
            &self.changes,
            &self.options,
            &self.arguments,
        )
    }
}
