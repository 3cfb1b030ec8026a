//! The text of a selector.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::nccl::{CostModel, Machine};
use super::row::{Limits, Measure, SelectorRow};
use super::table::OperationTable;
use super::{Choice, Selector};
use crate::Collective;

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
    /// True if ranks are on several nodes.
    several_nodes: Option<bool>,
    /// True if all nodes have the same number of ranks, and consecutive ones.
    regular_nodes: Option<bool>,
    algorithm: String,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    segment: u64,
    #[serde(default)]
    radix: u32,
    /// True if the library exchanges messages before the first call to find the nodes of the ranks.
    #[serde(default)]
    asks_nodes: bool,
}

#[derive(Debug, Deserialize)]
struct FileText {
    version: u32,
    name: String,
    #[serde(default)]
    source: String,
    /// The selector of operations without rows.
    base: Option<String>,
    /// Operations for which the library finds out the nodes of the ranks by messages.
    #[serde(default)]
    asks_nodes: Vec<String>,
    /// True if new communicators are made with the messages of SMPI.
    #[serde(default)]
    smpi_communicators: bool,
    /// The machine for the estimates of NCCL.
    nccl: Option<Machine>,
    /// The rows of each operation, read one by one, so that a mistake has the number of the row.
    #[serde(flatten)]
    tables: BTreeMap<String, toml::Value>,
}

impl SelectorRow {
    fn new(collective: Collective, text: RowText) -> Result<Self, String> {
        let mut choice = Choice::from_name(collective, &text.algorithm, &text.parts)?;
        (choice.segment, choice.radix) = (text.segment, text.radix);
        choice.asks_nodes |= text.asks_nodes;
        if text.bytes.is_some() && !text.measure.is_common(collective) {
            return Err(format!(
                "ranks of {collective} do not know the bytes that others measure"
            ));
        }
        Ok(Self {
            ranks: Limits::from(text.ranks),
            bytes: Limits::from(text.bytes),
            measure: text.measure,
            commutative: text.commutative,
            built_in: text.built_in,
            power_of_two: text.power_of_two,
            elements: text.elements,
            equal_blocks: text.equal_blocks,
            ranks_per_node: Limits::from(text.ranks_per_node),
            several_nodes: text.several_nodes,
            regular_nodes: text.regular_nodes,
            choice,
        })
    }
}

fn unknown_operation(name: &str) -> String {
    let all = Collective::ALL.map(Collective::name).join(", ");
    format!("unknown operation '{name}': expected {all}")
}

/// Returns the line of a row of an operation, and the operation with the number of the row.
fn row_place(text: &str, operation: &str, number: usize) -> String {
    let line = || {
        let file = DeTable::parse(text).ok()?;
        let DeValue::Array(rows) = file.get_ref().get(operation)?.get_ref() else {
            return None;
        };
        let before = text.get(..rows.get(number)?.span().start)?;
        Some(1 + before.matches('\n').count())
    };
    let row = format!("{operation}, row {}", number + 1);
    line().map_or(row.clone(), |line| format!("line {line}: {row}"))
}

/// Returns the selector that a text describes.
pub(super) fn parse(text: &str) -> Result<Selector, String> {
    let file: FileText = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.version != 1 {
        return Err(format!("version = {}: expected 1", file.version));
    }
    let base = match file.base.as_deref() {
        Some(name) => Some(Selector::built_in(name).ok_or_else(|| {
            let all: Vec<&str> = Selector::names().collect();
            format!("unknown base '{name}': expected {}", all.join(", "))
        })?),
        None => None,
    };
    let mut asks_nodes = [false; Collective::ALL.len()];
    for name in &file.asks_nodes {
        let collective: Collective = name.parse().map_err(|()| unknown_operation(name))?;
        asks_nodes[collective as usize] = true;
    }
    let mut tables: [OperationTable; Collective::ALL.len()] = Default::default();
    for (name, rows) in file.tables {
        let Ok(collective) = name.parse::<Collective>() else {
            return Err(unknown_operation(&name));
        };
        let toml::Value::Array(rows) = rows else {
            return Err(format!(
                "{name}: expected rows, each with a header [[{name}]]"
            ));
        };
        let numbered = rows.into_iter().enumerate();
        let rows: Result<Vec<SelectorRow>, String> = numbered
            .map(|(number, row)| {
                let row = RowText::deserialize(row).map_err(|error| error.message().to_owned());
                let row = row.and_then(|row| SelectorRow::new(collective, row));
                let place = || row_place(text, &name, number);
                row.map_err(|error| format!("{}: {error}", place()))
            })
            .collect();
        tables[collective as usize] = OperationTable::new(rows?);
    }
    Ok(Selector {
        name: file.name,
        source: file.source,
        base,
        asks_nodes,
        smpi_communicators: file.smpi_communicators,
        model: file.nccl.map(CostModel::new).transpose()?,
        forced: [None; Collective::ALL.len()],
        tables,
    })
}
