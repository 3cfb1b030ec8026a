//! Names that other libraries give to algorithms.
//!
//! An alias is written with its library, such as `smpi:lr` or `openmpi:knomial`, and may set the
//! parameters of the algorithm. The names of a library are rows of a file in `aliases/`:
//!
//! ```toml
//! bcast = [
//!     { name = "chain", algorithm = "chain", radix = 1, whole = true },
//! ]
//! ```
//!
//! A row has `name` and `algorithm`, and as far as needed `segment` in bytes or `whole = true` (no
//! segments), `radix`, `parts` (the algorithms of which the algorithm consists), `shared_nodes` or
//! `regular_nodes` (the hierarchical algorithm where ranks share nodes) with the algorithms of its
//! `levels`, `asks_nodes`, and `rule`, a function of `src/aliases/rules.rs`: the library computes a
//! parameter or the algorithm from the call.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Algorithm, Call, Collective, Requirement, find as find_algorithm};

mod rules;

/// A row of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    name: String,
    algorithm: String,
    shared_nodes: Option<String>,
    regular_nodes: Option<String>,
    #[serde(default)]
    levels: Vec<String>,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    asks_nodes: bool,
    segment: Option<u64>,
    #[serde(default)]
    whole: bool,
    radix: Option<u32>,
    rule: Option<String>,
}

/// A name of another library.
#[derive(Debug)]
pub struct Alias {
    /// The kind of operation.
    pub collective: Collective,
    /// The name in that library.
    pub name: String,
    /// The algorithm, of which a call may need another one.
    pub algorithm: &'static Algorithm,
    /// The names of the algorithms of the parts, if the algorithm consists of other algorithms.
    pub parts: Vec<String>,
    /// True if the library exchanges messages before the first call to find the nodes of the ranks.
    pub asks_nodes: bool,
    /// The hierarchical algorithm of calls that fulfil the requirement.
    hierarchical: Option<(Requirement, &'static Algorithm)>,
    /// The algorithms of the levels of the hierarchical one, or rules that name them.
    levels: Vec<String>,
    segment: Option<u64>,
    pub(crate) radix: Option<u32>,
    rule: Option<rules::Rule>,
}

impl Alias {
    fn new(collective: Collective, text: RowText) -> Result<Self, String> {
        let named = |name: &str| {
            let found = find_algorithm(collective, name);
            found.ok_or_else(|| format!("{}: no algorithm {name} of {collective}", text.name))
        };
        let hierarchical = match (&text.shared_nodes, &text.regular_nodes) {
            (Some(name), _) => Some((Requirement::SharedNodes, named(name)?)),
            (_, Some(name)) => Some((Requirement::RegularNodes, named(name)?)),
            _ => None,
        };
        let rule = text.rule.as_ref().map(|name| {
            rules::find_rule(name).ok_or_else(|| format!("{}: no rule {name}", text.name))
        });
        Ok(Self {
            collective,
            algorithm: named(&text.algorithm)?,
            hierarchical,
            rule: rule.transpose()?,
            segment: text.segment.or(text.whole.then_some(u64::MAX)),
            name: text.name,
            parts: text.parts,
            levels: text.levels,
            asks_nodes: text.asks_nodes,
            radix: text.radix,
        })
    }

    /// Sets the parameters that the library uses for a call, if the call has none. Returns the
    /// algorithm that the library chooses.
    pub(crate) fn choose_algorithm(&self, call: &mut Call) -> &'static Algorithm {
        if call.segment == 0 {
            call.segment = self.segment.unwrap_or(0);
        }
        if call.radix == 0 {
            call.radix = self.radix.unwrap_or(0);
        }
        if let Some((needs, algorithm)) = self.hierarchical {
            rules::set_levels(call, algorithm, &self.levels);
            if needs.holds(call) {
                return algorithm;
            }
        }
        let name = self.rule.and_then(|rule| rule(call));
        name.map_or(self.algorithm, |name| {
            require_algorithm(self.collective, name)
        })
    }

    /// Sets parameters and parts of a call. Returns the algorithm that executes the call: the named
    /// algorithm, or a fallback if the named algorithm cannot execute the call.
    ///
    /// # Panics
    /// If the table names a part or a fallback that does not exist.
    #[must_use]
    pub fn apply_parameters(&self, call: &mut Call) -> &'static Algorithm {
        let mut algorithm = self.choose_algorithm(call);
        loop {
            for (number, (kind, name)) in algorithm.part_kinds().zip(&self.parts).enumerate() {
                call.parts[number] = Some(require_algorithm(kind, name));
            }
            if algorithm.suits(call) || algorithm.fallback.is_empty() {
                return algorithm;
            }
            algorithm = require_algorithm(self.collective, algorithm.fallback);
        }
    }
}

fn require_algorithm(collective: Collective, name: &str) -> &'static Algorithm {
    find_algorithm(collective, name)
        .unwrap_or_else(|| panic!("{collective} by {name} is in the table of algorithms"))
}

