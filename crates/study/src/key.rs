//! Keys of runs: the SHA-256 (FIPS 180-4) of all inputs that decide a result.
//!
//! The hash covers the canonical JSON of [`KeyContent`] and the seed: names in alphabetical order,
//! no spaces. The key contains no real time and no path, so a study that moved to another folder or
//! machine keeps its results; another revision of simrun, program or platform has other keys.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The key of one run: 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

/// Everything that decides the results of a point, beside the seed.
///
/// The order of the fields is the alphabetical one, which makes the JSON canonical.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyContent {
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// SHA-256 of the file that maps ranks to hosts, if there is one; other mappings are options.
    pub map_sha256: Option<String>,
    /// Options of simrun, without paths of the platform and the mapping file.
    pub options: Vec<String>,
    /// SHA-256 of the platform with all changes and defaults.
    pub platform_sha256: String,
    /// SHA-256 of the program's executable.
    pub program_sha256: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Revision of simrun.
    pub revision: String,
}

impl Key {
    /// Returns the digits as a text, also for the name of a file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl KeyContent {
    /// Returns the key of the run with a seed of all random streams.
    ///
    /// # Panics
    /// Never: texts and numbers are expressible in JSON.
    pub fn key(&self, seed: u64) -> Key {
        #[derive(Serialize)]
        struct SeededRun<'c> {
            #[serde(flatten)]
            content: &'c KeyContent,
            seed: u64,
        }
        let run = SeededRun {
            content: self,
            seed,
        };
        let json = serde_json::to_string(&run).expect("texts and numbers are JSON");
        Key(sha256(json.as_bytes()))
    }

    /// Returns the first difference of this content to a `later` one, in words.
    pub(crate) fn first_difference(&self, later: &Self) -> Option<String> {
        let reason = if self.revision != later.revision {
            let (known, found) = (&self.revision, &later.revision);
            format!("revision {known} of simrun, and this is {found}")
        } else if self.program_sha256 != later.program_sha256 {
            "another program".to_owned()
        } else if self.platform_sha256 != later.platform_sha256 {
            "other platform files".to_owned()
        } else if self != later {
            "other options or mapping files".to_owned()
        } else {
            return None;
        };
        Some(reason)
    }
}

/// Returns the SHA-256 of bytes in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    let hash = hmac_sha256::Hash::hash(bytes);
    let digit = |bits: u8| char::from_digit(bits.into(), 16).unwrap_or_default();
    hash.iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::content;

    #[test]
    fn the_hash_is_the_one_of_the_standard() {
        // FIPS 180-2, B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn the_key_is_the_hash_of_canonical_json() {
        let json = concat!(
            r#"{"arguments":[],"map_sha256":null,"options":[],"platform_sha256":"p","#,
            r#""program_sha256":"q","ranks":2,"revision":"r","seed":3}"#
        );
        assert_eq!(content().key(3).as_str(), sha256(json.as_bytes()));
    }

    #[test]
    fn every_field_changes_the_key() {
        let changes: [fn(&mut KeyContent); 7] = [
            |content| content.arguments.push(String::new()),
            |content| content.map_sha256 = Some(String::new()),
            |content| content.options.push(String::new()),
            |content| content.platform_sha256.clear(),
            |content| content.program_sha256.clear(),
            |content| content.ranks = 3,
            |content| content.revision.clear(),
        ];
        let changed = changes.map(|change| {
            let mut content = content();
            change(&mut content);
            content.key(3)
        });
        let mut keys = changed.to_vec();
        keys.extend([content().key(3), content().key(4)]);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 9);
    }
}
