//! Metadata of a file of samples: lines `# key: value` before the columns.
//!
//! A file written by hand needs no metadata: a missing key is an unknown fact.

use std::collections::BTreeMap;

/// Facts by key.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SampleMetadata(BTreeMap<String, String>);

impl SampleMetadata {
    /// The facts in the text of a file. Of a key that is there twice, the last one counts.
    ///
    /// ```
    /// let text = "# cores: 2\n# made by hand\nsize_bytes,time_us\n8,1\n";
    /// let metadata = validation::SampleMetadata::from_text(text);
    /// assert_eq!(metadata.number_value("cores"), Some(2.0));
    /// assert_eq!(metadata.text("made by hand"), None);
    /// ```
    pub fn from_text(text: &str) -> Self {
        let comments = text
            .lines()
            .take_while(|line| line.trim_start().starts_with('#'));
        let pair = |line: &str| {
            let (key, value) = line.trim_start().trim_start_matches('#').split_once(':')?;
            Some((key.trim().to_owned(), value.trim().to_owned()))
        };
        Self(comments.filter_map(pair).collect())
    }

    /// Returns the value of a key, as written.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns the value of a key, if the value is a number.
    pub fn number_value(&self, key: &str) -> Option<f64> {
        let number: f64 = self.text(key)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Returns the value of a key, if the value is a whole number from 0.
    pub fn whole_value(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// All facts, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}
