//! Shortest ways through a zone, for the rules *dijkstra* and *floyd*.
//!
//! The length of a way is its number of links. Both rules give shortest ways. If several ways are
//! equally short, the algorithm chooses, with members in the order in which the routes of the file
//! first name them, so the choice is the same on every machine.
//!
//! Ways are computed on first use and kept: *dijkstra* per source, *floyd* for the whole zone at
//! once. *floyd* needs memory for the square and time for the cube of the number of members and is
//! refused for more than [`FLOYD_MAX`] members.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use priority_queue::PriorityQueue;

use crate::Routing;
use crate::route::RouteTable;
use crate::zone::OnceShared;

/// The most members of a *floyd* zone: 10^9 steps, a second or two.
pub(crate) const FLOYD_MAX: usize = 1000;

/// No route leads here.
pub(crate) const NONE: u32 = u32::MAX;

/// The members of a zone that have routes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Graph {
    /// In the order of their first route.
    members: Vec<u32>,
    positions: BTreeMap<u32, u32>,
    /// For each source the number of the last route to each member.
    trees: Vec<OnceShared<Box<[u32]>>>,
    all: OnceShared<Vec<Box<[u32]>>>,
}

impl Graph {
    /// Notes a member, once.
    pub(crate) fn add_member(&mut self, end: u32) {
        let position = u32::try_from(self.members.len()).expect("fewer members than ends");
        self.positions.entry(end).or_insert_with(|| {
            self.members.push(end);
            self.trees.push(OnceShared::new());
            position
        });
    }

    /// Number of members.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The position of a member.
    pub(crate) fn position(&self, end: u32) -> Option<u32> {
        self.positions.get(&end).copied()
    }

    /// The last route of the way from `from` to each member, by position.
    pub(crate) fn tree(&self, from: u32, rule: Routing, table: &RouteTable) -> Option<&[u32]> {
        let source = self.position(from)? as usize;
        if rule == Routing::Floyd {
            return Some(&self.all.get_or_init(|| self.floyd(table))[source]);
        }
        Some(self.trees[source].get_or_init(|| self.dijkstra(source, table)))
    }

    fn dijkstra(&self, source: usize, table: &RouteTable) -> Box<[u32]> {
        let mut last = vec![NONE; self.members.len()];
        let mut lengths = vec![u64::MAX; self.members.len()];
        // A member's length shrinks while it waits. The hasher has fixed keys, and no order depends
        // on it anyway.
        let mut waiting = PriorityQueue::<_, _, BuildHasherDefault<DefaultHasher>>::default();
        lengths[source] = 0;
        waiting.push(source, Reverse((0_u64, source)));
        while let Some((at, Reverse((length, _)))) = waiting.pop() {
            let (first, row) = table.routes_from(self.members[at]);
            for (entry, number) in row.iter().zip(first..) {
                let Some(to) = self.position(entry.to) else {
                    continue;
                };
                let (to, longer) = (to as usize, length + u64::from(entry.count));
                if longer < lengths[to] {
                    lengths[to] = longer;
                    last[to] = number;
                    waiting.push(to, Reverse((longer, to)));
                }
            }
        }
        last.into()
    }

    fn floyd(&self, table: &RouteTable) -> Vec<Box<[u32]>> {
        let count = self.members.len();
        let mut last: Vec<Box<[u32]>> = vec![vec![NONE; count].into(); count];
        let mut lengths = vec![vec![u64::MAX; count]; count];
        for (from, end) in self.members.iter().enumerate() {
            let (first, row) = table.routes_from(*end);
            for (entry, number) in row.iter().zip(first..) {
                if let Some(to) = self.position(entry.to) {
                    lengths[from][to as usize] = u64::from(entry.count);
                    last[from][to as usize] = number;
                }
            }
            lengths[from][from] = 0;
        }
        for through in 0..count {
            for from in 0..count {
                let head = lengths[from][through];
                if head == u64::MAX || from == through {
                    continue;
                }
                for to in 0..count {
                    let longer = head.saturating_add(lengths[through][to]);
                    if longer < lengths[from][to] {
                        lengths[from][to] = longer;
                        last[from][to] = last[through][to];
                    }
                }
            }
        }
        last
    }
}