macro_rules! library {
    ($name:literal) => {
        (
            $name,
            LazyLock::new(|| read($name, include_str!(concat!("../aliases/", $name, ".toml")))),
        )
    };
}

/// The libraries and the names of their algorithms; the names of a library are read at first use.
static LIBRARIES: [(&str, LazyLock<Vec<Alias>>); 6] = [
    library!("smpi"),
    library!("openmpi"),
    library!("mpich"),
    library!("mvapich2"),
    library!("intel"),
    library!("nccl"),
];

/// Reads the names of a library from a text that is checked by tests.
fn read(library: &str, text: &str) -> Vec<Alias> {
    parse(text).unwrap_or_else(|error| panic!("the names of {library}: {error}"))
}

fn parse(text: &str) -> Result<Vec<Alias>, String> {
    let tables: BTreeMap<String, Vec<RowText>> =
        toml::from_str(text).map_err(|error| error.to_string())?;
    let mut aliases = Vec::new();
    for (name, rows) in tables {
        let kind = name.parse::<Collective>();
        let kind = kind.map_err(|()| format!("unknown operation '{name}'"))?;
        for row in rows {
            aliases.push(Alias::new(kind, row)?);
        }
    }
    Ok(aliases)
}

/// Returns all aliases of an operation, written `library:name`.
pub fn alias_names(collective: Collective) -> impl Iterator<Item = String> {
    LIBRARIES.iter().flat_map(move |(library, aliases)| {
        let wanted = aliases
            .iter()
            .filter(move |alias| alias.collective == collective);
        wanted.map(move |alias| format!("{library}:{}", alias.name))
    })
}

/// Returns the alias of an operation that is written `library:name`.
#[must_use]
pub fn find(collective: Collective, text: &str) -> Option<&'static Alias> {
    find_with_library(collective, text).map(|(_, alias)| alias)
}

/// Returns the library and the alias of an operation that is written `library:name`.
pub(crate) fn find_with_library(
    collective: Collective,
    text: &str,
) -> Option<(&'static str, &'static Alias)> {
    let (library, name) = text.split_once(':')?;
    let (library, aliases) = LIBRARIES.iter().find(|(known, _)| *known == library)?;
    let mut all = aliases.iter();
    let found = all.find(|alias| alias.collective == collective && alias.name == name)?;
    Some((*library, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selector;

    #[test]
    fn all_names_have_an_algorithm_and_parts() {
        for kind in Collective::ALL {
            for name in alias_names(kind) {
                let forced = Selector::ours().clone().force(kind, &name, 0, 0);
                assert_eq!(forced, Ok(()), "{kind} by {name}");
            }
        }
    }

    /// Returns the numbers of messages that the root sends and receives, and their bytes.
    fn messages_of_root(kind: Collective, name: &str, segment: u64, radix: u32) -> (usize, u64) {
        let mut selector = Selector::ours().clone();
        let forced = selector.force(kind, name, segment, radix);
        forced.expect("a known name");
        let mut call = Call::new(kind, 0, 8, 1000);
        let found = selector.select(&mut call, crate::Facts::default());
        let sent = crate::messages(found.expect("an algorithm"), &call);
        (sent.len(), sent.iter().map(|message| message.bytes).sum())
    }

    #[test]
    fn a_call_has_its_own_segment_and_radix() {
        let count =
            |segment, radix| messages_of_root(Collective::Bcast, "openmpi:chain", segment, radix);
        assert_eq!(count(0, 0), (1, 1000));
        assert_eq!(count(u64::MAX, 0), (1, 1000));
        assert_eq!(count(250, 2), (8, 2000));
        let knomial = |radix| messages_of_root(Collective::Bcast, "openmpi:knomial", 0, radix);
        assert_eq!((knomial(0), knomial(8)), ((4, 4000), (7, 7000)));
    }

    #[test]
    fn all_algorithms_execute_calls_without_segments() {
        for kind in Collective::ALL
            .into_iter()
            .filter(|kind| kind.name() != "barrier")
        {
            for name in alias_names(kind) {
                let mut selector = Selector::ours().clone();
                let forced = selector.force(kind, &name, u64::MAX, 0);
                assert_eq!(forced, Ok(()), "{kind} by {name}");
                let mut call = Call::new(kind, 1, 6, 1200);
                if let Ok(algorithm) = selector.select(&mut call, crate::Facts::default()) {
                    let _ = crate::messages(algorithm, &call);
                }
            }
        }
    }

    #[test]
    fn a_wrong_row_is_an_error() {
        for (text, expected) in [
            (
                "scan = [{ name = \"a\", algorithm = \"b\" }]",
                "a: no algorithm b of scan",
            ),
            (
                "scan = [{ name = \"a\", algorithm = \"linear\", rule = \"c\" }]",
                "a: no rule c",
            ),
            ("scam = []", "unknown operation 'scam'"),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
    }
}
