//! Search for patterns that name the same host, in a time that grows at most with the product of
//! their number and the length of their texts.
//!
//! For each pattern only a few others are returned, because there may be very many pairs.

use std::collections::BTreeMap;

use super::{HostPattern, NumberRange};

/// The most patterns returned for one pattern; they differ from this pattern only in their numbers.
const TOLD_MAX: usize = 4;

/// Returns the patterns that name a host of an earlier pattern: the position, the position of the
/// earlier pattern, and the name of the host.
pub(crate) fn names_twice(patterns: &[&HostPattern]) -> Vec<(usize, usize, String)> {
    let mut stems: BTreeMap<(&str, &str), Vec<(usize, &HostPattern)>> = BTreeMap::new();
    for (at, pattern) in patterns.iter().enumerate() {
        let stem = (&*pattern.prefix, &*pattern.suffix);
        stems.entry(stem).or_default().push((at, pattern));
    }
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for same in stems.values() {
        found.extend(in_ranges(same));
    }
    for (later, pattern) in patterns.iter().enumerate() {
        let differs = |other: &HostPattern| {
            let numbered = !pattern.ranges.is_empty() && !other.ranges.is_empty();
            !numbered || pattern.prefix != other.prefix || pattern.suffix != other.suffix
        };
        let others = patterns[..later].iter().enumerate();
        let name = others
            .filter(|(_, other)| differs(other))
            .find_map(|(at, other)| Some((at, pattern.shared_name(other)?)));
        found.extend(name.map(|(earlier, name)| (later, earlier, name)));
    }
    found
}

/// The same for numbered patterns that differ only in their numbers, in the order of their
/// positions.
pub(super) fn in_ranges(patterns: &[(usize, &HostPattern)]) -> Vec<(usize, usize, String)> {
    let mut ranges: Vec<(&NumberRange, usize, &HostPattern)> = Vec::new();
    for (at, pattern) in patterns {
        ranges.extend(pattern.ranges.iter().map(|range| (range, *at, *pattern)));
    }
    ranges.sort_by_key(|(range, at, _)| (range.first, range.last, *at));
    let mut told: Vec<Vec<usize>> =
        vec![Vec::new(); patterns.last().map_or(0, |(last, _)| last + 1)];
    let mut found = Vec::new();
    for (position, (range, at, pattern)) in ranges.iter().enumerate() {
        let overlapping = ranges[position + 1..].iter();
        for (other, other_at, _) in overlapping.take_while(|other| other.0.first <= range.last) {
            let (earlier, later) = (*at.min(other_at), *at.max(other_at));
            let enough = told[later].len() == TOLD_MAX || told[later].contains(&earlier);
            if earlier == later || enough {
                continue;
            }
            if let Some(value) = range.shared(other) {
                found.push((later, earlier, pattern.render(value, range.width)));
                told[later].push(earlier);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn as_found_by_comparing_all_names() {
        let texts = [
            "n[0-9]",
            "n[5-20]",
            "n[00-09]",
            "m[0-3]",
            "n7",
            "n1[5-9]",
            "n[100-200]x",
            "n[9]",
            "n150x",
            "n[010-150,7]",
            "m[4-9]",
            "m[07]",
        ];
        let patterns: Vec<HostPattern> = texts
            .iter()
            .map(|text| HostPattern::parse(text).unwrap())
            .collect();
        let names = |pattern: &HostPattern| -> BTreeSet<String> {
            (0..pattern.count()).map(|at| pattern.name(at)).collect()
        };
        let all: Vec<&HostPattern> = patterns.iter().collect();
        let found = names_twice(&all);
        for (later, pattern) in patterns.iter().enumerate() {
            let shared = |other| !names(pattern).is_disjoint(&names(other));
            let any = patterns[..later].iter().any(shared);
            let told = found.iter().filter(|(at, _, _)| *at == later);
            assert_eq!(told.count() > 0, any, "{}", texts[later]);
        }
        for (later, earlier, name) in found {
            assert!(earlier < later);
            assert!(names(&patterns[later]).contains(&name));
            assert!(names(&patterns[earlier]).contains(&name));
        }
    }
}
