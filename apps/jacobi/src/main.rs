//! Jacobi iteration for Laplace's equation on a square, distributed over a grid of ranks.
//!
//! The border has the value 1 above and 0 elsewhere. An iteration exchanges the borders of blocks
//! with the neighbours in the grid, replaces each value by the mean of the four around it, and
//! reduces the largest change. If buffers are real, every rank computes all of a small square
//! alone, too, and compares its block: the numbers are the same to the last bit. In a
//! simulation arithmetic takes no time.

mod block;

use std::error::Error;
use std::ops::Range;

use block::Block;
use mpi::prelude::*;

/// Jacobi iteration on a square that is distributed over a grid of ranks
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of rows and of columns
    #[arg(long, value_name = "N", default_value_t = 64)]
    size: u32,

    /// Number of iterations
    #[arg(long, value_name = "N", default_value_t = 10)]
    iterations: u32,
}

/// Largest number of rows of a square that is verified.
const VERIFIED_MAX: usize = 256;

/// Asserts that a block has the values of a sequential run.
fn verify(block: &Block, [rows, columns]: [Range<usize>; 2], args: &Args) {
    let mut all = Block::new([args.size as usize; 2], true, false);
    for _ in 0..args.iterations {
        all.relax();
    }
    let own = block.cell_indices(1..=rows.len(), 1..=columns.len());
    let places = all.cell_indices(rows.start + 1..=rows.end, columns.start + 1..=columns.end);
    for (own, at) in own.into_iter().zip(places) {
        let (found, expected) = (block.values[own], all.values[at]);
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{found}, not {expected}"
        );
    }
}

async fn jacobi(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    let (mut lengths, size) = ([0, 0], args.size as usize);
    mpi::dims_create(world.size(), &mut lengths)?;
    if lengths[0] > size {
        return Err(format!("{} rows of ranks need as many rows of values", lengths[0]).into());
    }
    let grid = world.cartesian(&lengths, &[false, false]).await?;
    let grid = grid.ok_or("all ranks are in the grid")?;
    let place = grid.coordinates(grid.rank())?;
    let start = |axis: usize, place: usize| place * size / lengths[axis];
    let parts = [0, 1].map(|axis| start(axis, place[axis])..start(axis, place[axis] + 1));
    let sides = parts.each_ref().map(ExactSizeIterator::len);
    let is_phantom = world.buffer(0).is_phantom();
    let mut block = Block::new(sides, place[0] == 0, is_phantom);
    grid.barrier().await?;
    let (begin, mut change) = (grid.wtime(), f64::NAN);
    for _ in 0..args.iterations {
        block.exchange_halo(&grid).await?;
        let own = grid.buffer_of(&[if is_phantom { 0.0 } else { block.relax() }]);
        let largest = grid.allreduce(&own, &Op::max::<f64>()).await?;
        change = largest.values()?.map_or(f64::NAN, |values| values[0]);
    }
    let time = (grid.wtime() - begin) * 1e6;
    if size <= VERIFIED_MAX && !is_phantom {
        verify(&block, parts, &args);
    }
    if grid.rank() == 0 {
        if !is_phantom {
            world.println(format_args!("last change: {change:.6e}"));
        }
        world.println(format_args!("{} iterations: {time:.3} us", args.iterations));
    }
    Ok(Comm::clone(&grid).free()?)
}

simrun::main!(jacobi);
