//! The file with which MPICH selects algorithms: `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`.
//!
//! Nested objects are conditions, tried in order; an algorithm is a leaf. MPICH stops at a call for
//! which the file has no algorithm, so the file contains all decisions of the library, and rows
//! that were chosen come first. Source: `src/mpi/coll/src/csel.c` of MPICH 5.0.1.
//!
//! *Decided here*: rows hold for intracommunicators of exactly the simulated number of ranks, and
//! not for calls that an algorithm cannot execute (`restricted_calls`).
//!
//! *Not decided here*: how MPICH composes calls of nodes with several ranks
//! (`MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE`); the parts of such a call have other numbers
//! of ranks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::{TunedRow, call_bytes};
use crate::Collective;
use crate::aliases::Alias;

/// The largest size of a condition, which MPICH reads with `atoi`.
const SIZE_MAX: u64 = i32::MAX as u64;

/// The smallest page of memory, in bytes.
const PAGE: usize = 4096;

/// Conditions and their branches, which are not read further.
type Branches = BTreeMap<String, Box<RawValue>>;

/// Returns the condition of MPICH on the size of a call; `None` for operations without such a
/// condition.
const fn size_condition(kind: Collective) -> Option<&'static str> {
    use Collective::{
        Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, ReduceScatter, ReduceScatterBlock,
        Scatter,
    };
    match kind {
        Allreduce | Alltoall | Bcast | Reduce => Some("avg_msg_size"),
        Allgather | Gather | ReduceScatter | ReduceScatterBlock | Scatter => Some("total_msg_size"),
        _ => None,
    }
}

/// Returns the size by which MPICH finds a row: `get_avg_msgsize` is a block in an alltoall.
const fn row_bytes(kind: Collective, ranks: u32, bytes: u64) -> u64 {
    match kind {
        Collective::Alltoall => bytes,
        _ => call_bytes(kind, ranks, bytes),
    }
}

/// Returns the conditions of calls that some algorithms of MPICH cannot execute.
const fn restricted_calls(kind: Collective) -> &'static [&'static str] {
    match kind {
        Collective::Allreduce | Collective::Reduce => {
            &["is_commutative=no", "is_op_built_in=no", "count<pow2"]
        }
        Collective::ReduceScatter => &["is_commutative=no", "is_block_regular=no"],
        Collective::ReduceScatterBlock => &["is_commutative=no"],
        Collective::Alltoall => &["is_sendbuf_inplace=yes"],
        _ => &[],
    }
}

/// Returns true if the file can name the algorithm for this many ranks. `smp` is a composition of
/// other algorithms. The recursive doubling of an allgather is for powers of two in MPICH
/// (`allgather_intra_recursive_doubling.c`).
pub(super) fn can_name(alias: &Alias, ranks: u32) -> bool {
    let needs_power_of_two =
        alias.collective == Collective::Allgather && alias.name == "recursive_doubling";
    alias.name != "smp"
        && size_condition(alias.collective).is_some()
        && (ranks.is_power_of_two() || !needs_power_of_two)
}

/// Writes the decisions of the library with `rows` first, for calls of exactly this many ranks.
/// `library`: the bytes of `generic.json` of the sources of MPICH, or of `libmpi.so`, which
/// contains these decisions.
pub(super) fn write_decisions(
    ranks: u32,
    rows: &[TunedRow],
    library: &[u8],
) -> Result<String, String> {
    let missing = || {
        "no decisions of MPICH: expected libmpi.so of MPICH 4 or later, or \
         maint/tuning/coll/mpir/generic.json of the sources"
            .to_owned()
    };
    let mut decisions = find_decisions(library).ok_or_else(missing)?;
    if let Some(first) = rows.first() {
        let kind = first.alias.collective;
        let branch = decisions.get_mut(&format!("collective={kind}"));
        let other = || format!("no decisions of MPICH for {kind} within a communicator");
        let branch = branch.ok_or_else(other)?;
        let mut types: Branches = serde_json::from_str(branch.get()).map_err(|_| other())?;
        let own = types.get_mut("comm_type=intra").ok_or_else(other)?;
        let text = write_branch(kind, ranks, rows, own.get());
        let broken = |error| format!("internal error: a branch of MPICH: {error}");
        *own = RawValue::from_string(text).map_err(broken)?;
        *branch = serde_json::value::to_raw_value(&types).map_err(broken)?;
    }
    let lines: Vec<String> = (decisions.iter())
        .map(|(condition, branch)| format!("\"{condition}\":{branch}"))
        .collect();
    let mut text = format!("{{{}}}\n", lines.join(",\n"));
    // MPICH maps the file and reads up to a zero byte, which only a page that is not full has.
    if text.len().is_multiple_of(PAGE) {
        text.push('\n');
    }
    Ok(text)
}

