//! The rows of a kind of operation, and an index of the rows.
//!
//! The limits of all rows cut the numbers of ranks and of ranks per node into ranges in which the
//! same rows can match. Each pair of such ranges is a cell, in which the limits of its rows cut the
//! bytes. So three binary searches find the few rows that can match. The index omits rows behind a
//! row that matches all calls there. Results are the same as for a scan of all rows.

use super::row::{Measure, Properties, SelectorRow};

/// The rows of a kind of operation.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct OperationTable {
    rows: Vec<SelectorRow>,
    /// The first number of ranks of each range.
    ranks: Vec<u32>,
    /// The first number of ranks per node of each range.
    ranks_per_node: Vec<u32>,
    /// By ranks, then by ranks per node.
    cells: Vec<Cell>,
    /// The first number of bytes of each range, of one cell after the other.
    bytes: Vec<u64>,
    /// The rows that can match, for each range of bytes.
    lists: Vec<List>,
    /// The numbers of rows in the lists.
    candidates: Vec<usize>,
}

/// Ranges of bytes for a range of ranks and of ranks per node.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cell {
    measure: Measure,
    first: usize,
    end: usize,
}

/// A part of the candidates.
#[derive(Clone, Copy, PartialEq, Debug)]
struct List {
    first: usize,
    end: usize,
}

