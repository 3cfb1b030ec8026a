//! The families of cases. A new one is a text file and a line here; `script` has the language.

use std::sync::LazyLock;

use super::{CaseFamily, script};

/// All families.
pub static FAMILIES: LazyLock<Vec<CaseFamily>> = LazyLock::new(|| {
    [
        include_str!("cases/c09_027.txt"),
        include_str!("cases/c09_060.txt"),
        include_str!("cases/c09_130.txt"),
        include_str!("cases/c09_142.txt"),
        include_str!("cases/sequence.txt"),
        include_str!("cases/duplicates.txt"),
        include_str!("cases/receiver.txt"),
        include_str!("cases/refusals.txt"),
        include_str!("cases/requester.txt"),
    ]
    .map(script::family)
    .into()
});
