//! Counts that may only fall, in `xtask/tidy/NAME.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;

/// Number of findings by key.
type Counts = BTreeMap<String, usize>;

/// Returns the findings of the keys that have more of them than is stored, and a note.
pub(super) fn judge(
    root: &Path,
    name: &str,
    found: Vec<Finding>,
    bless: bool,
) -> Result<(Vec<Finding>, String), String> {
    let path = format!("xtask/tidy/{name}.toml");
    let now = count_findings(&found);
    if bless && !root.join(&path).exists() {
        crate::write_file(root, &path, &counts_text(name, &now))?;
        return Ok((Vec::new(), format!(", {} now", sum(&now))));
    }
    let stored = parse_counts(&path, &crate::read(root, &path)?)?;
    let (before, after) = (sum(&stored), sum(&now));
    if bless && after > before {
        return Err(format!(
            "{path}: {after} in all, stored are {before}: expected no more; first mend what is new"
        ));
    }
    if bless {
        crate::write_file(root, &path, &counts_text(name, &now))?;
        return Ok((Vec::new(), format!(", {before} before, {after} now")));
    }
    let more = findings_above(found, &stored);
    let note = match before.saturating_sub(after) {
        _ if !more.is_empty() => {
            let keys = count_findings(&more).into_iter();
            let keys = keys.map(|(key, count)| {
                let stored = stored.get(&key).copied().unwrap_or(0);
                format!("; {key}: {count} found, stored {stored}")
            });
            keys.collect()
        }
        0 => format!(", {after} as stored"),
        fewer => format!(", {after}, {fewer} fewer than stored: store it with --bless"),
    };
    Ok((more, note))
}

/// Returns the findings of each key that has more of them than are stored.
fn findings_above(found: Vec<Finding>, stored: &Counts) -> Vec<Finding> {
    let now = count_findings(&found);
    let is_above = |finding: &Finding| {
        let stored = stored.get(&finding.key).copied().unwrap_or(0);
        now[&finding.key] > stored
    };
    found.into_iter().filter(is_above).collect()
}

fn count_findings(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    for finding in findings {
        *counts.entry(finding.key.clone()).or_default() += 1;
    }
    counts
}

fn sum(counts: &Counts) -> usize {
    counts.values().sum()
}

fn parse_counts(path: &str, text: &str) -> Result<Counts, String> {
    toml::from_str(text).map_err(|error| format!("{path}: {error}"))
}

fn counts_text(name: &str, counts: &Counts) -> String {
    let mut text = format!(
        "# Findings of the check `{name}` that were there before it. They may only fall: cargo xtask tidy --bless.\n"
    );
    for (key, count) in counts {
        text += &format!("{key:?} = {count}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(key: &str, place: &str) -> Finding {
        Finding {
            place: place.to_owned(),
            text: String::new(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn only_what_has_risen_is_a_mistake() {
        let found = vec![
            finding("a", "a:1"),
            finding("a", "a:2"),
            finding("b", "b:1"),
        ];
        let stored = parse_counts("x.toml", "a = 1\nb = 1\nc = 7").unwrap();
        let places: Vec<String> = findings_above(found, &stored)
            .into_iter()
            .map(|f| f.place)
            .collect();
        assert_eq!(places, ["a:1", "a:2"]);
    }

    #[test]
    fn a_folder_that_is_not_stored_may_have_none() {
        assert_eq!(
            findings_above(vec![finding("new", "n:1")], &Counts::new()).len(),
            1
        );
    }

    #[test]
    fn blessing_stores_fewer_and_refuses_more() {
        let root = std::env::temp_dir().join(format!("xtask-ratchet-{}", std::process::id()));
        std::fs::create_dir_all(root.join("xtask/tidy")).unwrap();
        crate::write_file(&root, "xtask/tidy/x.toml", "a = 1\nb = 1\n").unwrap();
        assert_eq!(
            judge(&root, "y", vec![finding("a", "1")], true).unwrap().0,
            []
        );
        assert_eq!(
            crate::read(&root, "xtask/tidy/y.toml").unwrap(),
            counts_text("y", &Counts::from([("a".into(), 1)]))
        );
        let three = ["1", "2", "3"].map(|place| finding("a", place));
        assert!(judge(&root, "x", three.into(), true).is_err());
        // Files have moved from a to c.
        let moved = vec![finding("c", "c:1"), finding("c", "c:2")];
        assert_eq!(judge(&root, "x", moved, true).unwrap().0, []);
        let stored = crate::read(&root, "xtask/tidy/x.toml").unwrap();
        assert_eq!(
            parse_counts("x", &stored).unwrap(),
            Counts::from([("c".into(), 2)])
        );
        std::fs::remove_dir_all(&root).unwrap();
    }
}
