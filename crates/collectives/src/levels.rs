//! Hierarchical schedules: parts within each node and among the leaders of the nodes.
//!
//! Each part is an algorithm of a smaller call, whose ranks are the positions within a node or the
//! numbers of the nodes. The nodes are known without messages. A rank keeps no state in proportion
//! to the number of ranks, while other libraries build communicators for the parts. A part is never
//! hierarchical itself. Calls with one rank per node have no levels and no extra cost.
//!
//! *Not modelled*: memory that ranks of a node share; they exchange messages.

use std::rc::Rc;

use crate::parts::Places;
use crate::pipeline::shortest;
use crate::steps::Renumbered;
use crate::{Algorithm, Call, Collective, Nodes, Part, Steps};

/// The ranks that execute a part of a hierarchical algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// All ranks.
    All,
    /// The ranks of a node.
    Node,
    /// The leaders of all nodes.
    Leaders,
    /// The group of the caller, in calls over an intercommunicator.
    Own,
}

impl Group {
    /// Returns the ranks in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "among all",
            Self::Node => "within nodes",
            Self::Leaders => "among leaders",
            Self::Own => "within groups",
        }
    }

    /// Returns the rank of the communicator that has this rank in the group of the calling rank.
    fn comm_rank(self, call: &Call, rank: u32) -> u32 {
        match self {
            Self::All => rank,
            Self::Node => call.nodes().rank(call.node(), rank),
            Self::Leaders => call.nodes().rank(rank, 0),
            Self::Own => call.own_group().start + rank,
        }
    }
}

/// A part of a hierarchical algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// The ranks that execute the part.
    pub group: Group,
    /// The kind of the part.
    pub collective: Collective,
    /// Returns the number of bytes.
    bytes: fn(&Call) -> u64,
    /// Completes the call of the group of the calling rank; `None` if there is none at this rank.
    adapt: fn(&Call, Call) -> Option<Call>,
    /// True if a message passes the levels piece by piece.
    in_pieces: bool,
}

impl Level {
    /// A level with these bytes.
    pub(crate) const fn new(group: Group, collective: Collective, bytes: fn(&Call) -> u64) -> Self {
        Self {
            group,
            collective,
            bytes,
            adapt: |_, own| Some(own),
            in_pieces: false,
        }
    }

    /// The level with a call of the group that depends on the whole call; `None` if the rank has
    /// none.
    pub(crate) const fn adapted(self, adapt: fn(&Call, Call) -> Option<Call>) -> Self {
        Self { adapt, ..self }
    }

    /// The level of a hierarchical algorithm that executes a call piece by piece.
    pub(crate) const fn in_pieces(self) -> Self {
        Self {
            in_pieces: true,
            ..self
        }
    }

    /// Returns the call of the group of the calling rank, without parameters; `None` if there is
    /// none at this rank, or the group has only this rank.
    #[must_use]
    pub fn group_call(&self, call: &Call) -> Option<Call> {
        if self.in_pieces {
            let whole = Self {
                in_pieces: false,
                ..*self
            };
            return whole.group_call(&shortest(call));
        }
        let own = call.of_group(self.group, self.collective, (self.bytes)(call))?;
        (self.adapt)(call, own)
    }
}

/// The algorithm of a part of a hierarchical algorithm, with parameters and parts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Length of a segment in bytes; 0 for the default of the algorithm.
    pub segment: u64,
    /// Radix or number of children of a tree; 0 for the default of the algorithm.
    pub radix: u32,
    /// The algorithms of the parts of this algorithm.
    pub parts: [Option<&'static Algorithm>; PARTS],
    /// The algorithms of the levels, if the algorithm has levels.
    pub levels: Option<Rc<Plans>>,
}

/// The algorithms of the levels of a hierarchical algorithm.
pub type Plans = [Option<Plan>; PARTS];

impl Plan {
    /// Returns the algorithm with the parameters, the parts and the levels that a call has.
    pub(crate) fn new(algorithm: &'static Algorithm, call: &Call) -> Self {
        Self {
            algorithm,
            segment: call.segment,
            radix: call.radix,
            parts: call.parts,
            levels: call.levels.clone(),
        }
    }
}

/// The largest number of parts of an algorithm.
pub(crate) const PARTS: usize = 5;

impl Call {
    /// Returns the nodes of the ranks.
    ///
    /// # Panics
    /// If each rank has a separate node: hierarchical algorithms do not suit such calls.
    pub(crate) fn nodes(&self) -> &Nodes {
        let nodes = self.nodes.as_ref();
        nodes.expect("a hierarchical algorithm has nodes with several ranks")
    }

    /// Returns the number of the own node.
    pub(crate) fn node(&self) -> u32 {
        self.nodes().node(self.rank)
    }

    /// Returns the leader of the node of a rank.
    pub(crate) fn leader_of(&self, rank: u32) -> u32 {
        let nodes = self.nodes();
        nodes.rank(nodes.node(rank), 0)
    }

    /// Returns true at leaders.
    pub(crate) fn is_leader(&self) -> bool {
        self.nodes().rank_index(self.rank) == 0
    }

