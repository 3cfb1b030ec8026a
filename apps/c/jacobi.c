/* Jacobi iteration for Laplace's equation on a square: the twin of apps/jacobi.
 *
 * The border has the value 1 above and 0 elsewhere. An iteration exchanges the borders of blocks
 * with the neighbours in a grid of ranks, replaces each value by the mean of the four around it,
 * and reduces the largest change.
 *
 * simrun --platform platforms/cluster.toml ./jacobi -- --size 64 --iterations 10 */

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rows, columns, width;
static double *values, *old;

/* Fills the halo with values of the neighbours: above, below, left, right. */
static void exchange(MPI_Comm grid, const int neighbours[4]) {
  const int own[4] = {width + 1, rows * width + 1, width + 1, width + columns};
  const int halo[4] = {1, (rows + 1) * width + 1, width, width + columns + 1};
  MPI_Datatype row, column, types[4];
  MPI_Request requests[8];
  MPI_Type_contiguous(columns, MPI_DOUBLE, &row);
  MPI_Type_vector(rows, 1, width, MPI_DOUBLE, &column);
  MPI_Type_commit(&row);
  MPI_Type_commit(&column);
  for (int side = 0; side < 4; side++) {
    types[side] = side < 2 ? row : column;
    MPI_Irecv(values + halo[side], 1, types[side], neighbours[side], side ^ 1, grid,
              &requests[side]);
  }
  for (int side = 0; side < 4; side++)
    MPI_Isend(values + own[side], 1, types[side], neighbours[side], side, grid,
              &requests[4 + side]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&row);
  MPI_Type_free(&column);
}

/* Replaces each value by the mean of those around it. Returns the largest change. */
static double relax(void) {
  double change = 0;
  memcpy(old, values, sizeof *old * (rows + 2) * width);
  for (int row = 1; row <= rows; row++)
    for (int at = row * width + 1; at <= row * width + columns; at++) {
      values[at] = (old[at - width] + old[at + width] + old[at - 1] + old[at + 1]) / 4;
      double difference = fabs(values[at] - old[at]);
      change = difference > change ? difference : change;
    }
  return change;
}

int main(int argc, char **argv) {
  int size = 64, iterations = 10, rank, ranks, lengths[2] = {0, 0}, place[2], neighbours[4];
  const int periods[2] = {0, 0};
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--size") == 0)
      size = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--iterations") == 0)
      iterations = atoi(argv[i + 1]);
  }
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, lengths);
  if (lengths[0] > size) {
    fprintf(stderr, "%d rows of ranks need as many rows of values\n", lengths[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
  MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
  rows = (place[0] + 1) * size / lengths[0] - place[0] * size / lengths[0];
  columns = (place[1] + 1) * size / lengths[1] - place[1] * size / lengths[1];
  width = columns + 2;
  values = calloc((rows + 2) * width, sizeof *values);
  old = calloc((rows + 2) * width, sizeof *old);
  for (int at = 0; place[0] == 0 && at < width; at++)
    values[at] = 1;
  MPI_Barrier(grid);
  double begin = MPI_Wtime(), change = NAN;
  for (int iteration = 0; iteration < iterations; iteration++) {
    exchange(grid, neighbours);
    double own = relax();
    MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
  }
  double time = (MPI_Wtime() - begin) * 1e6;
  if (rank == 0) {
    printf("last change: %.6e\n", change);
    printf("%d iterations: %.3f us\n", iterations, time);
  }
  MPI_Comm_free(&grid);
  free(values);
  free(old);
  MPI_Finalize();
  return 0;
}
