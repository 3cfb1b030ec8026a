//! Promise: the ranks leave a collective operation at the dates at which those of SMPI leave it,
//! with the model `smpi` and the same algorithm.
//!
//! `smpi/collectives.csv` was recorded with SMPI 3.32 and its default factors, without overheads of
//! calls, on 64 hosts with links of 1.25 GB/s and 1 us up and down to a crossbar, at a precision of
//! 1e-13 s: the end date of each rank of the first call of a program.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use collectives::{Call, Facts};
use common::{DONE, Notes, ranks};
use mpi::{Collective, Comm, Op, Result, Selector, Settings, waitall};

const CROSSBAR: &str = r#"
version = 1
network = { model = "smpi" }
[clusters.n]
hosts = "n-[0-63]"
speed = "1Gf"
bandwidth = "1.25GBps"
latency = "1us"
"#;

const RECORDED: &str = include_str!("smpi/collectives.csv");

/// Names whose first call in SMPI exchanges the nodes of the ranks before.
const NODE_AWARE: [&str; 20] = [
    "SMP_NTS",
    "SMP_binary",
    "SMP_binomial",
    "loosely_lr",
    "mpich_smp",
    "mvapich2_inter_node",
    "mvapich2_intra_node",
    "mvapich2_knomial_intra_node",
    "mvapich2_smp",
    "mvapich2_two_level",
    "mvapich2_two_level_binomial",
    "mvapich2_two_level_direct",
    "smp_binomial",
    "smp_binomial_pipeline",
    "smp_rdb",
    "smp_rsag",
    "smp_rsag_lr",
    "smp_rsag_rab",
    "smp_simple",
    "SMP_linear",
];

/// Returns true if the first call with a selector of SMPI exchanges the nodes of the ranks before:
/// the selector or the algorithm that it selects asks for them.
fn selects_by_nodes((collective, name): (&str, &str), call: &mut Call) -> bool {
    let bytes = call.bytes;
    match name {
        "impi" => true,
        "mpich" => matches!(collective, "bcast" | "reduce" | "allreduce"),
        "mvapich2" => match collective {
            // Its tables have no second level for more.
            "allreduce" => bytes < 65_536,
            "reduce" => bytes < 1_048_576,
            _ => matches!(collective, "allgather" | "bcast" | "scatter"),
        },
        "ompi" if collective == "bcast" => {
            let ompi = Selector::built_in("smpi-ompi").expect("a selector");
            let selected = ompi.select(call, Facts::default()).expect("an algorithm");
            selected.name == "knomial"
        }
        _ => false,
    }
}

/// Rows that differ, by name and number, and the reason.
const DIFFERENT: [(&str, usize, &str); 12] = [
    ("alltoall mvapich2_scatter_dest", 20, ITSELF),
    ("alltoall impi", 14, ITSELF),
    ("alltoall mpich", 6, ITSELF),
    ("alltoall mvapich2", 9, ITSELF),
    ("bcast mvapich2_knomial_intra_node", 2, SHARING),
    ("bcast ompi", 2, SHARING),
    ("bcast ompi_split_bintree", 9, SHARING),
    ("reduce ompi_chain", 2, SHARING),
    ("reduce rab", 1, SHARING),
    ("allreduce smp_rsag", 10, REMAINDER),
    ("allreduce smp_rsag_lr", 6, REMAINDER),
    ("allreduce smp_rsag_rab", 2, REMAINDER),
];

const ITSELF: &str = "SMPI sends a message of a rank to itself over the links of its host";

const SHARING: &str = "SimGrid leaves links out that change in the same instant, so that flows \
                       exceed the bandwidth of a link";

const REMAINDER: &str = "SMPI does not reduce the elements that do not divide by the ranks";

/// The messages with which SMPI finds out the nodes of the ranks, with one rank on each node: two
/// allgathers by shifts, a linear reduction and a binomial broadcast, of 4 bytes each.
async fn exchange_nodes(world: &Comm) -> Result<()> {
    let (rank, size, mut word) = (world.rank(), world.size(), world.buffer(4));
    for _ in 0..2 {
        for distance in 1..size {
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            let out = word.clone();
            world.sendrecv(&out, to, 0, &mut word, from, 0).await?;
        }
    }
    if rank == 0 {
        let receive = |source| world.irecv(world.buffer(4), source, 1);
        let mut all = (1..size).map(receive).collect::<Result<Vec<_>>>()?;
        waitall(&mut all).await?;
    } else {
        world.send(&word, 0, 1).await?;
        world.recv(&mut word, rank & (rank - 1), 2).await?;
    }
    let width = if rank == 0 {
        size.next_power_of_two()
    } else {
        rank & rank.wrapping_neg()
    };
    for distance in (0..width.ilog2()).rev().map(|bit| 1 << bit) {
        if rank + distance < size {
            world.send(&word, rank + distance, 2).await?;
        }
    }
    Ok(())
}

