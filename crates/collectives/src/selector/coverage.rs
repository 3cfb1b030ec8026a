//! Calls that no row of a table matches.
//!
//! Rows have limits and conditions, so a table matches all calls if it matches the calls beside
//! each limit, with each combination of the conditions in the rows.

use std::fmt;

use super::row::{Measure, Properties, SelectorRow};
use super::table::OperationTable;
use crate::partners::power_of_two_below;

/// The properties of calls beside the limits of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    ranks: u32,
    ranks_per_node: u32,
    several_nodes: bool,
    regular_nodes: bool,
    commutative: bool,
    built_in: bool,
    equal_blocks: bool,
    elements: bool,
    /// By measure.
    measured: [u64; Measure::ALL.len()],
}

impl Properties for Point {
    fn rank_count(&self) -> u32 {
        self.ranks
    }

    fn ranks_per_node(&self) -> u32 {
        self.ranks_per_node
    }

    fn has_several_nodes(&self) -> bool {
        self.several_nodes
    }

    fn has_regular_nodes(&self) -> bool {
        self.regular_nodes
    }

    fn is_commutative(&self) -> bool {
        self.commutative
    }

    fn is_built_in(&self) -> bool {
        self.built_in
    }

    fn has_equal_blocks(&self) -> bool {
        self.equal_blocks
    }

    fn has_elements(&self) -> bool {
        self.elements
    }

    fn measured(&self, measure: Measure) -> u64 {
        self.measured[measure as usize]
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [own, total, average, total_elements] = self.measured;
        write!(
            f,
            "ranks = {}, ranks_per_node = {}, bytes = {own} (total {total}, average {average}, \
             total_elements {total_elements}), commutative = {}, built_in = {}, equal_blocks = {}, \
             elements = {}, several_nodes = {}, regular_nodes = {}",
            self.ranks,
            self.ranks_per_node,
            self.commutative,
            self.built_in,
            self.equal_blocks,
            self.elements,
            self.several_nodes,
            self.regular_nodes
        )
    }
}

/// Returns the numbers beside limits, at least `smallest`.
fn beside<T: Ord + Copy>(
    smallest: T,
    limits: impl Iterator<Item = [T; 2]>,
    neighbors: fn(T) -> [Option<T>; 3],
) -> Vec<T> {
    let mut all = vec![smallest];
    for limit in limits.flatten() {
        all.extend(neighbors(limit).into_iter().flatten());
    }
    all.retain(|value| *value >= smallest);
    all.sort_unstable();
    all.dedup();
    all
}

const fn neighbors_u32(value: u32) -> [Option<u32>; 3] {
    [value.checked_sub(1), Some(value), value.checked_add(1)]
}

const fn neighbors_u64(value: u64) -> [Option<u64>; 3] {
    [value.checked_sub(1), Some(value), value.checked_add(1)]
}

/// Returns both values of a condition if a row has this condition.
fn condition_values(is_used: bool) -> &'static [bool] {
    if is_used { &[true, false] } else { &[true] }
}

/// Calls `visit` with the properties of calls beside all limits, until `visit` returns true.
/// Returns the properties of this last call of `visit`.
pub(super) fn find_point(table: &OperationTable, visit: impl Fn(&Point) -> bool) -> Option<Point> {
    let rows = table.rows();
    let limits = |row: &SelectorRow| [row.ranks.first, row.ranks.last];
    let mut ranks = beside(1, rows.iter().map(limits), neighbors_u32);
    // A power of two and another number of ranks within the same limits.
    let mut more = Vec::new();
    for value in &ranks {
        let power = power_of_two_below(*value);
        more.extend([Some(power), power.checked_mul(2)]);
        more.push(power.max(2).checked_add(1));
        more.push(value.checked_add(2));
    }
    ranks.extend(more.into_iter().flatten());
    ranks.sort_unstable();
    ranks.dedup();
    let limits = |row: &SelectorRow| [row.ranks_per_node.first, row.ranks_per_node.last];
    let ranks_per_node = beside(1, rows.iter().map(limits), neighbors_u32);
    for ranks in ranks {
        for ranks_per_node in &ranks_per_node {
            let matching = |row: &&SelectorRow| {
                row.ranks.contain(ranks)
                    && row.ranks_per_node.contain(*ranks_per_node)
                    && row
                        .power_of_two
                        .is_none_or(|wanted| wanted == ranks.is_power_of_two())
            };
            let rows: Vec<&SelectorRow> = rows.iter().filter(matching).collect();
            let found = find_in(&rows, ranks, *ranks_per_node, &visit);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn find_in(
    rows: &[&SelectorRow],
    ranks: u32,
    ranks_per_node: u32,
    visit: &impl Fn(&Point) -> bool,
) -> Option<Point> {
    let used = |condition: fn(&SelectorRow) -> Option<bool>| {
        condition_values(rows.iter().any(|row| condition(row).is_some()))
    };
    let bytes = Measure::ALL.map(|measure| {
        let limited = rows.iter().filter(|row| row.measure == measure);
        let limits = limited.map(|row| [row.bytes.first, row.bytes.last]);
        beside(0, limits, neighbors_u64)
    });
    let mut all = Vec::new();
    for own in &bytes[0] {
        for total in &bytes[1] {
            for average in &bytes[2] {
                let elements = bytes[3].iter();
                all.extend(elements.map(|elements| [*own, *total, *average, *elements]));
            }
        }
    }
    let flags = [
        used(|row| row.commutative),
        used(|row| row.built_in),
        used(|row| row.equal_blocks),
        used(|row| row.elements),
        used(|row| row.several_nodes),
        used(|row| row.regular_nodes),
    ];
    for number in 0..1_u32 << flags.len() {
        let value = |place: usize| number >> place & 1 == 0;
        if !(0..flags.len()).all(|place| flags[place].contains(&value(place))) {
            continue;
        }
        let point = |measured: &[u64; 4]| Point {
            ranks,
            ranks_per_node,
            commutative: value(0),
            built_in: value(1),
            equal_blocks: value(2),
            elements: value(3),
            several_nodes: value(4),
            regular_nodes: value(5),
            measured: *measured,
        };
        let found = all.iter().map(point).find(|point| visit(point));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the properties of calls that no row matches.
pub(super) fn uncovered(table: &OperationTable) -> Option<Point> {
    if table.rows().is_empty() {
        return None;
    }
    find_point(table, |point| {
        table.find_row(point, |_, _| Some(())).is_none()
    })
}
