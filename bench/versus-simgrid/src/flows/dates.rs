//! The dates that both sides wrote, and how far they are apart.

use std::collections::BTreeMap;
use std::path::Path;

/// Output of one side: `route NUMBER LINKS LATENCY` and, in the order of the ends, `end FLOW
/// DATE`.
#[derive(Debug)]
pub(crate) struct Dates {
    routes: Vec<(u64, f64)>,
    ends: Vec<(u64, f64)>,
}

impl Dates {
    /// Reads a file.
    pub(crate) fn read_file(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Self::parse(&text).ok_or_else(|| format!("{} has no dates", path.display()))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut dates = Self {
            routes: Vec::new(),
            ends: Vec::new(),
        };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["route", _, links, latency] => dates
                    .routes
                    .push((links.parse().ok()?, latency.parse().ok()?)),
                ["end", flow, date] => dates.ends.push((flow.parse().ok()?, date.parse().ok()?)),
                _ => return None,
            }
        }
        Some(dates)
    }

    /// Returns true if the routes are the same: as many links, the same latency.
    pub(crate) fn same_routes(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (&(u64, f64), &(u64, f64))| {
            ours.0 == theirs.0 && apart(ours.1, theirs.1) < 1e-12
        };
        self.routes.len() == other.routes.len() && self.routes.iter().zip(&other.routes).all(same)
    }

    /// Returns the number of flows that ended on both sides, and the largest relative difference of
    /// the ends of one.
    pub(crate) fn largest(&self, other: &Self) -> (usize, f64) {
        let theirs: BTreeMap<u64, f64> = other.ends.iter().copied().collect();
        let both = self.ends.iter();
        let both = both.filter_map(|(flow, date)| Some(apart(*date, *theirs.get(flow)?)));
        both.fold((0, 0.0), |(count, largest), next| {
            (count + 1, f64::max(largest, next))
        })
    }

    /// Returns the number of ends that can be compared by their order, and how much the numbers of
    /// ends per simulated second up to the last of them differ, relative.
    pub(crate) fn pace(&self, other: &Self) -> (usize, f64) {
        let count = self.ends.len().min(other.ends.len());
        match count.checked_sub(1) {
            Some(last) => (count, apart(other.ends[last].1, self.ends[last].1)),
            None => (0, 0.0),
        }
    }
}

fn apart(ours: f64, theirs: f64) -> f64 {
    if ours.to_bits() == theirs.to_bits() {
        return 0.0;
    }
    (ours - theirs).abs() / theirs.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_and_by_flow() {
        let ours = Dates::parse("route 0 2 0.5\nend 1 2\nend 0 4\nend 2 5").unwrap();
        let theirs = Dates::parse("route 0 2 0.5\nend 0 5\nend 1 2").unwrap();
        assert!(ours.same_routes(&theirs));
        assert_eq!(ours.largest(&theirs), (2, 0.2));
        assert_eq!(ours.pace(&theirs), (2, 0.5));
        let longer = Dates::parse("route 0 3 0.5").unwrap();
        assert!(!ours.same_routes(&longer));
        assert!(Dates::parse("end 1").is_none());
    }
}
