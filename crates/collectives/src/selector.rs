//! Selection of an algorithm for a call: tables as data.
//!
//! A selector is a TOML file with an array of rows for each kind of operation. The first row that
//! matches the call gives the algorithm.
//!
//! ```toml
//! version = 1
//! name = "mine"
//! source = "measured on our cluster"
//!
//! [[allreduce]]
//! ranks = [2, 8]              # number of ranks, both included
//! bytes = [0, 2047]           # both included
//! commutative = true          # of the operation
//! algorithm = "recursive_doubling"
//!
//! [[allreduce]]
//! algorithm = "ring"
//! segment = 65536             # in bytes
//! ```
//!
//! Rows can be written on a line each, as in `allreduce = [ { ranks = [2, 8], algorithm = "ring" },
//! … ]`. An algorithm is a name of this package, or a name of another library with the library in
//! front, such as `openmpi:ring`.
//!
//! Other conditions are `ranks_per_node` (both included, of the node with most ranks),
//! `several_nodes`, `regular_nodes` (all nodes have the same number of ranks, and consecutive
//! ranks), `power_of_two` (the number of ranks), `built_in` (the operation is predefined, not made
//! by the program), `equal_blocks`, and `elements` (the contribution has at least one element for
//! each rank of the largest power of two).
//!
//! *Bytes* are the length that the library of the table uses: the contribution or the block of a
//! rank (`measure = "own"`, the default), the blocks of all ranks together (`"total"`), their
//! average, rounded down (`"average"`), or the number of elements instead of bytes
//! (`"total_elements"`). Operations with blocks of different lengths have conditions only for
//! values that all ranks know.
//!
//! For calls that no row of a table matches, the selector `base` is used, which is a selector of
//! this package (`base = "mpich"`). Without `base`, a table has rows for all calls, or no rows:
//! then the table of simrun is used. A row with an algorithm that cannot execute the call is
//! replaced by the fallback of the algorithm; without a fallback, the next matching row is taken.
//!
//! With `smpi_communicators = true`, new communicators are made with the messages of SMPI.
//!
//! A table `[nccl]` describes a machine for the estimates of NCCL. For operations that NCCL knows,
//! these estimates select the algorithm; for other operations rows select.

mod built_in;
mod choice;
mod coverage;
mod file;
mod nccl;
mod row;
mod table;

use std::fmt;
use std::rc::Rc;

use built_in::BUILT_IN;
pub use choice::Choice;
use nccl::CostModel;
pub use nccl::Estimate;
use row::{Described, SelectorRow};
use table::OperationTable;

use crate::algorithms::between::between;
use crate::levels::PARTS;
use crate::{Algorithm, Call, Collective, Group, Nodes, Plan, Plans, QUADRATIC_RANKS_MAX, named};

/// Properties of a call besides the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// True if the operation is not one of the program.
    pub built_in: bool,
    /// The largest number of ranks of the communicator on a node.
    pub ranks_per_node: u32,
    /// True if the ranks are on several nodes.
    pub several_nodes: bool,
    /// True if all nodes have the same number of ranks, and consecutive ones.
    pub regular_nodes: bool,
}

impl Facts {
    /// Returns the properties of a call of ranks on these nodes, or of one rank on each node, with
    /// an operation that is not one of the program.
    #[must_use]
    pub fn from_nodes(nodes: Option<&Nodes>) -> Self {
        nodes.map_or_else(Self::default, |nodes| Self {
            ranks_per_node: nodes.ranks_per_node(),
            several_nodes: nodes.count() > 1,
            regular_nodes: nodes.is_uniform() && nodes.is_consecutive(),
            ..Self::default()
        })
    }
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            built_in: true,
            ranks_per_node: 1,
            several_nodes: true,
            regular_nodes: true,
        }
    }
}

/// Tables that select algorithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Selector {
    name: String,
    source: String,
    /// The selector of operations without rows; `None` stands for the selector of simrun.
    base: Option<&'static Self>,
    /// Kinds of operations for all of which the library finds out the nodes of the ranks.
    asks_nodes: [bool; Collective::ALL.len()],
    /// True if new communicators are made with the messages of SMPI.
    smpi_communicators: bool,
    /// Algorithms that are used for all calls of a kind.
    forced: [Option<Choice>; Collective::ALL.len()],
    /// Estimates that select before rows.
    model: Option<CostModel>,
    /// By kind of operation.
    tables: [OperationTable; Collective::ALL.len()],
}

/// An algorithm that was selected, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The algorithm: the algorithm of the choice, or a fallback.
    pub algorithm: &'static Algorithm,
    /// The choice.
    pub choice: &'a Choice,
    /// The reason.
    pub grounds: Grounds<'a>,
}

