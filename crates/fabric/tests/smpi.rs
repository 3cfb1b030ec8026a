//! Promise: point-to-point calls under the model `smpi` take as long as in SMPI of SimGrid, with
//! the thresholds of SMPI and with costs of the calls.
//!
//! `smpi/dates.txt` has the dates of SimGrid 3.32, one situation per line: costs of the calls or
//! none, `smpi/async-small-thresh`, the calls, the size in bytes, when rank 0 and rank 1 begin, and
//! the output of each rank. `smpi/regenerate.sh` creates this file and has the options.

use std::collections::BTreeSet;

use crate::common::{DONE, Notes, ranks};
use mpi::{OverheadSection, OverheadTable, Overheads, Settings, prelude::*};

const TWO: &str = r#"
version = 1
network = { model = "smpi" }
hosts = { a = { speed = "1Gf" }, b = { speed = "1Gf" } }
links = { L = { bandwidth = "100MBps", latency = "1ms" } }
routes = [{ from = "a", to = "b", links = ["L"] }]
"#;

/// One line of the figures.
struct Situation {
    costs: bool,
    async_small_threshold: u64,
    calls: String,
    size: u64,
    begin: [f64; 2],
    /// Rank, text, date.
    dates: Vec<(usize, String, f64)>,
}

fn situations() -> Vec<Situation> {
    let parse = |line: &str| {
        let mut words = line.splitn(7, ' ');
        let mut word = || words.next().expect("seven columns");
        let (costs, async_small_threshold) = (word() == "over", word().parse().expect("a size"));
        let (calls, size) = (word().to_owned(), word().parse().expect("a size"));
        let begin = [word(), word()].map(|date| date.parse().expect("a date"));
        let dates = word().split(';').map(|note| {
            let note: Vec<&str> = note.split(' ').collect();
            let date = note[2].parse().expect("a date");
            (note[0].parse().expect("a rank"), note[1].to_owned(), date)
        });
        Situation {
            costs,
            async_small_threshold,
            calls,
            size,
            begin,
            dates: dates.collect(),
        }
    };
    include_str!("smpi/dates.txt").lines().map(parse).collect()
}

fn overhead(microseconds: [f64; 2]) -> OverheadTable {
    let section = |(above, time): (u64, f64)| OverheadSection {
        above,
        time: time * 1e-6,
        per_byte: time * 1e-10,
    };
    OverheadTable::new(
        [0, 1000]
            .into_iter()
            .zip(microseconds)
            .map(section)
            .collect(),
    )
}

/// Port of `smpi/point_to_point.c`.
async fn point_to_point(
    world: Comm,
    notes: Notes,
    calls: String,
    size: u64,
    begin: f64,
) -> Result<()> {
    let (rank, other) = (world.rank(), 1 - world.rank());
    let mut buffer = world.buffer(size);
    if begin > 0.0 {
        world.sleep(begin).await;
    }
    match (calls.as_str(), rank) {
        ("send", 0) => {
            world.send(&buffer, other, 0).await?;
            notes.add(&world, "send");
        }
        ("ssend", 0) => {
            world.ssend(&buffer, other, 0).await?;
            notes.add(&world, "ssend");
        }
        ("send" | "ssend", _) => {
            world.recv(&mut buffer, other, 0).await?;
            notes.add(&world, "recv");
        }
        ("isend", rank) => {
            let (mut request, call) = if rank == 0 {
                (world.isend(buffer, other, 0)?, "isend")
            } else {
                (world.irecv(buffer, other, 0)?, "irecv")
            };
            notes.add(&world, call);
            request.wait().await?;
            notes.add(&world, "wait");
        }
        ("two", rank) => {
            let start = |tag| {
                let buffer = world.buffer(size);
                if rank == 0 {
                    world.isend(buffer, other, tag)
                } else {
                    world.irecv(buffer, other, tag)
                }
            };
            let mut requests = [start(0)?, start(1)?];
            if rank == 0 {
                notes.add(&world, "isends");
            }
            waitall(&mut requests).await?;
            notes.add(&world, "waitall");
        }
        _ => {
            for _ in 0..3 {
                if rank == 0 {
                    world.send(&buffer, other, 0).await?;
                }
                world.recv(&mut buffer, other, 0).await?;
                if rank == 1 {
                    world.send(&buffer, other, 0).await?;
                }
            }
            notes.add(&world, "end");
        }
    }
    DONE
}

#[test]
fn dates_of_the_reference() {
    let situations = situations();
    let kinds: BTreeSet<&str> = situations.iter().map(|one| one.calls.as_str()).collect();
    assert_eq!((situations.len(), kinds.len()), (288, 5));
    for one in situations {
        let plain = Settings {
            phantom: true,
            async_small_threshold: one.async_small_threshold,
            envelope: 16,
            ..Settings::new(65_536)
        };
        let settings = if one.costs {
            Settings {
                overheads: Overheads {
                    os: overhead([10.0, 20.0]),
                    ois: overhead([30.0, 40.0]),
                    or: overhead([50.0, 60.0]),
                },
                ..plain
            }
        } else {
            plain
        };
        let (calls, size, begin) = (one.calls.clone(), one.size, one.begin);
        let run = ranks(2)
            .on_platform(TWO)
            .with_settings(settings)
            .run(move |world, notes| {
                let begin = begin[world.rank()];
                point_to_point(world, notes, calls.clone(), size, begin)
            })
            .finished();
        for rank in 0..2 {
            let found = run.notes.iter().filter(|note| note.1 == rank);
            let found: Vec<(&str, f64)> = found.map(|note| (note.2.as_str(), note.0)).collect();
            let wanted = one.dates.iter().filter(|date| date.0 == rank);
            // The lines of the figures are sorted by text.
            let wanted: Vec<(&str, f64)> = wanted.map(|date| (date.1.as_str(), date.2)).collect();
            let same = found.len() == wanted.len()
                && found
                    .iter()
                    .zip(&wanted)
                    .all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() <= 2e-12);
            assert!(
                same,
                "rank {rank}, costs {}, async {}, {} of {} bytes from {:?}:\n{found:?}, but SimGrid says\n{wanted:?}",
                one.costs, one.async_small_threshold, one.calls, one.size, one.begin
            );
        }
    }
}
