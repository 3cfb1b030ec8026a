//! Rows of `packet-cases.csv`: parameters, and a quantity with expected value and tolerance.

use std::collections::BTreeMap;

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) group: String,
    parameters: BTreeMap<String, String>,
    pub(crate) quantity: String,
    pub(crate) value: String,
    pub(crate) tolerance: String,
}

/// Returns all rows.
pub(crate) fn cases() -> Vec<Case> {
    let rows = include_str!("packet-cases.csv").lines().skip(1);
    rows.map(|row| {
        let columns: Vec<&str> = row.split(',').collect();
        let &[
            id,
            group,
            parameters,
            quantity,
            value,
            _unit,
            tolerance,
            _source,
        ] = &columns[..]
        else {
            panic!("{row:?}: expected 8 columns, found {}", columns.len());
        };
        let pairs = parameters.split(';').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        });
        Case {
            id: id.to_owned(),
            group: group.to_owned(),
            parameters: pairs.collect(),
            quantity: quantity.to_owned(),
            value: value.to_owned(),
            tolerance: tolerance.to_owned(),
        }
    })
    .collect()
}

/// Returns the rows of a group.
pub(crate) fn group(name: &str) -> Vec<Case> {
    let found: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.group == name)
        .collect();
    assert!(!found.is_empty(), "no case of group {name:?}");
    found
}

impl Case {
    /// Returns a parameter as text.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.parameters.get(name);
        found.unwrap_or_else(|| panic!("{}: expected the parameter {name:?}", self.id))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.parameters.contains_key(name)
    }

    /// Returns a whole parameter.
    pub(crate) fn int(&self, name: &str) -> u64 {
        self.text(name).parse().expect(&self.id)
    }

    /// Returns a small whole parameter.
    pub(crate) fn small(&self, name: &str) -> u32 {
        self.text(name).parse().expect(&self.id)
    }

    /// Returns a parameter, a decimal number or a fraction such as `1/256`.
    pub(crate) fn number(&self, name: &str) -> f64 {
        match self.text(name).split_once('/') {
            None => self.text(name).parse().expect(&self.id),
            Some((over, under)) => {
                over.parse::<f64>().expect(&self.id) / under.parse::<f64>().expect(&self.id)
            }
        }
    }

    /// Returns the expected value as a number.
    pub(crate) fn expected(&self) -> f64 {
        self.value.parse().expect(&self.id)
    }

    /// Checks a whole value exactly.
    pub(crate) fn check_exact(&self, found: u64) {
        assert!(self.tolerance.starts_with("exact"), "{self:?}");
        let expected: u64 = self.value.parse().expect(&self.id);
        assert_eq!(found, expected, "{}", self.id);
    }

    /// Checks an outcome.
    pub(crate) fn check_outcome(&self, found: &str) {
        assert_eq!(found, self.value, "{}", self.id);
    }

    /// Checks a number with the relative tolerance at the beginning of the column.
    pub(crate) fn check_relative(&self, found: f64) {
        let first = self.tolerance.split_whitespace().next().expect(&self.id);
        let tolerance: f64 = first.parse().expect(&self.id);
        self.check_within(found, tolerance);
    }

    /// Checks a number that the table has with 9 decimals, with the absolute tolerance.
    pub(crate) fn check_absolute(&self, found: f64) {
        let tolerance: f64 = self.tolerance.parse().expect(&self.id);
        let expected = self.expected();
        assert!(
            (found - expected).abs() <= tolerance,
            "{}: expected {expected}, found {found}",
            self.id
        );
    }

    /// Checks a number with a relative tolerance.
    pub(crate) fn check_within(&self, found: f64, tolerance: f64) {
        let expected = self.expected();
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{}: expected {expected}, found {found}",
            self.id
        );
    }
}

#[test]
fn every_group_of_the_table_has_a_test() {
    let groups = [
        ("latency", 14),
        ("credit", 7),
        ("incast", 12),
        ("parking_lot", 20),
        ("victim", 8),
        ("credit_loop", 12),
        ("overhead", 30),
        ("dcqcn_rp", 14),
        ("dcqcn_fluid", 37),
    ];
    let mut total = 0;
    for (name, count) in groups {
        assert_eq!(group(name).len(), count, "{name}");
        total += count;
    }
    assert_eq!((total, cases().len()), (154, 154));
}
