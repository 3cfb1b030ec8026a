//! Heat in a rod, in one dimension: each rank has a part of the cells, and puts its border cells
//! into windows of its neighbours, synchronised by fences or by post, start, complete and wait.
//!
//! The left end of the rod has the value 1, the right end 0. A step replaces each cell by the mean
//! of its neighbours. A window has a pair of cells for even steps and one for odd steps: a
//! neighbour may put the cells of the next step while those of this one are read. If buffers are
//! real, every rank computes the whole rod alone, too, and compares its part.

use mpi::prelude::*;

/// Heat in a rod whose parts exchange their borders by one-sided communication
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of cells of each rank
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cells: usize,

    /// Number of steps
    #[arg(long, value_name = "N", default_value_t = 10)]
    steps: u64,

    /// Synchronisation of the accesses
    #[arg(long, value_enum, default_value = "fence")]
    by: Synchronisation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Synchronisation {
    /// Fences of all ranks.
    Fence,
    /// Post, start, complete and wait between neighbours.
    Groups,
}

/// Values at the ends of the rod.
const ENDS: [f64; 2] = [1.0, 0.0];

/// Replaces each cell by the mean of its neighbours; `ends` are those outside.
fn relax(cells: &mut [f64], ends: [f64; 2]) {
    let mut left = ends[0];
    for at in 0..cells.len() {
        let right = cells.get(at + 1).copied().unwrap_or(ends[1]);
        left = std::mem::replace(&mut cells[at], f64::midpoint(left, right));
    }
}

/// The neighbours of a rank, to the left and to the right.
fn neighbours(world: &Comm) -> [Option<usize>; 2] {
    let (rank, last) = (world.rank(), world.size() - 1);
    [rank.checked_sub(1), (rank < last).then_some(rank + 1)]
}

/// Puts the border cells into the windows of the neighbours, and returns theirs.
async fn exchange_halo(
    world: &Comm,
    window: &Window,
    (cells, step): (&[f64], u64),
    around: Option<&Group>,
) -> Result<[f64; 2]> {
    if let Some(group) = around {
        window.post(group).await?;
        window.start(group).await?;
    }
    let first = 2 * (step % 2);
    let borders = [cells.first(), cells.last()].map(|cell| cell.copied().unwrap_or_default());
    // The left border is the right neighbour of the rank to the left.
    for (neighbour, value, place) in [
        (neighbours(world)[0], borders[0], first + 1),
        (neighbours(world)[1], borders[1], first),
    ] {
        if let Some(neighbour) = neighbour {
            let cell = world.buffer_of(&[value]);
            window.put(&cell, neighbour, place).await?;
        }
    }
    if around.is_some() {
        window.complete().await?;
        window.wait().await?;
    } else {
        window.fence().await?;
    }
    let found = window.read(8 * first, 16).await?.values::<f64>()?;
    let found = found.unwrap_or_else(|| ENDS.to_vec());
    let is_end = neighbours(world).map(|neighbour| neighbour.is_none());
    Ok([0, 1].map(|side| {
        if is_end[side] {
            ENDS[side]
        } else {
            found[side]
        }
    }))
}

async fn halo(world: Comm, args: Args) -> Result<()> {
    let mut cells = vec![0.0; args.cells.max(1)];
    let window = world.window(world.buffer(32), 8).await?;
    let ranks: Vec<usize> = neighbours(&world).into_iter().flatten().collect();
    let around = world.group().incl(&ranks)?;
    let around = (args.by == Synchronisation::Groups).then_some(around);
    window.fence().await?;
    for step in 0..args.steps {
        let ends = exchange_halo(&world, &window, (&cells, step), around.as_ref()).await?;
        relax(&mut cells, ends);
    }
    window.free().await?;
    if !world.buffer(1).is_phantom() {
        let mut rod = vec![0.0; cells.len() * world.size()];
        for _ in 0..args.steps {
            relax(&mut rod, ENDS);
        }
        let expected = &rod[world.rank() * cells.len()..][..cells.len()];
        assert_eq!(cells, expected, "the part of rank {}", world.rank());
    }
    Ok(())
}

simrun::main!(halo);