    /// Returns a call of the group of this rank; `None` if the rank is alone or in no group.
    pub(crate) fn of_group(&self, group: Group, kind: Collective, bytes: u64) -> Option<Self> {
        let (rank, size) = match group {
            Group::All => (self.rank, self.size),
            Group::Node => {
                let nodes = self.nodes();
                (nodes.rank_index(self.rank), nodes.size(self.node()))
            }
            Group::Leaders if !self.is_leader() => return None,
            Group::Leaders => (self.node(), self.nodes().count()),
            Group::Own => {
                let own = self.own_group();
                (self.rank - own.start, own.end - own.start)
            }
        };
        let call = Self {
            commutative: self.commutative,
            element: self.element,
            ..Self::new(kind, rank, size, bytes)
        };
        (size > 1).then_some(call)
    }
}

/// A stage of a hierarchical schedule; one is over at a rank before the next one begins there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScheduleStage {
    /// The part of this number, in these areas.
    Level(usize, Places),
    /// A message from one rank to another; if both are equal, no message is sent.
    Message {
        source: u32,
        destination: u32,
        out: Part,
        into: Part,
    },
    /// Other steps of one round.
    Steps(fn(&Call, &mut dyn Steps)),
}

/// The stages of a hierarchical algorithm at a rank.
pub(crate) struct Stages<'a, const N: usize> {
    pub(crate) call: &'a Call,
    pub(crate) levels: &'static [Level],
    pub(crate) stages: [ScheduleStage; N],
}

impl<const N: usize> Stages<'_, N> {
    /// Returns the number of rounds of the calling rank.
    pub(crate) fn rounds(&self) -> u32 {
        self.stages.iter().map(|stage| self.rounds_of(stage)).sum()
    }

    /// Returns the bytes of `Temp` that the parts need, including the offset of each part.
    pub(crate) fn temp(&self) -> u64 {
        let temp = |stage: &ScheduleStage| match stage {
            ScheduleStage::Level(number, places) => self
                .planned_part(*number)
                .map_or(0, |(plan, call)| places.temp + (plan.algorithm.temp)(&call)),
            _ => 0,
        };
        self.stages.iter().map(temp).max().unwrap_or(0)
    }

    /// Returns the number of lanes: the largest one of a part.
    pub(crate) fn lanes(&self) -> u32 {
        let lanes = |stage: &ScheduleStage| match stage {
            ScheduleStage::Level(number, _) => self
                .planned_part(*number)
                .map_or(1, |(plan, call)| (plan.algorithm.lanes)(&call)),
            _ => 1,
        };
        self.stages.iter().map(lanes).max().unwrap_or(1)
    }

    /// Makes the steps of a round. All lanes end a stage before one begins the next.
    pub(crate) fn round(&self, round: u32, steps: &mut dyn Steps) {
        let mut left = round;
        for stage in &self.stages {
            let rounds = self.rounds_of(stage);
            if left < rounds {
                if left == 0 {
                    steps.join();
                }
                return self.make_stage_round(stage, left, steps);
            }
            left -= rounds;
        }
    }

    fn rounds_of(&self, stage: &ScheduleStage) -> u32 {
        match stage {
            ScheduleStage::Level(number, _) => self
                .planned_part(*number)
                .map_or(0, |(plan, call)| (plan.algorithm.rounds)(&call)),
            ScheduleStage::Message {
                source,
                destination,
                ..
            } => {
                let own = self.call.rank;
                u32::from(source != destination && (own == *source || own == *destination))
            }
            ScheduleStage::Steps(_) => 1,
        }
    }

    fn planned_part(&self, number: usize) -> Option<(Plan, Call)> {
        let call = self.levels[number].group_call(self.call)?;
        let plan = self.call.plan(number);
        let call = Call {
            segment: plan.segment,
            radix: plan.radix,
            parts: plan.parts,
            levels: plan.levels.clone(),
            ..call
        };
        Some((plan, call))
    }

    fn make_stage_round(&self, stage: &ScheduleStage, round: u32, steps: &mut dyn Steps) {
        match stage {
            ScheduleStage::Level(number, places) => {
                let Some((plan, call)) = self.planned_part(*number) else {
                    return;
                };
                if steps.lane() >= (plan.algorithm.lanes)(&call) {
                    return;
                }
                let group = self.levels[*number].group;
                let rank = |rank| group.comm_rank(self.call, rank);
                let mut renumbered = Renumbered { steps, rank };
                places.run(plan.algorithm, &call, round, &mut renumbered);
            }
            _ if steps.lane() > 0 => {}
            ScheduleStage::Message {
                source,
                destination,
                out,
                into,
            } => {
                if self.call.rank == *source {
                    steps.send(*destination, *out);
                } else {
                    steps.recv(*source, *into);
                }
            }
            ScheduleStage::Steps(make) => make(self.call, steps),
        }
    }
}

impl Call {
    /// Returns the algorithm of a part of a hierarchical algorithm.
    ///
    /// # Panics
    /// If there is none: the call was not made for a hierarchical algorithm.
    fn plan(&self, number: usize) -> Plan {
        let plans = self.levels.as_ref();
        let plan = plans.and_then(|plans| plans[number].clone());
        plan.expect("a hierarchical algorithm has the algorithms of its parts")
    }
}