/// Finds the decisions of the message layer, with names that begin with `MPIR_`. Decisions on
/// compositions and on shared memory have the same form and other names.
fn find_decisions(library: &[u8]) -> Option<Branches> {
    const START: &[u8] = b"\"collective=";
    let mut at = 0;
    while let Some(found) = library[at..]
        .windows(START.len())
        .position(|window| window == START)
    {
        let key = at + found;
        let open = library[..key].iter().rposition(|byte| *byte == b'{')?;
        let end = library[key..].iter().position(|byte| *byte == 0);
        let end = end.map_or(library.len(), |length| key + length);
        let text = std::str::from_utf8(&library[open..end]).ok();
        let of_layer = text.filter(|text| text.contains("\"algorithm=MPIR_"));
        if let Some(decisions) = of_layer.and_then(|text| serde_json::from_str(text).ok()) {
            return Some(decisions);
        }
        at = end;
    }
    None
}

/// Writes the branch of an operation: the rows for calls of this many ranks, `others` for all other
/// calls.
fn write_branch(kind: Collective, ranks: u32, rows: &[TunedRow], others: &str) -> String {
    let condition = size_condition(kind).unwrap_or("avg_msg_size");
    let mut text = format!("{{\"comm_size<{ranks}\":{others},\n\"comm_size<={ranks}\":{{\n");
    for restriction in restricted_calls(kind) {
        let _ = writeln!(text, " \"{restriction}\":{others},");
    }
    for (number, row) in rows.iter().enumerate() {
        let next = rows.get(number + 1);
        let next = next.map(|next| row_bytes(kind, ranks, next.from_bytes));
        let last = next.map(|next| next - 1).filter(|last| *last < SIZE_MAX);
        let limit = last.map_or_else(|| "=any".to_owned(), |last| format!("<={last}"));
        let algorithm = algorithm_name(row.alias);
        let _ = write!(
            text,
            " \"{condition}{limit}\":{{\"algorithm={algorithm}\":{{}}}}"
        );
        if last.is_none() {
            break;
        }
        text.push_str(",\n");
    }
    let _ = write!(text, "}},\n\"comm_size=any\":{others}}}");
    text
}

/// Returns the name of the function of MPICH, such as `MPIR_Allreduce_intra_recursive_doubling`.
fn algorithm_name(alias: &Alias) -> String {
    let kind = alias.collective.name();
    let (first, rest) = kind.split_at(1);
    format!("MPIR_{}{rest}_intra_{}", first.to_uppercase(), alias.name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use super::*;

    /// A library: other data, compositions, then the decisions.
    const LIBRARY: &[u8] = b"\x7fELF {\0{\"collective=bcast\":{\"composition=alpha\":{}}}\0\0\
        {\"collective=bcast\":{\"comm_type=intra\":{\"algorithm=MPIR_Bcast_intra_binomial\":{}}},\
        \"collective=allreduce\":{\"comm_type=intra\":{\"avg_msg_size=any\":\
        {\"algorithm=MPIR_Allreduce_intra_smp\":{}}},\"comm_type=inter\":{}}}\0 rest";

    #[test]
    fn rows_precede_the_decisions_of_the_library() {
        let names = [
            (0, "mpich:recursive_doubling"),
            (2048, "mpich:reduce_scatter_allgather"),
        ];
        let rows = rows(Collective::Allreduce, &names);
        let text = write_decisions(64, &rows, LIBRARY).expect("decisions");
        let others = "{\"avg_msg_size=any\":{\"algorithm=MPIR_Allreduce_intra_smp\":{}}}";
        let expected = format!(
            "{{\"collective=allreduce\":{{\"comm_type=inter\":{{}},\"comm_type=intra\":\
             {{\"comm_size<64\":{others},\n\"comm_size<=64\":{{\n \"is_commutative=no\":{others},\n \
             \"is_op_built_in=no\":{others},\n \"count<pow2\":{others},\n \
             \"avg_msg_size<=2047\":{{\"algorithm=MPIR_Allreduce_intra_recursive_doubling\":{{}}}},\n \
             \"avg_msg_size=any\":\
             {{\"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather\":{{}}}}}},\n\
             \"comm_size=any\":{others}}}}},\n\
             \"collective=bcast\":{{\"comm_type=intra\":\
             {{\"algorithm=MPIR_Bcast_intra_binomial\":{{}}}}}}}}\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn sizes_are_of_all_blocks_but_in_an_alltoall() {
        assert_eq!(row_bytes(Collective::Alltoall, 64, 8), 8);
        assert_eq!(row_bytes(Collective::Allgather, 64, 8), 512);
        let names = [(0, "mpich:ring"), (1 << 30, "mpich:brucks")];
        let text = write_branch(
            Collective::Allgather,
            64,
            &rows(Collective::Allgather, &names),
            "{}",
        );
        assert!(text.contains("\"total_msg_size=any\":{\"algorithm=MPIR_Allgather_intra_ring\""));
        assert!(
            !text.contains("brucks"),
            "sizes of MPICH have 31 bits: {text}"
        );
    }

    #[test]
    fn a_file_without_decisions_is_refused() {
        let error = write_decisions(8, &[], b"\x7fELF").expect_err("no decisions");
        assert!(
            error.starts_with("no decisions of MPICH: expected"),
            "{error}"
        );
    }
}
