//! Keys of runs: the SHA-256 (FIPS 180-4) of everything that decides a result.
//!
//! Hashed is the canonical JSON of [`KeyContent`]: names in alphabetical order, no spaces. Neither
//! the real time nor a path is in it, so a study that moved to another folder or machine keeps its
//! results; another revision of simrun, program or platform has other keys.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The key of one run: 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

/// Everything that decides the result of one run.
///
/// The order of the fields is the alphabetical one, which makes the JSON canonical.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KeyContent<'k> {
    /// Arguments of the program.
    pub arguments: &'k [String],
    /// SHA-256 of the file that maps ranks to hosts, if there is one; other mappings are options.
    pub map_sha256: Option<&'k str>,
    /// Options of simrun, without paths of the platform and the mapping file.
    pub options: &'k [String],
    /// SHA-256 of the platform with all changes and defaults.
    pub platform_sha256: &'k str,
    /// SHA-256 of the program's executable.
    pub program_sha256: &'k str,
    /// Number of ranks.
    pub ranks: u32,
    /// Revision of simrun.
    pub revision: &'k str,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Key {
    /// Returns the digits as a text, also for the name of a file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl KeyContent<'_> {
    /// Returns the key.
    ///
    /// # Panics
    /// Never: texts and numbers are expressible in JSON.
    #[must_use]
    pub fn key(&self) -> Key {
        let json = serde_json::to_string(self).expect("texts and numbers are JSON");
        Key(sha256(json.as_bytes()))
    }
}

/// Returns the SHA-256 of bytes in hexadecimal digits, as `sha256sum` prints it.
#[must_use]
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

    fn content() -> KeyContent<'static> {
        KeyContent {
            arguments: &[],
            map_sha256: None,
            options: &[],
            platform_sha256: "p",
            program_sha256: "q",
            ranks: 2,
            revision: "r",
            seed: 3,
        }
    }

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
        assert_eq!(content().key().as_str(), sha256(json.as_bytes()));
    }

    #[test]
    fn every_field_changes_the_key() {
        let texts = ["a".to_owned()];
        let others = [
            KeyContent {
                arguments: &texts,
                ..content()
            },
            KeyContent {
                map_sha256: Some(""),
                ..content()
            },
            KeyContent {
                options: &texts,
                ..content()
            },
            KeyContent {
                platform_sha256: "",
                ..content()
            },
            KeyContent {
                program_sha256: "",
                ..content()
            },
            KeyContent {
                ranks: 3,
                ..content()
            },
            KeyContent {
                revision: "",
                ..content()
            },
            KeyContent {
                seed: 4,
                ..content()
            },
        ];
        let mut keys: Vec<Key> = others.iter().map(KeyContent::key).collect();
        keys.push(content().key());
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 9);
    }
}
