//! Classes of links, and the balance of the load within a class.
//!
//! The names of the links of a class differ in numbers only: `node-3:up` and `node-12:up` are in
//! `node-*:up`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::LinkLoad;

/// A class of links.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkClass {
    /// Name of the links of the class, with `*` for numbers.
    pub pattern: String,
    /// Number of used links of the class.
    pub links: u64,
    /// Mean of the bytes of a link.
    pub bytes_mean: f64,
    /// Bytes of the link with most.
    pub bytes_max: f64,
    /// Gini coefficient of the bytes: 0 if all links have the same, near 1 if one has all.
    pub gini: f64,
    /// Mean utilisation of the links of the class, from 0 to 1.
    pub utilisation_mean: f64,
    /// Utilisation of the link with most.
    pub utilisation_max: f64,
    /// Time in seconds for which the links of the class are congested, added up.
    pub congested_s: f64,
    /// Delay in seconds that the links of the class cause.
    pub delay_s: f64,
}

/// Returns a name in which `*` replaces each number.
fn name_pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        let letter = if letter.is_ascii_digit() { '*' } else { letter };
        if letter != '*' || !pattern.ends_with('*') {
            pattern.push(letter);
        }
    }
    pattern
}

/// Returns the classes of links, by their patterns.
pub(super) fn link_classes(links: &[LinkLoad]) -> Vec<LinkClass> {
    let mut classes: BTreeMap<String, Vec<&LinkLoad>> = BTreeMap::new();
    for link in links {
        classes
            .entry(name_pattern(&link.name))
            .or_default()
            .push(link);
    }
    let class = |(pattern, links): (String, Vec<&LinkLoad>)| {
        let count = links.len() as f64;
        let sum = |of: fn(&LinkLoad) -> f64| links.iter().map(|link| of(link)).sum::<f64>();
        let max = |of: fn(&LinkLoad) -> f64| links.iter().map(|link| of(link)).fold(0.0, f64::max);
        LinkClass {
            pattern,
            links: links.len() as u64,
            bytes_mean: sum(|link| link.bytes) / count,
            bytes_max: max(|link| link.bytes),
            gini: gini(links.iter().map(|link| link.bytes).collect()),
            utilisation_mean: sum(|link| link.utilisation) / count,
            utilisation_max: max(|link| link.utilisation),
            congested_s: sum(|link| link.congested_s),
            delay_s: sum(|link| link.delay_s),
        }
    };
    classes.into_iter().map(class).collect()
}

/// Returns the Gini coefficient of some numbers: Σ (2i − n − 1) x_i ÷ (n Σ x_i), in ascending order
/// and with i from 1; 0 if all are 0.
fn gini(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len() as f64;
    let total: f64 = numbers.iter().sum();
    if total == 0.0 {
        return 0.0;
    }
    let ranked = numbers.iter().enumerate();
    let weighted = ranked.map(|(at, number)| (2.0 * (at as f64 + 1.0) - count - 1.0) * number);
    weighted.sum::<f64>() / (count * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_one_star_for_a_number() {
        assert_eq!(name_pattern("node-12:up"), "node-*:up");
        assert_eq!(name_pattern("nodes/blue/3-14"), "nodes/blue/*-*");
    }

    #[test]
    fn coefficients_by_hand() {
        assert_eq!(gini(vec![2.0, 2.0, 2.0]), 0.0);
        // All with one of four: 1 - 1/4.
        assert_eq!(gini(vec![0.0, 8.0, 0.0, 0.0]), 0.75);
        // 1, 3: (-1 + 3) / (2 × 4).
        assert_eq!(gini(vec![3.0, 1.0]), 0.25);
        assert_eq!(gini(vec![0.0]), 0.0);
    }
}
