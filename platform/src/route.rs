//! The links that a transfer crosses, in order, and how they are named by number.
//!
//! Every physical link has two consecutive [`LinkId`]s, one per direction. A link without directions (`shared`,
//! `fatpipe`) uses the first one only. So the identifiers of the links of a cluster are computed from the position of
//! the host, and a table indexed by [`LinkId`] stays sparse where nothing runs.

use std::fmt;

/// One direction of a link; the number is dense within a platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// One link on a route, with what a model needs to know of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hop {
    /// Which link, and which of its directions.
    pub link: LinkId,
    /// Whether each transfer has the whole bandwidth for itself.
    pub fatpipe: bool,
    /// Bytes per second.
    pub bandwidth: f64,
}

/// The way from one host to another: a buffer that is filled again and again.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Route {
    /// The links in the order in which the data cross them.
    pub hops: Vec<Hop>,
    /// Sum of the latencies of the links, in seconds, added in the order of the hops.
    pub latency_s: f64,
}

/// Two hosts that are not joined by any route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRoute {
    /// The name of the host where the route would begin.
    pub from: String,
    /// The name of the host where the route would end.
    pub to: String,
    /// The host or cluster to write as `from` in a `[[routes]]` entry.
    pub from_end: String,
    /// The host or cluster to write as `to` in a `[[routes]]` entry.
    pub to_end: String,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            from_end,
            to_end,
        } = self;
        write!(
            f,
            "no route from host {from:?} to host {to:?}: the platform file needs [[routes]] with \
             from = {from_end:?} and to = {to_end:?}"
        )
    }
}

impl std::error::Error for NoRoute {}

/// A physical link as the platform knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Position among the physical links.
    pub(crate) number: u32,
    /// Bytes per second.
    pub(crate) bandwidth: f64,
    pub(crate) latency_s: f64,
    pub(crate) sharing: crate::Sharing,
}

impl Wire {
    /// The identifier of one direction.
    pub(crate) const fn id(&self, down: bool) -> LinkId {
        let second = down && matches!(self.sharing, crate::Sharing::SplitDuplex);
        LinkId(2 * self.number + second as u32)
    }

    /// The wire `offset` places further in a row of equal ones.
    pub(crate) const fn shifted(mut self, offset: u32) -> Self {
        self.number += offset;
        self
    }
}

impl Route {
    /// Makes it empty, keeping its memory.
    pub fn clear(&mut self) {
        self.hops.clear();
        self.latency_s = 0.0;
    }

    pub(crate) fn push(&mut self, wire: Wire, down: bool) {
        self.latency_s += wire.latency_s;
        self.hops.push(Hop {
            link: wire.id(down),
            fatpipe: matches!(wire.sharing, crate::Sharing::FatPipe),
            bandwidth: wire.bandwidth,
        });
    }
}

/// The declared routes between hosts and clusters, by the positions of both ends; searched without strings.
#[derive(Clone, Default, Debug)]
pub(crate) struct RouteTable {
    /// For each end, where its entries begin; one more at the end.
    rows: Vec<u32>,
    /// Sorted by (from, to).
    entries: Vec<Entry>,
    /// The links of all routes, one after the other: physical number and direction.
    uses: Vec<(u32, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    from: u32,
    to: u32,
    first: u32,
    count: u32,
    reversed: bool,
}

impl RouteTable {
    /// Adds a route, and the opposite one if it is symmetric; `links` are physical numbers and directions.
    pub(crate) fn add(&mut self, from: u32, to: u32, links: &[(u32, bool)], symmetric: bool) {
        let position =
            |length: usize| u32::try_from(length).expect("fewer than 2^32 links in routes");
        let entry = Entry {
            from,
            to,
            first: position(self.uses.len()),
            count: position(links.len()),
            reversed: false,
        };
        self.uses.extend_from_slice(links);
        self.entries.push(entry);
        if symmetric && from != to {
            self.entries.push(Entry {
                from: to,
                to: from,
                reversed: true,
                ..entry
            });
        }
    }

    /// Prepares the search among `ends` ends; no route is added afterwards.
    pub(crate) fn finish(&mut self, ends: usize) {
        self.entries.sort_by_key(|entry| (entry.from, entry.to));
        self.rows = vec![0; ends + 1];
        for entry in &self.entries {
            self.rows[entry.from as usize + 1] += 1;
        }
        for end in 0..ends {
            self.rows[end + 1] += self.rows[end];
        }
    }

    fn find(&self, from: u32, to: u32) -> Option<&Entry> {
        let (begin, end) = (self.rows[from as usize], self.rows[from as usize + 1]);
        let row = &self.entries[begin as usize..end as usize];
        let at = row.binary_search_by_key(&to, |entry| entry.to).ok()?;
        Some(&row[at])
    }

    pub(crate) fn contains(&self, from: u32, to: u32) -> bool {
        self.find(from, to).is_some()
    }

    /// Appends the links from one end to the other; false if there is no such route.
    pub(crate) fn append(&self, from: u32, to: u32, wires: &[Wire], route: &mut Route) -> bool {
        let Some(entry) = self.find(from, to) else {
            return false;
        };
        let uses = &self.uses[entry.first as usize..(entry.first + entry.count) as usize];
        if entry.reversed {
            for (wire, down) in uses.iter().rev() {
                route.push(wires[*wire as usize], !down);
            }
        } else {
            for (wire, down) in uses {
                route.push(wires[*wire as usize], *down);
            }
        }
        true
    }

    /// Number of pairs of ends that have a route, each direction counted.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
