/* Calls once: allreduce COUNT, or a constructor of communicators. Prints the rank and the date at its end in us. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Group even_ranks(int size) {
  MPI_Group all, even;
  int *ranks = malloc(size * sizeof(int)), count = 0;
  for (int rank = 0; rank < size; rank += 2) ranks[count++] = rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, count, ranks, &even);
  free(ranks);
  return even;
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *call = argv[1];
  MPI_Comm new, other;
  int lengths[2] = {2, size / 2}, periods[2] = {0, 0}, remain[2] = {0, 1};
  double start = MPI_Wtime();
  if (!strcmp(call, "allreduce")) {
    int count = atoi(argv[2]);
    double *own = calloc(count, sizeof(double)), *sum = calloc(count, sizeof(double));
    MPI_Allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (!strcmp(call, "dup")) {
    MPI_Comm_dup(MPI_COMM_WORLD, &new);
  } else if (!strcmp(call, "split")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % atoi(argv[2]), atoi(argv[3]) * rank, &new);
  } else if (!strcmp(call, "splitund")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1 ? MPI_UNDEFINED : rank % 2, rank, &new);
  } else if (!strcmp(call, "create")) {
    MPI_Comm_create(MPI_COMM_WORLD, even_ranks(size), &new);
  } else if (!strcmp(call, "create_group")) {
    if (rank % 2 == 0) MPI_Comm_create_group(MPI_COMM_WORLD, even_ranks(size), 3, &new);
  } else {
    MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periods, 0, &new);
    if (!strcmp(call, "cartsub")) {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Cart_sub(new, remain, &other);
    }
  }
  printf("%d %.15g\n", rank, (MPI_Wtime() - start) * 1e6);
  MPI_Finalize();
  return 0;
}