/// The reason of a selection.
#[derive(Clone, Copy, Debug)]
pub enum Grounds<'a> {
    /// The choice is used for all calls of the kind.
    Forced,
    /// A row matched.
    Row(SelectedRow<'a>),
    /// The choice has the shortest estimated time.
    Estimate(SelectedEstimate<'a>),
}

/// The estimates of a selector for a call.
#[derive(Clone, Copy, Debug)]
pub struct SelectedEstimate<'a> {
    /// The selector that estimates.
    pub selector: &'a str,
    /// The shortest estimate.
    pub shortest: Estimate,
    model: &'a CostModel,
}

impl SelectedEstimate<'_> {
    /// Returns the estimates of all algorithms for the call, from the shortest to the longest.
    #[must_use]
    pub fn all_estimates(&self, call: &Call) -> Vec<Estimate> {
        self.model.estimates(call)
    }
}

/// A row that matched a call.
#[derive(Clone, Copy, Debug)]
pub struct SelectedRow<'a> {
    /// The selector that has the row.
    pub selector: &'a str,
    /// The number among the rows of the kind of operation, from 1 on.
    pub number: usize,
    row: &'a SelectorRow,
}

/// Writes the row as in a file.
impl fmt::Display for SelectedRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row.fmt(f)
    }
}

/// The reason why no algorithm was selected. The value is as short as other errors of a call,
/// because errors are part of the state of each operation.
#[derive(Clone, Copy, Debug)]
pub enum Unsuited {
    /// The named algorithm cannot execute the call, and has no fallback.
    Named {
        /// The algorithm.
        algorithm: &'static Algorithm,
        /// True if the call meets the requirement, but the operation is not commutative.
        needs_commutative: bool,
        /// An algorithm that can.
        usable: Option<&'static Algorithm>,
    },
    /// No row matches.
    NoRow,
    /// The selected algorithm has too many messages for so large a communicator.
    Quadratic {
        /// The algorithm.
        algorithm: &'static Algorithm,
        /// An algorithm that can execute the call with fewer.
        usable: Option<&'static Algorithm>,
    },
}

impl PartialEq for Unsuited {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Named { algorithm, .. },
                Self::Named {
                    algorithm: other, ..
                },
            )
            | (
                Self::Quadratic { algorithm, .. },
                Self::Quadratic {
                    algorithm: other, ..
                },
            ) => algorithm.name == other.name,
            (Self::NoRow, Self::NoRow) => true,
            _ => false,
        }
    }
}

impl Eq for Unsuited {}

impl Selector {
    /// The name of the selector of this package.
    pub const DEFAULT_NAME: &str = "ours";

