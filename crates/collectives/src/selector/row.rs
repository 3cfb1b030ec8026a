//! The conditions of a row, and the properties of a call that they look at.

use std::fmt;

use serde::Deserialize;

use super::{Choice, Facts};
use crate::partners::power_of_two_below;
use crate::{Call, Collective};

/// The number that the limits of a row look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Measure {
    /// Bytes of the contribution or of the block of a rank.
    #[default]
    Own,
    /// Bytes of the blocks of all ranks together.
    Total,
    /// Bytes of all blocks, divided by the number of ranks and rounded down.
    Average,
    /// Elements of the blocks of all ranks together.
    TotalElements,
}

impl Measure {
    pub(super) const ALL: [Self; 4] = [Self::Own, Self::Total, Self::Average, Self::TotalElements];

    const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Total => "total",
            Self::Average => "average",
            Self::TotalElements => "total_elements",
        }
    }

    /// Returns true if all ranks of a call measure the same number.
    ///
    /// With different block lengths, only some operations tell a rank the lengths at other ranks.
    pub(super) const fn is_common(self, collective: Collective) -> bool {
        match collective {
            Collective::Gatherv
            | Collective::Scatterv
            | Collective::Alltoallv
            | Collective::Alltoallw => false,
            Collective::Allgatherv | Collective::ReduceScatter => !matches!(self, Self::Own),
            _ => true,
        }
    }
}

/// The properties of a call that rows have conditions for.
pub(super) trait Properties {
    fn rank_count(&self) -> u32;
    fn ranks_per_node(&self) -> u32;
    /// Returns true if ranks are on several nodes.
    fn has_several_nodes(&self) -> bool;
    /// Returns true if all nodes have the same number of ranks, and consecutive ones.
    fn has_regular_nodes(&self) -> bool;
    fn is_commutative(&self) -> bool;
    fn is_built_in(&self) -> bool;
    fn has_equal_blocks(&self) -> bool;
    /// Returns true if the contribution has an element for each rank of the largest power of two.
    fn has_elements(&self) -> bool;
    fn measured(&self, measure: Measure) -> u64;
}

/// A call with the known facts besides the arguments.
pub(super) struct Described<'a> {
    pub(super) call: &'a Call,
    pub(super) facts: Facts,
}

impl Properties for Described<'_> {
    fn rank_count(&self) -> u32 {
        self.call.size
    }

    fn ranks_per_node(&self) -> u32 {
        self.facts.ranks_per_node
    }

    fn has_several_nodes(&self) -> bool {
        self.facts.several_nodes
    }

    fn has_regular_nodes(&self) -> bool {
        self.facts.regular_nodes
    }

    fn is_commutative(&self) -> bool {
        self.call.commutative
    }

    fn is_built_in(&self) -> bool {
        self.facts.built_in
    }

    fn has_equal_blocks(&self) -> bool {
        self.call.blocks.is_none()
    }

    fn has_elements(&self) -> bool {
        self.call.count() >= u64::from(power_of_two_below(self.call.size))
    }

    fn measured(&self, measure: Measure) -> u64 {
        let call = self.call;
        let total = || match call.collective {
            Collective::Allgather
            | Collective::Allgatherv
            | Collective::Gather
            | Collective::Gatherv => call.recv_total(),
            _ => call.send_total(),
        };
        match measure {
            Measure::Own => call.bytes,
            Measure::Total => total(),
            Measure::Average => total() / u64::from(call.size),
            Measure::TotalElements => total() / call.element.max(1),
        }
    }
}

/// Limits of a number, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits<T> {
    pub(super) first: T,
    pub(super) last: T,
}

impl<T: Copy + Ord> Limits<T> {
    pub(super) fn contain(self, value: T) -> bool {
        self.first <= value && value <= self.last
    }
}

impl From<Option<(u32, u32)>> for Limits<u32> {
    fn from(limits: Option<(u32, u32)>) -> Self {
        let (first, last) = limits.unwrap_or((0, u32::MAX));
        Self { first, last }
    }
}

