//! Allreduce along two binary trees, each for half of the data, in segments: a segment goes up the
//! tree for the reduction, then down as a result, while later segments go up.
//!
//! A tree connects nodes; the ranks of a node are a chain that begins at the leader. With one rank
//! on each node and an even number of nodes, each rank is an inner node of one tree and a leaf of
//! the other tree, so that all ranks send about the same amount.
//!
//! Each direction of each tree is a lane, as NCCL has separate warps for each: a segment goes up
//! when all children have sent their segments, and down when the parent has sent its segment,
//! independent of other lanes. The root does both in one lane. A connection has a window: a rank
//! has posted the receives of [`WINDOW`] segments, and posts one more when it has passed a segment
//! on. Without a window, segments that go up take the whole bandwidth, and results wait.
//!
//! *Not modelled*: the leader is the same rank in both trees, where NCCL takes the rank next to the
//! adapter of a channel.
//!
//! Sources: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan", Parallel Computing 35(12), 2009; NCCL 2.30, `src/graph/trees.cc` and
//! `src/graph/connect.cc`.

use std::ops::Range;

use super::elements;
use crate::segments::Segments;
use crate::trees::DoubleTree;
use crate::{Algorithm, Call, Collective, Operand, Part, Slot, Steps};

pub(crate) static DOUBLE_TREE: Algorithm = Algorithm {
    name: "double_tree",
    collectives: &[Collective::Allreduce],
    about: "halves up and down two binary trees of nodes in segments (0: 64 KiB), chains in nodes",
    time: "2 (2 k + 2 L − 3) (α + S β) + (2 L − 1) S γ with k segments of S bytes in each half",
    temp: |call| CHILDREN_MAX * halves(call).iter().map(Half::window_bytes).sum::<u64>(),
    lanes: |_| 4,
    rounds: |call| match call.size {
        1 => 0,
        _ => halves(call)[0].segments.count(),
    },
    round,
    ..Algorithm::BASE
};

/// Length of a segment, unless the call sets another one.
const SEGMENT: u64 = 64 << 10;

/// Two in the tree and one in the chain.
const CHILDREN_MAX: u64 = 3;

/// Number of segments that are on the way along a connection: `NCCL_STEPS`.
const WINDOW: u32 = 8;

const RECEIVES: Slot = 0;

/// The slot of sends to the first neighbour; each further neighbour has a separate slot.
const SENDS: Slot = 1;

/// The half of the data that passes along a tree.
#[derive(Clone, Copy, Debug)]
struct Half {
    tree: DoubleTree,
    segments: Segments,
}

impl Half {
    /// Returns the memory in bytes for the segments of a child that are on the way.
    fn window_bytes(&self) -> u64 {
        u64::from(WINDOW.min(self.segments.count())) * self.segments.longest()
    }

    /// Returns a segment of the result; `None` behind the last one.
    fn segment_part(&self, segment: u32) -> Option<Part> {
        (segment < self.segments.count()).then(|| {
            let (offset, length) = self.segments.range(segment);
            Part::recv(offset, length)
        })
    }

    fn parent(&self, call: &Call) -> Option<u32> {
        let Some(nodes) = &call.nodes else {
            return self.tree.parent(call.rank, call.size);
        };
        let (node, index) = (nodes.node(call.rank), nodes.rank_index(call.rank));
        match index.checked_sub(1) {
            Some(above) => Some(nodes.rank(node, above)),
            None => (self.tree.parent(node, nodes.count())).map(|parent| nodes.rank(parent, 0)),
        }
    }

    /// Returns the children: the children in the tree of nodes, then the next rank of the node.
    fn children(&self, call: &Call) -> impl Iterator<Item = u32> {
        let nodes = call.nodes.clone();
        let (node, index, count) = match &nodes {
            Some(nodes) => {
                let node = nodes.node(call.rank);
                (node, nodes.rank_index(call.rank), nodes.count())
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
    let length = Segments::from_call(call, SEGMENT).longest().min(first);
    let segments = [(0, first), (first, call.bytes - first)];
    let segments = segments.map(|(start, bytes)| Segments::exact(start, bytes, length));
    [
        (DoubleTree::First, segments[0]),
        (DoubleTree::Second, segments[1]),
    ]
    .map(|(tree, segments)| Half { tree, segments })
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let [first, second] = halves(call);
    let memory = CHILDREN_MAX * first.window_bytes();
    let (half, up, place) = match steps.lane() {
        0 | 1 => (first, 0, 0),
        _ => (second, 2, memory),
    };
    let Some(part) = half.segment_part(round) else {
        return;
    };
    let is_up = steps.lane() == up;
    match half.parent(call) {
        Some(parent) if is_up => {
            reduce_segment(&half, call, (round, place), up, steps);
            pass(&half, round, part, std::iter::once(parent), steps);
        }
        Some(parent) => {
            steps.set_edge(up + 1);
            for next in posted(round) {
                if let Some(part) = half.segment_part(next) {
                    steps.irecv_in(RECEIVES, parent, part);
                }
            }
            steps.wait_first(RECEIVES);
            pass(&half, round, part, half.children(call), steps);
        }
        None if is_up => {
            reduce_segment(&half, call, (round, place), up, steps);
            steps.set_edge(up + 1);
            pass(&half, round, part, half.children(call), steps);
        }
        None => {}
    }
}

/// Returns the segments for which receives are posted in a round.
const fn posted(round: u32) -> Range<u32> {
    match round {
        0 => 0..WINDOW,
        _ => round + WINDOW - 1..round + WINDOW,
    }
}

/// Reduces a segment of all children into the own one; their windows begin at `place` in `Temp`.
fn reduce_segment(
    half: &Half,
    call: &Call,
    (round, place): (u32, u64),
    edge: u32,
    steps: &mut dyn Steps,
) {
    let incoming = |segment: u32, number: u64, length: u64| {
        let row = u64::from(segment % WINDOW) * CHILDREN_MAX + number;
        Part::temp(place + row * half.segments.longest(), length)
    };
    steps.set_edge(edge);
    for segment in posted(round) {
        if let Some(part) = half.segment_part(segment) {
            for (child, number) in half.children(call).zip(0..) {
                steps.irecv_in(RECEIVES, child, incoming(segment, number, part.length));
            }
        }
    }
    if let Some(own) = half.segment_part(round) {
        for (_, number) in half.children(call).zip(0..) {
            steps.wait_first(RECEIVES);
            steps.reduce(incoming(round, number, own.length), own, Operand::Left);
        }
    }
}

/// Sends a segment to neighbours. If a later send waits for this send, this send completes only
/// when the receive is posted, however short the segment is.
fn pass(
    half: &Half,
    round: u32,
    part: Part,
    neighbors: impl Iterator<Item = u32>,
    steps: &mut dyn Steps,
) {
    let last = half.segments.count() - 1;
    for (peer, slot) in neighbors.zip(SENDS..) {
        steps.window(slot, WINDOW);
        match last - round < WINDOW {
            true => steps.isend_in(slot, peer, part),
            false => steps.issend_in(slot, peer, part),
        }
    }
    if round == last {
        (SENDS..SENDS + CHILDREN_MAX as Slot).for_each(|slot| steps.wait(slot));
    }
}