    /// Returns the selector of this package.
    #[must_use]
    pub fn ours() -> &'static Self {
        let [ours, ..] = &BUILT_IN;
        ours.selector()
    }

    /// Returns the selector of this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<&'static Self> {
        let found = BUILT_IN.iter().find(|known| known.name == name)?;
        Some(found.selector())
    }

    /// Returns the names of the selectors, of which none is read.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|known| known.name)
    }

    /// Returns the selector that a file describes.
    ///
    /// # Errors
    /// A text that names the mistake: syntax with line and column, an unknown key, operation or
    /// algorithm, or calls that no row matches.
    pub fn parse(text: &str) -> Result<Self, String> {
        let selector = file::parse(text)?;
        selector.check_coverage()?;
        Ok(selector)
    }

    /// Checks that each table with rows has one for all calls, if there is no base.
    ///
    /// # Errors
    /// A text that names the operation, and a call that no row matches.
    pub fn check_coverage(&self) -> Result<(), String> {
        if self.base.is_some() {
            return Ok(());
        }
        for (collective, table) in Collective::ALL.into_iter().zip(&self.tables) {
            if let Some(call) = coverage::uncovered(table) {
                return Err(format!("{collective}: no row matches {call}"));
            }
        }
        Ok(())
    }

    /// Uses an algorithm for all calls of a kind: an algorithm of this package, or one of another
    /// library with the library in front, such as `smpi:lr`. A segment length or a radix of 0
    /// stands for the default of the algorithm.
    ///
    /// # Errors
    /// A text with the known names if there is no such algorithm.
    pub fn force(
        &mut self,
        collective: Collective,
        algorithm: &str,
        segment: u64,
        radix: u32,
    ) -> Result<(), String> {
        let mut choice = Choice::from_name(collective, algorithm, &[])?;
        (choice.segment, choice.radix) = (segment, radix);
        self.forced[collective as usize] = Some(choice);
        Ok(())
    }

    /// Returns true if the library of the selector finds out the nodes of the ranks by messages,
    /// before the first call of the communicator that asks for them.
    #[must_use]
    pub fn asks_nodes(&self, selection: &Selection<'_>, kind: Collective) -> bool {
        selection.choice.asks_nodes || self.asks_nodes[kind as usize]
    }

    /// Returns true if new communicators are made with the messages of SMPI, in this selector or in
    /// the base.
    #[must_use]
    pub fn has_smpi_communicators(&self) -> bool {
        self.smpi_communicators || self.base.is_some_and(Self::has_smpi_communicators)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the library of the tables with its version, or the measurement behind the tables.
    #[must_use]
    pub fn table_source(&self) -> &str {
        &self.source
    }

    /// Selects an algorithm, and sets parameters and parts in the call.
    ///
    /// # Errors
    /// [`Unsuited`] if no row matches, a forced algorithm cannot execute the call, or an algorithm
    /// that is not forced has too many messages.
    pub fn select(&self, call: &mut Call, facts: Facts) -> Result<&'static Algorithm, Unsuited> {
        self.choose_algorithm(call, facts)
            .map(|selection| selection.algorithm)
    }

    /// Selects an algorithm as [`select`](Self::select), and tells the reason.
    ///
    /// # Errors
    /// As for [`select`](Self::select).
    pub fn choose_algorithm(
        &self,
        call: &mut Call,
        facts: Facts,
    ) -> Result<Selection<'_>, Unsuited> {
        let selection = self.choose_any(call, facts)?;
        let algorithm = selection.algorithm;
        let is_forced = matches!(selection.grounds, Grounds::Forced);
        if algorithm.quadratic && !is_forced && call.size > QUADRATIC_RANKS_MAX {
            let mut all = named(call.collective);
            return Err(Unsuited::Quadratic {
                algorithm,
                usable: all.find(|other| !other.quadratic && other.suits(call)),
            });
        }
        Ok(selection)
    }

    /// Selects the algorithms inside the groups of a call over an intercommunicator, and sets them
    /// in the call. Returns the algorithm of the call, which is the same for all selectors.
    pub fn choose_between(&self, call: &mut Call, facts: Facts) -> &'static Algorithm {
        let algorithm = between(call.collective);
        if !algorithm.levels.is_empty() {
            self.plan_levels(algorithm, call, facts);
        }
        algorithm
    }

    /// Selects an algorithm without a limit on the number of messages.
    fn choose_any(&self, call: &mut Call, facts: Facts) -> Result<Selection<'_>, Unsuited> {
        if let Some(choice) = &self.forced[call.collective as usize] {
            return match self.try_choice(choice, call, facts) {
                Some(algorithm) => Ok(Selection {
                    algorithm,
                    choice,
                    grounds: Grounds::Forced,
                }),
                None => Err(unsuited(choice, call)),
            };
        }
        if let Some(selection) = self.choose_by_estimates(call, facts) {
            return Ok(selection);
        }
        self.choose_by_rows(call, facts)
    }

    fn choose_by_estimates(&self, call: &mut Call, facts: Facts) -> Option<Selection<'_>> {
        let model = self.model.as_ref()?;
        let (choice, segment, shortest) = model.choose_fastest(call)?;
        let algorithm = self.try_choice(choice, call, facts)?;
        call.nodes = model.nodes(call);
        call.segment = segment;
        Some(Selection {
            algorithm,
            choice,
            grounds: Grounds::Estimate(SelectedEstimate {
                selector: &self.name,
                shortest,
                model,
            }),
        })
    }

    fn choose_by_rows(&self, call: &mut Call, facts: Facts) -> Result<Selection<'_>, Unsuited> {
        if let Some(selection) = self.try_rows(call, facts) {
            return Ok(selection);
        }
        let ours = Self::ours();
        if std::ptr::eq(self, ours) {
            return Err(Unsuited::NoRow);
        }
        self.base.unwrap_or(ours).choose_any(call, facts)
    }

    fn try_rows(&self, call: &mut Call, facts: Facts) -> Option<Selection<'_>> {
        let table = &self.tables[call.collective as usize];
        let mut least = 0;
        loop {
            let described = Described { call, facts };
            let (number, row) = table.find_row(&described, |number, row| {
                (number >= least).then_some((number, row))
            })?;
            if let Some(algorithm) = self.try_choice(&row.choice, call, facts) {
                return Some(Selection {
                    algorithm,
                    choice: &row.choice,
                    grounds: Grounds::Row(SelectedRow {
                        selector: &self.name,
                        number: number + 1,
                        row,
                    }),
                });
            }
            // No row looks at what has been set in the call.
            least = number + 1;
        }
    }

    fn try_choice(
        &self,
        choice: &Choice,
        call: &mut Call,
        facts: Facts,
    ) -> Option<&'static Algorithm> {
        let algorithm = choice.apply_parameters(call)?;
        for (number, kind) in algorithm.parts.iter().enumerate() {
            if call.parts[number].is_none() {
                let selection = self.choose_any(&mut part_call(call, *kind), facts).ok();
                call.parts[number] = selection.map(|selection| selection.algorithm);
            }
        }
        if !algorithm.levels.is_empty() {
            self.plan_levels(algorithm, call, facts);
        }
        Some(algorithm)
    }
}

