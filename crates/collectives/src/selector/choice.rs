//! An algorithm with parameters, by the name in this package or the name in another library.

use std::borrow::Cow;

use crate::aliases::{self, Alias};
use crate::levels::{Group, Level, PARTS};
use crate::{Algorithm, Call, Collective, find, named};

/// An algorithm with parameters.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// The algorithms of the parts, if the algorithm has parts; the selector chooses parts that are
    /// not given.
    pub parts: [Option<&'static Algorithm>; PARTS],
    /// Length of a segment in bytes; 0 for the default of the algorithm.
    pub segment: u64,
    /// Radix or number of children of a tree; 0 for the default of the algorithm.
    pub radix: u32,
    /// True if the library exchanges messages before the first call to find the nodes of the ranks.
    pub asks_nodes: bool,
    /// A library and the name in this library, which has separate rules for parameters and parts.
    alias: Option<(&'static str, &'static Alias)>,
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        let parts = |choice: &Self| choice.parts.map(|part| part.map(|part| part.name));
        self.name() == other.name()
            && parts(self) == parts(other)
            && (self.segment, self.radix) == (other.segment, other.radix)
    }
}

impl Choice {
    /// Returns the choice with a name: a name of this package, or an alias with its library.
    pub(super) fn from_name(
        collective: Collective,
        name: &str,
        parts: &[String],
    ) -> Result<Self, String> {
        if let Some((library, alias)) = aliases::find_with_library(collective, name) {
            return Ok(Self {
                parts: resolve(alias.algorithm, &alias.parts)?,
                asks_nodes: alias.asks_nodes,
                alias: Some((library, alias)),
                ..Self::from(alias.algorithm)
            });
        }
        let algorithm = find(collective, name).ok_or_else(|| unknown(collective, name))?;
        let expected = algorithm.part_kinds().count();
        if parts.len() > expected {
            let found = parts.len();
            return Err(format!("{name} has {expected} parts: found {found}"));
        }
        let parts = resolve(algorithm, parts)?;
        Ok(Self {
            parts,
            ..Self::from(algorithm)
        })
    }

    /// Returns the name as in a row: `ring`, or `openmpi:ring`.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        match self.alias {
            Some((library, alias)) => Cow::Owned(format!("{library}:{}", alias.name)),
            None => Cow::Borrowed(self.algorithm.name),
        }
    }

    /// Sets the parameters and the parts of a call. Returns the algorithm, or its fallback; `None`
    /// if neither can execute the call.
    pub(super) fn apply_parameters(&self, call: &mut Call) -> Option<&'static Algorithm> {
        (call.segment, call.radix) = (self.segment, self.radix);
        call.parts = self.parts;
        let mut algorithm = match self.alias {
            None => self.algorithm,
            Some((_, alias)) => {
                // The usual algorithm of an alias is known with its parts.
                let is_usual = alias.choose_algorithm(call).name == self.algorithm.name;
                if is_usual && self.algorithm.suits(call) {
                    return Some(self.algorithm);
                }
                call.parts = [None; PARTS];
                alias.apply_parameters(call)
            }
        };
        if call.nodes.is_none()
            && let Some(leaders) = self.part_of_leaders(algorithm)
        {
            call.parts = [None; PARTS];
            algorithm = leaders;
        }
        while !algorithm.suits(call) {
            algorithm = find(call.collective, algorithm.fallback)?;
        }
        Some(algorithm)
    }
}

impl Choice {
    /// Returns the given part of a hierarchical algorithm that remains if each rank has a separate
    /// node.
    fn part_of_leaders(&self, algorithm: &Algorithm) -> Option<&'static Algorithm> {
        let mut levels = algorithm.levels.iter().zip(self.parts);
        let [kind, ..] = algorithm.collectives else {
            return None;
        };
        let is_left = |level: &Level| level.group == Group::Leaders && level.collective == *kind;
        levels.find_map(|(level, part)| part.filter(|_| is_left(level)))
    }
}

impl From<&'static Algorithm> for Choice {
    fn from(algorithm: &'static Algorithm) -> Self {
        Self {
            algorithm,
            parts: [None; PARTS],
            segment: 0,
            radix: 0,
            asks_nodes: false,
            alias: None,
        }
    }
}

/// Returns the algorithms that have these names as parts of an algorithm.
fn resolve(
    algorithm: &Algorithm,
    names: &[String],
) -> Result<[Option<&'static Algorithm>; PARTS], String> {
    let mut found = [None; PARTS];
    for (number, (kind, name)) in algorithm.part_kinds().zip(names).enumerate() {
        found[number] = Some(find(kind, name).ok_or_else(|| unknown(kind, name))?);
    }
    Ok(found)
}

fn unknown(collective: Collective, name: &str) -> String {
    let all: Vec<&str> = named(collective).map(|algorithm| algorithm.name).collect();
    format!(
        "unknown algorithm '{name}' of {collective}: expected {}",
        all.join(", ")
    )
}