/// Returns the first numbers of the ranges into which limits cut all numbers.
fn range_starts<T: Ord + Default>(limits: impl Iterator<Item = (T, Option<T>)>) -> Vec<T> {
    let mut starts = vec![T::default()];
    for (first, behind) in limits {
        starts.push(first);
        starts.extend(behind);
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Returns the number of the range in which a value is.
fn range_of<T: Ord>(starts: &[T], value: &T) -> usize {
    starts.partition_point(|start| start <= value) - 1
}

impl OperationTable {
    /// A table of rows, of which the first one that matches a call counts.
    pub(super) fn new(rows: Vec<SelectorRow>) -> Self {
        let behind = |last: u32| last.checked_add(1);
        let limits = rows.iter().map(|row| row.ranks);
        let ranks = range_starts(limits.map(|ranks| (ranks.first, behind(ranks.last))));
        let limits = rows.iter().map(|row| row.ranks_per_node);
        let ranks_per_node = range_starts(limits.map(|ranks| (ranks.first, behind(ranks.last))));
        let mut table = Self {
            rows,
            ranks,
            ranks_per_node,
            ..Self::default()
        };
        if table.rows.is_empty() {
            return table;
        }
        for ranks in 0..table.ranks.len() {
            for ranks_per_node in 0..table.ranks_per_node.len() {
                table.add_cell(ranks, ranks_per_node);
            }
        }
        table
    }

    fn add_cell(&mut self, ranks: usize, ranks_per_node: usize) {
        let (ranks, ranks_per_node) = (self.ranks[ranks], self.ranks_per_node[ranks_per_node]);
        let all = self.rows.iter().enumerate();
        let rows: Vec<(usize, &SelectorRow)> = all
            .filter(|(_, row)| {
                row.ranks.contain(ranks) && row.ranks_per_node.contain(ranks_per_node)
            })
            .collect();
        let limited = || rows.iter().filter(|(_, row)| !row.bytes.are_open());
        let measure = limited()
            .next()
            .map_or(Measure::Own, |(_, row)| row.measure);
        // Limits of another measure are compared with each call.
        let limits = limited().filter(|(_, row)| row.measure == measure);
        let starts =
            range_starts(limits.map(|(_, row)| (row.bytes.first, row.bytes.last.checked_add(1))));
        let first = self.bytes.len();
        for start in starts {
            let begin = self.candidates.len();
            for (number, row) in &rows {
                let is_indexed = row.bytes.are_open() || row.measure == measure;
                if is_indexed && !row.bytes.contain(start) {
                    continue;
                }
                self.candidates.push(*number);
                if is_indexed && row.has_no_flags() {
                    break;
                }
            }
            self.bytes.push(start);
            self.lists.push(List {
                first: begin,
                end: self.candidates.len(),
            });
        }
        self.cells.push(Cell {
            measure,
            first,
            end: self.bytes.len(),
        });
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &[SelectorRow] {
        &self.rows
    }

    /// Calls `accept` with the matching rows in their order, until `accept` returns a value.
    pub(super) fn find_row<'a, T>(
        &'a self,
        properties: &impl Properties,
        mut accept: impl FnMut(usize, &'a SelectorRow) -> Option<T>,
    ) -> Option<T> {
        if self.rows.is_empty() {
            return None;
        }
        let ranks = range_of(&self.ranks, &properties.rank_count());
        let nodes = range_of(&self.ranks_per_node, &properties.ranks_per_node());
        let cell = self.cells[ranks * self.ranks_per_node.len() + nodes];
        let starts = &self.bytes[cell.first..cell.end];
        let range = match starts {
            [_] => 0,
            _ => range_of(starts, &properties.measured(cell.measure)),
        };
        let list = self.lists[cell.first + range];
        let candidates = &self.candidates[list.first..list.end];
        for number in candidates {
            let row = &self.rows[*number];
            if row.matches_flags(properties)
                && (row.measure == cell.measure || row.matches_bytes(properties))
                && let Some(found) = accept(*number, row)
            {
                return Some(found);
            }
        }
        // The last candidate may have hidden others.
        let next = candidates.last().map_or(self.rows.len(), |last| last + 1);
        let rest = self.rows.iter().enumerate().skip(next);
        let mut matching = rest.filter(|(_, row)| row.matches(properties));
        matching.find_map(|(number, row)| accept(number, row))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::selector::row::{Described, Limits};
    use crate::selector::{Choice, Facts, Selector};
    use crate::{Call, Collective, DISSEMINATION};

    /// Independent properties; the properties of a real call depend on one another.
    #[derive(Clone, Copy, Debug)]
    struct Random {
        ranks: u32,
        ranks_per_node: u32,
        flags: [bool; 6],
        measured: [u64; 4],
    }

    impl Properties for Random {
        fn rank_count(&self) -> u32 {
            self.ranks
        }

        fn ranks_per_node(&self) -> u32 {
            self.ranks_per_node
        }

        fn has_several_nodes(&self) -> bool {
            self.flags[4]
        }

        fn has_regular_nodes(&self) -> bool {
            self.flags[5]
        }

        fn is_commutative(&self) -> bool {
            self.flags[0]
        }

        fn is_built_in(&self) -> bool {
            self.flags[1]
        }

        fn has_equal_blocks(&self) -> bool {
            self.flags[2]
        }

        fn has_elements(&self) -> bool {
            self.flags[3]
        }

        fn measured(&self, measure: Measure) -> u64 {
            self.measured[measure as usize]
        }
    }

    /// Returns the rows that match, in their order, by a scan of all rows.
    fn scan(rows: &[SelectorRow], properties: &impl Properties) -> Vec<usize> {
        let all = rows.iter().enumerate();
        let matching = all.filter(|(_, row)| row.matches(properties));
        matching.map(|(number, _)| number).collect()
    }

    /// Returns the rows that the index offers if all are refused, and the first one otherwise.
    fn indexed(
        table: &OperationTable,
        properties: &impl Properties,
    ) -> (Vec<usize>, Option<usize>) {
        let mut offered = Vec::new();
        let refused = table.find_row(properties, |number, _| {
            offered.push(number);
            None::<usize>
        });
        assert_eq!(refused, None);
        (
            offered,
            table.find_row(properties, |number, _| Some(number)),
        )
    }

    fn limits<T: Copy + Ord + std::fmt::Debug>(
        numbers: impl Strategy<Value = T> + Clone,
        (least, most): (T, T),
    ) -> impl Strategy<Value = Limits<T>> {
        prop_oneof![
            Just(Limits {
                first: least,
                last: most
            }),
            (numbers.clone(), numbers).prop_map(|(one, other)| Limits {
                first: one.min(other),
                last: one.max(other)
            }),
        ]
    }

    fn flag() -> impl Strategy<Value = Option<bool>> {
        prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)]
    }

    fn row() -> impl Strategy<Value = SelectorRow> {
        let (ranks, nodes) = (1_u32..6, 1_u32..4);
        let fields = (
            limits(ranks, (0, u32::MAX)),
            limits(nodes, (0, u32::MAX)),
            limits(0_u64..8, (0, u64::MAX)),
            0_usize..6,
            [flag(), flag(), flag(), flag(), flag(), flag(), flag()],
        );
        fields.prop_map(
            |(ranks, ranks_per_node, bytes, measure, flags)| SelectorRow {
                ranks,
                bytes,
                measure: Measure::ALL.get(measure).copied().unwrap_or_default(),
                commutative: flags[0],
                built_in: flags[1],
                power_of_two: flags[2],
                elements: flags[3],
                equal_blocks: flags[4],
                several_nodes: flags[5],
                regular_nodes: flags[6],
                ranks_per_node,
                choice: Choice::from(DISSEMINATION),
            },
        )
    }

    proptest! {
        #[test]
        fn the_index_of_random_rows_finds_what_a_scan_finds(
            rows in prop::collection::vec(row(), 0..12),
            calls in prop::collection::vec(
                (1_u32..7, 1_u32..5, any::<[bool; 6]>(), [0_u64..9, 0_u64..9, 0_u64..9, 0_u64..9]),
                1..40,
            ),
        ) {
            let table = OperationTable::new(rows);
            for (ranks, ranks_per_node, flags, measured) in calls {
                let call = Random { ranks, ranks_per_node, flags, measured };
                let expected = scan(table.rows(), &call);
                let (offered, first) = indexed(&table, &call);
                prop_assert_eq!(first, expected.first().copied());
                prop_assert_eq!(offered, expected);
            }
        }

        #[test]
        fn the_index_of_a_selector_finds_what_a_scan_finds(
            selector in 0..Selector::names().count(),
            kind in 0..Collective::ALL.len(),
            calls in prop::collection::vec((0_u32..14, 0_u64..31, 0_u64..3, any::<bool>(), 1_u32..18), 40),
        ) {
            let name = Selector::names().nth(selector).expect("a name");
            let table = &Selector::built_in(name).expect("a selector").tables[kind];
            for (ranks, bytes, beside, commutative, ranks_per_node) in calls {
                // Beside powers of two, where most limits are.
                let ranks = (1 << ranks) + u32::from(commutative);
                let bytes = ((1 << bytes) + beside).saturating_sub(1);
                let mut call = Call::new(Collective::ALL[kind], 0, ranks, bytes);
                call.commutative = commutative;
                let facts = Facts { ranks_per_node, ..Facts::default() };
                let call = Described { call: &call, facts };
                let expected = scan(table.rows(), &call);
                let (offered, first) = indexed(table, &call);
                prop_assert_eq!(first, expected.first().copied());
                prop_assert_eq!(offered, expected);
            }
        }
    }
}
