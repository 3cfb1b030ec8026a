//! Promise: packing takes simulated time where copies do, with phantom buffers too, and none where
//! they do not.

use crate::common::{DONE, THRESHOLD, ranks};
use mpi::{Settings, prelude::*};

#[test]
fn a_column_is_packed_sent_and_unpacked() {
    let run = |copy_bandwidth, untimed: bool| {
        let runner = ranks(2).with_settings(Settings {
            phantom: true,
            copy_bandwidth,
            ..Settings::new(THRESHOLD)
        });
        let runner = if untimed { runner.untimed() } else { runner };
        runner.run(|world, notes| async move {
            // 1000 numbers, 8 KB at 1 GB/s after 2 us.
            let column = Datatype::vector(1000, 1, 1000, &Datatype::of::<f64>())?;
            let mut matrix = world.buffer(8_000_000);
            if world.rank() == 0 {
                world.send_view(&matrix, 1, &column, 1, 0).await?;
                notes.add(&world, "sent");
            } else {
                world.recv_view(&mut matrix, 1, &column, 0, 0).await?;
                notes.add(&world, "received");
            }
            DONE
        })
    };
    let (copy, message) = (8e3 / 4e9, 2e-6 + 8e-6);
    let costly = run(4e9, false).finished();
    costly.noted(&[(copy, 0, "sent"), (copy + message + copy, 1, "received")]);
    let free = run(f64::INFINITY, false).finished();
    free.noted(&[(0.0, 0, "sent"), (message, 1, "received")]);
    run(4e9, true).finished();
}
