//! Reduce-scatter as a reduction to rank 0 and a scatter, both by any algorithm.
//!
//! Source: SMPI, `reduce_scatter__default`; Open MPI, `coll_base_reduce_scatter.c`
//! (`nonoverlapping`).

use std::rc::Rc;

use super::{pack, result};
use crate::parts::Places;
use crate::{Algorithm, Area, Blocks, Call, Collective, Steps};

pub(crate) static REDUCE_SCATTERV: Algorithm = Algorithm {
    name: "reduce_scatterv",
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "a reduction to rank 0, then a scatter",
    time: "sum of both parts",
    ordered: true,
    parts: &[Collective::Reduce, Collective::Scatterv],
    temp: |call| {
        let reduce = (call.part_algorithm(0).temp)(&reduce_call(call));
        call.send_total() + reduce.max((call.part_algorithm(1).temp)(&scatter_call(call)))
    },
    rounds: |call| {
        let reducing = (call.part_algorithm(0).rounds)(&reduce_call(call));
        1 + reducing + (call.part_algorithm(1).rounds)(&scatter_call(call))
    },
    round,
    ..Algorithm::BASE
};

fn reduce_call(call: &Call) -> Call {
    call.inner(Collective::Reduce, call.send_total())
}

fn scatter_call(call: &Call) -> Call {
    let blocks = call.blocks.as_ref().map(|_| {
        Rc::new(Blocks {
            send: call.send_packed().collect(),
            recv: Vec::new(),
        })
    });
    Call {
        blocks,
        ..call.inner(Collective::Scatterv, result(call).length)
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let Some(round) = round.checked_sub(1) else {
        return pack(call, steps);
    };
    let first = reduce_call(call);
    let places = |send, recv| Places {
        send: (send, 0),
        recv: (recv, 0),
        temp: call.send_total(),
    };
    match round.checked_sub((call.part_algorithm(0).rounds)(&first)) {
        None => places(Area::Send, Area::Temp).run(call.part_algorithm(0), &first, round, steps),
        Some(round) => {
            let second = scatter_call(call);
            places(Area::Temp, Area::Recv).run(call.part_algorithm(1), &second, round, steps);
        }
    }
}
