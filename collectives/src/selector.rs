//! Selection of an algorithm for a call: tables as data.
//!
//! A selector is a TOML file: for each kind of operation an array of rows, of which the first that
//! matches the call has the algorithm.
//!
//! ```toml
//! version = 1
//! name = "mine"
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
//! *Bytes* are what the library of the table looks at: the contribution or the block of a rank
//! (`measure = "own"`, the default), the blocks of all ranks together (`"total"`), or their average
//! (`"average"`).
//!
//! A row whose algorithm cannot execute the call is replaced by the fallback of the algorithm; if
//! there is none, the next matching row is taken.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::aliases::{self, Alias};
use crate::{Algorithm, Call, Collective, find, named};

/// The bytes of a call that a row looks at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Measure {
    #[default]
    Own,
    Total,
    Average,
}

/// A row of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    ranks: Option<(u32, u32)>,
    bytes: Option<(u64, u64)>,
    #[serde(default)]
    measure: Measure,
    commutative: Option<bool>,
    built_in: Option<bool>,
    power_of_two: Option<bool>,
    /// True if the contribution has an element for each rank of the largest power of two.
    elements: Option<bool>,
    equal_blocks: Option<bool>,
    /// Number of ranks of each node, both included.
    ranks_per_node: Option<(u32, u32)>,
    algorithm: String,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    segment: u64,
    #[serde(default)]
    radix: u32,
}

#[derive(Debug, Deserialize)]
struct FileText {
    version: u32,
    name: String,
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    source: String,
    #[serde(flatten)]
    tables: BTreeMap<String, Vec<RowText>>,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// The algorithms of its parts, if it consists of others; those of the selector where they are
    /// not given.
    pub parts: [Option<&'static Algorithm>; 3],
    /// Length of a segment in bytes; 0 for that of the algorithm.
    pub segment: u64,
    /// Radix or number of children of a tree; 0 for that of the algorithm.
    pub radix: u32,
    /// The name in another library, which has its own rules for parameters and parts.
    alias: Option<&'static Alias>,
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        let parts = |choice: &Self| choice.parts.map(|part| part.map(|part| part.name));
        let alias = |choice: &Self| choice.alias.map(|alias| alias.name);
        alias(self) == alias(other)
            && self.algorithm.name == other.algorithm.name
            && parts(self) == parts(other)
            && (self.segment, self.radix) == (other.segment, other.radix)
    }
}

/// A row of a selector.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    ranks: (u32, u32),
    bytes: (u64, u64),
    measure: Measure,
    commutative: Option<bool>,
    built_in: Option<bool>,
    power_of_two: Option<bool>,
    elements: Option<bool>,
    equal_blocks: Option<bool>,
    ranks_per_node: (u32, u32),
    choice: Choice,
}

/// Properties of a call besides its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// True if the operation is not one of the program.
    pub built_in: bool,
    /// The largest number of ranks of the communicator on a node.
    pub ranks_per_node: u32,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            built_in: true,
            ranks_per_node: 1,
        }
    }
}

/// Tables that select algorithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Selector {
    name: String,
    /// Algorithms that are used for all calls of a kind.
    forced: [Option<Choice>; Collective::ALL.len()],
    /// By kind of operation.
    tables: [Vec<Row>; Collective::ALL.len()],
}

/// The reason why no algorithm was selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsuited {
    /// The named algorithm cannot execute the call, and none stands for it.
    Named {
        /// The algorithm.
        algorithm: &'static str,
        /// What it needs, to follow "needs".
        needs: &'static str,
        /// An algorithm that can; empty if there is none.
        usable: &'static str,
    },
    /// No row matches.
    NoRow,
}

impl Row {
    fn matches(&self, call: &Call, facts: Facts) -> bool {
        let within = |range: (u32, u32), value| range.0 <= value && value <= range.1;
        let is = |wanted: Option<bool>, value: bool| wanted.is_none_or(|wanted| wanted == value);
        let elements = || {
            let power = u64::from(crate::partners::power_of_two_below(call.size));
            call.count() >= power
        };
        within(self.ranks, call.size)
            && within(self.ranks_per_node, facts.ranks_per_node)
            && is(self.commutative, call.commutative)
            && is(self.built_in, facts.built_in)
            && is(self.power_of_two, call.size.is_power_of_two())
            && is(self.equal_blocks, call.blocks.is_none())
            && self.elements.is_none_or(|wanted| wanted == elements())
            && {
                let bytes = measured(self.measure, call);
                self.bytes.0 <= bytes && bytes <= self.bytes.1
            }
    }
}

fn measured(measure: Measure, call: &Call) -> u64 {
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
    }
}

impl Choice {
    /// Sets the parameters and the parts of a call. Returns the algorithm, or the fallback that
    /// stands for it; `None` if it cannot execute the call.
    fn apply(&self, call: &mut Call) -> Option<&'static Algorithm> {
        (call.segment, call.radix) = (self.segment, self.radix);
        call.parts = self.parts;
        let mut algorithm = match self.alias {
            Some(alias) => alias.apply(call),
            None => self.algorithm,
        };
        while !algorithm.suits(call) {
            algorithm = find(call.collective, algorithm.fallback)?;
        }
        Some(algorithm)
    }

    /// Returns the choice of a name: one of ours, or an alias with its library.
    fn named(collective: Collective, name: &str, parts: &[String]) -> Result<Self, String> {
        if let Some(alias) = aliases::find(collective, name) {
            let name = alias.algorithm;
            let algorithm = find(collective, name).ok_or_else(|| unknown(collective, name))?;
            let alias = Some(alias);
            return Ok(Self {
                alias,
                ..Self::from(algorithm)
            });
        }
        let algorithm = find(collective, name).ok_or_else(|| unknown(collective, name))?;
        let mut found = [None; 3];
        for (number, (kind, name)) in algorithm.parts.iter().zip(parts).enumerate() {
            found[number] = Some(find(*kind, name).ok_or_else(|| unknown(*kind, name))?);
        }
        if parts.len() > algorithm.parts.len() {
            let (found, expected) = (parts.len(), algorithm.parts.len());
            return Err(format!("{name} has {expected} parts: found {found}"));
        }
        let parts = found;
        Ok(Self {
            parts,
            ..Self::from(algorithm)
        })
    }
}

