//! Promise: the ranks leave a collective operation at the dates at which those of SMPI leave it,
//! with the model `smpi` and the same algorithm.
//!
//! `smpi/collectives.csv` was recorded with SMPI 3.32 and its default factors, without overheads of
//! calls, on 64 hosts with links of 1.25 GB/s and 1 us up and down to a crossbar, at a precision of
//! 1e-13 s: the end date of each rank of the first call of a program.

mod common;

use std::sync::Arc;

use common::{DONE, Notes, ranks};
use mpi::{Collective, Comm, Op, Result, Selector, Settings};

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

/// Returns the dates at which the ranks leave the call.
fn dates(
    selector: &Arc<Selector>,
    collective: &str,
    size: u32,
    bytes: u64,
    root: usize,
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
    let (mut compared, mut worst, mut wrong, mut missing) = (0, 0.0_f64, Vec::new(), Vec::new());
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
        let mut selector = Selector::ours().clone();
        if selector.force(kind, &format!("smpi:{name}"), 0, 0).is_err() {
            missing.push(format!("{collective} {name}"));
            continue;
        }
        let [size, bytes, root] =
            [size, bytes, root].map(|text| text.parse::<u32>().expect("a number"));
        let expected = expected
            .split(' ')
            .map(|date| date.parse::<f64>().expect("a date"));
        let found = dates(
            &Arc::new(selector),
            collective,
            size,
            bytes.into(),
            root as usize,
        );
        let mut difference = 0.0_f64;
        for (found, expected) in found.iter().zip(expected) {
            difference = difference.max((found - expected).abs() / expected.max(1e-6));
        }
        compared += 1;
        if difference > 1e-9 {
            wrong.push(format!(
                "{collective} {name} {size} {bytes} {root}: {difference:.1e}"
            ));
        } else {
            worst = worst.max(difference);
        }
    }
    missing.dedup();
    println!("{compared} compared, worst {worst:e}, missing: {missing:?}");
    assert_eq!(wrong, Vec::<String>::new());
}
