//! Files with which a library takes algorithms that were chosen: the rules file of the component
//! `tuned` of Open MPI, the decisions of MPICH (`mpich`), and the table of the example tuner of
//! NCCL.
//!
//! *Decided here*: a file has rules for one operation and one number of ranks. Open MPI uses them
//! for communicators of at least as many ranks, and fixed decisions for smaller ones.
//!
//! *Not modelled*: segments and protocols. Rules of Open MPI have the fan-out of the names in
//! `aliases/openmpi.toml` and no segments; rows of NCCL name the protocol `simple`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::aliases::Alias;
use crate::{Algorithm, Collective, aliases};

mod mpich;

/// A library that reads files with algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TunedLibrary {
    /// Open MPI 4.1 and 5.0: `coll_tuned_dynamic_rules_filename`.
    OpenMpi,
    /// MPICH 4 and later: `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`.
    Mpich,
    /// NCCL with the example of a tuner plugin: `NCCL_TUNER_CONFIG_FILE`.
    Nccl,
}

impl FromStr for TunedLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(library, _)| *library)
            .ok_or_else(|| "expected openmpi, mpich or nccl".to_owned())
    }
}

/// A choice: an algorithm for sizes from `from_bytes` on.
#[derive(Clone, Copy, Debug)]
pub struct TunedRow {
    /// The smallest size: bytes of the contribution of a rank, or of one block.
    pub from_bytes: u64,
    /// The algorithm, by a name of the library.
    pub alias: &'static Alias,
}

impl TunedLibrary {
    /// The libraries and their names in [`aliases`].
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::OpenMpi, "openmpi"),
        (Self::Mpich, "mpich"),
        (Self::Nccl, "nccl"),
    ];

    /// Returns the selector with the decisions of the library.
    #[must_use]
    pub const fn selector_name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi-4.1",
            Self::Mpich => "mpich-5.1",
            Self::Nccl => "nccl",
        }
    }

    /// Returns the names, `library:name`, of the algorithms that a file can name for this many
    /// ranks, and the algorithms.
    pub fn file_algorithms(
        self,
        kind: Collective,
        ranks: u32,
    ) -> Vec<(String, &'static Algorithm)> {
        let library = Self::ALL.iter().find(|(library, _)| *library == self);
        let prefix = library.map_or("", |(_, name)| *name);
        let names =
            aliases::alias_names(kind).filter(|name| name.split(':').next() == Some(prefix));
        let found = names.filter_map(|name| {
            let alias = aliases::find(kind, &name).filter(|alias| self.can_name(alias, ranks))?;
            Some((name, alias.algorithm))
        });
        found.collect()
    }

    fn can_name(self, alias: &Alias, ranks: u32) -> bool {
        match self {
            Self::OpenMpi => rule_numbers(alias).is_some(),
            Self::Mpich => mpich::can_name(alias, ranks),
            Self::Nccl => alias.name != "p2p" && nccl_operation(alias.collective).is_some(),
        }
    }

    /// Returns the text of a file for calls of this many ranks. The rows are in the order of their
    /// sizes, the first from 0 bytes on. `decisions`: for MPICH, the bytes of `libmpi.so` or of
    /// `maint/tuning/coll/mpir/generic.json`, with the decisions for all other calls.
    ///
    /// # Errors
    /// A text, if `decisions` contains no decisions of MPICH.
    pub fn write_file(
        self,
        ranks: u32,
        rows: &[TunedRow],
        decisions: &[u8],
    ) -> Result<String, String> {
        match self {
            Self::OpenMpi => Ok(write_rules(ranks, rows)),
            Self::Mpich => mpich::write_decisions(ranks, rows, decisions),
            Self::Nccl => Ok(write_nccl_table(ranks, rows)),
        }
    }
}

/// Returns the size by which a row is found: all data, where ranks have blocks. Open MPI:
/// `ompi/mca/coll/tuned/coll_tuned_decision_dynamic.c`; NCCL: the larger of the two buffers,
/// `ncclFuncMaxSendRecvCount` in `src/enqueue.cc`.
const fn call_bytes(kind: Collective, ranks: u32, bytes: u64) -> u64 {
    use Collective::{Allgather, Alltoall, Gather, ReduceScatter, ReduceScatterBlock, Scatter};
    match kind {
        Allgather | Alltoall | Gather | Scatter | ReduceScatter | ReduceScatterBlock => {
            bytes.saturating_mul(ranks as u64)
        }
        _ => bytes,
    }
}

/// The numbers of an operation and of the algorithms, as in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleNumbers {
    number: u32,
    algorithms: Vec<String>,
}

/// By the name of the operation. A separate table, which programs do not link.
static RULE_NUMBERS: LazyLock<BTreeMap<String, RuleNumbers>> = LazyLock::new(|| {
    let text = include_str!("../aliases/openmpi-rules.toml");
    toml::from_str(text).unwrap_or_else(|error| panic!("openmpi-rules.toml: {error}"))
});

