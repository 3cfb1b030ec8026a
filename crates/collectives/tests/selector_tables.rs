//! Promise: the selectors of other libraries select the algorithms that the tables of these
//! libraries name, beside each limit of ranks and bytes.
//!
//! The tables are read from `selectors/*.csv`: Open MPI 4.1.6 and 5.0.6
//! (`coll_tuned_decision_fixed.c`), MPICH 5.1.0a1 (`generic.json`), MVAPICH2 1.9 and Intel MPI
//! 4.1.3 (SMPI 4.1, `smpi_mvapich2_selector_stampede.hpp`, `smpi_intel_mpi_selector.cpp`).

use std::collections::{BTreeMap, BTreeSet};

use collectives::{Block, Blocks, Call, Collective, Facts, Grounds, Selector, aliases};

const OPEN_MPI: &str = include_str!("selectors/openmpi-4.1-5.0.csv");
const MPICH: &str = include_str!("selectors/mpich-mpir-generic-5.1.0a1.csv");
const MVAPICH2: &str = include_str!("selectors/mvapich2-1.9-stampede.csv");
const INTEL: &str = include_str!("selectors/intel-4.1.3-stampede.csv");

/// The properties of a call that the tables use.
#[derive(Clone, Copy, Debug)]
struct Point {
    kind: Collective,
    ranks: u32,
    bytes: u64,
    commutative: bool,
    built_in: bool,
    ranks_per_node: u32,
}

impl Point {
    const fn new(kind: Collective, ranks: u32, bytes: u64) -> Self {
        Self {
            kind,
            ranks,
            bytes,
            commutative: true,
            built_in: true,
            ranks_per_node: 1,
        }
    }

    /// Returns the name of the selected algorithm. `measured` is the meaning of bytes in the table
    /// of the library.
    fn selected(&self, selector: &str, measured: Measured) -> String {
        self.selected_and_executed(selector, measured).0
    }