impl Selector {
    /// Selects algorithms for levels of a hierarchical algorithm without an algorithm in the
    /// choice; algorithms of the choice get the parameters of the call.
    fn plan_levels(&self, algorithm: &Algorithm, call: &mut Call, facts: Facts) {
        let mut plans = Plans::default();
        for (number, level) in algorithm.levels.iter().enumerate() {
            let Some(mut part) = level.group_call(call) else {
                continue;
            };
            if level.group == Group::All {
                // Another call of the same ranks, as of the program.
                let found = self.choose_any(&mut part, facts).ok();
                plans[number] = found.map(|found| Plan::new(found.algorithm, &part));
                continue;
            }
            let is_within = level.group == Group::Node;
            let facts = Facts {
                ranks_per_node: if is_within { part.size } else { 1 },
                several_nodes: !is_within,
                regular_nodes: true,
                ..facts
            };
            let given = call.parts[number].and_then(|given| {
                let mut choice = Choice::from(given);
                (choice.segment, choice.radix) = (call.segment, call.radix);
                self.try_choice(&choice, &mut part, facts)
            });
            // A hierarchical algorithm for all calls has the algorithms of the rows at its levels.
            let forced = self.forced[level.collective as usize].as_ref();
            let by_choice = given.or_else(|| {
                let forced = forced.filter(|choice| choice.algorithm.levels.is_empty())?;
                self.try_choice(forced, &mut part, facts)
            });
            let by_rows = |selection: Selection<'_>| selection.algorithm;
            let found = by_choice
                .or_else(|| self.choose_by_rows(&mut part, facts).ok().map(by_rows))
                .or_else(|| Self::ours().choose_any(&mut part, facts).ok().map(by_rows));
            plans[number] = found.map(|algorithm| Plan::new(algorithm, &part));
        }
        call.levels = Some(Rc::new(plans));
    }
}

/// Returns the call of a part of an algorithm, as selectors use it.
fn part_call(call: &Call, kind: Collective) -> Call {
    // What is reduced, or broadcast, is all blocks.
    let all = match (call.collective, kind) {
        (Collective::ReduceScatter | Collective::ReduceScatterBlock, Collective::Reduce) => {
            Some(call.send_total())
        }
        (Collective::Allgather | Collective::Allgatherv, Collective::Bcast) => {
            Some(call.recv_total())
        }
        _ => None,
    };
    match all {
        Some(bytes) => call.inner(kind, bytes),
        None => Call {
            collective: kind,
            parts: [None; PARTS],
            nodes: None,
            ..call.clone()
        },
    }
}

/// Returns the reason why a choice cannot execute a call.
fn unsuited(choice: &Choice, call: &Call) -> Unsuited {
    Unsuited::Named {
        algorithm: choice.algorithm,
        needs_commutative: choice.algorithm.needs.holds(call),
        usable: named(call.collective).find(|algorithm| algorithm.suits(call)),
    }
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named {
                algorithm,
                needs_commutative,
                usable,
            } => {
                let needs = if *needs_commutative {
                    "an operation that is commutative"
                } else {
                    algorithm.needs.in_words()
                };
                write!(f, "{} needs {needs}", algorithm.name)?;
                usable.map_or(Ok(()), |usable| {
                    write!(f, "; {} does not need that", usable.name)
                })
            }
            Self::NoRow => f.write_str("no row of the selector matches"),
            Self::Quadratic { algorithm, usable } => {
                write!(
                    f,
                    "{} of more than {QUADRATIC_RANKS_MAX} ranks has too many messages",
                    algorithm.name
                )?;
                usable.map_or(Ok(()), |usable| {
                    write!(
                        f,
                        ": expected one with fewer, such as {}, or {} for all calls",
                        usable.name, algorithm.name
                    )
                })
            }
        }
    }
}
