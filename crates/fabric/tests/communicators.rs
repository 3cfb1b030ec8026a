//! Promise: communicators cost simulated time, because they are made with messages; send modes end
//! at the dates of the messages.

use crate::common::{DONE, ranks};
use mpi::prelude::*;

#[test]
fn a_dup_takes_a_message_per_level_of_the_tree() {
    let run = ranks(4).run(|world, notes| async move {
        let copy = world.dup().await?;
        notes.add(&world, format_args!("{copy:?}"));
        DONE
    });
    // 4 bytes at 1 GB/s after 2 us, two messages at once out of rank 0.
    let (two, one) = (2e-6 + 8e-9, 2e-6 + 4e-9);
    run.finished().noted(&[
        (0.0, 0, "Comm(rank 0 of 4, context 2)"),
        (two, 2, "Comm(rank 2 of 4, context 2)"),
        (two, 1, "Comm(rank 1 of 4, context 2)"),
        (two + one, 3, "Comm(rank 3 of 4, context 2)"),
    ]);
}

/// The dates of a short message in each mode: a synchronous send waits for its receive and for the
/// data that are sent then.
#[test]
fn send_modes_take_their_time() {
    let run = ranks(2).run(|world, notes| async move {
        let mut buffer = world.buffer(1000);
        if world.rank() == 1 {
            world.sleep(1e-3).await;
            world.recv(&mut buffer, 0, 0).await?;
            world.recv(&mut world.buffer(1_000_000), 0, 1).await?;
            world.recv(&mut buffer, 0, 2).await?;
            let message = world.mprobe(0, 3).await?;
            message.recv(buffer).await?;
            return DONE;
        }
        world.buffer_attach(world.buffer(1_000_000))?;
        world.send(&buffer, 1, 0).await?;
        world.bsend(&world.buffer(1_000_000), 1, 1).await?;
        notes.add(&world, "at once");
        world.buffer_detach().await?;
        notes.add(&world, "detached");
        world.ssend(&buffer, 1, 2).await?;
        world.ssend(&buffer, 1, 3).await?;
        notes.add(&world, "received");
        DONE
    });
    let detached = 1e-3 + 1e-3 + 2e-6;
    run.finished().noted(&[
        (0.0, 0, "at once"),
        (detached, 0, "detached"),
        (detached + 2.0 * 3e-6, 0, "received"),
    ]);
}

#[test]
fn rows_and_columns_of_many_ranks() {
    const SIDE: usize = 32;
    let hosts: Vec<u32> = (0..SIDE * SIDE).map(|rank| rank as u32 % 4).collect();
    let run = ranks(4).on_hosts(&hosts).run(|world, notes| async move {
        let (row, column) = (world.rank() / SIDE, world.rank() % SIDE);
        let rows: Comm = world.split(Some(row as u32), 0).await?.expect("a row");
        // Upwards in even columns and downwards in odd ones.
        let key = row as i32 * if column % 2 == 0 { 1 } else { -1 };
        let columns = world.split(Some(column as u32), key).await?;
        let columns = columns.expect("a column");
        assert_eq!((rows.rank(), rows.size()), (column, SIDE));
        let place = if column % 2 == 0 { row } else { SIDE - 1 - row };
        assert_eq!((columns.rank(), columns.size()), (place, SIDE));
        columns.barrier().await?;
        if columns.rank() == SIDE - 1 {
            columns.send(&world.buffer(1), 0, 0).await?;
        } else if columns.rank() == 0 {
            let status = columns.recv(&mut world.buffer(1), ANY_SOURCE, 0).await?;
            assert_eq!(status.source, SIDE - 1);
            notes.add(&rows, "there");
        }
        DONE
    });
    assert_eq!(run.notes.len(), SIDE);
    run.finished();
}

/// Two ranks on each of two hosts, in an order that mixes the hosts.
#[test]
fn ranks_are_grouped_by_their_hosts() {
    let runner = ranks(4).on_hosts(&[2, 0, 2, 0]);
    let run = runner.run(|world, notes| async move {
        let host = world.split_by_host(0).await?;
        notes.add(&world, format!("{} of {}", host.rank(), host.size()));
        let mut other = world.buffer(4);
        let partner = 1 - host.rank();
        let own = world.buffer_of(&[u32::try_from(world.rank()).expect("few ranks")]);
        host.sendrecv(&own, partner, 0, &mut other, partner, 0)
            .await?;
        DONE
    });
    let run = run.finished();
    for (rank, text) in [(0, "0 of 2"), (1, "0 of 2"), (2, "1 of 2"), (3, "1 of 2")] {
        assert!(
            run.notes
                .iter()
                .any(|note| note.1 == rank && note.2 == text),
            "{rank}: {:?}",
            run.notes
        );
    }
}

/// Seven ranks on two hosts in turn, of which six form a chain: three of one host come first.
#[test]
fn a_reordered_grid_has_neighbours_on_one_host() {
    let runner = ranks(7).on_hosts(&[1, 3, 1, 3, 1, 3, 1]);
    let run = runner.run(|world, notes| async move {
        let Some(grid) = world.cartesian_reordered(&[6], &[false]).await? else {
            notes.add(&world, "none");
            return DONE;
        };
        let (below, above) = grid.shift(0, 1)?;
        let own = world.buffer_of(&[u32::try_from(world.rank()).expect("few ranks")]);
        let mut other = world.buffer(4);
        grid.sendrecv(&own, above, 0, &mut other, below, 0).await?;
        notes.add(&world, grid.rank());
        DONE
    });
    let mut found: Vec<(usize, String)> = run
        .notes
        .iter()
        .map(|note| (note.1, note.2.clone()))
        .collect();
    found.sort_unstable();
    let expected = ["0", "3", "1", "4", "2", "5", "none"];
    let expected = expected.into_iter().enumerate();
    assert!(
        found
            .into_iter()
            .eq(expected.map(|(rank, text)| (rank, text.to_owned())))
    );
    run.finished();
}
