//! The list of missing functions in the documentation.

use std::collections::BTreeSet;

use super::mpi_function;
use crate::abi;

/// Families of which all functions may be missing.
const FAMILIES: [&str; 3] = ["File", "Win", "T"];

/// Returns the list: each function without `MPI_`, families that are missing as one entry.
fn missing() -> String {
    let is_missing = |name: &str| mpi_function(name).is_none_or(|found| found.number.is_some());
    let names: Vec<&str> = abi::functions().map(|function| function.name).collect();
    let family = |name: &str| {
        let name = name.strip_prefix("MPI_")?;
        let (family, _) = name.split_once('_')?;
        FAMILIES.into_iter().find(|known| *known == family)
    };
    let whole: BTreeSet<&str> = FAMILIES
        .into_iter()
        .filter(|known| {
            names
                .iter()
                .all(|name| family(name) != Some(known) || is_missing(name))
        })
        .collect();
    let mut entries: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| is_missing(name)) {
        let entry = match family(name).filter(|family| whole.contains(family)) {
            Some(family) => format!("`{family}_…`"),
            None => format!(
                "`{}`",
                name.trim_start_matches("MPI_").trim_end_matches("_c")
            ),
        };
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let number = names.iter().filter(|name| is_missing(name)).count();
    let entries = entries.join(", ");
    format!(
        "{number} of {} functions are missing: {entries}.",
        names.len()
    )
}

#[test]
fn the_documentation_lists_the_missing_functions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mpi-binaries.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, rest) = document.split_once("<!-- missing functions -->\n").unwrap();
    let (found, _) = rest.split_once("\n<!-- end -->").unwrap();
    let expected = missing();
    assert_eq!(found.replace('\n', " "), expected, "\n{expected}\n");
}

#[test]
fn a_function_that_is_there_has_its_twin_for_large_counts() {
    for function in abi::functions().filter(|function| function.name.ends_with("_c")) {
        let small = mpi_function(function.name.trim_end_matches("_c")).unwrap();
        let large = mpi_function(function.name).unwrap();
        assert_eq!(
            small.number.is_none(),
            large.number.is_none(),
            "{}",
            function.name
        );
    }
}
