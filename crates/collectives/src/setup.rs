//! Messages with which SMPI finds out the nodes of the ranks of a communicator: an allgather by
//! shifts of all ranks, one of the leaders, a broadcast in each node, and an allreduce as a linear
//! reduction and a binomial broadcast, of 4 bytes each.
//!
//! A call executes them only where the platform says so: by default nodes are known without
//! messages.
//!
//! Source: SMPI, `Comm::init_smp` in `smpi_comm.cpp`.

use crate::levels::{Group, Level, PARTS, Plan, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Nodes, find};

/// Length of a number.
const WORD: u64 = 4;

static SETUP: Algorithm = Algorithm {
    name: "node_setup",
    collectives: &[Collective::Barrier],
    about: "finds out the nodes of the ranks",
    time: "sum of the parts",
    levels: LEVELS,
    temp: |call| rank_table_bytes(call) + build_stages(call).temp(),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const NAMES: [&str; PARTS] = [
    "shift",
    "shift",
    "scatter_ring_allgather",
    "linear_nb",
    "binomial",
];

const LEVELS: &[Level] = &[
    Level::new(Group::All, Collective::Allgather, |_| WORD),
    Level::new(Group::Leaders, Collective::Allgather, |_| WORD),
    Level::new(Group::Node, Collective::Bcast, |_| WORD),
    // A linear reduction has the messages of a gather.
    Level::new(Group::All, Collective::Gather, |_| WORD),
    Level::new(Group::All, Collective::Bcast, |_| WORD),
];

/// Returns the bytes of `Temp` with a number of each rank.
fn rank_table_bytes(call: &Call) -> u64 {
    u64::from(call.size) * WORD
}

fn build_stages(call: &Call) -> Stages<'_, 5> {
    let places = Places {
        send: (Area::Temp, 0),
        recv: (Area::Temp, 0),
        temp: rank_table_bytes(call),
    };
    Stages {
        call,
        levels: LEVELS,
        stages: [0, 1, 2, 3, 4].map(|number| ScheduleStage::Level(number, places)),
    }
}

/// Returns the algorithm and the call with which SMPI finds out the nodes of the ranks of a call.
#[must_use]
pub fn node_setup(call: &Call) -> (&'static Algorithm, Call) {
    let mut setup = Call::new(Collective::Barrier, call.rank, call.size, 0);
    let nodes = || Nodes::blocks(call.size, 1);
    setup.nodes = Some(call.nodes.clone().unwrap_or_else(nodes));
    setup.element = WORD;
    setup.levels = Some(std::rc::Rc::new(std::array::from_fn(|number| {
        let level = LEVELS.get(number)?;
        find(level.collective, NAMES[number]).map(|algorithm| Plan {
            algorithm,
            segment: 0,
            radix: 0,
            parts: [None; PARTS],
            levels: None,
        })
    })));
    (&SETUP, setup)
}
