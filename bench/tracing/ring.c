/* The token of apps/ring: each rank receives it from the rank below and passes it on to the rank above. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
  static char token[1024];
  int rank, size;
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int below = (rank + size - 1) % size, above = (rank + 1) % size;
  for (int round = 0; round < rounds; round++) {
    if (rank == 0) {
      MPI_Send(token, 1024, MPI_BYTE, above, 0, MPI_COMM_WORLD);
      MPI_Recv(token, 1024, MPI_BYTE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(token, 1024, MPI_BYTE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(token, 1024, MPI_BYTE, above, 0, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
