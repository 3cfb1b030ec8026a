//! Allreduce along two binary trees, each for half of the data, in segments: up the tree to be
//! reduced, then down as results, while later segments go up.
//!
//! A tree connects nodes; the ranks of a node are a chain that begins at its leader. With one rank
//! on each node and an even number of them, each rank is an inner node of one tree and a leaf of
//! the other, so that all ranks send about as much.
//!
//! *Not modelled*: progress of both directions and both trees by different threads. A rank works on
//! one after the other, so a late segment also delays those of the other tree. The leader is the
//! same rank in both trees, where NCCL takes the one next to the adapter of a channel.
//!
//! Sources: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan", Parallel Computing 35(12), 2009; NCCL 2.30, `src/graph/trees.cc` and
//! `src/graph/connect.cc`.

use super::elements;
use crate::segments::Segments;
use crate::trees::DoubleTree;
use crate::{Algorithm, Call, Collective, Operand, Part, Slot, Steps};

pub(crate) static DOUBLE_TREE: Algorithm = Algorithm {
    name: "double_tree",
    collectives: &[Collective::Allreduce],
    about: "halves up and down two binary trees of nodes in segments (0: 64 KiB), chains in nodes",
    time: "(k + 4 L) (α + S (β + γ)) with k segments of S bytes in each half",
    temp: |call| CHILDREN_MAX * halves(call).iter().map(Half::longest).sum::<u64>(),
    rounds: |call| match call.size {
        1 => 0,
        _ => segments(call) + lag(call),
    },
    round,
    ..Algorithm::BASE
};

/// Length of a segment, unless the call sets another one.
const SEGMENT: u64 = 64 << 10;

/// Two in the tree and one in the chain.
const CHILDREN_MAX: u64 = 3;

const SENDS: Slot = 0;
const UP: Slot = 1;
const DOWN: Slot = 2;

/// The half of the data that passes along a tree.
#[derive(Clone, Copy, Debug)]
struct Half {
    tree: DoubleTree,
    segments: Segments,
}

impl Half {
    const fn longest(&self) -> u64 {
        self.segments.longest()
    }

    /// Returns a segment of the result; `None` behind the last one.
    fn part(&self, segment: u32) -> Option<Part> {
        (segment < self.segments.count()).then(|| {
            let (offset, length) = self.segments.range(segment);
            Part::recv(offset, length)
        })
    }

    fn parent(&self, call: &Call) -> Option<u32> {
        let Some(nodes) = &call.nodes else {
            return self.tree.parent(call.rank, call.size);
        };
        let (node, index) = (nodes.node(call.rank), nodes.index(call.rank));
        match index.checked_sub(1) {
            Some(above) => Some(nodes.rank(node, above)),
            None => (self.tree.parent(node, nodes.count())).map(|parent| nodes.rank(parent, 0)),
        }
    }

    /// Returns the children: those in the tree of nodes, then the next rank of the node.
    fn children(&self, call: &Call) -> impl Iterator<Item = u32> {
        let nodes = call.nodes.clone();
        let (node, index, count) = match &nodes {
            Some(nodes) => {
                let node = nodes.node(call.rank);
                (node, nodes.index(call.rank), nodes.count())
            }
            None => (call.rank, 0, call.size),
        };
        let chained = nodes.as_ref().and_then(|nodes| {
            let next = index + 1;
            (next < nodes.size(node)).then(|| nodes.rank(node, next))
        });
        let in_tree = self.tree.children(node, count).filter(move |_| index == 0);
        let leader = move |child| nodes.as_ref().map_or(child, |nodes| nodes.rank(child, 0));
        in_tree.map(leader).chain(chained)
    }
}

/// Returns the halves of the data; the first one has an element more if the number is odd.
fn halves(call: &Call) -> [Half; 2] {
    let first = elements(call, 0, call.count().div_ceil(2)).length;
    let length = Segments::of(call, SEGMENT).longest().min(first);
    let segments = [(0, first), (first, call.bytes - first)];
    let segments = segments.map(|(start, bytes)| Segments::exact(start, bytes, length));
    [
        (DoubleTree::First, segments[0]),
        (DoubleTree::Second, segments[1]),
    ]
    .map(|(tree, segments)| Half { tree, segments })
}

fn segments(call: &Call) -> u32 {
    let [first, _] = halves(call);
    first.segments.count()
}

/// Returns the number of rounds by which results are behind the segments that go up: those in which
/// one goes up and down, unless there are fewer segments.
fn lag(call: &Call) -> u32 {
    let (nodes, chain) = match &call.nodes {
        Some(nodes) => (nodes.count(), nodes.ranks_per_node()),
        None => (call.size, 1),
    };
    let depth = nodes.next_power_of_two().ilog2() + chain;
    segments(call).min(2 * depth)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let halves = halves(call);
    let below = round.checked_sub(lag(call));
    let mut start = 0;
    let places = halves.map(|half| {
        let place = start;
        start += CHILDREN_MAX * half.longest();
        place
    });
    // A rank posts all receives of a round before it waits, so that no send of a round waits for a
    // later round of another rank.
    for (half, place) in halves.iter().zip(places) {
        if let Some(part) = half.part(round) {
            for (child, number) in half.children(call).zip(0..) {
                steps.irecv_in(UP, child, incoming(half, place, number, part));
            }
        }
    }
    for half in &halves {
        if let (Some(parent), Some(part)) = (half.parent(call), result(half, below)) {
            steps.irecv_in(DOWN, parent, part);
        }
    }
    for (half, place) in halves.iter().zip(places) {
        let Some(part) = half.part(round) else {
            continue;
        };
        for (_, number) in half.children(call).zip(0..) {
            steps.wait_first(UP);
            steps.reduce(incoming(half, place, number, part), part, Operand::Left);
        }
        if let Some(parent) = half.parent(call) {
            steps.isend_in(SENDS, parent, part);
        }
    }
    for half in &halves {
        let Some(part) = result(half, below) else {
            continue;
        };
        if half.parent(call).is_some() {
            steps.wait_first(DOWN);
        }
        for child in half.children(call) {
            steps.isend_in(SENDS, child, part);
        }
    }
    steps.wait(SENDS);
}

/// Returns the segment that goes down in a round.
fn result(half: &Half, segment: Option<u32>) -> Option<Part> {
    half.part(segment?)
}

/// Returns the place of a segment of a child in the area `Temp`.
fn incoming(half: &Half, place: u64, number: u64, part: Part) -> Part {
    Part::temp(place + number * half.longest(), part.length)
}
