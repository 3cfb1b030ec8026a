//! Conjugate gradients (Hestenes and Stiefel, 1952) on the 5-point Laplacian of a square grid.
//!
//! The rows of the grid are distributed in blocks. An iteration exchanges halo rows with both
//! neighbours and reduces two dot products. If buffers are real, every rank solves the system of a
//! small grid alone, too, and compares its rows. In a simulation arithmetic takes no time.

use std::error::Error;
use std::ops::Range;

use mpi::prelude::*;

/// Conjugate gradients on a grid that is distributed by rows
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of rows and of columns of the grid
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    size: u32,

    /// Number of iterations
    #[arg(long, value_name = "N", default_value_t = 10)]
    iterations: u32,
}

/// Largest number of rows of a grid whose solution is verified.
const VERIFIED_MAX: usize = 256;

/// Exchanges the halo rows of a vector; alone there is nothing to exchange.
async fn exchange_halo(comm: Option<&Comm>, vector: &mut [f64], side: usize) -> Result<()> {
    let Some(comm) = comm else { return Ok(()) };
    let (rank, end) = (comm.rank(), vector.len() - side);
    let above = rank.checked_sub(1).unwrap_or(PROC_NULL);
    let last = rank + 1 == comm.size();
    let below = if last { PROC_NULL } else { rank + 1 };
    for (own, to, halo, from) in [
        (side..2 * side, above, end..end + side, below),
        (end - side..end, below, 0..side, above),
    ] {
        let row = comm.buffer_of(&vector[own]);
        // Where there is no neighbour, the halo stays 0.
        let mut received = comm.buffer_of(&vector[halo.clone()]);
        comm.sendrecv(&row, to, 0, &mut received, from, 0).await?;
        if let Some(values) = received.values()? {
            vector[halo].copy_from_slice(&values);
        }
    }
    Ok(())
}

/// Returns the sum over all ranks. A phantom run has none.
async fn sum(comm: Option<&Comm>, value: f64) -> Result<f64> {
    let Some(comm) = comm else { return Ok(value) };
    let own = comm.buffer_of(&[value]);
    let sum = comm.allreduce(&own, &Op::sum::<f64>()).await?;
    Ok(sum.values()?.map_or(f64::NAN, |values| values[0]))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the product of the Laplacian and a vector that has a halo row on both sides.
fn laplacian(vector: &[f64], side: usize) -> Vec<f64> {
    let product = |at: usize| {
        let [first, last] = [at, at + 1].map(|at| at.is_multiple_of(side));
        let west = if first { 0.0 } else { vector[at - 1] };
        let east = if last { 0.0 } else { vector[at + 1] };
        4.0 * vector[at] - vector[at - side] - vector[at + side] - west - east
    };
    (side..vector.len() - side).map(product).collect()
}

/// Solves for the given rows. Returns the solution there and the norm of the residual.
async fn solve_rows(
    comm: Option<&Comm>,
    rows: Range<usize>,
    args: &Args,
) -> Result<(Vec<f64>, f64)> {
    let side = args.size as usize;
    let places = rows.start * side..rows.end * side;
    let mut residual: Vec<f64> = places.map(|at| 1.0 + (at % 7) as f64).collect();
    let (mut solution, own) = (vec![0.0; residual.len()], side..side + residual.len());
    let mut direction = [&vec![0.0; side], &*residual, &vec![0.0; side]].concat();
    let mut square = sum(comm, dot(&residual, &residual)).await?;
    for _ in 0..args.iterations {
        exchange_halo(comm, &mut direction, side).await?;
        let product = laplacian(&direction, side);
        let curvature = sum(comm, dot(&direction[own.clone()], &product)).await?;
        let step = square / curvature.max(f64::MIN_POSITIVE);
        for at in 0..solution.len() {
            solution[at] += step * direction[side + at];
            residual[at] -= step * product[at];
        }
        let before = std::mem::replace(&mut square, sum(comm, dot(&residual, &residual)).await?);
        for (at, residual) in own.clone().zip(&residual) {
            direction[at] = residual + square / before.max(f64::MIN_POSITIVE) * direction[at];
        }
    }
    Ok((solution, square.sqrt()))
}

async fn conjugate_gradient(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    let (rank, size, side) = (world.rank(), world.size(), args.size as usize);
    if size > side {
        return Err(format!("{size} ranks need --size {size} or more, not {side}").into());
    }
    let is_phantom = world.buffer(0).is_phantom();
    let end = |rank: usize| if is_phantom { 0 } else { rank * side / size };
    let rows = end(rank)..end(rank + 1);
    let start = world.wtime();
    let (solution, residual) = solve_rows(Some(&world), rows.clone(), &args).await?;
    let time = (world.wtime() - start) * 1e6;
    if side <= VERIFIED_MAX && !is_phantom {
        let expected = solve_rows(None, 0..side, &args).await?.0;
        let own = &expected[rows.start * side..rows.end * side];
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
        assert!(solution.iter().zip(own).all(is_close), "a wrong solution");
    }
    if rank == 0 {
        world.println(format_args!("residual {residual:.6e}, {time:.3} us"));
    }
    Ok(())
}

simrun::main!(conjugate_gradient);
