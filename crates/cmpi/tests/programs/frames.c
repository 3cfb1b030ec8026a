/* Frames longer than a stack, on rank 1; the first argument says which. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;

static void write_lowest(size_t bytes) {
  volatile char local[bytes];
  local[0] = 5;
  sink = local[0];
}

static double mean_of_local_array(double value) {
  double local[1250][1250], sum = 0;
  for (int i = 0; i < 1250; i++)
    for (int j = 0; j < 1250; j++)
      local[i][j] = value;
  MPI_Barrier(MPI_COMM_SELF);
  for (int i = 0; i < 1250; i++)
    for (int j = 0; j < 1250; j++)
      sum += local[i][j];
  return sum / 1250 / 1250;
}

static int call_at_depth(int depth) {
  volatile char local[1000];
  int size;
  local[0] = (char)depth;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return depth == 1 << 20 ? 0 : call_at_depth(depth + 1) + size + local[0];
}

int main(int argc, char **argv) {
  int rank;
  const char *mode = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && strcmp(mode, "skip") == 0)
    write_lowest((size_t)12 << 20);
  if (rank == 1 && strcmp(mode, "far") == 0)
    write_lowest((size_t)1 << 34);
  if (rank == 1 && strcmp(mode, "array") == 0)
    printf("mean %g\n", mean_of_local_array(rank));
  if (rank == 1 && strcmp(mode, "calls") == 0)
    sink = call_at_depth(0);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d done\n", rank);
  MPI_Finalize();
  return 0;
}
