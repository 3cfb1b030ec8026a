//! SUMMA (van de Geijn and Watts, 1997): the product of two matrices that are distributed in blocks
//! over a square grid of ranks.
//!
//! In step k the ranks of column k broadcast their blocks of A along rows of the grid, and those of
//! row k their blocks of B along columns; every rank adds the product of both to its block of C.
//! Elements are whole numbers, so that results are exact. If buffers are real, a rank compares its
//! block of a small product with a sequential one. In a simulation arithmetic takes no time.

use std::error::Error;
use std::ops::Range;

use mpi::prelude::*;

/// Multiplies matrices on a square grid of ranks
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of rows and of columns of the matrices
    #[arg(long, value_name = "N", default_value_t = 64)]
    size: u32,
}

/// Largest number of rows of a product that is verified.
const VERIFIED_MAX: usize = 256;

/// The elements of a matrix, by row and column.
type Matrix = fn(usize, usize) -> f64;

const A: Matrix = |row, column| ((3 * row + 5 * column) % 11) as f64;
const B: Matrix = |row, column| ((7 * row + 2 * column) % 13) as f64 - 6.0;

/// The blocks that this rank multiplies.
struct Grid {
    side: usize,
    place: [usize; 2],
    order: usize,
    is_phantom: bool,
}

impl Grid {
    /// Returns the rows or columns of the blocks with this index.
    const fn block_range(&self, index: usize) -> Range<usize> {
        index * self.order / self.side..(index + 1) * self.order / self.side
    }

    /// Returns a block of a matrix, or a buffer of its length at a rank that does not own it.
    fn matrix_block(&self, world: &Comm, matrix: Matrix, place: [usize; 2]) -> Buffer {
        let [rows, columns] = place.map(|index| self.block_range(index));
        if place != self.place || self.is_phantom {
            return world.buffer(8 * (rows.len() * columns.len()) as u64);
        }
        let row = |row| columns.clone().map(move |column| matrix(row, column));
        world.buffer_of(&rows.flat_map(row).collect::<Vec<f64>>())
    }

    /// Returns this rank's block of the product, given the ranks of its row and of its column.
    async fn multiply(&self, world: &Comm, parts: &[Comm; 2]) -> Result<Vec<f64>> {
        let ([row, column], mut product) = (self.place, Vec::new());
        let width = self.block_range(column).len();
        if !self.is_phantom {
            product.resize(self.block_range(row).len() * width, 0.0);
        }
        for step in 0..self.side {
            let mut a = self.matrix_block(world, A, [row, step]);
            let mut b = self.matrix_block(world, B, [step, column]);
            parts[0].bcast(&mut a, step).await?;
            parts[1].bcast(&mut b, step).await?;
            let (Some(a), Some(b)) = (a.values::<f64>()?, b.values::<f64>()?) else {
                continue;
            };
            let inner = self.block_range(step).len();
            for (at, place) in product.iter_mut().enumerate() {
                let a = a.iter().skip(at / width * inner).take(inner);
                let b = b.iter().skip(at % width).step_by(width);
                *place += a.zip(b).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        Ok(product)
    }
}

async fn summa(world: Comm, args: Args) -> Result<(), Box<dyn Error>> {
    let (rank, size, order) = (world.rank(), world.size(), args.size as usize);
    let side = size.isqrt();
    if side * side != size {
        let (below, above) = (side * side, (side + 1) * (side + 1));
        return Err(format!("{size} ranks are not a square: try {below} or {above}").into());
    }
    let (place, is_phantom) = ([rank / side, rank % side], world.buffer(0).is_phantom());
    let [row, column] = place.map(|at| u32::try_from(at).unwrap_or(u32::MAX));
    let along_row = world.split(Some(row), 0).await?;
    let along_column = world.split(Some(column), 0).await?;
    let parts = along_row.zip(along_column).map(<[Comm; 2]>::from);
    let parts = parts.ok_or("each rank has a row and a column")?;
    let grid = Grid {
        side,
        place,
        order,
        is_phantom,
    };
    world.barrier().await?;
    let start = world.wtime();
    let product = grid.multiply(&world, &parts).await?;
    let time = (world.wtime() - start) * 1e6;
    if order <= VERIFIED_MAX && !is_phantom {
        let element = |row, column| (0..order).map(|at| A(row, at) * B(at, column)).sum::<f64>();
        let columns = grid.block_range(place[1]);
        let row = |row| columns.clone().map(move |column| element(row, column));
        let expected = grid.block_range(place[0]).flat_map(row);
        assert!(product.into_iter().eq(expected), "a wrong product");
    }
    if rank == 0 {
        world.println(format_args!("product on {side}x{side} ranks: {time:.3} us"));
    }
    for communicator in parts {
        communicator.free()?;
    }
    Ok(())
}

simrun::main!(summa);
