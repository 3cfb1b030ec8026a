//! The part of a square that a rank has.

use std::ops::RangeInclusive;

use mpi::{Cartesian, PROC_NULL, Result};

/// Numbers of rows and of columns, and their values with a halo; none in a phantom run.
pub(crate) struct Block {
    pub(crate) sides: [usize; 2],
    pub(crate) values: Vec<f64>,
}

impl Block {
    pub(crate) fn new(sides: [usize; 2], is_top: bool, is_phantom: bool) -> Self {
        let width = sides[1] + 2;
        let length = if is_phantom {
            0
        } else {
            (sides[0] + 2) * width
        };
        let value = |at| f64::from(is_top && at < width);
        let values = (0..length).map(value).collect();
        Self { sides, values }
    }

    /// Returns the indices of rows and columns; the halo has numbers 0 and one more than the last.
    pub(crate) fn cell_indices(
        &self,
        rows: RangeInclusive<usize>,
        columns: RangeInclusive<usize>,
    ) -> Vec<usize> {
        let width = self.sides[1] + 2;
        let row = |row| columns.clone().map(move |column| row * width + column);
        rows.flat_map(row).collect()
    }

    /// Fills the halo with values of the neighbours: above, below, left, right.
    pub(crate) async fn exchange_halo(&mut self, grid: &Cartesian) -> Result<()> {
        let [last, end] = self.sides;
        let row = |row| self.cell_indices(row..=row, 1..=end);
        let column = |column| self.cell_indices(1..=last, column..=column);
        let own = [row(1), row(last), column(1), column(end)];
        let halo = [row(0), row(last + 1), column(0), column(end + 1)];
        let lengths = own.each_ref().map(|places| 8 * places.len() as u64);
        let values = own.iter().flatten().filter_map(|&at| self.values.get(at));
        let mut border = grid.buffer(lengths.iter().sum());
        border.write(0, &grid.buffer_of(&values.copied().collect::<Vec<f64>>()));
        let received = grid.neighbor_alltoall_v(&border, lengths, lengths).await?;
        let mut received = received.values::<f64>()?.unwrap_or_default().into_iter();
        for (places, from) in halo.into_iter().zip(grid.sources()) {
            // Where there is no neighbour, the border stays.
            let values = places.into_iter().zip(received.by_ref());
            for (place, value) in values.filter(|_| from != PROC_NULL) {
                self.values[place] = value;
            }
        }
        Ok(())
    }

    /// Replaces each value by the mean of the four neighbouring values. Returns the largest change.
    pub(crate) fn relax(&mut self) -> f64 {
        let (old, width) = (self.values.clone(), self.sides[1] + 2);
        let mut change = 0.0;
        for at in self.cell_indices(1..=self.sides[0], 1..=self.sides[1]) {
            self.values[at] = (old[at - width] + old[at + width] + old[at - 1] + old[at + 1]) / 4.0;
            change = f64::max(change, (self.values[at] - old[at]).abs());
        }
        change
    }
}