impl From<&'static Algorithm> for Choice {
    fn from(algorithm: &'static Algorithm) -> Self {
        Self {
            algorithm,
            parts: [None; 3],
            segment: 0,
            radix: 0,
            alias: None,
        }
    }
}

fn unknown(collective: Collective, name: &str) -> String {
    let all: Vec<&str> = named(collective).map(|algorithm| algorithm.name).collect();
    format!(
        "unknown algorithm '{name}' of {collective}: expected {}",
        all.join(", ")
    )
}

impl Row {
    fn new(collective: Collective, text: RowText) -> Result<Self, String> {
        let mut choice = Choice::named(collective, &text.algorithm, &text.parts)?;
        (choice.segment, choice.radix) = (text.segment, text.radix);
        Ok(Self {
            ranks: text.ranks.unwrap_or((0, u32::MAX)),
            bytes: text.bytes.unwrap_or((0, u64::MAX)),
            measure: text.measure,
            commutative: text.commutative,
            built_in: text.built_in,
            power_of_two: text.power_of_two,
            elements: text.elements,
            equal_blocks: text.equal_blocks,
            ranks_per_node: text.ranks_per_node.unwrap_or((0, u32::MAX)),
            choice,
        })
    }
}

/// The selectors of this package, each read when it is first used.
static BUILT_IN: [(&str, LazyLock<Selector>); 1] = [(
    "ours",
    LazyLock::new(|| read(include_str!("../selectors/ours.toml"))),
)];

fn read(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|error| panic!("a selector of this package: {error}"))
}

impl Selector {
    /// Returns the selector of this package.
    #[must_use]
    pub fn ours() -> &'static Self {
        let [(_, ours), ..] = &BUILT_IN;
        ours
    }

    /// Returns the selector of this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<&'static Self> {
        let (_, selector) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(selector)
    }

    /// Returns the names of the selectors.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the selector that a file describes.
    ///
    /// # Errors
    /// A text that names the mistake: syntax with line and column, an unknown key, operation or
    /// algorithm.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: FileText = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.version != 1 {
            return Err(format!("version = {}: expected 1", file.version));
        }
        let mut tables: [Vec<Row>; Collective::ALL.len()] = Default::default();
        for (name, rows) in file.tables {
            let Ok(collective) = name.parse::<Collective>() else {
                let all = Collective::ALL.map(Collective::name).join(", ");
                return Err(format!("unknown operation '{name}': expected {all}"));
            };
            for (number, row) in rows.into_iter().enumerate() {
                let row = Row::new(collective, row);
                let row = row.map_err(|error| format!("{name}, row {}: {error}", number + 1))?;
                tables[collective as usize].push(row);
            }
        }
        Ok(Self {
            name: file.name,
            forced: [None; Collective::ALL.len()],
            tables,
        })
    }

    /// Uses an algorithm for all calls of a kind: one of ours, or one of another library with its
    /// name in front, such as `smpi:lr`. A length of segments in bytes or a radix of 0 is that of
    /// the algorithm.
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
        let mut choice = Choice::named(collective, algorithm, &[])?;
        (choice.segment, choice.radix) = (segment, radix);
        self.forced[collective as usize] = Some(choice);
        Ok(())
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Selects an algorithm, and sets its parameters and parts in the call.
    ///
    /// # Errors
    /// [`Unsuited`] if no row matches, or an algorithm that was forced cannot execute the call.
    pub fn select(&self, call: &mut Call, facts: Facts) -> Result<&'static Algorithm, Unsuited> {
        if let Some(choice) = &self.forced[call.collective as usize] {
            return self.try_choice(choice, call, facts).ok_or_else(|| {
                let suited = named(call.collective).find(|algorithm| algorithm.suits(call));
                Unsuited::Named {
                    algorithm: choice.algorithm.name,
                    needs: choice.algorithm.needs(call),
                    usable: suited.map_or("", |algorithm| algorithm.name),
                }
            });
        }
        for row in &self.tables[call.collective as usize] {
            if row.matches(call, facts)
                && let Some(algorithm) = self.try_choice(&row.choice, call, facts)
            {
                return Ok(algorithm);
            }
        }
        // A table need not have every operation.
        let ours = Self::ours();
        if std::ptr::eq(self, ours) {
            return Err(Unsuited::NoRow);
        }
        ours.select(call, facts)
    }

    fn try_choice(
        &self,
        choice: &Choice,
        call: &mut Call,
        facts: Facts,
    ) -> Option<&'static Algorithm> {
        let algorithm = choice.apply(call)?;
        for (number, kind) in algorithm.parts.iter().enumerate() {
            if call.parts[number].is_none() {
                let mut part = Call {
                    collective: *kind,
                    parts: [None; 3],
                    ..call.clone()
                };
                call.parts[number] = self.select(&mut part, facts).ok();
            }
        }
        Some(algorithm)
    }
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named {
                algorithm,
                needs,
                usable,
            } => {
                write!(f, "{algorithm} needs {needs}")?;
                if usable.is_empty() {
                    return Ok(());
                }
                write!(f, "; {usable} does not")
            }
            Self::NoRow => f.write_str("no row of the selector matches"),
        }
    }
}
