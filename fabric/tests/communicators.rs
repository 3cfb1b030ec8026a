//! Promise: communicators cost simulated time, because they are made with messages; and they are shared, not tabulated per
//! rank.

mod common;

use common::{DONE, ranks};
use mpi::Comm;

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
            let status = columns
                .recv(&mut world.buffer(1), mpi::ANY_SOURCE, 0)
                .await?;
            assert_eq!(status.source, SIDE - 1);
            notes.add(&rows, "there");
        }
        DONE
    });
    assert_eq!(run.notes.len(), SIDE);
    run.finished();
}
