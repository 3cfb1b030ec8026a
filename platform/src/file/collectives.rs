//! `[collectives]`: selection of the algorithms of collective operations, and the reading of this
//! table. The platform only stores the table.

use collectives::{Collective, Selector, aliases, named};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::field::{InvalidValue, ParseField, cut, did_you_mean};
use super::section::{Collector, Section};
use crate::nearest::nearest;
use crate::units::{Bandwidth, Size};

/// `[collectives]`: algorithms of collective operations, and the cost of reductions.
#[derive(Clone, PartialEq, Debug)]
pub struct Collectives {
    /// The name of the selector, or the text of a selector from a file, so that the record of a run
    /// contains this text.
    pub selector: String,
    /// True if the ranks of a communicator find out their nodes by messages, where the library of
    /// the selector does; otherwise nodes are known.
    pub node_setup: bool,
    /// Bandwidth at which a rank reduces; `None` if that takes no time.
    pub reduce_bandwidth: Option<Bandwidth>,
    /// Kinds of operations that always have the same algorithm.
    pub algorithms: Vec<(Collective, AlgorithmEntry)>,
}

/// An algorithm for all calls of a kind.
#[derive(Clone, PartialEq, Debug)]
pub struct AlgorithmEntry {
    /// The name: one of simrun, or of another library as in `smpi:lr`.
    pub algorithm: String,
    /// Length of a segment, 0 for no segments; `None` for the default of the algorithm.
    pub segment: Option<Size>,
    /// Radix or number of children of a tree; `None` for the default of the algorithm.
    pub radix: Option<u32>,
}

impl Default for Collectives {
    fn default() -> Self {
        Self {
            selector: Selector::DEFAULT_NAME.to_owned(),
            node_setup: false,
            reduce_bandwidth: None,
            algorithms: Vec::new(),
        }
    }
}

impl Collectives {
    /// Returns the selector with the algorithms that are set.
    ///
    /// # Panics
    /// If a name is unknown, which the reader of platform files refuses.
    #[must_use]
    pub fn to_selector(&self) -> Selector {
        let mut selector = match Selector::built_in(&self.selector) {
            Some(selector) => selector.clone(),
            None => Selector::parse(&self.selector).unwrap_or_else(|error| panic!("{error}")),
        };
        for (collective, entry) in &self.algorithms {
            let segment = entry
                .segment
                .as_ref()
                .map_or(0, |segment| match segment.bytes() {
                    0 => u64::MAX,
                    bytes => bytes,
                });
            let radix = entry.radix.unwrap_or(0);
            let forced = selector.force(*collective, &entry.algorithm, segment, radix);
            forced.unwrap_or_else(|error| panic!("{error}"));
        }
        selector
    }
}

impl Serialize for AlgorithmEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.segment.is_none() && self.radix.is_none() {
            return serializer.serialize_str(&self.algorithm);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("algorithm", &self.algorithm)?;
        if let Some(segment) = &self.segment {
            map.serialize_entry("segment", segment)?;
        }
        if let Some(radix) = &self.radix {
            map.serialize_entry("radix", radix)?;
        }
        map.end()
    }
}

impl Serialize for Collectives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("selector", &self.selector)?;
        if self.node_setup {
            map.serialize_entry(SETUP, MESSAGES)?;
        }
        if let Some(bandwidth) = &self.reduce_bandwidth {
            map.serialize_entry("reduce_bandwidth", bandwidth)?;
        }
        for (collective, entry) in &self.algorithms {
            map.serialize_entry(collective.name(), entry)?;
        }
        map.end()
    }
}

/// The key of the set-up of nodes, with the values of the key.
const SETUP: &str = "setup";
const MESSAGES: &str = "messages";
const NONE: &str = "none";

/// True if nodes are found out by messages.
struct NodeSetup(bool);

impl ParseField for NodeSetup {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const VALUES: [bool; 2] = [false, true];
        super::field::word(value, SETUP, &[NONE, MESSAGES], &VALUES).map(Self)
    }
}