async fn perform(world: Comm, collective: &str, bytes: u64, root: usize) -> Result<()> {
    let (size, op) = (world.size() as u64, Op::sum::<f64>());
    let mut buffer = world.buffer(bytes);
    let equal = || vec![bytes; world.size()];
    match collective {
        "barrier" => world.barrier().await?,
        "bcast" => world.bcast(&mut buffer, root).await?,
        "reduce" => drop(world.reduce(&buffer, &op, root).await?),
        "allreduce" => drop(world.allreduce(&buffer, &op).await?),
        "gather" => drop(world.gather(&buffer, root).await?),
        "scatter" => {
            let all = world.buffer(bytes * size);
            world.scatter(Some(&all), &mut buffer, root).await?;
        }
        "allgather" => drop(world.allgather(&buffer).await?),
        "allgatherv" => drop(world.allgather_v(&buffer, equal()).await?),
        "alltoall" => drop(world.alltoall(&world.buffer(bytes * size)).await?),
        "alltoallv" => {
            let all = world.buffer(bytes * size);
            drop(world.alltoall_v(&all, equal(), equal()).await?);
        }
        "reduce_scatter" => {
            let all = world.buffer(bytes * size);
            drop(world.reduce_scatter(&all, equal(), &op).await?);
        }
        "scan" => drop(world.scan(&buffer, &op).await?),
        "exscan" => drop(world.exscan(&buffer, &op).await?),
        other => panic!("{other}"),
    }
    Ok(())
}

/// Returns the selector of SMPI of this name, or one that has its algorithm for all calls.
fn selector(kind: Collective, name: &str) -> Option<Selector> {
    if let Some(selector) =
        Selector::built_in(&format!("smpi-{name}")).filter(|_| name != "default")
    {
        return Some(selector.clone());
    }
    let mut selector = Selector::built_in("smpi-default")?.clone();
    let forced = selector.force(kind, &format!("smpi:{name}"), 0, 0);
    forced.is_ok().then_some(selector)
}

/// Returns the dates at which the ranks leave the call.
fn dates(
    selector: &Arc<Selector>,
    (collective, is_node_aware): (&str, bool),
    (size, bytes, root): (u32, u64, usize),
) -> Vec<f64> {
    let settings = Settings {
        phantom: true,
        async_small_threshold: 0,
        envelope: 16,
        collectives: Some(Arc::clone(selector)),
        ..Settings::new(65_536)
    };
    let runner = ranks(size).on_platform(CROSSBAR).with_settings(settings);
    let collective = collective.to_owned();
    let run = runner.run(move |world: Comm, notes: Notes| {
        let collective = collective.clone();
        async move {
            if is_node_aware {
                exchange_nodes(&world).await?;
            }
            perform(world.clone(), &collective, bytes, root).await?;
            notes.add(&world, "end");
            DONE
        }
    });
    let run = run.finished();
    let mut dates = vec![0.0; size as usize];
    for (date, rank, _) in &run.notes {
        dates[*rank] = *date;
    }
    dates
}

#[test]
fn dates_are_those_of_smpi() {
    let (mut compared, mut worst, mut wrong, mut missing) =
        (0, 0.0_f64, BTreeMap::<String, Vec<f64>>::new(), Vec::new());
    for line in RECORDED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [collective, algorithm, size, bytes, root, expected] = fields[..] else {
            panic!("six fields: {line}");
        };
        if matches!(collective, "dup" | "split") {
            continue;
        }
        let name = match algorithm {
            "-" => "default",
            other => other,
        };
        let kind: Collective = collective.parse().expect("an operation");
        let Some(selector) = selector(kind, name) else {
            missing.push(format!("{collective} {name}"));
            continue;
        };
        let [size, bytes, root] =
            [size, bytes, root].map(|text| text.parse::<u32>().expect("a number"));
        let expected = expected
            .split(' ')
            .map(|date| date.parse::<f64>().expect("a date"));
        let mut call = Call::new(kind, 0, size, bytes.into());
        let by_nodes = selects_by_nodes((collective, name), &mut call);
        let is_node_aware = NODE_AWARE.contains(&name) || by_nodes;
        let call = (collective, is_node_aware);
        let arguments = (size, bytes.into(), root as usize);
        let found = dates(&Arc::new(selector), call, arguments);
        let mut difference = 0.0_f64;
        for (found, expected) in found.iter().zip(expected) {
            difference = difference.max((found - expected).abs() / expected.max(1e-6));
        }
        compared += 1;
        if difference > 1e-9 {
            println!("differs: {collective} {name} {size} {bytes} {root}: {difference:.1e}");
            wrong
                .entry(format!("{collective} {name}"))
                .or_default()
                .push(difference);
        } else {
            worst = worst.max(difference);
        }
    }
    missing.dedup();
    println!("{compared} compared, worst {worst:e}, missing: {missing:?}");
    let known = DIFFERENT
        .iter()
        .map(|(name, count, _)| ((*name).to_owned(), *count));
    let found = wrong.iter().map(|(name, rows)| (name.clone(), rows.len()));
    assert_eq!(
        found.collect::<BTreeMap<String, usize>>(),
        known.collect::<BTreeMap<String, usize>>(),
        "{wrong:?}"
    );
}
