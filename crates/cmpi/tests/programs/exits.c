/* Exits with a status after MPI_Finalize: that of a rank is its argument, counted from 1. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  printf("rank %d: %d\n", rank, sum);
  return rank + 1 < argc ? atoi(argv[rank + 1]) : 0;
}