    /// Returns the name of the selected algorithm, and the name of the algorithm that executes the
    /// call with one rank on each node: for a hierarchical algorithm, the algorithm of the leaders.
    fn selected_and_executed(&self, selector: &str, measured: Measured) -> (String, &'static str) {
        let bytes = self.bytes;
        let mut call = Call::new(self.kind, 0, self.ranks, bytes);
        call.commutative = self.commutative;
        let all = match measured {
            Measured::Own => None,
            Measured::Total => Some(bytes),
            // The largest total with this average.
            Measured::Average => Some((bytes + 1) * u64::from(self.ranks) - 1),
        };
        if let Some(length) = all {
            let mut blocks = vec![Block::default(); self.ranks as usize];
            blocks[0].length = length;
            call.bytes = length;
            call.blocks = Some(
                Blocks {
                    send: blocks.clone(),
                    recv: blocks,
                }
                .into(),
            );
        }
        let facts = Facts {
            built_in: self.built_in,
            ranks_per_node: self.ranks_per_node,
            ..Facts::default()
        };
        let found = Selector::built_in(selector).expect("a selector");
        let selection = found.choose_algorithm(&mut call, facts).expect("a row");
        assert!(selection.algorithm.suits(&call), "{self:?}");
        (
            selection.choice.name().into_owned(),
            selection.algorithm.name,
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measured {
    Own,
    Total,
    Average,
}

fn measured(library: &str, kind: Collective) -> Measured {
    match kind {
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Measured::Total,
        Collective::Allgatherv if library == "openmpi" || library == "mvapich2" => {
            Measured::Average
        }
        Collective::Allgatherv => Measured::Total,
        Collective::Allgather if library == "mpich" => Measured::Total,
        _ => Measured::Own,
    }
}

/// Returns the rows of a file, each as a map from the name of a field to its value.
fn rows(text: &'static str) -> Vec<BTreeMap<&'static str, &'static str>> {
    let split = |line: &'static str| -> Vec<&'static str> { line.split(',').collect() };
    let mut lines = text.lines();
    let names = split(lines.next().expect("names of columns"));
    lines
        .map(|line| names.iter().copied().zip(split(line)).collect())
        .collect()
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Returns the numbers beside limits.
fn beside(limits: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    limits
        .flat_map(|limit| [limit.saturating_sub(1), limit, limit + 1])
        .collect()
}

fn kinds(rows: &[BTreeMap<&'static str, &'static str>]) -> BTreeSet<Collective> {
    let names = rows.iter().map(|row| row["collective"]);
    names.filter_map(|name| name.parse().ok()).collect()
}

fn rank_counts(limits: impl Iterator<Item = u32>, smallest: u32) -> BTreeSet<u32> {
    let beside = limits.flat_map(|limit| [limit.saturating_sub(1), limit, limit + 1]);
    beside.filter(|ranks| *ranks >= smallest).collect()
}

/// Stand-ins of SMPI by the number of the algorithm.
const SMPI: [(Collective, &str); 11] = [
    (
        Collective::Allreduce,
        "redbcast redbcast rdb lr ompi_ring_segmented rab_rdb",
    ),
    (
        Collective::Alltoall,
        "basic_linear pair bruck basic_linear basic_linear",
    ),
    (Collective::Alltoallv, "ompi_basic_linear pair"),
    (
        Collective::Barrier,
        "ompi_basic_linear ompi_basic_linear ompi_recursivedoubling ompi_bruck ompi_two_procs ompi_tree",
    ),
    (
        Collective::Bcast,
        "NTSL ompi_pipeline ompi_pipeline ompi_split_bintree NTSB binomial_tree mvapich2_knomial_intra_node scatter_rdb_allgather scatter_LR_allgather",
    ),
    (
        Collective::Reduce,
        "ompi_basic_linear ompi_chain ompi_pipeline ompi_binary ompi_binomial ompi_in_order_binary ompi_basic_linear",
    ),
    (
        Collective::ReduceScatter,
        "default ompi_basic_recursivehalving ompi_ring ompi_butterfly",
    ),
    (
        Collective::Allgather,
        "NTSLR_NB bruck rdb ring ompi_neighborexchange pair",
    ),
    (
        Collective::Allgatherv,
        "GB ompi_bruck mpich_ring ompi_neighborexchange pair",
    ),
    (
        Collective::Gather,
        "ompi_basic_linear ompi_binomial ompi_linear_sync",
    ),
    (
        Collective::Scatter,
        "ompi_basic_linear ompi_binomial ompi_linear_nb",
    ),
];

/// Returns the row of Open MPI for a call.
fn open_mpi_row<'a>(
    all: &'a [BTreeMap<&'static str, &'static str>],
    point: &Point,
) -> &'a BTreeMap<&'static str, &'static str> {
    let within = |value: u64, row: &BTreeMap<&str, &str>, names: [&str; 2]| {
        value >= number(row[names[0]]).unwrap_or(0)
            && value <= number(row[names[1]]).unwrap_or(u64::MAX)
    };
    let row = all.iter().find(|row| {
        let is_any = !["yes", "no"].contains(&row["commutative"]);
        row["collective"] == point.kind.name()
            && (is_any || (row["commutative"] == "yes") == point.commutative)
            && within(point.ranks.into(), row, ["np_min", "np_max"])
            && within(point.bytes, row, ["bytes_min", "bytes_max"])
    });
    row.expect("a row of Open MPI")
}

#[test]
fn open_mpi() {
    let (all, mut compared) = (rows(OPEN_MPI), 0);
    for kind in kinds(&all) {
        let of_kind = || all.iter().filter(|row| row["collective"] == kind.name());
        let limits = of_kind().filter_map(|row| number(row["np_min"]));
        let ranks = rank_counts(limits, 2);
        let bytes = beside(of_kind().filter_map(|row| number(row["bytes_min"])));
        for commutative in [true, false] {
            for (ranks, bytes) in ranks.iter().flat_map(|r| bytes.iter().map(|b| (*r, *b))) {
                let mut point = Point::new(kind, ranks, bytes);
                point.commutative = commutative;
                let row = open_mpi_row(&all, &point);
                let measured = measured("openmpi", kind);
                let expected = format!("openmpi:{}", row["algorithm"]);
                for selector in ["openmpi-4.1", "openmpi-5.0"] {
                    assert_eq!(point.selected(selector, measured), expected, "{point:?}");
                }
                if let Some((_, names)) = SMPI.iter().find(|(known, _)| *known == kind) {
                    let number: usize = number(row["algorithm_number"]).expect("a number");
                    let name = names.split(' ').nth(number - 1).expect("a name");
                    let expected = format!("smpi:{name}");
                    assert_eq!(point.selected("smpi-ompi", measured), expected, "{point:?}");
                    if kind == Collective::Alltoall {
                        assert_eq!(point.selected("smpi-default", measured), expected);
                    }
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// A condition of MPICH's file, such as `comm_size<8`, for a communicator without a hierarchy.
fn holds(condition: &str, point: &Point) -> bool {
    let at = condition
        .find(['<', '='])
        .unwrap_or_else(|| panic!("a condition: {condition}"));
    let (name, rest) = condition.split_at(at);
    let split = rest.find(|c: char| c != '<' && c != '=').expect("a value");
    let (relation, value) = rest.split_at(split);
    let ranks = u64::from(point.ranks);
    let compare = |found: u64, power: u64| match (relation, value) {
        ("=", "any") => true,
        ("=", "pow2") => found == power,
        ("<", "pow2") => found < power,
        ("<", limit) => found < limit.parse().expect("a limit"),
        ("<=", limit) => found <= limit.parse().expect("a limit"),
        _ => panic!("a relation: {condition}"),
    };
    let power = 1 << ranks.ilog2();
    let is = |found: bool| found == (value == "yes");
    match name {
        "comm_type" => value == "intra",
        "comm_hierarchy" => value == "any",
        "comm_size" => compare(ranks, power),
        "avg_msg_size" | "total_msg_size" => compare(point.bytes, power),
        "count" => compare(point.bytes, power),
        "is_commutative" => is(point.commutative),
        "is_op_built_in" => is(point.built_in),
        "is_sendbuf_inplace" => is(false),
        "is_node_consecutive" | "is_block_regular" => is(true),
        _ => panic!("a condition: {condition}"),
    }
}

/// Returns the number in a condition.
fn limit(condition: &str, name: &str) -> Option<u64> {
    let rest = condition.strip_prefix(name)?;
    rest.trim_start_matches(['<', '=']).parse().ok()
}

#[test]
fn mpich() {
    let all = rows(MPICH);
    let mut compared = 0;
    let conditions = |row: &BTreeMap<&'static str, &'static str>| -> Vec<&'static str> {
        let text = row["conditions"];
        text.split(" & ").filter(|text| !text.is_empty()).collect()
    };
    for kind in kinds(&all) {
        let of_kind = || all.iter().filter(|row| row["collective"] == kind.name());
        let texts: Vec<&str> = of_kind().flat_map(conditions).collect();
        let limits = |name: &'static str| texts.iter().filter_map(move |text| limit(text, name));
        let sizes = limits("comm_size").map(|size| u32::try_from(size).expect("ranks"));
        let ranks = rank_counts(sizes.chain([2, 16, 64, 1000, 4096]), 1);
        let bytes = limits("avg_msg_size").chain(limits("total_msg_size"));
        let bytes = beside(bytes.chain([0, 4096, 1 << 30]));
        for (ranks, bytes) in ranks.iter().flat_map(|r| bytes.iter().map(|b| (*r, *b))) {
            for (commutative, built_in) in
                [(true, true), (true, false), (false, false), (false, true)]
            {
                let mut point = Point::new(kind, ranks, bytes);
                (point.commutative, point.built_in) = (commutative, built_in);
                // MPICH has no such operation.
                if !commutative && built_in {
                    continue;
                }
                let row = of_kind().find(|row| {
                    let all = conditions(row);
                    all.iter().all(|text| holds(text, &point))
                });
                let Some(row) = row else { continue };
                let name = mpich_name(row["algorithm"]);
                let measured = match measured("mpich", kind) {
                    // Without blocks, they have the same length.
                    Measured::Total if !commutative && kind.has_operation() => Measured::Own,
                    measured => measured,
                };
                let found = point.selected("mpich-5.1", measured);
                assert_eq!(found, format!("mpich:{name}"), "{point:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Returns the name behind the kind: `MPIR_Bcast_intra_binomial` is `binomial`.
fn mpich_name(text: &str) -> &str {
    let (_, name) = text
        .split_once("_intra_")
        .or_else(|| text.split_once("_allcomm_"))
        .unwrap_or_else(|| panic!("a kind of communicator: {text}"));
    name
}

#[test]
fn mpich_3() {
    use Collective::{Allgather, Allreduce, Alltoall, Bcast, Reduce};
    for (kind, ranks, bytes, expected) in [
        (Bcast, 7, 1 << 20, "binomial"),
        (Bcast, 8, 12_287, "binomial"),
        (Bcast, 8, 12_288, "scatter_recursive_doubling_allgather"),
        (Bcast, 8, 524_287, "scatter_recursive_doubling_allgather"),
        (Bcast, 8, 524_288, "scatter_ring_allgather"),
        (Bcast, 9, 12_288, "scatter_ring_allgather"),
        (Reduce, 8, 2048, "binomial"),
        (Reduce, 8, 2049, "reduce_scatter_gather"),
        (Allreduce, 8, 2048, "recursive_doubling"),
        (Allreduce, 8, 2049, "reduce_scatter_allgather"),
        (Allreduce, 4096, 2049, "recursive_doubling"),
        (Allgather, 8, 65_535, "recursive_doubling"),
        (Allgather, 8, 65_536, "ring"),
        (Allgather, 5, 16_383, "brucks"),
        (Allgather, 5, 16_384, "ring"),
        (Alltoall, 7, 256, "scattered"),
        (Alltoall, 8, 256, "brucks"),
        (Alltoall, 8, 32_768, "scattered"),
        (Alltoall, 8, 32_769, "pairwise"),
    ] {
        let found = Point::new(kind, ranks, bytes).selected("mpich", Measured::Own);
        assert_eq!(found, format!("mpich:{expected}"), "{kind} {ranks} {bytes}");
    }
}

/// Returns the name without the operation: `MPIR_Alltoall_RD_MV2` is `RD`.
fn mvapich2_name(text: &str) -> &str {
    let name = text.strip_prefix("MPIR_").unwrap_or(text);
    let name = name.strip_suffix("_MV2").unwrap_or(name);
    let prefixes = "Reduce_Scatter_ Reduce_scatter_ Scatter_MV2_ Gather_MV2_ Allgatherv_ Allgather_ \
                    Allreduce_ Alltoall_ Gather_ Scatter_ Reduce_ Bcast_";
    let mut prefixes = prefixes.split(' ');
    let stripped = prefixes.find_map(|prefix| name.strip_prefix(prefix));
    match name {
        "Pipelined_Bcast_Zcpy" => "Pipelined_Zcpy",
        "Pipelined_Bcast" => "Pipelined",
        _ => stripped.unwrap_or(name),
    }
}

#[test]
fn mvapich2() {
    let (all, mut compared) = (rows(MVAPICH2), 0);
    for kind in kinds(&all) {
        // Lists by level: of the leaders of nodes, but for operations that have flags first.
        let level = match kind {
            Collective::Allgather
            | Collective::Allreduce
            | Collective::Bcast
            | Collective::Reduce => "table1",
            _ => "table0",
        };
        let of_kind = || {
            let mut all = all.iter();
            std::iter::from_fn(move || {
                all.find(|row| row["collective"] == kind.name() && row["level"] == level)
            })
        };
        let nodes: BTreeSet<&str> = of_kind().map(|row| row["ppn"]).collect();
        for node in nodes {
            let of_node = || of_kind().filter(move |row| row["ppn"] == node);
            let limits: BTreeSet<u32> = of_node().filter_map(|row| number(row["np_max"])).collect();
            let last = limits.last().copied().expect("a limit");
            let bytes = beside(of_node().filter_map(|row| number(row["bytes_max"])));
            let ranks = rank_counts(limits.iter().copied(), 1);
            for (ranks, bytes) in ranks.iter().flat_map(|r| bytes.iter().map(|b| (*r, *b))) {
                let limit = limits
                    .iter()
                    .find(|limit| ranks <= **limit)
                    .unwrap_or(&last);
                let entries: Vec<_> = of_node()
                    .filter(|row| number(row["np_max"]) == Some(*limit))
                    .collect();
                let entry = entries.iter().position(|row| {
                    number::<u64>(row["bytes_max"]).is_none_or(|bytes_max| bytes <= bytes_max)
                });
                let mut entry = entry.expect("an entry of MVAPICH2");
                // Without multicast, the next entry is taken.
                if entries[entry]["algorithm"].contains("mcst_wrap") {
                    entry += 1;
                }
                let mut point = Point::new(kind, ranks, bytes);
                point.ranks_per_node = number(node).unwrap_or(1);
                let name = mvapich2_name(entries[entry]["algorithm"]);
                let measured = measured("mvapich2", kind);
                let (found, executed) = point.selected_and_executed("mvapich2", measured);
                let name = format!("mvapich2:{name}");
                if found == "two_level" {
                    // Its leaders have the algorithm of this table.
                    let alias = aliases::find(kind, &name).expect("a known name");
                    assert_eq!(executed, alias.algorithm.name, "{point:?}");
                } else {
                    assert_eq!(found, name, "{point:?}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Returns the name of Intel's manual for a number.
fn intel_name(kind: Collective, number: usize) -> &'static str {
    let names = match kind {
        Collective::Allreduce => {
            "recursive_doubling rabenseifner reduce_bcast topology_reduce_bcast \
             gather_scatter topology_gather_scatter shumilin_ring ring"
        }
        Collective::Alltoall => "bruck isend_irecv pairwise plum",
        Collective::Alltoallv => "isend_irecv plum",
        Collective::Barrier => {
            "dissemination recursive_doubling topology_dissemination \
             topology_recursive_doubling gather_scatter topology_gather_scatter"
        }
        Collective::Bcast => {
            "binomial recursive_doubling ring \
             topology_binomial topology_recursive_doubling topology_ring shumilin"
        }
        Collective::Reduce => "shumilin binomial topology_shumilin",
        Collective::ReduceScatter => {
            "recursive_halving pairwise recursive_doubling reduce_scatterv topology_reduce_scatterv"
        }
        Collective::Allgather | Collective::Allgatherv => {
            "recursive_doubling bruck ring topology_gatherv_bcast"
        }
        _ => "binomial topology_binomial shumilin",
    };
    let mut names = names.split(' ');
    names.nth(number - 1).expect("a name")
}

#[test]
fn intel() {
    let (all, mut compared) = (rows(INTEL), 0);
    for kind in kinds(&all) {
        let of_kind = || all.iter().filter(|row| row["collective"] == kind.name());
        for node in ["1", "2", "4", "8", "16"] {
            let of_node = || of_kind().filter(|row| row["ppn"] == node);
            let limits: BTreeSet<u32> = of_node().filter_map(|row| number(row["np_max"])).collect();
            let finite = limits.iter().copied().filter(|limit| *limit < 1 << 20);
            let ranks = rank_counts(finite.chain([2, 1000]), 1);
            let bytes = of_node().filter_map(|row| number(row["bytes_below"]));
            let bytes = beside(bytes.filter(|bytes| *bytes < 1 << 30).chain([0]));
            for (ranks, bytes) in ranks.iter().flat_map(|r| bytes.iter().map(|b| (*r, *b))) {
                let limit = limits
                    .iter()
                    .find(|limit| ranks <= **limit)
                    .expect("a limit");
                // A barrier has 1 byte, and an alltoallv, whose blocks a rank does not know.
                let is_sized = !matches!(kind, Collective::Barrier | Collective::Alltoallv);
                let compared_bytes = if is_sized { bytes } else { 1 };
                let of_ranks = of_node().filter(|row| number(row["np_max"]) == Some(*limit));
                let mut entries = of_ranks.enumerate();
                let entry = entries
                    .find(|(_, row)| compared_bytes < number(row["bytes_below"]).expect("a limit"));
                let (position, row) = entry.expect("an entry of Intel");
                let mut point = Point::new(kind, ranks, bytes);
                point.ranks_per_node = number(node).expect("ranks of a node");
                let intel: usize = number(row["intel_algorithm"]).expect("a number");
                let measured = measured("intel", kind);
                let found = point.selected("intel", measured);
                let name = intel_name(kind, intel);
                assert_eq!(found, format!("intel:{name}"), "{point:?}");
                compared += 1;
                // SMPI counts one entry here: it uses two.
                let is_short = kind == Collective::ReduceScatter && node == "2" && *limit == 16;
                if is_short && position > 1 {
                    continue;
                }
                let found = point.selected("smpi-impi", measured);
                let expected = match row["smpi_algorithm"] {
                    "intel_barrier_gather_scatter" => "smpi:ompi_basic_linear".to_owned(),
                    "intel_reduce_scatter_recursivehalving" => {
                        "smpi:ompi_basic_recursivehalving".to_owned()
                    }
                    "intel_reduce_scatter_reduce_scatterv" => "smpi:default".to_owned(),
                    // Of the table, which the selector does not use at first.
                    "gather__mvapich2" => continue,
                    name if name.ends_with("__mvapich2") => {
                        let executed = |name| point.selected_and_executed(name, measured).1;
                        assert_eq!(
                            executed("smpi-impi"),
                            executed("smpi-mvapich2"),
                            "{point:?}"
                        );
                        continue;
                    }
                    name => format!("smpi:{}", name.split_once("__").expect("a kind").1),
                };
                assert_eq!(found, expected, "{point:?}");
            }
        }
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn tables_cover_all_calls() {
    for name in Selector::names() {
        let selector = Selector::built_in(name).expect("a selector");
        assert_eq!(selector.name(), name);
        assert_eq!(selector.check_coverage(), Ok(()));
        for kind in Collective::ALL {
            for ranks in [1, 2, 3, 8, 61, 4097] {
                for bytes in [0, 1, 4096, 1 << 20] {
                    for commutative in [true, false] {
                        let mut point = Point::new(kind, ranks, bytes);
                        point.commutative = commutative;
                        point.selected(name, Measured::Own);
                    }
                }
            }
        }
    }
}

#[test]
fn gaps_are_errors() {
    let parse = |rows: &str| {
        let text = format!("version = 1\nname = \"mine\"\n{rows}");
        Selector::parse(&text)
    };
    let gap = parse(
        "[[bcast]]\nbytes = [0, 7]\nalgorithm = \"binomial\"\n\
         [[bcast]]\nbytes = [9, 9223372036854775807]\nalgorithm = \"linear\"",
    );
    let error = gap.expect_err("8 bytes are left out");
    assert!(error.starts_with("bcast: no row matches"), "{error}");
    assert!(error.contains("bytes = 8 "), "{error}");
    let one_sided = parse("[[reduce]]\ncommutative = true\nalgorithm = \"binomial\"");
    let error = one_sided.expect_err("other operations are left out");
    assert!(error.contains("commutative = false"), "{error}");
    let powers = parse("[[allgather]]\npower_of_two = true\nalgorithm = \"ring\"");
    let error = powers.expect_err("other numbers of ranks are left out");
    assert!(error.contains("ranks = 3,"), "{error}");
    let own = parse("[[alltoallv]]\nbytes = [0, 7]\nalgorithm = \"linear\"");
    let error = own.expect_err("ranks measure different bytes");
    assert!(error.contains("do not know the bytes"), "{error}");
    let base = parse("base = \"mpihc\"");
    assert!(
        base.expect_err("no such selector")
            .contains("unknown base 'mpihc'")
    );
    let mine = parse("base = \"mpich\"").expect("a selector");
    let mut call = Call::new(Collective::Gather, 0, 4, 8);
    let selection = mine
        .choose_algorithm(&mut call, Facts::default())
        .expect("a row");
    assert_eq!(selection.choice.name(), "mpich:binomial");
    assert!(matches!(selection.grounds, Grounds::Row(row) if row.selector == "mpich"));
}
