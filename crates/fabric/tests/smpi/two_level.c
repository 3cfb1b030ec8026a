/* Prints the dates at which each rank leaves some calls of a collective: two_level NAME BYTES ROOT CALLS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int size, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *name = argv[1];
  int bytes = atoi(argv[2]), root = atoi(argv[3]), calls = argc > 4 ? atoi(argv[4]) : 1;
  int count = bytes / 8;
  char *a = calloc((size_t)bytes * size + 8, 1), *b = calloc((size_t)bytes * size + 8, 1);
  double *dates = malloc(sizeof(double) * calls);
  for (int i = 0; i < calls; i++) {
    if (!strcmp(name, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(name, "bcast")) MPI_Bcast(a, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    if (!strcmp(name, "reduce")) MPI_Reduce(a, b, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (!strcmp(name, "allreduce")) MPI_Allreduce(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(name, "gather")) MPI_Gather(a, bytes, MPI_CHAR, b, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    if (!strcmp(name, "scatter")) MPI_Scatter(a, bytes, MPI_CHAR, b, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    if (!strcmp(name, "allgather")) MPI_Allgather(a, bytes, MPI_CHAR, b, bytes, MPI_CHAR, MPI_COMM_WORLD);
    if (!strcmp(name, "alltoall")) MPI_Alltoall(a, bytes, MPI_CHAR, b, bytes, MPI_CHAR, MPI_COMM_WORLD);
    dates[i] = MPI_Wtime();
  }
  printf("%d", rank);
  for (int i = 0; i < calls; i++) printf(" %.17g", dates[i]);
  printf("\n");
  MPI_Finalize();
  return 0;
}