/// Returns the name of a selector, or the text of one: of a file beside the platform file or in the
/// current folder, or in the platform file itself.
fn selector(collector: &Collector, value: &Spanned<DeValue<'_>>) -> Result<String, InvalidValue> {
    let text = String::read(value)?;
    if Selector::names().any(|name| name == text) {
        return Ok(text);
    }
    let wrong = |name: &str, problem: String| InvalidValue {
        problem: format!("invalid selector {name}: {problem}"),
        expected: "expected a selector as simrun collectives tune writes it".to_owned(),
        help: None,
    };
    if text.contains('\n') {
        let parsed = Selector::parse(&text).map_err(|error| wrong("in this file", error));
        return parsed.map(|_| text);
    }
    if text.ends_with(".toml") {
        let beside = collector.folder.as_ref().map(|folder| folder.join(&text));
        let path = beside
            .filter(|path| path.is_file())
            .unwrap_or_else(|| text.clone().into());
        let read = files::read_text(&path).map_err(|error| wrong(&text, error.to_string()))?;
        let parsed = Selector::parse(&read).map_err(|error| wrong(&text, error));
        return parsed.map(|_| read);
    }
    let known: Vec<&'static str> = Selector::names().collect();
    Err(InvalidValue {
        problem: format!("unknown selector {:?}", cut(&text)),
        expected: format!(
            "expected {}, or a file that ends with .toml",
            known.join(", ")
        ),
        help: did_you_mean(nearest(&text, known)),
    })
}

/// Reads the table into `collectives`.
pub(super) fn collectives(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    collectives: &mut Collectives,
) {
    let mut keys = vec!["selector", SETUP, "reduce_bandwidth"];
    keys.extend(Collective::ALL.map(Collective::name));
    let section = collector.section(value, value.span(), "collectives table".to_owned(), &keys);
    let Some(section) = section else { return };
    if let Some(value) = section.get("selector") {
        match selector(collector, value) {
            Ok(name) => collectives.selector = name,
            Err(wrong) => collector.wrong(value.span(), wrong),
        }
    }
    if let Some(Some(NodeSetup(by_messages))) = collector.optional(&section, SETUP) {
        collectives.node_setup = by_messages;
    }
    collectives.reduce_bandwidth = collector.optional(&section, "reduce_bandwidth").flatten();
    for collective in Collective::ALL {
        if let Some(value) = section.get(collective.name())
            && let Some(entry) = entry(collector, collective, value)
        {
            collectives.algorithms.push((collective, entry));
        }
    }
}

/// Reads an algorithm: the name, or a table with its parameters.
fn entry(
    collector: &mut Collector,
    collective: Collective,
    value: &Spanned<DeValue<'_>>,
) -> Option<AlgorithmEntry> {
    const KEYS: [&str; 3] = ["algorithm", "segment", "radix"];
    let Some(table): Option<&DeTable<'_>> = value.get_ref().as_table() else {
        let algorithm = collector.value::<String>(value)?;
        return checked(
            collector,
            collective,
            value,
            AlgorithmEntry {
                algorithm,
                segment: None,
                radix: None,
            },
        );
    };
    let what = format!("algorithm of {collective}");
    let section: Section<'_> = collector.open_table(table, value.span(), what, &KEYS);
    let algorithm = collector.required::<String>(&section, "algorithm", "\"ring\"")?;
    let segment = collector.optional(&section, "segment").flatten();
    let radix = collector.optional(&section, "radix").flatten();
    let place = section.get("algorithm").unwrap_or(value);
    checked(
        collector,
        collective,
        place,
        AlgorithmEntry {
            algorithm,
            segment,
            radix,
        },
    )
}

fn checked(
    collector: &mut Collector,
    collective: Collective,
    place: &Spanned<DeValue<'_>>,
    entry: AlgorithmEntry,
) -> Option<AlgorithmEntry> {
    let name = &entry.algorithm;
    let mut known = named(collective).map(|algorithm| algorithm.name);
    if known.any(|known| known == name) || aliases::find(collective, name).is_some() {
        return Some(entry);
    }
    let known: Vec<&str> = named(collective).map(|algorithm| algorithm.name).collect();
    let aliases: Vec<String> = aliases::alias_names(collective).collect();
    let all = known
        .iter()
        .copied()
        .chain(aliases.iter().map(String::as_str));
    let help = collector.suggest(name, all);
    let problem = format!("unknown algorithm {:?} of {collective}", cut(name));
    let expected = format!(
        "expected {}, or a name of another library such as \"smpi:…\"",
        known.join(", ")
    );
    collector.add(place.span(), problem, expected, help);
    None
}
