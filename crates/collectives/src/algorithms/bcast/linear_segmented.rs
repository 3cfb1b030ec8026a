//! Linear broadcast in segments: the root sends all segments to one rank after the other; the
//! others have the receives of all segments posted.
//!
//! A message that is shorter than a segment is sent to all others at once.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/bcast/bcast-flattree-pipeline.cpp`. That one leaves the
//! bytes behind the last whole segment out.

use crate::segments::Segments;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static LINEAR_SEGMENTED: Algorithm = Algorithm {
    name: "linear_segmented",
    collectives: &[Collective::Bcast],
    about: "the root sends segments of 8 KiB, or as told, to one rank after the other",
    time: "(p − 1) k (α + S β) with k segments of S bytes",
    rounds,
    round,
    ..Algorithm::BASE
};

fn segments(call: &Call) -> Option<Segments> {
    let segment = match call.segment {
        0 => 8192,
        segment => segment,
    };
    let length = (segment / call.element.max(1)).max(1) * call.element.max(1);
    (call.bytes >= length).then(|| Segments::exact(0, call.bytes, length))
}

fn rounds(call: &Call) -> u32 {
    match segments(call) {
        Some(segments) if call.is_root() => call.size.saturating_mul(segments.count()),
        _ => 1,
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let Some(segments) = segments(call) else {
        return super::linear::round(call, round, steps);
    };
    let part = |index| {
        let (offset, length) = segments.range(index);
        Part::recv(offset, length)
    };
    if call.is_root() {
        let peer = round / segments.count();
        if peer != call.rank {
            steps.send(peer, part(round % segments.count()));
        }
        return;
    }
    for index in 0..segments.count() {
        steps.irecv(call.root, part(index));
    }
    steps.wait_all();
}
