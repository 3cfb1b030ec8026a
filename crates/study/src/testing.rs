//! Fixtures of tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::key::KeyContent;
use crate::point::Assignment;
use crate::results::{FINISHED, ResultLine};
use crate::value::Value;

/// A folder of one test, removed at the end.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("simrun-study-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // A folder that stays is no failure of the test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A point without arguments.
pub(crate) fn content() -> KeyContent {
    KeyContent {
        arguments: Vec::new(),
        map_sha256: None,
        options: Vec::new(),
        platform_sha256: "p".to_owned(),
        program_sha256: "q".to_owned(),
        ranks: 2,
        revision: "r".to_owned(),
    }
}

/// A finished run of a point without arguments.
pub(crate) fn result(seed: u64, time_s: f64, digest: &str) -> ResultLine {
    ResultLine {
        key: content().key(seed),
        parameters: Assignment::new(vec![("size".to_owned(), Value::Text("1KiB".to_owned()))]),
        seed,
        outcome: FINISHED.to_owned(),
        measures: BTreeMap::from([("time_s".to_owned(), time_s)]),
        batches: BTreeMap::new(),
        draws: None,
        digest: Some(digest.to_owned()),
        revision: "r".to_owned(),
        wall_s: 0.25,
        message: None,
    }
}
