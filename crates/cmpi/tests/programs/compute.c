/* Computation between calls: a loop at each rank, and a sampled region; rank 0 prints the time of
 * its own loop in microseconds. */

#include <mpi.h>
#include <simrun.h>
#include <stdio.h>
#include <stdlib.h>

static double work(int steps) {
  volatile double sum = 0;
  for (int i = 0; i < steps; i++)
    sum += i * 0.5;
  return sum;
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 1000, rank, executed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double start = MPI_Wtime();
  work(steps * (rank + 1));
  double loop = MPI_Wtime() - start;
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  SMPI_SAMPLE_LOCAL(int i = 0, i < 10, i++, 2, 0.1) {
    executed++;
    work(steps);
  }
  double sampled = MPI_Wtime() - start;
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  SIMRUN_COMPUTE(1e6);
  double annotated = MPI_Wtime() - start;
  if (rank == 0)
    printf("%.3f %.3f %.3f %d\n", loop * 1e6, sampled * 1e6, annotated * 1e6, executed);
  MPI_Finalize();
  return 0;
}
