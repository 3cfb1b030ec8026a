/* Rank r sends r messages to rank 0. With an argument, rank 1 opens that library first. */

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, ranks, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && rank == 1 && dlopen(argv[1], RTLD_NOW) == NULL)
    printf("%s\n", dlerror());
  for (int i = 0; i < rank; i++)
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks * (ranks - 1) / 2; i++)
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