/// Returns the numbers of the operation and of the algorithm in rules files.
fn rule_numbers(alias: &Alias) -> Option<(u32, usize)> {
    let numbers = RULE_NUMBERS.get(alias.collective.name())?;
    let mut names = numbers.algorithms.iter();
    let at = names.position(|name| *name == alias.name)?;
    Some((numbers.number, at + 1))
}

/// Writes a rules file: numbers of operations, of communicator sizes and of message sizes; a
/// message size has the algorithm, the fan-out and the segment.
fn write_rules(ranks: u32, rows: &[TunedRow]) -> String {
    let numbers = rows
        .iter()
        .filter_map(|row| Some((row, rule_numbers(row.alias)?)));
    let numbers: Vec<(&TunedRow, (u32, usize))> = numbers.collect();
    let Some((first, (operation, _))) = numbers.first() else {
        return "0\n".to_owned();
    };
    let kind = first.alias.collective;
    let mut text = format!(
        "1  # operations\n{operation}  # {kind}\n1  # communicator sizes\n{ranks}  # ranks and \
         more\n{}  # message sizes: bytes, algorithm, fan-out, segment\n",
        numbers.len()
    );
    for (TunedRow { from_bytes, alias }, (_, algorithm)) in &numbers {
        let bytes = call_bytes(kind, ranks, *from_bytes);
        let (fan_out, name) = (alias.radix.unwrap_or(0), &alias.name);
        let _ = writeln!(text, "{bytes} {algorithm} {fan_out} 0  # {name}");
    }
    text
}

/// Returns the name of an operation in tables of NCCL.
const fn nccl_operation(kind: Collective) -> Option<&'static str> {
    match kind {
        Collective::Allreduce => Some("allreduce"),
        Collective::Allgather => Some("allgather"),
        Collective::ReduceScatterBlock => Some("reducescatter"),
        Collective::Bcast => Some("broadcast"),
        Collective::Reduce => Some("reduce"),
        _ => None,
    }
}

/// Writes a table of NCCL: operation, sizes, algorithm, protocol, channels, nodes, ranks;
/// -1 is any number.
fn write_nccl_table(ranks: u32, rows: &[TunedRow]) -> String {
    let mut text = String::new();
    for (number, TunedRow { from_bytes, alias }) in rows.iter().enumerate() {
        let operation = nccl_operation(alias.collective).unwrap_or_default();
        let last = rows
            .get(number + 1)
            .map_or(u64::MAX, |row| row.from_bytes - 1);
        let name = &alias.name;
        let _ = writeln!(
            text,
            "{operation},{from_bytes},{last},{name},simple,-1,-1,{ranks}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rows(kind: Collective, rows: &[(u64, &str)]) -> Vec<TunedRow> {
        let row = |&(from_bytes, name): &(u64, &str)| TunedRow {
            from_bytes,
            alias: aliases::find(kind, name).expect("a name"),
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn rules_have_numbers_and_sizes_of_all_data() {
        let names = [(0, "openmpi:bruck"), (1024, "openmpi:ring")];
        let text = TunedLibrary::OpenMpi
            .write_file(64, &rows(Collective::Allgather, &names), &[])
            .expect("text");
        let numbers = text.lines().flat_map(|line| {
            let plain = line.split('#').next().unwrap_or_default();
            plain
                .split_whitespace()
                .map(|word| word.parse::<u64>().expect("a number"))
        });
        let expected = [1, 0, 1, 64, 2, 0, 2, 0, 0, 65536, 4, 0, 0];
        assert_eq!(numbers.collect::<Vec<_>>(), expected);
        let chain = [(0, "openmpi:chain")];
        let text = TunedLibrary::OpenMpi
            .write_file(8, &rows(Collective::Bcast, &chain), &[])
            .expect("text");
        assert!(text.ends_with("\n0 2 1 0  # chain\n"), "{text}");
    }

    #[test]
    fn tables_of_nccl_have_ranges() {
        let names = [(0, "nccl:tree"), (65536, "nccl:ring")];
        let text = TunedLibrary::Nccl
            .write_file(16, &rows(Collective::Allreduce, &names), &[])
            .expect("text");
        let expected = "allreduce,0,65535,tree,simple,-1,-1,16\n\
                        allreduce,65536,18446744073709551615,ring,simple,-1,-1,16\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn files_name_the_algorithms_of_the_component_tuned() {
        let count = |library: TunedLibrary, kind| library.file_algorithms(kind, 6).len();
        assert_eq!(count(TunedLibrary::OpenMpi, Collective::Bcast), 9);
        assert_eq!(count(TunedLibrary::OpenMpi, Collective::Scan), 0);
        assert_eq!(count(TunedLibrary::Mpich, Collective::Allreduce), 2);
        assert_eq!(count(TunedLibrary::Mpich, Collective::Barrier), 0);
        assert_eq!(count(TunedLibrary::Mpich, Collective::Allgather), 2);
        let power_of_two = TunedLibrary::Mpich.file_algorithms(Collective::Allgather, 8);
        assert_eq!(power_of_two.len(), 3);
        assert_eq!(count(TunedLibrary::Nccl, Collective::Allreduce), 2);
        assert_eq!(count(TunedLibrary::Nccl, Collective::Gather), 0);
    }
}