impl From<Option<(u64, u64)>> for Limits<u64> {
    fn from(limits: Option<(u64, u64)>) -> Self {
        let (first, last) = limits.unwrap_or((0, u64::MAX));
        Self { first, last }
    }
}

impl Limits<u64> {
    /// Returns true if every number is within the limits.
    pub(super) const fn are_open(self) -> bool {
        self.first == 0 && self.last == u64::MAX
    }
}

/// A row of a selector.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SelectorRow {
    pub(super) ranks: Limits<u32>,
    pub(super) bytes: Limits<u64>,
    pub(super) measure: Measure,
    pub(super) commutative: Option<bool>,
    pub(super) built_in: Option<bool>,
    pub(super) power_of_two: Option<bool>,
    pub(super) elements: Option<bool>,
    pub(super) equal_blocks: Option<bool>,
    pub(super) ranks_per_node: Limits<u32>,
    pub(super) several_nodes: Option<bool>,
    pub(super) regular_nodes: Option<bool>,
    pub(super) choice: Choice,
}

impl SelectorRow {
    /// Returns true if the conditions hold that are either true or false.
    pub(super) fn matches_flags(&self, properties: &impl Properties) -> bool {
        let is = |wanted: Option<bool>, value: bool| wanted.is_none_or(|wanted| wanted == value);
        is(self.commutative, properties.is_commutative())
            && is(self.built_in, properties.is_built_in())
            && is(self.equal_blocks, properties.has_equal_blocks())
            && is(self.several_nodes, properties.has_several_nodes())
            && is(self.regular_nodes, properties.has_regular_nodes())
            && self
                .power_of_two
                .is_none_or(|wanted| wanted == properties.rank_count().is_power_of_two())
            && self
                .elements
                .is_none_or(|wanted| wanted == properties.has_elements())
    }

    /// Returns true if the measured number is within the limits.
    pub(super) fn matches_bytes(&self, properties: &impl Properties) -> bool {
        self.bytes.are_open() || self.bytes.contain(properties.measured(self.measure))
    }

    /// Returns true if all conditions hold.
    pub(super) fn matches(&self, properties: &impl Properties) -> bool {
        self.ranks.contain(properties.rank_count())
            && self.ranks_per_node.contain(properties.ranks_per_node())
            && self.matches_flags(properties)
            && self.matches_bytes(properties)
    }

    /// Returns true if there are no conditions that are either true or false.
    pub(super) const fn has_no_flags(&self) -> bool {
        self.commutative.is_none()
            && self.built_in.is_none()
            && self.power_of_two.is_none()
            && self.elements.is_none()
            && self.equal_blocks.is_none()
            && self.several_nodes.is_none()
            && self.regular_nodes.is_none()
    }
}

/// Writes the row as in a file, without the braces.
impl fmt::Display for SelectorRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, limits) in [
            ("ranks_per_node", self.ranks_per_node),
            ("ranks", self.ranks),
        ] {
            if limits != Limits::from(None::<(u32, u32)>) {
                write!(f, "{name} = [{}, {}], ", limits.first, limits.last)?;
            }
        }
        if !self.bytes.are_open() {
            write!(f, "bytes = [{}, {}], ", self.bytes.first, self.bytes.last)?;
            if self.measure != Measure::Own {
                write!(f, "measure = \"{}\", ", self.measure.name())?;
            }
        }
        for (name, wanted) in [
            ("commutative", self.commutative),
            ("built_in", self.built_in),
            ("power_of_two", self.power_of_two),
            ("elements", self.elements),
            ("equal_blocks", self.equal_blocks),
            ("several_nodes", self.several_nodes),
            ("regular_nodes", self.regular_nodes),
        ] {
            if let Some(wanted) = wanted {
                write!(f, "{name} = {wanted}, ")?;
            }
        }
        write!(f, "algorithm = \"{}\"", self.choice.name())?;
        if self.choice.segment != 0 {
            write!(f, ", segment = {}", self.choice.segment)?;
        }
        if self.choice.radix != 0 {
            write!(f, ", radix = {}", self.choice.radix)?;
        }
        Ok(())
    }
}
