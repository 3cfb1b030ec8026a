//! `cargo xtask tidy`: checks over the whole repository, one row of [`CHECKS`] each.
//!
//! A check returns findings. Most checks allow no findings. A check that is younger than the code
//! has a *ratchet*: counts of the old findings, in `xtask/tidy/`, which may only fall. `--bless`
//! stores lower counts; counts may move from one folder to another, with files that move.

mod columns;
mod coverage;
mod edges;
mod folders;
mod glossary;
mod headers;
mod linked;
mod names;
mod openings;
mod phrases;
mod ratchet;
mod readers;
mod repository;
mod reused;
mod shapes;
mod sizes;
mod todos;
mod unlisted;
mod words;

use std::path::Path;

use repository::Repository;

use crate::{Verdict, print};

/// One finding of a check.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// File and line, or several of them.
    place: String,
    /// The finding, and the expected form.
    text: String,
    /// The row of the ratchet that counts the finding: mostly the top folder.
    key: String,
}

/// A check.
struct Check {
    name: &'static str,
    find: fn(&Repository) -> Vec<Finding>,
    /// True if the check allows as many findings as `xtask/tidy/NAME.toml` stores.
    has_ratchet: bool,
}

const fn strict(name: &'static str, find: fn(&Repository) -> Vec<Finding>) -> Check {
    Check {
        name,
        find,
        has_ratchet: false,
    }
}

const fn ratcheted(name: &'static str, find: fn(&Repository) -> Vec<Finding>) -> Check {
    Check {
        name,
        find,
        has_ratchet: true,
    }
}

const CHECKS: &[Check] = &[
    strict("coverage", coverage::collect_findings),
    strict("edges", edges::collect_findings),
    strict("folders", folders::collect_findings),
    strict("glossary", glossary::collect_findings),
    strict("linked", linked::collect_findings),
    strict("headers", headers::collect_findings),
    strict("readers", readers::collect_findings),
    strict("reused", reused::collect_findings),
    strict("sizes", sizes::collect_findings),
    strict("todos", todos::collect_findings),
    strict("unlisted", unlisted::find_unlisted),
    ratcheted("columns", columns::collect_findings),
    ratcheted("names", names::collect_findings),
    ratcheted("openings", openings::collect_findings),
    strict("phrases", phrases::collect_findings),
    ratcheted("methods", shapes::methods),
    ratcheted("fields", shapes::fields),
    ratcheted("type-names", shapes::type_names),
    ratcheted("function-names", shapes::function_names),
    ratcheted("lines", shapes::line_findings),
    ratcheted("words", words::collect_findings),
];

/// Findings of one check that are shown.
const SHOWN_MAX: usize = 40;

/// Runs all checks; with `bless`, stores the current counts of ratchets.
pub(crate) fn run_checks(root: &Path, bless: bool) -> Verdict {
    let repository = Repository::read_repository(root)?;
    let mut is_tidy = true;
    for check in CHECKS {
        let found = (check.find)(&repository);
        let (mistakes, note) = if check.has_ratchet {
            ratchet::judge(root, check.name, found, bless)?
        } else {
            (found, String::new())
        };
        for finding in mistakes.iter().take(SHOWN_MAX) {
            print(&format!("{}: {}", finding.place, finding.text));
        }
        if let Some(more) = mistakes.len().checked_sub(SHOWN_MAX + 1) {
            print(&format!("… and {} more", more + 1));
        }
        let verdict = if mistakes.is_empty() { "ok" } else { "FAILED" };
        print(&format!("tidy {}: {verdict}{note}", check.name));
        is_tidy &= mistakes.is_empty();
    }
    Ok(is_tidy)
}
